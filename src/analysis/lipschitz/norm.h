/* Bounds of the spectral norm of interval matrices, from their Gram matrices.
 *
 * A matrix J known only to lie between two bounds is written |J - M| <= R entrywise (M midpoints, R radii). Columns are
 * fed one at a time and forgotten: what is kept are rows x rows matrices, an enclosure [P, Q] of J J', and M M' and
 * R R', summed in twice the working precision (after a few thousand columns, in pages of plain sums), so that a million
 * columns cost no accuracy.
 *
 *     |J|_2^2 <= rho(max(|P|, |Q|)),  |J|_2^2 <= lambda(mid) + rho(rad) of [P, Q],  |J|_2 <= |M|_2 + |R|_2,
 *     |J|_2 >= |M|_2 - |R|_F                                                        (docs/proofs/lipschitz.md) */
#ifndef TC_ANALYSIS_LIPSCHITZ_NORM_H
#define TC_ANALYSIS_LIPSCHITZ_NORM_H

#include "base/arena.h"
#include "calculus/interval/interval.h"

#include <stdbool.h>

enum { TC_GRAM_LIMIT = 512 }; /* the most rows of a dense Gram matrix */

typedef struct tc_gram { /* sum of weight * c c' over columns c, as head + tail; lower triangle */
    double *head, *tail;
    double *page; /* a plain sum of a few columns, not yet added to head + tail */
    bool rounded; /* some step was not exact: whole numbers stay whole */
} tc_gram;

typedef struct tc_grams {
    tc_arena *arena; /* must outlive additions: no rewinding in between */
    size_t rows;
    size_t on_page;  /* columns on the pages */
    bool lower_only; /* only tc_grams_lower will be asked: M M' and two numbers suffice */
    double terms;    /* columns added, for the error bound */
    double squares;  /* sum of squared magnitudes, rounded up: at least the trace of J J' */
    double radius_squares;
    bool has_intervals;
    tc_gram points;    /* columns that are points belong to all of: */
    tc_gram low, high; /* [P, Q] */
    tc_gram middle, radius;
    double *scratch;
} tc_grams;

tc_grams *tc_grams_new(tc_arena *arena, size_t rows);
void tc_grams_clear(tc_grams *grams, bool lower_only);
/* A column that occurs `weight` times (a whole number), with count entries in the given rows, each once. */
void tc_grams_add(tc_grams *grams, double weight, size_t count, const uint32_t *rows, const tc_interval *values);
/* Gives all that was added so far to carry, which may put something else in its place: bytes, and their number. */
void tc_grams_carry(tc_grams *grams, void (*carry)(void *, void *, size_t), void *context);
double tc_grams_upper(tc_arena *arena, tc_grams *grams); /* of |J|_2, for every J within the bounds */
double tc_grams_lower(tc_arena *arena, tc_grams *grams);

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

/* ---- eigen.c ----
 * Dominant eigenvalues of dense symmetric matrices: estimates by Lanczos, and bounds that are proved whatever the
 * estimates are worth. Matrices are n x n, row by row, both triangles filled. Proofs: docs/proofs/lipschitz.md. */

/* y = A x for some symmetric A. */
typedef void (*tc_apply)(const void *matrix, size_t n, const double *x, double *y);
void tc_apply_dense(const void *matrix, size_t n, const double *x, double *y);

/* An estimate of the largest eigenvalue; vector receives the direction (unit length). No promise. */
double tc_largest_eigen(tc_arena *arena, tc_apply apply, const void *matrix, size_t n, double *vector);

/* Of a matrix without negative entries: proved upper bound of the spectral radius (Collatz-Wielandt). */
double tc_perron_upper(tc_arena *arena, const double *matrix, size_t n);

/* Proved bounds of the largest eigenvalue of any symmetric matrix within `error` of this one in the spectral norm. */
double tc_eigen_upper(tc_arena *arena, const double *matrix, size_t n, double error);
double tc_eigen_lower(tc_arena *arena, const double *matrix, size_t n, double error);

/* Whether a matrix within `error` of this one is certainly positive definite: Cholesky with a bound of its error. */
bool tc_certainly_positive(tc_arena *arena, const double *matrix, size_t n, double error);

#endif
