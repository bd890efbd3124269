/* Families of one, all together: one program for their gradients, one pass over their coordinates. */
#include "engine/agents_parts.h"

#include <string.h>

static size_t first_not_finite(const tc_agents *agents, const tc_agents_work *work, const double *p,
                               tc_answer_scalars scalars, const double *x) {
    const tc_agents_singles *s = &agents->singles;
    size_t found = TC_ALL_FINITE;
    for (size_t i = 0; i < s->family_count; i++) {
        const tc_family *family = &agents->model->families[s->families[i]];
        for (size_t c = 0; c < family->dim; c++) {
            size_t at = family->first_coord + c;
            double v;
            bool is_finite =
                tc_agents_row(1, work->slopes + s->begins[i] + c, p + at, scalars, x + at, -INFINITY, INFINITY, &v);
            if (!is_finite && s->families[i] < found)
                found = s->families[i];
        }
    }
    return found;
}

/* What is zero by structure stays zero. */
static void evaluate(const tc_agents_singles *s, const tc_agents_work *work, const double *x) {
    if (s->root_count == s->count) {
        tc_program_eval(s->gradient, x, NULL, work->program, work->slopes);
        return;
    }
    tc_program_eval(s->gradient, x, NULL, work->program, work->values);
    for (size_t i = 0; i < s->root_count; i++)
        work->slopes[s->places[i]] = work->values[i];
}

size_t tc_agents_next_singles(tc_agents *agents, size_t worker, const double *p, tc_answer_scalars scalars,
                              const double *x, double *next) {
    const tc_agents_singles *s = &agents->singles;
    tc_agents_work *work = &agents->works[worker];
    if (s->count == 0)
        return TC_ALL_FINITE;
    evaluate(s, work, x);
    bool is_finite = true;
    for (size_t r = 0; r < s->run_count; r++) {
        tc_agents_run run = s->runs[r];
        is_finite &= tc_agents_clipped_row(run.count, work->slopes + run.place, p + run.coord, scalars, x + run.coord,
                                           s->lower + run.place, s->upper + run.place, work->points + run.place);
    }
    if (!is_finite)
        return first_not_finite(agents, work, p, scalars, x);
    for (size_t i = 0; i < s->shaped_count; i++)
        work->inaccurate += tc_projector_project(agents->families[s->families[i]].projector, worker, 0, 1, 1,
                                                 work->points + s->begins[i]);
    for (size_t r = 0; r < s->run_count; r++)
        memcpy(next + s->runs[r].coord, work->points + s->runs[r].place, s->runs[r].count * sizeof *next);
    return TC_ALL_FINITE;
}

size_t tc_agents_step_singles(tc_agents *agents, size_t worker, const double *p, tc_answer_scalars scalars, double *x) {
    return tc_agents_next_singles(agents, worker, p, scalars, x, x);
}
