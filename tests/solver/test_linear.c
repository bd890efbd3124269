#include "solver/linear.h"

#include "solver/shapes.h"
#include "support/cmocka.h"

enum { MOST = 20 };

static void random_entries(uint64_t *seed, size_t count, tc_real *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = uniform(seed, -1, 1);
}

static tc_real residual(size_t n, const tc_real *a, const tc_real *x, const tc_real *b) {
    tc_real most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxl(most, fabsl(tc_dot(n, a + i * n, x) - b[i]));
    return most;
}

static void lu_solves_random_systems(void **state) {
    (void)state;
    uint64_t seed = 11;
    tc_real a[MOST * MOST], lu[MOST * MOST], b[MOST], x[MOST], work[MOST];
    size_t order[MOST];
    for (size_t n = 1; n <= MOST; n++)
        for (int trial = 0; trial < 20; trial++) {
            AT_CASE(trial);
            random_entries(&seed, n * n, a);
            random_entries(&seed, n, b);
            for (size_t i = 0; i < n * n; i++)
                lu[i] = a[i];
            for (size_t i = 0; i < n; i++)
                x[i] = b[i];
            tc_lu(n, lu, order);
            tc_lu_solve(n, lu, order, x, work);
            tc_real size = 1;
            for (size_t i = 0; i < n; i++)
                size = fmaxl(size, fabsl(x[i]));
            assert_true(residual(n, a, x, b) <= 1e-16L * size);
        }
}

/* One column after the other, without panels. */
static void plain_lu(size_t n, tc_real *a, size_t *order) {
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            best = fabsl(a[i * n + k]) > fabsl(a[best * n + k]) ? i : best;
        for (size_t j = 0; j < n && best != k; j++) {
            tc_real entry = a[k * n + j];
            a[k * n + j] = a[best * n + j];
            a[best * n + j] = entry;
        }
        size_t number = order[k];
        order[k] = order[best];
        order[best] = number;
        for (size_t i = k + 1; i < n; i++) {
            tc_real factor = a[i * n + k] /= a[k * n + k];
            for (size_t j = k + 1; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
}

static void lu_has_the_bits_of_one_column_after_the_other(void **state) {
    (void)state;
    uint64_t seed = 13;
    tc_real a[MOST * MOST], b[MOST * MOST];
    size_t order[MOST], plain_order[MOST];
    for (size_t n = 1; n <= MOST; n++)
        for (int trial = 0; trial < 20; trial++) {
            AT_CASE(trial);
            random_entries(&seed, n * n, a);
            for (size_t i = 0; i < n * n; i++) {
                if (trial % 2 == 1 && i % n != i / n && fabsl(a[i]) < 0.5L)
                    a[i] = 0;
                b[i] = a[i];
            }
            tc_lu(n, a, order);
            plain_lu(n, b, plain_order);
            for (size_t i = 0; i < n * n; i++)
                assert_true(a[i] == b[i]);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(order[i], plain_order[i]);
        }
}

static void cholesky_solves_positive_definite_systems(void **state) {
    (void)state;
    uint64_t seed = 12;
    tc_real root[MOST * MOST], a[MOST * MOST], l[MOST * MOST], b[MOST], x[MOST];
    for (size_t n = 1; n <= MOST; n++) {
        AT_CASE(n);
        random_entries(&seed, n * n, root);
        random_entries(&seed, n, b);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                a[i * n + j] = l[i * n + j] = tc_dot(n, root + i * n, root + j * n) + (i == j ? 0.1L : 0);
        for (size_t i = 0; i < n; i++)
            x[i] = b[i];
        assert_int_equal(tc_cholesky(n, l), 0);
        tc_solve_lower(n, l, x);
        tc_solve_lower_transposed(n, l, x);
        assert_true(residual(n, a, x, b) <= 1e-16L);
    }
}

/* A row that repeats another gets nothing; the rest is solved as if it were not there. */
static void cholesky_leaves_repeated_rows_out(void **state) {
    (void)state;
    tc_real a[9] = {2, 2, 1, 2, 2, 1, 1, 1, 3}, x[3] = {4, 4, 7};
    assert_int_equal(tc_cholesky(3, a), 1);
    tc_solve_lower(3, a, x);
    tc_solve_lower_transposed(3, a, x);
    assert_true(fabsl(x[0] - 1) < 1e-18L && fabsl(x[1]) < 1e-100L && fabsl(x[2] - 2) < 1e-18L);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lu_solves_random_systems),
        cmocka_unit_test(lu_has_the_bits_of_one_column_after_the_other),
        cmocka_unit_test(cholesky_solves_positive_definite_systems),
        cmocka_unit_test(cholesky_leaves_repeated_rows_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
