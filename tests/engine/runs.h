/* Plans and engines for tests: everything from one seed. */
#ifndef TC_TESTS_ENGINE_RUNS_H
#define TC_TESTS_ENGINE_RUNS_H

#include "engine/inside.h"
#include "plan/planned.h"

/* Problems without a schedule: agents of different kinds, and several blocks of alike ones. */
#define AGENTS_ALONE                                                                                                   \
    "agent a {\n state x[2] in [-10, 10]\n private minimize sumsq(x - 3)\n}\n"                                         \
    "agent b {\n state x in [-1, 1]\n private minimize exp(x) - x\n}\n"                                                \
    "agent c {\n state z[3] in [0, 5]\n private minimize sumsq(z)\n private set sum(z) >= 2\n}\n"                      \
    "constraint d: sumsq(a.x) + b.x <= 4\nconstraint e: exp(b.x) + sum(c.z) + a.x[1] <= 3\n"
#define MANY_ALIKE_AND_SOME_NAMED                                                                                      \
    "agents a[i in 1..5000] {\n state x in [0, 4]\n state y in [-1, 2]\n private minimize (x - 3)^2 + y^2 - y\n}\n"    \
    "agent b {\n state z[2] in [0.5, 3]\n private minimize sumsq(z) - z[1]\n}\n"                                       \
    "constraint c1: sum(a: (1 + i / 5000) * x^2 + exp(y) / 2) / 5000 <= 4\n"                                           \
    "constraint c2: 50 * exp(sum(a: x + y) / 8000) + b.z[1]^2 * 0.5 <= 60\n"                                           \
    "constraint c3: a[3].x^2 + a[4999].y + sum(a: y) / 10 - log(b.z[2]) <= 1\n"                                        \
    "constraint c4: sum(a: 2 * x - y / 4) / 5000 + a[2500].x <= 3\n"

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
