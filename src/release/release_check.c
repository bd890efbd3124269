/* Whether a plan is one to release by. A plan made by tc_plan_make passes; the release trusts nobody. */
#include "release/release_parts.h"

#define CHECK(holds, ...)                                                                                              \
    do {                                                                                                               \
        if (!(holds))                                                                                                  \
            return tc_arena_format(arena, __VA_ARGS__);                                                                \
    } while (0)

static const char *check_scale(tc_arena *arena, const tc_plan *plan, const tc_channel *channel) {
    tc_noise_scale scale;
    CHECK(channel->step_exponent > -900 && channel->step_exponent < 900, "the lattice of %s is out of range",
          channel->name);
    if (plan->mechanism == TC_MECHANISM_NONE)
        return NULL;
    CHECK(channel->scale > 0 && isfinite(channel->scale), "%s has no noise", channel->name);
    CHECK(ldexp(channel->lattice_scale, channel->step_exponent) >= channel->scale,
          "the noise of %s is smaller on its lattice than the plan says", channel->name);
    CHECK(tc_noise_scale_from(channel->lattice_scale, &scale), "the noise of %s is out of the sampler's range",
          channel->name);
    return NULL;
}

static const char *check_channel(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                                 const tc_channel *channel) {
    bool states = tc_noises_states(plan);
    CHECK(channel->name != NULL, "a channel has no name");
    CHECK(states == (channel->kind == TC_CHANNEL_STATES), "channel %s does not belong to the placement", channel->name);
    if (channel->kind == TC_CHANNEL_CONSTRAINTS || channel->kind == TC_CHANNEL_JACOBIAN)
        CHECK(channel->first_row <= model->constraint_count &&
                  channel->row_count <= model->constraint_count - channel->first_row,
              "channel %s names constraints that are not there", channel->name);
    if (channel->kind == TC_CHANNEL_JACOBIAN || states)
        CHECK(channel->family < model->family_count &&
                  channel->first_member <= model->families[channel->family].count &&
                  channel->member_count <= model->families[channel->family].count - channel->first_member,
              "channel %s names agents that are not there", channel->name);
    CHECK(!states || channel->step_exponent == plan->state_exponent, "channel %s is not on the lattice of the states",
          channel->name);
    return check_scale(arena, plan, channel);
}

const char *tc_release_check_plan(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                                  const tc_derivatives *derivatives) {
    CHECK(plan != NULL, "nothing is released without a plan");
    CHECK(plan->problem == NULL, "there is no plan: %s", plan->problem);
    bool forms = plan->placement == TC_PLACEMENT_FORMS;
    CHECK(forms || plan->placement == TC_PLACEMENT_OUTPUTS || tc_noises_states(plan),
          "the plan does not say where the noise goes");
    CHECK(plan->measured == model && (forms ? plan->measured_derivatives == derivatives : plan->model == model),
          "the plan is for another problem");
    CHECK(plan->mechanism == TC_MECHANISM_LAPLACE || plan->mechanism == TC_MECHANISM_GAUSSIAN ||
              plan->mechanism == TC_MECHANISM_NONE,
          "the plan has no mechanism");
    CHECK(plan->mechanism != TC_MECHANISM_NONE || !plan->is_private, "a plan without noise calls itself private");
    CHECK(plan->rounds >= 1 && plan->rounds <= (double)TC_MOST_ROUND, "the plan has no horizon");
    CHECK(plan->state_exponent > -900 && plan->state_exponent < 900, "the lattice of the states is out of range");
    CHECK(plan->entry_count <= SIZE_MAX / sizeof(int64_t), "the plan has too many entries");
    uint64_t end = 0;
    for (size_t i = 0; i < plan->channel_count; i++) {
        const char *wrong = check_channel(arena, plan, model, &plan->channels[i]);
        if (wrong != NULL)
            return wrong;
        CHECK(plan->channels[i].first_entry >= end && plan->channels[i].entries <= plan->entry_count &&
                  plan->channels[i].first_entry <= plan->entry_count - plan->channels[i].entries,
              "the noise of %s has no addresses of its own", plan->channels[i].name);
        end = plan->channels[i].first_entry + plan->channels[i].entries;
    }
    for (size_t r = 0; !tc_noises_states(plan) && plan->mechanism != TC_MECHANISM_NONE && r < model->sum_count; r++)
        CHECK(plan->sum_exponents != NULL && plan->sum_exponents[r] > -900 && plan->sum_exponents[r] < 900,
              "the plan has no lattice for a sum");
    return NULL;
}

typedef struct cover { /* how often a channel speaks of each number */
    unsigned char *constraints, *jacobian, *states;
} cover;

static const char *mark(tc_arena *arena, const tc_release *release, cover *marks) {
    for (size_t i = 0; i < release->segment_count; i++) {
        const tc_segment *segment = &release->segments[i];
        unsigned char *at = segment->target == TC_TARGET_CONSTRAINTS ? marks->constraints
                            : segment->target == TC_TARGET_JACOBIAN  ? marks->jacobian
                                                                     : marks->states;
        for (size_t k = 0; k < segment->count; k++) {
            CHECK(at[segment->position + k] == 0, "channel %s releases what another one does", segment->channel->name);
            at[segment->position + k] = 1;
        }
    }
    return NULL;
}

/* With noise on every entry, blocks that are constant as a whole may still be left out. */
static bool is_constant(const tc_family_entries *entries, size_t shared, size_t member) {
    for (size_t i = 0; i < entries->single_count; i++)
        if (entries->singles[i].shared == shared && entries->singles[i].member == member && entries->singles[i].varies)
            return false;
    return !entries->shared[shared].varies;
}

static const char *check_outputs(tc_arena *arena, const tc_release *release, const cover *marks) {
    const tc_model *model = release->model;
    for (size_t j = 0; j < model->constraint_count; j++)
        CHECK(marks->constraints[j] || !model->dag->nodes[model->constraints[j].outer].has_state,
              "constraint %s would be released without noise", model->constraints[j].name);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_entries *entries = &release->entries->families[f];
        size_t members = model->families[f].count;
        for (size_t e = 0; e < entries->shared_count; e++)
            for (size_t k = 0; entries->shared[e].noised && k < members; k++)
                CHECK(marks->jacobian[entries->first + e * members + k] || is_constant(entries, e, k),
                      "the slope of %s for %s would be released without noise",
                      model->constraints[entries->shared[e].row].name, model->families[f].name);
        for (size_t i = 0; i < entries->single_count; i++)
            CHECK(!entries->singles[i].noised || marks->jacobian[entries->first_single + i],
                  "the slope of %s for %s would be released without noise",
                  model->constraints[entries->singles[i].row].name, model->families[f].name);
    }
    return NULL;
}

/* States that constraints look at must all be there to evaluate g at x-hat. */
static const char *check_states(tc_arena *arena, const tc_release *release, const cover *marks) {
    const tc_model *model = release->model;
    const tc_derivatives *d = release->derivatives;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t at = 0; d->families[f].body_count > 0 && at < family->dim * family->count; at++)
            CHECK(marks->states[family->first_coord + at], "the plan does not release the states of %s", family->name);
    }
    for (size_t i = 0; i < d->input_count; i++)
        CHECK(d->inputs[i].op != TC_COORD || marks->states[d->inputs[i].index],
              "the plan does not release a state that a constraint names");
    return NULL;
}

const char *tc_release_check_cover(tc_arena *arena, const tc_release *release) {
    if (release->plan->mechanism == TC_MECHANISM_NONE)
        return NULL;
    cover marks = {TC_NEW(arena, unsigned char, release->model->constraint_count),
                   TC_NEW(arena, unsigned char, release->entries->position_count),
                   TC_NEW(arena, unsigned char, release->model->state_count)};
    const char *wrong = mark(arena, release, &marks);
    if (wrong != NULL)
        return wrong;
    return tc_noises_states(release->plan) ? check_states(arena, release, &marks)
                                           : check_outputs(arena, release, &marks);
}
