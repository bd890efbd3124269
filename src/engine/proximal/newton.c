/* Newton's method for many members side by side. A lane that has ended keeps its value; once a third have ended they
 * are written down and the others move up. */
#include "engine/proximal/inside.h"

#include <math.h>
#include <string.h>

static const double ZEROS[TC_LANES];

/* ---- one equation for each component ----------------------------------------------------------------------------- */

/* In boxes, where each derivative of f depends on its own component alone: for each component the root of the
 * increasing function
 *
 *     s(x) = f'(x) + p + regularization x + (x - old) / (step s_c^2)
 *
 * by Newton's method, kept inside a bracket by halving. */

enum { MOST_LINE_STEPS = 300, PATIENCE = 16 };

/* Of one component. */
static tc_line_rows line_rows(const tc_proximal_block *b, size_t c) {
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

static void start_lines(const tc_proximal_block *b) {
    const tc_agents_family *of = b->family->of;
    for (size_t c = 0; c < of->family->dim; c++) {
        tc_line_rows r = line_rows(b, c);
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

/* Lanes that only fill up the last pack have ended before they begin. */
static void pad_lines(const tc_proximal_block *b, size_t left) {
    for (size_t c = 0; c < b->family->of->family->dim; c++)
        for (size_t k = left; k % TC_PROXIMAL_PACK != 0; k++)
            line_rows(b, c).last[k] = 0;
}

static size_t leave_out_lines(const tc_proximal_block *b, size_t left) {
    tc_proximal_work *work = b->work;
    size_t places[TC_LANES], on = tc_proximal_busy(b, left, places);
    if (on == left)
        return left;
    tc_proximal_write(b, left);
    double *rows[] = {work->center, work->trial, work->x,     work->low, work->high,
                      work->move,   work->lower, work->upper, work->unit};
    tc_proximal_squeeze(b, on, places, rows, b->family->has_even_bounds ? 6 : 9);
    pad_lines(b, on);
    return on;
}

static size_t first_undefined(const tc_proximal_block *b, size_t left) {
    for (size_t k = 0; k < left; k++)
        for (size_t c = 0; c < b->family->of->family->dim; c++)
            if (isnan(line_rows(b, c).f1[k]))
                return b->first + b->work->who[k];
    return b->first;
}

size_t tc_proximal_lines(const tc_proximal_block *b) {
    tc_proximal_work *work = b->work;
    size_t left = b->count, dim = b->family->of->family->dim, failed = tc_proximal_begin(b);
    tc_line_numbers n = {.regularization = b->regularization, .is_smooth = b->family->is_smooth};
    if (failed != TC_ALL_FINITE)
        return failed;
    start_lines(b);
    pad_lines(b, left);
    for (int step = 0; left > 0 && step < MOST_LINE_STEPS; step++) {
        n.is_late = step >= PATIENCE;
        memset(work->busy, 0, left * sizeof *work->busy);
        tc_proximal_evaluate(b, b->family->both, work->x, left);
        bool is_defined = true;
        for (size_t c = 0; c < dim; c++) {
            const tc_line_rows r = line_rows(b, c);
            n.inverse = tc_proximal_inverse(b, c);
            n.weight = tc_proximal_weight(b, c);
            is_defined &= tc_line_advance(&r, left, &n);
        }
        if (!is_defined)
            return first_undefined(b, left);
        left = leave_out_lines(b, left);
    }
    work->inaccurate += left;
    tc_proximal_write(b, left);
    return TC_ALL_FINITE;
}

/* ---- a box with at most one half-space, slab, plane or ball ------------------------------------------------------ */

/* Each step goes towards the minimum of the quadratic model over the set, as far as the slope along it shows that the
 * function, which is convex, has fallen. Its values are not needed, so rounding in them does no harm. Lanes that do not
 * converge here go alone (alone.c). */

enum { MOST_STEPS = 40, EASY_STEPS = 8 };

static tc_newton_part part_of(const tc_cut *cut) {
    if (cut->kind == TC_SET_HALFSPACE)
        return cut->is_slab ? TC_NEWTON_SLAB : TC_NEWTON_LINEAR;
    return cut->kind == TC_SET_HYPERPLANE ? TC_NEWTON_PLANE : TC_NEWTON_BALL;
}

static tc_newton_rows newton_rows(const tc_proximal_block *b) {
    const tc_proximal_family *family = b->family;
    const tc_projector *projector = family->of->projector;
    tc_proximal_work *work = b->work;
    size_t firsts = family->derivatives->objective_first_count;
    tc_newton_rows r = {.dim = family->of->family->dim,
                        .is_diagonal = family->is_diagonal,
                        .is_smooth = family->is_smooth,
                        .is_quadratic = family->is_quadratic,
                        .f1 = work->f1,
                        .f2 = work->f2,
                        .inverse = work->inverse,
                        .weight = work->weight,
                        .regularization = b->regularization,
                        .least_weight = tc_proximal_least_weight(b),
                        .p = work->p,
                        .old = work->old,
                        .lower = work->lower,
                        .upper = work->upper,
                        .unit = work->unit,
                        .center = work->center,
                        .x = work->x,
                        .trial = work->trial,
                        .move = work->move,
                        .t = work->t,
                        .along = work->along,
                        .length = work->length,
                        .last = work->last,
                        .busy = work->busy,
                        .hard = work->hard,
                        .radius = work->radius,
                        .floor = work->floor,
                        .scratch = work->scratch};
    for (size_t c = 0; c < r.dim; c++) {
        work->inverse[c] = tc_proximal_inverse(b, c);
        work->weight[c] = tc_proximal_weight(b, c);
    }
    for (size_t c = 0; c < r.dim; c++)
        work->f1[c] = family->of->rows[c] == TC_NO_ROW ? ZEROS : work->out_at[family->of->rows[c]];
    for (size_t i = 0; i < (r.is_diagonal ? r.dim : r.dim * r.dim); i++)
        work->f2[i] = ZEROS;
    for (size_t i = 0; i < family->derivatives->objective_second_count; i++)
        work->f2[family->second_at[i]] = work->out_at[firsts + i];
    if (projector->cut_count > 0) {
        r.part = part_of(&projector->cuts[0].cut);
        r.part_first = projector->cuts[0].first;
        r.part_count = projector->cuts[0].cut.count;
    }
    return r;
}

static void load_part(const tc_proximal_block *b) {
    const tc_projector_cut *cut = b->family->of->projector->cuts;
    double *radius = b->work->radius;
    for (size_t i = 0; i < cut->cut.count; i++)
        tc_proximal_load(cut->cut.center[i], b, b->work->center + (cut->first + i) * TC_LANES);
    tc_proximal_load(cut->cut.radius, b, radius);
    if (cut->cut.is_slab)
        tc_proximal_load(cut->cut.floor, b, b->work->floor);
    for (size_t k = 0; k < b->count && cut->cut.kind == TC_SET_BALL; k++)
        radius[k] *= radius[k];
}

/* 1 / what is little in a component. */
static void load_units(const tc_proximal_block *b, size_t c) {
    const tc_projector *projector = b->family->of->projector;
    const double *lower = b->work->lower + c * TC_LANES, *upper = b->work->upper + c * TC_LANES;
    double *unit = b->work->unit + c * TC_LANES, same = 1 / tc_proximal_little(lower[0], upper[0]);
    bool is_even = projector->lower[c].column == NULL && projector->upper[c].column == NULL;
    for (size_t k = 0; k < b->count; k++)
        unit[k] = is_even ? same : 1 / tc_proximal_little(lower[k], upper[k]);
}

static void set_busy(tc_proximal_work *work, size_t count) {
    for (size_t k = 0; k < count; k++)
        work->busy[k] = 1;
    for (size_t k = count; k % TC_PROXIMAL_PACK != 0; k++) /* they only fill up the last pack */
        work->busy[k] = 0;
}

static void start_newton(const tc_proximal_block *b) {
    tc_projector *projector = b->family->of->projector;
    tc_proximal_work *work = b->work;
    for (size_t c = 0; c < b->family->of->family->dim; c++) {
        size_t at = c * TC_LANES;
        double *lower = work->lower + at, *upper = work->upper + at;
        memcpy(work->p + at, b->p[c] + b->at, b->count * sizeof(double));
        memcpy(work->old + at, b->x[c] + b->at, b->count * sizeof(double));
        tc_proximal_load(projector->lower[c], b, lower);
        tc_proximal_load(projector->upper[c], b, upper);
        load_units(b, c);
        for (size_t k = 0; k < b->count; k++) {
            work->x[at + k] = tc_proximal_bounded(work->old[at + k], lower[k], upper[k]);
            work->move[at + k] = 0;
        }
    }
    if (projector->cut_count > 0) {
        load_part(b); /* steps lead downhill from points of the set */
        (void)tc_projector_project(projector, b->worker, b->first, b->count, TC_LANES, work->x);
    }
    for (size_t c = 0; c < b->family->of->family->dim; c++)
        memcpy(work->trial + c * TC_LANES, work->x + c * TC_LANES, b->count * sizeof(double));
    double *none[] = {work->t, work->along, work->last, work->hard};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        memset(none[i], 0, b->count * sizeof(double));
    set_busy(work, b->count);
}

/* is_hard is by member, hard by lane. */
static size_t leave_out_newton(const tc_proximal_block *b, size_t left, bool *is_hard) {
    tc_proximal_work *work = b->work;
    size_t places[TC_LANES], on = tc_proximal_busy(b, left, places);
    if (on == left)
        return left;
    tc_proximal_write(b, left);
    for (size_t k = 0; k < left; k++)
        is_hard[work->who[k]] = work->hard[k] != 0;
    bool has_part = b->family->of->projector->cut_count > 0;
    double *rows[9] = {work->p, work->old, work->x, work->trial, work->move};
    size_t row_count = 5;
    if (has_part)
        rows[row_count++] = work->center;
    if (!b->family->has_even_bounds) {
        rows[row_count++] = work->lower;
        rows[row_count++] = work->upper;
        rows[row_count++] = work->unit;
    }
    tc_proximal_squeeze(b, on, places, rows, row_count);
    double *lanes[] = {work->along, work->length, work->last, work->hard, work->t, work->radius, work->floor};
    for (size_t i = 0; i < (has_part ? 7 : 4); i++)
        for (size_t k = 0; k < on; k++)
            lanes[i][k] = lanes[i][places[k]];
    set_busy(work, on);
    return on;
}

/* Lanes that converged are projected once more, for the bits of the set's own projection; the others go alone. */
static size_t finish(const tc_proximal_block *b, const bool *is_hard) {
    tc_projector *projector = b->family->of->projector;
    size_t failed = TC_ALL_FINITE;
    if (projector->cut_count > 0)
        b->work->inaccurate +=
            tc_projector_project(projector, b->worker, b->first, b->count, TC_LANES, b->work->result);
    for (size_t k = 0; k < b->count && failed == TC_ALL_FINITE; k++)
        if (is_hard[k])
            failed = tc_proximal_alone(b, k);
    return failed;
}

size_t tc_proximal_newton(const tc_proximal_block *b) {
    bool is_hard[TC_LANES] = {false};
    size_t left = b->count, failed = tc_proximal_begin(b);
    if (failed != TC_ALL_FINITE)
        return failed;
    start_newton(b);
    const tc_newton_rows r = newton_rows(b);
    for (int step = 0; left > 0 && step < MOST_STEPS; step++) {
        tc_proximal_evaluate(b, b->family->both, b->work->trial, left);
        tc_newton_advance(&r, left, step < EASY_STEPS ? 0.3 : 0);
        left = leave_out_newton(b, left, is_hard);
    }
    tc_proximal_write(b, left);
    for (size_t k = 0; k < left; k++)
        is_hard[b->work->who[k]] = b->work->busy[k] != 0 || b->work->hard[k] != 0;
    return finish(b, is_hard);
}
