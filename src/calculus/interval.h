/* Intervals that contain the truth: every operation rounds outward, without touching the rounding mode.
 * Where an operation is exact in double (error-free transformations tell), its bound does not move, so whole numbers
 * stay whole. An operation outside its domain (log of [-1, 2]) gives the whole line. Never NaN, never empty. */
#ifndef TC_CALCULUS_INTERVAL_H
#define TC_CALCULUS_INTERVAL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tc_interval {
    double lo, hi; /* lo <= hi; infinite ends allowed */
} tc_interval;

static inline tc_interval tc_point(double x) { return (tc_interval){x, x}; }
static inline bool tc_is_point(tc_interval a) { return a.lo == a.hi; }
static inline bool tc_is_finite(tc_interval a) { return isfinite(a.lo) && isfinite(a.hi); }
static inline bool tc_contains(tc_interval a, double x) { return a.lo <= x && x <= a.hi; }

/* One bound at a time: the result is never above (down) or below (up) the exact one. */
double tc_add_down(double a, double b);
double tc_add_up(double a, double b);
double tc_mul_down(double a, double b);
double tc_mul_up(double a, double b);
double tc_div_down(double a, double b);
double tc_div_up(double a, double b);
double tc_sqrt_down(double a);
double tc_sqrt_up(double a);

tc_interval tc_iadd(tc_interval a, tc_interval b);
tc_interval tc_isub(tc_interval a, tc_interval b);
tc_interval tc_imul(tc_interval a, tc_interval b);
tc_interval tc_idiv(tc_interval a, tc_interval b);
tc_interval tc_ineg(tc_interval a);
tc_interval tc_isquare(tc_interval a);
tc_interval tc_ipowi(tc_interval a, int64_t exponent);
tc_interval tc_ipowr(tc_interval a, double exponent);
tc_interval tc_isqrt(tc_interval a);
tc_interval tc_iexp(tc_interval a);
tc_interval tc_ilog(tc_interval a);
tc_interval tc_ihuber(tc_interval a, tc_interval threshold);
tc_interval tc_iclamp(tc_interval a, tc_interval threshold);
tc_interval tc_iinside(tc_interval a, tc_interval threshold);
tc_interval tc_ilse(const tc_interval *arguments, size_t count);
tc_interval tc_isoftmax(const tc_interval *arguments, size_t count, size_t index);

tc_interval tc_hull(tc_interval a, tc_interval b);
tc_interval tc_meet(tc_interval a, tc_interval b); /* of two enclosures of the same thing; they overlap */
double tc_magnitude(tc_interval a);                /* the largest |x| in it */
double tc_mignitude(tc_interval a);                /* the smallest |x| in it */

#endif
