#include "solver/slater.h"

#include "solver/ensemble.h"
#include "solver/interior/interior.h"
#include "solver/project/project.h"

#include <math.h>
#include <string.h>

enum { EXACT_COUPLING = 600 }; /* a larger system takes longer than a person likes to wait */

typedef struct search {
    const tc_model *model;
    const tc_derivatives *derivatives;
    tc_ensemble *ensemble;
    tc_set **sets; /* by family */
    tc_slater *result;
    double *trial, *mu;
    double *member, *moved; /* the largest dimension */
    tc_real *gradient;      /* largest dimension * TC_LANES */
    const tc_monitor *monitor;
} search;

/* Keeps the trial point where its margin is better. */
static bool consider(search *s) {
    if (!tc_ensemble_values(s->ensemble, s->trial))
        return false;
    size_t worst;
    double margin = (double)-tc_ensemble_largest(s->ensemble, &worst);
    if (!(margin > s->result->margin))
        return false;
    s->result->margin = margin;
    s->result->worst = worst;
    s->result->objective = (double)s->ensemble->objective;
    s->result->is_declared = false;
    memcpy(s->result->point, s->trial, s->model->state_count * sizeof *s->trial);
    return true;
}

typedef enum candidate { DECLARED, MIDDLE, NEAR_ZERO } candidate;

/* Fills the trial point with the projections of simple points. False where a set is empty. */
static bool place(search *s, candidate which) {
    for (size_t f = 0; f < s->model->family_count; f++) {
        const tc_family *family = &s->model->families[f];
        tc_set *set = s->sets[f];
        for (size_t k = 0; k < family->count; k++) {
            tc_set_conflict conflict;
            tc_set_load(set, k);
            bool found = true;
            if (which == MIDDLE) {
                found = tc_set_examine(set, s->moved, &conflict);
            } else {
                for (size_t c = 0; c < family->dim; c++)
                    s->member[c] = which == NEAR_ZERO   ? 0
                                   : family->has_slater ? tc_coef_at(family->slater[c], k)
                                                        : set->lower[c] + (set->upper[c] - set->lower[c]) / 2;
                (void)tc_project(set, s->member, s->moved);
            }
            if (!found) {
                s->result->outcome = TC_SLATER_EMPTY_SET;
                s->result->empty_agent = family->first_agent + k;
                return false;
            }
            for (size_t c = 0; c < family->dim; c++)
                s->trial[tc_coord_of(family, k, c)] = s->moved[c];
        }
    }
    return true;
}

/* Weights of the constraints in the gradient of T log sum exp(g / T), a smooth stand-in for max_j g_j. */
static void smooth_weights(search *s, double temperature) {
    size_t m = s->model->constraint_count, worst;
    tc_real most = tc_ensemble_largest(s->ensemble, &worst), sum = 0;
    for (size_t j = 0; j < m; j++)
        sum += expl((s->ensemble->g[j] - most) / (tc_real)temperature);
    for (size_t j = 0; j < m; j++)
        s->mu[j] = (double)(expl((s->ensemble->g[j] - most) / (tc_real)temperature) / sum);
}

/* trial = projection of (best - length * gradient), the gradient taken at the best point; returns the gradient's
 * squared norm. */
static double step_from_best(search *s, double length) {
    const double *best = s->result->point;
    double squares = 0;
    for (size_t f = 0; f < s->model->family_count; f++) {
        const tc_family *family = &s->model->families[f];
        for (size_t first = 0; first < family->count; first += TC_LANES) {
            size_t lanes = family->count - first < TC_LANES ? family->count - first : TC_LANES;
            tc_ensemble_gradient(s->ensemble, f, first, lanes, best, false, s->gradient);
            for (size_t k = first; k < first + lanes; k++) {
                for (size_t c = 0; c < family->dim; c++) {
                    double slope = (double)s->gradient[c * TC_LANES + k - first];
                    squares += slope * slope;
                    s->member[c] = best[tc_coord_of(family, k, c)] - length * slope;
                }
                tc_set_load(s->sets[f], k);
                (void)tc_project(s->sets[f], s->member, s->moved);
                for (size_t c = 0; c < family->dim; c++)
                    s->trial[tc_coord_of(family, k, c)] = s->moved[c];
            }
        }
    }
    return squares;
}

/* Projected gradient steps on the smoothed maximum, until a positive margin hardly grows any more. */
static void descend(search *s, int steps) {
    double length = 0, spread = fabs(s->result->margin) + 1e-6;
    int idle = 0;
    bool current = false; /* the ensemble's values are those of the best point */
    for (int step = 0; step < steps && !tc_interrupted(s->monitor); step++) {
        tc_progress(s->monitor, "searching a Slater point", (double)step / steps);
        if (!current && !tc_ensemble_values(s->ensemble, s->result->point))
            return;
        smooth_weights(s, spread / (1 + step));
        tc_ensemble_prices(s->ensemble, s->mu);
        if (length == 0) {
            double squares = step_from_best(s, 0);
            if (!(squares > 0))
                return;
            length = 2 * spread / squares; /* to first order, twice the way to zero */
        }
        double before = s->result->margin;
        (void)step_from_best(s, length);
        current = consider(s);
        length = current ? 4 * length : length / 4;
        idle = s->result->margin < 1.1 * before ? idle + 1 : 0;
        if (s->result->margin > 0 && idle >= 2)
            return;
    }
}

/* Minimises t subject to g <= t exactly. */
static void find_largest(search *s, tc_arena *arena) {
    tc_interior *solver = tc_interior_margin(arena, s->model, s->derivatives);
    tc_interior_options options = {.gap = 1e-14L,
                                   .residual = 1e-12L,
                                   .iterations = 200,
                                   .monitor = s->monitor,
                                   .what = "searching a Slater point"};
    tc_interior_result found = tc_interior_solve(solver, &options);
    tc_interior_states(solver, s->trial);
    for (size_t f = 0; f < s->model->family_count; f++) {
        const tc_family *family = &s->model->families[f];
        for (size_t k = 0; k < family->count; k++) {
            for (size_t c = 0; c < family->dim; c++)
                s->member[c] = s->trial[tc_coord_of(family, k, c)];
            tc_set_load(s->sets[f], k);
            (void)tc_project(s->sets[f], s->member, s->moved);
            for (size_t c = 0; c < family->dim; c++)
                s->trial[tc_coord_of(family, k, c)] = s->moved[c];
        }
    }
    (void)consider(s);
    s->result->is_largest = found.gap <= 1e-11L && found.residual <= 1e-8L;
}

/* The largest margin may be rounding away from zero. */
static double negligible(const search *s) {
    double size = 0;
    for (size_t j = 0; j < s->model->constraint_count; j++)
        size = fmax(size, fabs((double)s->ensemble->g[j]));
    return 1e-10 * size;
}

static void run(search *s, tc_arena *arena, size_t exact_limit) {
    bool declared = false;
    if (!place(s, MIDDLE))
        return;
    memcpy(s->result->point, s->trial, s->model->state_count * sizeof *s->trial);
    (void)consider(s);
    for (size_t f = 0; f < s->model->family_count; f++)
        declared = declared || s->model->families[f].has_slater;
    if (declared && place(s, DECLARED))
        s->result->is_declared = consider(s);
    if (s->model->constraint_count > 0) {
        if (place(s, NEAR_ZERO))
            (void)consider(s);
        bool exact =
            s->model->state_count <= exact_limit && tc_coupling_size(s->model, s->derivatives) <= EXACT_COUPLING;
        if (exact)
            find_largest(s, arena);
        if (!exact || !s->result->is_largest)
            descend(s, s->result->margin > 0 ? 8 : 40);
        (void)tc_ensemble_values(s->ensemble, s->result->point);
    }
    if (tc_interrupted(s->monitor))
        s->result->outcome = TC_SLATER_INTERRUPTED;
    else if (s->result->margin > (s->result->is_largest ? negligible(s) : 0))
        s->result->outcome = TC_SLATER_FOUND;
    else
        s->result->outcome = s->result->is_largest ? TC_SLATER_NONE : TC_SLATER_NOT_FOUND;
}

tc_slater *tc_slater_search(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                            size_t exact_limit, const tc_monitor *monitor) {
    tc_slater *result = TC_NEW(arena, tc_slater, 1);
    result->point = TC_NEW(arena, double, model->state_count);
    result->margin = -INFINITY;
    tc_mark mark = tc_arena_mark(arena);
    size_t dim = 1;
    search s = {.model = model, .derivatives = derivatives, .result = result, .monitor = monitor};
    s.ensemble = tc_ensemble_new(arena, model, derivatives, true);
    s.sets = TC_NEW(arena, tc_set *, model->family_count);
    for (size_t f = 0; f < model->family_count; f++) {
        s.sets[f] = tc_set_new(arena, &model->families[f]);
        dim = model->families[f].dim > dim ? model->families[f].dim : dim;
    }
    s.trial = TC_NEW(arena, double, model->state_count);
    s.mu = TC_NEW(arena, double, model->constraint_count);
    s.member = TC_NEW(arena, double, dim);
    s.moved = TC_NEW(arena, double, dim);
    s.gradient = TC_NEW(arena, tc_real, dim * TC_LANES);
    run(&s, arena, exact_limit);
    if (result->outcome == TC_SLATER_EMPTY_SET)
        result->point = NULL;
    tc_arena_rewind(arena, mark);
    return result;
}
