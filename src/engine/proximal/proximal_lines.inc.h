/* One step of Newton's method for one component of many lanes; false where a slope is no number. Included by
 * proximal_narrow.c, proximal_wide.c and proximal_widest.c. */
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
        /* What is left is rounding. Or the step is short, where the slope is small too: curvature may be so large for a
         * moment that a short step says little. Or steps get shorter as squares do, and the next one would be all but
         * short. */
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

/* Nearly all steps are early ones of smooth functions, and cost less where the compiler knows it. */
bool LINE_ADVANCE(const tc_line_rows *r, size_t count, const tc_line_numbers *n) {
    if (!n->is_late && n->is_smooth)
        return advance_lines(r, count, n, false, true);
    return advance_lines(r, count, n, n->is_late, n->is_smooth);
}
