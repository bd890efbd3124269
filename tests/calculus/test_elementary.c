/* exp, log and powers of the evaluator against multiple precision. */
/* labels: long */
#include "calculus/interval/elementary.h"
#include "calculus/nasty.h"
#include "support/cmocka.h"

#include <mpfr.h>

typedef struct judge {
    mpfr_t argument, other, truth, bound;
    double worst; /* error over bound, the smallest number apart */
} judge;

static void judge_begin(judge *j) {
    mpfr_inits2(160, j->argument, j->other, j->truth, j->bound, (mpfr_ptr)0);
    j->worst = 0;
}

static void judge_end(judge *j) { mpfr_clears(j->argument, j->other, j->truth, j->bound, (mpfr_ptr)0); }

/* |got - truth| <= unit |truth| + tiny */
static void judge_value(judge *j, double got, double unit, double tiny, double x, double p) {
    (void)mpfr_abs(j->bound, j->truth, MPFR_RNDD);
    (void)mpfr_mul_d(j->bound, j->bound, unit, MPFR_RNDD);
    (void)mpfr_add_d(j->bound, j->bound, tiny, MPFR_RNDD);
    (void)mpfr_sub_d(j->other, j->truth, got, MPFR_RNDU);
    (void)mpfr_abs(j->other, j->other, MPFR_RNDU);
    if (isfinite(got) && mpfr_cmp(j->other, j->bound) > 0) {
        print_error("at %a, %a: %a, in truth %a\n", x, p, got, mpfr_get_d(j->truth, MPFR_RNDN));
        fail();
    }
    if (isfinite(got) && fabs(got) > 0x1p-1000) {
        (void)mpfr_div(j->other, j->other, j->bound, MPFR_RNDU);
        j->worst = fmax(j->worst, mpfr_get_d(j->other, MPFR_RNDU));
    }
    if (!isfinite(got)) /* only where the truth is as good as too large */
        assert_true(mpfr_cmp_d(j->truth, 0x1.ffffffffffffcp1023) > 0);
}

static void judge_exp(judge *j, double x) {
    (void)mpfr_set_d(j->argument, x, MPFR_RNDN);
    (void)mpfr_exp(j->truth, j->argument, MPFR_RNDN);
    judge_value(j, tc_exp_proved(x), TC_EXP_UNIT, 0x1p-1074, x, 0);
}

static void judge_log(judge *j, double x) {
    (void)mpfr_set_d(j->argument, x, MPFR_RNDN);
    (void)mpfr_log(j->truth, j->argument, MPFR_RNDN);
    judge_value(j, tc_log_proved(x), TC_LOG_UNIT, 0, x, 0);
}

static void judge_pow(judge *j, double x, double p) {
    (void)mpfr_set_d(j->argument, x, MPFR_RNDN);
    (void)mpfr_set_d(j->other, p, MPFR_RNDN);
    (void)mpfr_pow(j->truth, j->argument, j->other, MPFR_RNDN);
    judge_value(j, tc_pow_proved(x, p), tc_pow_unit(p), 0x1p-1074, x, p);
}

static void exp_errs_by_no_more_than_proved(void **state) {
    (void)state;
    uint64_t seed = 41;
    judge j;
    judge_begin(&j);
    for (size_t i = 0; i < CASES(400000); i++) {
        double x = i % 4 == 0 ? nasty(&seed) : i % 4 == 1 ? uniform(&seed, -760, 720) : uniform(&seed, -2, 2);
        judge_exp(&j, x);
        if (i % 8 == 7) /* next to the places where the reduction turns */
            judge_exp(&j,
                      ((double)random_below(&seed, 400) - 200.5) * 0x1.62e42fefa39efp-1 + uniform(&seed, -1, 1) * 1e-9);
    }
    print_message("exp: %.2f of 2 u\n", j.worst);
    judge_end(&j);
}

static void log_errs_by_no_more_than_proved(void **state) {
    (void)state;
    uint64_t seed = 42;
    judge j;
    judge_begin(&j);
    for (size_t i = 0; i < CASES(400000); i++) {
        double x = fabs(nasty(&seed));
        if (i % 4 == 1)
            x = uniform(&seed, 0.5, 2);
        if (i % 4 == 2)
            x = 1 + ldexp(uniform(&seed, -1, 1), -(int)random_below(&seed, 54));
        if (i % 4 == 3)
            x = ldexp(uniform(&seed, 0.70710, 0.70712), (int)random_below(&seed, 5) - 2);
        if (x > 0)
            judge_log(&j, x);
    }
    print_message("log: %.2f of 3 u\n", j.worst);
    judge_end(&j);
}

static void powers_err_by_no_more_than_proved(void **state) {
    (void)state;
    static const double exponents[] = {0.5, -0.5, 1.5, 2.5, 0.1, 1.7, -1.3, 3.3, 17, 100, -40, 1e-3, 1e-200, 1e5};
    uint64_t seed = 43;
    judge j;
    judge_begin(&j);
    for (size_t i = 0; i < CASES(200000); i++) {
        double p = i % 3 == 0 ? uniform(&seed, -8, 8) : exponents[random_below(&seed, 14)];
        double x = i % 5 == 0 ? fabs(nasty(&seed)) : exp(uniform(&seed, -700, 700) / fmax(1, fabs(p)));
        if (x > 0)
            judge_pow(&j, x, p);
    }
    print_message("pow: %.2f of (|p| + 3) u\n", j.worst);
    judge_end(&j);
}

static void edges_are_those_of_ieee_arithmetic(void **state) {
    (void)state;
    assert_true(tc_exp_proved(0) == 1 && tc_exp_proved(HUGE_VAL) == HUGE_VAL && tc_exp_proved(-HUGE_VAL) == 0);
    assert_true(isnan(tc_exp_proved((double)NAN)));
    assert_true(tc_log_proved(1) == 0 && tc_log_proved(0) == -HUGE_VAL && tc_log_proved(HUGE_VAL) == HUGE_VAL);
    assert_true(isnan(tc_log_proved(-1)) && isnan(tc_log_proved((double)NAN)) && isnan(tc_log_proved(-HUGE_VAL)));
    assert_true(tc_pow_proved(0, 0.5) == 0 && tc_pow_proved(0, -0.5) == HUGE_VAL && tc_pow_proved(1, 1e300) == 1);
    assert_true(tc_pow_proved(HUGE_VAL, 0.5) == HUGE_VAL && tc_pow_proved(HUGE_VAL, -0.5) == 0);
    assert_true(isnan(tc_pow_proved(-1, 0.5)) && isnan(tc_pow_proved((double)NAN, 0.5)));
    assert_true(tc_pow_proved(2, 1e10) == HUGE_VAL && tc_pow_proved(0.5, 1e10) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_errs_by_no_more_than_proved),
        cmocka_unit_test(log_errs_by_no_more_than_proved),
        cmocka_unit_test(powers_err_by_no_more_than_proved),
        cmocka_unit_test(edges_are_those_of_ieee_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
