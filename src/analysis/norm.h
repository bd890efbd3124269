/* Bounds of the spectral norm of interval matrices, from their Gram matrices.
 *
 * A matrix J known only to lie between two bounds is written |J - M| <= R entrywise (M midpoints, R radii), with
 * A = |M| + R. Columns are fed one at a time and forgotten: what is kept are the rows x rows matrices A A', M M' and
 * R R', summed in twice the working precision, so that a million columns cost no accuracy.
 *
 *     |J|_2 <= min( |A|_2,  |M|_2 + |R|_2 ),      |J|_2 >= |M|_2 - |R|_2          (docs/proofs/lipschitz.md) */
#ifndef TC_ANALYSIS_NORM_H
#define TC_ANALYSIS_NORM_H

#include "base/arena.h"
#include "calculus/interval.h"

enum { TC_GRAM_LIMIT = 1024 }; /* the most rows of a dense Gram matrix */

typedef struct tc_gram { /* sum of weight * c c' over columns c, as head + tail; lower triangle */
    double *head, *tail;
    bool rounded; /* some step was not exact: whole numbers stay whole */
} tc_gram;

typedef struct tc_grams {
    size_t rows;
    double terms; /* columns added, for the error bound */
    bool has_radius;
    tc_gram magnitude, middle, radius;
    double *scratch; /* 3 x rows */
} tc_grams;

tc_grams *tc_grams_new(tc_arena *arena, size_t rows);
void tc_grams_clear(tc_grams *grams);
/* A column that occurs `weight` times (a whole number), with count entries in the given rows. */
void tc_grams_add(tc_grams *grams, double weight, size_t count, const uint32_t *rows, const tc_interval *values);
double tc_grams_upper(tc_arena *arena, const tc_grams *grams); /* of |J|_2, for every J within the bounds */
double tc_grams_lower(tc_arena *arena, const tc_grams *grams);

/* A sparse interval matrix by columns; column c occurs weight[c] times (NULL: once). */
typedef struct tc_sparse {
    size_t rows, columns;
    const size_t *start; /* columns + 1 */
    const uint32_t *row;
    const tc_interval *value;
    const double *weight;
} tc_sparse;
double tc_sparse_upper(tc_arena *arena, const tc_sparse *matrix);
double tc_sparse_lower(tc_arena *arena, const tc_sparse *matrix);
/* The largest column sum of magnitudes, rounded up, or of smallest magnitudes, rounded down. */
double tc_sparse_upper1(const tc_sparse *matrix);
double tc_sparse_lower1(const tc_sparse *matrix);

#endif
