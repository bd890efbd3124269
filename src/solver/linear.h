/* Small dense linear algebra in extended precision. Matrices are stored row by row. */
#ifndef TC_SOLVER_LINEAR_H
#define TC_SOLVER_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

typedef long double tc_real;

static inline tc_real tc_dot(size_t count, const tc_real *a, const tc_real *b) {
    tc_real sum = 0, other = 0;
    size_t i = 0;
    for (; i + 1 < count; i += 2) {
        sum += a[i] * b[i];
        other += a[i + 1] * b[i + 1];
    }
    if (i < count)
        sum += a[i] * b[i];
    return sum + other;
}

/* a = L L' in the lower triangle (the upper one is left alone). A pivot that is not positive beyond rounding is
 * replaced by a huge one, which holds that component at zero: right for rows that repeat others, and for directions
 * without curvature. Returns how many pivots were replaced. */
size_t tc_cholesky(size_t n, tc_real *a);
/* x = L^-1 x, and x = L'^-1 x. */
void tc_solve_lower(size_t n, const tc_real *l, tc_real *x);
void tc_solve_lower_transposed(size_t n, const tc_real *l, tc_real *x);

/* a = P L U with row exchanges; order receives the permutation. A zero pivot is replaced by a huge one. */
void tc_lu(size_t n, tc_real *a, size_t *order);
/* Solves with the factors; x is overwritten, work has n entries. */
void tc_lu_solve(size_t n, const tc_real *lu, const size_t *order, tc_real *x, tc_real *work);

#endif
