/* Families of many: gradients by tape, TC_LANES members at a time. */
#include "engine/agents_parts.h"

#include <string.h>

static const double ZEROS[TC_LANES];

typedef struct block { /* members first .. first + count - 1, at most TC_LANES, at `at` of the caller's rows */
    const tc_agents_family *of;
    tc_agents_work *work;
    size_t first, count, at;
    const double *const *p;
    const double *const *x;
    tc_answer_scalars scalars;
} block;

static void gradient(const block *b) {
    tc_agents_work *work = b->work;
    for (size_t c = 0; c < b->of->family->dim; c++)
        work->state_at[c] = b->x[c] + b->at;
    for (size_t d = 0; d < b->of->family->column_count; d++)
        work->data_at[d] = b->of->data[d] + b->first;
    const tc_inputs inputs = {.state = work->state_at, .data = work->data_at};
    tc_tape_eval(b->of->gradient, &inputs, b->count, work->tape, work->out_at);
}

static const double *slopes_of(const block *b, size_t c) {
    return b->of->rows[c] == TC_NO_ROW ? ZEROS : b->work->out_at[b->of->rows[c]];
}

/* A row of bounds: a column's, or one spread into spare. */
static const double *bounds_row(tc_coef bound, const block *b, double *spare) {
    if (bound.column != NULL)
        return bound.column + b->first;
    for (size_t k = 0; k < b->count; k++)
        spare[k] = bound.value;
    return spare;
}

static void store(const block *b, double *const *next) {
    for (size_t c = 0; c < b->of->family->dim; c++)
        memcpy(next[c] + b->at, b->work->v + c * TC_LANES, b->count * sizeof(double));
}

/* In one pass. In place the new states wait in the thread's own rows until all are known to be finite. */
static bool step_boxes(const block *b, double *const *next) {
    double lower[TC_LANES], upper[TC_LANES];
    bool is_finite = true, in_place = (const double *)next[0] == b->x[0];
    for (size_t c = 0; c < b->of->family->dim; c++) {
        tc_coef low = b->of->lower[c], high = b->of->upper[c];
        const double *g = slopes_of(b, c), *p = b->p[c] + b->at, *x = b->x[c] + b->at;
        double *out = in_place ? b->work->v + c * TC_LANES : next[c] + b->at;
        if (low.column == NULL && high.column == NULL)
            is_finite &= tc_agents_row(b->count, g, p, b->scalars, x, low.value, high.value, out);
        else
            is_finite &= tc_agents_clipped_row(b->count, g, p, b->scalars, x, bounds_row(low, b, lower),
                                               bounds_row(high, b, upper), out);
    }
    if (in_place && is_finite)
        store(b, next);
    return is_finite;
}

/* v without bounds, in the thread's own rows. */
static bool move(const block *b) {
    bool is_finite = true;
    for (size_t c = 0; c < b->of->family->dim; c++)
        is_finite &= tc_agents_row(b->count, slopes_of(b, c), b->p[c] + b->at, b->scalars, b->x[c] + b->at, -INFINITY,
                                   INFINITY, b->work->v + c * TC_LANES);
    return is_finite;
}

static size_t first_not_finite(const block *b) {
    for (size_t k = 0; k < b->count; k++)
        for (size_t c = 0; c < b->of->family->dim; c++)
            if (!isfinite(b->work->v[c * TC_LANES + k]))
                return b->first + k;
    return TC_ALL_FINITE;
}

static size_t step_shapes(const block *b, size_t worker, double *const *next) {
    if (!move(b))
        return first_not_finite(b);
    b->work->inaccurate += tc_projector_project(b->of->projector, worker, b->first, b->count, TC_LANES, b->work->v);
    store(b, next);
    return TC_ALL_FINITE;
}

static size_t step_block(const block *b, size_t worker, double *const *next) {
    gradient(b);
    if (b->of->lower == NULL)
        return step_shapes(b, worker, next);
    if (step_boxes(b, next))
        return TC_ALL_FINITE;
    (void)move(b);
    return first_not_finite(b);
}

size_t tc_agents_next(tc_agents *agents, size_t worker, size_t family, size_t first, size_t count,
                      const double *const *p, tc_answer_scalars scalars, const double *const *x, double *const *next) {
    block b = {.of = &agents->families[family], .work = &agents->works[worker], .p = p, .x = x, .scalars = scalars};
    for (size_t at = 0; at < count; at += TC_LANES) {
        b.at = at;
        b.first = first + at;
        b.count = count - at < TC_LANES ? count - at : TC_LANES;
        size_t member = step_block(&b, worker, next);
        if (member != TC_ALL_FINITE)
            return member;
    }
    return TC_ALL_FINITE;
}

size_t tc_agents_step(tc_agents *agents, size_t worker, size_t family, size_t first, size_t count,
                      const double *const *p, tc_answer_scalars scalars, double *const *x) {
    const double *const *from = (const double *const *)x;
    block b = {.of = &agents->families[family], .work = &agents->works[worker], .p = p, .x = from, .scalars = scalars};
    for (size_t at = 0; at < count && count > TC_LANES; at += TC_LANES) {
        b.at = at;
        b.first = first + at;
        b.count = count - at < TC_LANES ? count - at : TC_LANES;
        gradient(&b);
        if (!move(&b))
            return first_not_finite(&b);
    }
    return tc_agents_next(agents, worker, family, first, count, p, scalars, from, x);
}
