/* exp and log taken apart: the pieces from which both the enclosures (elementary.c) and the evaluator's own functions
 * (below) are made. The bounds are derived in docs/proofs/intervals.md, section 5, and docs/proofs/rounding.md. */
#ifndef TC_CALCULUS_INTERVAL_ELEMENTARY_H
#define TC_CALCULUS_INTERVAL_ELEMENTARY_H

#include "calculus/interval/interval.h"

#define TC_UNIT 0x1p-53 /* u: the largest relative error of one rounding */

/* log 2 = TC_LN2_HIGH + TC_LN2_LOW + rest, |rest| <= 2^-89; 42 bits each: k times each is exact for |k| < 2^11. */
#define TC_LN2_HIGH 0x1.62e42fefa38p-1
#define TC_LN2_LOW 0x1.ef35793c768p-45

/* A choice without a branch: which of the two it is must not show in the path that a processor takes
 * (docs/proofs/time.md). */
static inline double tc_choose(bool condition, double yes, double no) {
    uint64_t mask = UINT64_C(0) - (uint64_t)condition, yes_bits, no_bits;
    __asm__("" : "+r"(mask)); /* a compiler that sees where the mask is from may make a jump of it */
    memcpy(&yes_bits, &yes, sizeof yes_bits);
    memcpy(&no_bits, &no, sizeof no_bits);
    yes_bits = (yes_bits & mask) | (no_bits & ~mask);
    memcpy(&yes, &yes_bits, sizeof yes);
    return yes;
}

/* exp x = 2^k (high + low + d), |d| <= 4 u r^2 + 2^-76 (k = 0: 2^-104). */
typedef struct tc_exp_parts {
    int32_t k;
    double r, high, low;
} tc_exp_parts;

/* For |x| <= 800. No branches, so that a loop over it can be vectorised. */
static inline tc_exp_parts tc_split_exp(double x) {
    tc_exp_parts e;
    /* adding 1.5 * 2^52 rounds to a whole number and leaves it in the last bits */
    double shifted = x * 0x1.71547652b82fep+0 + 0x1.8p52, k = shifted - 0x1.8p52;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    e.k = (int32_t)((uint32_t)bits & 0xfffu) - ((uint32_t)bits & 0x800u ? 0x1000 : 0);
    double coarse = x - k * TC_LN2_HIGH, fine = -(k * TC_LN2_LOW);  /* all exact */
    double r = coarse + fine, rest = tc_add_error(coarse, fine, r); /* |r| <= 0.347, |rest| <= u |r| */
    double tail = 0x1.93974a8c07c9dp-37; /* 1 / 14!, and so on down to 1 / 2!, each to nearest */
    tail = 0x1.6124613a86d09p-33 + r * tail;
    tail = 0x1.1eed8eff8d898p-29 + r * tail;
    tail = 0x1.ae64567f544e4p-26 + r * tail;
    tail = 0x1.27e4fb7789f5cp-22 + r * tail;
    tail = 0x1.71de3a556c734p-19 + r * tail;
    tail = 0x1.a01a01a01a01ap-16 + r * tail;
    tail = 0x1.a01a01a01a01ap-13 + r * tail;
    tail = 0x1.6c16c16c16c17p-10 + r * tail;
    tail = 0x1.1111111111111p-7 + r * tail;
    tail = 0x1.5555555555555p-5 + r * tail;
    tail = 0x1.5555555555555p-3 + r * tail;
    tail = 0.5 + r * tail;
    tail = r * r * tail; /* exp r - 1 - r */
    e.r = r;
    e.high = 1 + r;
    e.low = (tail + tc_add_error(1, r, e.high)) + (rest + rest * r);
    return e;
}

static inline double tc_power_of_two(int32_t k) { /* -1022 <= k <= 1023 */
    uint64_t bits = (uint64_t)(int64_t)(k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* value 2^k for 1/2 <= value <= 2, |k| <= 2000: the first product is exact, only the second can round. */
static inline double tc_scale(double value, int32_t k) {
    int32_t half = (int32_t)((uint32_t)(k + 4096) >> 1) - 2048;
    return value * tc_power_of_two(half) * tc_power_of_two(k - half);
}

/* log x = k log 2 + f + w up to 0.27 u, and f = 2^-k x - 1 exactly; x > 0 and finite. |f + w| <= 0.3466. */
typedef struct tc_log_parts {
    double k, f, w;
} tc_log_parts;

static inline tc_log_parts tc_split_log(double x) {
    const uint64_t least = UINT64_C(0x3fe6a09e00000000); /* just below the root of 1/2 */
    int32_t is_subnormal = x < DBL_MIN;
    int32_t shift = is_subnormal * 54;
    x *= tc_power_of_two(shift);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits += UINT64_C(0x3ff0000000000000) - least;
    tc_log_parts l = {.k = (double)((int32_t)(bits >> 52) - 1023 - shift)};
    bits = (bits & UINT64_C(0x000fffffffffffff)) + least;
    memcpy(&x, &bits, sizeof x);
    /* log(1 + f) = f - f^2/2 + s (f^2/2 + R), s = f / (2 + f), R = 2 (s^2/3 + s^4/5 + ...) */
    double f = x - 1, s = f / (2 + f), z = s * s, half_square = 0.5 * f * f;
    double tail = 2.0 / 21;
    tail = 2.0 / 19 + z * tail;
    tail = 2.0 / 17 + z * tail;
    tail = 2.0 / 15 + z * tail;
    tail = 2.0 / 13 + z * tail;
    tail = 2.0 / 11 + z * tail;
    tail = 2.0 / 9 + z * tail;
    tail = 2.0 / 7 + z * tail;
    tail = 2.0 / 5 + z * tail;
    tail = 2.0 / 3 + z * tail;
    l.f = f;
    l.w = s * (half_square + z * tail) - half_square;
    return l;
}

/* ---- the evaluator's own functions -------------------------------------------------------------------------------
 *
 * exp, log and real powers for the evaluator of tapes in double: near the exact value by proof, and the same bits on
 * every machine, which no library promises. Errors, for finite results, with u = 2^-53 (docs/proofs/rounding.md):
 *   |tc_exp_proved(x) - exp x|       <= 2 u exp x + 2^-1074
 *   |tc_log_proved(x) - log x|       <= 3 u |log x|
 *   |tc_pow_proved(x, p) - x^p|      <= tc_pow_unit(p) x^p + 2^-1074      where |p| <= 2^40
 * Outside the domain, and at infinity, the results are those of IEEE arithmetic. */

#define TC_EXP_UNIT (2 * TC_UNIT)
#define TC_LOG_UNIT (3 * TC_UNIT)
static inline double tc_pow_unit(double p) { return (fabs(p) + 3) * TC_UNIT; }

static inline double tc_exp_proved(double x) {
    x = x > 800 ? 800 : x < -800 ? -800 : x;
    tc_exp_parts e = tc_split_exp(x);
    return tc_scale(e.high + e.low, e.k);
}

static inline double tc_log_proved(double x) {
    if (!(x > 0 && x <= DBL_MAX))
        return x == 0 ? -HUGE_VAL : x > 0 ? x : (double)NAN;
    tc_log_parts l = tc_split_log(x);
    return l.k * TC_LN2_HIGH + (l.f + (l.w + l.k * TC_LN2_LOW));
}

double tc_pow_proved(double x, double p);

/* p log x as a sum of two doubles, so that the error of its exponential does not grow with log x; x > 0 and finite. */
typedef struct tc_power_parts {
    double high, low; /* |low| <= 2.1 u 800 where |high| <= 800 */
} tc_power_parts;

static inline tc_power_parts tc_split_power(double x, double p) {
    tc_log_parts l = tc_split_log(x);
    double scale = l.k * TC_LN2_HIGH, sum = scale + l.f;
    double low = tc_add_error(scale, l.f, sum) + (l.w + l.k * TC_LN2_LOW);
    double high = sum + low;
    low = tc_add_error(sum, low, high);
    double product = p * high;
    return (tc_power_parts){product, fma(p, high, -product) + p * low};
}

/* tc_pow_proved for |high| <= 800. No branches, so that a loop over it can be vectorised. */
static inline double tc_join_power(tc_power_parts power) {
    tc_exp_parts e = tc_split_exp(power.high);
    return tc_scale(e.high + (e.low + (e.high + e.low) * power.low), e.k);
}

#endif
