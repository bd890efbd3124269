#include "calculus/interval/elementary.h"

/* exp and log with proved bounds. The evaluator's log serves only as a guess, which the enclosure of exp then checks
 * and corrects. Each bound below is derived in docs/proofs/intervals.md, sections 5 and 6. */

#define UNIT TC_UNIT

static double error_of(tc_exp_parts e) { return 4 * UNIT * (e.r * e.r) + (e.k == 0 ? 0x1p-104 : 0x1p-76); }

tc_interval tc_exp_at(double x) {
    if (x == 0)
        return tc_point(1);
    if (fabs(x) < 0x1p-60) /* 1 + x < exp x < 1 + 2x, or above 1 + x where x < 0 */
        return x > 0 ? (tc_interval){1, 1 + 0x1p-52} : (tc_interval){1 - 0x1p-53, 1};
    if (x > 710)
        return (tc_interval){DBL_MAX, HUGE_VAL};
    if (x < -746)
        return (tc_interval){0, isinf(x) ? 0 : 0x1p-1074};
    tc_exp_parts e = tc_split_exp(x);
    double error = error_of(e);
    tc_interval scaled = {tc_add_down(e.high, tc_add_down(e.low, -error)), tc_add_up(e.high, tc_add_up(e.low, error))};
    if (e.k >= -1021 && e.k <= 1022) { /* exact */
        double power = tc_power_of_two(e.k);
        return (tc_interval){scaled.lo * power, scaled.hi * power};
    }
    double half = tc_power_of_two(e.k / 2), other = tc_power_of_two(e.k - e.k / 2);
    return (tc_interval){tc_mul_down(scaled.lo * half, other), tc_mul_up(scaled.hi * half, other)};
}

/* log(1 + d), |d| <= 2^-10, by its series. */
static tc_interval log_near_one(double d) {
    static const double coefficients[] = {0, 1, -1.0 / 2, 1.0 / 3, -1.0 / 4, 1.0 / 5, -1.0 / 6, 1.0 / 7, -1.0 / 8};
    double tail = coefficients[8];
    for (int i = 7; i >= 2; i--)
        tail = coefficients[i] + d * tail;
    tail = d * d * tail; /* log(1 + d) - d */
    double error = 4 * UNIT * (d * d);
    return (tc_interval){tc_add_down(d, tc_add_down(tail, -error)), tc_add_up(d, tc_add_up(tail, error))};
}

/* (e - 1) log 2 <= log x <= e log 2 for x = m 2^e, 1/2 <= m < 1: should the guess ever be useless. */
static tc_interval log_roughly(double x) {
    int e;
    (void)frexp(x, &e);
    tc_interval ln2 = {TC_LN2_HIGH, TC_LN2_HIGH + 0x1p-43};
    return (tc_interval){tc_imul(tc_point(e - 1), ln2).lo, tc_imul(tc_point(e), ln2).hi};
}

tc_interval tc_log_at(double x) {
    if (!(x >= 0))
        return tc_whole_line();
    if (x == 0)
        return tc_point(-HUGE_VAL);
    if (isinf(x))
        return tc_point(HUGE_VAL);
    if (fabs(x - 1) <= 0x1p-10)
        return log_near_one(x - 1);
    double guess = tc_log_proved(x); /* checked: log x = guess + log(1 + z), 1 + z = x exp(-guess) */
    if (!(fabs(guess) >= 0x1p-11 && fabs(guess) <= 750))
        return log_roughly(x);
    tc_exp_parts e = tc_split_exp(-guess);
    double high = e.high + e.low, low = tc_add_error(e.high, e.low, high);
    double scaled = ldexp(x, e.k), product = scaled * high;
    if (!(fabs(product - 1) <= 0x1p-20))
        return log_roughly(x);
    double z = (product - 1) + (fma(scaled, high, -product) + scaled * low);
    double error = scaled * error_of(e) + UNIT * (0x1p-49 + 2 * fabs(z)) + 2 * z * z;
    return (tc_interval){tc_add_down(guess, tc_add_down(z, -error)), tc_add_up(guess, tc_add_up(z, error))};
}

tc_interval tc_iexp(tc_interval a) {
    tc_interval low = tc_exp_at(a.lo);
    if (a.lo == a.hi)
        return low;
    return (tc_interval){low.lo, tc_exp_at(a.hi).hi};
}

tc_interval tc_ilog(tc_interval a) {
    if (a.lo < 0)
        return tc_whole_line();
    tc_interval low = tc_log_at(a.lo);
    if (a.lo == a.hi)
        return low;
    return (tc_interval){low.lo, tc_log_at(a.hi).hi};
}

/* ---- the evaluator's powers -------------------------------------------------------------------------------------- */

static double power(double x, double p) {
    tc_power_parts parts = tc_split_power(x, p);
    double exponent = parts.high;
    bool is_usual = fabs(exponent) <= 800;
    parts.high = tc_choose(is_usual, exponent, 0);
    return tc_choose(is_usual, tc_join_power(parts), tc_choose(exponent > 0, HUGE_VAL, 0));
}

/* Zero is a state like any other: the power of 1 is computed in its place, and not taken. */
double tc_pow_proved(double x, double p) {
    bool is_usual = (x > 0) & (x <= DBL_MAX); /* both, so that neither is a branch */
    double usual = power(tc_choose(is_usual, x, 1), p), edge = tc_choose((x == 0) == (p > 0), 0, HUGE_VAL);
    return tc_choose(is_usual, usual, tc_choose(x >= 0, edge, (double)NAN));
}
