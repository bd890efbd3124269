/* Bounds of spectral norms and proofs of semidefiniteness, against references made another way. */
#include "support/cmocka.h"
#include "support/random.h"

#include "analysis/lipschitz/norm.h"
#include "analysis/convexity/curvature.h"

#include <string.h>

static double random_number(uint64_t *seed) { return uniform(seed, -1, 1); }

/* A m x n matrix with known singular values: two chains of plane rotations around a diagonal, in long double. */
static void known_matrix(double *a, size_t m, size_t n, const double *singular, uint64_t *seed) {
    long double b[40][40] = {{0}};
    for (size_t i = 0; i < m && i < n; i++)
        b[i][i] = singular[i];
    for (size_t turn = 0; turn < 4 * (m + n); turn++) {
        long double t = (long double)random_number(seed) * 3, c = cosl(t), s = sinl(t);
        size_t p = turn % (m - 1), q = turn % (n - 1);
        for (size_t j = 0; j < n; j++) {
            long double x = b[p][j], y = b[p + 1][j];
            b[p][j] = c * x - s * y;
            b[p + 1][j] = s * x + c * y;
        }
        for (size_t i = 0; i < m; i++) {
            long double x = b[i][q], y = b[i][q + 1];
            b[i][q] = c * x - s * y;
            b[i][q + 1] = s * x + c * y;
        }
    }
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = (double)b[i][j];
    }
}

static tc_sparse dense_as_sparse(tc_arena *arena, const double *a, size_t m, size_t n, double radius) {
    size_t *start = TC_NEW(arena, size_t, n + 1);
    uint32_t *row = TC_NEW(arena, uint32_t, m * n);
    tc_interval *value = TC_NEW(arena, tc_interval, m * n);
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < m; i++) {
            row[j * m + i] = (uint32_t)i;
            value[j * m + i] = (tc_interval){a[i * n + j] - radius, a[i * n + j] + radius};
        }
        start[j + 1] = (j + 1) * m;
    }
    return (tc_sparse){.rows = m, .columns = n, .start = start, .row = row, .value = value};
}

static tc_arena *open_arena(tc_escape *escape) {
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    tc_escape_begin(arena, escape);
    return arena;
}

static void norms_of_known_matrices_are_bracketed_closely(void **state) {
    (void)state;
    tc_escape escape;
    tc_arena *arena = open_arena(&escape);
    uint64_t seed = 5;
    for (int t = 0; t < 60; t++) {
        AT_CASE(t);
        size_t m = 2 + (size_t)t % 30, n = 2 + (size_t)(7 * t) % 37;
        double singular[40], a[1600];
        for (size_t i = 0; i < 40; i++)
            singular[i] = i == 0 ? 3 : t % 3 == 0 ? 3 * (1 - 1e-9 * (double)i) : 3 * fabs(random_number(&seed));
        known_matrix(a, m, n, singular, &seed);
        tc_sparse matrix = dense_as_sparse(arena, a, m, n, 0);
        double lower = tc_sparse_lower(arena, &matrix), upper = tc_sparse_upper(arena, &matrix);
        assert_true(lower <= 3 + 1e-13 && upper >= 3 - 1e-13); /* the entries were rounded */
        assert_true(upper - lower <= 3e-9);
    }
    tc_arena_free(arena);
}

static void every_matrix_within_the_bounds_is_covered(void **state) {
    (void)state;
    tc_escape escape;
    tc_arena *arena = open_arena(&escape);
    uint64_t seed = 9;
    for (int t = 0; t < 200; t++) {
        AT_CASE(t);
        size_t m = 1 + (size_t)t % 5, n = 1 + (size_t)t % 7;
        double a[64], b[64], radius = fabs(random_number(&seed));
        for (size_t i = 0; i < m * n; i++)
            a[i] = random_number(&seed);
        tc_sparse matrix = dense_as_sparse(arena, a, m, n, radius);
        double upper = tc_sparse_upper(arena, &matrix), lower = tc_sparse_lower(arena, &matrix);
        for (int k = 0; k < 50; k++) {
            for (size_t i = 0; i < m * n; i++)
                b[i] = a[i] + radius *
                                  (k % 2 == 0                 ? random_number(&seed)
                                   : random_number(&seed) > 0 ? 1
                                                              : -1) *
                                  (1 - 1e-15);
            tc_sparse inside = dense_as_sparse(arena, b, m, n, 0);
            assert_true(tc_sparse_lower(arena, &inside) <= upper * (1 + 1e-13));
            assert_true(tc_sparse_upper(arena, &inside) >= lower * (1 - 1e-13));
        }
    }
    tc_arena_free(arena);
}

static void weights_count_as_repeated_columns(void **state) {
    (void)state;
    tc_escape escape;
    tc_arena *arena = open_arena(&escape);
    double a[] = {1, 1, 1, 2, -0.5, -0.5, -0.5, 0.25, 3, 3, 3, 1};
    tc_sparse all = dense_as_sparse(arena, a, 3, 4, 0);
    double b[] = {1, 2, -0.5, 0.25, 3, 1}, weight[] = {3, 1};
    tc_sparse grouped = dense_as_sparse(arena, b, 3, 2, 0);
    grouped.weight = weight;
    assert_true(fabs(tc_sparse_upper(arena, &all) - tc_sparse_upper(arena, &grouped)) < 1e-12);
    assert_true(fabs(tc_sparse_lower(arena, &all) - tc_sparse_lower(arena, &grouped)) < 1e-12);
    tc_arena_free(arena);
}

/* Chains have known eigenvalues, well apart and close together, and longer ones than a Krylov basis; with the other
 * sign the largest eigenvalue is not the largest in magnitude. */
static void the_largest_eigenvalue_of_a_chain_is_found(void **state) {
    (void)state;
    tc_escape escape;
    tc_arena *arena = open_arena(&escape);
    static const size_t sizes[] = {1, 2, 3, 24, 32, 33, 60};
    for (size_t s = 0; s < 2 * sizeof sizes / sizeof *sizes; s++) {
        AT_CASE((int)s);
        size_t n = sizes[s / 2];
        double a[3600] = {0}, v[60], sign = s % 2 == 0 ? 1 : -1, angle = acos(-1) / (double)(n + 1);
        for (size_t i = 0; i < n; i++) {
            a[i * n + i] = 2 * sign;
            if (i + 1 < n)
                a[i * n + i + 1] = a[(i + 1) * n + i] = -sign;
        }
        double exact = sign > 0 ? 2 + 2 * cos(angle) : -2 + 2 * cos(angle), squares = 0, left = 0;
        double value = tc_largest_eigen(arena, tc_apply_dense, a, n, v);
        assert_true(fabs(value - exact) <= 4e-15 * 4);
        for (size_t i = 0; i < n; i++) {
            double image = 0;
            for (size_t j = 0; j < n; j++)
                image += a[i * n + j] * v[j];
            left = fmax(left, fabs(image - value * v[i]));
            squares += v[i] * v[i];
        }
        assert_true(fabs(squares - 1) <= 1e-12);
        assert_true(left <= 1e-6);
        double upper = tc_eigen_upper(arena, a, n, 0);
        assert_true(upper >= exact - 1e-15 && upper <= exact + 1e-10);
    }
    tc_arena_free(arena);
}

/* Products of interval columns with every pattern of signs. */
static void intervals_of_all_signs_are_covered(void **state) {
    (void)state;
    tc_escape escape;
    tc_arena *arena = open_arena(&escape);
    static const tc_interval kinds[] = {{1, 2}, {-2, -1}, {-1, 2}, {0, 1}, {-1, 0}, {0, 0}};
    for (size_t i = 0; i < 6; i++) {
        for (size_t j = 0; j < 6; j++) {
            tc_grams *grams = tc_grams_new(arena, 2);
            uint32_t rows[] = {0, 1};
            tc_interval column[] = {kinds[i], kinds[j]};
            tc_grams_add(grams, 1, 2, rows, column);
            double exact = hypot(tc_magnitude(kinds[i]), tc_magnitude(kinds[j]));
            double upper = tc_grams_upper(arena, grams);
            assert_true(upper >= exact * (1 - 1e-15) && upper <= exact * (1 + 1e-12));
        }
    }
    tc_arena_free(arena);
}

static void many_columns_cost_no_accuracy(void **state) {
    (void)state;
    tc_escape escape;
    tc_arena *arena = open_arena(&escape);
    tc_grams *grams = tc_grams_new(arena, 2);
    uint32_t rows[] = {0, 1};
    for (size_t k = 0; k < 300000; k++) { /* orthogonal rows of length sqrt(300000) * 0.1 */
        tc_interval values[] = {tc_point(0.1), tc_point(k % 2 == 0 ? 0.1 : -0.1)};
        tc_grams_add(grams, 1, 2, rows, values);
    }
    double exact = (double)sqrtl(300000.0L * (long double)0.1 * (long double)0.1);
    double upper = tc_grams_upper(arena, grams), lower = tc_grams_lower(arena, grams);
    assert_true(lower <= exact && exact <= upper && upper - lower < 1e-10 * exact);
    tc_arena_free(arena);
}

static void whole_numbers_give_exact_norms(void **state) {
    (void)state;
    tc_escape escape;
    tc_arena *arena = open_arena(&escape);
    double a[] = {3, 0, 0, 0, 4, 0, 0, 0, 5};
    tc_sparse matrix = dense_as_sparse(arena, a, 3, 3, 0);
    assert_true(tc_sparse_upper(arena, &matrix) == 5 && tc_sparse_lower(arena, &matrix) == 5);
    tc_arena_free(arena);
}

static void large_sparse_matrices_are_bracketed(void **state) {
    (void)state;
    tc_escape escape;
    tc_arena *arena = open_arena(&escape);
    size_t n = 3000; /* a path: rows and columns beyond the dense limit; |path incidence|_2 = 2 cos(pi / (2 (n + 1))) */
    size_t *start = TC_NEW(arena, size_t, n + 2);
    uint32_t *row = TC_NEW(arena, uint32_t, 2 * n + 2);
    tc_interval *value = TC_NEW(arena, tc_interval, 2 * n + 2);
    size_t entries = 0;
    for (size_t c = 0; c <= n; c++) {
        if (c > 0) {
            row[entries] = (uint32_t)(c - 1);
            value[entries++] = tc_point(1);
        }
        if (c < n) {
            row[entries] = (uint32_t)c;
            value[entries++] = tc_point(-1);
        }
        start[c + 1] = entries;
    }
    tc_sparse matrix = {.rows = n, .columns = n + 1, .start = start, .row = row, .value = value};
    double upper = tc_sparse_upper(arena, &matrix), lower = tc_sparse_lower(arena, &matrix);
    double exact = 2 * cos(3.14159265358979323846 / (2 * (double)(n + 1)));
    assert_true(lower <= exact && exact <= upper && upper <= 2.0001 && lower > 1.9);
    tc_arena_free(arena);
}

static void semidefinite_matrices_pass_and_others_do_not(void **state) {
    (void)state;
    tc_escape escape;
    tc_arena *arena = open_arena(&escape);
    static const struct {
        size_t n;
        bool holds;
        double h[9];
    } cases[] = {
        {1, true, {0}},
        {1, false, {-1e-300}},
        {2, true, {2, 2, 2, 2}},
        {2, true, {0, 0, 0, 3}},
        {2, false, {0, 1, 1, 3}},
        {2, false, {1, 2, 2, 1}},
        {2, true, {4, 2, 2, 1}},
        {3, true, {1, -1, 0, -1, 2, -1, 0, -1, 1}},
        {3, true, {4, 2, -2, 2, 5, 1, -2, 1, 6}},
        {3, false, {1, 1, 1, 1, 1, 1, 1, 1, 0.999}},
        {3, false, {1, 0.9, -0.9, 0.9, 1, 0.9, -0.9, 0.9, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tc_interval h[9], minus[9];
        for (size_t k = 0; k < cases[i].n * cases[i].n; k++) {
            h[k] = tc_point(cases[i].h[k]);
            minus[k] = tc_ineg(h[k]);
        }
        assert_true(tc_interval_psd(arena, h, cases[i].n, 1) == cases[i].holds);
        assert_true(tc_interval_psd(arena, minus, cases[i].n, -1) == cases[i].holds);
    }
    tc_arena_free(arena);
}

static void no_indefinite_matrix_is_ever_called_semidefinite(void **state) {
    (void)state;
    tc_escape escape;
    tc_arena *arena = open_arena(&escape);
    uint64_t seed = 21;
    size_t proved = 0;
    for (int t = 0; t < 4000; t++) {
        AT_CASE(t);
        size_t n = 2 + (size_t)t % 5;
        double b[36], v[6];
        tc_interval h[36];
        for (size_t i = 0; i < n; i++)
            v[i] = random_number(&seed);
        for (size_t i = 0; i < n * n; i++)
            b[i] = random_number(&seed);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t k = 0; k < n; k++)
                    sum += b[i * n + k] * b[j * n + k];
                h[i * n + j] = tc_point(sum - (t % 2 == 0 ? 0 : 4.0 * v[i] * v[j]));
            }
        }
        bool holds = tc_interval_psd(arena, h, n, 1);
        proved += holds;
        for (int k = 0; holds && k < 40; k++) {
            double form = 0;
            for (size_t i = 0; i < n; i++)
                v[i] = random_number(&seed);
            for (size_t i = 0; i < n; i++) {
                for (size_t j = 0; j < n; j++)
                    form += v[i] * h[i * n + j].lo * v[j];
            }
            assert_true(form > -1e-12);
        }
    }
    assert_true(proved > 1500); /* the even ones are positive definite almost surely */
    tc_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_of_known_matrices_are_bracketed_closely),
        cmocka_unit_test(every_matrix_within_the_bounds_is_covered),
        cmocka_unit_test(weights_count_as_repeated_columns),
        cmocka_unit_test(the_largest_eigenvalue_of_a_chain_is_found),
        cmocka_unit_test(intervals_of_all_signs_are_covered),
        cmocka_unit_test(many_columns_cost_no_accuracy),
        cmocka_unit_test(whole_numbers_give_exact_norms),
        cmocka_unit_test(large_sparse_matrices_are_bracketed),
        cmocka_unit_test(semidefinite_matrices_pass_and_others_do_not),
        cmocka_unit_test(no_indefinite_matrix_is_ever_called_semidefinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
