/* Objectives whose derivatives speak of their own component alone, in boxes: for each component the root of the
 * increasing function
 *
 *     s(x) = f'(x) + p + regularization x + (x - old) / step
 *
 * by Newton's method, kept inside a bracket by halving. All components of all lanes go side by side; one that has
 * ended keeps its value, and lanes that have ended make room. */
#include "engine/proximal/proximal_parts.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 300, PATIENCE = 16 };
static const double ZEROS[TC_LANES];

/* Of one component. */
static tc_line_rows rows_of(const tc_proximal_block *b, size_t c) {
    tc_proximal_work *work = b->work;
    int32_t first = b->family->of->rows[c], second = b->family->curvatures[c].row;
    size_t at = c * TC_LANES;
    return (tc_line_rows){.f1 = first == TC_NO_ROW ? ZEROS : work->out_at[first],
                          .f2 = second == TC_NO_ROW ? ZEROS : work->out_at[second],
                          .p = work->center + at,
                          .old = work->trial + at,
                          .lower = work->lower + at,
                          .upper = work->upper + at,
                          .unit = work->unit + at,
                          .x = work->x + at,
                          .low = work->low + at,
                          .high = work->high + at,
                          .last = work->move + at,
                          .busy = work->busy};
}

static void start(const tc_proximal_block *b) {
    const tc_agents_family *of = b->family->of;
    for (size_t c = 0; c < of->family->dim; c++) {
        tc_line_rows r = rows_of(b, c);
        memcpy(r.p, b->p[c] + b->at, b->count * sizeof *r.p);
        memcpy(r.old, b->x[c] + b->at, b->count * sizeof *r.old);
        tc_proximal_load(of->lower[c], b, r.lower);
        tc_proximal_load(of->upper[c], b, r.upper);
        double same = tc_proximal_little(r.lower[0], r.upper[0]);
        for (size_t k = 0; k < b->count; k++)
            r.unit[k] = b->family->has_even_bounds ? same : tc_proximal_little(r.lower[k], r.upper[k]);
        for (size_t k = 0; k < b->count; k++) /* loops over few rows are vectorised */
            r.x[k] = tc_proximal_bounded(r.old[k], r.lower[k], r.upper[k]);
        for (size_t k = 0; k < b->count; k++) {
            r.low[k] = r.last[k] = -INFINITY;
            r.high[k] = INFINITY;
        }
    }
}

/* A lane too many, so that there is always a whole pack, has ended before it begins. */
static void pad(const tc_proximal_block *b, size_t left) {
    for (size_t c = 0; c < b->family->of->family->dim; c++)
        for (size_t k = left; k % TC_PROXIMAL_PACK != 0; k++)
            rows_of(b, c).last[k] = 0;
}

/* Lanes that have ended are written down and left out, once they are a third of all. */
static size_t leave_out(const tc_proximal_block *b, size_t left) {
    tc_proximal_work *work = b->work;
    size_t places[TC_LANES], on = tc_proximal_busy(b, left, places);
    if (on == left)
        return left;
    tc_proximal_write(b, left);
    double *rows[] = {work->center, work->trial, work->x,     work->low, work->high,
                      work->move,   work->lower, work->upper, work->unit};
    tc_proximal_squeeze(b, on, places, rows, b->family->has_even_bounds ? 6 : 9);
    pad(b, on);
    return on;
}

static size_t first_undefined(const tc_proximal_block *b, size_t left) {
    for (size_t k = 0; k < left; k++)
        for (size_t c = 0; c < b->family->of->family->dim; c++)
            if (isnan(rows_of(b, c).f1[k]))
                return b->first + b->work->who[k];
    return b->first;
}

size_t tc_proximal_lines(const tc_proximal_block *b) {
    tc_proximal_work *work = b->work;
    size_t left = b->count, dim = b->family->of->family->dim, failed = tc_proximal_begin(b);
    tc_line_numbers n = {.inverse = 1 / b->step,
                         .regularization = b->regularization,
                         .weight = b->weight,
                         .is_smooth = b->family->is_smooth};
    if (failed != TC_ALL_FINITE)
        return failed;
    start(b);
    pad(b, left);
    for (int step = 0; left > 0 && step < MOST_STEPS; step++) {
        n.is_late = step >= PATIENCE;
        memset(work->busy, 0, left * sizeof *work->busy);
        tc_proximal_evaluate(b, b->family->both, work->x, left);
        bool is_defined = true;
        for (size_t c = 0; c < dim; c++) {
            const tc_line_rows r = rows_of(b, c);
            is_defined &= tc_line_advance(&r, left, &n);
        }
        if (!is_defined)
            return first_undefined(b, left);
        left = leave_out(b, left);
    }
    work->inaccurate += left;
    tc_proximal_write(b, left);
    return TC_ALL_FINITE;
}
