/* What noise on states adds to g on the average. For g with constant second derivatives,
 *
 *     E g_j(x + w) - g_j(x) = 1/2 sum_c var(w_c) d^2 g_j / d x_c^2,
 *
 * a number that is known before the run, since the plan's variances and the curvature are public. Less that number,
 * g(x-hat) is an unbiased measurement, up to the lattice: noise rounded to steps of zeta has a variance larger than the
 * plan's by about zeta^2 / 12, which is left in g-hat_j as about zeta^2 / 24 times the trace of its second derivatives.
 */
#ifndef TC_ENGINE_BIAS_H
#define TC_ENGINE_BIAS_H

#include "calculus/derivatives.h"
#include "plan/plan.h"

/* bias: m numbers. For a plan that puts noise on states, and constraints that are affine or quadratic by structure. */
void tc_state_noise_bias(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                         double *bias);

#endif
