/* The predictor-corrector loop: Newton directions with iterative refinement, steps along them, and what callers solve.
 */
#include "solver/interior/layout.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef enum direction_aim { AFFINE, CENTER, CORRECT } direction_aim;

static void factor_members(tc_interior *solver, tc_group *group, size_t first, size_t end, const void *context) {
    (void)context;
    for (size_t from = first; from < end; from += TC_LANES) {
        size_t lanes = end - from < TC_LANES ? end - from : TC_LANES;
        tc_evaluate_hessians(solver, group, from, lanes);
        for (size_t k = from; k < from + lanes; k++)
            tc_block_factor(group, k);
        if (group->is_coupled)
            tc_blocks_couple(solver, group, from, from + lanes);
    }
}

static void factor(tc_interior *solver) {
    if (solver->coupling != NULL)
        tc_coupling_begin(solver->coupling);
    tc_pass_run(solver, TC_SUMS_SCHUR, factor_members, NULL);
    if (solver->coupling != NULL)
        tc_coupling_factor(solver->coupling);
}

/* ---- a direction ---- */

/* What a direction aims at, and whether this solution of the system is the last one or refined. */
typedef struct aim_of {
    direction_aim aim;
    tc_real target;
    bool is_refinement, is_last;
} aim_of;

/* The error of the products of complementarity; CORRECT adds the second-order term of the direction in `step`. */
static void set_misses(tc_group *group, size_t k, const aim_of *of) {
    tc_real order = of->aim == CORRECT ? 1 : 0, target = of->target;
    const tc_iterate *at = &group->at, *step = &group->step;
    for (size_t v = k * group->dim; v < (k + 1) * group->dim; v++) {
        group->miss_below[v] = at->below[v] * at->z_below[v] - target + order * step->x[v] * step->z_below[v];
        group->miss_above[v] = at->above[v] * at->z_above[v] - target - order * step->x[v] * step->z_above[v];
    }
    for (size_t r = k * group->rows; r < (k + 1) * group->rows; r++)
        group->miss_row[r] = at->slack[r] * at->y[r] - target + order * step->slack[r] * step->y[r];
}

static void set_rights(const tc_group *group, size_t k) {
    size_t dim = group->dim;
    for (size_t v = k * dim; v < (k + 1) * dim; v++)
        group->right_x[v] = group->width[v] == 0
                                ? 0
                                : -group->dual_residual[v] - group->miss_below[v] / group->at.below[v] +
                                      group->miss_above[v] / group->at.above[v];
    for (size_t r = k * group->rows; r < k * group->rows + group->row_count[k]; r++) {
        group->right_y[r] = -group->row_residual[r];
        if (!group->is_equality[r])
            group->right_y[r] += group->miss_row[r] / group->at.y[r];
    }
}

static void clear_step(tc_group *group, size_t k) {
    memset(group->step.x + k * group->dim, 0, group->dim * sizeof(tc_real));
    memset(group->step.y + k * group->rows, 0, group->rows * sizeof(tc_real));
}

/* The same of the constraints. */
static void set_coupling_rights(tc_coupling *coupling, const aim_of *of) {
    tc_real order = of->aim == CORRECT ? 1 : 0;
    for (size_t j = 0; j < coupling->m; j++) {
        coupling->miss[j] = tc_is_free(coupling, j) ? 0
                                                    : coupling->slack[j] * coupling->mu[j] - of->target +
                                                          order * coupling->step_slack[j] * coupling->step_mu[j];
        coupling->right[j] =
            -coupling->residual[j] + (tc_is_free(coupling, j) ? 0 : coupling->miss[j] / coupling->mu[j]);
        coupling->step_mu[j] = 0;
    }
}

/* right -= what the step so far already does. */
static void set_leftover(const tc_interior *solver, const tc_group *group, size_t k) {
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

static void load_right(tc_interior *solver, const tc_group *group, size_t k) {
    memcpy(solver->scratch.x, group->right_x + k * group->dim, group->dim * sizeof(tc_real));
    memcpy(solver->scratch.y, group->right_y + k * group->rows, group->row_count[k] * sizeof(tc_real));
}

/* Right-hand sides, and what they do to blocks alone: w0 of the coupled system, into `moved`. */
static void solve_alone(tc_interior *solver, tc_group *group, size_t first, size_t end, const void *context) {
    const aim_of *of = context;
    for (size_t k = first; k < end; k++) {
        if (of->is_refinement) {
            set_leftover(solver, group, k);
        } else {
            set_misses(group, k, of);
            set_rights(group, k);
            clear_step(group, k);
        }
        if (solver->coupling == NULL)
            continue;
        load_right(solver, group, k);
        tc_block_solve(group, k, solver->scratch.x, solver->scratch.y);
        tc_block_to_inputs(group, k, solver->scratch.x, solver->coupling->moved);
    }
}

static void add_to_step(tc_interior *solver, const tc_group *group, size_t k) {
    size_t dim = group->dim;
    tc_real *x = solver->scratch.x, *y = solver->scratch.y;
    load_right(solver, group, k);
    if (group->is_coupled)
        tc_block_from_inputs(group, k, solver->coupling->step_prices, x);
    for (size_t c = 0; c < dim; c++)
        if (group->width[k * dim + c] == 0)
            x[c] = 0;
    tc_block_solve(group, k, x, y);
    for (size_t c = 0; c < dim; c++)
        group->step.x[k * dim + c] += x[c];
    for (size_t r = 0; r < group->row_count[k]; r++)
        group->step.y[k * group->rows + r] += y[r];
}

/* Slacks and bound multipliers follow from complementarity, each with its own relative accuracy. */
static void complete_step(tc_group *group, size_t k) {
    const tc_iterate *at = &group->at;
    tc_iterate *step = &group->step;
    for (size_t v = k * group->dim; v < (k + 1) * group->dim; v++) {
        if (group->width[v] == 0)
            continue;
        step->z_below[v] = (-group->miss_below[v] - at->z_below[v] * step->x[v]) / at->below[v];
        step->z_above[v] = (-group->miss_above[v] + at->z_above[v] * step->x[v]) / at->above[v];
    }
    for (size_t r = k * group->rows; r < k * group->rows + group->row_count[k]; r++)
        step->slack[r] = group->is_equality[r] ? 0 : (-group->miss_row[r] - at->slack[r] * step->y[r]) / at->y[r];
}

static tc_real shorter(tc_real length, tc_real value, tc_real step) {
    return value + length * step < 0 ? -value / step : length;
}

/* The longest step that keeps everything of a block non-negative. */
static tc_real longest_of(const tc_group *group, size_t k, tc_real length) {
    const tc_iterate *at = &group->at, *step = &group->step;
    for (size_t v = k * group->dim; v < (k + 1) * group->dim; v++) {
        if (group->width[v] == 0)
            continue;
        length = shorter(length, at->below[v], step->x[v]);
        length = shorter(length, at->above[v], -step->x[v]);
        length = shorter(length, at->z_below[v], step->z_below[v]);
        length = shorter(length, at->z_above[v], step->z_above[v]);
    }
    for (size_t r = k * group->rows; r < k * group->rows + group->row_count[k]; r++)
        if (!group->is_equality[r]) {
            length = shorter(length, at->slack[r], step->slack[r]);
            length = shorter(length, at->y[r], step->y[r]);
        }
    return length;
}

/* The blocks once more, with the prices of the coupled system: their step. Where it will be refined, U dx into `moved`;
 * else all of the step, and how far it may go. */
static void solve_coupled(tc_interior *solver, tc_group *group, size_t first, size_t end, const void *context) {
    const aim_of *of = context;
    for (size_t k = first; k < end; k++) {
        add_to_step(solver, group, k);
        if (of->is_last) {
            complete_step(group, k);
            solver->longest = longest_of(group, k, solver->longest);
        } else if (solver->coupling != NULL) {
            tc_block_to_inputs(group, k, group->step.x + k * group->dim, solver->coupling->moved);
        }
    }
}

static void clear_moved(const tc_coupling *coupling) { memset(coupling->moved, 0, coupling->q * sizeof(tc_real)); }

/* Solves for the right-hand sides and adds to the step: blocks alone, the coupled system, blocks again. */
static void solve_system(tc_interior *solver, const aim_of *of) {
    tc_coupling *coupling = solver->coupling;
    if (coupling != NULL)
        clear_moved(coupling);
    tc_pass_run(solver, TC_SUMS_MOVED, solve_alone, of);
    if (coupling != NULL) {
        tc_coupling_solve(coupling);
        clear_moved(coupling);
    }
    tc_pass_run(solver, TC_SUMS_MOVED, solve_coupled, of);
}

static void complete_coupling_step(tc_interior *solver) {
    tc_coupling *coupling = solver->coupling;
    for (size_t j = 0; j < coupling->m; j++) {
        if (tc_is_free(coupling, j)) {
            coupling->step_slack[j] = 0;
            continue;
        }
        coupling->step_slack[j] = (-coupling->miss[j] - coupling->slack[j] * coupling->step_mu[j]) / coupling->mu[j];
        solver->longest = shorter(solver->longest, coupling->slack[j], coupling->step_slack[j]);
        solver->longest = shorter(solver->longest, coupling->mu[j], coupling->step_mu[j]);
    }
}

/* The Newton direction towards complementarity `target`; CORRECT adds the second-order term of the direction that is in
 * `step`. Returns the longest step along it, at most 1/0.9, that keeps everything non-negative. */
static tc_real direction(tc_interior *solver, direction_aim aim, tc_real target) {
    bool is_refined = aim != AFFINE && solver->gap < 1e-6L; /* where accuracy begins to count */
    tc_coupling *coupling = solver->coupling;
    aim_of of = {.aim = aim, .target = target, .is_last = !is_refined};
    solver->longest = 1 / 0.9L;
    if (coupling != NULL)
        set_coupling_rights(coupling, &of);
    solve_system(solver, &of);
    if (is_refined) {
        if (coupling != NULL)
            tc_coupling_apply(coupling);
        of.is_refinement = of.is_last = true;
        solve_system(solver, &of);
    }
    if (coupling != NULL)
        complete_coupling_step(solver);
    return solver->longest;
}

static void add_gap(tc_interior *solver, tc_group *group, size_t first, size_t end, const void *context) {
    tc_real length = *(const tc_real *)context, sum = solver->sum;
    const tc_iterate *at = &group->at, *step = &group->step;
    for (size_t v = first * group->dim; v < end * group->dim; v++) {
        if (group->width[v] == 0)
            continue;
        sum += (at->below[v] + length * step->x[v]) * (at->z_below[v] + length * step->z_below[v]);
        sum += (at->above[v] - length * step->x[v]) * (at->z_above[v] + length * step->z_above[v]);
    }
    for (size_t k = first; k < end; k++)
        for (size_t r = k * group->rows; r < k * group->rows + group->row_count[k]; r++)
            if (!group->is_equality[r])
                sum += (at->slack[r] + length * step->slack[r]) * (at->y[r] + length * step->y[r]);
    solver->sum = sum;
}

/* Average complementarity after a step of this length. */
static tc_real gap_after(tc_interior *solver, tc_real length) {
    solver->sum = 0;
    tc_pass_run(solver, TC_SUMS_ONE, add_gap, &length);
    const tc_coupling *coupling = solver->coupling;
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++)
        solver->sum +=
            (coupling->slack[j] + length * coupling->step_slack[j]) * (coupling->mu[j] + length * coupling->step_mu[j]);
    return solver->pairs > 0 ? solver->sum / (tc_real)solver->pairs : 0;
}

/* ---- a step ---- */

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

void tc_move_members(tc_group *group, size_t first, size_t end, tc_real length) {
    for (size_t v = first * group->dim; v < end * group->dim; v++)
        if (group->width[v] != 0)
            move_variable(group, v, length);
    for (size_t r = first * group->rows; r < end * group->rows; r++) {
        group->trial.slack[r] = group->at.slack[r] + length * group->step.slack[r];
        group->trial.y[r] = group->at.y[r] + length * group->step.y[r];
    }
}

static void accept_members(tc_interior *solver, tc_group *group, size_t first, size_t end, const void *context) {
    (void)solver;
    (void)context;
    tc_iterate *to = &group->at;
    const tc_iterate *from = &group->trial;
    size_t v = first * group->dim, variables = (end - first) * group->dim * sizeof(tc_real);
    size_t r = first * group->rows, rows = (end - first) * group->rows * sizeof(tc_real);
    memcpy(to->x + v, from->x + v, variables);
    memcpy(to->below + v, from->below + v, variables);
    memcpy(to->above + v, from->above + v, variables);
    memcpy(to->z_below + v, from->z_below + v, variables);
    memcpy(to->z_above + v, from->z_above + v, variables);
    memcpy(to->slack + r, from->slack + r, rows);
    memcpy(to->y + r, from->y + r, rows);
}

static void accept_coupling(tc_coupling *coupling) {
    if (coupling == NULL)
        return;
    memcpy(coupling->slack, coupling->trial_slack, coupling->m * sizeof(tc_real));
    memcpy(coupling->mu, coupling->trial_mu, coupling->m * sizeof(tc_real));
}

void tc_accept(tc_interior *solver) {
    tc_pass_run(solver, TC_SUMS_NOTHING, accept_members, NULL);
    accept_coupling(solver->coupling);
}

/* ---- the loop ---- */

static tc_real capped(tc_real length) { return fminl(1, length); }

/* A Newton direction from the accepted point: Mehrotra's predictor and corrector while complementarity must fall,
 * plain centering once it is there. The corrector can cycle; when nothing improves, a plain step now and then breaks
 * the cycle. */
static tc_real choose_direction(tc_interior *solver, tc_real goal, size_t stalled) {
    tc_real gap = solver->gap, residual = solver->residual;
    if (gap <= 2 * goal)
        return direction(solver, CENTER, goal);
    if (solver->has_kinks && stalled >= 4)
        solver->is_careful = true;
    if (solver->is_careful) {
        tc_real target = 0.1L * gap;
        if (residual > 1e-16L)
            target = fmaxl(target, fminl(0.5L * gap, 1e-5L * residual));
        return direction(solver, CENTER, fmaxl(goal, target));
    }
    if (stalled >= 4 && stalled % 4 == 0)
        return direction(solver, CENTER, fmaxl(goal, 0.1L * gap));
    tc_real ratio = fmaxl(0, gap_after(solver, capped(direction(solver, AFFINE, 0)))) / gap;
    tc_real target = fmaxl(goal, fminl(1, ratio * ratio * ratio) * gap);
    if (residual > (solver->has_kinks ? 1e-16L : 1e-10L)) /* complementarity must not run ahead of feasibility */
        target = fmaxl(target, fminl(0.5L * gap, 1e-5L * residual));
    tc_real longest = direction(solver, CORRECT, target);
    return longest < 0.1L ? direction(solver, CENTER, fmaxl(goal, 0.5L * gap)) : longest;
}

/* Shortens the step until functions are defined there and the residual does not blow up. A step that cannot but make it
 * larger is taken early on, where later ones make up for it, and not at the end, where that is rounding: where rows
 * barely hold, an exact answer would be lost. A residual below the rounding of sums over many agents is chance: the
 * next step need not repeat it. */
static bool advance(tc_interior *solver, tc_real longest) {
    tc_real residual = solver->residual, gap = solver->gap;
    tc_real keep = fmaxl(0.99L, 1 - fmaxl(gap, 1e-6L)), length = capped(keep * longest);
    for (int shorter = 0; shorter < 40; shorter++, length /= 2) {
        bool defined = tc_evaluate_step(solver, length);
        bool is_sound = solver->residual <= fmaxl(fmaxl(5 * residual, 1e3L * gap), solver->rounding);
        if (defined && (is_sound || (shorter >= 20 && gap > 1e-19L))) {
            tc_exchange_trial(solver); /* copies nothing: the next step makes another trial point */
            accept_coupling(solver->coupling);
            return true;
        }
    }
    (void)tc_evaluate_step(solver, 0);
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
        tc_real residual_goal = fmaxl(options->residual, solver->rounding);
        if (solver->gap <= 2 * options->gap && solver->residual <= residual_goal) {
            result.converged = true;
            break;
        }
        tc_real merit = fmaxl(solver->gap / options->gap, solver->residual / residual_goal);
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
    result.rounding = solver->rounding;
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
    (void)tc_evaluate_step(solver, 0);
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
