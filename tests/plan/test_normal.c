/* The normal law against multiple precision. */
/* labels: long */
#include "plan/account/account.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <mpfr.h>

enum { BITS = 300 };

static mpfr_t argument, tail, density, mills, slope, log_tail;

static int set_up(void **state) {
    (void)state;
    (void)mpfr_set_emin(mpfr_get_emin_min());
    mpfr_inits2(BITS, argument, tail, density, mills, slope, log_tail, (mpfr_ptr)0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    mpfr_clears(argument, tail, density, mills, slope, log_tail, (mpfr_ptr)0);
    return 0;
}

static void find_truth(double x) {
    (void)mpfr_set_d(argument, 2, MPFR_RNDN);
    (void)mpfr_sqrt(argument, argument, MPFR_RNDN);
    (void)mpfr_d_div(argument, x, argument, MPFR_RNDN);
    (void)mpfr_erfc(tail, argument, MPFR_RNDN);
    (void)mpfr_div_2ui(tail, tail, 1, MPFR_RNDN);
    (void)mpfr_sqr(argument, argument, MPFR_RNDN);
    (void)mpfr_neg(argument, argument, MPFR_RNDN);
    (void)mpfr_exp(density, argument, MPFR_RNDN);
    (void)mpfr_const_pi(argument, MPFR_RNDN);
    (void)mpfr_mul_2ui(argument, argument, 1, MPFR_RNDN);
    (void)mpfr_sqrt(argument, argument, MPFR_RNDN);
    (void)mpfr_div(density, density, argument, MPFR_RNDN);
    (void)mpfr_div(mills, tail, density, MPFR_RNDN);
    (void)mpfr_mul_d(slope, mills, x, MPFR_RNDN);
    (void)mpfr_ui_sub(slope, 1, slope, MPFR_RNDN);
    (void)mpfr_log(log_tail, tail, MPFR_RNDN);
    if (x < 0) { /* log(1 - Q(-x)) */
        (void)mpfr_set_d(argument, 2, MPFR_RNDN);
        (void)mpfr_sqrt(argument, argument, MPFR_RNDN);
        (void)mpfr_d_div(argument, -x, argument, MPFR_RNDN);
        (void)mpfr_erfc(log_tail, argument, MPFR_RNDN);
        (void)mpfr_div_si(log_tail, log_tail, -2, MPFR_RNDN);
        (void)mpfr_log1p(log_tail, log_tail, MPFR_RNDN);
    }
}

static void holds(const char *what, tc_interval got, mpfr_srcptr truth, double x, double width) {
    if (mpfr_cmp_d(truth, got.lo) < 0 || mpfr_cmp_d(truth, got.hi) > 0) {
        print_error("%s at %a: not in [%a, %a]\n", what, x, got.lo, got.hi);
        fail();
    }
    double size = fabs(mpfr_get_d(truth, MPFR_RNDN));
    if (size > 1e-300 && got.hi - got.lo > width * size) {
        print_error("%s at %g: [%a, %a] is wide: %g\n", what, x, got.lo, got.hi, (got.hi - got.lo) / size);
        fail();
    }
}

static void check(double x) {
    tc_interval at = tc_point(x);
    find_truth(x);
    holds("density", tc_normal_density(at), density, x, 1e-13);
    holds("tail", tc_normal_tail(at), tail, x, 1e-13);
    holds("log tail", tc_normal_log_tail(at), log_tail, x, x < -1 ? 1e-10 : 1e-13);
    if (x > -37) {
        holds("Mills' ratio", tc_mills(at), mills, x, 1e-13);
        holds("its slope", tc_mills_slope(at), slope, x, 1e-12);
    }
}

static void enclosures_hold_the_truth_and_are_narrow(void **state) {
    (void)state;
    uint64_t seed = 5;
    static const double edges[] = {0, 1.25, 0x1.4000000000001p+0, 1, -1, 1e-300, 1e-20, -1e-9, 38, -38, 37.5};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        check(edges[i]);
    for (size_t i = 0; i < CASES(10000); i++)
        check(i % 2 ? uniform(&seed, -38, 38) : uniform(&seed, -3, 3));
}

static void far_tails_keep_their_logarithm(void **state) {
    (void)state;
    static const double far[] = {40, 100, 1e4, 1e8, 1e100};
    for (size_t i = 0; i < 4; i++) {
        (void)mpfr_set_emin(mpfr_get_emin_min());
        find_truth(far[i]);
        if (mpfr_regular_p(log_tail))
            holds("log tail", tc_normal_log_tail(tc_point(far[i])), log_tail, far[i], 1e-14);
        tc_interval q = tc_normal_tail(tc_point(far[i]));
        assert_true(q.lo == 0 && q.hi <= 0x1p-1074);
    }
    tc_interval infinite = tc_normal_tail(tc_whole_line());
    assert_true(infinite.lo == 0 && infinite.hi == 1);
}

static void intervals_hold_their_points(void **state) {
    (void)state;
    uint64_t seed = 6;
    for (size_t i = 0; i < CASES(2000); i++) {
        double a = uniform(&seed, -10, 10), b = a + uniform(&seed, 0, 3), x = uniform(&seed, a, b);
        tc_interval box = {a, b};
        find_truth(x);
        holds("density", tc_normal_density(box), density, x, HUGE_VAL);
        holds("tail", tc_normal_tail(box), tail, x, HUGE_VAL);
        holds("slope", tc_mills_slope(box), slope, x, HUGE_VAL);
    }
}

static void the_inverse_is_on_the_safe_side_and_close(void **state) {
    (void)state;
    static const double probabilities[] = {0.01, 0.5, 0.4, 1e-5, 1e-30, 1e-300, 0x1p-1074, 0.9, 1 - 0x1p-53};
    for (size_t i = 0; i < sizeof probabilities / sizeof *probabilities; i++) {
        double p = probabilities[i], x = tc_normal_tail_inverse_up(p);
        find_truth(x);
        assert_true(mpfr_cmp_d(tail, p) <= 0);
        double slack = 1e-12 + (p > 0.99 ? 0.1 : 0);
        find_truth(x - slack * (1 + fabs(x)));
        assert_true(mpfr_cmp_d(tail, p) > 0);
    }
    assert_true(tc_normal_tail_inverse_up(0) == HUGE_VAL && tc_normal_tail_inverse_up((double)NAN) == HUGE_VAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enclosures_hold_the_truth_and_are_narrow),
        cmocka_unit_test(far_tails_keep_their_logarithm),
        cmocka_unit_test(intervals_hold_their_points),
        cmocka_unit_test(the_inverse_is_on_the_safe_side_and_close),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
