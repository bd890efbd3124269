/* What a run by a plan costs, and whether it may be called private. Pages, ledgers, cards, traces and JSON take both
 * from here. */
#ifndef TC_PLAN_ACCOUNT_PRICE_H
#define TC_PLAN_ACCOUNT_PRICE_H

#include "plan/plan.h"

/* The price of the observer who pays most, over the whole run. Infinite without noise or without a bound. */
typedef struct tc_run_price {
    double epsilon, delta;
    double mu;                /* Gaussian; NAN otherwise */
    const tc_observer *payer; /* NULL if no observer is priced */
} tc_run_price;

tc_run_price tc_price_of_run(const tc_plan *plan);

/* Whether a plan may be called private (docs/privacy.md, "The word private"):
 *
 *   void            the promise does not hold: no noise, a seed, a constant too small, a private dual radius
 *   in name only    it holds and hides next to nothing. Claim A: at epsilon 1 the noise hides less than
 *                   TC_LEAST_SHARE of a state's range in one message. Claim B: epsilon is above TC_WEAK_EPSILON.
 *                   Either: delta is at least one over the number of agents, or at least TC_LARGE_DELTA
 *   private         everything else
 *
 * This judges the noise and not its description: claim A not by its epsilon, which a small B makes small, and Gaussian
 * noise always at TC_JUDGING_DELTA. */
typedef enum tc_word_for { TC_WORD_VOID, TC_WORD_NAME_ONLY, TC_WORD_PRIVATE } tc_word_for;

#define TC_LEAST_SHARE 0.01
#define TC_WEAK_EPSILON 10
#define TC_JUDGING_DELTA 1e-6
#define TC_LARGE_DELTA 0.1

tc_word_for tc_judge_plan(const tc_plan *plan);
static inline bool tc_plan_deserves_private(const tc_plan *plan) { return tc_judge_plan(plan) == TC_WORD_PRIVATE; }

/* The share of its range by which a state of one message may change at epsilon 1 (Gaussian: and delta 1e-6). States of
 * one agent that go into one released number change together, so that cutting a state into pieces gains nothing.
 * Infinite where any message is hidden at that price. NAN without noise. Rounded down. */
double tc_hidden_share(const tc_plan *plan);

/* Whether delta is at least one over the number of agents. */
bool tc_delta_is_large(const tc_plan *plan);

/* ---- in words ---------------------------------------------------------------------------------------------------- */

/* Units and prices as short texts. */

/* What observers see that no price covers. Printed beside every list of prices. */
#define TC_UNPRICED                                                                                                    \
    "in no price: an answer tells its agent whether that agent's own state lay outside of the public box, or was "     \
    "used "                                                                                                            \
    "again since it was late; the status page tells how many were used again in all, and who is there and when is "    \
    "seen"

/* As in files and on the command line. */
const char *tc_mechanism_name(tc_mechanism mechanism);
const char *tc_adjacency_name(tc_adjacency adjacency);
const char *tc_method_name(tc_method method);
const char *tc_placement_name(tc_placement placement);
const char *tc_calibration_name(tc_calibration calibration);

/* "one:0.5", "agent": as --adjacency takes it. */
const char *tc_unit_text(tc_arena *arena, tc_adjacency unit, double bound);

/* A few digits that are never below the value. */
const char *tc_text_up(tc_arena *arena, double value);

/* "epsilon 0.5", "epsilon 1, delta 1e-06", "no guarantee"; rounded up. */
const char *tc_price_up(tc_arena *arena, double epsilon, double delta);

/* What the plan's epsilon is the price of: "everything", "each system"; NULL without noise. */
const char *tc_epsilon_is_for(const tc_plan *plan);
/* "private: messages only", "private: one agent entirely", "private in name only (messages only)", "NOT PRIVATE". */
const char *tc_word_text(tc_word_for word, tc_adjacency unit);
/* Why a plan that keeps its promise is private in name only: a sentence; NULL where it is not. */
const char *tc_name_only_reason(tc_arena *arena, const tc_plan *plan);
/* "epsilon 1, delta 1e-06", "epsilon 0.6932 for each system; 1.387 for whoever sees all" */
const char *tc_promise_text(tc_arena *arena, const tc_plan *plan);

#endif
