/* Feasibility of the answer of the method `tacit`, from released data alone (docs/proofs/method.md).
 *
 * The slow filter r and the answer x-bar are averages with the same weights, of what was released and of what was
 * observed. So r = x-bar + averaged noise, exactly, whatever the cloud did with the noise in between, and with v the
 * sum of the squared weights and s2_c the variance of a coordinate's (or form's) noise
 *
 *     u_j = g_j(r) + z sqrt(v sum_c s2_c (dg_j/dx_c)^2) + v/2 z^2 sum_c s2_c d2g_j/dx_c^2
 *
 * bounds g_j(x-bar), for all j at once with probability P where z = Q^-1((1 - P)/m) (larger for Laplace noise). For
 * rows that are affine by structure that is exact; for others it is of second order in r - x-bar.
 *
 * --margin auto: M_j is what the rounds that are left have to leave, so that u_j <= 0 after the last one. With W_k the
 * sum of all weights up to round k and q = W_k / W_T,
 *
 *     M_j = ((1 + EXTRA) (u_j - g_j(r)) + q g_j(r)) / (1 - q),     u_j - g_j(r) as it will be in round T. */
#ifndef TC_ENGINE_MARGIN_H
#define TC_ENGINE_MARGIN_H

#include "engine/tacit/pilot_parts.h"

/* P where --margin does not say. */
#define TC_FEASIBLE_PROBABILITY 0.95

tc_margin *tc_margin_new(tc_arena *arena, const tc_method_facts *facts, const tc_plan *plan, const tc_model *model,
                         const tc_derivatives *derivatives);

/* Round k, after tc_pilot_rows_measure: the margins M_j, in the file's units. Only for --margin auto. */
void tc_margin_set(const tc_margin *margin, const tc_pilot_rows *rows, const tc_gauged *gauged, uint64_t k,
                   double *margins);

/* u_j after round k, the rows and the gauge as they were then. */
const tc_feasibility *tc_margin_judge(tc_margin *margin, const tc_pilot_rows *rows, const tc_gauged *gauged,
                                      uint64_t k);

/* An upper bound of the z with P(noise > z sd) = tail, for the average of k rounds' noise of whatever coordinates. */
double tc_margin_quantile(tc_mechanism mechanism, double tail, double k);

#endif
