/* The predictor-corrector loop, and the problems it is used for. */
#include "solver/interior/interior_parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

static tc_real capped(tc_real length) { return fminl(1, length); }

/* A Newton direction from the accepted point: Mehrotra's predictor and corrector while complementarity must fall,
 * plain centering once it is there. The corrector can go round in circles; a plain step now and then, when nothing
 * improves, breaks them. */
static tc_real choose_direction(tc_interior *solver, tc_real goal, size_t stalled) {
    tc_real gap = solver->gap, residual = solver->residual;
    if (gap <= 2 * goal) {
        tc_direction(solver, TC_AIM_CENTER, goal);
        return tc_longest_step(solver);
    }
    if (stalled >= 4 && stalled % 4 == 0) {
        tc_direction(solver, TC_AIM_CENTER, fmaxl(goal, 0.1L * gap));
        return tc_longest_step(solver);
    }
    tc_direction(solver, TC_AIM_AFFINE, 0);
    tc_real ratio = fmaxl(0, tc_gap_after(solver, capped(tc_longest_step(solver)))) / gap;
    tc_real target = fmaxl(goal, fminl(1, ratio * ratio * ratio) * gap);
    if (residual > 1e-10L) /* complementarity must not run ahead of feasibility */
        target = fmaxl(target, fminl(0.5L * gap, 1e-5L * residual));
    tc_direction(solver, TC_AIM_CORRECT, target);
    tc_real longest = tc_longest_step(solver);
    if (longest < 0.1L) {
        tc_direction(solver, TC_AIM_CENTER, fmaxl(goal, 0.5L * gap));
        longest = tc_longest_step(solver);
    }
    return longest;
}

/* Shortens the step until functions are defined there and the residual does not blow up. */
static bool advance(tc_interior *solver, tc_real longest) {
    tc_real residual = solver->residual, gap = solver->gap;
    tc_real keep = fmaxl(0.99L, 1 - fmaxl(gap, 1e-6L)), length = capped(keep * longest);
    for (int shorter = 0; shorter < 40; shorter++, length /= 2) {
        tc_move(solver, length);
        bool defined = tc_evaluate(solver);
        if (defined && (solver->residual <= fmaxl(5 * residual, 1e3L * gap) || shorter >= 20)) {
            tc_accept(solver);
            return true;
        }
    }
    tc_move(solver, 0);
    (void)tc_evaluate(solver);
    return false;
}

static void report(const tc_interior_options *options, tc_real gap, tc_real goal) {
    if (options->what == NULL)
        return;
    tc_real fraction = logl(gap) / logl(goal);
    tc_progress(options->monitor, options->what, (double)fminl(1, fmaxl(0, fraction)));
}

/* On entry the trial point is accepted and evaluated. */
static tc_interior_result iterate(tc_interior *solver, const tc_interior_options *options) {
    tc_interior_result result = {.gap = solver->gap, .residual = solver->residual};
    tc_real best = INFINITY;
    size_t since_best = 0;
    while (result.iterations < options->iterations) {
        result.gap = solver->gap;
        result.residual = solver->residual;
        if (solver->gap <= 2 * options->gap && solver->residual <= options->residual) {
            result.converged = true;
            break;
        }
        tc_real merit = fmaxl(solver->gap / options->gap, solver->residual / options->residual);
        since_best = merit < 0.5L * best ? 0 : since_best + 1;
        best = fminl(best, merit);
        if (since_best > (solver->gap <= 2 * options->gap ? 4 : solver->gap <= 1e-19L ? 8 : 25))
            break;
        result.interrupted = tc_interrupted(options->monitor);
        if (result.interrupted)
            break;
        report(options, solver->gap, options->gap);
        result.iterations++;
        tc_factor(solver);
        tc_real longest = choose_direction(solver, options->gap, since_best);
        if (!(longest > 1e-18L) || !advance(solver, longest))
            break;
    }
    result.gap = solver->gap;
    result.residual = solver->residual;
    return result;
}

static const tc_interior_result undefined = {.gap = INFINITY, .residual = INFINITY};

/* From the middle of the boxes, with the weights as they are. */
static tc_interior_result restart(tc_interior *solver, const tc_interior_options *options) {
    return tc_start(solver) ? iterate(solver, options) : undefined;
}

/* From where the last solve ended. */
static tc_interior_result resume(tc_interior *solver, const tc_interior_options *options) {
    tc_move(solver, 0);
    (void)tc_evaluate(solver);
    return iterate(solver, options);
}

tc_interior_result tc_interior_solve(tc_interior *solver, const tc_interior_options *options) {
    if (!tc_find_scales(solver))
        return undefined;
    tc_regularize(solver);
    return restart(solver, options);
}

static void multiply_weights(tc_interior *solver, tc_real factor) {
    for (size_t g = 0; g < solver->group_count; g++)
        for (size_t v = 0; v < solver->groups[g].count * solver->groups[g].dim; v++)
            solver->groups[g].weight[v] *= factor;
    for (size_t j = 0; solver->coupling != NULL && j < solver->coupling->m; j++)
        solver->coupling->weight[j] *= factor;
}

tc_interior_result tc_interior_weaken(tc_interior *solver, const tc_interior_options *options, tc_real factor) {
    multiply_weights(solver, factor);
    return resume(solver, options);
}

tc_interior_result tc_interior_proximal(tc_interior *solver, const tc_interior_options *options, tc_real factor) {
    multiply_weights(solver, factor);
    for (size_t g = 0; g < solver->group_count; g++)
        memcpy(solver->groups[g].center, solver->groups[g].at.x,
               solver->groups[g].count * solver->groups[g].dim * sizeof(tc_real));
    if (solver->coupling != NULL)
        memcpy(solver->coupling->center, solver->coupling->mu, solver->coupling->m * sizeof(tc_real));
    return resume(solver, options);
}

tc_interior_result tc_interior_least_states(tc_interior *solver, const tc_interior_options *options, tc_real strength) {
    tc_weigh_least_states(solver, strength);
    return restart(solver, options);
}

tc_interior_result tc_interior_least_multipliers(tc_interior *solver, const tc_interior_options *options,
                                                 tc_real strength) {
    tc_weigh_least_multipliers(solver, strength);
    return restart(solver, options);
}

tc_interior_result tc_interior_near(tc_interior *solver, const tc_interior_options *options, const double *x,
                                    const double *mu) {
    tc_weigh_near(solver, x, mu);
    return restart(solver, options);
}

void tc_interior_states(const tc_interior *solver, double *x) {
    for (size_t g = 0; g < solver->group_count; g++) {
        const tc_group *group = &solver->groups[g];
        for (size_t k = 0; group->family != NULL && k < group->count; k++)
            for (size_t c = 0; c < group->states; c++)
                x[tc_coord_of(group->family, k, c)] = (double)group->at.x[k * group->dim + c];
    }
}

void tc_interior_multipliers(const tc_interior *solver, double *mu) {
    const tc_coupling *coupling = solver->coupling;
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++)
        mu[j] = (double)(coupling->mu[j] * coupling->row_scale[j] /
                         solver->components[coupling->component[j]].objective_scale);
}

void tc_interior_block(const tc_interior *solver, tc_real *x) {
    memcpy(x, solver->groups[0].at.x, solver->groups[0].states * sizeof *x);
}

tc_real tc_interior_range(const tc_interior *solver) { return 1 / solver->components[0].objective_scale; }
