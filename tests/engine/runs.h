/* Plans and engines for tests: everything from one seed. */
#ifndef TC_TESTS_ENGINE_RUNS_H
#define TC_TESTS_ENGINE_RUNS_H

#include "engine/engine_parts.h"
#include "privacy/planned.h"

static inline tc_random *run_random(tc_arena *arena, uint64_t seed) {
    tc_run_identity run = {.run_id = "test", .run_id_length = 4};
    tc_random *random = NULL;
    if (tc_random_new_simulation(arena, &run, seed, &random) != TC_OK)
        fail_msg("no random source");
    return random;
}

static inline tc_plan *run_plan(planned *p, tc_mechanism mechanism, tc_placement placement,
                                tc_calibration calibration) {
    tc_plan_options options = planned_options();
    options.mechanism = mechanism;
    options.placement = placement;
    options.calibration = calibration;
    options.adjacency = calibration == TC_PUBLISHED ? TC_ADJACENCY_ENSEMBLE : TC_ADJACENCY_ONE;
    options.adjacency_bound = 1;
    options.epsilon = 1;
    options.delta = 1e-3;
    options.rounds = 1000;
    options.seeded = true;
    tc_plan *plan = planned_plan(p, &options);
    if (plan->problem != NULL)
        fail_msg("no plan: %s", plan->problem);
    return plan;
}

static inline tc_engine *run_engine(tc_arena *arena, const planned *p, const tc_plan *plan, double dual_radius,
                                    tc_team *team, tc_driver driver) {
    tc_engine_settings settings = {.dual_radius = dual_radius, .team = team};
    tc_engine *engine = NULL;
    const char *why = NULL;
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = tc_engine_new_driven(arena, plan, p->model, p->derivatives, run_random(arena, 7), &settings, driver,
                                      &engine, &why);
    if (status != TC_OK)
        fail_msg("no engine: %s: %s", tc_status_text(status), why == NULL ? "" : why);
    tc_escape_end(arena, &escape);
    return engine;
}

static inline void run_to(tc_engine *engine, uint64_t rounds) {
    tc_engine_outcome outcome;
    tc_status status = tc_engine_advance(engine, rounds, NULL, &outcome);
    if (status != TC_OK || outcome != TC_ENGINE_DONE)
        fail_msg("round %llu: %s, %s", (unsigned long long)tc_engine_rounds(engine), tc_status_text(status),
                 tc_engine_reason(engine) == NULL ? "no reason" : tc_engine_reason(engine));
}

#endif
