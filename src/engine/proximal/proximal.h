/* The agents' half of a round as an exact minimisation instead of a gradient step:
 *
 *     x_i <- argmin over x in X_i of  f_i(x) + p_i . x + (regularization/2) |x|^2 + sum_c (x - x_i)_c^2 / (2 step
 * s_c^2)
 *
 * with s_c the scales of the states (plan/scales.h), all 1 in most problems.
 *
 * A function of the agent's own data and of its answer (p_i, step, regularization) alone; the bits of a member do not
 * depend on which members are computed with it, nor on which others its family has. The way is chosen once, by
 * structure, and where data matter for each member as it would be alone (groups.c):
 *
 *   - f has constant curvature without mixed terms: a formula, then bounds, a projection (curvature the same in all
 *     components) or a projection in scaled components (half-spaces and planes);
 *   - each derivative of f depends on its own component alone, in a box: one-dimensional equations, side by side;
 *   - a box with at most one half-space, slab (two parallel ones), plane or ball: Newton's method over the set, side by
 * side;
 *   - an ellipsoid within a box: Newton's method on the box, and a one-dimensional equation for the multiplier;
 *   - a quadratic objective with kinks of affine functions: guesses of which kinks and limits hold, until one confirms
 *     itself; a member with another set than a box with half-spaces and planes that share no component goes to the
 * next;
 *   - any other objective with kinks: the interior-point method on its lifted form (calculus/lift.h);
 *   - anything else: Newton's method over the set, each quadratic model minimised by the interior-point method.
 *
 * Newton's steps end when one is shorter than 1e-12 of the width of the bounds in every component, or the next one
 * would be by the rate at which they get shorter (1e-11 for one-dimensional equations), or slopes are lost in rounding,
 * or, for quadratic objectives, when the error is bounded by 1e-11 of the width; tests find errors below 1e-10 of the
 * width. Where models are minimised by the interior-point method the error is bounded (interior.c), and what is
 * not proved to be within 1e-10 of the width is counted. */
#ifndef TC_ENGINE_PROXIMAL_PROXIMAL_H
#define TC_ENGINE_PROXIMAL_PROXIMAL_H

#include "engine/agents.h"
#include "plan/scales.h"

typedef struct tc_proximal tc_proximal;

/* With the agents' workers, sets and gradients: the two must not step at the same time with the same worker. */
tc_proximal *tc_proximal_new(tc_arena *arena, tc_agents *agents, const tc_derivatives *derivatives,
                             tc_state_scales scales);

/* As tc_agents_next. step > 0 and regularization >= 0. Returns TC_ALL_FINITE, or a member for which something is not
 * finite; next is then undefined. next may be x. */
size_t tc_proximal_next(tc_proximal *proximal, size_t worker, size_t family, size_t first, size_t count,
                        const double *const *p, tc_answer_scalars scalars, const double *const *x, double *const *next);

/* As tc_agents_next_singles: all families of one member, by coordinate; the same bits as one by one. Where a family
 * is returned, next is of no use. */
size_t tc_proximal_next_singles(tc_proximal *proximal, size_t worker, const double *p, tc_answer_scalars scalars,
                                const double *x, double *next);

/* How many steps so far did not reach their accuracy; each gave the best point it found. Not while others step. */
uint64_t tc_proximal_inaccurate(const tc_proximal *proximal);

#endif
