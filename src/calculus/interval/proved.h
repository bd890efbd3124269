/* exp, log and real powers for the evaluator of tapes in double: near the exact value by proof, and the same bits on
 * every machine, which no library promises. Errors, for finite results, with u = 2^-53 (docs/proofs/rounding.md):
 *   |tc_exp_proved(x) - exp x|       <= 2 u exp x + 2^-1074
 *   |tc_log_proved(x) - log x|       <= 3 u |log x|
 *   |tc_pow_proved(x, p) - x^p|      <= tc_pow_unit(p) x^p + 2^-1074      where |p| <= 2^40
 * Outside the domain, and at infinity, the results are those of IEEE arithmetic. */
#ifndef TC_CALCULUS_PROVED_H
#define TC_CALCULUS_PROVED_H

#include "calculus/interval/elementary.h"

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

#endif
