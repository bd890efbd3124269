/* Objectives with kinks: f is the minimum over t of a smooth function under rows (calculus/lift.h), and the proximal
 * step its minimum over x and t. */
#include "engine/proximal/inside.h"
#include "solver/project/set.h"

#include <math.h>

void tc_kinks_new(tc_arena *arena, const tc_model *model, size_t workers, tc_proximal_family *made) {
    const tc_family *family = made->of->family;
    made->way = TC_PROXIMAL_KINKS;
    made->quadratic_kinks = tc_quadratic_kinks_new(arena, model->dag, made->derivatives->lift, family, workers);
    made->lifted = TC_NEW(arena, tc_interior *, workers);
    made->sets = TC_NEW(arena, tc_set *, workers);
    made->reals = TC_NEW(arena, tc_real, workers * 3 * family->dim);
    for (size_t w = 0; w < workers; w++) {
        made->lifted[w] = tc_interior_agent(arena, model, made->derivatives, family);
        made->sets[w] = tc_set_new(arena, family);
    }
}

/* p . x + (regularization / 2) |x|^2 + sum_c (x - old)_c^2 / (2 step s_c^2) is sum_c (weight_c / 2) (x - center)_c^2
 * and a constant. */
static void step_alone(const tc_proximal_block *b, size_t lane) {
    const tc_proximal_family *family = b->family;
    size_t dim = family->of->family->dim, at = b->at + lane;
    tc_real *center = family->reals + b->worker * 3 * dim, *x = center + dim, *weight = x + dim;
    for (size_t c = 0; c < dim; c++) {
        tc_real inverse;
        weight[c] = tc_long_weight(b, c, &inverse);
        center[c] = ((tc_real)b->x[c][at] * inverse - (tc_real)b->p[c][at]) / weight[c];
    }
    tc_interior_member(family->lifted[b->worker], b->first + lane);
    b->work->inaccurate += !tc_interior_step(family->lifted[b->worker], weight, center, x);
    tc_set_load(family->sets[b->worker], b->first + lane);
    for (size_t c = 0; c < dim; c++)
        b->work->result[c * TC_LANES + lane] =
            tc_proximal_bounded((double)x[c], family->sets[b->worker]->lower[c], family->sets[b->worker]->upper[c]);
}

/* By guesses; false where that fails. The member's own set decides, not those of its family. */
static bool step_quickly(const tc_proximal_block *b, size_t lane) {
    const tc_proximal_family *family = b->family;
    tc_set *set = family->sets[b->worker];
    double *x = b->work->x;
    tc_set_load(set, b->first + lane);
    if (!tc_quadratic_kinks_step(family->quadratic_kinks, b, lane, set, x))
        return false;
    for (size_t c = 0; c < family->of->family->dim; c++)
        b->work->result[c * TC_LANES + lane] = x[c];
    return true;
}

size_t tc_proximal_kinks(const tc_proximal_block *b) {
    size_t failed = tc_proximal_begin(b);
    bool is_quick = b->family->quadratic_kinks != NULL;
    if (failed == TC_ALL_FINITE && is_quick)
        tc_quadratic_kinks_load(b->family->quadratic_kinks, b);
    for (size_t lane = 0; lane < b->count && failed == TC_ALL_FINITE; lane++)
        if (!is_quick || !step_quickly(b, lane))
            step_alone(b, lane);
    return failed;
}
