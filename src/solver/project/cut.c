#include "solver/project/set.h"

#include "base/simd.h"

#include <float.h>
#include <math.h>

/* WIDTH members side by side fill the vector units and hide the latency of their sums. Everything is per lane: the
 * order of operations of one member does not depend on how many go with it. A member that goes alone has both lanes of
 * one pack. */
enum { PACKS = 2, WIDTH = 2 * PACKS, MOST_STEPS = 60 };

typedef struct numbers { /* of the components, one of the two */
    const double *plain;
    const tc_coef *coefs;
} numbers;

/* Packs in use: PACKS, or 1 for a member alone (the others are then 0). Known when the functions are inlined. */
typedef struct lanes {
    tc_pack of[PACKS];
} lanes;

typedef struct cut_box {
    tc_set_kind kind;
    size_t count;
    numbers center, lower, upper;
    size_t member; /* of lane 0 */
    size_t stride;
    const double *v;
    const tc_coef *floor; /* of slabs; else NULL */
    lanes
        sign; /* of slabs: which side matters, 1 for the half-space and -1 for its opposite, whose normal is -center */
} cut_box;

/* A function that never increases, linear between its kinks: its value and its slope at some place, in each lane. */
typedef struct samples {
    lanes value, slope;
} samples;

TC_INLINE lanes load_row(const double *row, size_t packs) {
    lanes out = {{{0}}};
    for (size_t k = 0; k < packs; k++)
        out.of[k] = packs == 1 ? tc_pack_of(row[0]) : tc_pack_load(row + 2 * k);
    return out;
}

TC_INLINE lanes spread(double x, size_t packs) {
    lanes out = {{{0}}};
    for (size_t k = 0; k < packs; k++)
        out.of[k] = tc_pack_of(x);
    return out;
}

TC_INLINE lanes load(numbers n, size_t c, size_t member, size_t packs) {
    if (packs == 1 && n.plain != NULL)
        return spread(n.plain[c], packs);
    return n.coefs[c].column != NULL ? load_row(n.coefs[c].column + member, packs) : spread(n.coefs[c].value, packs);
}

TC_INLINE lanes load_center(const cut_box *p, size_t c, size_t packs) {
    lanes a = load(p->center, c, p->member, packs);
    for (size_t k = 0; k < packs && p->floor != NULL; k++)
        a.of[k] *= p->sign.of[k];
    return a;
}

/* One lane alone. */
TC_INLINE cut_box one_of(const cut_box *p, size_t packs, size_t lane) {
    cut_box one = *p;
    one.member += packs == 1 ? 0 : lane;
    one.sign = spread(p->sign.of[lane / 2][lane % 2], 1);
    return one;
}

/* For a . x <= b the point is clip(v - t a), t the multiplier; here a . x. */
TC_INLINE samples linear_excess(const cut_box *p, size_t packs, const lanes *t) {
    samples out = {spread(0, packs), spread(0, packs)};
    for (size_t c = 0; c < p->count; c++) {
        lanes a = load_center(p, c, packs), v = load_row(p->v + c * p->stride, packs);
        lanes lower = load(p->lower, c, p->member, packs), upper = load(p->upper, c, p->member, packs);
        for (size_t k = 0; k < packs; k++) {
            tc_pack free_x = v.of[k] - t->of[k] * a.of[k], x = tc_pack_clip(free_x, lower.of[k], upper.of[k]);
            out.value.of[k] += a.of[k] * x;
            out.slope.of[k] -= tc_pack_where(tc_pack_equal(x, free_x), a.of[k] * a.of[k]);
        }
    }
    return out;
}

/* In a ball the point is clip(c + sqrt(s) (v - c)), 0 < s <= 1; its squared distance from c is piecewise linear and
 * increasing in s. The variable is -s, so that small s keep their digits. */
TC_INLINE samples ball_excess(const cut_box *p, size_t packs, const lanes *minus_s) {
    samples out = {spread(0, packs), spread(0, packs)};
    lanes ratio = {{{0}}};
    for (size_t k = 0; k < packs; k++)
        ratio.of[k] = (tc_pack){sqrt(-minus_s->of[k][0]), sqrt(-minus_s->of[k][1])};
    for (size_t c = 0; c < p->count; c++) {
        lanes a = load(p->center, c, p->member, packs), v = load_row(p->v + c * p->stride, packs);
        lanes lower = load(p->lower, c, p->member, packs), upper = load(p->upper, c, p->member, packs);
        for (size_t k = 0; k < packs; k++) {
            tc_pack d = v.of[k] - a.of[k], free_y = ratio.of[k] * d;
            tc_pack y = tc_pack_clip(free_y, lower.of[k] - a.of[k], upper.of[k] - a.of[k]);
            out.value.of[k] += y * y;
            out.slope.of[k] -= tc_pack_where(tc_pack_equal(y, free_y), d * d);
        }
    }
    return out;
}

/* |v - c| shrunk by t towards c. */
TC_INLINE tc_pack shrunk(tc_pack v, tc_pack center, tc_pack t) {
    tc_pack d = v - center, rest = tc_pack_abs(d) - t;
    tc_pack shifted = center + tc_pack_select(tc_pack_less(d, tc_pack_of(0)), -rest, rest);
    return tc_pack_select(tc_pack_less(tc_pack_of(0), rest), shifted, center);
}

TC_INLINE samples ball1_excess(const cut_box *p, size_t packs, const lanes *t) {
    samples out = {spread(0, packs), spread(0, packs)};
    for (size_t c = 0; c < p->count; c++) {
        lanes a = load(p->center, c, p->member, packs), v = load_row(p->v + c * p->stride, packs);
        lanes lower = load(p->lower, c, p->member, packs), upper = load(p->upper, c, p->member, packs);
        for (size_t k = 0; k < packs; k++) {
            tc_pack free_x = shrunk(v.of[k], a.of[k], t->of[k]), x = tc_pack_clip(free_x, lower.of[k], upper.of[k]);
            tc_pack_mask moves = tc_pack_equal(x, free_x) & tc_pack_less(t->of[k], tc_pack_abs(v.of[k] - a.of[k]));
            out.value.of[k] += tc_pack_abs(x - a.of[k]);
            out.slope.of[k] -= tc_pack_where(moves, tc_pack_of(1));
        }
    }
    return out;
}

TC_INLINE samples excess(const cut_box *p, size_t packs, const lanes *target, const lanes *at) {
    samples out = p->kind == TC_SET_BALL    ? ball_excess(p, packs, at)
                  : p->kind == TC_SET_BALL1 ? ball1_excess(p, packs, at)
                                            : linear_excess(p, packs, at);
    for (size_t k = 0; k < packs; k++)
        out.value.of[k] -= target->of[k];
    return out;
}

/* A number beyond the root on its side of the start; sign -1 where a plane is approached from below. */
static double beyond_root(const cut_box *p, double sign) {
    double most = 0;
    if (p->kind == TC_SET_BALL)
        return 0;
    for (size_t c = 0; c < p->count; c++) {
        double v = p->v[c * p->stride], a = load_center(p, c, 1).of[0][0];
        double lower = load(p->lower, c, p->member, 1).of[0][0], upper = load(p->upper, c, p->member, 1).of[0][0];
        if (p->kind == TC_SET_BALL1)
            most = fmax(most, fabs(v - a));
        else if (a != 0)
            most = fmax(most, (v - (sign * a > 0 ? lower : upper)) / (sign * a));
    }
    return p->kind == TC_SET_BALL1 ? most : sign * fmin(most * (1 + 4 * DBL_EPSILON), DBL_MAX / 4);
}

/* One member whose Newton steps leave the bracket: they are kept inside by halving. */
static double safe_root(const cut_box *p, double target, double start, double sign) {
    double other = beyond_root(p, sign), low = fmin(start, other), high = fmax(start, other), at = start;
    const lanes targets = spread(target, 1);
    for (int step = 0; step < 2200; step++) {
        lanes here = spread(at, 1);
        samples sample = excess(p, 1, &targets, &here);
        double value = sample.value.of[0][0], slope = sample.slope.of[0][0];
        if (value == 0)
            return at;
        if (value > 0)
            low = at;
        else
            high = at;
        double next = slope < 0 ? at - value / slope : INFINITY;
        if (!(next > low && next < high)) {
            if (slope < 0 && fabs(next - at) <= 4 * DBL_EPSILON * fabs(at))
                return at;
            next = low + (high - low) / 2;
            if (!(next > low && next < high))
                return value > 0 ? high : at;
        }
        at = next;
    }
    return at;
}

typedef struct root_search {
    lanes target, at, low, high;
    lanes noise;                /* what is left of a value of zero by rounding */
    tc_pack_mask is_cut[PACKS]; /* where the start is not the point */
    tc_pack_mask goes_on[PACKS];
    tc_pack_mask is_hard[PACKS]; /* there is no bracket yet, and no slope that leads to one */
} root_search;

TC_INLINE bool any_of(const tc_pack_mask *masks, size_t packs) {
    tc_pack_mask any = masks[0];
    for (size_t k = 1; k < packs; k++)
        any |= masks[k];
    return (any[0] | any[1]) != 0;
}

/* One step of Newton's method, which ends once it is on the right piece, kept inside the bracket by halving. */
TC_INLINE void advance(root_search *s, size_t packs, const samples *here) {
    const tc_pack zero = tc_pack_of(0), tiny = tc_pack_of(4 * DBL_EPSILON);
    for (size_t k = 0; k < packs; k++) {
        tc_pack value = here->value.of[k], slope = here->slope.of[k], at = s->at.of[k];
        tc_pack_mask on = s->goes_on[k], is_above = tc_pack_less(zero, value), falls = tc_pack_less(slope, zero);
        tc_pack low = tc_pack_select(on & is_above, at, s->low.of[k]);
        tc_pack high = tc_pack_select(on & ~is_above, at, s->high.of[k]);
        tc_pack next = tc_pack_select(falls, at - value / slope, tc_pack_of(INFINITY));
        tc_pack_mask is_inside = tc_pack_less(low, next) & tc_pack_less(next, high);
        tc_pack_mask is_tiny = falls & tc_pack_at_most(tc_pack_abs(next - at), tiny * tc_pack_abs(at));
        tc_pack_mask rests = tc_pack_at_most(tc_pack_abs(value), s->noise.of[k]) | (is_tiny & ~is_inside);
        next = tc_pack_select(is_inside, next, low + (high - low) * tc_pack_of(0.5));
        s->is_hard[k] |= on & ~rests & ~tc_pack_equal(next - next, zero);
        s->goes_on[k] = on & ~rests & tc_pack_less(low, next) & tc_pack_less(next, high);
        s->at.of[k] = tc_pack_select(s->goes_on[k], next, at);
        s->low.of[k] = low;
        s->high.of[k] = high;
    }
}

/* What rounding leaves of a sum of count terms, from their sizes: those of a . x - b at the start; those of a ball's,
 * which all have one sign, at the end. */
TC_INLINE lanes noise_of(const cut_box *p, size_t packs, const lanes *target) {
    const tc_pack unit = tc_pack_of(DBL_EPSILON / 4 * (double)(p->count + 4));
    lanes size = {{{0}}};
    for (size_t k = 0; k < packs; k++)
        size.of[k] = tc_pack_abs(target->of[k]);
    for (size_t c = 0; c < p->count && p->kind != TC_SET_BALL; c++) {
        lanes a = load_center(p, c, packs), v = load_row(p->v + c * p->stride, packs);
        lanes lower = load(p->lower, c, p->member, packs), upper = load(p->upper, c, p->member, packs);
        for (size_t k = 0; k < packs; k++) {
            tc_pack x = tc_pack_clip(v.of[k], lower.of[k], upper.of[k]);
            size.of[k] += tc_pack_abs(p->kind == TC_SET_BALL1 ? a.of[k] : a.of[k] * x);
        }
    }
    for (size_t k = 0; k < packs; k++)
        size.of[k] *= unit;
    return size;
}

/* Where the start, the multiplier 0, is not the point already. */
TC_INLINE void begin(const cut_box *p, size_t packs, double start, root_search *s) {
    const tc_pack zero = tc_pack_of(0), no_part = tc_pack_of(INFINITY);
    s->at = spread(start, packs);
    s->low = spread(-INFINITY, packs);
    s->high = spread(p->kind == TC_SET_BALL ? 0 : INFINITY, packs);
    samples here = excess(p, packs, &s->target, &s->at);
    for (size_t k = 0; k < packs; k++) {
        s->is_cut[k] = tc_pack_less(zero, here.value.of[k]);
        if (p->kind == TC_SET_HYPERPLANE)
            s->is_cut[k] |= tc_pack_less(here.value.of[k], zero) & tc_pack_less(s->target.of[k], no_part);
        s->goes_on[k] = s->is_cut[k];
        s->is_hard[k] = (tc_pack_mask){0, 0};
    }
    if (!any_of(s->is_cut, packs))
        return;
    s->noise = noise_of(p, packs, &s->target);
    advance(s, packs, &here);
}

TC_INLINE void find_hard_roots(const cut_box *p, size_t packs, double start, root_search *s) {
    for (size_t k = 0; k < packs; k++)
        for (size_t l = 0; l < 2; l++)
            if ((s->is_hard[k][l] | s->goes_on[k][l]) != 0) {
                cut_box one = one_of(p, packs, 2 * k + l);
                one.v += packs == 1 ? 0 : 2 * k + l;
                const lanes target = spread(s->target.of[k][l], 1), at = spread(start, 1);
                double sign = excess(&one, 1, &target, &at).value.of[0][0] > 0 ? 1 : -1;
                s->at.of[k][l] = safe_root(&one, s->target.of[k][l], start, sign);
            }
}

TC_INLINE void find_roots(const cut_box *p, size_t packs, root_search *s) {
    double start = p->kind == TC_SET_BALL ? -1 : 0;
    begin(p, packs, start, s);
    for (int step = 0; any_of(s->goes_on, packs) && step < MOST_STEPS; step++) {
        samples here = excess(p, packs, &s->target, &s->at);
        advance(s, packs, &here);
    }
    if (any_of(s->is_hard, packs) || any_of(s->goes_on, packs))
        find_hard_roots(p, packs, start, s);
}

TC_INLINE tc_pack point(tc_set_kind kind, tc_pack v, tc_pack a, tc_pack at) {
    return kind == TC_SET_BALL ? a + at * (v - a) : kind == TC_SET_BALL1 ? shrunk(v, a, at) : v - at * a;
}

/* The points; far[k] is set where one came from so far outside that it lost digits against the set. */
TC_INLINE void place(const cut_box *p, size_t packs, const root_search *s, double *x, tc_pack_mask *far) {
    lanes before = spread(0, packs), after = spread(0, packs), at = s->at;
    for (size_t k = 0; k < packs && p->kind == TC_SET_BALL; k++)
        at.of[k] = (tc_pack){sqrt(-at.of[k][0]), sqrt(-at.of[k][1])};
    for (size_t c = 0; c < p->count; c++) {
        lanes a = load_center(p, c, packs), v = load_row(p->v + c * p->stride, packs);
        lanes lower = load(p->lower, c, p->member, packs), upper = load(p->upper, c, p->member, packs);
        for (size_t k = 0; k < packs; k++) {
            tc_pack y = tc_pack_select(s->is_cut[k], point(p->kind, v.of[k], a.of[k], at.of[k]), v.of[k]);
            y = tc_pack_clip(y, lower.of[k], upper.of[k]);
            before.of[k] = tc_pack_larger(tc_pack_abs(v.of[k]), before.of[k]);
            after.of[k] = tc_pack_larger(tc_pack_abs(y), after.of[k]);
            if (packs == 1)
                x[c * p->stride] = y[0];
            else
                tc_pack_store(x + c * p->stride + 2 * k, y);
        }
    }
    for (size_t k = 0; k < packs; k++)
        far[k] = s->is_cut[k] & tc_pack_less(tc_pack_of(8) * after.of[k], before.of[k]);
}

TC_INLINE void project_packs(const cut_box *p, size_t packs, lanes target, double *x) {
    tc_pack_mask far[PACKS], unused[PACKS];
    root_search s = {.target = target};
    find_roots(p, packs, &s);
    place(p, packs, &s, x, far);
    if (!any_of(far, packs))
        return;
    for (size_t l = 0; l < (packs == 1 ? 1 : 2 * packs); l++)
        if (far[l / 2][l % 2] != 0) { /* projecting once more restores the digits */
            cut_box one = one_of(p, packs, l);
            one.v = x + l;
            root_search again = {.target = spread(target.of[l / 2][l % 2], 1)};
            find_roots(&one, 1, &again);
            place(&one, 1, &again, x + l, unused);
        }
}

/* Of a slab at most one side is violated within the bounds, and the nearest point is that of this side alone: it lies
 * on the side's plane, so the other one holds. Negation is exact: the bits are those of the half-space. */
TC_INLINE void choose_sides(cut_box *p, size_t packs, lanes *target) {
    const numbers floors = {.coefs = p->floor};
    const lanes zero = spread(0, packs), floor = load(floors, 0, p->member, packs);
    p->sign = spread(1, packs);
    samples start = linear_excess(p, packs, &zero);
    for (size_t k = 0; k < packs; k++) {
        tc_pack_mask is_below = tc_pack_less(start.value.of[k], floor.of[k]);
        p->sign.of[k] = tc_pack_select(is_below, tc_pack_of(-1), p->sign.of[k]);
        target->of[k] = tc_pack_select(is_below, -floor.of[k], target->of[k]);
    }
}

TC_INLINE void project_group(const cut_box *p, size_t packs, tc_coef radius, double *x) {
    const numbers radii = {.coefs = &radius};
    cut_box own = *p;
    lanes target = load(radii, 0, p->member, packs);
    for (size_t k = 0; k < packs && p->kind == TC_SET_BALL; k++)
        target.of[k] *= target.of[k];
    if (p->floor != NULL)
        choose_sides(&own, packs, &target);
    project_packs(&own, packs, target, x);
}

static void project_wide(const cut_box *p, tc_coef radius, double *x) { project_group(p, PACKS, radius, x); }
static void project_one(const cut_box *p, tc_coef radius, double *x) { project_group(p, 1, radius, x); }

void tc_project_cut(const tc_cut *cut, size_t first, size_t count, size_t stride, const double *v, double *x) {
    cut_box p = {.kind = cut->kind, .count = cut->count, .stride = stride};
    p.center.coefs = cut->center;
    p.lower.coefs = cut->lower;
    p.upper.coefs = cut->upper;
    p.floor = cut->is_slab ? &cut->floor : NULL;
    for (size_t at = 0; at < count;) {
        bool is_wide = count - at >= WIDTH;
        p.member = first + at;
        p.v = v + at;
        if (is_wide)
            project_wide(&p, cut->radius, x + at);
        else
            project_one(&p, cut->radius, x + at);
        at += is_wide ? WIDTH : 1;
    }
}

static void project_plain(tc_set_kind kind, size_t count, const double *center, tc_slab slab, const double *lower,
                          const double *upper, const double *v, double *x) {
    const tc_coef floor = {.value = slab.floor};
    cut_box p = {.kind = kind, .count = count, .stride = 1, .v = v, .floor = isinf(slab.floor) ? NULL : &floor};
    p.center.plain = center;
    p.lower.plain = lower;
    p.upper.plain = upper;
    project_one(&p, (tc_coef){.value = slab.radius}, x);
}

static tc_slab no_floor(double radius) { return (tc_slab){.floor = -INFINITY, .radius = radius}; }

void tc_project_linear(size_t count, const double *normal, double offset, bool equality, const double *lower,
                       const double *upper, const double *v, double *x) {
    project_plain(equality ? TC_SET_HYPERPLANE : TC_SET_HALFSPACE, count, normal, no_floor(offset), lower, upper, v, x);
}

void tc_project_slab(size_t count, const double *normal, tc_slab slab, const double *lower, const double *upper,
                     const double *v, double *x) {
    project_plain(TC_SET_HALFSPACE, count, normal, slab, lower, upper, v, x);
}

void tc_project_ball(size_t count, const double *center, double radius, const double *lower, const double *upper,
                     const double *v, double *x) {
    project_plain(TC_SET_BALL, count, center, no_floor(radius), lower, upper, v, x);
}

void tc_project_ball1(size_t count, const double *center, double radius, const double *lower, const double *upper,
                      const double *v, double *x) {
    project_plain(TC_SET_BALL1, count, center, no_floor(radius), lower, upper, v, x);
}
