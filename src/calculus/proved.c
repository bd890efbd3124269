#include "calculus/proved.h"

/* exp(p log x), with log x and the product as sums of two doubles, so that the error does not grow with log x. */
static double power(double x, double p) {
    tc_log_parts l = tc_split_log(x);
    double scale = l.k * TC_LN2_HIGH, sum = scale + l.f;
    double low = tc_add_error(scale, l.f, sum) + (l.w + l.k * TC_LN2_LOW);
    double high = sum + low;
    low = tc_add_error(sum, low, high);
    double product = p * high;
    if (!(fabs(product) <= 800))
        return product > 0 ? HUGE_VAL : 0;
    double rest = fma(p, high, -product) + p * low; /* |rest| <= 2.1 u 800 */
    tc_exp_parts e = tc_split_exp(product);
    return tc_scale(e.high + (e.low + (e.high + e.low) * rest), e.k);
}

double tc_pow_proved(double x, double p) {
    if (!(x >= 0))
        return (double)NAN;
    if (x == 0 || isinf(x))
        return (x == 0) == (p > 0) ? 0 : HUGE_VAL;
    return power(x, p);
}
