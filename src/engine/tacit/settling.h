/* How far a run of method tacit settles in its rounds, from public facts alone, before it is made (docs/method.md,
 * "Will it settle?"). Noise shortens the steps, so multipliers may still be on their way when the rounds are over; and
 * agents answer to the noise in curved prices, which makes constraints look smaller than they are.
 *
 * Nothing is said of affine rows: their noise leaves the agents' steps long, and they settled in all runs that
 * were compared. Each curved row is looked at alone, where it is at its limit on the way from the declared Slater
 * point to points all over the public boxes. There the estimator says what the controller will see, and the
 * controller's own rules are run against one number that stands for all agents: how far they have gone from what they
 * wish. */
#ifndef TC_ENGINE_TACIT_SETTLING_H
#define TC_ENGINE_TACIT_SETTLING_H

#include "engine/tacit/facts.h"
#include "plan/accuracy.h"

typedef struct tc_settling tc_settling;

tc_settling *tc_settling_new(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                             const tc_derivatives *derivatives, const tc_tacit_facts *facts);

/* How far row j is over its limit on the average at the result of so many rounds, beside its doubt, where the variance
 * of a round's noise is so many times the plan's. NAN: nothing is known. */
double tc_settling_missing(const tc_settling *settling, size_t row, double variance, double rounds);

/* The doubts of curved rows at their limits; what is missing, and the rounds that are needed. */
void tc_settling_judge(const tc_settling *settling, tc_accuracy *accuracy);

#endif
