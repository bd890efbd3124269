#include "solver/project.h"

#include "solver/interior.h"
#include "solver/project_work.h"

#include <float.h>
#include <string.h>

/* A continuous function that never increases, linear between its kinks: its value, and its slope there. */
typedef struct sample {
    double value, slope;
} sample;

typedef struct cut_box { /* one part in bounds, and the point to project */
    size_t count;
    const double *center, *lower, *upper, *v;
    double radius, sign;
} cut_box;

typedef sample (*decreasing)(const cut_box *p, double at);

/* The root of a decreasing piecewise linear function in [low, high]: Newton's method, which ends exactly once it is
 * on the right piece, kept inside the bracket by halving. */
static double root(decreasing function, const cut_box *p, double low, double high) {
    double at = low;
    for (int step = 0; step < 2200; step++) {
        sample here = function(p, at);
        if (here.value == 0)
            return at;
        if (here.value > 0)
            low = at;
        else
            high = at;
        double next = here.slope < 0 ? at - here.value / here.slope : INFINITY;
        if (!(next > low && next < high)) {
            if (here.slope < 0 && fabs(next - at) <= 4 * DBL_EPSILON * fabs(at))
                return at;
            next = low + (high - low) / 2;
            if (!(next > low && next < high))
                return here.value > 0 ? high : at;
        }
        at = next;
    }
    return at;
}

static inline double clip(double x, double lower, double upper) {
    x = x < lower ? lower : x;
    return x > upper ? upper : x;
}

/* For a . x <= b the point is clip(v - t a), t >= 0 the multiplier; here a . x - b. */
static sample linear_excess(const cut_box *p, double t) {
    double sum = 0, slope = 0;
    for (size_t c = 0; c < p->count; c++) {
        double a = p->sign * p->center[c], free_x = p->v[c] - t * a, x = clip(free_x, p->lower[c], p->upper[c]);
        sum += a * x;
        slope -= x == free_x ? a * a : 0;
    }
    return (sample){sum - p->sign * p->radius, slope};
}

static double largest_linear_multiplier(const cut_box *p) {
    double most = 0;
    for (size_t c = 0; c < p->count; c++) {
        double a = p->sign * p->center[c];
        if (a != 0)
            most = fmax(most, (p->v[c] - (a > 0 ? p->lower[c] : p->upper[c])) / a);
    }
    return fmin(most * (1 + 4 * DBL_EPSILON), DBL_MAX / 4);
}

static void linear_once(size_t count, const double *normal, double offset, bool equality, const double *lower,
                        const double *upper, const double *v, double *x) {
    cut_box p = {count, normal, lower, upper, v, offset, 1};
    double t = 0;
    sample start = linear_excess(&p, 0);
    if (equality && start.value < 0)
        p.sign = -1;
    if (start.value * p.sign > 0)
        t = root(linear_excess, &p, 0, largest_linear_multiplier(&p));
    for (size_t c = 0; c < count; c++)
        x[c] = clip(v[c] - t * (p.sign * normal[c]), lower[c], upper[c]);
}

static double largest(size_t count, const double *v) {
    double most = 0;
    for (size_t c = 0; c < count; c++)
        most = fmax(most, fabs(v[c]));
    return most;
}

/* A point far outside loses digits against the set; projecting the result once more restores them. */
void tc_project_linear(size_t count, const double *normal, double offset, bool equality, const double *lower,
                       const double *upper, const double *v, double *x) {
    double before = largest(count, v);
    linear_once(count, normal, offset, equality, lower, upper, v, x);
    if (before > 8 * largest(count, x))
        linear_once(count, normal, offset, equality, lower, upper, x, x);
}

/* In a ball the point is clip(c + sqrt(s) (v - c)), 0 < s <= 1; its squared distance from c is piecewise linear and
 * increasing in s. The variable is -s, so that small s keep their digits. */
static sample ball_excess(const cut_box *p, double minus_s) {
    double ratio = sqrt(-minus_s), sum = 0, slope = 0;
    for (size_t c = 0; c < p->count; c++) {
        double d = p->v[c] - p->center[c], free_y = ratio * d;
        double y = clip(free_y, p->lower[c] - p->center[c], p->upper[c] - p->center[c]);
        sum += y * y;
        slope -= y == free_y ? d * d : 0;
    }
    return (sample){sum - p->radius * p->radius, slope};
}

static void ball_once(const cut_box *p, double *x) {
    double s = 1;
    if (ball_excess(p, -1).value > 0)
        s = -root(ball_excess, p, -1, 0);
    double ratio = sqrt(s);
    for (size_t c = 0; c < p->count; c++) {
        double y = ratio == 1 ? p->v[c] : p->center[c] + ratio * (p->v[c] - p->center[c]);
        x[c] = clip(y, p->lower[c], p->upper[c]);
    }
}

void tc_project_ball(size_t count, const double *center, double radius, const double *lower, const double *upper,
                     const double *v, double *x) {
    cut_box p = {count, center, lower, upper, v, radius, 1};
    double before = largest(count, v);
    ball_once(&p, x);
    p.v = x;
    if (before > 8 * largest(count, x))
        ball_once(&p, x);
}

/* |v - c| shrunk by t towards c, in the bounds. */
static inline double shrunk(const cut_box *p, size_t c, double t, double *free_x) {
    double d = p->v[c] - p->center[c], rest = fabs(d) - t;
    *free_x = rest > 0 ? p->center[c] + copysign(rest, d) : p->center[c];
    return clip(*free_x, p->lower[c], p->upper[c]);
}

static sample ball1_excess(const cut_box *p, double t) {
    double sum = 0, slope = 0, free_x;
    for (size_t c = 0; c < p->count; c++) {
        double x = shrunk(p, c, t, &free_x);
        sum += fabs(x - p->center[c]);
        slope -= x == free_x && fabs(p->v[c] - p->center[c]) > t ? 1 : 0;
    }
    return (sample){sum - p->radius, slope};
}

static void ball1_once(const cut_box *p, double *x) {
    double most = 0, t = 0, unused;
    for (size_t c = 0; c < p->count; c++)
        most = fmax(most, fabs(p->v[c] - p->center[c]));
    if (ball1_excess(p, 0).value > 0)
        t = root(ball1_excess, p, 0, most);
    for (size_t c = 0; c < p->count; c++)
        x[c] = t == 0 ? clip(p->v[c], p->lower[c], p->upper[c]) : shrunk(p, c, t, &unused);
}

void tc_project_ball1(size_t count, const double *center, double radius, const double *lower, const double *upper,
                      const double *v, double *x) {
    cut_box p = {count, center, lower, upper, v, radius, 1};
    double before = largest(count, v);
    ball1_once(&p, x);
    p.v = x;
    if (before > 8 * largest(count, x))
        ball1_once(&p, x);
}

/* y = (I + t P)^-1 d, and q = y' P y with its derivative in t, for the secular equation q(t) = radius. */
static tc_real ellipsoid_form(size_t n, const double *matrix, tc_real t, const tc_real *d, tc_real *y, tc_real *factor,
                              tc_real *slope) {
    tc_real *image = factor + n * n; /* P y */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            factor[i * n + j] = t * (tc_real)matrix[i * n + j] + (i == j ? 1 : 0);
    (void)tc_cholesky(n, factor);
    memcpy(y, d, n * sizeof *y);
    tc_solve_lower(n, factor, y);
    tc_solve_lower_transposed(n, factor, y);
    for (size_t i = 0; i < n; i++) {
        image[i] = 0;
        for (size_t j = 0; j < n; j++)
            image[i] += (tc_real)matrix[i * n + j] * y[j];
    }
    tc_real q = tc_dot(n, y, image);
    tc_solve_lower(n, factor, image);
    *slope = -2 * tc_dot(n, image, image);
    return q;
}

/* Newton's method on 1 / sqrt(q(t)), which is all but linear in t; the root is bracketed as it goes. */
void tc_project_ellipsoid(size_t n, const double *center, const double *matrix, double radius, const double *v,
                          double *x, long double *work) {
    tc_real *d = work, *y = work + n, *factor = work + 2 * n, slope, t = 0, low = 0, high = INFINITY;
    for (size_t i = 0; i < n; i++)
        d[i] = (tc_real)v[i] - (tc_real)center[i];
    tc_real q = ellipsoid_form(n, matrix, 0, d, y, factor, &slope), r = radius;
    if (q <= r) {
        memmove(x, v, n * sizeof *x);
        return;
    }
    for (int step = 0; step < 200 && fabsl(q - r) > 4 * LDBL_EPSILON * r; step++) {
        if (q > r)
            low = t;
        else
            high = t;
        tc_real next = t + 2 * q * (1 - sqrtl(q / r)) / slope;
        if (!(next > low && next < high))
            next = isfinite(high) ? low + (high - low) / 2 : 2 * t + 1;
        if (fabsl(next - t) <= LDBL_EPSILON * t)
            break;
        t = next;
        q = ellipsoid_form(n, matrix, t, d, y, factor, &slope);
    }
    for (size_t i = 0; i < n; i++)
        x[i] = (double)((tc_real)center[i] + y[i] * sqrtl(fminl(1, r / q)));
}

tc_set_work *tc_set_work_new(tc_arena *arena, tc_set *set) {
    const tc_family *family = set->family;
    tc_set_work *work = TC_NEW(arena, tc_set_work, 1);
    size_t largest_ellipsoid = 0, parts = 0;
    for (size_t p = 0; p < family->piece_count; p++) {
        parts += family->pieces[p].kind != TC_SET_BOX;
        if (family->pieces[p].kind == TC_SET_ELLIPSOID && family->pieces[p].count > largest_ellipsoid)
            largest_ellipsoid = family->pieces[p].count;
    }
    if (largest_ellipsoid > 0)
        work->reals = TC_NEW(arena, tc_real, largest_ellipsoid * (largest_ellipsoid + 3));
    if (parts > 0)
        work->point = TC_NEW(arena, double, set->dim);
    if (parts > 1 || largest_ellipsoid > 0)
        work->interior = tc_interior_nearest(arena, set);
    return work;
}

tc_real *tc_set_work_reals(const tc_set *set) { return set->work->reals; }

static double rounding_of(const tc_set *set) { return 64 * DBL_EPSILON * tc_set_scale(set); }

/* The point of one part and the box; false where only the interior-point method can tell. */
static bool project_part(const tc_set *set, const tc_set_part *part, const double *v, double *x) {
    size_t at = part->first;
    const double *lower = set->lower + at, *upper = set->upper + at;
    switch (part->kind) {
    case TC_SET_HALFSPACE:
    case TC_SET_HYPERPLANE:
        tc_project_linear(part->count, part->center, part->radius, part->kind == TC_SET_HYPERPLANE, lower, upper,
                          v + at, x + at);
        return true;
    case TC_SET_BALL:
        tc_project_ball(part->count, part->center, part->radius, lower, upper, v + at, x + at);
        return true;
    case TC_SET_BALL1:
        tc_project_ball1(part->count, part->center, part->radius, lower, upper, v + at, x + at);
        return true;
    case TC_SET_ELLIPSOID:
        tc_project_ellipsoid(part->count, part->center, part->matrix, part->radius, v + at, x + at, set->work->reals);
        for (size_t c = 0; c < part->count; c++)
            if (x[at + c] < lower[c] || x[at + c] > upper[c])
                return false;
        return true;
    case TC_SET_BOX:
    case TC_SET_SIMPLEX:
        break;
    }
    return false;
}

static void clip_to_box(const tc_set *set, const double *v, double *x) {
    for (size_t c = 0; c < set->dim; c++)
        x[c] = clip(v[c], set->lower[c], set->upper[c]);
}

/* Each part has components of its own, so each is projected alone. */
static bool project_separable(const tc_set *set, const double *v, double *x) {
    double *best = set->work->point;
    clip_to_box(set, v, best);
    for (size_t p = 0; p < set->part_count; p++) {
        const tc_set_part *part = &set->parts[p];
        if (tc_part_violation(part, best) > 0 && !project_part(set, part, v, best))
            return false;
    }
    memcpy(x, best, set->dim * sizeof *x);
    return true;
}

/* Where the nearest point of the box, or of the box and one part, lies in all parts, it is the nearest of all. */
static bool project_by_luck(const tc_set *set, const double *v, double *x) {
    double *best = set->work->point;
    for (size_t tried = 0; tried <= set->part_count; tried++) {
        clip_to_box(set, v, best);
        if (tried > 0 && !project_part(set, &set->parts[tried - 1], v, best))
            continue;
        if (tc_set_violation(set, best, NULL) <= (tried == 0 ? 0 : rounding_of(set))) {
            memcpy(x, best, set->dim * sizeof *x);
            return true;
        }
    }
    return false;
}

bool tc_project(tc_set *set, const double *v, double *x) {
    if (set->shape == TC_SHAPE_BOX) {
        clip_to_box(set, v, x);
        return true;
    }
    bool found = set->shape == TC_SHAPE_SEPARABLE ? project_separable(set, v, x) : project_by_luck(set, v, x);
    return found || tc_interior_project(set->work->interior, v, x);
}
