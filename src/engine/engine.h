/* A run of all parties in one process: agents and cloud step together, round after round, by one of two methods
 * (method.h; engine/published, engine/tacit).
 *
 * The cloud's half sees the agents' x only through the release. No clock, no files, no randomness of its own; the same
 * bits on any number of threads. */
#ifndef TC_ENGINE_ENGINE_H
#define TC_ENGINE_ENGINE_H

#include "base/status.h"
#include "base/team.h"
#include "engine/tacit/facts.h"
#include "release/release.h"

typedef struct tc_engine tc_engine;

#define TC_ENGINE_OUTCOMES(X)                                                                                          \
    X(TC_ENGINE_DONE, "done")                                                                                          \
    X(TC_ENGINE_INTERRUPTED, "interrupted") /* on request: the state after the last whole round */                     \
    X(TC_ENGINE_DIVERGED, "diverged")       /* a number ceased to be finite: the state before that */

typedef enum tc_engine_outcome {
#define X(code, name) code,
    TC_ENGINE_OUTCOMES(X)
#undef X
} tc_engine_outcome;
const char *tc_engine_outcome_name(tc_engine_outcome outcome);

typedef struct tc_engine_settings {
    double dual_radius;          /* R, public; INFINITY for none */
    tc_team *team;               /* NULL: the caller's thread alone */
    const tc_tacit_facts *facts; /* of a plan for the method `tacit`; NULL otherwise */
    tc_random *last_random;      /* of a plan with a last round: a second source, for that one; NULL otherwise */
    unsigned without;            /* tc_without of controller.h, for measurements; 0 */
} tc_engine_settings;

/* Whether the rounds of a run of this problem share a team's threads. Depends on the numbers of agents and states
 * alone, which are public. Where agents are few or families small, handing out work costs more than the work. */
bool tc_engine_uses_threads(const tc_model *model);

/* For whole problems (TC_ROLE_WHOLE). x(1), mu(1) and the schedule are the model's. TC_BAD_USAGE and a sentence in *why
 * where this plan cannot be released. Raises on its arena. */
tc_status tc_engine_new(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                        tc_random *random, const tc_engine_settings *settings, tc_engine **engine,
                        const char **why) TC_MUST_USE;

/* Continues until `rounds` rounds have been done in all. TC_BAD_USAGE beyond the plan's horizon, and nothing is done;
 * TC_NO_RANDOM. Asks the monitor now and then whether to stop; reports no progress. */
tc_status tc_engine_advance(tc_engine *engine, uint64_t rounds, const tc_monitor *monitor,
                            tc_engine_outcome *outcome) TC_MUST_USE;

uint64_t tc_engine_rounds(const tc_engine *engine);           /* done so far: the state is x(rounds + 1) */
const double *tc_engine_states(const tc_engine *engine);      /* by coordinate. Simulation: not released */
const double *tc_engine_multipliers(const tc_engine *engine); /* m. Released */
/* The result of the run: x and mu above; in the method tacit their averages. */
const double *tc_engine_result_states(const tc_engine *engine);
const double *tc_engine_result_multipliers(const tc_engine *engine);
/* Method tacit, after the last whole round: what released data show of the constraints at the result. NULL in the
 * method published, before round 1, and after a round that broke off. */
const tc_feasibility *tc_engine_feasibility(const tc_engine *engine);
/* Where it diverged: "the state of a3 in round 17"; NULL otherwise. */
const char *tc_engine_reason(const tc_engine *engine);
bool tc_engine_is_private(const tc_engine *engine);

#endif
