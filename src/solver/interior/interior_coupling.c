/* What couples the blocks: g = Phi(u), A = Phi', C = sum_j mu_j Phi_j'', and the dense system
 *
 *     w + S v = w0,   v = C w + A' dmu,   A w - D dmu = b        with S = U K^-1 U', D = price_weight + slack / mu.
 *
 * Where C is zero by structure, A S A' is assembled directly and (A S A' + D) dmu = A w0 - b is all there is. */
#include "solver/interior/interior_parts.h"

#include <math.h>
#include <string.h>

static void init_entries(tc_interior *solver, tc_coupling *coupling, bool has_shift) {
    tc_arena *arena = solver->arena;
    const tc_derivatives *d = coupling->derivatives;
    coupling->entry_count = d->outer_first_count + (has_shift ? coupling->m : 0);
    coupling->entry_row = TC_NEW(arena, uint32_t, coupling->entry_count);
    coupling->entry_column = TC_NEW(arena, uint32_t, coupling->entry_count);
    coupling->first = TC_NEW(arena, tc_real, coupling->entry_count);
    coupling->column_start = TC_NEW(arena, uint32_t, coupling->q + 2);
    coupling->column_entry = TC_NEW(arena, uint32_t, coupling->entry_count);
    for (size_t e = 0; e < coupling->entry_count; e++) {
        bool shift = e >= d->outer_first_count;
        coupling->entry_row[e] = shift ? (uint32_t)(e - d->outer_first_count) : d->outer_first[e].row;
        coupling->entry_column[e] = shift ? (uint32_t)(coupling->q - 1) : d->outer_first[e].column;
        coupling->column_start[coupling->entry_column[e] + 2]++;
    }
    for (size_t r = 0; r <= coupling->q; r++)
        coupling->column_start[r + 1] += coupling->column_start[r];
    for (size_t e = 0; e < coupling->entry_count; e++)
        coupling->column_entry[coupling->column_start[coupling->entry_column[e] + 1]++] = (uint32_t)e;
}

static void init_tapes(tc_interior *solver, tc_coupling *coupling) {
    tc_arena *arena = solver->arena;
    const tc_derivatives *d = coupling->derivatives;
    const tc_dag *dag = coupling->model->dag;
    size_t most = coupling->m;
    most = d->outer_first_count > most ? d->outer_first_count : most;
    most = d->outer_second_count > most ? d->outer_second_count : most;
    tc_expr *roots = TC_NEW(arena, tc_expr, most);
    for (size_t j = 0; j < coupling->m; j++)
        roots[j] = coupling->model->constraints[j].outer;
    coupling->values = tc_tape_new(arena, dag, roots, coupling->m);
    for (size_t e = 0; e < d->outer_first_count; e++)
        roots[e] = d->outer_first[e].value;
    coupling->firsts = tc_tape_new(arena, dag, roots, d->outer_first_count);
    for (size_t e = 0; e < d->outer_second_count; e++)
        roots[e] = d->outer_second[e].value;
    coupling->seconds = tc_tape_new(arena, dag, roots, d->outer_second_count);
    size_t work = tc_tape_work(coupling->values);
    work = tc_tape_work(coupling->firsts) > work ? tc_tape_work(coupling->firsts) : work;
    work = tc_tape_work(coupling->seconds) > work ? tc_tape_work(coupling->seconds) : work;
    coupling->work = TC_NEW(arena, tc_real, work);
    coupling->outputs = TC_NEW(arena, tc_real, most);
    coupling->output_at = TC_NEW(arena, tc_real *, most);
    for (size_t r = 0; r < most; r++)
        coupling->output_at[r] = coupling->outputs + r;
    if (d->input_count > coupling->model->sum_count)
        coupling->coords = TC_NEW(arena, tc_real, coupling->model->state_count);
}

/* Which outer inputs are coordinates of this group's members. */
static void init_coordinates(tc_interior *solver, tc_group *group) {
    const tc_coupling *coupling = solver->coupling;
    const tc_derivatives *d = coupling->derivatives;
    size_t count = 0, first = group->family == NULL ? 0 : group->family->first_coord,
           size = group->count * group->states;
    for (size_t r = coupling->model->sum_count; group->family != NULL && r < d->input_count; r++)
        count += d->inputs[r].index >= first && d->inputs[r].index < first + size;
    if (group->family == NULL)
        count = 1;
    if (count == 0)
        return;
    group->coord_start = TC_NEW(solver->arena, size_t, group->count + 2);
    group->coord_input = TC_NEW(solver->arena, uint32_t, count);
    group->coord_component = TC_NEW(solver->arena, uint32_t, count);
    if (group->family == NULL) {
        group->coord_start[1] = 1;
        group->coord_input[0] = (uint32_t)(coupling->q - 1);
        return;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = coupling->model->sum_count; r < d->input_count; r++) {
            if (d->inputs[r].index < first || d->inputs[r].index >= first + size)
                continue;
            size_t offset = (size_t)d->inputs[r].index - first, member = offset % group->count;
            if (pass == 0) {
                group->coord_start[member + 2]++;
            } else {
                size_t place = group->coord_start[member + 1]++;
                group->coord_input[place] = (uint32_t)r;
                group->coord_component[place] = (uint32_t)(offset / group->count);
            }
        }
        for (size_t k = 0; pass == 0 && k <= group->count; k++)
            group->coord_start[k + 1] += group->coord_start[k];
    }
}

static tc_real *reals(tc_interior *solver, size_t count) { return TC_NEW(solver->arena, tc_real, count); }

size_t tc_coupling_size(const tc_model *model, const tc_derivatives *derivatives) {
    return model->constraint_count + (derivatives->outer_second_count > 0 ? derivatives->input_count : 0);
}

void tc_coupling_init(tc_interior *solver, const tc_model *model, const tc_derivatives *derivatives) {
    if (tc_coupling_size(model, derivatives) > TC_COUPLING_LIMIT)
        tc_raise(solver->arena, TC_TOO_LARGE);
    bool has_shift = solver->goal == TC_GOAL_MARGIN;
    tc_coupling *coupling = solver->coupling = TC_NEW(solver->arena, tc_coupling, 1);
    size_t m = model->constraint_count, q = derivatives->input_count + has_shift;
    *coupling = (tc_coupling){.model = model, .derivatives = derivatives, .m = m, .q = q};
    coupling->is_curved = derivatives->outer_second_count > 0;
    init_entries(solver, coupling, has_shift);
    init_tapes(solver, coupling);
    for (size_t g = 0; g < solver->group_count; g++)
        init_coordinates(solver, &solver->groups[g]);
    tc_real **by_constraint[] = {&coupling->row_scale,  &coupling->weight, &coupling->center,   &coupling->g,
                                 &coupling->mu,         &coupling->slack,  &coupling->trial_mu, &coupling->trial_slack,
                                 &coupling->residual,   &coupling->miss,   &coupling->right,    &coupling->step_mu,
                                 &coupling->step_slack, &coupling->kept};
    for (size_t a = 0; a < sizeof by_constraint / sizeof *by_constraint; a++)
        *by_constraint[a] = reals(solver, m);
    tc_real **by_input[] = {&coupling->inputs, &coupling->input_size, &coupling->prices, &coupling->response,
                            &coupling->moved};
    for (size_t a = 0; a < sizeof by_input / sizeof *by_input; a++)
        *by_input[a] = reals(solver, q);
    coupling->component = TC_NEW(solver->arena, uint32_t, m);
    coupling->second = reals(solver, derivatives->outer_second_count);
    size_t size = coupling->is_curved ? q + m : m;
    coupling->matrix = reals(solver, size * size);
    coupling->schur = coupling->is_curved ? reals(solver, q * q) : coupling->matrix;
    coupling->order = TC_NEW(solver->arena, size_t, size);
    coupling->unknown = reals(solver, size);
    coupling->scratch = reals(solver, size);
    coupling->unit = reals(solver, size);
    for (size_t j = 0; j < m; j++)
        coupling->row_scale[j] = 1;
}

bool tc_coupling_evaluate(tc_interior *solver) {
    tc_coupling *coupling = solver->coupling;
    const tc_derivatives *d = coupling->derivatives;
    for (size_t r = coupling->model->sum_count; r < d->input_count; r++)
        coupling->coords[d->inputs[r].index] = coupling->inputs[r];
    tc_long_inputs inputs = {.coords = coupling->coords, .sums = coupling->inputs};
    tc_real finite = 0;
    tc_tape_eval_long(coupling->values, &inputs, 1, coupling->work, coupling->output_at);
    for (size_t j = 0; j < coupling->m; j++) {
        coupling->g[j] = coupling->row_scale[j] * coupling->outputs[j];
        if (solver->goal == TC_GOAL_MARGIN)
            coupling->g[j] -= coupling->row_scale[j] * coupling->inputs[coupling->q - 1];
        tc_real value = coupling->g[j] - coupling->weight[j] * (coupling->trial_mu[j] - coupling->center[j]);
        tc_adopt_slack(&coupling->trial_slack[j], value, 1);
        coupling->residual[j] = value + coupling->trial_slack[j];
        finite += coupling->g[j];
        solver->residual = fmaxl(solver->residual, fabsl(coupling->residual[j]));
        solver->gap += coupling->trial_mu[j] * coupling->trial_slack[j];
        solver->pairs++;
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
    tc_tape_eval_long(coupling->seconds, &inputs, 1, coupling->work, coupling->output_at);
    for (size_t e = 0; e < d->outer_second_count; e++) {
        uint32_t j = d->outer_second[e].row;
        coupling->second[e] = coupling->row_scale[j] * coupling->trial_mu[j] * coupling->outputs[e];
        finite += coupling->second[e];
    }
    return isfinite(finite);
}

void tc_coupling_begin(tc_coupling *coupling) {
    size_t size = coupling->is_curved ? coupling->q : coupling->m;
    memset(coupling->schur, 0, size * size * sizeof(tc_real));
}

static tc_real price_diagonal(const tc_coupling *coupling, size_t j) {
    return coupling->weight[j] + coupling->slack[j] / coupling->mu[j];
}

static void add_column(tc_coupling *coupling, size_t to, size_t from, tc_real factor) {
    size_t q = coupling->q, size = q + coupling->m;
    for (size_t r = 0; r < q; r++)
        coupling->matrix[r * size + to] += coupling->schur[r * q + from] * factor;
}

/* S can be huge where a block is flat, D where a constraint is idle: inputs and multipliers are measured in units that
 * make both about 1. */
static void balance(tc_coupling *coupling) {
    size_t q = coupling->q;
    tc_real *unit = coupling->unit;
    for (size_t j = 0; j < coupling->m; j++)
        unit[q + j] = price_diagonal(coupling, j);
    for (size_t e = 0; e < coupling->entry_count; e++) {
        uint32_t r = coupling->entry_column[e];
        unit[q + coupling->entry_row[e]] += coupling->first[e] * coupling->first[e] * coupling->schur[r * q + r];
    }
    for (size_t r = 0; r < q; r++)
        unit[r] = sqrtl(1 + coupling->schur[r * q + r]);
    for (size_t j = 0; j < coupling->m; j++)
        unit[q + j] = 1 / sqrtl(unit[q + j]);
    for (size_t r = 0; r < q + coupling->m; r++)
        for (size_t s = 0; s < q + coupling->m; s++)
            coupling->matrix[r * (q + coupling->m) + s] *= (r < q ? 1 / unit[r] : unit[r]) * unit[s];
}

/* [I + S C, S A'; A, -D] */
static void assemble_curved(tc_coupling *coupling) {
    size_t q = coupling->q, size = q + coupling->m;
    for (size_t r = 0; r < q; r++)
        for (size_t s = 0; s < r; s++)
            coupling->schur[s * q + r] = coupling->schur[r * q + s];
    memset(coupling->matrix, 0, size * size * sizeof(tc_real));
    for (size_t r = 0; r < q; r++)
        coupling->matrix[r * size + r] = 1;
    for (size_t e = 0; e < coupling->derivatives->outer_second_count; e++) {
        const tc_second *second = &coupling->derivatives->outer_second[e];
        add_column(coupling, second->column, second->other, coupling->second[e]);
        if (second->column != second->other)
            add_column(coupling, second->other, second->column, coupling->second[e]);
    }
    for (size_t e = 0; e < coupling->entry_count; e++) {
        add_column(coupling, q + coupling->entry_row[e], coupling->entry_column[e], coupling->first[e]);
        coupling->matrix[(q + coupling->entry_row[e]) * size + coupling->entry_column[e]] += coupling->first[e];
    }
    for (size_t j = 0; j < coupling->m; j++)
        coupling->matrix[(q + j) * size + q + j] = -price_diagonal(coupling, j);
    balance(coupling);
}

void tc_coupling_factor(tc_coupling *coupling) {
    size_t m = coupling->m;
    if (coupling->is_curved) {
        assemble_curved(coupling);
        tc_lu(coupling->q + m, coupling->matrix, coupling->order);
        return;
    }
    for (size_t j = 0; j < m; j++)
        coupling->matrix[j * m + j] += price_diagonal(coupling, j);
    (void)tc_cholesky(m, coupling->matrix);
}

static void response_to(tc_coupling *coupling, const tc_real *w, const tc_real *dmu) {
    memset(coupling->response, 0, coupling->q * sizeof(tc_real));
    for (size_t e = 0; e < coupling->derivatives->outer_second_count; e++) {
        const tc_second *second = &coupling->derivatives->outer_second[e];
        coupling->response[second->column] += coupling->second[e] * w[second->other];
        if (second->column != second->other)
            coupling->response[second->other] += coupling->second[e] * w[second->column];
    }
    for (size_t e = 0; e < coupling->entry_count; e++)
        coupling->response[coupling->entry_column[e]] += coupling->first[e] * dmu[coupling->entry_row[e]];
}

void tc_coupling_solve(tc_coupling *coupling) {
    size_t m = coupling->m, q = coupling->q;
    tc_real *dmu = coupling->unknown;
    if (coupling->is_curved) {
        dmu = coupling->unknown + q;
        memcpy(coupling->unknown, coupling->moved, q * sizeof(tc_real));
        memcpy(dmu, coupling->right, m * sizeof(tc_real));
        for (size_t r = 0; r < q + m; r++)
            coupling->unknown[r] *= r < q ? 1 / coupling->unit[r] : coupling->unit[r];
        tc_lu_solve(q + m, coupling->matrix, coupling->order, coupling->unknown, coupling->scratch);
        for (size_t r = 0; r < q + m; r++)
            coupling->unknown[r] *= coupling->unit[r];
    } else {
        for (size_t j = 0; j < m; j++)
            dmu[j] = -coupling->right[j];
        for (size_t e = 0; e < coupling->entry_count; e++)
            dmu[coupling->entry_row[e]] += coupling->first[e] * coupling->moved[coupling->entry_column[e]];
        tc_solve_lower(m, coupling->matrix, dmu);
        tc_solve_lower_transposed(m, coupling->matrix, dmu);
    }
    response_to(coupling, coupling->unknown, dmu);
    for (size_t j = 0; j < m; j++)
        coupling->step_mu[j] += dmu[j];
}

void tc_coupling_apply(tc_coupling *coupling) {
    response_to(coupling, coupling->moved, coupling->step_mu);
    for (size_t j = 0; j < coupling->m; j++)
        coupling->right[j] += price_diagonal(coupling, j) * coupling->step_mu[j];
    for (size_t e = 0; e < coupling->entry_count; e++)
        coupling->right[coupling->entry_row[e]] -= coupling->first[e] * coupling->moved[coupling->entry_column[e]];
}
