/* Which sections of a page can be compared. */
#include "report/page.h"

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
        sections[i].style = made[at].count % TC_PLOT_STYLES;
        made[at].sections[made[at].count++] = &sections[i];
    }
    for (size_t i = 0; i < *groups; i++) {
        const char *id = is_run ? "runs" : "sweeps";
        made[i].id = *groups == 1 ? id : tc_arena_format(arena, "%s-of-%zu", id, i + 1);
        made[i].title = title_of(arena, made, i, *groups, is_run ? "Runs" : "Sweeps");
    }
    return made;
}
