/* One step of Newton's method (proximal_newton.c) for a pack of lanes; included by proximal_narrow.c,
 * proximal_wide.c and proximal_widest.c. */
#include "engine/proximal/proximal_model.inc.h"
#include "engine/proximal/proximal_plane.inc.h"

/* An error that is bounded may be so many times what is little. */
#define NEWTON_BOUNDED 10

typedef struct judged {   /* at the trial point */
    pack along, rounding; /* the slope along the line */
    pack_mask is_finite;
} judged;

TC_INLINE judged find_slopes(const model *m, double *terms) {
    const tc_newton_rows *r = m->r;
    const pack inverse = pack_of(r->inverse), regularization = pack_of(r->regularization);
    judged out = {pack_of(0), pack_of(0), pack_equal(pack_of(0), pack_of(0))};
    for (size_t c = 0; c < r->dim; c++) {
        pack x = row_at(m, r->trial, c), f = pack_load(r->f1[c] + m->k), p = row_at(m, r->p, c);
        pack pull = regularization * x, back = (x - row_at(m, r->old, c)) * inverse;
        pack slope = ((f + p) + pull) + back, move = row_at(m, r->move, c);
        pack size = pack_abs(f) + pack_abs(p) + pack_abs(pull) + pack_abs(back);
        out.along += slope * move;
        out.rounding += size * pack_abs(move);
        out.is_finite &= pack_is_finite(slope);
        put(m->slope, c, slope);
        put(terms, c, size);
    }
    out.rounding *= pack_of(4 * DBL_EPSILON);
    return out;
}

/* The lower triangle, or the diagonal. False where something is not finite. */
TC_INLINE pack_mask find_hessian(const model *m) {
    const tc_newton_rows *r = m->r;
    pack_mask is_finite = pack_equal(pack_of(0), pack_of(0));
    for (size_t c = 0; c < r->dim; c++)
        for (size_t d = r->is_diagonal ? c : 0; d <= c; d++) {
            size_t place = r->is_diagonal ? c : c * r->dim + d;
            pack value = pack_load(r->f2[place] + m->k);
            is_finite &= pack_is_finite(value);
            if (c == d)
                value += pack_of(r->weight);
            put(m->hessian, place, value);
        }
    return is_finite;
}

/* Trial points along the line. */
TC_INLINE void set_trial(const model *m, pack_mask which, pack length) {
    const tc_newton_rows *r = m->r;
    for (size_t c = 0; c < r->dim; c++) {
        size_t to = c * TC_LANES + m->k;
        pack next = row_at(m, r->x, c) + length * row_at(m, r->move, c);
        next = pack_clip(next, row_at(m, r->lower, c), row_at(m, r->upper, c));
        pack_store(r->trial + to, pack_select(which, next, pack_load(r->trial + to)));
    }
}

/* Whether the step is the last one, as in proximal_lines.inc.h; *length: its size in units of what is little. */
TC_INLINE pack_mask is_last_step(const model *m, const double *move, const double *terms, pack last, pack *length) {
    const tc_newton_rows *r = m->r;
    pack_mask is_last = pack_equal(pack_of(0), pack_of(0)), is_small = is_last;
    pack most = pack_of(0);
    for (size_t c = 0; c < r->dim; c++) {
        pack d = pack_abs(at(move, c)) * row_at(m, r->unit, c), pull = pack_of(0);
        if (in_part(m, c))
            pull = m->t * pull_at(m, c, row_at(m, r->x, c));
        pack slope = pack_abs(at(m->slope, c) + pull), size = at(terms, c) + pack_abs(pull);
        pack_mask is_tiny = pack_at_most(slope, pack_of(8 * DBL_EPSILON) * size);
        is_tiny |= pack_at_most(d, pack_of(1e-5));
        is_last &= is_tiny | (pack_at_most(d, pack_of(1)) & pack_at_most(slope, pack_of(1e-6) * size));
        is_small &= is_tiny | pack_at_most(slope, pack_of(1e-4) * size);
        most = pack_larger(d, most);
    }
    *length = most;
    if (!r->is_smooth)
        return is_last;
    return is_last |
           (is_small & pack_at_most(most, pack_of(1.0 / 16) * last) & pack_at_most(most * most * most, last * last));
}

/* Where the function is its model: whether what the step has left of the slopes, and what is lost in them, is so little
 * that the minimum is near: |error| <= |slopes| / weight in the Euclidean norm. */
TC_INLINE pack_mask is_exact_step(const model *m, const double *move, const double *terms) {
    const tc_newton_rows *r = m->r;
    pack rest = pack_of(0), unit = pack_of(0);
    for (size_t c = 0; c < r->dim; c++) {
        pack pull = pack_of(0), size = at(terms, c), bend = pack_of(0);
        if (in_part(m, c))
            pull = m->t * pull_at(m, c, row_at(m, r->x, c) + at(move, c));
        for (size_t j = r->is_diagonal ? c : 0; j < (r->is_diagonal ? c + 1 : r->dim); j++) {
            pack entry = at(m->hessian, r->is_diagonal ? c : c > j ? c * r->dim + j : j * r->dim + c) * at(move, j);
            bend += entry;
            size += pack_abs(entry);
        }
        size += pack_abs(pull);
        pack slope = pack_where(is_free(m, c), (at(m->slope, c) + bend) + pull); /* bounds that are held are right */
        rest += pack_abs(slope) + pack_of(8 * DBL_EPSILON) * size;
        unit = pack_larger(row_at(m, r->unit, c), unit);
    }
    return pack_at_most(rest * unit, pack_of(NEWTON_BOUNDED * r->weight));
}

TC_INLINE void mark(double *row, pack_mask which, double value) {
    pack_store(row, pack_select(which, pack_of(value), pack_load(row)));
}

/* From accepted trial points to the next ones. */
TC_INLINE void take_step(model *m, double *terms, double *found, pack_mask goes) {
    const tc_newton_rows *r = m->r;
    for (size_t c = 0; c < r->dim; c++) {
        size_t to = c * TC_LANES + m->k;
        pack x = pack_select(goes, row_at(m, r->trial, c), row_at(m, r->x, c));
        pack_store(r->x + to, x);
        put(m->low, c, row_at(m, r->lower, c) - x);
        put(m->high, c, row_at(m, r->upper, c) - x);
        put(found, c, pack_of(0));
    }
    pack_mask hard = goes & ~find_hessian(m);
    m->t = pack_load(r->t + m->k);
    hard |= find_step(m, found, goes & ~hard);
    pack along = pack_of(0), last = pack_load(r->last + m->k), length;
    pack_mask ends = is_last_step(m, found, terms, last, &length);
    if (r->is_quadratic)
        ends |= is_exact_step(m, found, terms);
    ends &= goes & ~hard;
    for (size_t c = 0; c < r->dim; c++) {
        size_t to = c * TC_LANES + m->k;
        pack d = at(found, c);
        along += at(m->slope, c) * d;
        pack_store(r->move + to, pack_select(goes, d, row_at(m, r->move, c)));
    }
    hard |= goes & ~ends & ~pack_less(along, pack_of(0)); /* stuck, or from outside of the set */
    set_trial(m, goes, pack_of(1));
    for (size_t c = 0; c < r->dim; c++) {
        size_t to = c * TC_LANES + m->k;
        pack_store(r->x + to, pack_select(ends, row_at(m, r->trial, c), row_at(m, r->x, c)));
    }
    pack_store(r->t + m->k, pack_select(goes, m->t, pack_load(r->t + m->k)));
    pack_store(r->along + m->k, pack_select(goes, along, pack_load(r->along + m->k)));
    pack_store(r->last + m->k, pack_select(goes, length, last));
    mark(r->length + m->k, goes, 1);
    mark(r->busy + m->k, ends | hard, 0);
    mark(r->hard + m->k, hard, 1);
}

/* The lanes of a pack that are on. */
TC_INLINE void advance_pack(model *m, pack_mask on, double most_along, double *terms, double *found) {
    const tc_newton_rows *r = m->r;
    judged j = find_slopes(m, terms);
    pack along = pack_load(r->along + m->k), length = pack_load(r->length + m->k);
    /* The function is convex: as long as it falls at the trial point, or hardly rises, it has fallen. */
    pack_mask goes = on & j.is_finite & pack_at_most(j.along, j.rounding - pack_of(most_along) * along);
    pack_mask waits = on & ~goes;
    if (pack_bits(waits) != 0) {
        pack shorter = pack_select(j.is_finite, -along / (j.along - along), pack_of(0.5));
        length = length * pack_clip(shorter, pack_of(0.1), pack_of(0.8));
        pack_mask hard = waits & ~pack_less(along, pack_of(0)); /* not finite where it begins */
        pack_store(r->length + m->k, pack_select(waits, length, pack_load(r->length + m->k)));
        mark(r->last + m->k, waits, 0);
        set_trial(m, waits & ~hard, length);
        mark(r->busy + m->k, hard, 0);
        mark(r->hard + m->k, hard, 1);
    }
    if (pack_bits(goes) != 0)
        take_step(m, terms, found, goes);
}

TC_INLINE void advance_all(const tc_newton_rows *r, size_t count, double most_along, double *scratch) {
    size_t n = r->dim * PACK_LANES, square = r->is_diagonal ? n : n * r->dim;
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
    for (m.k = 0; m.k < count; m.k += PACK_LANES) {
        pack_mask on = pack_less(pack_of(0), pack_load(r->busy + m.k));
        if (pack_bits(on) == 0 || (is_plane && advance_plainly(r, m.k, on, most_along)))
            continue;
        advance_pack(&m, on, most_along, terms, found);
    }
}

/* Two components are common, and cost half as much where the compiler knows that there are two. */
#define IN_THE_PLANE(what, diagonal)                                                                                   \
    if (r->dim == 2 && r->is_diagonal == (diagonal) && r->part == (what)) {                                            \
        double scratch[((diagonal) ? 4 : 8) + 18][PACK_LANES];                                                         \
        tc_newton_rows own = *r;                                                                                       \
        own.dim = 2;                                                                                                   \
        own.is_diagonal = (diagonal);                                                                                  \
        own.part = (what);                                                                                             \
        advance_all(&own, count, most_along, scratch[0]);                                                              \
        return;                                                                                                        \
    }

LINKAGE void NEWTON_ADVANCE(const tc_newton_rows *r, size_t count, double most_along) {
    IN_THE_PLANE(TC_NEWTON_BOX, false)
    IN_THE_PLANE(TC_NEWTON_LINEAR, false)
    IN_THE_PLANE(TC_NEWTON_LINEAR, true)
    IN_THE_PLANE(TC_NEWTON_BALL, false)
    IN_THE_PLANE(TC_NEWTON_BALL, true)
    advance_all(r, count, most_along, r->scratch);
}
#undef IN_THE_PLANE
