/* Cloud halves for tests, each beside an engine with the same seed that has all parties together. */
#ifndef TC_TESTS_ENGINE_CLOUD_HALVES_H
#define TC_TESTS_ENGINE_CLOUD_HALVES_H

#include "engine/agent_half.h"
#include "engine/cloud_half.h"
#include "engine/method_runs.h"

typedef struct half_wish {
    tc_method method;
    tc_mechanism mechanism;
    tc_placement placement;
    tc_margin_kind margin;
} half_wish;

/* Wishes of every kind; a problem may refuse some. */
static const half_wish HALF_WISHES[] = {
    {TC_METHOD_PUBLISHED, TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, TC_MARGIN_NONE},
    {TC_METHOD_PUBLISHED, TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_OUTPUTS, TC_MARGIN_NONE},
    {TC_METHOD_PUBLISHED, TC_MECHANISM_NONE, TC_PLACEMENT_AUTO, TC_MARGIN_NONE},
    {TC_METHOD_TACIT, TC_MECHANISM_LAPLACE, TC_PLACEMENT_STATES, TC_MARGIN_NONE},
    {TC_METHOD_TACIT, TC_MECHANISM_LAPLACE, TC_PLACEMENT_FORMS, TC_MARGIN_NONE},
    {TC_METHOD_TACIT, TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_OUTPUTS, TC_MARGIN_AUTO},
    {TC_METHOD_TACIT, TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_AUTO, TC_MARGIN_NONE},
    {TC_METHOD_TACIT, TC_MECHANISM_NONE, TC_PLACEMENT_AUTO, TC_MARGIN_NONE},
    {TC_METHOD_TACIT, TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_STATES, TC_MARGIN_NONE},
};
enum { HALF_WISH_COUNT = sizeof HALF_WISHES / sizeof *HALF_WISHES };

typedef struct half_case { /* a problem as wished */
    planned *p;
    const half_wish *wish;
    tc_plan *plan;
    const tc_tacit_facts *facts;
    double radius;
} half_case;

/* False where the wish does not fit the problem. */
static inline bool half_case_in(planned *p, const half_wish *wish, tc_adjacency unit, double rounds, half_case *made) {
    tc_plan_options options = planned_options();
    options.method = wish->method;
    options.mechanism = wish->mechanism;
    options.placement = wish->placement;
    options.adjacency = unit;
    options.adjacency_bound = 1;
    options.epsilon = 1;
    options.delta = 1e-3;
    options.rounds = rounds;
    options.seeded = true;
    *made = (half_case){.p = p, .wish = wish, .plan = planned_plan(p, &options), .radius = 20};
    if (made->plan->problem != NULL)
        return false;
    method_options asked = {.radius = made->radius, .margin = {.kind = wish->margin, .probability = 0.9}};
    if (wish->method == TC_METHOD_TACIT)
        made->facts = method_facts(p, made->plan, &asked);
    return true;
}

static inline bool half_case_of(planned *p, const half_wish *wish, double rounds, half_case *made) {
    return half_case_in(p, wish, TC_ADJACENCY_ONE, rounds, made);
}

static inline tc_cloud_half *half_new(tc_arena *arena, const half_case *of, uint64_t seed, tc_team *team,
                                      uint64_t first_round) {
    tc_cloud_half_settings settings = {.dual_radius = of->radius,
                                       .team = team,
                                       .facts = of->facts,
                                       .first_round = first_round,
                                       .draws_ahead = team != NULL ||
                                                      first_round > 1}; /* half of them: bits must not depend on it */
    tc_cloud_half *half = NULL;
    const char *why = NULL;
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = tc_cloud_half_new(arena, of->plan, of->p->model, of->p->derivatives, run_random(arena, seed),
                                   &settings, &half, &why);
    if (status != TC_OK)
        fail_msg("no half: %s: %s", tc_status_text(status), why == NULL ? "" : why);
    tc_escape_end(arena, &escape);
    return half;
}

static inline tc_engine *half_engine(tc_arena *arena, const half_case *of, uint64_t seed, tc_driver driver) {
    tc_engine_settings settings = {.dual_radius = of->radius, .facts = of->facts};
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
static inline void half_send(tc_cloud_half *half, const half_case *of, size_t family, size_t member, const double *x) {
    const tc_family *from = &of->p->model->families[family];
    double own[64];
    int64_t units[64];
    assert_true(from->dim <= 64);
    for (size_t c = 0; c < from->dim; c++)
        own[c] = x[tc_coord_of(from, member, c)];
    assert_true(tc_to_lattice(own, from->dim, of->plan->state_exponent, units));
    if (tc_cloud_half_take(half, family, member, units) == TC_STATE_REFUSED)
        fail_msg("member %zu of family %zu is refused", member, family);
}

/* All messages, in one of many orders. */
static inline void half_send_all(tc_cloud_half *half, const half_case *of, const double *x, size_t order) {
    const tc_model *model = of->p->model;
    static const size_t strides[] = {1, 7919, 104729, 1299709};
    for (size_t i = 0; i < model->agent_count; i++) {
        size_t agent = (i * strides[order % 4] + order) % model->agent_count;
        const tc_family *family = tc_family_of_agent(model, agent);
        half_send(half, of, (size_t)(family - model->families), agent - family->first_agent, x);
    }
}

typedef struct half_answer {
    tc_answer_scalars scalars;
    double *p;
    unsigned char input[TC_STATES_MAC];
} half_answer;

static inline half_answer half_answer_new(tc_arena *arena, const half_case *of) {
    return (half_answer){.p = TC_NEW(arena, double, of->p->model->state_count)};
}

static inline void half_round(tc_cloud_half *half, uint64_t k, half_answer *answer) {
    tc_engine_outcome outcome;
    tc_status status = tc_cloud_half_round(half, k, &answer->scalars, answer->p, answer->input, &outcome);
    if (status != TC_OK || outcome != TC_ENGINE_DONE)
        fail_msg("round %llu: %s, %s", (unsigned long long)k, tc_status_text(status),
                 tc_cloud_half_reason(half) == NULL ? "no reason" : tc_cloud_half_reason(half));
}

static inline bool half_same(const double *a, const double *b, size_t count) {
    return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

static inline void half_expect(const half_case *of, const tc_cloud_half *half, const tc_engine *engine,
                               const char *what) {
    size_t m = of->p->model->constraint_count;
    bool same = tc_cloud_half_rounds(half) == tc_engine_rounds(engine) &&
                half_same(tc_cloud_half_multipliers(half), tc_engine_multipliers(engine), m) &&
                half_same(tc_cloud_half_result_multipliers(half), tc_engine_result_multipliers(engine), m);
    if (!same)
        fail_msg("%s: method %d, mechanism %d, placement %d: round %llu differs", what, (int)of->plan->method,
                 (int)of->plan->mechanism, (int)of->plan->placement, (unsigned long long)tc_cloud_half_rounds(half));
}

/* Takes some milliseconds for each half and engine. */
static inline void half_expect_feasibility(const half_case *of, const tc_cloud_half *half, const tc_engine *engine) {
    const tc_feasibility *a = tc_cloud_half_feasibility(half), *b = tc_engine_feasibility(engine);
    assert_true((a == NULL) == (b == NULL));
    assert_true(a == NULL || b == NULL ||
                (a->shown == b->shown && a->is_exact == b->is_exact && a->probability == b->probability &&
                 memcmp(&a->move, &b->move, sizeof a->move) == 0 &&
                 half_same(a->bounds, b->bounds, of->p->model->constraint_count)));
}

#endif
