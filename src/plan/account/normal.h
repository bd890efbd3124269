/* Enclosures of the standard normal law: every interval holds the exact value (docs/proofs/gaussian.md).
 * phi is the density, Q(x) = P(N > x) the upper tail, M = Q / phi Mills' ratio, which falls and is convex, with
 * -M'(x) = 1 - x M(x) falling and convex too. About 1e-14 of relative width for |x| <= 38. */
#ifndef TC_PRIVACY_NORMAL_H
#define TC_PRIVACY_NORMAL_H

#include "calculus/interval/interval.h"

tc_interval tc_normal_density(tc_interval x);
tc_interval tc_normal_tail(tc_interval x);     /* Q */
tc_interval tc_normal_log_tail(tc_interval x); /* log Q, also where Q underflows */
tc_interval tc_mills(tc_interval x);           /* M */
tc_interval tc_mills_slope(tc_interval x);     /* -M' > 0 */

/* A double not below Q^-1(probability), and within some last places of it; infinite for 0. */
double tc_normal_tail_inverse_up(double probability);

#endif
