/* Functions and derivatives of all blocks at the trial point, and the residuals of the optimality conditions:
 *
 *     grad f + weight (x - center) + E' y + U' A' mu - z_below + z_above = 0
 *     h(x) + slack = 0 (or h(x) = 0),   g(x) - price_weight (mu - price_center) + slack = 0,   products = target
 *
 * A row of g that is an equality has no slack. */
#include "solver/interior/layout.h"

#include <math.h>
#include <string.h>

/* ---- the parts of a set as scaled rows ---- */

/* A half-space, hyperplane, ball or ellipsoid is one row; an l1 ball around c is
 * |x_j - c_j| <= t_j (two rows each) and sum t <= radius, with t the block's lifting variables. */

static size_t rows_of_part(const tc_set_part *part) { return part->kind == TC_SET_BALL1 ? 2 * part->count + 1 : 1; }

static tc_real scale_of_part(const tc_set_part *part) {
    tc_real size = 0;
    switch (part->kind) {
    case TC_SET_HALFSPACE:
    case TC_SET_HYPERPLANE:
        for (size_t c = 0; c < part->count; c++)
            size += (tc_real)part->center[c] * (tc_real)part->center[c];
        return 1 / sqrtl(size);
    case TC_SET_BALL:
        return 1 / (2 * (tc_real)part->radius);
    case TC_SET_ELLIPSOID:
        for (size_t c = 0; c < part->count; c++)
            size = fmaxl(size, (tc_real)part->matrix[c * part->count + c]);
        return 1 / (2 * sqrtl(size * (tc_real)part->radius));
    case TC_SET_BALL1:
    case TC_SET_BOX:
    case TC_SET_SIMPLEX:
        break;
    }
    return 1;
}

size_t tc_rows_prepare(const tc_group *group, size_t member, tc_real *lift_lower, tc_real *lift_upper) {
    size_t row = 0, lift = group->kinks;
    if (group->kinks > 0)
        tc_kinks_bound(group, member, lift_lower, lift_upper);
    for (size_t p = 0; p < group->set->part_count; p++) {
        const tc_set_part *part = &group->set->parts[p];
        for (size_t r = 0; r < rows_of_part(part); r++, row++) {
            group->is_equality[member * group->rows + row] = part->kind == TC_SET_HYPERPLANE;
            group->row_scale[member * group->rows + row] = (double)scale_of_part(part);
        }
        for (size_t c = 0; part->kind == TC_SET_BALL1 && c < part->count; c++, lift++) {
            lift_lower[lift] = 0;
            lift_upper[lift] = part->radius;
        }
    }
    for (; lift < group->dim - group->states; lift++)
        lift_lower[lift] = lift_upper[lift] = 0; /* of a part that was dropped */
    return group->kinks > 0 ? tc_kinks_prepare(group, member, row, lift_lower, lift_upper) : row;
}

static tc_real evaluate_linear(const tc_set_part *part, tc_real scale, const tc_real *x, tc_real *gradient) {
    tc_real sum = -(tc_real)part->radius;
    for (size_t c = 0; c < part->count; c++) {
        sum += (tc_real)part->center[c] * x[c];
        gradient[c] = scale * (tc_real)part->center[c];
    }
    return scale * sum;
}

static tc_real evaluate_ball(const tc_set_part *part, tc_real scale, const tc_real *x, tc_real *gradient) {
    tc_real sum = -(tc_real)part->radius * (tc_real)part->radius;
    for (size_t c = 0; c < part->count; c++) {
        tc_real d = x[c] - (tc_real)part->center[c];
        sum += d * d;
        gradient[c] = 2 * scale * d;
    }
    return scale * sum;
}

static tc_real evaluate_ellipsoid(const tc_set_part *part, tc_real scale, const tc_real *x, tc_real *gradient) {
    tc_real sum = -(tc_real)part->radius;
    for (size_t c = 0; c < part->count; c++) {
        tc_real image = 0;
        for (size_t d = 0; d < part->count; d++)
            image += (tc_real)part->matrix[c * part->count + d] * (x[d] - (tc_real)part->center[d]);
        sum += (x[c] - (tc_real)part->center[c]) * image;
        gradient[c] = 2 * scale * image;
    }
    return scale * sum;
}

static void evaluate_ball1(const tc_set_part *part, size_t dim, size_t lift, const tc_real *x, tc_real *h,
                           tc_real *gradients) {
    tc_real sum = -(tc_real)part->radius;
    for (size_t c = 0; c < part->count; c++) {
        tc_real d = x[part->first + c] - (tc_real)part->center[c], t = x[lift + c];
        h[2 * c] = d - t;
        h[2 * c + 1] = -d - t;
        sum += t;
        gradients[2 * c * dim + part->first + c] = 1;
        gradients[(2 * c + 1) * dim + part->first + c] = -1;
        gradients[2 * c * dim + lift + c] = gradients[(2 * c + 1) * dim + lift + c] = -1;
        gradients[2 * part->count * dim + lift + c] = 1;
    }
    h[2 * part->count] = sum;
}

static void rows_evaluate(const tc_group *group, size_t member, const tc_real *x, tc_real *h, tc_real *gradients) {
    const double *scales = group->row_scale + member * group->rows;
    size_t row = 0, lift = group->states + group->kinks;
    for (size_t e = 0; e < group->row_count[member] * group->dim; e++)
        gradients[e] = 0;
    for (size_t p = 0; p < group->set->part_count; p++) {
        const tc_set_part *part = &group->set->parts[p];
        tc_real *gradient = gradients + row * group->dim, scale = scales[row];
        if (part->kind == TC_SET_BALL) {
            h[row] = evaluate_ball(part, scale, x + part->first, gradient + part->first);
        } else if (part->kind == TC_SET_ELLIPSOID) {
            h[row] = evaluate_ellipsoid(part, scale, x + part->first, gradient + part->first);
        } else if (part->kind == TC_SET_BALL1) {
            evaluate_ball1(part, group->dim, lift, x, h + row, gradient);
            lift += part->count;
        } else {
            h[row] = evaluate_linear(part, scale, x + part->first, gradient + part->first);
        }
        row += rows_of_part(part);
    }
}

static void rows_hessian(const tc_group *group, size_t member, const tc_real *y, tc_real *hessian) {
    const double *scales = group->row_scale + member * group->rows;
    size_t row = 0;
    for (size_t p = 0; p < group->set->part_count; p++) {
        const tc_set_part *part = &group->set->parts[p];
        tc_real factor = 2 * y[row] * (tc_real)scales[row];
        for (size_t c = 0; c < part->count; c++) {
            tc_real *line = hessian + (part->first + c) * group->dim + part->first;
            if (part->kind == TC_SET_BALL)
                line[c] += factor;
            else if (part->kind == TC_SET_ELLIPSOID)
                for (size_t d = 0; d < part->count; d++)
                    line[d] += factor * (tc_real)part->matrix[c * part->count + d];
        }
        row += rows_of_part(part);
    }
}

/* ---- the constraints ---- */

/* A row that is far from active takes its true slack, so that what curvature leaves there does not shorten steps. */
static void adopt_slack(tc_real *slack, tc_real value, tc_real unit) {
    if (*slack > 1e-8L * unit && -value > 0.5L * *slack && -value < 2 * *slack)
        *slack = -value;
}

/* Sums over many agents are rounded: no row is more exact than its terms. */
static tc_real rounding_of(const tc_coupling *coupling, tc_real sum_rounding) {
    tc_real *sizes = coupling->unknown, most = 0;
    memset(sizes, 0, coupling->m * sizeof *sizes);
    for (size_t e = 0; e < coupling->entry_count; e++) {
        uint32_t j = coupling->entry_row[e];
        sizes[j] += fabsl(coupling->first[e] * coupling->inputs[coupling->entry_column[e]]);
        most = fmaxl(most, sizes[j]);
    }
    return sum_rounding * most;
}

static bool coupling_evaluate(tc_interior *solver) {
    tc_coupling *coupling = solver->coupling;
    const tc_derivatives *d = coupling->derivatives;
    for (size_t r = coupling->model->sum_count; r < d->input_count; r++)
        coupling->coords[d->inputs[r].index] = coupling->inputs[r];
    tc_long_inputs inputs = {.coords = coupling->coords, .sums = coupling->inputs};
    tc_real finite = 0;
    tc_tape_eval_long(coupling->values, &inputs, 1, coupling->work, coupling->output_at);
    for (size_t j = 0; j < coupling->m; j++) {
        coupling->g[j] = coupling->row_scale[j] * coupling->outputs[j];
        if (solver->goal == TC_GOAL_MARGIN && !tc_is_free(coupling, j))
            coupling->g[j] -= coupling->row_scale[j] * coupling->inputs[coupling->q - 1];
        tc_real value = coupling->g[j] - coupling->weight[j] * (coupling->trial_mu[j] - coupling->center[j]);
        if (!tc_is_free(coupling, j)) {
            adopt_slack(&coupling->trial_slack[j], value, 1);
            solver->gap += coupling->trial_mu[j] * coupling->trial_slack[j];
            solver->pairs++;
        }
        coupling->residual[j] = value + coupling->trial_slack[j];
        finite += coupling->g[j];
        solver->residual = fmaxl(solver->residual, fabsl(coupling->residual[j]));
    }
    tc_tape_eval_long(coupling->firsts, &inputs, 1, coupling->work, coupling->output_at);
    memset(coupling->prices, 0, coupling->q * sizeof(tc_real));
    for (size_t e = 0; e < coupling->entry_count; e++) {
        uint32_t j = coupling->entry_row[e];
        tc_real value = e < d->outer_first_count ? coupling->outputs[e] : -1;
        coupling->first[e] = coupling->row_scale[j] * value;
        coupling->prices[coupling->entry_column[e]] += coupling->first[e] * coupling->trial_mu[j];
        finite += coupling->first[e];
    }
    solver->rounding = rounding_of(coupling, solver->sum_rounding);
    tc_tape_eval_long(coupling->seconds, &inputs, 1, coupling->work, coupling->output_at);
    for (size_t e = 0; e < d->outer_second_count; e++) {
        uint32_t j = d->outer_second[e].row;
        coupling->second[e] = coupling->row_scale[j] * coupling->trial_mu[j] * coupling->outputs[e];
        finite += coupling->second[e];
    }
    return isfinite(finite);
}

/* ---- the blocks ---- */

static void load_lanes(const tc_group *group, const tc_iterate *from, size_t first, size_t lanes) {
    for (size_t lane = 0; lane < lanes; lane++)
        for (size_t c = 0; c < group->states + group->kinks; c++)
            group->tapes.states[c * TC_LANES + lane] = from->x[(first + lane) * group->dim + c];
    for (size_t d = 0; d < group->family->column_count; d++)
        group->tapes.data_at[d] = group->family->columns[d].values + group->first_member + first;
}

static void run(const tc_group *group, const tc_tape *tape, size_t lanes) {
    tc_long_inputs inputs = {.state = group->tapes.state_at, .data = group->tapes.data_at};
    tc_tape_eval_long(tape, &inputs, lanes, group->tapes.work, group->tapes.output_at);
}

static size_t lanes_from(size_t first, size_t end) { return end - first < TC_LANES ? end - first : TC_LANES; }

static void add_coordinates(tc_coupling *coupling, const tc_group *group, size_t first, size_t end) {
    for (size_t k = first; k < end; k++)
        for (size_t i = group->coord_start[k]; i < group->coord_start[k + 1]; i++)
            coupling->inputs[group->coord_input[i]] = group->trial.x[k * group->dim + group->coord_component[i]];
}

/* u: sums of bodies, and single coordinates, at the trial point; where there is a step, members move first. */
static void evaluate_inputs(tc_interior *solver, tc_group *group, size_t first, size_t end, const void *context) {
    const tc_real *length = context;
    tc_coupling *coupling = solver->coupling;
    for (size_t k = first; k < end; k += TC_LANES) {
        size_t lanes = lanes_from(k, end);
        if (length != NULL)
            tc_move_members(group, k, k + lanes, *length);
        if (coupling == NULL || group->tapes.values == NULL)
            continue;
        load_lanes(group, &group->trial, k, lanes);
        run(group, group->tapes.values, lanes);
        for (size_t b = 0; b < group->derivatives->body_count; b++) {
            tc_real sum = coupling->inputs[group->derivatives->sums[b]];
            for (size_t lane = 0; lane < lanes; lane++)
                sum += group->tapes.output_at[b][lane];
            coupling->inputs[group->derivatives->sums[b]] = sum;
        }
    }
    if (coupling != NULL && group->coord_start != NULL)
        add_coordinates(coupling, group, first, end);
}

static void objective_gradient(const tc_interior *solver, const tc_group *group, size_t k, size_t lane, tc_real *out) {
    tc_real scale = tc_component_of(solver, group, k)->objective_scale;
    const tc_real *x = group->trial.x + k * group->dim;
    if (group->family == NULL) {
        out[0] += scale;
    } else if (solver->goal == TC_GOAL_QUADRATIC) {
        const tc_quadratic *q = solver->quadratic;
        for (size_t c = 0; c < group->states; c++) {
            tc_real sum = q->slope[c];
            for (size_t d = 0; d < group->states; d++)
                sum += q->hessian[c * group->states + d] * (x[d] - q->base[d]);
            out[c] += scale * sum;
        }
    } else if (solver->goal == TC_GOAL_NEAREST) {
        for (size_t c = 0; c < group->states; c++)
            out[c] += scale * (x[c] - (tc_real)solver->target[c]);
    } else {
        for (size_t i = 0; i < group->tapes.objective_firsts; i++)
            out[group->tapes.objective_first[i].column] += scale * group->tapes.output_at[i][lane];
        for (size_t c = 0; solver->near_center != NULL && c < group->states; c++)
            out[c] += scale * solver->near_weight[c] * (x[c] - solver->near_center[c]);
    }
}

static void keep_body_gradients(const tc_group *group, size_t k, size_t lane) {
    if (!group->is_coupled || group->derivatives == NULL)
        return;
    size_t count = group->derivatives->body_first_count;
    for (size_t i = 0; i < count; i++)
        group->gradients[k * count + i] = group->tapes.output_at[group->tapes.objective_firsts + i][lane];
}

static void measure_inputs(tc_coupling *coupling, const tc_group *group, size_t k) {
    const tc_real *width = group->width + k * group->dim;
    if (group->derivatives != NULL && group->is_coupled)
        for (size_t i = 0; i < group->derivatives->body_first_count; i++) {
            const tc_first *first = &group->derivatives->body_first[i];
            tc_real size = fabsl(group->gradients[k * group->derivatives->body_first_count + i]) * width[first->column];
            tc_real *most = &coupling->input_size[group->derivatives->sums[first->row]];
            *most = fmaxl(*most, size);
        }
    if (group->coord_start != NULL)
        for (size_t i = group->coord_start[k]; i < group->coord_start[k + 1]; i++) {
            tc_real *most = &coupling->input_size[group->coord_input[i]];
            *most = fmaxl(*most, width[group->coord_component[i]]);
        }
}

static void evaluate_rows(tc_interior *solver, tc_group *group, size_t k, size_t lane, tc_real *residual) {
    size_t rows = group->row_count[k], dim = group->dim, at = k * group->rows;
    if (rows == 0)
        return;
    tc_real length = tc_component_of(solver, group, k)->length;
    tc_group_load(group, k);
    tc_real *h = group->row_residual + at, *gradients = group->row_gradients + at * dim;
    rows_evaluate(group, k, group->trial.x + k * dim, h, gradients);
    if (group->kinks > 0)
        tc_kinks_evaluate(group, k, lane, h, gradients);
    for (size_t r = 0; r < rows; r++) {
        tc_real y = group->trial.y[at + r];
        for (size_t c = 0; c < dim; c++)
            residual[c] += gradients[r * dim + c] * y;
        if (!group->is_equality[at + r]) {
            adopt_slack(&group->trial.slack[at + r], h[r], length);
            h[r] += group->trial.slack[at + r];
            solver->gap += group->trial.slack[at + r] * y;
            solver->pairs++;
        }
        solver->residual = fmaxl(solver->residual, fabsl(h[r]) / length);
    }
}

static void evaluate_member(tc_interior *solver, tc_group *group, size_t k, size_t lane) {
    size_t dim = group->dim, at = k * dim;
    tc_real *residual = group->dual_residual + at;
    for (size_t c = 0; c < dim; c++)
        residual[c] = 0;
    objective_gradient(solver, group, k, lane, residual);
    keep_body_gradients(group, k, lane);
    if (group->is_coupled) {
        for (size_t c = 0; c < dim; c++)
            residual[c] = -residual[c];
        tc_block_from_inputs(group, k, solver->coupling->prices, residual);
        for (size_t c = 0; c < dim; c++)
            residual[c] = -residual[c];
        if (solver->is_measuring)
            measure_inputs(solver->coupling, group, k);
    }
    evaluate_rows(solver, group, k, lane, residual);
    for (size_t c = 0; c < dim; c++) {
        const tc_iterate *trial = &group->trial;
        if (group->width[at + c] == 0) {
            residual[c] = 0;
            continue;
        }
        if (c < group->states && group->family != NULL)
            residual[c] += group->weight[at + c] * (trial->x[at + c] - group->center[at + c]);
        residual[c] += trial->z_above[at + c] - trial->z_below[at + c];
        solver->gap += trial->below[at + c] * trial->z_below[at + c] + trial->above[at + c] * trial->z_above[at + c];
        solver->pairs += 2;
        tc_real reach = group->family == NULL ? solver->shift_reach : group->width[at + c];
        /* not fmaxl: a NaN must be seen */
        tc_real steepness = fabsl(residual[c]) * reach;
        if (!(steepness <= solver->steepest))
            solver->steepest = steepness;
    }
}

static void evaluate_members(tc_interior *solver, tc_group *group, size_t first, size_t end, const void *context) {
    (void)context;
    for (size_t k = first; k < end && isfinite(solver->steepest); k += TC_LANES) {
        size_t lanes = lanes_from(k, end);
        if (group->tapes.firsts != NULL) {
            load_lanes(group, &group->trial, k, lanes);
            run(group, group->tapes.firsts, lanes);
        }
        for (size_t lane = 0; lane < lanes; lane++)
            evaluate_member(solver, group, k + lane, lane);
    }
}

/* length: NULL where the trial point is there already. */
static bool evaluate_all(tc_interior *solver, const tc_real *length) {
    tc_coupling *coupling = solver->coupling;
    solver->residual = solver->rounding = solver->steepest = solver->gap = 0;
    solver->pairs = 0;
    for (size_t r = 0; coupling != NULL && r < coupling->q; r++)
        coupling->inputs[r] = coupling->input_size[r] = 0;
    if (coupling != NULL || length != NULL)
        tc_pass_run(solver, TC_SUMS_INPUTS, evaluate_inputs, length);
    if (coupling != NULL && !coupling_evaluate(solver))
        return false;
    tc_pass_run(solver, TC_SUMS_RESIDUALS, evaluate_members, NULL);
    if (!isfinite(solver->steepest))
        return false;
    solver->residual = fmaxl(solver->residual, solver->steepest);
    if (solver->pairs > 0)
        solver->gap /= (tc_real)solver->pairs;
    return isfinite(solver->residual) && isfinite(solver->gap);
}

bool tc_evaluate(tc_interior *solver) { return evaluate_all(solver, NULL); }

bool tc_evaluate_step(tc_interior *solver, tc_real length) {
    tc_coupling *coupling = solver->coupling;
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++) {
        coupling->trial_slack[j] = coupling->slack[j] + length * coupling->step_slack[j];
        coupling->trial_mu[j] = coupling->mu[j] + length * coupling->step_mu[j];
    }
    return evaluate_all(solver, &length);
}

static void member_hessian(tc_interior *solver, tc_group *group, size_t k, size_t lane) {
    size_t dim = group->dim;
    tc_real *hessian = group->hessian + k * dim * dim;
    for (size_t e = 0; e < dim * dim; e++)
        hessian[e] = 0;
    size_t objective = group->tapes.objective_seconds;
    tc_real scale = tc_component_of(solver, group, k)->objective_scale;
    for (size_t i = 0; i < objective; i++) {
        const tc_second *second = &group->tapes.objective_second[i];
        hessian[second->column * dim + second->other] += scale * group->tapes.output_at[i][lane];
    }
    for (size_t c = 0; c < group->states && solver->goal == TC_GOAL_QUADRATIC; c++)
        for (size_t d = 0; d <= c; d++)
            hessian[c * dim + d] = scale * solver->quadratic->hessian[c * group->states + d];
    if (group->is_coupled && group->derivatives != NULL)
        for (size_t i = 0; i < group->derivatives->body_second_count; i++) {
            const tc_second *second = &group->derivatives->body_second[i];
            tc_real price = solver->coupling->prices[group->derivatives->sums[second->row]];
            hessian[second->column * dim + second->other] += price * group->tapes.output_at[objective + i][lane];
        }
    if (group->kinks > 0)
        tc_kinks_hessian(group, k, lane, group->at.y + k * group->rows, hessian);
    for (size_t c = 0; c < dim; c++)
        for (size_t d = 0; d < c; d++)
            hessian[d * dim + c] = hessian[c * dim + d];
    if (group->row_count[k] > 0) {
        tc_group_load(group, k);
        rows_hessian(group, k, group->at.y + k * group->rows, hessian);
    }
    for (size_t c = 0; c < dim; c++) {
        size_t at = k * dim + c;
        if (group->width[at] == 0) {
            for (size_t d = 0; d < dim; d++)
                hessian[c * dim + d] = hessian[d * dim + c] = 0;
            hessian[c * dim + c] = 1;
            continue;
        }
        tc_real *diagonal = &hessian[c * dim + c];
        *diagonal += group->family == NULL ? solver->shift_weight : group->weight[at];
        if (solver->goal == TC_GOAL_NEAREST && c < group->states)
            *diagonal += scale;
        if (solver->near_center != NULL && c < group->states)
            *diagonal += scale * solver->near_weight[c];
        *diagonal += group->at.z_below[at] / group->at.below[at] + group->at.z_above[at] / group->at.above[at];
    }
}

void tc_evaluate_hessians(tc_interior *solver, tc_group *group, size_t first, size_t lanes) {
    if (group->tapes.seconds != NULL) {
        load_lanes(group, &group->at, first, lanes);
        run(group, group->tapes.seconds, lanes);
    }
    for (size_t lane = 0; lane < lanes; lane++)
        member_hessian(solver, group, first + lane, lane);
}
