/* Calibration against multiple precision: always on the safe side, and close. */
/* labels: long not-clang */
#include "plan/account/account.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <mpfr.h>

enum { BITS = 320 }; /* the difference loses fewer than 60 */

static mpfr_t ratio, half, left, right, root;

static int set_up(void **state) {
    (void)state;
    (void)mpfr_set_emin(mpfr_get_emin_min());
    mpfr_inits2(BITS, ratio, half, left, right, root, (mpfr_ptr)0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    mpfr_clears(ratio, half, left, right, root, (mpfr_ptr)0);
    return 0;
}

static void tail_of(mpfr_t x) { /* Q, in place */
    (void)mpfr_set_ui(root, 2, MPFR_RNDN);
    (void)mpfr_sqrt(root, root, MPFR_RNDN);
    (void)mpfr_div(x, x, root, MPFR_RNDN);
    (void)mpfr_erfc(x, x, MPFR_RNDN);
    (void)mpfr_div_2ui(x, x, 1, MPFR_RNDN);
}

/* Q(epsilon/mu - mu/2) - e^epsilon Q(epsilon/mu + mu/2), in left: plainly, with bits to spare. */
static void find_delta(double epsilon, double mu) {
    (void)mpfr_set_d(ratio, epsilon, MPFR_RNDN);
    (void)mpfr_div_d(ratio, ratio, mu, MPFR_RNDN);
    (void)mpfr_set_d(half, mu, MPFR_RNDN);
    (void)mpfr_div_2ui(half, half, 1, MPFR_RNDN);
    (void)mpfr_sub(left, ratio, half, MPFR_RNDN);
    (void)mpfr_add(right, ratio, half, MPFR_RNDN);
    tail_of(left);
    tail_of(right);
    (void)mpfr_set_d(half, epsilon, MPFR_RNDN);
    (void)mpfr_exp(half, half, MPFR_RNDN);
    (void)mpfr_mul(right, right, half, MPFR_RNDN);
    (void)mpfr_sub(left, left, right, MPFR_RNDN);
}

static void check_delta(double epsilon, double mu, double *widest) {
    tc_interval delta = tc_gaussian_delta(epsilon, mu);
    find_delta(epsilon, mu);
    if (mpfr_cmp_d(left, delta.lo) < 0 || mpfr_cmp_d(left, delta.hi) > 0) {
        print_error("delta(%a; %a) = %g is not in [%a, %a]\n", epsilon, mu, mpfr_get_d(left, MPFR_RNDN), delta.lo,
                    delta.hi);
        fail();
    }
    double size = mpfr_get_d(left, MPFR_RNDN);
    if (size > 1e-290)
        *widest = fmax(*widest, (delta.hi - delta.lo) / size);
}

static void the_trade_off_is_enclosed_although_it_cancels(void **state) {
    (void)state;
    uint64_t seed = 9;
    double widest = 0;
    for (size_t i = 0; i < CASES(1500); i++) {
        AT_CASE(i);
        double mu = exp(uniform(&seed, -14, 2.5)), x = uniform(&seed, -2, 36); /* x = epsilon/mu - mu/2 */
        double epsilon = i % 7 == 0 ? 0 : fmax(0, (x + mu / 2) * mu);
        check_delta(epsilon, mu, &widest);
    }
    print_message("relative width of delta: at most %.1e\n", widest);
    assert_true(widest < 1e-8);
    check_delta(1, 0x1p-1074, &widest);
    check_delta(700, 30, &widest);
    mpfr_t *all[] = {&ratio, &half, &left, &right, &root};
    for (size_t i = 0; i < 5; i++)
        mpfr_set_prec(*all[i], 1500);
    check_delta(1e-300, 1e-300, &widest);
    for (size_t i = 0; i < 5; i++)
        mpfr_set_prec(*all[i], BITS);
    assert_true(tc_gaussian_delta(1, 0).hi == 0 && tc_gaussian_delta(1, HUGE_VAL).lo == 1);
    assert_true(tc_gaussian_delta(HUGE_VAL, 1).hi == 0);
    assert_true(tc_gaussian_delta(-1, 1).hi == 1 && tc_gaussian_delta((double)NAN, 1).hi == 1);
}

static void the_papers_figures_come_out(void **state) {
    (void)state;
    double kappa = tc_kappa(0.01, log(2)), sigma = tc_gaussian_sigma(log(2), 0.01);
    assert_true(fabs(kappa - 3.5589) < 5e-5);
    assert_true(fabs(sigma - 2.47053) < 5e-6);
    assert_true(tc_laplace_scale(39.82, 1, log(2)) >= 39.82 / log(2));
    assert_true(fabs(tc_laplace_variance(tc_laplace_scale(4, 1, log(2))) - 32 / (log(2) * log(2))) < 1e-12);
}

/* kappa's sigma makes Q(epsilon sigma - 1 / (2 sigma)) no larger than delta, and hardly smaller. */
static void kappa_keeps_its_tail_below_delta(void **state) {
    (void)state;
    uint64_t seed = 10;
    for (size_t i = 0; i < CASES(300); i++) {
        AT_CASE(i);
        double epsilon = exp(uniform(&seed, -8, 3)), delta = exp(uniform(&seed, -60, -0.3));
        double kappa = tc_kappa(delta, epsilon);
        for (int side = 0; side < 2; side++) {
            (void)mpfr_set_d(right, side == 0 ? kappa : kappa * (1 - 1e-11), MPFR_RNDN);
            (void)mpfr_mul_d(left, right, epsilon, MPFR_RNDN);
            (void)mpfr_ui_div(right, 1, right, MPFR_RNDN);
            (void)mpfr_div_2ui(right, right, 1, MPFR_RNDN);
            (void)mpfr_sub(left, left, right, MPFR_RNDN);
            tail_of(left);
            assert_true((mpfr_cmp_d(left, delta) <= 0) == (side == 0));
        }
        assert_true(tc_gaussian_sigma(epsilon, delta) <= kappa);
    }
}

static void largest_mu_and_least_epsilon_keep_delta_and_are_close(void **state) {
    (void)state;
    uint64_t seed = 11;
    for (size_t i = 0; i < CASES(60); i++) {
        AT_CASE(i);
        double epsilon = i % 9 == 0 ? 0 : exp(uniform(&seed, -9, 3)), delta = exp(uniform(&seed, -69, -0.1));
        double mu = tc_gaussian_gdp(epsilon, delta);
        find_delta(epsilon, mu);
        assert_true(mpfr_cmp_d(left, delta) <= 0);
        find_delta(epsilon, mu * (1 + 1e-9));
        assert_true(mpfr_cmp_d(left, delta) > 0);
        double back = tc_gaussian_epsilon(mu, delta);
        find_delta(back, mu);
        assert_true(mpfr_cmp_d(left, delta) <= 0);
        assert_true(back <= epsilon * (1 + 1e-9) + 1e-300);
        assert_true(tc_gaussian_sigma(epsilon, delta) * mu >= 1 - 1e-15);
    }
}

static void nonsense_gives_the_safe_extreme(void **state) {
    (void)state;
    assert_true(tc_kappa(0, 1) == HUGE_VAL && tc_kappa(0.1, 0) == HUGE_VAL && tc_kappa((double)NAN, 1) == HUGE_VAL);
    assert_true(tc_gaussian_gdp(1, 0) == 0 && tc_gaussian_gdp((double)NAN, 0.1) == 0 &&
                tc_gaussian_gdp(1, (double)NAN) == 0);
    assert_true(tc_gaussian_sigma(1, 0) == HUGE_VAL);
    assert_true(tc_gaussian_epsilon((double)NAN, 0.1) == HUGE_VAL && tc_gaussian_epsilon(1, 0) == HUGE_VAL);
    assert_true(tc_gaussian_epsilon(0, 1e-9) == 0 && tc_gaussian_epsilon(1e-12, 1e-9) == 0);
    assert_true(tc_laplace_scale(1, 1, 0) == HUGE_VAL && tc_laplace_scale(-1, 1, 1) == HUGE_VAL);
    assert_true(tc_laplace_scale((double)NAN, 1, 1) == HUGE_VAL);
}

static void prices_compose_upward(void **state) {
    (void)state;
    assert_true(tc_hold_l1(3) == 4 && tc_hold_l2(3) == 2 && tc_hold_l1(0) == 1 && tc_hold_l2(0) == 1);
    assert_true(tc_group_factor(3, 2) == 1.5 && tc_group_factor(1, 0) == HUGE_VAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trade_off_is_enclosed_although_it_cancels),
        cmocka_unit_test(the_papers_figures_come_out),
        cmocka_unit_test(kappa_keeps_its_tail_below_delta),
        cmocka_unit_test(largest_mu_and_least_epsilon_keep_delta_and_are_close),
        cmocka_unit_test(nonsense_gives_the_safe_extreme),
        cmocka_unit_test(prices_compose_upward),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
