/* Hubs for tests, each beside an engine with the same seed that has all parties together. */
#ifndef TC_TESTS_ENGINE_HUBS_H
#define TC_TESTS_ENGINE_HUBS_H

#include "engine/device.h"
#include "engine/hub.h"
#include "engine/method_runs.h"

typedef struct hub_wish {
    tc_method method;
    tc_mechanism mechanism;
    tc_placement placement;
    tc_margin_kind margin;
} hub_wish;

/* Everything that there is, and a problem may refuse. */
static const hub_wish HUB_WISHES[] = {
    {TC_METHOD_PUBLISHED, TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, TC_MARGIN_NONE},
    {TC_METHOD_PUBLISHED, TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_STATES, TC_MARGIN_NONE},
    {TC_METHOD_PUBLISHED, TC_MECHANISM_NONE, TC_PLACEMENT_AUTO, TC_MARGIN_NONE},
    {TC_METHOD_TACIT, TC_MECHANISM_LAPLACE, TC_PLACEMENT_STATES, TC_MARGIN_NONE},
    {TC_METHOD_TACIT, TC_MECHANISM_LAPLACE, TC_PLACEMENT_FORMS, TC_MARGIN_NONE},
    {TC_METHOD_TACIT, TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_OUTPUTS, TC_MARGIN_AUTO},
    {TC_METHOD_TACIT, TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_AUTO, TC_MARGIN_NONE},
    {TC_METHOD_TACIT, TC_MECHANISM_NONE, TC_PLACEMENT_AUTO, TC_MARGIN_NONE},
};
enum { HUB_WISH_COUNT = sizeof HUB_WISHES / sizeof *HUB_WISHES };

typedef struct hub_case { /* a problem as wished */
    planned *p;
    const hub_wish *wish;
    tc_plan *plan;
    const tc_tacit_facts *facts;
    double radius;
} hub_case;

/* False where the problem is none for this wish. */
static inline bool hub_case_of(planned *p, const hub_wish *wish, double rounds, hub_case *made) {
    tc_plan_options options = planned_options();
    options.method = wish->method;
    options.mechanism = wish->mechanism;
    options.placement = wish->placement;
    options.adjacency = TC_ADJACENCY_ONE;
    options.adjacency_bound = 1;
    options.epsilon = 1;
    options.delta = 1e-3;
    options.rounds = rounds;
    options.seeded = true;
    *made = (hub_case){.p = p, .wish = wish, .plan = planned_plan(p, &options), .radius = 20};
    if (made->plan->problem != NULL)
        return false;
    method_options asked = {.radius = made->radius, .margin = {.kind = wish->margin, .probability = 0.9}};
    if (wish->method == TC_METHOD_TACIT)
        made->facts = method_facts(p, made->plan, &asked);
    return true;
}

static inline tc_hub *hub_new(tc_arena *arena, const hub_case *of, uint64_t seed, tc_team *team, uint64_t first_round) {
    tc_hub_settings settings = {.dual_radius = of->radius,
                                .team = team,
                                .method = of->facts,
                                .first_round = first_round,
                                .draws_ahead =
                                    team != NULL || first_round > 1}; /* half of them: bits must not depend on it */
    tc_hub *hub = NULL;
    const char *why = NULL;
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = tc_hub_new(arena, of->plan, of->p->model, of->p->derivatives, run_random(arena, seed), &settings, &hub,
                            &why);
    if (status != TC_OK)
        fail_msg("no hub: %s: %s", tc_status_text(status), why == NULL ? "" : why);
    tc_escape_end(arena, &escape);
    return hub;
}

static inline tc_engine *hub_engine(tc_arena *arena, const hub_case *of, uint64_t seed, tc_driver driver) {
    tc_engine_settings settings = {.dual_radius = of->radius, .method = of->facts};
    tc_engine *engine = NULL;
    const char *why = NULL;
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = tc_engine_new_driven(arena, of->plan, of->p->model, of->p->derivatives, run_random(arena, seed),
                                      &settings, driver, &engine, &why);
    if (status != TC_OK)
        fail_msg("no engine: %s: %s", tc_status_text(status), why == NULL ? "" : why);
    tc_escape_end(arena, &escape);
    return engine;
}

/* The message of one agent, from x by coordinate. */
static inline void hub_send(tc_hub *hub, const hub_case *of, size_t family, size_t member, const double *x) {
    const tc_family *from = &of->p->model->families[family];
    double own[64];
    int64_t units[64];
    assert_true(from->dim <= 64);
    for (size_t c = 0; c < from->dim; c++)
        own[c] = x[tc_coord_of(from, member, c)];
    assert_true(tc_to_lattice(own, from->dim, of->plan->state_exponent, units));
    if (tc_hub_take(hub, family, member, units) == TC_STATE_REFUSED)
        fail_msg("member %zu of family %zu is refused", member, family);
}

/* All messages; another number, another order. */
static inline void hub_send_all(tc_hub *hub, const hub_case *of, const double *x, size_t order) {
    const tc_model *model = of->p->model;
    static const size_t strides[] = {1, 7919, 104729, 1299709};
    for (size_t i = 0; i < model->agent_count; i++) {
        size_t agent = (i * strides[order % 4] + order) % model->agent_count;
        const tc_family *family = tc_family_of_agent(model, agent);
        hub_send(hub, of, (size_t)(family - model->families), agent - family->first_agent, x);
    }
}

typedef struct hub_answer {
    tc_answer_scalars scalars;
    double *p;
    unsigned char input[TC_HUB_INPUT];
} hub_answer;

static inline hub_answer hub_answer_new(tc_arena *arena, const hub_case *of) {
    return (hub_answer){.p = TC_NEW(arena, double, of->p->model->state_count)};
}

static inline void hub_round(tc_hub *hub, uint64_t k, hub_answer *answer) {
    tc_engine_outcome outcome;
    tc_status status = tc_hub_round(hub, k, &answer->scalars, answer->p, answer->input, &outcome);
    if (status != TC_OK || outcome != TC_ENGINE_DONE)
        fail_msg("round %llu: %s, %s", (unsigned long long)k, tc_status_text(status),
                 tc_hub_reason(hub) == NULL ? "no reason" : tc_hub_reason(hub));
}

static inline bool hub_same(const double *a, const double *b, size_t count) {
    return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

static inline void hub_expect(const hub_case *of, const tc_hub *hub, const tc_engine *engine, const char *what) {
    size_t m = of->p->model->constraint_count;
    bool same = tc_hub_rounds(hub) == tc_engine_rounds(engine) &&
                hub_same(tc_hub_multipliers(hub), tc_engine_multipliers(engine), m) &&
                hub_same(tc_hub_answer_multipliers(hub), tc_engine_answer_multipliers(engine), m);
    if (!same)
        fail_msg("%s: method %d, mechanism %d, placement %d: round %llu differs", what, (int)of->plan->method,
                 (int)of->plan->mechanism, (int)of->plan->placement, (unsigned long long)tc_hub_rounds(hub));
}

/* Takes some milliseconds for each hub and engine. */
static inline void hub_expect_feasibility(const hub_case *of, const tc_hub *hub, const tc_engine *engine) {
    const tc_feasibility *a = tc_hub_feasibility(hub), *b = tc_engine_feasibility(engine);
    assert_true((a == NULL) == (b == NULL));
    assert_true(a == NULL || b == NULL ||
                (a->shown == b->shown && a->is_exact == b->is_exact && a->probability == b->probability &&
                 hub_same(a->bounds, b->bounds, of->p->model->constraint_count)));
}

#endif
