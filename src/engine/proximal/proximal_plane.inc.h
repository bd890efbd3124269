/* One step of Newton's method for a pack of lanes with two components in a box, where it is all but always plain: no
 * lane is on a bound, none crosses one and none has to go back. The same operations as in proximal_newton.inc.h, with
 * nothing held, in registers: the bits are the same. Included by proximal_newton.inc.h. */

typedef struct plane_side { /* of one component */
    tc_pack trial, slope, size, low, high;
} plane_side;

TC_INLINE plane_side find_side(const tc_newton_rows *r, size_t k, size_t c) {
    size_t at = c * TC_LANES + k;
    tc_pack x = tc_pack_load(r->trial + at), f = tc_pack_load(r->f1[c] + k), p = tc_pack_load(r->p + at);
    tc_pack pull = tc_pack_of(r->regularization) * x, back = (x - tc_pack_load(r->old + at)) * tc_pack_of(r->inverse);
    return (plane_side){.trial = x,
                        .slope = ((f + p) + pull) + back,
                        .size = tc_pack_abs(f) + tc_pack_abs(p) + tc_pack_abs(pull) + tc_pack_abs(back),
                        .low = tc_pack_load(r->lower + at) - x,
                        .high = tc_pack_load(r->upper + at) - x};
}

typedef struct plane_judged { /* of one component's step */
    tc_pack length;
    tc_pack_mask is_last, is_small;
} plane_judged;

TC_INLINE plane_judged judge_side(const tc_newton_rows *r, size_t k, size_t c, const plane_side *side, tc_pack move) {
    tc_pack length = tc_pack_abs(move) * tc_pack_load(r->unit + c * TC_LANES + k), slope = tc_pack_abs(side->slope);
    tc_pack_mask is_tiny = tc_pack_at_most(slope, tc_pack_of(8 * DBL_EPSILON) * side->size);
    is_tiny |= tc_pack_at_most(length, tc_pack_of(1e-5));
    tc_pack_mask is_short =
        tc_pack_at_most(length, tc_pack_of(1)) & tc_pack_at_most(slope, tc_pack_of(1e-6) * side->size);
    return (plane_judged){length, is_tiny | is_short, is_tiny | tc_pack_at_most(slope, tc_pack_of(1e-4) * side->size)};
}

/* As is_last_step. */
TC_INLINE tc_pack_mask is_last_in_plane(const tc_newton_rows *r, plane_judged a, plane_judged b, tc_pack last,
                                        tc_pack *length) {
    tc_pack most = tc_pack_larger(b.length, a.length);
    tc_pack_mask is_last = a.is_last & b.is_last;
    *length = most;
    if (!r->is_smooth)
        return is_last;
    return is_last | (a.is_small & b.is_small & tc_pack_at_most(most, tc_pack_of(1.0 / 16) * last) &
                      tc_pack_at_most(most * most * most, last * last));
}

/* x only of lanes that go; what else lanes that have ended are given is not used. */
TC_INLINE void move_side(const tc_newton_rows *r, size_t k, size_t c, const plane_side *side, tc_pack move,
                         tc_pack_mask goes, tc_pack_mask ends) {
    size_t at = c * TC_LANES + k;
    tc_pack next = tc_pack_clip(side->trial + move, tc_pack_load(r->lower + at), tc_pack_load(r->upper + at));
    tc_pack x = tc_pack_select(ends, next, side->trial);
    tc_pack_store(r->x + at, tc_pack_select(goes, x, tc_pack_load(r->x + at)));
    tc_pack_store(r->trial + at, next);
    tc_pack_store(r->move + at, move);
}

/* Whether a lane is inside its bounds, and its step leaves it there; not where the step is no number. */
TC_INLINE tc_pack_mask stays_inside(const plane_side *s, tc_pack move) {
    const tc_pack zero = tc_pack_of(0);
    return tc_pack_less(s->low, tc_pack_smaller(zero, move)) & tc_pack_less(tc_pack_larger(zero, move), s->high);
}

/* Of the lanes that are on. False, and nothing has changed, where a lane needs more. */
TC_INLINE bool advance_plainly(const tc_newton_rows *r, size_t k, tc_pack_mask on, double most_along) {
    const tc_pack zero = tc_pack_of(0), one = tc_pack_of(1), little = tc_pack_of(0x1p-50),
                  weight = tc_pack_of(r->weight);
    plane_side a = find_side(r, k, 0), b = find_side(r, k, 1);
    tc_pack move_a = tc_pack_load(r->move + k), move_b = tc_pack_load(r->move + TC_LANES + k);
    tc_pack along = a.slope * move_a + b.slope * move_b;
    tc_pack rounding = (a.size * tc_pack_abs(move_a) + b.size * tc_pack_abs(move_b)) * tc_pack_of(4 * DBL_EPSILON);
    tc_pack before = tc_pack_of(most_along) * tc_pack_load(r->along + k);
    tc_pack aa = tc_pack_load(r->f2[0] + k), ba = tc_pack_load(r->f2[2] + k), bb = tc_pack_load(r->f2[3] + k);
    tc_pack_mask plain = tc_pack_at_most(along, rounding - before) & tc_pack_is_finite(a.slope + b.slope);
    aa += weight;
    bb += weight;
    tc_pack inverse_a = one / tc_pack_larger(aa, little * aa), entry = ba * inverse_a;
    tc_pack inverse_b = one / tc_pack_larger(bb - ba * entry, little * bb);
    move_b = (-b.slope - entry * -a.slope) * inverse_b;
    move_a = -a.slope * inverse_a - entry * move_b;
    /* Where a second derivative is infinite an inverse is 0; where it is no number, so is the step. */
    plain &= tc_pack_less(zero, inverse_a) & tc_pack_less(zero, inverse_b);
    plain &= stays_inside(&a, move_a) & stays_inside(&b, move_b);
    tc_pack last = tc_pack_load(r->last + k), length;
    tc_pack_mask ends =
        is_last_in_plane(r, judge_side(r, k, 0, &a, move_a), judge_side(r, k, 1, &b, move_b), last, &length);
    along = a.slope * move_a + b.slope * move_b;
    plain &= ends | tc_pack_less(along, zero);
    if (tc_pack_bits(on & ~plain) != 0)
        return false;
    move_side(r, k, 0, &a, move_a, on, ends);
    move_side(r, k, 1, &b, move_b, on, ends);
    tc_pack_store(r->along + k, along);
    tc_pack_store(r->last + k, length);
    tc_pack_store(r->length + k, one);
    tc_pack_store(r->busy + k, tc_pack_where(on & ~ends, one));
    return true;
}
