/* Intervals that contain the truth: every operation rounds outward, without touching the rounding mode.
 * Where an operation is exact in double (error-free transformations tell), its bound does not move, so whole numbers
 * stay whole. An operation outside its domain (log of [-1, 2]) gives the whole line; at the edge of it, a half line
 * (1 / [0, 1] = [1, infinity]). Never NaN, never empty.
 *
 * An enclosure of an expression holds at every point of the box where the expression is defined. That it is defined,
 * and differentiable, everywhere on the box follows only when the enclosures are finite: log(x^2) on [-1, 1] has the
 * second derivative [-infinity, -2], yet is not concave there. So reason from derivatives with finite bounds only.
 * (The first derivatives of a norm are bounded by 1 even across its kink; its second ones are not.) */
#ifndef TC_CALCULUS_INTERVAL_INTERVAL_H
#define TC_CALCULUS_INTERVAL_INTERVAL_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct tc_interval {
    double lo, hi; /* lo <= hi; infinite ends allowed */
} tc_interval;

static inline tc_interval tc_point(double x) { return (tc_interval){x, x}; }
static inline bool tc_is_point(tc_interval a) { return a.lo == a.hi; }
static inline bool tc_is_finite(tc_interval a) { return isfinite(a.lo) && isfinite(a.hi); }
static inline bool tc_contains(tc_interval a, double x) { return a.lo <= x && x <= a.hi; }

/* ---- one bound at a time ----------------------------------------------------------------------------------------
 * The result is never above (down) or below (up) the exact one, and equal to it where that is a double. The reasons
 * are in docs/proofs/intervals.md, sections 1 to 4. Addition and multiplication stand here to be inlined. */

_Static_assert(FLT_EVAL_METHOD == 0 && FLT_RADIX == 2 && DBL_MANT_DIG == 53 && DBL_MAX_EXP == 1024,
               "the proofs are for IEEE binary64 evaluated without extra precision");

/* The next double below; -infinity for NaN. */
static inline double tc_below(double x) {
    uint64_t bits;
    if (!(x > -HUGE_VAL))
        return -HUGE_VAL;
    if (x == 0)
        return -0x1p-1074;
    memcpy(&bits, &x, sizeof bits);
    bits = x > 0 ? bits - 1 : bits + 1;
    memcpy(&x, &bits, sizeof bits);
    return x;
}
static inline double tc_above(double x) { return -tc_below(-x); }

/* a + b - sum exactly (Knuth), or something that is not finite, where an intermediate result overflowed. */
static inline double tc_add_error(double a, double b, double sum) {
    double part = sum - a;
    return (a - (sum - part)) + (b - part);
}

static inline double tc_add_down(double a, double b) {
    double sum = a + b, error = tc_add_error(a, b, sum);
    return error >= 0 && error <= DBL_MAX ? sum : tc_below(sum);
}
static inline double tc_add_up(double a, double b) {
    double sum = a + b, error = tc_add_error(a, b, sum);
    return error <= 0 && error >= -DBL_MAX ? sum : tc_above(sum);
}

/* Below this size the remainder of a product may itself underflow. */
#define TC_SAFE_PRODUCT 0x1p-960

double tc_mul_down_rare(double a,
                        double b); /* any operands: tiny, overflowing and infinite products, 0 * infinity = 0 */

static inline double tc_mul_down(double a, double b) {
    double product = a * b, size = fabs(product);
    if (size >= TC_SAFE_PRODUCT && size <= DBL_MAX)
        return fma(a, b, -product) >= 0 ? product : tc_below(product);
    return tc_mul_down_rare(a, b);
}
static inline double tc_mul_up(double a, double b) { return -tc_mul_down(-a, b); }

double tc_div_down(double a, double b); /* b = 0, infinity / infinity: the infinite end */
double tc_div_up(double a, double b);
double tc_sqrt_down(double a); /* a < 0: the infinite end */
double tc_sqrt_up(double a);

/* ---- intervals -------------------------------------------------------------------------------------------------- */

static inline tc_interval tc_whole_line(void) { return (tc_interval){-HUGE_VAL, HUGE_VAL}; }

static inline tc_interval tc_iadd(tc_interval a, tc_interval b) {
    return (tc_interval){tc_add_down(a.lo, b.lo), tc_add_up(a.hi, b.hi)};
}
static inline tc_interval tc_isub(tc_interval a, tc_interval b) {
    return (tc_interval){tc_add_down(a.lo, -b.hi), tc_add_up(a.hi, -b.lo)};
}
static inline tc_interval tc_ineg(tc_interval a) { return (tc_interval){-a.hi, -a.lo}; }

tc_interval tc_imul(tc_interval a, tc_interval b);
tc_interval tc_idiv(tc_interval a, tc_interval b); /* b with 0 at an end: a half line where a has one sign */
tc_interval tc_isquare(tc_interval a);
tc_interval tc_ipowi(tc_interval a, int64_t exponent);
tc_interval tc_ipowr(tc_interval a, double exponent);
/* p (p-1) .. (p-order+1) a^(p-order), the derivative of that order of a^p; below 0 only where p is one whole number. */
tc_interval tc_ipowd(tc_interval a, tc_interval p, size_t order);
tc_interval tc_isqrt(tc_interval a);
tc_interval tc_iexp(tc_interval a);
tc_interval tc_ilog(tc_interval a);
tc_interval tc_ihuber(tc_interval a, tc_interval threshold);
tc_interval tc_iclamp(tc_interval a, tc_interval threshold);
tc_interval tc_iinside(tc_interval a, tc_interval threshold);
tc_interval tc_iabs(tc_interval a);
tc_interval tc_imax(tc_interval a, tc_interval b);
tc_interval tc_ilse(const tc_interval *arguments, size_t count);
tc_interval tc_isoftmax(const tc_interval *arguments, size_t count, size_t index);
/* The same for arguments scattered in an array: the i-th is values[chosen[i]]. */
tc_interval tc_ilse_among(const tc_interval *values, const uint32_t *chosen, size_t count);
tc_interval tc_isoftmax_among(const tc_interval *values, const uint32_t *chosen, size_t count, size_t index);
/* The same for members of structures that are stride bytes apart. */
tc_interval tc_ilse_spaced(const tc_interval *first, size_t stride, size_t count);
tc_interval tc_isoftmax_spaced(const tc_interval *first, size_t stride, size_t count, size_t index);
tc_interval tc_ihump(tc_interval a);                /* a (1 - a), 0 <= a <= 1 */
tc_interval tc_ipair(tc_interval a, tc_interval b); /* a b, both >= 0 and together at most 1 */

/* Arguments wherever they are: the i-th is number chosen[i], or i, of intervals that are stride bytes apart. */
typedef struct tc_interval_arguments {
    const tc_interval *first;
    size_t stride;
    const uint32_t *chosen;
} tc_interval_arguments;
static inline tc_interval tc_argument(tc_interval_arguments v, size_t i) {
    tc_interval value;
    memcpy(&value, (const char *)v.first + v.stride * (v.chosen != NULL ? v.chosen[i] : i), sizeof value);
    return value;
}

/* TC_NORM and its derivatives: exact ranges, up to rounding, if the arguments are independent. */
tc_interval tc_inorm(tc_interval_arguments arguments, size_t count);
tc_interval tc_idirection(tc_interval_arguments arguments, size_t count, size_t index);
tc_interval tc_ibend(tc_interval_arguments arguments, size_t count, size_t i, size_t k);

/* Enclosures at a point, at most a few units in the last place wide. */
tc_interval tc_exp_at(double x);
tc_interval tc_log_at(double x);

tc_interval tc_hull(tc_interval a, tc_interval b);
tc_interval tc_meet(tc_interval a, tc_interval b); /* of two enclosures of the same thing; they overlap */
double tc_magnitude(tc_interval a);                /* the largest |x| in it */
double tc_mignitude(tc_interval a);                /* the smallest |x| in it */

#endif
