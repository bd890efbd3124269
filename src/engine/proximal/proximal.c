#include "engine/proximal/proximal.h"

#include "engine/proximal/proximal_parts.h"
#include "base/simd.h"

#include <math.h>
#include <string.h>

/* ---- what the ways share ----------------------------------------------------------------------------------------- */

static bool all_finite(const double *row, size_t count) {
    tc_pack zero = tc_pack_of(0), other = zero; /* or no number; two sums, which do not wait for each other */
    size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        zero += tc_pack_load(row + k) * tc_pack_of(0);
        other += tc_pack_load(row + k + 2) * tc_pack_of(0);
    }
    for (; k < count; k++)
        zero += tc_pack_of(row[k] * 0);
    zero += other;
    return zero[0] == 0 && zero[1] == 0;
}

size_t tc_proximal_begin(const tc_proximal_block *b) {
    const tc_agents_family *of = b->family->of;
    tc_proximal_work *work = b->work;
    bool is_finite = true;
    for (size_t k = 0; k < b->count; k++)
        work->who[k] = k;
    for (size_t d = 0; d < of->family->column_count; d++)
        work->data_at[d] = of->data[d] + b->first;
    for (size_t c = 0; c < of->family->dim; c++) {
        is_finite = all_finite(b->p[c] + b->at, b->count) && all_finite(b->x[c] + b->at, b->count) && is_finite;
    }
    for (size_t k = 0; k < b->count && !is_finite; k++)
        for (size_t c = 0; c < of->family->dim; c++)
            if (!isfinite(b->p[c][b->at + k]) || !isfinite(b->x[c][b->at + k]))
                return b->first + k;
    return TC_ALL_FINITE;
}

void tc_proximal_load(tc_coef numbers, const tc_proximal_block *b, double *row) {
    if (numbers.column != NULL) {
        memcpy(row, numbers.column + b->first, b->count * sizeof *row);
        return;
    }
    for (size_t k = 0; k < b->count; k++)
        row[k] = numbers.value;
}

void tc_proximal_evaluate(const tc_proximal_block *b, const tc_tape *tape, const double *rows, size_t count) {
    tc_proximal_work *work = b->work;
    for (size_t c = 0; c < b->family->of->family->dim; c++)
        work->state_at[c] = rows + c * TC_LANES;
    const tc_inputs inputs = {.state = work->state_at, .data = work->data_at};
    if (count < b->count) /* lanes have moved to rows of our own: whole packs, which take less time than parts */
        count = (count + TC_PROXIMAL_PACK - 1) / TC_PROXIMAL_PACK * TC_PROXIMAL_PACK;
    tc_tape_eval(tape, &inputs, count, work->tape, work->out_at);
}

/* Of ones and zeros. */
static size_t count_ones(const double *row, size_t count) {
    tc_pack sum = tc_pack_of(0), other = sum;
    size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        sum += tc_pack_load(row + k);
        other += tc_pack_load(row + k + 2);
    }
    sum += other;
    double all = sum[0] + sum[1];
    for (; k < count; k++)
        all += row[k];
    return (size_t)all;
}

size_t tc_proximal_busy(const tc_proximal_block *b, size_t left, size_t *places) {
    const double *busy = b->work->busy;
    if (3 * count_ones(busy, left) > 2 * left)
        return left;
    size_t on = 0;
    for (size_t k = 0; k < left; k++) {
        places[on] = k;
        on += busy[k] != 0;
    }
    return on;
}

void tc_proximal_write(const tc_proximal_block *b, size_t count) {
    tc_proximal_work *work = b->work;
    for (size_t c = 0; c < b->family->of->family->dim; c++)
        for (size_t k = 0; k < count; k++)
            work->result[c * TC_LANES + work->who[k]] = work->x[c * TC_LANES + k];
}

static void squeeze_row(double *to, const double *from, size_t count, const size_t *places) {
    for (size_t k = 0; k < count; k++) /* places increase: nothing is overwritten before it is read */
        to[k] = from[places[k]];
}

void tc_proximal_squeeze(const tc_proximal_block *b, size_t count, const size_t *places, double *const *rows,
                         size_t row_count) {
    tc_proximal_work *work = b->work;
    const tc_family *family = b->family->of->family;
    for (size_t r = 0; r < row_count; r++)
        for (size_t c = 0; c < family->dim; c++)
            squeeze_row(rows[r] + c * TC_LANES, rows[r] + c * TC_LANES, count, places);
    for (size_t d = 0; d < family->column_count; d++) {
        squeeze_row(work->data + d * TC_LANES, work->data_at[d], count, places);
        work->data_at[d] = work->data + d * TC_LANES;
    }
    for (size_t k = 0; k < count; k++)
        work->who[k] = work->who[places[k]];
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static size_t step_block(const tc_proximal_block *b) {
    switch (b->family->way) {
    case TC_PROXIMAL_ROWS:
    case TC_PROXIMAL_WEIGHTED:
        return tc_proximal_rows(b);
    case TC_PROXIMAL_LINES:
        return tc_proximal_lines(b);
    case TC_PROXIMAL_NEWTON:
        return tc_proximal_newton(b);
    case TC_PROXIMAL_ALONE:
        break;
    }
    size_t failed = tc_proximal_begin(b);
    for (size_t lane = 0; lane < b->count && failed == TC_ALL_FINITE; lane++)
        failed = tc_proximal_alone(b, lane);
    return failed;
}

size_t tc_proximal_next(tc_proximal *proximal, size_t worker, size_t family, size_t first, size_t count,
                        const double *const *p, tc_answer_scalars scalars, const double *const *x,
                        double *const *next) {
    const tc_proximal_family *of = &proximal->families[family];
    tc_proximal_block b = {.family = of,
                           .work = &proximal->works[worker],
                           .worker = worker,
                           .p = p,
                           .x = x,
                           .step = scalars.step,
                           .regularization = scalars.regularization,
                           .weight = scalars.regularization + 1 / scalars.step};
    for (size_t at = 0; at < count; at += TC_LANES) {
        b.at = at;
        b.first = first + at;
        b.count = count - at < TC_LANES ? count - at : TC_LANES;
        size_t member = step_block(&b);
        if (member != TC_ALL_FINITE)
            return member;
        for (size_t c = 0; c < of->of->family->dim; c++)
            memcpy(next[c] + at, b.work->result + c * TC_LANES, b.count * sizeof(double));
    }
    return TC_ALL_FINITE;
}

size_t tc_proximal_next_singles(tc_proximal *proximal, size_t worker, const double *p, tc_answer_scalars scalars,
                                const double *x, double *next) {
    const tc_model *model = proximal->agents->model;
    const double **p_at = proximal->p_at + worker * proximal->most_dim;
    const double **x_at = proximal->x_at + worker * proximal->most_dim;
    double **next_at = proximal->next_at + worker * proximal->most_dim;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        if (family->count != 1)
            continue;
        for (size_t c = 0; c < family->dim; c++) {
            p_at[c] = p + family->first_coord + c;
            x_at[c] = x + family->first_coord + c;
            next_at[c] = next + family->first_coord + c;
        }
        if (tc_proximal_next(proximal, worker, f, 0, 1, p_at, scalars, x_at, next_at) != TC_ALL_FINITE)
            return f;
    }
    return TC_ALL_FINITE;
}

uint64_t tc_proximal_inaccurate(const tc_proximal *proximal) {
    uint64_t sum = 0;
    for (size_t w = 0; w < proximal->agents->workers; w++)
        sum += proximal->works[w].inaccurate;
    return sum;
}
