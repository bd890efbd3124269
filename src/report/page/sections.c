/* The sections of a page. */
#include "report/page/page.h"

#include <math.h>
#include <string.h>

/* ---- whether two are of one problem ---- */

static bool same_text(const char *a, const char *b) { return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0; }

/* NAN where not given. */
static double start_error(const tc_trace *trace) {
    const tc_record *first = trace->record_count > 0 ? &trace->records[0] : NULL;
    return first != NULL && first->row_count > 0 && first->rows[0].k == 0 ? first->rows[0].x_error : NAN;
}

/* As far as two traces of the same kind tell: by name and size, the constraints' names, the error at the start. */
static bool same_problem(const tc_trace *a, const tc_trace *b) {
    if (!same_text(a->problem, b->problem) || a->constraint_count != b->constraint_count ||
        !same_text(tc_trace_fact_of(a, "problem"), tc_trace_fact_of(b, "problem")))
        return false;
    for (size_t j = 0; j < a->constraint_count; j++) {
        if (strcmp(a->constraints[j], b->constraints[j]) != 0)
            return false;
    }
    double start = start_error(a), other = start_error(b);
    return isnan(start) || isnan(other) || fabs(start - other) <= 1e-6 * fmax(start, other);
}

/* ---- what differs between them, in a few words ---- */

enum { LONGEST_VALUE = 40 };

typedef struct part {
    const char *fact, *before, *after; /* "rounds", "", " rounds" */
    bool first_word;                   /* of the value */
} part;

static const part parts[] = {
    {"mechanism", "", "", false},           {"method", "", " method", false},
    {"epsilon", "epsilon ", "", true},      {"delta", "delta ", "", false},
    {"calibration", "", "", false},         {"hides", "unit ", "", false},
    {"constants", "", " constants", false}, {"noise on", "noise on ", "", false},
    {"rounds", "", " rounds", false},       {"gamma", "gamma ", "", false},
    {"alpha", "alpha ", "", false},         {"dual radius", "dual radius ", "", true},
};

/* "0.1" of "0.1 for all that anyone can see"; of a sweep's "7, from 0.1 to 10" what follows "from". */
static const char *short_value(tc_arena *arena, const part *p, const char *value) {
    static const char from[] = ", from ";
    const char *range = strstr(value, from);
    if (!p->first_word)
        return value;
    return range != NULL ? range + sizeof from - 1 : tc_arena_copy(arena, value, strcspn(value, " "));
}

/* Whether another section of the same kind and problem says something else. */
static bool differs(tc_arena *arena, const tc_section *sections, size_t count, const tc_trace *from, const part *p) {
    const char *value = tc_trace_fact_of(from, p->fact);
    for (size_t i = 0; i < count; i++) {
        const tc_trace *trace = sections[i].trace;
        const char *other = trace->kind == from->kind ? tc_trace_fact_of(trace, p->fact) : NULL;
        if (value != NULL && other != NULL && strcmp(short_value(arena, p, value), short_value(arena, p, other)) != 0 &&
            same_problem(trace, from))
            return true;
    }
    return false;
}

static const char *problem_of(const tc_trace *trace) { return trace->problem != NULL ? trace->problem : ""; }

static bool problems_differ(const tc_section *sections, size_t count, const tc_section *from) {
    for (size_t i = 0; i < count; i++) {
        if (sections[i].trace->kind == from->trace->kind &&
            strcmp(problem_of(sections[i].trace), problem_of(from->trace)) != 0)
            return true;
    }
    return false;
}

/* "0.1" or "auto"; "auto for 0.9" where another's probability differs. */
static const char *margin_value(tc_arena *arena, const tc_section *sections, size_t count, const tc_trace *of) {
    static const char automatic[] = "auto, ";
    const size_t length = sizeof automatic - 1;
    const char *value = tc_trace_fact_of(of, "margin");
    if (value == NULL || strncmp(value, automatic, length) != 0)
        return value;
    for (size_t i = 0; i < count; i++) {
        const tc_trace *trace = sections[i].trace;
        const char *other = trace->kind == of->kind ? tc_trace_fact_of(trace, "margin") : NULL;
        if (other != NULL && strncmp(other, automatic, length) == 0 && strcmp(other, value) != 0 &&
            same_problem(trace, of))
            return tc_arena_format(arena, "auto %s", value + length);
    }
    return "auto";
}

/* Always shown: a margin changes what a run aims at. */
static const char *with_margin(tc_arena *arena, const tc_section *sections, size_t count, const tc_trace *of,
                               const char *label) {
    const char *value = margin_value(arena, sections, count, of);
    if (value == NULL || strlen(value) > LONGEST_VALUE || strstr(label, "margin ") != NULL)
        return label;
    return tc_arena_format(arena, "%s, margin %s", label, value);
}

static const char *base_label(tc_arena *arena, const tc_section *sections, size_t count, const tc_section *of) {
    const tc_trace *trace = of->trace;
    const char *label =
        trace->label != NULL && trace->label[0] != '\0' ? trace->label : tc_trace_kind_name(trace->kind);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *value = tc_trace_fact_of(trace, parts[i].fact);
        if (value == NULL || strcmp(value, "none") == 0 || !differs(arena, sections, count, trace, &parts[i]))
            continue;
        value = short_value(arena, &parts[i], value);
        const char *words = tc_arena_format(arena, "%s%s%s", parts[i].before, value, parts[i].after);
        const char *said = strcmp(parts[i].fact, "method") == 0 ? value : words; /* "laplace, tacit" says it */
        if (strlen(value) <= LONGEST_VALUE && strstr(label, said) == NULL)
            label = tc_arena_format(arena, "%s, %s", label, words);
    }
    label = with_margin(arena, sections, count, trace, label);
    if (trace->problem != NULL && problems_differ(sections, count, of))
        label = tc_arena_format(arena, "%s, %s", label, trace->problem);
    return label;
}

static const char *seeds_of(tc_arena *arena, const tc_trace *trace) {
    if (trace->kind == TC_TRACE_SWEEP) {
        const char *seeds = tc_trace_fact_of(trace, "seeds");
        return seeds == NULL ? "" : tc_arena_format(arena, "%.*s seeds", (int)strcspn(seeds, " "), seeds);
    }
    if (trace->record_count == 0 || !trace->records[0].seeded)
        return "fresh noise";
    unsigned long long first = trace->records[0].seed, last = trace->records[trace->record_count - 1].seed;
    return trace->record_count == 1 ? tc_arena_format(arena, "seed %llu", first)
                                    : tc_arena_format(arena, "seeds %llu to %llu", first, last);
}

static bool alike(const tc_section *a, const tc_section *b) {
    return a->trace->kind == b->trace->kind && strcmp(a->label, b->label) == 0;
}

/* Adds the seeds to equal labels, if the seeds differ. */
static void add_seeds(tc_arena *arena, tc_section *sections, size_t count) {
    const char **labels = TC_NEW(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *seeds = seeds_of(arena, sections[i].trace);
        bool needed = false;
        for (size_t j = 0; j < count && !needed; j++)
            needed = alike(&sections[i], &sections[j]) && strcmp(seeds, seeds_of(arena, sections[j].trace)) != 0;
        labels[i] = needed ? tc_arena_format(arena, "%s, %s", sections[i].label, seeds) : sections[i].label;
    }
    for (size_t i = 0; i < count; i++)
        sections[i].label = labels[i];
}

void tc_label_sections(tc_arena *arena, tc_section *sections, size_t count) {
    const char **labels = TC_NEW(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        sections[i].label = base_label(arena, sections, count, &sections[i]);
    add_seeds(arena, sections, count);
    for (size_t i = 0; i < count; i++) {
        size_t number = 1;
        for (size_t j = 0; j < i; j++)
            number += alike(&sections[i], &sections[j]);
        labels[i] = number == 1 ? sections[i].label : tc_arena_format(arena, "%s (%zu)", sections[i].label, number);
    }
    for (size_t i = 0; i < count; i++)
        sections[i].label = labels[i];
}

/* ---- which of them can be compared ---- */

static const char *title_of(tc_arena *arena, const tc_section_group *groups, size_t at, size_t count,
                            const char *what) {
    const char *problem = groups[at].sections[0]->trace->problem;
    size_t number = 1;
    if (count == 1 || problem == NULL)
        return tc_arena_format(arena, "%s side by side", what);
    for (size_t i = 0; i < at; i++)
        number += same_text(problem, groups[i].sections[0]->trace->problem);
    return number == 1 ? tc_arena_format(arena, "%s side by side: %s", what, problem)
                       : tc_arena_format(arena, "%s side by side: %s (%zu)", what, problem, number);
}

/* Traces that name no method are of this one. */
static bool is_published(const tc_section *section) {
    const char *method = tc_trace_fact_of(section->trace, "method");
    return method == NULL || strcmp(method, "published") == 0;
}

/* The published method's first, and otherwise as they are. */
static void order(tc_arena *arena, tc_section_group *group) {
    const tc_section **ordered = TC_NEW(arena, const tc_section *, group->count);
    size_t used = 0;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < group->count; i++) {
            if (is_published(group->sections[i]) == (pass == 0))
                ordered[used++] = group->sections[i];
        }
        group->published = pass == 0 ? used : group->published;
    }
    group->sections = ordered;
}

static size_t at_most(size_t value, size_t most) { return value < most ? value : most; }

/* Warm colours from the left, cool ones from the right: they meet only where all are taken. */
static void choose_styles(const tc_section_group *group, tc_section *sections) {
    static const size_t warm_to_cool[TC_PLOT_STYLES] = {1, 3, 4, 5, 2, 0};
    size_t others = group->count - group->published;
    bool mixed = group->published > 0 && others > 0;
    size_t shown = at_most(group->published, TC_PLOT_STYLES - at_most(others, TC_PLOT_STYLES / 2));
    for (size_t i = 0; i < group->count; i++) {
        tc_section *section = &sections[group->sections[i] - sections];
        bool published = i < group->published;
        size_t rank = published ? i : i - group->published;
        section->plotted = rank < (published ? shown : TC_PLOT_STYLES - shown);
        rank %= TC_PLOT_STYLES;
        section->style = mixed ? warm_to_cool[published ? rank : TC_PLOT_STYLES - 1 - rank] : rank;
    }
}

tc_section_group *tc_group_sections(tc_arena *arena, tc_section *sections, size_t count, tc_trace_kind kind,
                                    size_t *groups) {
    tc_section_group *made = TC_NEW(arena, tc_section_group, count + 1);
    bool is_run = kind == TC_TRACE_RUN;
    *groups = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        if (sections[i].trace->kind != kind)
            continue;
        while (at < *groups && !same_problem(made[at].sections[0]->trace, sections[i].trace))
            at++;
        if (at == *groups)
            made[(*groups)++] = (tc_section_group){.sections = TC_NEW(arena, const tc_section *, count)};
        made[at].sections[made[at].count++] = &sections[i];
    }
    for (size_t i = 0; i < *groups; i++) {
        order(arena, &made[i]);
        choose_styles(&made[i], sections);
        const char *id = is_run ? "runs" : "sweeps";
        made[i].id = *groups == 1 ? id : tc_arena_format(arena, "%s-of-%zu", id, i + 1);
        made[i].title = title_of(arena, made, i, *groups, is_run ? "Runs" : "Sweeps");
    }
    return made;
}
