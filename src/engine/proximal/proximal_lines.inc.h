/* One step of Newton's method for one component of many lanes; false where a slope is no number. Included by
 * proximal_narrow.c, proximal_wide.c and proximal_widest.c. */
TC_INLINE bool advance_lines(const tc_line_rows *r, size_t count, const tc_line_numbers *n, bool is_late,
                             bool is_smooth) {
    const pack zero = pack_of(0), half = pack_of(0.5), inverse = pack_of(n->inverse);
    const pack regularization = pack_of(n->regularization), weight = pack_of(n->weight);
    pack_mask undefined = pack_none();
    for (size_t k = 0; k < count; k += PACK_LANES) {
        pack x = pack_load(r->x + k), last = pack_load(r->last + k), f1 = pack_load(r->f1 + k);
        pack p = pack_load(r->p + k), lower = pack_load(r->lower + k), upper = pack_load(r->upper + k);
        pack pull = regularization * x, back = (x - pack_load(r->old + k)) * inverse;
        pack s = ((f1 + p) + pull) + back, size = pack_abs(s), before = pack_abs(last);
        pack_mask on = pack_less(zero, before);
        pack low = pack_select(on & pack_less(s, zero), x, pack_load(r->low + k));
        pack high = pack_select(on & pack_less(zero, s), x, pack_load(r->high + k));
        pack slope = pack_load(r->f2 + k) + weight, newton = pack_clip(x - s / slope, lower, upper);
        pack change = pack_abs(newton - x), little = pack_load(r->unit + k);
        pack_mask is_inside = pack_less(low, newton) & pack_less(newton, high);
        pack_mask is_free = pack_less(lower, newton) & pack_less(newton, upper);
        pack_mask takes = is_inside;
        if (is_late)
            takes &= ~pack_less(half * before, change);
        pack from = pack_larger(low, lower), to = pack_smaller(high, upper);
        pack terms = pack_abs(f1) + pack_abs(p) + pack_abs(pull) + pack_abs(back);
        /* What is left is rounding. Or the step is short, where the slope is small too: curvature may be so large for a
         * moment that a short step says little. Or steps get shorter as squares do, and the next one would be all but
         * short. */
        pack_mask is_last = pack_at_most(size, pack_of(4 * DBL_EPSILON) * terms);
        is_last |= pack_at_most(change, pack_of(1e-5) * little);
        is_last |= pack_at_most(change, little) & pack_at_most(size, pack_of(1e-6) * terms);
        if (is_smooth)
            is_last |= is_free & is_inside & pack_at_most(change, pack_of(1.0 / 16) * last) &
                       pack_at_most(change * change * change, pack_of(10) * little * last * last) &
                       pack_at_most(size, pack_of(1e-4) * terms);
        is_last &= pack_is_finite(s) & pack_is_finite(slope);
        pack next = pack_select(takes | is_last, newton, from + (to - from) * half);
        pack step = pack_abs(next - x);
        step = pack_select(takes & is_free, step, -step);
        pack_mask goes_on = on & ~(is_last | pack_at_most(to - from, little));
        pack_store(r->x + k, pack_select(on & (is_inside | ~is_last), next, x));
        pack_store(r->last + k, pack_where(goes_on, step));
        pack_store(r->low + k, low);
        pack_store(r->high + k, high);
        pack_store(r->busy + k, pack_larger(pack_load(r->busy + k), pack_where(goes_on, pack_of(1))));
        undefined |= on & ~pack_equal(s, s);
    }
    return pack_bits(undefined) == 0;
}

/* Nearly all steps are early ones of smooth functions, and cost less where the compiler knows it. */
LINKAGE bool LINE_ADVANCE(const tc_line_rows *r, size_t count, const tc_line_numbers *n) {
    if (!n->is_late && n->is_smooth)
        return advance_lines(r, count, n, false, true);
    return advance_lines(r, count, n, n->is_late, n->is_smooth);
}
