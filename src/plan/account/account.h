/* Prices: from a promise to noise and back, what an observer pays, and what a run costs. */
#ifndef TC_PLAN_ACCOUNT_ACCOUNT_H
#define TC_PLAN_ACCOUNT_ACCOUNT_H

#include "calculus/interval/interval.h"
#include "plan/plan.h"
#include "plan/sensitivity/sensitivity.h"

/* ==== calibrate.c ==== */

/* From a promise to the noise that keeps it, and back. Every result is rounded to the side that keeps the promise:
 * noise and prices up, budgets down. Reasons in docs/proofs/gaussian.md.
 *
 * Sensitivities are those of what is released, per unit of the trajectories' distance; B is that distance. Arguments
 * out of range (negative, NaN, delta = 0) give the safe extreme: infinite noise, budget 0, infinite price. */

/* ---- Laplace ---------------------------------------------------------------------------------------------------- */

double tc_laplace_scale(double sensitivity, double distance, double epsilon); /* b = sensitivity B / epsilon */
double tc_laplace_variance(double scale);                                     /* 2 b^2 */

/* ---- Gaussian, as published: sigma = kappa(delta, epsilon) K_2 B ------------------------------------------------- */

double tc_kappa(double delta, double epsilon);

/* ---- Gaussian, exactly -------------------------------------------------------------------------------------------
 * A release of l2 sensitivity s with noise sigma has gdp = s / sigma, the parameter of Gaussian differential privacy
 * (mu in the proofs), and is (epsilon, delta)-private exactly for
 * delta >= Q(epsilon/gdp - gdp/2) - e^epsilon Q(epsilon/gdp + gdp/2). */

tc_interval tc_gaussian_delta(double epsilon,
                              double gdp);              /* holds that difference: use .hi to promise, .lo to refute */
double tc_gaussian_gdp(double epsilon, double delta);   /* the largest gdp, rounded down */
double tc_gaussian_sigma(double epsilon, double delta); /* the least sigma for sensitivity 1 */
double tc_gaussian_epsilon(double gdp, double delta);   /* the least epsilon, rounded up; 0 where delta allows */

/* ---- composition ------------------------------------------------------------------------------------------------ */

/* A message that may be used again, up to hold times: what it counts for, in l1 (1 + hold) and in l2. */
double tc_hold_l1(double hold);
double tc_hold_l2(double hold);

/* Trajectories at distance D where B was planned for: epsilon and gdp grow by D / B. */
double tc_group_factor(double distance, double planned);

/* ---- the standard normal law ------------------------------------------------------------------------------------- */

/* Enclosures: every interval holds the exact value (docs/proofs/gaussian.md).
 * phi is the density, Q(x) = P(N > x) the upper tail, M = Q / phi Mills' ratio, which falls and is convex, with
 * -M'(x) = 1 - x M(x) falling and convex too. About 1e-14 of relative width for |x| <= 38. */

tc_interval tc_normal_density(tc_interval x);
tc_interval tc_normal_tail(tc_interval x);     /* Q */
tc_interval tc_normal_log_tail(tc_interval x); /* log Q, also where Q underflows */
tc_interval tc_mills(tc_interval x);           /* M */
tc_interval tc_mills_slope(tc_interval x);     /* -M' > 0 */

/* A double not below Q^-1(probability), and within some last places of it; infinite for 0. */
double tc_normal_tail_inverse_up(double probability);

/* ==== bounded.c ==== */

/* Noise of bounded support, |noise| <= cut scales in every row: an observer may see a number that one of two worlds
 * cannot release. delta bounds the probability of that, for a release of `rows` numbers that costs `amount` (epsilon,
 * or gdp) with the same noise unbounded. Gaussian: infinite also where less than TC_LEAST_KEPT of the noise lies
 * inside, since what is inside counts 1 / TC_LEAST_KEPT times (docs/proofs/ending.md). Rounded up. */
#define TC_LEAST_CUT 1.0
#define TC_LEAST_KEPT (1 - 0x1p-10)
double tc_bounded_delta(tc_mechanism mechanism, double amount, double rows, double cut);
/* The least cut, in 64ths, that keeps this delta; infinite for none. */
double tc_bounded_cut(tc_mechanism mechanism, double amount, double rows, double delta);
/* The probability that unbounded Gaussian noise lies inside in all rows, rounded down. */
double tc_bounded_kept(double rows, double cut);

/* Of the plan's delta, what Gaussian noise itself may use: all of it, unless a last round has bounds to pay for. */
double tc_noise_delta(const tc_plan *plan);
/* The rest, which the bounds of the last round may use. */
double tc_delta_of_bounds(const tc_plan *plan);

/* ==== view_price.c ==== */

/* What a view costs for each unit of distance: certified upper bounds (docs/proofs/composition.md).
 *
 *   Laplace   max over coordinates c of  sum_e sup |dF_e/dx_c| / b_e                    epsilon per unit of l1 distance
 *   Gaussian  sup |diag(1/sigma) DF|_2 over the columns that may change together        gdp per unit of l2 distance
 *             (ensemble: all outside the view; one: those of one agent)
 *   agent     sum_e move_e / b_e, and sqrt(sum_e (move_e / sigma_e)^2)                  for one round of one agent;
 *             less where it keeps to a public set (docs/proofs/publicset.md)
 *   within,   the largest over families of: their reach times what a unit of distance   for one round of one agent
 *   data      costs, as in the unit one; or what the unit agent costs, if that is less */

typedef struct tc_pricing {
    tc_sensitivity *sensitivity;
    tc_mechanism mechanism; /* LAPLACE or GAUSSIAN */
    tc_adjacency unit;      /* not UNSET, not BARE */
    const double *reach;    /* WITHIN, DATA: by family, as tc_reaches of planner.h has them */
    const tc_channel *channels;
    size_t channel_count;
    const tc_family *only; /* the agents of this family alone, in the units one and agent; NULL: all */
} tc_pricing;

typedef struct tc_viewer { /* the arguments of tc_view_new */
    bool everything;
    const size_t *agents;
    size_t agent_count;
    uint32_t any_of;
} tc_viewer;

static inline tc_viewer tc_eavesdropper(void) { return (tc_viewer){.everything = true, .any_of = UINT32_MAX}; }

/* The price of a change by the whole width of the public box, to first order: a share of a width costs at most that
 * share of it. The larger of two: one coordinate changes, in all that is seen; all coordinates of one agent change, in
 * one number that is seen. Not per unit of distance. */
double tc_price_range(const tc_pricing *pricing, const tc_viewer *viewer);

/* With the channels' scales and the sensitivity's lattice. Infinite where nothing is proved. */
double tc_price_view(const tc_pricing *pricing, const tc_viewer *viewer);

/* The same for the agents of each family, of which only one changes: not for the unit ensemble with Gaussian noise.
 * worst: by family. */
void tc_price_families(const tc_pricing *pricing, const tc_viewer *viewer, double *worst);

/* ==== price.c ==== */

/* What a run by a plan costs, and whether it may be called private. Pages, ledgers, cards, traces and JSON take both
 * from here. */

/* The price of the observer who pays most, over the whole run. Infinite without noise or without a bound. */
typedef struct tc_run_price {
    double epsilon, delta;
    double gdp;               /* Gaussian; NAN otherwise */
    const tc_observer *payer; /* NULL if no observer is priced */
} tc_run_price;

tc_run_price tc_price_of_run(const tc_plan *plan);

/* Whether a plan may be called private (docs/privacy.md, "The word private"):
 *
 *   void            the promise does not hold: no noise, a seed, a constant too small, a private dual radius
 *   in name only    it holds and hides next to nothing. Claim A: at epsilon 1 the noise hides less than
 *                   TC_LEAST_SHARE of a state's range in one message. Claim B: epsilon is above TC_WEAK_EPSILON.
 *                   Units agent:D and data: the same, or at epsilon 1 the noise hides less than TC_LEAST_SHARE of all
 *                   that an agent can do, or of the range of a protected datum. Any: delta is at least one over the
 * number of agents, or at least TC_LARGE_DELTA private         everything else
 *
 * This judges the noise and not its description: no distance by epsilon alone, which a small B makes small, and
 * Gaussian noise always at TC_JUDGING_DELTA. */
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

/* Units agent:D and data: the share of its box by which one agent may differ in every round at epsilon 1, or that of
 * its range by which a protected datum may. */
double tc_lasting_share(const tc_plan *plan);

/* By how much a protected datum is: the least and the most over its components and members that have a choice. */
typedef struct tc_span_of_by {
    double least, most;
} tc_span_of_by;
tc_span_of_by tc_protected_by(const tc_family *family, const tc_datum *datum);

/* Whether delta is at least one over the number of agents. */
bool tc_delta_is_large(const tc_plan *plan);

/* ---- units and prices as short texts ----------------------------------------------------------------------------- */

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

/* "one:0.5", "agent", "agent:7.5", "data": as --adjacency takes it. */
const char *tc_unit_text(tc_arena *arena, tc_adjacency unit, double bound);

/* A unit as a law of noise promises it. B is a total with Laplace noise (l1) and a root-sum-square with Gaussian noise
 * (l2): two promises under one name. So is D where an agent has several states. */
typedef struct tc_promised_unit {
    const char *unit;   /* tc_unit_text */
    const char *norm;   /* "total", "root-sum-square"; NULL: both laws keep the same promise, or there is none */
    const char *text;   /* "one:0.5 in total", "agent:5 in root-sum-square each round", "agent" */
    double every_round; /* what is hidden of a change that persists in all rounds, in each: B/T, B/sqrt(T), D; NAN for
                         * AGENT and DATA, or where the rounds are not known. Rounded down */
} tc_promised_unit;
tc_promised_unit tc_promised(tc_arena *arena, const tc_plan *plan);
/* Whether the laws keep different promises in this unit. */
bool tc_norm_matters(const tc_model *model, tc_adjacency unit);
/* "unit", "norm" and "hidden_every_round" of a JSON object. */
void tc_promised_json(const tc_promised_unit *promised, tc_json *json);

/* A few digits that are never below the value. */
const char *tc_text_up(tc_arena *arena, double value);

/* "epsilon 0.5", "epsilon 1, delta 1e-06", "no guarantee"; rounded up. */
const char *tc_price_up(tc_arena *arena, double epsilon, double delta);

/* What the plan's epsilon is the price of: "everything", "each system"; NULL without noise. */
const char *tc_epsilon_is_for(const tc_plan *plan);
/* "private: messages only", "private: one agent's data", "private in name only (messages only)", "NOT PRIVATE". */
const char *tc_word_text(tc_word_for word, tc_adjacency unit);
/* Why a plan that keeps its promise is private in name only: a sentence; NULL where it is not. */
const char *tc_name_only_reason(tc_arena *arena, const tc_plan *plan);
/* "epsilon 1, delta 1e-06", "epsilon 0.6932 for each system; 1.387 for whoever sees all" */
const char *tc_promise_text(tc_arena *arena, const tc_plan *plan);

#endif
