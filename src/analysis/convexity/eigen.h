/* Dominant eigenvalues of dense symmetric matrices: estimates by Lanczos, and bounds that are proved whatever the
 * estimates are worth. Matrices are n x n, row by row, both triangles filled. Arguments: docs/proofs/lipschitz.md. */
#ifndef TC_ANALYSIS_CONVEXITY_EIGEN_H
#define TC_ANALYSIS_CONVEXITY_EIGEN_H

#include "base/arena.h"

#include <stdbool.h>

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
