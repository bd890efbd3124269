#include "solver/project/set.h"

#include "solver/interior/interior.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static inline double clip(double x, double lower, double upper) {
    x = x < lower ? lower : x;
    return x > upper ? upper : x;
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

/* Each part, or slab, has components of its own, so each is projected alone. */
static bool project_separable(const tc_set *set, const double *v, double *x) {
    double *best = set->work->point;
    clip_to_box(set, v, best);
    for (size_t p = 0; p < set->part_count; p++) {
        const tc_set_part *part = &set->parts[p];
        if (part->kind == TC_SET_HALFSPACE) {
            size_t at = part->first;
            if (part->slab == p)
                tc_project_slab(part->count, part->center, tc_set_slab(set, p), set->lower + at, set->upper + at,
                                v + at, best + at);
            continue;
        }
        bool is_cut = part->kind != TC_SET_ELLIPSOID || tc_part_violation(part, best) > 0;
        if (is_cut && !project_part(set, part, v, best))
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

/* ---- the multipliers ---- */

static int decreasing(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The part of v_j that counts against the radius: its size, or its positive part. */
static double multiplier_size(const tc_constraint *row, double v) { return row->is_equality ? fabs(v) : v > 0 ? v : 0; }

/* paper: the set M
 * Beyond the radius the nearest point is max(v - t, 0) with the t that makes the sum the radius: with the k largest
 * entries positive, t = (their sum - radius) / k, for the largest k whose k-th entry exceeds its t. The multiplier of
 * an equality keeps its sign, and |v| takes the place of v. */
void tc_project_multipliers(const tc_constraint *rows, size_t count, double radius, const double *v, double *mu,
                            double *work) {
    long double sum = 0;
    for (size_t j = 0; j < count; j++) {
        work[j] = multiplier_size(&rows[j], v[j]);
        sum += (long double)work[j];
    }
    if (sum <= (long double)radius) {
        for (size_t j = 0; j < count; j++)
            mu[j] = rows[j].is_equality ? v[j] : work[j];
        return;
    }
    qsort(work, count, sizeof *work, decreasing);
    /* All measured from the largest entry: a radius far smaller than it would be lost in their sum. */
    long double top = (long double)work[0], partial = 0, threshold = 0;
    for (size_t k = 0; k < count; k++) {
        long double below = (long double)work[k] - top;
        partial += below;
        long double candidate = (partial - (long double)radius) / (long double)(k + 1);
        if (k > 0 && below <= candidate)
            break;
        threshold = candidate;
    }
    for (size_t j = 0; j < count; j++) {
        long double rest = (long double)(rows[j].is_equality ? fabs(v[j]) : v[j]) - top - threshold;
        double size = rest > 0 ? (double)rest : 0;
        mu[j] = rows[j].is_equality && v[j] < 0 ? -size : size;
    }
}
