#include "audit/inside.h"
#include "support/cmocka.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Values of scipy.special.betainc and scipy.stats.beta.ppf; tests/audit/test_binomial_scipy.py compares many more. */
static void near(double value, double expected, double relative) {
    if (!(fabs(value - expected) <= relative * fabs(expected) + 1e-300))
        fail_msg("%.17g is not %.17g", value, expected);
}

static void the_incomplete_beta_function_has_its_known_values(void **state) {
    (void)state;
    near(tc_incomplete_beta(1, 1, 0.3), 0.3, 1e-12);
    near(tc_incomplete_beta(2, 1, 0.3), 0.09, 1e-12);
    near(tc_incomplete_beta(1, 5, 0.2), 1 - pow(0.8, 5), 1e-12);
    near(tc_incomplete_beta(0.5, 0.5, 0.25), 1.0 / 3, 1e-11);
    near(tc_incomplete_beta(1e6, 1, 1 - 1e-5), pow(1 - 1e-5, 1e6), 1e-9);
    assert_true(tc_incomplete_beta(3, 4, 0) == 0 && tc_incomplete_beta(3, 4, 1) == 1);
}

/* P(X >= k) by adding up terms, in long double. */
static double tail(unsigned k, unsigned n, double p) {
    long double sum = 0;
    for (unsigned i = k; i <= n; i++)
        sum += expl(lgammal(n + 1.0L) - lgammal(i + 1.0L) - lgammal(n - i + 1.0L) + i * logl(p) + (n - i) * log1pl(-p));
    return (double)sum;
}

static void it_is_the_tail_of_the_binomial_law(void **state) {
    (void)state;
    for (unsigned n = 1; n < 200; n += 13)
        for (unsigned k = 1; k <= n; k += 1 + n / 7)
            for (double p = 0.01; p < 1; p += 0.09)
                near(tc_incomplete_beta(k, n - k + 1, p), tail(k, n, p), 1e-10);
}

static void bounds_hold_with_the_stated_probability_and_hardly_more(void **state) {
    (void)state;
    for (unsigned n = 5; n < 300; n += 59)
        for (unsigned k = 0; k <= n; k += 1 + n / 5)
            for (double level = 1e-9; level < 0.5; level *= 30) {
                double lower = tc_binomial_lower(k, n, level), upper = tc_binomial_upper(k, n, level);
                assert_true(lower <= (double)k / n && (double)k / n <= upper);
                if (k > 0) {
                    assert_true(tail(k, n, lower) <= level);
                    near(tail(k, n, lower), level, 1e-5);
                }
                if (k < n)
                    near(1 - tail(k + 1, n, upper), level, fmax(1e-5, 1e-13 / level));
            }
    near(tc_binomial_upper(0, 1000, 1e-6), 1 - pow(1e-6, 1e-3), 1e-6);
    assert_true(tc_binomial_lower(0, 1000, 0.01) == 0 && tc_binomial_upper(1000, 1000, 0.01) == 1);
    assert_true(tc_binomial_lower(0, 0, 0.01) == 0 && tc_binomial_upper(0, 0, 0.01) == 1);
}

int main(int argc, char **argv) {
    if (argc == 4) { /* for test_binomial_scipy.py: k n level */
        uint64_t k = strtoull(argv[1], NULL, 10), n = strtoull(argv[2], NULL, 10);
        double level = strtod(argv[3], NULL);
        printf("%.17g %.17g\n", tc_binomial_lower(k, n, level), tc_binomial_upper(k, n, level));
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_incomplete_beta_function_has_its_known_values),
        cmocka_unit_test(it_is_the_tail_of_the_binomial_law),
        cmocka_unit_test(bounds_hold_with_the_stated_probability_and_hardly_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
