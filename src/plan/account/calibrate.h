/* From a promise to the noise that keeps it, and back. Every result is rounded to the side that keeps the promise:
 * noise and prices up, budgets down. Reasons in docs/proofs/gaussian.md.
 *
 * Sensitivities are those of what is released, per unit of the trajectories' distance; B is that distance. Arguments
 * out of range (negative, NaN, delta = 0) give the safe extreme: infinite noise, budget 0, infinite price. */
#ifndef TC_PLAN_ACCOUNT_CALIBRATE_H
#define TC_PLAN_ACCOUNT_CALIBRATE_H

#include "calculus/interval/interval.h"

/* ---- Laplace ---------------------------------------------------------------------------------------------------- */

double tc_laplace_scale(double sensitivity, double distance, double epsilon); /* b = sensitivity B / epsilon */
double tc_laplace_variance(double scale);                                     /* 2 b^2 */

/* ---- Gaussian, as published: sigma = kappa(delta, epsilon) K_2 B ------------------------------------------------- */

double tc_kappa(double delta, double epsilon);

/* ---- Gaussian, exactly -------------------------------------------------------------------------------------------
 * A release of l2 sensitivity s with noise sigma has mu = s / sigma, and is (epsilon, delta)-private exactly for
 * delta >= Q(epsilon/mu - mu/2) - e^epsilon Q(epsilon/mu + mu/2). */

tc_interval tc_gaussian_delta(double epsilon, double mu); /* holds that difference: use .hi to promise, .lo to refute */
double tc_gaussian_mu(double epsilon, double delta);      /* the largest mu, rounded down */
double tc_gaussian_sigma(double epsilon, double delta);   /* the least sigma for sensitivity 1 */
double tc_gaussian_epsilon(double mu, double delta);      /* the least epsilon, rounded up; 0 where delta allows */

/* ---- composition ------------------------------------------------------------------------------------------------ */

/* A message that may be used again, up to hold times: what it counts for, in l1 (1 + hold) and in l2. */
double tc_hold_l1(double hold);
double tc_hold_l2(double hold);

/* Trajectories at distance D where B was planned for: epsilon and mu grow by D / B. */
double tc_group_factor(double distance, double planned);

/* ---- the standard normal law ------------------------------------------------------------------------------------- */

/* Enclosures of the standard normal law: every interval holds the exact value (docs/proofs/gaussian.md).
 * phi is the density, Q(x) = P(N > x) the upper tail, M = Q / phi Mills' ratio, which falls and is convex, with
 * -M'(x) = 1 - x M(x) falling and convex too. About 1e-14 of relative width for |x| <= 38. */

tc_interval tc_normal_density(tc_interval x);
tc_interval tc_normal_tail(tc_interval x);     /* Q */
tc_interval tc_normal_log_tail(tc_interval x); /* log Q, also where Q underflows */
tc_interval tc_mills(tc_interval x);           /* M */
tc_interval tc_mills_slope(tc_interval x);     /* -M' > 0 */

/* A double not below Q^-1(probability), and within some last places of it; infinite for 0. */
double tc_normal_tail_inverse_up(double probability);

#endif
