/* The predictor-corrector loop: Newton directions with iterative refinement, steps along them, and what callers solve.
 */
#include "solver/interior/layout.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef enum direction_aim { AFFINE, CENTER, CORRECT } direction_aim;

static void factor(tc_interior *solver) {
    if (solver->coupling != NULL)
        tc_coupling_begin(solver->coupling);
    for (size_t g = 0; g < solver->group_count; g++) {
        tc_group *group = &solver->groups[g];
        for (size_t first = 0; first < group->count; first += TC_LANES) {
            size_t lanes = group->count - first < TC_LANES ? group->count - first : TC_LANES;
            tc_evaluate_hessians(solver, group, first, lanes);
            for (size_t k = first; k < first + lanes; k++) {
                tc_block_factor(group, k);
                if (group->is_coupled)
                    tc_block_couple(solver, group, k);
            }
        }
    }
    if (solver->coupling != NULL)
        tc_coupling_factor(solver->coupling);
}

/* The error of the products of complementarity; CORRECT adds the second-order term of the direction in `step`. */
static void set_misses(tc_interior *solver, direction_aim aim, tc_real target) {
    tc_real order = aim == CORRECT ? 1 : 0;
    for (size_t g = 0; g < solver->group_count; g++) {
        tc_group *group = &solver->groups[g];
        const tc_iterate *at = &group->at, *step = &group->step;
        for (size_t v = 0; v < group->count * group->dim; v++) {
            group->miss_below[v] = at->below[v] * at->z_below[v] - target + order * step->x[v] * step->z_below[v];
            group->miss_above[v] = at->above[v] * at->z_above[v] - target - order * step->x[v] * step->z_above[v];
        }
        for (size_t r = 0; r < group->count * group->rows; r++)
            group->miss_row[r] = at->slack[r] * at->y[r] - target + order * step->slack[r] * step->y[r];
    }
    tc_coupling *coupling = solver->coupling;
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++)
        coupling->miss[j] = tc_is_free(coupling, j) ? 0
                                                    : coupling->slack[j] * coupling->mu[j] - target +
                                                          order * coupling->step_slack[j] * coupling->step_mu[j];
}

static void right_of_member(const tc_group *group, size_t k) {
    size_t dim = group->dim;
    for (size_t c = 0; c < dim; c++) {
        size_t v = k * dim + c;
        group->right_x[v] = group->width[v] == 0
                                ? 0
                                : -group->dual_residual[v] - group->miss_below[v] / group->at.below[v] +
                                      group->miss_above[v] / group->at.above[v];
    }
    for (size_t r = k * group->rows; r < k * group->rows + group->row_count[k]; r++) {
        group->right_y[r] = -group->row_residual[r];
        if (!group->is_equality[r])
            group->right_y[r] += group->miss_row[r] / group->at.y[r];
    }
}

static void set_rights(tc_interior *solver) {
    for (size_t g = 0; g < solver->group_count; g++)
        for (size_t k = 0; k < solver->groups[g].count; k++)
            right_of_member(&solver->groups[g], k);
    tc_coupling *coupling = solver->coupling;
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++)
        coupling->right[j] =
            -coupling->residual[j] + (tc_is_free(coupling, j) ? 0 : coupling->miss[j] / coupling->mu[j]);
}

static void clear_step(tc_interior *solver) {
    for (size_t g = 0; g < solver->group_count; g++) {
        tc_group *group = &solver->groups[g];
        memset(group->step.x, 0, group->count * group->dim * sizeof(tc_real));
        memset(group->step.y, 0, group->count * group->rows * sizeof(tc_real));
    }
    if (solver->coupling != NULL)
        memset(solver->coupling->step_mu, 0, solver->coupling->m * sizeof(tc_real));
}

/* right -= what the step so far already does. */
static void member_leftover(const tc_interior *solver, const tc_group *group, size_t k) {
    size_t dim = group->dim, rows = group->row_count[k], first = k * group->rows;
    const tc_real *hessian = group->hessian + k * dim * dim, *dx = group->step.x + k * dim, *dy = group->step.y + first;
    const tc_real *gradients = group->row_gradients + first * dim;
    tc_real *right_x = group->right_x + k * dim, *right_y = group->right_y + first;
    for (size_t c = 0; c < dim; c++) {
        tc_real image = group->hessian_diagonal[k * dim + c] * dx[c];
        for (size_t d = 0; d < dim; d++)
            if (d != c)
                image += (d > c ? hessian[c * dim + d] : hessian[d * dim + c]) * dx[d];
        for (size_t r = 0; r < rows; r++)
            image += gradients[r * dim + c] * dy[r];
        right_x[c] -= image;
    }
    if (group->is_coupled)
        tc_block_from_inputs(group, k, solver->coupling->step_prices, right_x);
    for (size_t c = 0; c < dim; c++)
        if (group->width[k * dim + c] == 0)
            right_x[c] = 0;
    for (size_t r = 0; r < rows; r++) {
        right_y[r] -= tc_dot(dim, gradients + r * dim, dx);
        if (!group->is_equality[first + r])
            right_y[r] += group->at.slack[first + r] / group->at.y[first + r] * dy[r];
    }
}

static void set_leftover(tc_interior *solver) {
    tc_coupling *coupling = solver->coupling;
    set_rights(solver);
    if (coupling != NULL) {
        memset(coupling->moved, 0, coupling->q * sizeof(tc_real));
        for (size_t g = 0; g < solver->group_count; g++)
            for (size_t k = 0; k < solver->groups[g].count; k++)
                tc_block_to_inputs(&solver->groups[g], k, solver->groups[g].step.x + k * solver->groups[g].dim,
                                   coupling->moved);
        tc_coupling_apply(coupling);
    }
    for (size_t g = 0; g < solver->group_count; g++)
        for (size_t k = 0; k < solver->groups[g].count; k++)
            member_leftover(solver, &solver->groups[g], k);
}

static void load_right(tc_interior *solver, const tc_group *group, size_t k) {
    memcpy(solver->block_x, group->right_x + k * group->dim, group->dim * sizeof(tc_real));
    memcpy(solver->block_y, group->right_y + k * group->rows, group->row_count[k] * sizeof(tc_real));
}

/* Solves for the right-hand sides and adds to the step: blocks alone, the coupled system, blocks again. */
static void solve_system(tc_interior *solver) {
    tc_coupling *coupling = solver->coupling;
    if (coupling != NULL) {
        memset(coupling->moved, 0, coupling->q * sizeof(tc_real));
        for (size_t g = 0; g < solver->group_count; g++) {
            const tc_group *group = &solver->groups[g];
            for (size_t k = 0; k < group->count; k++) {
                load_right(solver, group, k);
                tc_block_solve(group, k, solver->block_x, solver->block_y);
                tc_block_to_inputs(group, k, solver->block_x, coupling->moved);
            }
        }
        tc_coupling_solve(coupling);
    }
    for (size_t g = 0; g < solver->group_count; g++) {
        const tc_group *group = &solver->groups[g];
        for (size_t k = 0; k < group->count; k++) {
            size_t dim = group->dim;
            load_right(solver, group, k);
            if (group->is_coupled)
                tc_block_from_inputs(group, k, coupling->step_prices, solver->block_x);
            for (size_t c = 0; c < dim; c++)
                if (group->width[k * dim + c] == 0)
                    solver->block_x[c] = 0;
            tc_block_solve(group, k, solver->block_x, solver->block_y);
            for (size_t c = 0; c < dim; c++)
                group->step.x[k * dim + c] += solver->block_x[c];
            for (size_t r = 0; r < group->row_count[k]; r++)
                group->step.y[k * group->rows + r] += solver->block_y[r];
        }
    }
}

/* Slacks and bound multipliers follow from complementarity, each with its own relative accuracy. */
static void complete_step(tc_interior *solver) {
    for (size_t g = 0; g < solver->group_count; g++) {
        tc_group *group = &solver->groups[g];
        const tc_iterate *at = &group->at;
        tc_iterate *step = &group->step;
        for (size_t v = 0; v < group->count * group->dim; v++) {
            if (group->width[v] == 0)
                continue;
            step->z_below[v] = (-group->miss_below[v] - at->z_below[v] * step->x[v]) / at->below[v];
            step->z_above[v] = (-group->miss_above[v] + at->z_above[v] * step->x[v]) / at->above[v];
        }
        for (size_t k = 0; k < group->count; k++)
            for (size_t r = k * group->rows; r < k * group->rows + group->row_count[k]; r++)
                step->slack[r] =
                    group->is_equality[r] ? 0 : (-group->miss_row[r] - at->slack[r] * step->y[r]) / at->y[r];
    }
    tc_coupling *coupling = solver->coupling;
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++)
        coupling->step_slack[j] =
            tc_is_free(coupling, j)
                ? 0
                : (-coupling->miss[j] - coupling->slack[j] * coupling->step_mu[j]) / coupling->mu[j];
}

/* The Newton direction towards complementarity `target`; CORRECT adds the second-order term of the direction that is in
 * `step`. */
static void direction(tc_interior *solver, direction_aim aim, tc_real target) {
    set_misses(solver, aim, target);
    set_rights(solver);
    clear_step(solver);
    solve_system(solver);
    if (aim != AFFINE && solver->gap < 1e-6L) { /* refined where accuracy begins to count */
        set_leftover(solver);
        solve_system(solver);
    }
    complete_step(solver);
}

static tc_real shorter(tc_real length, tc_real value, tc_real step) {
    return value + length * step < 0 ? -value / step : length;
}

/* The longest step, at most 1/0.9, that keeps everything non-negative. */
static tc_real longest_step(const tc_interior *solver) {
    tc_real length = 1 / 0.9L;
    for (size_t g = 0; g < solver->group_count; g++) {
        const tc_group *group = &solver->groups[g];
        const tc_iterate *at = &group->at, *step = &group->step;
        for (size_t v = 0; v < group->count * group->dim; v++) {
            if (group->width[v] == 0)
                continue;
            length = shorter(length, at->below[v], step->x[v]);
            length = shorter(length, at->above[v], -step->x[v]);
            length = shorter(length, at->z_below[v], step->z_below[v]);
            length = shorter(length, at->z_above[v], step->z_above[v]);
        }
        for (size_t k = 0; k < group->count; k++)
            for (size_t r = k * group->rows; r < k * group->rows + group->row_count[k]; r++)
                if (!group->is_equality[r]) {
                    length = shorter(length, at->slack[r], step->slack[r]);
                    length = shorter(length, at->y[r], step->y[r]);
                }
    }
    const tc_coupling *coupling = solver->coupling;
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++) {
        if (tc_is_free(coupling, j))
            continue;
        length = shorter(length, coupling->slack[j], coupling->step_slack[j]);
        length = shorter(length, coupling->mu[j], coupling->step_mu[j]);
    }
    return length;
}

/* Average complementarity after a step of this length. */
static tc_real gap_after(const tc_interior *solver, tc_real length) {
    tc_real sum = 0;
    for (size_t g = 0; g < solver->group_count; g++) {
        const tc_group *group = &solver->groups[g];
        const tc_iterate *at = &group->at, *step = &group->step;
        for (size_t v = 0; v < group->count * group->dim; v++) {
            if (group->width[v] == 0)
                continue;
            sum += (at->below[v] + length * step->x[v]) * (at->z_below[v] + length * step->z_below[v]);
            sum += (at->above[v] - length * step->x[v]) * (at->z_above[v] + length * step->z_above[v]);
        }
        for (size_t k = 0; k < group->count; k++)
            for (size_t r = k * group->rows; r < k * group->rows + group->row_count[k]; r++)
                if (!group->is_equality[r])
                    sum += (at->slack[r] + length * step->slack[r]) * (at->y[r] + length * step->y[r]);
    }
    const tc_coupling *coupling = solver->coupling;
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++)
        sum +=
            (coupling->slack[j] + length * coupling->step_slack[j]) * (coupling->mu[j] + length * coupling->step_mu[j]);
    return solver->pairs > 0 ? sum / (tc_real)solver->pairs : 0;
}

/* An argument of a lifted norm, whose last digits count near 0. */
static bool is_of_norm(const tc_group *group, size_t c) {
    return c >= group->states && c < group->states + group->kinks &&
           group->lift->norm[c - group->states] != UINT32_MAX &&
           group->lift->norm[c - group->states] != c - group->states;
}

/* x is computed from the nearer bound, so that the distance to it keeps all its digits. */
static void move_variable(tc_group *group, size_t v, tc_real length) {
    const tc_iterate *at = &group->at, *step = &group->step;
    tc_iterate *trial = &group->trial;
    tc_real width = group->width[v], below = at->below[v] + length * step->x[v];
    tc_real above = at->above[v] - length * step->x[v];
    if (below <= above) {
        trial->x[v] = group->lower[v] + below;
        above = width - below;
    } else {
        below = width - above;
        trial->x[v] = group->lower[v] + below;
    }
    if (group->family == NULL || is_of_norm(group, v % group->dim)) /* its bounds are far away and mean nothing */
        trial->x[v] = at->x[v] + length * step->x[v];
    trial->below[v] = below;
    trial->above[v] = above;
    trial->z_below[v] = at->z_below[v] + length * step->z_below[v];
    trial->z_above[v] = at->z_above[v] + length * step->z_above[v];
}

/* trial = at + length * step */
static void move(tc_interior *solver, tc_real length) {
    for (size_t g = 0; g < solver->group_count; g++) {
        tc_group *group = &solver->groups[g];
        for (size_t v = 0; v < group->count * group->dim; v++)
            if (group->width[v] != 0)
                move_variable(group, v, length);
        for (size_t r = 0; r < group->count * group->rows; r++) {
            group->trial.slack[r] = group->at.slack[r] + length * group->step.slack[r];
            group->trial.y[r] = group->at.y[r] + length * group->step.y[r];
        }
    }
    tc_coupling *coupling = solver->coupling;
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++) {
        coupling->trial_slack[j] = coupling->slack[j] + length * coupling->step_slack[j];
        coupling->trial_mu[j] = coupling->mu[j] + length * coupling->step_mu[j];
    }
}

static void copy_iterate(tc_iterate *to, const tc_iterate *from, size_t variables, size_t rows) {
    memcpy(to->x, from->x, variables * sizeof(tc_real));
    memcpy(to->below, from->below, variables * sizeof(tc_real));
    memcpy(to->above, from->above, variables * sizeof(tc_real));
    memcpy(to->z_below, from->z_below, variables * sizeof(tc_real));
    memcpy(to->z_above, from->z_above, variables * sizeof(tc_real));
    memcpy(to->slack, from->slack, rows * sizeof(tc_real));
    memcpy(to->y, from->y, rows * sizeof(tc_real));
}

void tc_accept(tc_interior *solver) {
    for (size_t g = 0; g < solver->group_count; g++) {
        tc_group *group = &solver->groups[g];
        copy_iterate(&group->at, &group->trial, group->count * group->dim, group->count * group->rows);
    }
    tc_coupling *coupling = solver->coupling;
    if (coupling != NULL) {
        memcpy(coupling->slack, coupling->trial_slack, coupling->m * sizeof(tc_real));
        memcpy(coupling->mu, coupling->trial_mu, coupling->m * sizeof(tc_real));
    }
}

/* ---- the loop ---- */

static tc_real capped(tc_real length) { return fminl(1, length); }

/* A Newton direction from the accepted point: Mehrotra's predictor and corrector while complementarity must fall,
 * plain centering once it is there. The corrector can cycle; when nothing improves, a plain step now and then breaks
 * the cycle. */
static tc_real choose_direction(tc_interior *solver, tc_real goal, size_t stalled) {
    tc_real gap = solver->gap, residual = solver->residual;
    if (gap <= 2 * goal) {
        direction(solver, CENTER, goal);
        return longest_step(solver);
    }
    if (solver->has_kinks && stalled >= 4)
        solver->is_careful = true;
    if (solver->is_careful) {
        tc_real target = 0.1L * gap;
        if (residual > 1e-16L)
            target = fmaxl(target, fminl(0.5L * gap, 1e-5L * residual));
        direction(solver, CENTER, fmaxl(goal, target));
        return longest_step(solver);
    }
    if (stalled >= 4 && stalled % 4 == 0) {
        direction(solver, CENTER, fmaxl(goal, 0.1L * gap));
        return longest_step(solver);
    }
    direction(solver, AFFINE, 0);
    tc_real ratio = fmaxl(0, gap_after(solver, capped(longest_step(solver)))) / gap;
    tc_real target = fmaxl(goal, fminl(1, ratio * ratio * ratio) * gap);
    if (residual > (solver->has_kinks ? 1e-16L : 1e-10L)) /* complementarity must not run ahead of feasibility */
        target = fmaxl(target, fminl(0.5L * gap, 1e-5L * residual));
    direction(solver, CORRECT, target);
    tc_real longest = longest_step(solver);
    if (longest < 0.1L) {
        direction(solver, CENTER, fmaxl(goal, 0.5L * gap));
        longest = longest_step(solver);
    }
    return longest;
}

/* Shortens the step until functions are defined there and the residual does not blow up. A step that cannot but make it
 * larger is taken early on, where later ones make up for it, and not at the end, where that is rounding: where rows
 * barely hold, an exact answer would be lost. */
static bool advance(tc_interior *solver, tc_real longest) {
    tc_real residual = solver->residual, gap = solver->gap;
    tc_real keep = fmaxl(0.99L, 1 - fmaxl(gap, 1e-6L)), length = capped(keep * longest);
    for (int shorter = 0; shorter < 40; shorter++, length /= 2) {
        move(solver, length);
        bool defined = tc_evaluate(solver);
        bool is_sound = solver->residual <= fmaxl(5 * residual, 1e3L * gap);
        if (defined && (is_sound || (shorter >= 20 && gap > 1e-19L))) {
            tc_accept(solver);
            return true;
        }
    }
    move(solver, 0);
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
    solver->is_careful = false;
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
        factor(solver);
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

/* From where the last solve ended; with bends that is too close to the rows of their lift to move well. */
static tc_interior_result resume(tc_interior *solver, const tc_interior_options *options) {
    if (solver->has_bends)
        return restart(solver, options);
    move(solver, 0);
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

void tc_interior_row_sizes(const tc_interior *solver, double *sizes) {
    for (size_t j = 0; j < solver->coupling->m; j++)
        sizes[j] = (double)(1 / solver->coupling->row_scale[j]);
}

void tc_interior_block(const tc_interior *solver, tc_real *x) {
    memcpy(x, solver->groups[0].at.x, solver->groups[0].states * sizeof *x);
}

tc_real tc_interior_range(const tc_interior *solver) { return 1 / solver->components[0].objective_scale; }
