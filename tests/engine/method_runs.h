/* Runs of the method `tacit` for tests: everything from one seed. */
#ifndef TC_TESTS_ENGINE_METHOD_RUNS_H
#define TC_TESTS_ENGINE_METHOD_RUNS_H

#include "reference/reference.h"
#include "engine/runs.h"

typedef struct method_options {
    tc_mechanism mechanism;
    tc_placement placement;
    double rounds; /* NAN: the file's */
    double radius; /* NAN: the file's, or what follows from its gaps */
    tc_margin_wish margin;
    bool keeps_privacy; /* epsilon and unit of the file; else epsilon 1, one:1 */
} method_options;

/* NULL where the placement is not for this problem. */
static inline tc_plan *method_plan(planned *p, const method_options *asked) {
    tc_plan_options options = planned_options();
    options.method = TC_METHOD_TACIT;
    options.mechanism = asked->mechanism;
    options.placement = asked->placement;
    options.rounds = asked->rounds;
    options.seeded = true;
    if (!asked->keeps_privacy) {
        options.adjacency = TC_ADJACENCY_ONE;
        options.adjacency_bound = 1;
        options.epsilon = 1;
        options.delta = 1e-3;
    }
    tc_plan *plan = planned_plan(p, &options);
    if (plan->problem != NULL && asked->placement == TC_PLACEMENT_AUTO)
        fail_msg("no plan: %s", plan->problem);
    return plan->problem != NULL ? NULL : plan;
}

static inline tc_tacit_facts *method_facts(planned *p, const tc_plan *plan, const method_options *asked) {
    double radius = isnan(asked->radius) ? p->analysis->dual_radius.public_value : asked->radius;
    const char *why = NULL;
    tc_escape escape;
    tc_status status = TC_TRY(p->arena, &escape);
    if (status != TC_OK)
        fail_msg("raised: %s", tc_status_text(status));
    tc_tacit_facts *facts = tc_tacit_facts_make(p->arena, plan, p->model, p->derivatives,
                                                isnan(radius) ? INFINITY : radius, asked->margin, &why);
    tc_escape_end(p->arena, &escape);
    if (facts == NULL)
        fail_msg("no facts: %s", why);
    return facts;
}

static inline tc_engine *method_engine(tc_arena *arena, const planned *p, const tc_plan *plan,
                                       const tc_tacit_facts *facts, uint64_t seed, tc_team *team, tc_driver driver,
                                       unsigned without) {
    tc_engine_settings settings = {.dual_radius = facts->radius, .team = team, .facts = facts, .without = without};
    tc_engine *engine = NULL;
    const char *why = NULL;
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = tc_engine_new_driven(arena, plan, p->model, p->derivatives, run_random(arena, seed), &settings, driver,
                                      &engine, &why);
    if (status != TC_OK)
        fail_msg("no engine: %s: %s", tc_status_text(status), why == NULL ? "" : why);
    tc_escape_end(arena, &escape);
    return engine;
}

typedef struct method_errors {
    double x, mu;
} method_errors;

static inline double method_distance(const double *a, const double *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

static inline method_errors method_errors_of(const tc_engine *engine, const planned *p, const tc_reference *solution) {
    return (method_errors){
        .x = method_distance(tc_engine_result_states(engine), solution->x, p->model->state_count),
        .mu = method_distance(tc_engine_result_multipliers(engine), solution->mu, p->model->constraint_count)};
}

#endif
