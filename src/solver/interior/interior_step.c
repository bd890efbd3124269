/* Newton directions, with iterative refinement, and steps along them. */
#include "solver/interior/interior_parts.h"

#include <math.h>
#include <string.h>

void tc_factor(tc_interior *solver) {
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

/* What the products of complementarity miss; with the second-order term of the direction in `step` where wanted. */
static void set_misses(tc_interior *solver, tc_aim aim, tc_real target) {
    tc_real order = aim == TC_AIM_CORRECT ? 1 : 0;
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
        coupling->miss[j] =
            coupling->slack[j] * coupling->mu[j] - target + order * coupling->step_slack[j] * coupling->step_mu[j];
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
        coupling->right[j] = -coupling->residual[j] + coupling->miss[j] / coupling->mu[j];
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
        tc_block_from_inputs(group, k, solver->coupling->response, right_x);
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
                tc_block_from_inputs(group, k, coupling->response, solver->block_x);
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
        coupling->step_slack[j] = (-coupling->miss[j] - coupling->slack[j] * coupling->step_mu[j]) / coupling->mu[j];
}

void tc_direction(tc_interior *solver, tc_aim aim, tc_real target) {
    set_misses(solver, aim, target);
    set_rights(solver);
    clear_step(solver);
    solve_system(solver);
    if (aim != TC_AIM_AFFINE && solver->gap < 1e-6L) { /* refined where accuracy begins to count */
        set_leftover(solver);
        solve_system(solver);
    }
    complete_step(solver);
}

static tc_real shorter(tc_real length, tc_real value, tc_real step) {
    return value + length * step < 0 ? -value / step : length;
}

/* The longest step, at most 1/0.9, that keeps everything non-negative. */
tc_real tc_longest_step(const tc_interior *solver) {
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
        length = shorter(length, coupling->slack[j], coupling->step_slack[j]);
        length = shorter(length, coupling->mu[j], coupling->step_mu[j]);
    }
    return length;
}

tc_real tc_gap_after(const tc_interior *solver, tc_real length) {
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

/* x is told from the nearer bound, so that the distance to it keeps all its digits. */
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
    if (group->family == NULL) /* t: its bounds are far away and mean nothing */
        trial->x[v] = at->x[v] + length * step->x[v];
    trial->below[v] = below;
    trial->above[v] = above;
    trial->z_below[v] = at->z_below[v] + length * step->z_below[v];
    trial->z_above[v] = at->z_above[v] + length * step->z_above[v];
}

void tc_move(tc_interior *solver, tc_real length) {
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
