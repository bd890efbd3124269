#include "analysis/norm.h"

#include "analysis/eigen.h"

#include <float.h>
#include <string.h>

/* ---- sums in twice the working precision ------------------------------------------------------------------------ */

static tc_gram gram_new(tc_arena *arena, size_t rows) {
    return (tc_gram){.head = TC_NEW(arena, double, rows *rows), .tail = TC_NEW(arena, double, rows *rows)};
}

/* head + tail += weight * a * b, with an error far below an ulp (fma splits the products, Knuth's sum the additions). */
static void add_product(tc_gram *gram, size_t at, double weight, double a, double b) {
    if (a == 0 || b == 0)
        return;
    double product = a * b, product_tail = fma(a, b, -product);
    double scaled = weight * product, scaled_tail = fma(weight, product, -scaled);
    double sum = gram->head[at] + scaled, part = sum - gram->head[at];
    double sum_tail = (gram->head[at] - (sum - part)) + (scaled - part);
    gram->head[at] = sum;
    gram->tail[at] += sum_tail + (scaled_tail + weight * product_tail);
    if (product_tail != 0 || scaled_tail != 0 || sum_tail != 0 || !(fabs(product) > 0x1p-900))
        gram->rounded = true;
}

/* The relative error of such a sum of `terms` products, with respect to the sum of their magnitudes. */
static double sum_error(double terms) {
    return (terms + 8) * (terms + 8) * 0x1p-102 + 0x1p-52;
}

/* What underflow may have cost, in absolute terms, per entry. */
static double underflow(double terms) { return (terms + 8) * 0x1p-960; }

tc_grams *tc_grams_new(tc_arena *arena, size_t rows) {
    tc_grams *grams = TC_NEW(arena, tc_grams, 1);
    grams->rows = rows;
    grams->magnitude = gram_new(arena, rows);
    grams->middle = gram_new(arena, rows);
    grams->radius = gram_new(arena, rows);
    grams->scratch = TC_NEW(arena, double, 3 * rows);
    return grams;
}

void tc_grams_clear(tc_grams *grams) {
    size_t bytes = grams->rows * grams->rows * sizeof(double);
    tc_gram *all[] = {&grams->magnitude, &grams->middle, &grams->radius};
    for (size_t g = 0; g < 3; g++) {
        memset(all[g]->head, 0, bytes);
        memset(all[g]->tail, 0, bytes);
        all[g]->rounded = false;
    }
    grams->terms = 0;
    grams->has_radius = false;
}

void tc_grams_add(tc_grams *grams, double weight, size_t count, const uint32_t *rows, const tc_interval *values) {
    double *magnitude = grams->scratch, *middle = magnitude + grams->rows, *radius = middle + grams->rows;
    bool has_radius = false;
    for (size_t i = 0; i < count; i++) {
        tc_interval v = values[i];
        magnitude[i] = tc_magnitude(v);
        middle[i] = tc_is_finite(v) ? v.lo / 2 + v.hi / 2 : 0;
        radius[i] = tc_is_point(v) ? 0 : fmax(tc_add_up(v.hi, -middle[i]), tc_add_up(middle[i], -v.lo));
        has_radius = has_radius || radius[i] != 0;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j <= i; j++) {
            size_t at = rows[i] >= rows[j] ? rows[i] * grams->rows + rows[j] : rows[j] * grams->rows + rows[i];
            add_product(&grams->middle, at, weight, middle[i], middle[j]);
            add_product(&grams->magnitude, at, weight, magnitude[i], magnitude[j]);
            if (has_radius)
                add_product(&grams->radius, at, weight, radius[i], radius[j]);
        }
    }
    grams->terms += 1;
    grams->has_radius = grams->has_radius || has_radius;
}

/* A sum of non-negative products as a full symmetric matrix, rounded up. */
static double *gram_upper(tc_arena *arena, const tc_grams *grams, const tc_gram *gram) {
    size_t n = grams->rows;
    double *full = TC_NEW(arena, double, n *n);
    double factor = 1 + 2 * sum_error(grams->terms);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double value = gram->head[i * n + j] + gram->tail[i * n + j];
            if (gram->rounded && gram->head[i * n + j] != 0)
                value = tc_add_up(tc_mul_up(value, factor), underflow(grams->terms));
            full[i * n + j] = full[j * n + i] = isnan(value) ? (double)INFINITY : value;
        }
    }
    return full;
}

static double *gram_nearest(tc_arena *arena, const tc_grams *grams, const tc_gram *gram) {
    size_t n = grams->rows;
    double *full = TC_NEW(arena, double, n *n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            full[i * n + j] = full[j * n + i] = gram->head[i * n + j] + gram->tail[i * n + j];
    }
    return full;
}

static bool all_finite(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return false;
    }
    return true;
}

/* The spectral radius of [[a, b], [b, d]], non-negative, rounded up: cheap, and exact enough. */
static double two_by_two(const double *g) {
    if (g[1] == 0)
        return fmax(g[0], g[3]);
    double half = tc_mul_up(0.5, tc_add_up(fmax(g[0], g[3]), -fmin(g[0], g[3])));
    double root = tc_sqrt_up(tc_add_up(tc_mul_up(half, half), tc_mul_up(g[1], g[1])));
    return tc_add_up(tc_mul_up(0.5, tc_add_up(g[0], g[3])), root);
}

static double nonnegative_upper(tc_arena *arena, const double *gram, size_t n) {
    if (!all_finite(gram, n * n))
        return INFINITY;
    if (n <= 1)
        return n == 1 ? gram[0] : 0;
    if (n == 2)
        return two_by_two(gram);
    return fmin(tc_perron_upper(arena, gram, n), tc_eigen_upper(arena, gram, n, 0));
}

/* |M|_2: an eigenvalue of M M', whose error is relative to |M| |M|' <= A A'. */
static double middle_error(const tc_grams *grams, double magnitude_squared) {
    if (!grams->middle.rounded)
        return 0;
    double relative = 2 * sum_error(grams->terms);
    return tc_add_up(tc_mul_up(relative, magnitude_squared), (double)grams->rows * underflow(grams->terms));
}

double tc_grams_upper(tc_arena *arena, const tc_grams *grams) {
    tc_mark mark = tc_arena_mark(arena);
    size_t n = grams->rows;
    double magnitude = nonnegative_upper(arena, gram_upper(arena, grams, &grams->magnitude), n);
    double best = tc_sqrt_up(magnitude);
    double *middle = gram_nearest(arena, grams, &grams->middle);
    if (isfinite(magnitude) && all_finite(middle, n * n)) {
        double square = tc_eigen_upper(arena, middle, n, middle_error(grams, magnitude));
        double bound = tc_sqrt_up(fmax(square, 0));
        if (grams->has_radius)
            bound = tc_add_up(bound, tc_sqrt_up(nonnegative_upper(arena, gram_upper(arena, grams, &grams->radius), n)));
        best = bound < best ? bound : best;
    }
    tc_arena_rewind(arena, mark);
    return isnan(best) ? (double)INFINITY : best;
}

double tc_grams_lower(tc_arena *arena, const tc_grams *grams) {
    tc_mark mark = tc_arena_mark(arena);
    size_t n = grams->rows;
    double *upper = gram_upper(arena, grams, &grams->magnitude);
    double *middle = gram_nearest(arena, grams, &grams->middle);
    double bound = 0;
    if (all_finite(upper, n * n) && all_finite(middle, n * n)) {
        double trace = 0; /* at least the spectral radius of A A' */
        for (size_t i = 0; i < n; i++)
            trace = tc_add_up(trace, upper[i * n + i]);
        double square = tc_eigen_lower(arena, middle, n, middle_error(grams, trace));
        bound = square > 0 ? tc_sqrt_down(square) : 0;
        if (grams->has_radius)
            bound = tc_add_down(
                bound, -tc_sqrt_up(nonnegative_upper(arena, gram_upper(arena, grams, &grams->radius), n)));
    }
    tc_arena_rewind(arena, mark);
    return bound > 0 ? bound : 0;
}
