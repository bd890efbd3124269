/* Objectives whose derivatives speak of their own component alone, in boxes: for each component the root of the
 * increasing function
 *
 *     s(x) = f'(x) + p + regularization x + (x - old) / step
 *
 * by Newton's method, kept inside a bracket by halving. All components of all lanes go side by side; one that has
 * ended keeps its value. */
#include "engine/proximal_parts.h"
#include "solver/pack.h"

#include <float.h>
#include <math.h>

enum { MOST_STEPS = 300, PATIENCE = 16 };
static const double ZEROS[TC_LANES];

typedef struct line_rows { /* of one component */
    const double *f1, *f2; /* derivatives */
    double *p, *old, *lower, *upper;
    double *x, *low, *high; /* the bracket: where s < 0 and s > 0 was seen */
    double *last;           /* how long the last step was; 0: ended */
} line_rows;

static line_rows rows_of(const tc_proximal_block *b, size_t c) {
    tc_proximal_work *work = b->work;
    int32_t first = b->family->of->rows[c], second = b->family->curvatures[c].row;
    size_t at = c * TC_LANES;
    return (line_rows){.f1 = first == TC_NO_ROW ? ZEROS : work->out_at[first],
                       .f2 = second == TC_NO_ROW ? ZEROS : work->out_at[second],
                       .p = work->center + at,
                       .old = work->trial + at,
                       .lower = work->roots + at,
                       .upper = work->singles + at,
                       .x = work->x + at,
                       .low = work->lower + at,
                       .high = work->upper + at,
                       .last = work->move + at};
}

typedef struct line_numbers {
    tc_pack inverse, regularization, weight;
    tc_pack_mask is_late; /* steps that do not get shorter are halved */
} line_numbers;

typedef struct line_news {
    tc_pack_mask bad, goes_on;
} line_news;

/* One step of two lanes of a component. */
TC_INLINE void advance(const line_rows *r, size_t k, const line_numbers *n, line_news *news) {
    const tc_pack zero = tc_pack_both(0), half = tc_pack_both(0.5);
    tc_pack x = tc_pack_load(r->x + k), last = tc_pack_load(r->last + k), f1 = tc_pack_load(r->f1 + k);
    tc_pack p = tc_pack_load(r->p + k), lower = tc_pack_load(r->lower + k), upper = tc_pack_load(r->upper + k);
    tc_pack pull = n->regularization * x, back = (x - tc_pack_load(r->old + k)) * n->inverse;
    tc_pack s = ((f1 + p) + pull) + back, size = tc_pack_abs(s);
    tc_pack_mask on = tc_pack_less(zero, last);
    tc_pack low = tc_pack_select(on & tc_pack_less(s, zero), x, tc_pack_load(r->low + k));
    tc_pack high = tc_pack_select(on & tc_pack_less(zero, s), x, tc_pack_load(r->high + k));
    tc_pack slope = tc_pack_load(r->f2 + k) + n->weight, newton = tc_pack_clip(x - s / slope, lower, upper);
    tc_pack_mask is_inside = tc_pack_less(low, newton) & tc_pack_less(newton, high);
    tc_pack_mask is_slow = n->is_late & tc_pack_less(half * last, tc_pack_abs(newton - x));
    tc_pack from = tc_pack_larger(low, lower), to = -tc_pack_larger(-high, -upper);
    tc_pack next = tc_pack_select(is_inside & ~is_slow, newton, from + (to - from) * half);
    tc_pack noise = tc_pack_abs(f1) + tc_pack_abs(p) + tc_pack_abs(pull) + tc_pack_abs(back);
    tc_pack_mask is_quiet = tc_pack_at_most(size, tc_pack_both(4 * DBL_EPSILON) * noise);
    /* or the step is lost in the digits of x */
    is_quiet |= tc_pack_at_most(tc_pack_abs(newton - x), tc_pack_both(2 * DBL_EPSILON) * tc_pack_abs(x));
    is_quiet &= tc_pack_less(size, tc_pack_both(INFINITY)) & tc_pack_less(slope, tc_pack_both(INFINITY));
    tc_pack step = tc_pack_abs(next - x);
    tc_pack_mask ends = is_quiet | tc_pack_at_most(step, tc_pack_both(1e-12) * tc_pack_abs(next));
    news->bad |= on & ~tc_pack_equal(s, s);
    news->goes_on |= on & ~ends;
    tc_pack_store(r->x + k, tc_pack_select(on & ~(is_quiet & ~is_inside), next, x));
    tc_pack_store(r->last + k, tc_pack_where(on & ~ends, step));
    tc_pack_store(r->low + k, low);
    tc_pack_store(r->high + k, high);
}

/* Copies, so that there is always a whole pack: a lane too many has ended before it begins. */
static size_t start(const tc_proximal_block *b) {
    const tc_agents_family *of = b->family->of;
    for (size_t c = 0; c < of->family->dim; c++) {
        line_rows r = rows_of(b, c);
        for (size_t k = 0; k < b->count + b->count % 2; k++) {
            bool is_more = k >= b->count;
            size_t from = is_more ? k - 1 : k;
            r.p[k] = b->p[c][b->at + from];
            r.old[k] = b->x[c][b->at + from];
            r.lower[k] = tc_coef_at(of->lower[c], b->first + from);
            r.upper[k] = tc_coef_at(of->upper[c], b->first + from);
            r.x[k] = tc_proximal_bounded(r.old[k], r.lower[k], r.upper[k]);
            r.low[k] = -INFINITY;
            r.high[k] = INFINITY;
            r.last[k] = is_more ? 0 : INFINITY;
            if (!isfinite(r.p[k]) || !isfinite(r.old[k]))
                return b->first + from;
        }
    }
    return TC_ALL_FINITE;
}

static size_t first_undefined(const tc_proximal_block *b) {
    for (size_t k = 0; k < b->count; k++)
        for (size_t c = 0; c < b->family->of->family->dim; c++)
            if (isnan(rows_of(b, c).f1[k]))
                return b->first + k;
    return b->first;
}

size_t tc_proximal_lines(const tc_proximal_block *b) {
    size_t failed = start(b);
    line_numbers n = {.inverse = tc_pack_both(1 / b->step),
                      .regularization = tc_pack_both(b->regularization),
                      .weight = tc_pack_both(b->weight)};
    bool any = failed == TC_ALL_FINITE;
    for (int step = 0; any && step < MOST_STEPS; step++) {
        line_news news = {{0, 0}, {0, 0}};
        int64_t late = step >= PATIENCE ? -1 : 0;
        n.is_late = (tc_pack_mask){late, late};
        tc_proximal_evaluate(b, b->family->both, b->work->x);
        for (size_t c = 0; c < b->family->of->family->dim; c++) {
            const line_rows r = rows_of(b, c);
            for (size_t k = 0; k < b->count; k += 2)
                advance(&r, k, &n, &news);
        }
        if ((news.bad[0] | news.bad[1]) != 0)
            return first_undefined(b);
        any = (news.goes_on[0] | news.goes_on[1]) != 0;
    }
    return failed;
}
