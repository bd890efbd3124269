/* Plans put together by hand, for tests of what obeys a plan. Scales are the caller's choice: nothing is calibrated. */
#ifndef TC_TESTS_PLAN_BY_HAND_H
#define TC_TESTS_PLAN_BY_HAND_H

#include "release/release.h"
#include "solver/problem.h"

typedef struct hand {
    tc_placement placement;
    tc_mechanism mechanism;
    int state_exponent, step_exponent, sum_exponent;
    double scale; /* of the first channel, in units of its step; others have multiples of it */
    double rounds;
    bool every_entry;
    bool split; /* a channel for each constraint, and for each member */
} hand;

static inline void add_channel(tc_plan *plan, const hand *by, tc_channel channel) {
    channel.step_exponent = by->placement == TC_PLACEMENT_STATES ? by->state_exponent : by->step_exponent;
    channel.lattice_scale = by->scale * (double)(1 + plan->channel_count % 5);
    channel.scale = ldexp(channel.lattice_scale, channel.step_exponent);
    channel.variance = (by->mechanism == TC_MECHANISM_LAPLACE ? 2 : 1) * channel.scale * channel.scale;
    channel.every_entry = by->every_entry;
    plan->channels[plan->channel_count++] = channel;
}

static inline void add_rows(tc_plan *plan, const hand *by) {
    uint32_t rows = (uint32_t)plan->model->constraint_count, step = by->split ? 1 : rows;
    for (uint32_t j = 0; j < rows; j += step)
        add_channel(
            plan, by,
            (tc_channel){
                .kind = TC_CHANNEL_CONSTRAINTS, .name = "g", .first_row = j, .row_count = step, .family = UINT32_MAX});
}

static inline void add_family(tc_plan *plan, const hand *by, uint32_t family) {
    size_t members = plan->model->families[family].count, step = by->split ? 1 : members;
    bool states = by->placement == TC_PLACEMENT_STATES;
    for (size_t k = 0; k < members; k += step)
        add_channel(plan, by,
                    (tc_channel){.kind = states ? TC_CHANNEL_STATES : TC_CHANNEL_JACOBIAN,
                                 .name = states ? "x" : "J",
                                 .family = family,
                                 .first_member = k,
                                 .member_count = step,
                                 .row_count = states ? 0 : (uint32_t)plan->model->constraint_count});
}

static inline tc_plan *plan_by_hand(const problem *p, const hand *by) {
    tc_plan *plan = TC_NEW(p->arena, tc_plan, 1);
    *plan = (tc_plan){.model = p->model,
                      .measured = p->model,
                      .measured_derivatives = p->derivatives,
                      .mechanism = by->mechanism,
                      .placement = by->placement,
                      .adjacency = TC_ADJACENCY_ONE,
                      .adjacency_bound = 1,
                      .epsilon = 1,
                      .rounds = by->rounds,
                      .state_exponent = by->state_exponent,
                      .is_private = by->mechanism != TC_MECHANISM_NONE};
    plan->sum_exponents = TC_NEW(p->arena, int, p->model->sum_count + 1);
    for (size_t r = 0; r < p->model->sum_count; r++)
        plan->sum_exponents[r] = by->sum_exponent;
    plan->channels = TC_NEW(p->arena, tc_channel, p->model->agent_count + p->model->constraint_count);
    if (by->placement == TC_PLACEMENT_OUTPUTS)
        add_rows(plan, by);
    for (uint32_t f = 0; f < p->model->family_count; f++)
        add_family(plan, by, f);
    bool *every = TC_NEW(p->arena, bool, p->model->family_count);
    for (size_t f = 0; f < p->model->family_count; f++)
        every[f] = by->every_entry;
    tc_entries *entries = tc_entries_new(p->arena, p->model, p->derivatives, every);
    for (size_t i = 0; i < plan->channel_count; i++) {
        plan->channels[i].first_entry = plan->entry_count;
        plan->channels[i].entries = tc_channel_entries(entries, &plan->channels[i], NULL, NULL);
        plan->entry_count += plan->channels[i].entries;
    }
    return plan;
}

static inline tc_random *seeded(tc_arena *arena, uint64_t seed) {
    tc_run_identity run = {.run_id = "test", .run_id_length = 4};
    tc_random *random = NULL;
    if (tc_random_new_simulation(arena, &run, seed, &random) != TC_OK)
        abort();
    return random;
}

/* What a test needs to release: aborts where a good plan is refused. */
typedef struct gate {
    tc_plan *plan;
    tc_release *release;
    tc_released *out;
    tc_private_states *states;
} gate;

static inline gate gate_of(const problem *p, tc_plan *plan, uint64_t seed, const tc_release_settings *settings) {
    gate g = {.plan = plan};
    const char *why = NULL;
    if (tc_release_new(p->arena, plan, p->model, p->derivatives, seeded(p->arena, seed), settings, &g.release, &why) !=
        TC_OK) {
        (void)fprintf(stderr, "refused: %s\n", why == NULL ? "?" : why);
        abort();
    }
    g.out = tc_released_new(p->arena, g.release);
    g.states = tc_states_new(p->arena, p->model, plan->state_exponent);
    if (g.states == NULL)
        abort();
    return g;
}

#endif
