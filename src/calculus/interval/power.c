#include "calculus/interval/interval.h"

/* Powers of a non-negative base, one bound at a time. Squarings from the highest bit of the exponent: every partial
 * result is a power of x with a smaller exponent, so that nothing is rounded where the final power is a double. */
static double whole_power_down(double x, uint64_t n) {
    double power = x;
    int bit = 63;
    while (bit > 0 && !(n >> bit & 1))
        bit--;
    while (bit-- > 0) {
        power = tc_mul_down(power, power);
        if (n >> bit & 1)
            power = tc_mul_down(power, x);
    }
    return power;
}

static double whole_power_up(double x, uint64_t n) {
    double power = x;
    int bit = 63;
    while (bit > 0 && !(n >> bit & 1))
        bit--;
    while (bit-- > 0) {
        power = tc_mul_up(power, power);
        if (n >> bit & 1)
            power = tc_mul_up(power, x);
    }
    return power;
}

static tc_interval positive_power(tc_interval a, uint64_t n) {
    if (n % 2 == 0)
        return (tc_interval){whole_power_down(tc_mignitude(a), n), whole_power_up(tc_magnitude(a), n)};
    /* odd: increasing, and odd as a function */
    return (tc_interval){a.lo >= 0 ? whole_power_down(a.lo, n) : -whole_power_up(-a.lo, n),
                         a.hi >= 0 ? whole_power_up(a.hi, n) : -whole_power_down(-a.hi, n)};
}

tc_interval tc_ipowi(tc_interval a, int64_t exponent) {
    if (exponent == 0)
        return tc_point(1);
    if (exponent > 0)
        return positive_power(a, (uint64_t)exponent);
    if (a.lo < 0 && a.hi > 0)
        return tc_whole_line(); /* a pole inside; for an even power the quotient would not show it */
    return tc_idiv(tc_point(1), positive_power(a, (uint64_t)-exponent));
}

/* x^p for x > 0 and finite: exactly through the square root where p is a small half, else exp(p log x). */
static tc_interval real_power_at(double x, double p) {
    if (x == 1)
        return tc_point(1);
    if (fabs(p) < 0x1p31 && p == floor(p))
        return tc_ipowi(tc_point(x), (int64_t)p);
    if (fabs(p) <= 32 && p + p == floor(p + p)) {
        tc_interval base = tc_point(x), root = tc_isqrt(base);
        double below = floor(fabs(p));
        tc_interval power = below > 0 ? tc_imul(tc_ipowi(base, (int64_t)below), root) : root;
        return p > 0 ? power : tc_idiv(tc_point(1), power);
    }
    return tc_iexp(tc_imul(tc_point(p), tc_log_at(x)));
}

tc_interval tc_ipowr(tc_interval a, double exponent) {
    if (a.lo < 0 || isnan(exponent))
        return tc_whole_line();
    if (exponent == 0)
        return tc_point(1);
    bool rises = exponent > 0;
    double at_zero = rises ? 0 : HUGE_VAL, at_infinity = rises ? HUGE_VAL : 0;
    double low = rises ? a.lo : a.hi, high = rises ? a.hi : a.lo;
    return (tc_interval){low == 0     ? at_zero
                         : isinf(low) ? at_infinity
                                      : real_power_at(low, exponent).lo,
                         high == 0     ? at_zero
                         : isinf(high) ? at_infinity
                                       : real_power_at(high, exponent).hi};
}
