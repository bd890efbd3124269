/* Theorem 3: a proved bound, before any run, on the error of the private algorithm.
 *
 * xi_k is the one solution of the problem regularised with alpha_k. For v_k = |z(k) - xi_{k-1}|^2 the theorem gives
 *     E[v_{k+1} | rounds before k] <= (1 - tau_k) v_k + sigma_k,
 * and from it a bound of E[v_{T+1}] and, where sigma_k can be summed, a bound that holds for all later rounds at once.
 * Two forms of the recursion: *published* is the paper's to the letter with M_xi^2 restored, *tight* is ours, never
 * worse. Every bound is rounded so that it stays one. Derivations: docs/proofs/bound.md.
 *
 * It is about the algorithm in real numbers and leaves out the rounding of messages to their lattice. */
#ifndef TC_THEORY_BOUND_H
#define TC_THEORY_BOUND_H

#include "analysis/analysis.h"
#include "plan/plan.h"

/* ---- the schedule ---- */

enum { TC_BOUND_CONDITIONS = 4 };

typedef struct tc_bound_condition {
    const char *name;       /* as in Theorem 3 */
    const char *inequality; /* what decides it for k^-c schedules */
    bool holds;
} tc_bound_condition;

/* The four conditions of Theorem 3 for gamma_k = step k^-step_decay, alpha_k = regularization k^-regularization_decay.
 * Whether all of them hold. */
bool tc_bound_conditions(const tc_schedule *schedule, tc_bound_condition conditions[TC_BOUND_CONDITIONS]);
/* Whether sigma_k can be summed: c2 > 1/2 and c1 + c2 < 1. */
bool tc_bound_summable(const tc_schedule *schedule);

/* ---- the constants ---- */

typedef struct tc_bound_constants { /* upper bounds, INFINITY where nothing is known */
    double dual_radius;             /* R */
    double objective_curvature;     /* max_i L_i */
    double constraint_curvature;    /* max_j sup |Hessian of g_j|_2 */
    double curvature;               /* L_H: sup |Hessian in x of the Lagrangian|_2 on X x M */
    double slope;                   /* L_J = K^g_2: sup |Jacobian of g|_2 */
    double lipschitz;               /* L_G: of G on X x M */
    double reach;                   /* M_xi: sup |z| on X x M */
    double diameter;                /* D_z of X x M */
    double price_noise;             /* sup over M of E|noise of all p_i|^2 */
    double constraint_noise;        /* E|noise of g-hat|^2 */
    double noise;                   /* K_w, their sum */
    const char *problem;            /* NULL, or why the theorem does not apply */
} tc_bound_constants;

/* For whole problems; dual_radius: R, as the engine is given it. Raises on its arena. */
tc_bound_constants tc_bound_measure(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                    const tc_analysis *analysis, const tc_plan *plan, double dual_radius,
                                    const tc_monitor *monitor);

/* ---- the recursion ---- */

typedef enum tc_bound_form { TC_BOUND_TIGHT, TC_BOUND_PUBLISHED } tc_bound_form;

typedef struct tc_bound_setting {
    tc_bound_constants constants;
    tc_schedule schedule;
    tc_bound_form form;
} tc_bound_setting;

/* The first round from which 1 - tau_k stays in [0, 1]; INFINITY for none. Beyond 2^53 it is rounded up. */
double tc_bound_valid_from(const tc_bound_setting *setting);

/* How much work: rounds are taken one by one up to `direct` rounds, then in blocks that end at `ratio` times where they
 * began, with the worst of each block. */
typedef struct tc_bound_effort {
    double direct, ratio;
} tc_bound_effort;
extern const tc_bound_effort tc_bound_full_effort;

/* Upper bound of E|z(T+1) - xi_T|^2, never above D_z^2. */
double tc_bound_error(const tc_bound_setting *setting, double rounds, tc_bound_effort effort);
/* A bound above this part of D_z^2 counts as saying nothing. */
#define TC_BOUND_WORTH 0.99
/* The first round after which the bound is at most this part of D_z^2; INFINITY for none. Beyond `direct`, a round
 * where it certainly is. */
double tc_bound_informative_from(const tc_bound_setting *setting, double part, tc_bound_effort effort);
/* Upper bound of the sum of sigma_k over k >= first; INFINITY if it is not summable or first is too early to be
 * valid. */
double tc_bound_tail(const tc_bound_setting *setting, double first);

/* ---- the result ---- */

typedef struct tc_bound_estimate {
    double valid_from;
    double informative_from;    /* NAN where it is beyond T, and more rounds would change the noise */
    double error;               /* of E|z(T+1) - xi_T|^2 */
    double tail;                /* sum of sigma_k beyond T */
    double radius;              /* |z(T+1) - xi_T| is at most this with probability TC_BOUND_CONFIDENCE ... */
    double radius_forever;      /* ... and so for all rounds from T on; INFINITY for none */
    double within;              /* a distance; ... */
    double probability;         /* ... |z(T+1) - xi_T| is at most that with at least this probability ... */
    double probability_forever; /* ... and so for all rounds from T on */
    bool vacuous;
    const char *because; /* why, where it is vacuous */
} tc_bound_estimate;

#define TC_BOUND_CONFIDENCE 0.95

typedef struct tc_bound {
    const tc_model *model;
    const tc_plan *plan;
    double rounds;
    tc_schedule schedule;
    tc_bound_constants constants;
    tc_bound_condition conditions[TC_BOUND_CONDITIONS];
    bool conditions_hold, summable;
    tc_bound_estimate tight, published;
    double regularization; /* alpha_T, rounded up */
    double gap;          /* xi_T is within this of optimal: its saddle gap is at most alpha_T M_xi^2 / 4; NAN where the
                            theorem does not apply, or M leaves the solution out */
    bool outside_radius; /* the solution's multipliers are outside M, so xi_T does not tend to it */
} tc_bound;

typedef struct tc_bound_wishes {
    double within; /* NAN: a tenth of D_z */
    /* What is known of the solution, where it was computed: */
    const char *problem; /* NULL, or why there is none: the theorem does not apply */
    bool outside_radius; /* its multipliers sum to more than R */
} tc_bound_wishes;

/* The schedule is the model's, the horizon the plan's. Raises on its arena. */
tc_bound *tc_bound_make(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                        const tc_analysis *analysis, const tc_plan *plan, double dual_radius,
                        const tc_bound_wishes *wishes, const tc_monitor *monitor);

/* Whether it says something: all conditions hold, the theorem applies, and the bound is below the trivial one by a
 * hundredth or more. */
bool tc_bound_says_something(const tc_bound *bound);

/* The members of one JSON object; the caller opens and closes it. */
void tc_bound_json(const tc_bound *bound, tc_json *json);
void tc_bound_text(const tc_bound *bound, tc_buffer *out, unsigned width);

#endif
