/* The linear algebra of a Newton step.
 *
 * One block of the system, [H E'; E -D]: H by Cholesky, the rows by the Schur complement E H^-1 E' + D with
 * D = slack / multiplier (0 for equalities). Rows are not added to H: that would lose H's digits. */
#include "solver/interior/layout.h"

#include <math.h>
#include <string.h>

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void factor_hessian(size_t dim, tc_real *hessian, tc_real *diagonal) {
    for (size_t c = 0; c < dim; c++)
        diagonal[c] = hessian[c * dim + c];
    tc_real largest = 0;
    for (size_t c = 0; c < dim; c++)
        largest = fmaxl(largest, fabsl(diagonal[c]));
    for (tc_real lift = 0, next = 1e-14L * largest;; lift = next, next *= 1000) {
        for (size_t c = 0; c < dim; c++) {
            hessian[c * dim + c] = diagonal[c] + lift;
            for (size_t d = 0; d < c; d++)
                hessian[c * dim + d] = hessian[d * dim + c];
        }
        /* only a function that is not convex on its own needs the lift */
        if (tc_cholesky(dim, hessian) == 0 || !(next > 0) || !isfinite(next) || !(lift <= 1000 * largest))
            return;
    }
}

static bool has_only_diagonal(size_t dim, const tc_real *hessian) {
    for (size_t c = 0; c < dim; c++)
        for (size_t d = c + 1; d < dim; d++)
            if (hessian[c * dim + d] != 0)
                return false;
    return true;
}

/* x = L^-1 x and x = L'^-1 x with the factor of one block. */
static void solve_lower(const tc_group *group, size_t k, tc_real *x) {
    size_t dim = group->dim;
    const tc_real *factor = group->hessian + k * dim * dim;
    if (!group->is_diagonal[k]) {
        tc_solve_lower(dim, factor, x);
        return;
    }
    for (size_t c = 0; c < dim; c++)
        if (x[c] != 0)
            x[c] /= factor[c * dim + c];
}

static void solve_upper(const tc_group *group, size_t k, tc_real *x) {
    if (group->is_diagonal[k])
        solve_lower(group, k, x);
    else
        tc_solve_lower_transposed(group->dim, group->hessian + k * group->dim * group->dim, x);
}

void tc_block_factor(tc_group *group, size_t k) {
    size_t dim = group->dim, rows = group->row_count[k], first = k * group->rows;
    tc_real *hessian = group->hessian + k * dim * dim;
    group->is_diagonal[k] = has_only_diagonal(dim, hessian);
    factor_hessian(dim, hessian, group->hessian_diagonal + k * dim);
    if (rows == 0)
        return;
    tc_real *solved = group->row_solved + first * dim, *schur = group->row_factor + first * group->rows;
    memcpy(solved, group->row_gradients + first * dim, rows * dim * sizeof *solved);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < dim; c++)
            if (group->width[k * dim + c] == 0)
                solved[r * dim + c] = 0;
        solve_lower(group, k, solved + r * dim);
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t s = 0; s <= r; s++)
            schur[r * rows + s] = tc_dot(dim, solved + r * dim, solved + s * dim);
        if (!group->is_equality[first + r])
            schur[r * rows + r] += group->at.slack[first + r] / group->at.y[first + r];
    }
    (void)tc_cholesky(rows, schur);
}

void tc_block_solve(const tc_group *group, size_t k, tc_real *x, tc_real *y) {
    size_t dim = group->dim, rows = group->row_count[k], first = k * group->rows;
    solve_lower(group, k, x);
    if (rows > 0) {
        const tc_real *solved = group->row_solved + first * dim, *schur = group->row_factor + first * group->rows;
        for (size_t r = 0; r < rows; r++)
            y[r] = tc_dot(dim, solved + r * dim, x) - y[r];
        tc_solve_lower(rows, schur, y);
        tc_solve_lower_transposed(rows, schur, y);
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < dim; c++)
                x[c] -= solved[r * dim + c] * y[r];
    }
    solve_upper(group, k, x);
}

void tc_block_to_inputs(const tc_group *group, size_t k, const tc_real *x, tc_real *inputs) {
    if (group->derivatives != NULL) {
        size_t count = group->derivatives->body_first_count;
        const tc_first *first = group->derivatives->body_first;
        const tc_real *gradients = group->gradients + k * count;
        for (size_t i = 0; i < count;) { /* sorted by row */
            uint32_t row = first[i].row;
            tc_real *input = &inputs[group->derivatives->sums[row]], sum = *input;
            for (; i < count && first[i].row == row; i++)
                sum += gradients[i] * x[first[i].column];
            *input = sum;
        }
    }
    if (group->coord_start != NULL)
        for (size_t i = group->coord_start[k]; i < group->coord_start[k + 1]; i++)
            inputs[group->coord_input[i]] += x[group->coord_component[i]];
}

void tc_block_from_inputs(const tc_group *group, size_t k, const tc_real *prices, tc_real *x) {
    if (group->derivatives != NULL) {
        size_t count = group->derivatives->body_first_count;
        for (size_t i = 0; i < count; i++) {
            const tc_first *first = &group->derivatives->body_first[i];
            x[first->column] -= group->gradients[k * count + i] * prices[group->derivatives->sums[first->row]];
        }
    }
    if (group->coord_start != NULL)
        for (size_t i = group->coord_start[k]; i < group->coord_start[k + 1]; i++)
            x[group->coord_component[i]] -= prices[group->coord_input[i]];
}

/* ---- what a block adds to the coupled system: V K^-1 V', V the vectors that couple it ---- */

/* Blocks of the same structure go together: which vectors they have, and where these are not 0, is found out once. An
 * entry of the system gets their terms one after the other, as if they came alone. */

static tc_real *couple_vector(const tc_interior *solver, size_t dim, size_t slot, size_t lane) {
    return solver->scratch.couple + (lane * solver->scratch.couple_slots + slot) * dim;
}

static uint32_t couple_slot(tc_interior *solver, size_t dim, uint32_t name, size_t lanes) {
    tc_block_scratch *scratch = &solver->scratch;
    uint32_t slot = scratch->couple_slot[name];
    if (slot != UINT32_MAX)
        return slot;
    slot = scratch->couple_slot[name] = (uint32_t)scratch->couple_count++;
    scratch->couple_name[slot] = name;
    scratch->couple_first[slot] = dim;
    scratch->couple_end[slot] = 0;
    for (size_t lane = 0; lane < lanes; lane++)
        memset(couple_vector(solver, dim, slot, lane), 0, dim * sizeof(tc_real));
    return slot;
}

/* factor * values[lane * stride], one for each block. */
static void couple_add(tc_interior *solver, size_t dim, uint32_t name, size_t component, tc_real factor,
                       const tc_real *values, size_t stride, size_t lanes) {
    uint32_t slot = couple_slot(solver, dim, name, lanes);
    for (size_t lane = 0; lane < lanes; lane++)
        couple_vector(solver, dim, slot, lane)[component] += factor * values[lane * stride];
    if (component < solver->scratch.couple_first[slot])
        solver->scratch.couple_first[slot] = component;
    if (component >= solver->scratch.couple_end[slot])
        solver->scratch.couple_end[slot] = component + 1;
}

/* du_input/dx_component = value: into the input's own vector, or into those of the constraints that use it. */
static void couple_entry(tc_interior *solver, size_t dim, uint32_t input, size_t component, const tc_real *values,
                         size_t stride, size_t lanes) {
    const tc_coupling *coupling = solver->coupling;
    if (coupling->is_curved) {
        couple_add(solver, dim, input, component, 1, values, stride, lanes);
        return;
    }
    for (uint32_t e = coupling->column_start[input]; e < coupling->column_start[input + 1]; e++) {
        uint32_t entry = coupling->column_entry[e];
        couple_add(solver, dim, coupling->entry_row[entry], component, coupling->first[entry], values, stride, lanes);
    }
}

static void gather_couplings(tc_interior *solver, const tc_group *group, size_t k, size_t lanes) {
    static const tc_real one = 1;
    size_t dim = group->dim;
    const tc_real *width = group->width + k * dim;
    solver->scratch.couple_count = 0;
    if (group->derivatives != NULL) {
        size_t count = group->derivatives->body_first_count;
        for (size_t i = 0; i < count; i++) {
            const tc_first *first = &group->derivatives->body_first[i];
            if (width[first->column] != 0)
                couple_entry(solver, dim, group->derivatives->sums[first->row], first->column,
                             group->gradients + k * count + i, count, lanes);
        }
    }
    if (group->coord_start != NULL)
        for (size_t i = group->coord_start[k]; i < group->coord_start[k + 1]; i++)
            if (width[group->coord_component[i]] != 0)
                couple_entry(solver, dim, group->coord_input[i], group->coord_component[i], &one, 0, lanes);
}

static bool has_all_widths(const tc_group *group, size_t k) {
    for (size_t v = k * group->dim; v < (k + 1) * group->dim; v++)
        if (group->width[v] == 0)
            return false;
    return true;
}

/* How many blocks from k on have the structure of the first. */
static size_t alike_from(const tc_interior *solver, const tc_group *group, size_t k, size_t end) {
    size_t lanes = 1, most = solver->scratch.couple_lanes;
    if (group->coord_start != NULL || !has_all_widths(group, k))
        return 1;
    while (lanes < most && k + lanes < end && group->is_diagonal[k + lanes] == group->is_diagonal[k] &&
           group->row_count[k + lanes] == group->row_count[k] && has_all_widths(group, k + lanes))
        lanes++;
    return lanes;
}

/* L^-1 of the vectors, and the same seen by the blocks' rows. */
static void solve_couplings(tc_interior *solver, const tc_group *group, size_t k, size_t lanes) {
    size_t dim = group->dim, rows = group->row_count[k];
    tc_block_scratch *scratch = &solver->scratch;
    for (size_t i = 0; i < scratch->couple_count; i++) {
        if (!group->is_diagonal[k])
            scratch->couple_end[i] = dim;
        size_t from = scratch->couple_first[i], end = scratch->couple_end[i];
        for (size_t lane = 0; lane < lanes; lane++) {
            size_t first = (k + lane) * group->rows;
            tc_real *vector = couple_vector(solver, dim, i, lane);
            tc_real *seen = scratch->couple_rows + (lane * scratch->couple_slots + i) * rows;
            solve_lower(group, k + lane, vector);
            for (size_t r = 0; r < rows; r++)
                seen[r] = tc_dot(end - from, group->row_solved + (first + r) * dim + from, vector + from);
            tc_solve_lower(rows, group->row_factor + first * group->rows, seen);
        }
    }
}

/* Adds the terms of two vectors to their entry of the system. */
static void add_couplings(const tc_interior *solver, size_t dim, size_t rows, size_t i, size_t j, size_t lanes,
                          tc_real *entry) {
    const tc_block_scratch *scratch = &solver->scratch;
    size_t low = larger(scratch->couple_first[i], scratch->couple_first[j]);
    size_t high = scratch->couple_end[i] < scratch->couple_end[j] ? scratch->couple_end[i] : scratch->couple_end[j];
    size_t count = low < high ? high - low : 0;
    tc_real total = *entry;
    for (size_t lane = 0; lane < lanes; lane++) {
        const tc_real *seen = scratch->couple_rows + lane * scratch->couple_slots * rows;
        tc_real sum =
            tc_dot(count, couple_vector(solver, dim, i, lane) + low, couple_vector(solver, dim, j, lane) + low);
        total += rows == 0 ? sum : sum - tc_dot(rows, seen + i * rows, seen + j * rows);
    }
    *entry = total;
}

void tc_blocks_couple(tc_interior *solver, const tc_group *group, size_t first, size_t end) {
    size_t size = solver->coupling->is_curved ? solver->coupling->q : solver->coupling->m;
    const tc_block_scratch *scratch = &solver->scratch;
    for (size_t k = first, lanes = 0; k < end; k += lanes) {
        lanes = alike_from(solver, group, k, end);
        gather_couplings(solver, group, k, lanes);
        solve_couplings(solver, group, k, lanes);
        for (size_t i = 0; i < scratch->couple_count; i++)
            for (size_t j = 0; j <= i; j++) {
                uint32_t one = scratch->couple_name[i], other = scratch->couple_name[j];
                size_t place = one > other ? one * size + other : other * size + one;
                add_couplings(solver, group->dim, group->row_count[k], i, j, lanes, solver->coupling->schur + place);
            }
        for (size_t i = 0; i < scratch->couple_count; i++)
            scratch->couple_slot[scratch->couple_name[i]] = UINT32_MAX;
    }
}

/* ---- the system that couples the blocks ---- */

/* g = Phi(u), A = Phi', C = sum_j mu_j Phi_j'', and the dense system
 *
 *     w + S v = w0,   v = C w + A' dmu,   A w - D dmu = b        with S = U K^-1 U', D = price_weight + slack / mu,
 *
 * where an equality has no slack.
 *
 * Where C is zero by structure, A S A' is assembled directly and (A S A' + D) dmu = A w0 - b is all there is. */

void tc_coupling_begin(tc_coupling *coupling) {
    size_t size = coupling->is_curved ? coupling->q : coupling->m;
    memset(coupling->schur, 0, size * size * sizeof(tc_real));
}

static tc_real price_diagonal(const tc_coupling *coupling, size_t j) {
    return coupling->weight[j] + (tc_is_free(coupling, j) ? 0 : coupling->slack[j] / coupling->mu[j]);
}

/* S has an entry for two inputs only where an agent has a part in both: agents' own coordinates make it almost
 * diagonal. A covariance of n agents has n^2 second derivatives, and each adds a column. */
static void list_entries(tc_coupling *coupling) {
    size_t q = coupling->q, count = 0;
    for (size_t r = 0; r < q; r++) {
        coupling->schur_start[r] = count;
        for (size_t s = 0; s < q; s++)
            if (coupling->schur[r * q + s] != 0)
                coupling->schur_column[count++] = (uint32_t)s;
    }
    coupling->schur_start[q] = count;
}

/* S is symmetric: its row for its column. */
static void add_column(tc_coupling *coupling, size_t to, size_t from, tc_real factor) {
    size_t q = coupling->q, size = q + coupling->m;
    for (size_t i = coupling->schur_start[from]; i < coupling->schur_start[from + 1]; i++) {
        uint32_t r = coupling->schur_column[i];
        coupling->matrix[r * size + to] += coupling->schur[from * q + r] * factor;
    }
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
    list_entries(coupling);
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

static void set_step_prices(tc_coupling *coupling, const tc_real *w, const tc_real *dmu) {
    memset(coupling->step_prices, 0, coupling->q * sizeof(tc_real));
    for (size_t e = 0; e < coupling->derivatives->outer_second_count; e++) {
        const tc_second *second = &coupling->derivatives->outer_second[e];
        coupling->step_prices[second->column] += coupling->second[e] * w[second->other];
        if (second->column != second->other)
            coupling->step_prices[second->other] += coupling->second[e] * w[second->column];
    }
    for (size_t e = 0; e < coupling->entry_count; e++)
        coupling->step_prices[coupling->entry_column[e]] += coupling->first[e] * dmu[coupling->entry_row[e]];
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
    set_step_prices(coupling, coupling->unknown, dmu);
    for (size_t j = 0; j < m; j++)
        coupling->step_mu[j] += dmu[j];
}

void tc_coupling_apply(tc_coupling *coupling) {
    set_step_prices(coupling, coupling->moved, coupling->step_mu);
    for (size_t j = 0; j < coupling->m; j++)
        coupling->right[j] += price_diagonal(coupling, j) * coupling->step_mu[j];
    for (size_t e = 0; e < coupling->entry_count; e++)
        coupling->right[coupling->entry_row[e]] -= coupling->first[e] * coupling->moved[coupling->entry_column[e]];
}
