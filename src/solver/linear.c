#include "solver/linear.h"

#include <float.h>
#include <math.h>

static const tc_real HUGE_PIVOT = 1e150L;

size_t tc_cholesky(size_t n, tc_real *a) {
    size_t replaced = 0;
    for (size_t i = 0; i < n; i++) {
        tc_real *row = a + i * n;
        for (size_t j = 0; j < i; j++)
            row[j] = (row[j] - tc_dot(j, row, a + j * n)) / a[j * n + j];
        tc_real before = row[i];
        tc_real pivot = before - tc_dot(i, row, row);
        if (!(pivot > 16 * LDBL_EPSILON * fabsl(before)) || !(pivot > LDBL_MIN)) {
            row[i] = HUGE_PIVOT;
            replaced++;
        } else {
            row[i] = sqrtl(pivot);
        }
    }
    return replaced;
}

void tc_solve_lower(size_t n, const tc_real *l, tc_real *x) {
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] - tc_dot(i, l + i * n, x)) / l[i * n + i];
}

void tc_solve_lower_transposed(size_t n, const tc_real *l, tc_real *x) {
    for (size_t i = n; i-- > 0;) {
        x[i] /= l[i * n + i];
        for (size_t j = 0; j < i; j++)
            x[j] -= l[i * n + j] * x[i];
    }
}

static size_t largest_in_column(size_t n, const tc_real *a, size_t k) {
    size_t best = k;
    for (size_t i = k + 1; i < n; i++)
        if (fabsl(a[i * n + k]) > fabsl(a[best * n + k]))
            best = i;
    return best;
}

void tc_lu(size_t n, tc_real *a, size_t *order) {
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t k = 0; k < n; k++) {
        size_t best = largest_in_column(n, a, k);
        if (best != k) {
            size_t number = order[k];
            order[k] = order[best];
            order[best] = number;
            for (size_t j = 0; j < n; j++) {
                tc_real entry = a[k * n + j];
                a[k * n + j] = a[best * n + j];
                a[best * n + j] = entry;
            }
        }
        tc_real *pivot_row = a + k * n;
        if (pivot_row[k] == 0)
            pivot_row[k] = HUGE_PIVOT;
        for (size_t i = k + 1; i < n; i++) {
            tc_real *row = a + i * n;
            if (row[k] == 0)
                continue;
            tc_real factor = row[k] /= pivot_row[k];
            for (size_t j = k + 1; j < n; j++)
                row[j] -= factor * pivot_row[j];
        }
    }
}

void tc_lu_solve(size_t n, const tc_real *lu, const size_t *order, tc_real *x, tc_real *work) {
    for (size_t i = 0; i < n; i++)
        work[i] = x[order[i]] - tc_dot(i, lu + i * n, work);
    for (size_t i = n; i-- > 0;)
        x[i] = work[i] = (work[i] - tc_dot(n - i - 1, lu + i * n + i + 1, work + i + 1)) / lu[i * n + i];
}
