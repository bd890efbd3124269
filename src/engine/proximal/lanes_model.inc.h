/* The step of Newton's method for one pack of lanes: min slope . d + d' H d / 2 over the members' sets, which are boxes
 * with at most one half-space, slab, plane or ball. Bounds are held and let go, and a ball's multiplier is improved,
 * until nothing changes; lanes where nothing changes any more keep their step. Included by lanes.inc.h. */

typedef struct model { /* arrays by component, TC_SIMD_LANES numbers each; hessian and factor by pairs of components */
    const tc_newton_rows *r;
    size_t k; /* the first lane */
    double *hessian, *factor, *slope, *low, *high, *held, *move, *right, *response;
    tc_pack t;
    bool holds_any; /* in some lane */
} model;

TC_INLINE tc_pack at(const double *numbers, size_t i) { return tc_pack_load(numbers + i * TC_SIMD_LANES); }
TC_INLINE void put(double *numbers, size_t i, tc_pack p) { tc_pack_store(numbers + i * TC_SIMD_LANES, p); }
TC_INLINE tc_pack row_at(const model *m, const double *rows, size_t c) {
    return tc_pack_load(rows + c * TC_LANES + m->k);
}

/* held: -1 and 1 where a bound is held, else 0. */
TC_INLINE tc_pack_mask is_free(const model *m, size_t c) { return tc_pack_equal(at(m->held, c), tc_pack_of(0)); }

TC_INLINE bool in_part(const model *m, size_t c) {
    return m->r->part != TC_NEWTON_BOX && c >= m->r->part_first && c < m->r->part_first + m->r->part_count;
}

/* The gradient of the part at x, for one of its components. */
TC_INLINE tc_pack pull_at(const model *m, size_t c, tc_pack x) {
    tc_pack a = row_at(m, m->r->center, c);
    if (m->r->part == TC_NEWTON_BALL)
        a = x - a;
    return a;
}

/* What a ball with its multiplier adds to the diagonal. */
TC_INLINE tc_pack ball_weight(const model *m, size_t c) {
    tc_pack t = tc_pack_of(0);
    if (m->r->part == TC_NEWTON_BALL && in_part(m, c))
        t = m->t;
    return t;
}

/* H_FF + t = L D L', L with ones on its diagonal; 1 / D is in its place. Rows of components that are held are those of
 * the identity. */
TC_INLINE void factor_free(const model *m) {
    const tc_pack one = tc_pack_of(1);
    size_t n = m->r->dim;
    for (size_t i = 0; i < n; i++) {
        tc_pack_mask is_open = is_free(m, i);
        tc_pack own = at(m->hessian, m->r->is_diagonal ? i : i * n + i) + ball_weight(m, i), pivot = own;
        for (size_t j = 0; j < i && !m->r->is_diagonal; j++) { /* L D first */
            tc_pack sum = tc_pack_where(is_open & is_free(m, j), at(m->hessian, i * n + j));
            for (size_t l = 0; l < j; l++)
                sum -= at(m->factor, i * n + l) * at(m->factor, j * n + l);
            put(m->factor, i * n + j, sum);
        }
        for (size_t j = 0; j < i && !m->r->is_diagonal; j++) {
            tc_pack scaled = at(m->factor, i * n + j), entry = scaled * at(m->factor, j * n + j);
            pivot -= scaled * entry;
            put(m->factor, i * n + j, entry);
        }
        pivot = tc_pack_larger(pivot, tc_pack_of(0x1p-50) *
                                          own); /* keeps a little where rounding has cancelled the curvature */
        put(m->factor, m->r->is_diagonal ? i : i * n + i, one / tc_pack_select(is_open, pivot, one));
    }
}

/* In place; entries of components that are held are 0 before and after. */
TC_INLINE void solve_free(const model *m, double *right) {
    size_t n = m->r->dim;
    if (m->r->is_diagonal) {
        for (size_t i = 0; i < n; i++)
            put(right, i, at(right, i) * at(m->factor, i));
        return;
    }
    for (size_t i = 1; i < n; i++) {
        tc_pack sum = at(right, i);
        for (size_t j = 0; j < i; j++)
            sum -= at(m->factor, i * n + j) * at(right, j);
        put(right, i, sum);
    }
    for (size_t i = n; i-- > 0;) {
        tc_pack sum = at(right, i) * at(m->factor, i * n + i);
        for (size_t j = i + 1; j < n; j++)
            sum -= at(m->factor, j * n + i) * at(right, j);
        put(right, i, sum);
    }
}

/* (H right) in one component. */
TC_INLINE tc_pack bent(const model *m, const double *right, size_t c) {
    size_t n = m->r->dim;
    if (m->r->is_diagonal)
        return at(m->hessian, c) * at(right, c);
    tc_pack sum = tc_pack_of(0);
    for (size_t j = 0; j < n; j++)
        sum += at(m->hessian, c > j ? c * n + j : j * n + c) * at(right, j);
    return sum;
}

/* The step for the bounds that are held, with the part's multiplier as it is. */
TC_INLINE void solve_held(const model *m) {
    size_t n = m->r->dim;
    for (size_t c = 0; c < n; c++) {
        tc_pack held = at(m->held, c),
                bound = tc_pack_select(tc_pack_less(held, tc_pack_of(0)), at(m->low, c), at(m->high, c));
        put(m->move, c, tc_pack_select(is_free(m, c), tc_pack_of(0), bound));
    }
    for (size_t c = 0; c < n; c++) {
        tc_pack slope = at(m->slope, c), held = tc_pack_of(0);
        if (m->holds_any)
            held = bent(m, m->move, c);
        slope += held;
        if (in_part(m, c))
            slope += m->t * pull_at(m, c, row_at(m, m->r->x, c));
        put(m->right, c, tc_pack_where(is_free(m, c), -slope));
    }
    solve_free(m, m->right);
    for (size_t c = 0; c < n; c++)
        put(m->move, c, tc_pack_select(is_free(m, c), at(m->right, c), at(m->move, c)));
}

/* move -= by H_FF^-1 pull */
TC_INLINE void go_back(const model *m, tc_pack by) {
    for (size_t c = 0; c < m->r->dim; c++)
        put(m->move, c, at(m->move, c) - by * at(m->response, c));
}

/* The multiplier of a half-space, slab or plane, given the bounds that are held; lanes without one are hard. It changes
 * by less and less from step to step, so that no digits are lost where it leads back from far outside. That of a slab
 * is below zero where the floor holds: each side goes through the operations of its half-space alone. */
TC_INLINE tc_pack_mask solve_linear(model *m) {
    const tc_pack zero = tc_pack_of(0), radius = tc_pack_load(m->r->radius + m->k);
    tc_pack h = -radius, over = h, bend = zero; /* over: as h, for the floor */
    if (m->r->part == TC_NEWTON_SLAB)
        over = -tc_pack_load(m->r->floor + m->k);
    for (size_t c = 0; c < m->r->dim; c++) {
        tc_pack a = zero;
        if (in_part(m, c)) {
            a = row_at(m, m->r->center, c);
            tc_pack term = a * (row_at(m, m->r->x, c) + at(m->move, c));
            h += term;
            over += term;
        }
        put(m->response, c, tc_pack_where(is_free(m, c), a));
    }
    tc_pack_mask is_cut = tc_pack_less(zero, h) | tc_pack_less(zero, m->t);
    if (m->r->part == TC_NEWTON_PLANE)
        is_cut = tc_pack_less(radius, tc_pack_of(INFINITY));
    if (m->r->part == TC_NEWTON_SLAB)
        is_cut |= tc_pack_less(over, zero) | tc_pack_less(m->t, zero);
    if (tc_pack_bits(is_cut) == 0)
        return tc_pack_none();
    solve_free(m, m->response);
    for (size_t c = m->r->part_first; c < m->r->part_first + m->r->part_count; c++)
        bend += row_at(m, m->r->center, c) * at(m->response, c);
    tc_pack_mask can = tc_pack_less(zero, bend);
    tc_pack change = h / bend; /* the step follows it though it may be too small for the digits of t */
    if (m->r->part == TC_NEWTON_LINEAR)
        change = tc_pack_larger(change, -m->t);
    if (m->r->part == TC_NEWTON_SLAB)
        change = tc_pack_larger(change, tc_pack_smaller(over / bend, -m->t));
    change = tc_pack_where(is_cut & can, change);
    go_back(m, change);
    m->t += change;
    return is_cut & ~can;
}

/* One step towards the multiplier of a ball, given the bounds that are held; lanes in need of another one are left. */
TC_INLINE tc_pack_mask solve_ball(model *m) {
    const tc_pack zero = tc_pack_of(0), target = tc_pack_load(m->r->radius + m->k);
    tc_pack square = zero, bend = zero;
    for (size_t c = 0; c < m->r->dim; c++) {
        tc_pack v = zero;
        if (in_part(m, c))
            v = row_at(m, m->r->x, c) + at(m->move, c) - row_at(m, m->r->center, c);
        square += v * v;
        put(m->response, c, tc_pack_where(is_free(m, c), v));
        put(m->right, c, v);
    }
    tc_pack ratio = square / target;
    tc_pack_mask is_right = tc_pack_equal(m->t, zero) & tc_pack_at_most(ratio, tc_pack_of(1));
    if (tc_pack_bits(~is_right) == 0)
        return tc_pack_none();
    solve_free(m, m->response);
    for (size_t c = m->r->part_first; c < m->r->part_first + m->r->part_count; c++)
        bend += at(m->right, c) * at(m->response, c);
    /* 1 / sqrt(square) is all but linear in t */
    tc_pack change = tc_pack_larger(-m->t, (tc_pack_root(ratio) - tc_pack_of(1)) * square / bend);
    change = tc_pack_where(~is_right, change);
    /* Near the root the step follows the multiplier to the first order. */
    tc_pack_mask is_near = is_right | tc_pack_at_most(tc_pack_abs(ratio - tc_pack_of(1)), tc_pack_of(1e-7));
    go_back(m, tc_pack_where(is_near, change));
    m->t += change;
    return ~is_near;
}

/* Holds bounds that are crossed and lets go those that are not needed; lanes where something changed. */
TC_INLINE tc_pack_mask exchange(model *m, tc_pack_mask is_open) {
    const tc_pack zero = tc_pack_of(0), one = tc_pack_of(1);
    tc_pack_mask changed = tc_pack_none(), is_held = tc_pack_none();
    for (size_t c = 0; c < m->r->dim; c++)
        changed |= tc_pack_less(at(m->move, c), at(m->low, c)) | tc_pack_less(at(m->high, c), at(m->move, c));
    if (!m->holds_any && tc_pack_bits(changed & is_open) == 0)
        return tc_pack_none();
    changed = tc_pack_none();
    for (size_t c = 0; c < m->r->dim; c++) {
        tc_pack d = at(m->move, c), low = at(m->low, c), high = at(m->high, c), held = at(m->held, c);
        tc_pack slope = at(m->slope, c) + bent(m, m->move, c);
        if (in_part(m, c))
            slope += m->t * pull_at(m, c, row_at(m, m->r->x, c) + d);
        tc_pack next = tc_pack_select(tc_pack_less(d, low), -one, tc_pack_where(tc_pack_less(high, d), one));
        tc_pack_mask lets_go = tc_pack_less(zero, held * slope) & tc_pack_less(low, high);
        next = tc_pack_select(is_free(m, c), next, tc_pack_select(lets_go, zero, held));
        next = tc_pack_select(is_open, next, held);
        changed |= ~tc_pack_equal(next, held);
        is_held |= ~tc_pack_equal(next, zero);
        put(m->held, c, next);
    }
    m->holds_any = tc_pack_bits(is_held) != 0;
    return changed & is_open;
}

TC_INLINE void guess_held(model *m) {
    const tc_pack zero = tc_pack_of(0), one = tc_pack_of(1);
    tc_pack_mask is_held = tc_pack_none();
    for (size_t c = 0; c < m->r->dim; c++) {
        tc_pack low = at(m->low, c), high = at(m->high, c), slope = at(m->slope, c);
        if (in_part(m, c))
            slope += m->t * pull_at(m, c, row_at(m, m->r->x, c));
        tc_pack_mask is_low = tc_pack_at_most(high, low) | (tc_pack_at_most(zero, low) & tc_pack_less(zero, slope));
        tc_pack_mask is_high = tc_pack_at_most(high, zero) & tc_pack_less(slope, zero);
        is_held |= is_low | is_high;
        put(m->held, c, tc_pack_select(is_low, -one, tc_pack_where(is_high, one)));
    }
    m->holds_any = tc_pack_bits(is_held) != 0;
}

/* Finds the step of the lanes that are open, and their multipliers. Returns those that it was not found for. */
TC_INLINE tc_pack_mask find_step(model *m, double *found, tc_pack_mask is_open) {
    tc_pack_mask hard = tc_pack_none();
    tc_pack t = m->t;
    guess_held(m);
    for (size_t round = 0; round < 12 + m->r->dim; round++) {
        factor_free(m);
        solve_held(m);
        tc_pack_mask is_left = tc_pack_none(), is_stuck = tc_pack_none();
        if (m->r->part == TC_NEWTON_BALL)
            is_left = solve_ball(m);
        else if (m->r->part != TC_NEWTON_BOX)
            is_stuck = solve_linear(m);
        hard |= is_open & is_stuck;
        is_open &= ~hard;
        tc_pack_mask changed = exchange(m, is_open) | (is_left & is_open);
        tc_pack_mask is_found = is_open & ~changed;
        if (tc_pack_bits(is_found) != 0) /* + 0: the sign of a zero is left to what other lanes need */
            for (size_t c = 0; c < m->r->dim; c++)
                put(found, c, tc_pack_select(is_found, at(m->move, c) + tc_pack_of(0), at(found, c)));
        t = tc_pack_select(is_found, m->t, t);
        is_open &= changed;
        if (tc_pack_bits(is_open) == 0)
            break;
    }
    m->t = t;
    return hard | is_open;
}

/* Two components in a box, in the usual case: no lane is on a bound, none crosses one and none has to go back. The same
 * operations as in lanes.inc.h with nothing held, but in registers: the bits are the same. */

typedef struct plane_side { /* of one component */
    tc_pack trial, slope, size, low, high;
} plane_side;

TC_INLINE plane_side find_side(const tc_newton_rows *r, size_t k, size_t c) {
    size_t at = c * TC_LANES + k;
    tc_pack x = tc_pack_load(r->trial + at), f = tc_pack_load(r->f1[c] + k), p = tc_pack_load(r->p + at);
    tc_pack pull = tc_pack_of(r->regularization) * x,
            back = (x - tc_pack_load(r->old + at)) * tc_pack_of(r->inverse[c]);
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

/* x changes only in lanes that go; the other rows of lanes that have ended are not used. */
TC_INLINE void move_side(const tc_newton_rows *r, size_t k, size_t c, const plane_side *side, tc_pack move,
                         tc_pack_mask goes, tc_pack_mask ends) {
    size_t at = c * TC_LANES + k;
    tc_pack next = tc_pack_clip(side->trial + move, tc_pack_load(r->lower + at), tc_pack_load(r->upper + at));
    tc_pack x = tc_pack_select(ends, next, side->trial);
    tc_pack_store(r->x + at, tc_pack_select(goes, x, tc_pack_load(r->x + at)));
    tc_pack_store(r->trial + at, next);
    tc_pack_store(r->move + at, move);
}

/* Whether a lane is inside its bounds and its step leaves it there. False where the step is no number. */
TC_INLINE tc_pack_mask stays_inside(const plane_side *s, tc_pack move) {
    const tc_pack zero = tc_pack_of(0);
    return tc_pack_less(s->low, tc_pack_smaller(zero, move)) & tc_pack_less(tc_pack_larger(zero, move), s->high);
}

/* False, with nothing changed, where a lane that is on needs more than this. */
TC_INLINE bool advance_plainly(const tc_newton_rows *r, size_t k, tc_pack_mask on, double most_along) {
    const tc_pack zero = tc_pack_of(0), one = tc_pack_of(1), little = tc_pack_of(0x1p-50);
    plane_side a = find_side(r, k, 0), b = find_side(r, k, 1);
    tc_pack move_a = tc_pack_load(r->move + k), move_b = tc_pack_load(r->move + TC_LANES + k);
    tc_pack along = a.slope * move_a + b.slope * move_b;
    tc_pack rounding = (a.size * tc_pack_abs(move_a) + b.size * tc_pack_abs(move_b)) * tc_pack_of(4 * DBL_EPSILON);
    tc_pack before = tc_pack_of(most_along) * tc_pack_load(r->along + k);
    tc_pack aa = tc_pack_load(r->f2[0] + k), ba = tc_pack_load(r->f2[2] + k), bb = tc_pack_load(r->f2[3] + k);
    tc_pack_mask plain = tc_pack_at_most(along, rounding - before) & tc_pack_is_finite(a.slope + b.slope);
    aa += tc_pack_of(r->weight[0]);
    bb += tc_pack_of(r->weight[1]);
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
