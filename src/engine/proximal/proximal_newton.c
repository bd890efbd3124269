/* Newton's method for smooth objectives in boxes with at most one half-space, plane or ball, for many members side by
 * side: each step goes towards the minimum of the quadratic model over the set, as far as the slope along it says that
 * the function, which is convex, has fallen; its values are not needed, and rounding in them does no harm. A lane that
 * has ended keeps its value, and lanes that have ended make room. What does not go well here goes alone. */
#include "engine/proximal/proximal_parts.h"

#include <string.h>

enum { MOST_STEPS = 40, EASY_STEPS = 8 };
static const double ZEROS[TC_LANES];

static tc_newton_part part_of(tc_set_kind kind) {
    return kind == TC_SET_HALFSPACE ? TC_NEWTON_LINEAR : kind == TC_SET_HYPERPLANE ? TC_NEWTON_PLANE : TC_NEWTON_BALL;
}

static tc_newton_rows rows_of(const tc_proximal_block *b) {
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
                        .inverse = 1 / b->step,
                        .regularization = b->regularization,
                        .weight = b->weight,
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
                        .scratch = work->scratch};
    for (size_t c = 0; c < r.dim; c++)
        work->f1[c] = family->of->rows[c] == TC_NO_ROW ? ZEROS : work->out_at[family->of->rows[c]];
    for (size_t i = 0; i < (r.is_diagonal ? r.dim : r.dim * r.dim); i++)
        work->f2[i] = ZEROS;
    for (size_t i = 0; i < family->derivatives->objective_second_count; i++)
        work->f2[family->second_at[i]] = work->out_at[firsts + i];
    if (projector->cut_count > 0) {
        r.part = part_of(projector->cuts[0].cut.kind);
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
    for (size_t k = count; k < TC_LANES; k++)
        work->busy[k] = 0;
}

static void start(const tc_proximal_block *b) {
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

/* Lanes that have ended are written down and left out, once they are a third of all. hard and who stay by lane. */
static size_t leave_out(const tc_proximal_block *b, size_t left, bool *is_hard) {
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
    double *lanes[] = {work->along, work->length, work->last, work->hard, work->t, work->radius};
    for (size_t i = 0; i < (has_part ? 6 : 4); i++)
        for (size_t k = 0; k < on; k++)
            lanes[i][k] = lanes[i][places[k]];
    set_busy(work, on);
    return on;
}

/* Digits of the set's own for those that went side by side, then those that did not go well, alone. */
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
    start(b);
    const tc_newton_rows r = rows_of(b);
    for (int step = 0; left > 0 && step < MOST_STEPS; step++) {
        tc_proximal_evaluate(b, b->family->both, b->work->trial, left);
        tc_newton_advance(&r, left, step < EASY_STEPS ? 0.3 : 0);
        left = leave_out(b, left, is_hard);
    }
    tc_proximal_write(b, left);
    for (size_t k = 0; k < left; k++)
        is_hard[b->work->who[k]] = b->work->busy[k] != 0 || b->work->hard[k] != 0;
    return finish(b, is_hard);
}
