/* A Slater point: cheap candidates, gradient steps on a smooth maximum, and the largest margin by the interior-point
 * method. Equalities have no margin. A point that satisfies them comes from the interior-point method alone, after it
 * has shown how little they can be missed. */
#include "solver/search.h"

#include "model/spread.h"
#include "solver/ensemble.h"
#include "solver/interior/interior.h"
#include "solver/project/set.h"

#include <math.h>
#include <string.h>

enum { EXACT_COUPLING = 600 }; /* a larger system takes too long to wait for */

typedef struct slater_search {
    const tc_model *model;
    const tc_derivatives *derivatives;
    tc_ensemble *ensemble;
    tc_set **sets; /* by family */
    tc_slater *result;
    bool has_equalities, has_inequalities;
    double *row_size; /* how much one variable can change a row; NULL before it is known */
    double *trial, *mu;
    double *member, *moved; /* the largest dimension */
    tc_real *gradient;      /* largest dimension * TC_LANES */
    const tc_monitor *monitor;
} slater_search;

#define MISSED 1e-9 /* of a row's size: an equality holds to rounding */

/* Whether the evaluated point satisfies all equalities; *missed: the largest error. */
static bool satisfies_equalities(const slater_search *s, double *missed) {
    bool all = true;
    *missed = 0;
    for (size_t j = 0; s->has_equalities && j < s->model->constraint_count; j++) {
        if (!s->model->constraints[j].is_equality)
            continue;
        double miss = fabs((double)s->ensemble->g[j]);
        *missed = fmax(*missed, miss);
        all = all && s->row_size != NULL && miss <= MISSED * s->row_size[j];
    }
    return all;
}

/* Keeps the trial point where its margin is better. */
static bool consider(slater_search *s) {
    if (!tc_ensemble_values(s->ensemble, s->trial))
        return false;
    size_t worst;
    double missed, margin = (double)-tc_ensemble_largest(s->ensemble, &worst);
    if (!satisfies_equalities(s, &missed) || !(margin > s->result->margin))
        return false;
    s->result->margin = margin;
    s->result->worst = worst;
    s->result->missed = missed;
    s->result->objective = (double)s->ensemble->objective;
    s->result->is_declared = false;
    tc_copy_point(s->model, s->result->point, s->trial);
    return true;
}

typedef enum candidate { DECLARED, MIDDLE, NEAR_ZERO } candidate;

/* Fills the trial point with the projections of simple points. False where a set is empty. */
static bool place(slater_search *s, candidate which) {
    for (size_t f = 0; f < s->model->family_count; f++) {
        const tc_family *family = &s->model->families[f];
        tc_set *set = s->sets[f];
        size_t empty = SIZE_MAX;
        for (size_t k = family->known_first; k < family->known_end && empty == SIZE_MAX; k++) {
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
            if (!found)
                empty = k;
            for (size_t c = 0; found && c < family->dim; c++)
                s->trial[tc_coord_of(family, k, c)] = s->moved[c];
        }
        size_t rank = family->is_spread ? tc_first_rank(family, empty != SIZE_MAX) : SIZE_MAX;
        if (rank != SIZE_MAX)
            tc_from_rank(family, rank, &empty, sizeof empty);
        if (empty != SIZE_MAX) {
            s->result->outcome = TC_SLATER_EMPTY_SET;
            s->result->empty_agent = family->first_agent + empty;
            return false;
        }
    }
    return true;
}

/* Weights of the constraints in the gradient of T log sum exp(g / T), a smooth stand-in for max_j g_j. */
static void smooth_weights(slater_search *s, double temperature) {
    size_t m = s->model->constraint_count, worst;
    tc_real most = tc_ensemble_largest(s->ensemble, &worst), sum = 0;
    for (size_t j = 0; j < m; j++)
        sum += expl((s->ensemble->g[j] - most) / (tc_real)temperature);
    for (size_t j = 0; j < m; j++)
        s->mu[j] = (double)(expl((s->ensemble->g[j] - most) / (tc_real)temperature) / sum);
}

/* trial = projection of (best - length * gradient), the gradient taken at the best point; returns the gradient's
 * squared norm. */
static double step_from_best(slater_search *s, double length) {
    const double *best = s->result->point;
    double squares = 0;
    for (size_t f = 0; f < s->model->family_count; f++) {
        const tc_family *family = &s->model->families[f];
        tc_fold_begin(family, &squares, sizeof squares);
        for (size_t first = family->known_first; first < family->known_end; first += TC_LANES) {
            size_t left = family->known_end - first, lanes = left < TC_LANES ? left : TC_LANES;
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
        tc_fold_end(family, &squares, sizeof squares);
    }
    return squares;
}

/* Projected gradient steps on the smoothed maximum, until a positive margin hardly grows any more. */
static void descend(slater_search *s, int steps) {
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

/* The largest |g_j| at the evaluated point. */
static double size_of_rows(const slater_search *s) {
    double size = 0;
    for (size_t j = 0; j < s->model->constraint_count; j++)
        size = fmax(size, fabs((double)s->ensemble->g[j]));
    return size;
}

static const tc_interior_options exactly = {
    .gap = 1e-14L, .residual = 1e-12L, .iterations = 200, .what = "searching a Slater point"};

/* Moves the trial point, which a solver has found, into X. */
static void move_into_sets(slater_search *s) {
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
}

/* Marks agents whose sets, beyond their public boxes, keep the weighted rows mu'g from falling: without these sets, it
 * would fall further, to first order, than what is missed decides about. */
static void find_held(slater_search *s, const double *mu) {
    const double *x = s->result->point;
    if (!tc_ensemble_values(s->ensemble, x))
        return;
    tc_ensemble_prices(s->ensemble, mu);
    for (size_t f = 0; f < s->model->family_count; f++) {
        const tc_family *family = &s->model->families[f];
        for (size_t first = 0; family->piece_count > 0 && first < family->count; first += TC_LANES) {
            size_t lanes = family->count - first < TC_LANES ? family->count - first : TC_LANES;
            tc_ensemble_gradient(s->ensemble, f, first, lanes, x, false, s->gradient);
            for (size_t k = first; k < first + lanes; k++) {
                double fall = 0;
                for (size_t c = 0; c < family->dim; c++) {
                    double slope = (double)s->gradient[c * TC_LANES + k - first], at = x[tc_coord_of(family, k, c)];
                    fall += slope * (at - tc_coef_at(slope > 0 ? family->lower[c] : family->upper[c], k));
                }
                s->result->held[family->first_agent + k] = fall > 1e-6 * s->result->missed;
            }
        }
    }
}

/* The multipliers of g <= t are weights with which no point of X makes the sum of the rows negative, if t > 0. */
static void find_rows_at_fault(slater_search *s, tc_arena *arena, const tc_interior *solver) {
    size_t m = s->model->constraint_count;
    double *mu = TC_NEW(arena, double, m), most = 0;
    tc_interior_multipliers(solver, mu);
    for (size_t j = 0; j < m; j++)
        most = fmax(most, mu[j]);
    s->result->is_shown = true;
    s->result->missed = -s->result->margin;
    for (size_t j = 0; j < m; j++)
        s->result->conflict[j] = mu[j] > 1e-6 * most;
    find_held(s, mu);
}

/* Minimises t subject to g <= t exactly. */
static void find_largest(slater_search *s, tc_arena *arena) {
    tc_interior *solver = tc_interior_margin(arena, s->model, s->derivatives);
    tc_interior_options options = exactly;
    options.monitor = s->monitor;
    tc_interior_result found = tc_interior_solve(solver, &options);
    if (s->has_equalities) /* the regularisation displaces them a little */
        found = tc_interior_proximal(solver, &options, 0.1L);
    tc_interior_states(solver, s->trial);
    move_into_sets(s);
    (void)consider(s);
    s->result->is_largest = found.gap <= 1e-11L && found.residual <= 1e-8L;
    if (s->result->is_largest && !s->has_equalities && s->result->margin < -MISSED * fmax(1, size_of_rows(s)))
        find_rows_at_fault(s, arena, solver);
}

/* ---- equalities ---- */

/* Minimises the squares of what the rows miss over X. If they miss anything, the rows with multipliers cannot be
 * satisfied together. */
static bool find_conflict(slater_search *s, tc_arena *arena) {
    size_t m = s->model->constraint_count;
    tc_interior *solver = tc_interior_feasible(arena, s->model, s->derivatives, 1);
    tc_interior_options options = exactly;
    options.monitor = s->monitor;
    options.gap = 1e-22L;
    tc_interior_result found = tc_interior_solve(solver, &options);
    double *mu = TC_NEW(arena, double, m), most = 0;
    s->row_size = TC_NEW(arena, double, m);
    tc_interior_row_sizes(solver, s->row_size);
    tc_interior_multipliers(solver, mu);
    for (size_t j = 0; j < m; j++)
        most = fmax(most, fabs(mu[j]) * s->row_size[j]);
    tc_interior_states(solver, s->trial);
    move_into_sets(s);
    if (!(most > 100 * MISSED) || found.gap > 1e-18L || found.residual > 1e-10L) {
        (void)consider(s);
        return false;
    }
    tc_copy_point(s->model, s->result->point, s->trial);
    s->result->is_shown = true;
    for (size_t j = 0; j < m; j++)
        s->result->conflict[j] = fabs(mu[j]) * s->row_size[j] > 1e-6 * most;
    if (!tc_ensemble_values(s->ensemble, s->trial))
        return true;
    for (size_t j = 0; j < m; j++) {
        double miss = (double)s->ensemble->g[j];
        miss = s->model->constraints[j].is_equality ? fabs(miss) : miss;
        if (s->result->conflict[j] && miss > s->result->missed) {
            s->result->missed = miss;
            s->result->worst = j;
        }
    }
    find_held(s, mu);
    return true;
}

/* On the way of the barrier: far from the end of it, points are far from the bounds. */
bool tc_inner_point(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                    const tc_monitor *monitor, double *x) {
    tc_mark mark = tc_arena_mark(arena);
    tc_interior *solver = tc_interior_feasible(arena, model, derivatives, 1e-12L);
    tc_interior_options options = exactly;
    options.monitor = monitor;
    options.gap = 1e-3L;
    tc_interior_result found = tc_interior_solve(solver, &options);
    tc_interior_states(solver, x);
    tc_arena_rewind(arena, mark);
    return found.residual <= 1e-10L;
}

static void search_with_equalities(slater_search *s, tc_arena *arena, bool exact, bool declared) {
    if (exact && find_conflict(s, arena)) {
        s->result->is_largest = true;
        return;
    }
    if (s->row_size == NULL) { /* too large for the interior-point method: any tolerance is better than none */
        s->row_size = TC_NEW(arena, double, s->model->constraint_count);
        for (size_t j = 0; j < s->model->constraint_count; j++)
            s->row_size[j] = 1;
    }
    double margin = s->result->margin;
    s->result->margin = -INFINITY; /* a point at the edge is the last choice */
    if (declared && place(s, DECLARED))
        s->result->is_declared = consider(s);
    if (exact && s->has_inequalities)
        find_largest(s, arena);
    else if (exact && !s->result->is_declared &&
             tc_inner_point(arena, s->model, s->derivatives, s->monitor, s->trial)) {
        move_into_sets(s);
        (void)consider(s);
    }
    if (s->result->margin == -INFINITY) /* its point is still there */
        s->result->margin = margin;
    (void)tc_ensemble_values(s->ensemble, s->result->point);
}

/* A margin this small is rounding. */
static double negligible(const slater_search *s) { return 1e-10 * size_of_rows(s); }

static void run(slater_search *s, tc_arena *arena, size_t exact_limit) {
    bool declared = false;
    if (!place(s, MIDDLE))
        return;
    tc_copy_point(s->model, s->result->point, s->trial);
    for (size_t f = 0; f < s->model->family_count; f++)
        declared = declared || s->model->families[f].has_slater;
    bool exact = s->model->constraint_count > 0 && s->model->state_count <= exact_limit &&
                 tc_coupling_size(s->model, s->derivatives) <= EXACT_COUPLING;
    if (s->has_equalities) {
        search_with_equalities(s, arena, exact, declared);
    } else {
        (void)consider(s);
        if (declared && place(s, DECLARED))
            s->result->is_declared = consider(s);
    }
    if (s->model->constraint_count > 0 && !s->has_equalities) {
        if (place(s, NEAR_ZERO))
            (void)consider(s);
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

static tc_slater *search_moving(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                size_t exact_limit, const tc_monitor *monitor) {
    tc_slater *result = TC_NEW(arena, tc_slater, 1);
    result->point = TC_NEW(arena, double, model->state_count);
    result->margin = -INFINITY;
    result->conflict = TC_NEW(arena, bool, model->constraint_count);
    result->held = TC_NEW(arena, bool, model->agent_count);
    tc_mark mark = tc_arena_mark(arena);
    size_t dim = 1;
    slater_search s = {.model = model, .derivatives = derivatives, .result = result, .monitor = monitor};
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
    for (size_t j = 0; j < model->constraint_count; j++) {
        s.has_equalities = s.has_equalities || model->constraints[j].is_equality;
        s.has_inequalities = s.has_inequalities || !model->constraints[j].is_equality;
    }
    run(&s, arena, exact_limit);
    if (result->outcome == TC_SLATER_EMPTY_SET)
        result->point = NULL;
    tc_arena_rewind(arena, mark);
    return result;
}

tc_slater *tc_slater_search(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                            size_t exact_limit, const tc_monitor *monitor) {
    const tc_moving *moving = tc_moving_rows(arena, model, derivatives);
    if (moving == NULL)
        return search_moving(arena, model, derivatives, exact_limit, monitor);
    tc_slater *found = search_moving(arena, &moving->model, &moving->derivatives, exact_limit, monitor);
    found->worst = moving->model.constraint_count > 0 ? moving->row[found->worst] : 0;
    found->conflict = tc_moving_spread(arena, moving, model, found->conflict);
    return found;
}
