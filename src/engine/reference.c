/* z_0 by Tikhonov's regularisation: the saddle point of L + (a/2)|x|^2 - (a/2)|mu|^2 tends to the least-norm one. It is
 * computed for a small a by the interior-point method; what the regularisation displaces is then taken back by
 * proximal steps, whose centre is the solution before. Those stay near (they never move away from any solution), and
 * along directions in which solutions are many they do not move at all. Primal and dual solutions form a product set,
 * so x and mu may each have an a of their own scale. */
#include "engine/reference.h"

#include "engine/certificate.h"
#include "solver/interior.h"
#include "solver/slater.h"

#include <math.h>
#include <string.h>

typedef struct attempt {
    tc_reference *best;
    tc_judge *judge;
    const tc_model *model;
    double *x, *mu;
} attempt;

static double norm(const double *v, size_t count) {
    long double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (long double)v[i] * (long double)v[i];
    return (double)sqrtl(sum);
}

/* Judges the solver's iterate, in doubles and inside X, and keeps it where it is the best so far. */
static double judge(attempt *a, const tc_interior *solver) {
    tc_interior_states(solver, a->x);
    tc_interior_multipliers(solver, a->mu);
    tc_judge_repair(a->judge, a->x, a->mu);
    tc_certificate found = tc_judge_point(a->judge, a->x, a->mu);
    if (!(found.residual < a->best->residual))
        return found.residual;
    memcpy(a->best->x, a->x, a->model->state_count * sizeof *a->x);
    memcpy(a->best->mu, a->mu, a->model->constraint_count * sizeof *a->mu);
    a->best->objective = found.objective;
    a->best->max_violation = found.max_violation;
    a->best->residual = found.residual;
    return found.residual;
}

static bool all_sets_hold_points(tc_arena *arena, const tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++) {
        tc_set *set = tc_set_new(arena, &model->families[f]);
        double *witness = TC_NEW(arena, double, model->families[f].dim);
        tc_set_conflict conflict;
        for (size_t k = 0; k < model->families[f].count; k++) {
            tc_set_load(set, k);
            if (set->is_empty || (set->shape != TC_SHAPE_BOX && !tc_set_examine(set, witness, &conflict)))
                return false;
        }
    }
    return true;
}

/* The margin of the best point for the constraints alone decides between hard and impossible. */
static bool is_infeasible(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                          const tc_monitor *monitor) {
    tc_mark mark = tc_arena_mark(arena);
    const tc_slater *slater = tc_slater_search(arena, model, derivatives, SIZE_MAX, monitor);
    bool infeasible =
        slater->outcome == TC_SLATER_EMPTY_SET || (slater->outcome == TC_SLATER_NONE && slater->margin < -1e-9);
    tc_arena_rewind(arena, mark);
    return infeasible;
}

enum { MOST_ITERATIONS = 250, MOST_PROXIMAL_STEPS = 8 };

static void solve(tc_arena *arena, attempt *a, const tc_model *model, const tc_derivatives *derivatives,
                  double tolerance, const tc_monitor *monitor) {
    tc_interior *solver = tc_interior_model(arena, model, derivatives, 1e-8L);
    tc_interior_options options = {
        .gap = 1e-24L, .residual = 1e-15L, .iterations = MOST_ITERATIONS, .monitor = monitor, .what = "solving"};
    tc_interior_result result = tc_interior_solve(solver, &options);
    a->best->iterations = result.iterations;
    if (!result.interrupted) {
        result = tc_interior_strengthen(solver, &options);
        a->best->iterations += result.iterations;
    }
    double residual = judge(a, solver);
    /* one step more than the tolerance asks for: it costs little and takes back most of the displacement */
    for (int step = 0; step < MOST_PROXIMAL_STEPS && !result.interrupted; step++) {
        bool enough = residual <= 1e-3 * tolerance;
        result = tc_interior_proximal(solver, &options, step < 2 ? 0.1L : 1);
        a->best->iterations += result.iterations;
        double next = judge(a, solver);
        if (enough || !(next < 0.5 * residual))
            break;
        residual = next;
    }
    if (result.interrupted)
        a->best->outcome = TC_SOLVE_INTERRUPTED;
    else
        a->best->outcome = a->best->residual <= tolerance ? TC_SOLVED : TC_INACCURATE;
}

/* A point to show where the sets themselves cannot be met: the start, in the box. */
static void give_start(tc_reference *best, const tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = 0; k < family->count; k++)
            for (size_t c = 0; c < family->dim; c++) {
                double lower = tc_coef_at(family->lower[c], k), upper = tc_coef_at(family->upper[c], k);
                best->x[tc_coord_of(family, k, c)] = fmin(fmax(0, lower), upper);
            }
    }
}

tc_reference *tc_reference_solve(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                 double tolerance, const tc_monitor *monitor) {
    tc_reference *best = TC_NEW(arena, tc_reference, 1);
    best->x = TC_NEW(arena, double, model->state_count);
    best->mu = TC_NEW(arena, double, model->constraint_count);
    best->residual = INFINITY;
    best->max_violation = best->objective = NAN;
    give_start(best, model);
    tc_mark mark = tc_arena_mark(arena);
    if (all_sets_hold_points(arena, model)) {
        attempt a = {.best = best, .model = model};
        a.judge = tc_judge_new(arena, model, derivatives);
        a.x = TC_NEW(arena, double, model->state_count);
        a.mu = TC_NEW(arena, double, model->constraint_count);
        solve(arena, &a, model, derivatives, tolerance, monitor);
        tc_arena_rewind(arena, mark);
        if (best->outcome == TC_INACCURATE && is_infeasible(arena, model, derivatives, monitor))
            best->outcome = TC_INFEASIBLE_SUSPECTED;
    } else {
        best->outcome = TC_INFEASIBLE_SUSPECTED;
        tc_arena_rewind(arena, mark);
    }
    best->norm_x = norm(best->x, model->state_count);
    best->norm_mu = norm(best->mu, model->constraint_count);
    return best;
}
