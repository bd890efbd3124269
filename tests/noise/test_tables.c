/* Every table entry of the integers, against MPFR: bounds on whole segments (segment_error.h). */
#include "noise/sampler_inside.h"
#include "noise/segment_error.h"
#include "support/cmocka.h"

#include <math.h>
#include <mpfr.h>

/* In units of 2^-58, over the segments low + i width, width = whole / segments. */
static double worst_error(void (*expand)(series, const mpfr_t, const mpfr_t), double start, double whole, int segments,
                          const int64_t *table, int degree) {
    double worst = 0;
    mpfr_t low, width;
    series polynomial;
    series_init(polynomial);
    mpfr_inits2(BITS, low, width, (mpfr_ptr)NULL);
    mpfr_set_d(width, whole / segments, MPFR_RNDN);
    for (int i = 0; i < segments; i++) {
        mpfr_mul_si(low, width, i, MPFR_RNDN);
        mpfr_add_d(low, low, start, MPFR_RNDN);
        for (int d = 0; d < TERMS; d++)
            mpfr_set_si_2exp(polynomial[d], d <= degree ? table[i * (degree + 1) + d] : 0, -TC_QUANTILE_BITS,
                             MPFR_RNDN);
        double error = ldexp(segment_error(expand, low, width, polynomial), TC_QUANTILE_BITS);
        assert_true(error >= 0);
        worst = error > worst ? error : worst;
    }
    mpfr_clears(low, width, (mpfr_ptr)NULL);
    series_clear(polynomial);
    return worst;
}

static void the_laplace_polynomials_keep_their_bound(void **state) {
    (void)state;
    double worst = worst_error(expand_log, 1, 1, TC_LAPLACE_SEGMENTS, tc_laplace_table[0], TC_LAPLACE_DEGREE);
    print_message("ln: at most %.3f units from the truth\n", worst);
    assert_true(worst < 1);
    assert_true(worst > 0.3); /* far less would mean a wrong test */
}

static void the_gaussian_polynomials_keep_their_bound(void **state) {
    (void)state;
    double worst = 0, start = 0.5;
    for (int octave = 0; octave < TC_GAUSSIAN_OCTAVES; octave++, start /= 2) {
        double error = worst_error(expand_quantile, start, start, TC_GAUSSIAN_SEGMENTS, tc_gaussian_table[octave][0],
                                   TC_GAUSSIAN_DEGREE);
        worst = error > worst ? error : worst;
    }
    print_message("half-normal quantile: at most %.3f units from the truth\n", worst);
    assert_true(worst < 1);
    assert_true(worst > 0.3);
}

static void the_octaves_are_rounded_logarithms(void **state) {
    (void)state;
    mpfr_t value;
    mpfr_init2(value, BITS);
    for (int i = 0; i < TC_LAPLACE_OCTAVES; i++) {
        mpfr_const_log2(value, MPFR_RNDN);
        mpfr_mul_si(value, value, i + 1, MPFR_RNDN);
        mpfr_mul_2ui(value, value, TC_QUANTILE_BITS, MPFR_RNDN);
        mpfr_sub_si(value, value, tc_laplace_octave[i], MPFR_RNDN);
        mpfr_abs(value, value, MPFR_RNDN);
        assert_true(mpfr_cmp_d(value, 0.5) <= 0);
    }
    mpfr_clear(value);
}

/* Coefficients times powers of 1/2 must not leave 63 bits in Horner's rule. */
static void no_intermediate_sum_overflows(void **state) {
    (void)state;
    for (int i = 0; i < TC_LAPLACE_SEGMENTS; i++)
        for (int d = 0; d <= TC_LAPLACE_DEGREE; d++)
            assert_in_range(tc_laplace_table[i][d] + (INT64_C(1) << 60), 0, INT64_C(1) << 61);
    for (int octave = 0; octave < TC_GAUSSIAN_OCTAVES; octave++)
        for (int i = 0; i < TC_GAUSSIAN_SEGMENTS; i++)
            for (int d = 0; d <= TC_GAUSSIAN_DEGREE; d++)
                assert_in_range(tc_gaussian_table[octave][i][d] + (INT64_C(1) << 61), 0, INT64_C(1) << 62);
}

static void the_root_has_all_its_bits(void **state) {
    (void)state;
    mpz_t stored, expected;
    mpfr_t value;
    mpz_inits(stored, expected, NULL);
    mpfr_init2(value, 64 * TC_TAIL_LIMBS + 64);
    mpz_import(stored, TC_TAIL_LIMBS, -1, sizeof *tc_root_limbs, 0, 0, tc_root_limbs);
    mpfr_const_pi(value, MPFR_RNDN);
    mpfr_ui_div(value, 2, value, MPFR_RNDN);
    mpfr_sqrt(value, value, MPFR_RNDN);
    mpfr_mul_2ui(value, value, 64 * TC_TAIL_LIMBS, MPFR_RNDN);
    mpfr_get_z(expected, value, MPFR_RNDD);
    assert_int_equal(mpz_cmp(stored, expected), 0);
    mpfr_clear(value);
    mpz_clears(stored, expected, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_laplace_polynomials_keep_their_bound),
        cmocka_unit_test(the_gaussian_polynomials_keep_their_bound),
        cmocka_unit_test(the_octaves_are_rounded_logarithms),
        cmocka_unit_test(no_intermediate_sum_overflows),
        cmocka_unit_test(the_root_has_all_its_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
