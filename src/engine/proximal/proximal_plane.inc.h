/* One step of Newton's method for a pack of lanes with two components in a box, where it is all but always plain: no
 * lane is on a bound, none crosses one and none has to go back. The same operations as in proximal_newton.inc.h, with
 * nothing held, in registers: the bits are the same. Included by proximal_newton.inc.h. */

typedef struct plane_side { /* of one component */
    pack trial, slope, size, low, high;
} plane_side;

TC_INLINE plane_side find_side(const tc_newton_rows *r, size_t k, size_t c) {
    size_t at = c * TC_LANES + k;
    pack x = pack_load(r->trial + at), f = pack_load(r->f1[c] + k), p = pack_load(r->p + at);
    pack pull = pack_of(r->regularization) * x, back = (x - pack_load(r->old + at)) * pack_of(r->inverse);
    return (plane_side){.trial = x,
                        .slope = ((f + p) + pull) + back,
                        .size = pack_abs(f) + pack_abs(p) + pack_abs(pull) + pack_abs(back),
                        .low = pack_load(r->lower + at) - x,
                        .high = pack_load(r->upper + at) - x};
}

typedef struct plane_judged { /* of one component's step */
    pack length;
    pack_mask is_last, is_small;
} plane_judged;

TC_INLINE plane_judged judge_side(const tc_newton_rows *r, size_t k, size_t c, const plane_side *side, pack move) {
    pack length = pack_abs(move) * pack_load(r->unit + c * TC_LANES + k), slope = pack_abs(side->slope);
    pack_mask is_tiny = pack_at_most(slope, pack_of(8 * DBL_EPSILON) * side->size);
    is_tiny |= pack_at_most(length, pack_of(1e-5));
    pack_mask is_short = pack_at_most(length, pack_of(1)) & pack_at_most(slope, pack_of(1e-6) * side->size);
    return (plane_judged){length, is_tiny | is_short, is_tiny | pack_at_most(slope, pack_of(1e-4) * side->size)};
}

/* As is_last_step. */
TC_INLINE pack_mask is_last_in_plane(const tc_newton_rows *r, plane_judged a, plane_judged b, pack last, pack *length) {
    pack most = pack_larger(b.length, a.length);
    pack_mask is_last = a.is_last & b.is_last;
    *length = most;
    if (!r->is_smooth)
        return is_last;
    return is_last | (a.is_small & b.is_small & pack_at_most(most, pack_of(1.0 / 16) * last) &
                      pack_at_most(most * most * most, last * last));
}

/* x only of lanes that go; what else lanes that have ended are given is not used. */
TC_INLINE void move_side(const tc_newton_rows *r, size_t k, size_t c, const plane_side *side, pack move, pack_mask goes,
                         pack_mask ends) {
    size_t at = c * TC_LANES + k;
    pack next = pack_clip(side->trial + move, pack_load(r->lower + at), pack_load(r->upper + at));
    pack x = pack_select(ends, next, side->trial);
    pack_store(r->x + at, pack_select(goes, x, pack_load(r->x + at)));
    pack_store(r->trial + at, next);
    pack_store(r->move + at, move);
}

/* Whether a lane is inside its bounds, and its step leaves it there; not where the step is no number. */
TC_INLINE pack_mask stays_inside(const plane_side *s, pack move) {
    const pack zero = pack_of(0);
    return pack_less(s->low, pack_least(zero, move)) & pack_less(pack_larger(zero, move), s->high);
}

/* Of the lanes that are on. False, and nothing has changed, where a lane needs more. */
TC_INLINE bool advance_plainly(const tc_newton_rows *r, size_t k, pack_mask on, double most_along) {
    const pack zero = pack_of(0), one = pack_of(1), little = pack_of(0x1p-50), weight = pack_of(r->weight);
    plane_side a = find_side(r, k, 0), b = find_side(r, k, 1);
    pack move_a = pack_load(r->move + k), move_b = pack_load(r->move + TC_LANES + k);
    pack along = a.slope * move_a + b.slope * move_b;
    pack rounding = (a.size * pack_abs(move_a) + b.size * pack_abs(move_b)) * pack_of(4 * DBL_EPSILON);
    pack before = pack_of(most_along) * pack_load(r->along + k);
    pack aa = pack_load(r->f2[0] + k), ba = pack_load(r->f2[2] + k), bb = pack_load(r->f2[3] + k);
    pack_mask plain = pack_at_most(along, rounding - before) & pack_is_finite(a.slope + b.slope);
    aa += weight;
    bb += weight;
    pack inverse_a = one / pack_larger(aa, little * aa), entry = ba * inverse_a;
    pack inverse_b = one / pack_larger(bb - ba * entry, little * bb);
    move_b = (-b.slope - entry * -a.slope) * inverse_b;
    move_a = -a.slope * inverse_a - entry * move_b;
    /* Where a second derivative is infinite an inverse is 0; where it is no number, so is the step. */
    plain &= pack_less(zero, inverse_a) & pack_less(zero, inverse_b);
    plain &= stays_inside(&a, move_a) & stays_inside(&b, move_b);
    pack last = pack_load(r->last + k), length;
    pack_mask ends =
        is_last_in_plane(r, judge_side(r, k, 0, &a, move_a), judge_side(r, k, 1, &b, move_b), last, &length);
    along = a.slope * move_a + b.slope * move_b;
    plain &= ends | pack_less(along, zero);
    if (pack_bits(on & ~plain) != 0)
        return false;
    move_side(r, k, 0, &a, move_a, on, ends);
    move_side(r, k, 1, &b, move_b, on, ends);
    pack_store(r->along + k, along);
    pack_store(r->last + k, length);
    pack_store(r->length + k, one);
    pack_store(r->busy + k, pack_where(on & ~ends, one));
    return true;
}
