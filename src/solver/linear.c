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

static void swap_rows(size_t n, tc_real *a, size_t *order, size_t k, size_t best) {
    size_t number = order[k];
    order[k] = order[best];
    order[best] = number;
    for (size_t j = 0; j < n; j++) {
        tc_real entry = a[k * n + j];
        a[k * n + j] = a[best * n + j];
        a[best * n + j] = entry;
    }
}

/* row -= factor * pivot row, in columns from .. end - 1. */
static void eliminate(tc_real *row, const tc_real *pivot_row, tc_real factor, size_t from, size_t end) {
    if (factor == 0)
        return;
    for (size_t j = from; j < end; j++)
        row[j] -= factor * pivot_row[j];
}

enum { PANEL = 4 };

/* Columns first .. end - 1, and the rows of their pivots in the columns after them. */
static void factor_panel(size_t n, tc_real *a, size_t *order, size_t first, size_t end) {
    for (size_t k = first; k < end; k++) {
        size_t best = largest_in_column(n, a, k);
        if (best != k)
            swap_rows(n, a, order, k, best);
        tc_real *pivot_row = a + k * n;
        if (pivot_row[k] == 0)
            pivot_row[k] = HUGE_PIVOT;
        for (size_t i = k + 1; i < n; i++) {
            tc_real *row = a + i * n;
            if (row[k] != 0)
                row[k] /= pivot_row[k];
            eliminate(row, pivot_row, row[k], k + 1, end);
        }
    }
    for (size_t i = first + 1; i < end; i++)
        for (size_t k = first; k < i; k++)
            eliminate(a + i * n, a + k * n, a[i * n + k], end, n);
}

/* The pivots of a panel change the rest of the matrix in one go: an entry is loaded and stored once for four of them.
 * Each is still taken off in its turn, so that the bits are those of one column after the other. */
void tc_lu(size_t n, tc_real *a, size_t *order) {
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t first = 0; first < n; first += PANEL) {
        size_t end = first + PANEL < n ? first + PANEL : n;
        factor_panel(n, a, order, first, end);
        if (end == n)
            return;
        const tc_real *u0 = a + first * n, *u1 = u0 + n, *u2 = u1 + n, *u3 = u2 + n;
        for (size_t i = end; i < n; i++) {
            tc_real *row = a + i * n;
            tc_real f0 = row[first], f1 = row[first + 1], f2 = row[first + 2], f3 = row[first + 3];
            if (f0 == 0 || f1 == 0 || f2 == 0 || f3 == 0) {
                for (size_t k = first; k < end; k++)
                    eliminate(row, a + k * n, row[k], end, n);
                continue;
            }
            for (size_t j = end; j < n; j++)
                row[j] = row[j] - f0 * u0[j] - f1 * u1[j] - f2 * u2[j] - f3 * u3[j];
        }
    }
}

void tc_lu_solve(size_t n, const tc_real *lu, const size_t *order, tc_real *x, tc_real *work) {
    for (size_t i = 0; i < n; i++)
        work[i] = x[order[i]] - tc_dot(i, lu + i * n, work);
    for (size_t i = n; i-- > 0;)
        x[i] = work[i] = (work[i] - tc_dot(n - i - 1, lu + i * n + i + 1, work + i + 1)) / lu[i * n + i];
}
