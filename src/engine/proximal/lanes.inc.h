/* Steps of many lanes at once, for packs of TC_SIMD_LANES; narrow.c, wide.c and widest.c include this. LINE_ADVANCE and
 * NEWTON_ADVANCE are the names of what is made. */
#include "engine/proximal/inside.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if TC_SIMD_LANES == 2 || defined(TC_HAS_WIDE)

TC_SIMD_BEGIN

#include "engine/proximal/lanes_model.inc.h"

/* ---- one equation for each component ----------------------------------------------------------------------------- */

/* One step of Newton's method for one component of many lanes; false where a slope is no number. */
TC_INLINE bool advance_lines(const tc_line_rows *r, size_t count, const tc_line_numbers *n, bool is_late,
                             bool is_smooth) {
    const tc_pack zero = tc_pack_of(0), half = tc_pack_of(0.5), inverse = tc_pack_of(n->inverse);
    const tc_pack regularization = tc_pack_of(n->regularization), weight = tc_pack_of(n->weight);
    tc_pack_mask undefined = tc_pack_none();
    for (size_t k = 0; k < count; k += TC_SIMD_LANES) {
        tc_pack x = tc_pack_load(r->x + k), last = tc_pack_load(r->last + k), f1 = tc_pack_load(r->f1 + k);
        tc_pack p = tc_pack_load(r->p + k), lower = tc_pack_load(r->lower + k), upper = tc_pack_load(r->upper + k);
        tc_pack pull = regularization * x, back = (x - tc_pack_load(r->old + k)) * inverse;
        tc_pack s = ((f1 + p) + pull) + back, size = tc_pack_abs(s), before = tc_pack_abs(last);
        tc_pack_mask on = tc_pack_less(zero, before);
        tc_pack low = tc_pack_select(on & tc_pack_less(s, zero), x, tc_pack_load(r->low + k));
        tc_pack high = tc_pack_select(on & tc_pack_less(zero, s), x, tc_pack_load(r->high + k));
        tc_pack slope = tc_pack_load(r->f2 + k) + weight, newton = tc_pack_clip(x - s / slope, lower, upper);
        tc_pack change = tc_pack_abs(newton - x), little = tc_pack_load(r->unit + k);
        tc_pack_mask is_inside = tc_pack_less(low, newton) & tc_pack_less(newton, high);
        tc_pack_mask is_free = tc_pack_less(lower, newton) & tc_pack_less(newton, upper);
        tc_pack_mask takes = is_inside;
        if (is_late)
            takes &= ~tc_pack_less(half * before, change);
        tc_pack from = tc_pack_larger(low, lower), to = tc_pack_smaller(high, upper);
        tc_pack terms = tc_pack_abs(f1) + tc_pack_abs(p) + tc_pack_abs(pull) + tc_pack_abs(back);
        /* A step is the last one if what is left is rounding; or if it is short and the slope is small too, since
         * curvature may be so large for a moment that a short step says little; or if steps get shorter as squares do
         * and the next one would be nearly short. */
        tc_pack_mask is_last = tc_pack_at_most(size, tc_pack_of(4 * DBL_EPSILON) * terms);
        is_last |= tc_pack_at_most(change, tc_pack_of(1e-5) * little);
        is_last |= tc_pack_at_most(change, little) & tc_pack_at_most(size, tc_pack_of(1e-6) * terms);
        if (is_smooth)
            is_last |= is_free & is_inside & tc_pack_at_most(change, tc_pack_of(1.0 / 16) * last) &
                       tc_pack_at_most(change * change * change, tc_pack_of(10) * little * last * last) &
                       tc_pack_at_most(size, tc_pack_of(1e-4) * terms);
        is_last &= tc_pack_is_finite(s) & tc_pack_is_finite(slope);
        tc_pack next = tc_pack_select(takes | is_last, newton, from + (to - from) * half);
        tc_pack step = tc_pack_abs(next - x);
        step = tc_pack_select(takes & is_free, step, -step);
        tc_pack_mask goes_on = on & ~(is_last | tc_pack_at_most(to - from, little));
        tc_pack_store(r->x + k, tc_pack_select(on & (is_inside | ~is_last), next, x));
        tc_pack_store(r->last + k, tc_pack_where(goes_on, step));
        tc_pack_store(r->low + k, low);
        tc_pack_store(r->high + k, high);
        tc_pack_store(r->busy + k, tc_pack_larger(tc_pack_load(r->busy + k), tc_pack_where(goes_on, tc_pack_of(1))));
        undefined |= on & ~tc_pack_equal(s, s);
    }
    return tc_pack_bits(undefined) == 0;
}

/* Nearly all steps are early ones of smooth functions: the compiler makes a faster version for these. */
bool LINE_ADVANCE(const tc_line_rows *r, size_t count, const tc_line_numbers *n) {
    if (!n->is_late && n->is_smooth)
        return advance_lines(r, count, n, false, true);
    return advance_lines(r, count, n, n->is_late, n->is_smooth);
}

/* ---- Newton's method --------------------------------------------------------------------------------------------- */

/* A bounded error may be this many times what is little. */
#define NEWTON_BOUNDED 10

typedef struct judged {      /* at the trial point */
    tc_pack along, rounding; /* the slope along the line */
    tc_pack_mask is_finite;
} judged;

TC_INLINE judged find_slopes(const model *m, double *terms) {
    const tc_newton_rows *r = m->r;
    const tc_pack regularization = tc_pack_of(r->regularization);
    judged out = {tc_pack_of(0), tc_pack_of(0), tc_pack_equal(tc_pack_of(0), tc_pack_of(0))};
    for (size_t c = 0; c < r->dim; c++) {
        tc_pack x = row_at(m, r->trial, c), f = tc_pack_load(r->f1[c] + m->k), p = row_at(m, r->p, c);
        tc_pack pull = regularization * x, back = (x - row_at(m, r->old, c)) * tc_pack_of(r->inverse[c]);
        tc_pack slope = ((f + p) + pull) + back, move = row_at(m, r->move, c);
        tc_pack size = tc_pack_abs(f) + tc_pack_abs(p) + tc_pack_abs(pull) + tc_pack_abs(back);
        out.along += slope * move;
        out.rounding += size * tc_pack_abs(move);
        out.is_finite &= tc_pack_is_finite(slope);
        put(m->slope, c, slope);
        put(terms, c, size);
    }
    out.rounding *= tc_pack_of(4 * DBL_EPSILON);
    return out;
}

/* The lower triangle, or the diagonal. False where something is not finite. */
TC_INLINE tc_pack_mask find_hessian(const model *m) {
    const tc_newton_rows *r = m->r;
    tc_pack_mask is_finite = tc_pack_equal(tc_pack_of(0), tc_pack_of(0));
    for (size_t c = 0; c < r->dim; c++)
        for (size_t d = r->is_diagonal ? c : 0; d <= c; d++) {
            size_t place = r->is_diagonal ? c : c * r->dim + d;
            tc_pack value = tc_pack_load(r->f2[place] + m->k);
            is_finite &= tc_pack_is_finite(value);
            if (c == d)
                value += tc_pack_of(r->weight[c]);
            put(m->hessian, place, value);
        }
    return is_finite;
}

/* Trial points along the line. */
TC_INLINE void set_trial(const model *m, tc_pack_mask which, tc_pack length) {
    const tc_newton_rows *r = m->r;
    for (size_t c = 0; c < r->dim; c++) {
        size_t to = c * TC_LANES + m->k;
        tc_pack next = row_at(m, r->x, c) + length * row_at(m, r->move, c);
        next = tc_pack_clip(next, row_at(m, r->lower, c), row_at(m, r->upper, c));
        tc_pack_store(r->trial + to, tc_pack_select(which, next, tc_pack_load(r->trial + to)));
    }
}

/* Whether the step is the last one, as in advance_lines; *length: its size in units of what is little. */
TC_INLINE tc_pack_mask is_last_step(const model *m, const double *move, const double *terms, tc_pack last,
                                    tc_pack *length) {
    const tc_newton_rows *r = m->r;
    tc_pack_mask is_last = tc_pack_equal(tc_pack_of(0), tc_pack_of(0)), is_small = is_last;
    tc_pack most = tc_pack_of(0);
    for (size_t c = 0; c < r->dim; c++) {
        tc_pack d = tc_pack_abs(at(move, c)) * row_at(m, r->unit, c), pull = tc_pack_of(0);
        if (in_part(m, c))
            pull = m->t * pull_at(m, c, row_at(m, r->x, c));
        tc_pack slope = tc_pack_abs(at(m->slope, c) + pull), size = at(terms, c) + tc_pack_abs(pull);
        tc_pack_mask is_tiny = tc_pack_at_most(slope, tc_pack_of(8 * DBL_EPSILON) * size);
        is_tiny |= tc_pack_at_most(d, tc_pack_of(1e-5));
        is_last &= is_tiny | (tc_pack_at_most(d, tc_pack_of(1)) & tc_pack_at_most(slope, tc_pack_of(1e-6) * size));
        is_small &= is_tiny | tc_pack_at_most(slope, tc_pack_of(1e-4) * size);
        most = tc_pack_larger(d, most);
    }
    *length = most;
    if (!r->is_smooth)
        return is_last;
    return is_last | (is_small & tc_pack_at_most(most, tc_pack_of(1.0 / 16) * last) &
                      tc_pack_at_most(most * most * most, last * last));
}

/* For quadratic objectives, by the slopes that are left after the step and their rounding: |error| <= |slopes| / the
 * least weight in the Euclidean norm. */
TC_INLINE tc_pack_mask is_exact_step(const model *m, const double *move, const double *terms) {
    const tc_newton_rows *r = m->r;
    tc_pack rest = tc_pack_of(0), unit = tc_pack_of(0);
    for (size_t c = 0; c < r->dim; c++) {
        tc_pack pull = tc_pack_of(0), size = at(terms, c), bend = tc_pack_of(0);
        if (in_part(m, c))
            pull = m->t * pull_at(m, c, row_at(m, r->x, c) + at(move, c));
        for (size_t j = r->is_diagonal ? c : 0; j < (r->is_diagonal ? c + 1 : r->dim); j++) {
            tc_pack entry = at(m->hessian, r->is_diagonal ? c : c > j ? c * r->dim + j : j * r->dim + c) * at(move, j);
            bend += entry;
            size += tc_pack_abs(entry);
        }
        size += tc_pack_abs(pull);
        tc_pack slope =
            tc_pack_where(is_free(m, c), (at(m->slope, c) + bend) + pull); /* bounds that are held are right */
        rest += tc_pack_abs(slope) + tc_pack_of(8 * DBL_EPSILON) * size;
        unit = tc_pack_larger(row_at(m, r->unit, c), unit);
    }
    return tc_pack_at_most(rest * unit, tc_pack_of(NEWTON_BOUNDED * r->least_weight));
}

TC_INLINE void mark(double *row, tc_pack_mask which, double value) {
    tc_pack_store(row, tc_pack_select(which, tc_pack_of(value), tc_pack_load(row)));
}

/* From accepted trial points to the next ones. */
TC_INLINE void take_step(model *m, double *terms, double *found, tc_pack_mask goes) {
    const tc_newton_rows *r = m->r;
    for (size_t c = 0; c < r->dim; c++) {
        size_t to = c * TC_LANES + m->k;
        tc_pack x = tc_pack_select(goes, row_at(m, r->trial, c), row_at(m, r->x, c));
        tc_pack_store(r->x + to, x);
        put(m->low, c, row_at(m, r->lower, c) - x);
        put(m->high, c, row_at(m, r->upper, c) - x);
        put(found, c, tc_pack_of(0));
    }
    tc_pack_mask hard = goes & ~find_hessian(m);
    m->t = tc_pack_load(r->t + m->k);
    hard |= find_step(m, found, goes & ~hard);
    tc_pack along = tc_pack_of(0), last = tc_pack_load(r->last + m->k), length;
    tc_pack_mask ends = is_last_step(m, found, terms, last, &length);
    if (r->is_quadratic)
        ends |= is_exact_step(m, found, terms);
    ends &= goes & ~hard;
    for (size_t c = 0; c < r->dim; c++) {
        size_t to = c * TC_LANES + m->k;
        tc_pack d = at(found, c);
        along += at(m->slope, c) * d;
        tc_pack_store(r->move + to, tc_pack_select(goes, d, row_at(m, r->move, c)));
    }
    hard |= goes & ~ends & ~tc_pack_less(along, tc_pack_of(0)); /* stuck, or from outside of the set */
    set_trial(m, goes, tc_pack_of(1));
    for (size_t c = 0; c < r->dim; c++) {
        size_t to = c * TC_LANES + m->k;
        tc_pack_store(r->x + to, tc_pack_select(ends, row_at(m, r->trial, c), row_at(m, r->x, c)));
    }
    tc_pack_store(r->t + m->k, tc_pack_select(goes, m->t, tc_pack_load(r->t + m->k)));
    tc_pack_store(r->along + m->k, tc_pack_select(goes, along, tc_pack_load(r->along + m->k)));
    tc_pack_store(r->last + m->k, tc_pack_select(goes, length, last));
    mark(r->length + m->k, goes, 1);
    mark(r->busy + m->k, ends | hard, 0);
    mark(r->hard + m->k, hard, 1);
}

/* The lanes of a pack that are on. */
TC_INLINE void advance_pack(model *m, tc_pack_mask on, double most_along, double *terms, double *found) {
    const tc_newton_rows *r = m->r;
    judged j = find_slopes(m, terms);
    tc_pack along = tc_pack_load(r->along + m->k), length = tc_pack_load(r->length + m->k);
    /* The function is convex: as long as it falls at the trial point, or hardly rises, it has fallen. */
    tc_pack_mask goes = on & j.is_finite & tc_pack_at_most(j.along, j.rounding - tc_pack_of(most_along) * along);
    tc_pack_mask waits = on & ~goes;
    if (tc_pack_bits(waits) != 0) {
        tc_pack shorter = tc_pack_select(j.is_finite, -along / (j.along - along), tc_pack_of(0.5));
        length = length * tc_pack_clip(shorter, tc_pack_of(0.1), tc_pack_of(0.8));
        tc_pack_mask hard = waits & ~tc_pack_less(along, tc_pack_of(0)); /* not finite where it begins */
        tc_pack_store(r->length + m->k, tc_pack_select(waits, length, tc_pack_load(r->length + m->k)));
        mark(r->last + m->k, waits, 0);
        set_trial(m, waits & ~hard, length);
        mark(r->busy + m->k, hard, 0);
        mark(r->hard + m->k, hard, 1);
    }
    if (tc_pack_bits(goes) != 0)
        take_step(m, terms, found, goes);
}

TC_INLINE void advance_all(const tc_newton_rows *r, size_t count, double most_along, double *scratch) {
    size_t n = r->dim * TC_SIMD_LANES, square = r->is_diagonal ? n : n * r->dim;
    double *rest = scratch + 2 * square, *terms = rest + 7 * n, *found = terms + n;
    bool is_plane = r->dim == 2 && !r->is_diagonal && r->part == TC_NEWTON_BOX && !r->is_quadratic;
    model m = {.r = r,
               .hessian = scratch,
               .factor = scratch + square,
               .slope = rest,
               .low = rest + n,
               .high = rest + 2 * n,
               .held = rest + 3 * n,
               .move = rest + 4 * n,
               .right = rest + 5 * n,
               .response = rest + 6 * n};
    for (m.k = 0; m.k < count; m.k += TC_SIMD_LANES) {
        tc_pack_mask on = tc_pack_less(tc_pack_of(0), tc_pack_load(r->busy + m.k));
        if (tc_pack_bits(on) == 0 || (is_plane && advance_plainly(r, m.k, on, most_along)))
            continue;
        advance_pack(&m, on, most_along, terms, found);
    }
}

/* Two components are common: versions made for exactly two take half the time. */
#define IN_THE_PLANE(what, diagonal)                                                                                   \
    if (r->dim == 2 && r->is_diagonal == (diagonal) && r->part == (what)) {                                            \
        double scratch[((diagonal) ? 4 : 8) + 18][TC_SIMD_LANES];                                                      \
        tc_newton_rows own = *r;                                                                                       \
        own.dim = 2;                                                                                                   \
        own.is_diagonal = (diagonal);                                                                                  \
        own.part = (what);                                                                                             \
        advance_all(&own, count, most_along, scratch[0]);                                                              \
        return;                                                                                                        \
    }

void NEWTON_ADVANCE(const tc_newton_rows *r, size_t count, double most_along) {
    IN_THE_PLANE(TC_NEWTON_BOX, false)
    IN_THE_PLANE(TC_NEWTON_LINEAR, false)
    IN_THE_PLANE(TC_NEWTON_LINEAR, true)
    IN_THE_PLANE(TC_NEWTON_BALL, false)
    IN_THE_PLANE(TC_NEWTON_BALL, true)
    advance_all(r, count, most_along, r->scratch);
}
#undef IN_THE_PLANE

TC_SIMD_END

#endif
