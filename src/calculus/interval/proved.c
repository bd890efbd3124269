#include "calculus/interval/proved.h"

/* exp(p log x), with log x and the product as sums of two doubles, so that the error does not grow with log x. */
static double power(double x, double p) {
    tc_log_parts l = tc_split_log(x);
    double scale = l.k * TC_LN2_HIGH, sum = scale + l.f;
    double low = tc_add_error(scale, l.f, sum) + (l.w + l.k * TC_LN2_LOW);
    double high = sum + low;
    low = tc_add_error(sum, low, high);
    double product = p * high;
    bool is_usual = fabs(product) <= 800;
    double rest = fma(p, high, -product) + p * low; /* |rest| <= 2.1 u 800 */
    tc_exp_parts e = tc_split_exp(tc_choose(is_usual, product, 0));
    double usual = tc_scale(e.high + (e.low + (e.high + e.low) * rest), e.k);
    return tc_choose(is_usual, usual, tc_choose(product > 0, HUGE_VAL, 0));
}

/* Zero is a state like any other: the power of 1 is computed in its place, and not taken. */
double tc_pow_proved(double x, double p) {
    bool is_usual = (x > 0) & (x <= DBL_MAX); /* both, so that neither is a branch */
    double usual = power(tc_choose(is_usual, x, 1), p), edge = tc_choose((x == 0) == (p > 0), 0, HUGE_VAL);
    return tc_choose(is_usual, usual, tc_choose(x >= 0, edge, (double)NAN));
}
