#include "calculus/interval.h"

/* exp and log with proved bounds. The library's log serves only as a guess, which the enclosure of exp then checks and
 * corrects. Each bound below is derived in docs/proofs/intervals.md, sections 5 and 6. */

#define UNIT 0x1p-53 /* u: the largest relative error of one rounding */

/* log 2 = LN2_HIGH + LN2_LOW + rest, |rest| <= 2^-89; 42 bits each, so that k times each is exact for |k| < 2^11. */
#define LN2_HIGH 0x1.62e42fefa38p-1
#define LN2_LOW 0x1.ef35793c768p-45
#define ONE_OVER_LN2 0x1.71547652b82fep+0

enum { TAYLOR_DEGREE = 14 };
static const double one_over_factorial[TAYLOR_DEGREE + 1] = { /* to nearest */
    1, 1, 0x1p-1, 0x1.5555555555555p-3, 0x1.5555555555555p-5, 0x1.1111111111111p-7, 0x1.6c16c16c16c17p-10,
    0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22,
    0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29, 0x1.6124613a86d09p-33, 0x1.93974a8c07c9dp-37,
};

/* exp x = 2^k (high + low + d), |d| <= error. */
typedef struct exp_parts {
    int k;
    double high, low, error;
} exp_parts;

/* For 2^-60 <= |x| <= 800. */
static exp_parts split_exp(double x) {
    exp_parts e;
    double turns = x * ONE_OVER_LN2;
    e.k = (int)(turns < 0 ? turns - 0.5 : turns + 0.5);
    double k = e.k, coarse = x - k * LN2_HIGH, fine = -(k * LN2_LOW); /* all exact */
    double r = coarse + fine, rest = tc_add_error(coarse, fine, r);   /* |r| <= 0.347, |rest| <= u |r| */
    double tail = one_over_factorial[TAYLOR_DEGREE];
    for (int i = TAYLOR_DEGREE - 1; i >= 2; i--)
        tail = one_over_factorial[i] + r * tail;
    tail = r * r * tail; /* exp r - 1 - r */
    e.high = 1 + r;
    e.low = (tail + tc_add_error(1, r, e.high)) + (rest + rest * r);
    e.error = 4 * UNIT * (r * r) + (e.k == 0 ? 0x1p-104 : 0x1p-76);
    return e;
}

static double power_of_two(int k) { /* -1022 <= k <= 1023 */
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

tc_interval tc_exp_at(double x) {
    if (x == 0)
        return tc_point(1);
    if (fabs(x) < 0x1p-60) /* 1 + x < exp x < 1 + 2x, or above 1 + x where x < 0 */
        return x > 0 ? (tc_interval){1, 1 + 0x1p-52} : (tc_interval){1 - 0x1p-53, 1};
    if (x > 710)
        return (tc_interval){DBL_MAX, HUGE_VAL};
    if (x < -746)
        return (tc_interval){0, isinf(x) ? 0 : 0x1p-1074};
    exp_parts e = split_exp(x);
    tc_interval scaled = {tc_add_down(e.high, tc_add_down(e.low, -e.error)),
                          tc_add_up(e.high, tc_add_up(e.low, e.error))};
    if (e.k >= -1021 && e.k <= 1022) { /* exact */
        double power = power_of_two(e.k);
        return (tc_interval){scaled.lo * power, scaled.hi * power};
    }
    double half = power_of_two(e.k / 2), other = power_of_two(e.k - e.k / 2);
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

/* (e - 1) log 2 <= log x <= e log 2 for x = m 2^e, 1/2 <= m < 1: should the library's log ever be useless. */
static tc_interval log_roughly(double x) {
    int e;
    (void)frexp(x, &e);
    tc_interval ln2 = {LN2_HIGH, LN2_HIGH + 0x1p-43};
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
    double guess = log(x); /* checked: log x = guess + log(1 + z), 1 + z = x exp(-guess) */
    if (!(fabs(guess) >= 0x1p-11 && fabs(guess) <= 750))
        return log_roughly(x);
    exp_parts e = split_exp(-guess);
    double high = e.high + e.low, low = tc_add_error(e.high, e.low, high);
    double scaled = ldexp(x, e.k), product = scaled * high;
    if (!(fabs(product - 1) <= 0x1p-20))
        return log_roughly(x);
    double z = (product - 1) + (fma(scaled, high, -product) + scaled * low);
    double error = scaled * e.error + UNIT * (0x1p-49 + 2 * fabs(z)) + 2 * z * z;
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
