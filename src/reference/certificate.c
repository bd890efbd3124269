#include "reference/reference.h"

#include "model/spread.h"
#include "solver/interior/interior.h"

#include <math.h>

struct tc_judge {
    const tc_model *model;
    tc_ensemble *ensemble;
    tc_set **sets;
    tc_interior **lifted; /* by family: where the objective has kinks; else NULL */
    tc_real *center, *near, *ones;
    double *member, *moved;
    tc_real *gradient;
};

tc_judge *tc_judge_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives) {
    tc_judge *judge = TC_NEW(arena, tc_judge, 1);
    size_t dim = 1;
    judge->model = model;
    judge->ensemble = tc_ensemble_new(arena, model, derivatives, false);
    judge->sets = TC_NEW(arena, tc_set *, model->family_count);
    judge->lifted = TC_NEW(arena, tc_interior *, model->family_count);
    for (size_t f = 0; f < model->family_count; f++) {
        judge->sets[f] = tc_set_new(arena, &model->families[f]);
        if (derivatives->families[f].lift != NULL)
            judge->lifted[f] = tc_interior_agent(arena, model, &derivatives->families[f], &model->families[f]);
        dim = model->families[f].dim > dim ? model->families[f].dim : dim;
    }
    judge->member = TC_NEW(arena, double, dim);
    judge->moved = TC_NEW(arena, double, dim);
    judge->gradient = TC_NEW(arena, tc_real, dim * TC_LANES);
    judge->center = TC_NEW(arena, tc_real, dim);
    judge->ones = TC_NEW(arena, tc_real, dim);
    for (size_t c = 0; c < dim; c++)
        judge->ones[c] = 1;
    judge->near = TC_NEW(arena, tc_real, dim);
    return judge;
}

void tc_judge_repair(tc_judge *judge, double *x, double *mu) {
    for (size_t f = 0; f < judge->model->family_count; f++) {
        const tc_family *family = &judge->model->families[f];
        for (size_t k = 0; k < family->count; k++) {
            for (size_t c = 0; c < family->dim; c++)
                judge->member[c] = x[tc_coord_of(family, k, c)];
            tc_set_load(judge->sets[f], k);
            (void)tc_project(judge->sets[f], judge->member, judge->moved);
            for (size_t c = 0; c < family->dim; c++)
                x[tc_coord_of(family, k, c)] = judge->moved[c];
        }
    }
    for (size_t j = 0; j < judge->model->constraint_count; j++)
        if (!judge->model->constraints[j].is_equality)
            mu[j] = mu[j] > 0 ? mu[j] : 0;
}

/* Where f_i has kinks, of one member: |x - y| with y the minimum over X_i of f_i(y) + (mu'g_x) . y + |y - x|^2 / 2,
 * which is 0 for the same x as the natural residual, and is that one where f_i is affine. */
static tc_real lifted_residual(tc_judge *judge, size_t f, size_t member, size_t lane, const double *x) {
    const tc_family *family = &judge->model->families[f];
    tc_real sum = 0;
    for (size_t c = 0; c < family->dim; c++)
        judge->center[c] = (tc_real)x[tc_coord_of(family, member, c)] - judge->gradient[c * TC_LANES + lane];
    tc_interior_member(judge->lifted[f], member);
    if (!tc_interior_step(judge->lifted[f], judge->ones, judge->center, judge->near))
        return INFINITY;
    for (size_t c = 0; c < family->dim; c++) {
        tc_real move = (tc_real)x[tc_coord_of(family, member, c)] - judge->near[c];
        sum += move * move;
    }
    return sum;
}

/* The part of one block of members. */
static tc_real block_residual(tc_judge *judge, size_t f, size_t first, size_t lanes, const double *x) {
    const tc_family *family = &judge->model->families[f];
    tc_real sum = 0;
    tc_ensemble_gradient(judge->ensemble, f, first, lanes, x, true, judge->gradient);
    for (size_t k = first; k < first + lanes; k++) {
        if (judge->lifted[f] != NULL) {
            sum += lifted_residual(judge, f, k, k - first, x);
            continue;
        }
        for (size_t c = 0; c < family->dim; c++)
            judge->member[c] =
                (double)((tc_real)x[tc_coord_of(family, k, c)] - judge->gradient[c * TC_LANES + k - first]);
        tc_set_load(judge->sets[f], k);
        (void)tc_project(judge->sets[f], judge->member, judge->moved);
        for (size_t c = 0; c < family->dim; c++) {
            tc_real move = (tc_real)x[tc_coord_of(family, k, c)] - (tc_real)judge->moved[c];
            sum += move * move;
        }
    }
    return sum;
}

/* paper: Problem 0.2
 * A point solves it where its natural residual |z - Proj[z - G(z)]|, over X and mu >= 0 (free in the rows of
 * equalities), is 0. */
tc_certificate tc_judge_point(tc_judge *judge, const double *x, const double *mu) {
    const tc_model *model = judge->model;
    bool defined = tc_ensemble_values(judge->ensemble, x);
    tc_certificate found = {.objective = (double)judge->ensemble->objective, .residual = INFINITY};
    tc_real squares_mu = 0, squares_x = 0;
    for (size_t j = 0; j < model->constraint_count; j++) {
        bool is_equality = model->constraints[j].is_equality;
        tc_real g = judge->ensemble->g[j], move = is_equality ? -g : fminl((tc_real)mu[j], -g);
        squares_mu += move * move;
        double violation = (double)(is_equality ? fabsl(g) : g);
        if (violation > found.max_violation) {
            found.max_violation = violation;
            found.worst = j;
        }
    }
    if (!defined)
        return found;
    tc_ensemble_prices(judge->ensemble, mu);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        tc_fold_begin(family, &squares_x, sizeof squares_x);
        for (size_t first = family->known_first; first < family->known_end; first += TC_LANES) {
            size_t left = family->known_end - first;
            squares_x += block_residual(judge, f, first, left < TC_LANES ? left : TC_LANES, x);
        }
        tc_fold_end(family, &squares_x, sizeof squares_x);
    }
    found.residual_x = (double)sqrtl(squares_x);
    found.residual_mu = (double)sqrtl(squares_mu);
    found.residual = (double)sqrtl(squares_x + squares_mu);
    return found;
}
