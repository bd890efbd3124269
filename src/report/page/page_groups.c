/* Which sections of a page can be compared. */
#include "report/page/page.h"

#include <math.h>
#include <string.h>

static bool same_text(const char *a, const char *b) { return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0; }

/* NAN where nobody said. */
static double start_error(const tc_trace *trace) {
    const tc_record *first = trace->record_count > 0 ? &trace->records[0] : NULL;
    return first != NULL && first->row_count > 0 && first->rows[0].k == 0 ? first->rows[0].x_error : NAN;
}

bool tc_same_problem(const tc_trace *a, const tc_trace *b) {
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

static const char *title_of(tc_arena *arena, const tc_group *groups, size_t at, size_t count, const char *what) {
    const char *problem = groups[at].sections[0]->trace->problem;
    size_t number = 1;
    if (count == 1 || problem == NULL)
        return tc_arena_format(arena, "%s side by side", what);
    for (size_t i = 0; i < at; i++)
        number += same_text(problem, groups[i].sections[0]->trace->problem);
    return number == 1 ? tc_arena_format(arena, "%s side by side: %s", what, problem)
                       : tc_arena_format(arena, "%s side by side: %s (%zu)", what, problem, number);
}

bool tc_section_is_published(const tc_section *section) {
    const char *method = tc_trace_fact_of(section->trace, "method");
    return method == NULL || strcmp(method, "published") == 0;
}

/* The published method's first, and otherwise as they are. */
static void order(tc_arena *arena, tc_group *group) {
    const tc_section **ordered = TC_NEW(arena, const tc_section *, group->count);
    size_t used = 0;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < group->count; i++) {
            if (tc_section_is_published(group->sections[i]) == (pass == 0))
                ordered[used++] = group->sections[i];
        }
        group->published = pass == 0 ? used : group->published;
    }
    group->sections = ordered;
}

static size_t at_most(size_t value, size_t most) { return value < most ? value : most; }

/* Warm colours from the left, cool ones from the right: they meet only where all are taken. */
static void choose_styles(const tc_group *group, tc_section *sections) {
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

tc_group *tc_group_sections(tc_arena *arena, tc_section *sections, size_t count, tc_trace_kind kind, size_t *groups) {
    tc_group *made = TC_NEW(arena, tc_group, count + 1);
    bool is_run = kind == TC_TRACE_RUN;
    *groups = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        if (sections[i].trace->kind != kind)
            continue;
        while (at < *groups && !tc_same_problem(made[at].sections[0]->trace, sections[i].trace))
            at++;
        if (at == *groups)
            made[(*groups)++] = (tc_group){.sections = TC_NEW(arena, const tc_section *, count)};
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
