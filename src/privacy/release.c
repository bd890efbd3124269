#include "privacy/release.h"
#include "privacy/release_parts.h"
#include "privacy/secret.h"

enum { USUAL_BLOCK = 4096 };

static bool has_noise(const tc_release *release) { return release->plan->mechanism != TC_MECHANISM_NONE; }

static void wipe_noise(tc_release *release) {
    tc_secret_wipe(release->noise, (size_t)release->plan->entry_count * sizeof *release->noise);
    release->prepared = 0;
}

static void wipe_all(void *what) {
    tc_release *release = what;
    wipe_noise(release);
    tc_secret_wipe(release->values->units, release->values->count * sizeof *release->values->units);
}

/* Whose Jacobian gets noise on every entry; channels of one family must agree. */
static const char *list_every_entry(tc_arena *arena, const tc_plan *plan, bool *every) {
    bool *seen = TC_NEW(arena, bool, plan->model->family_count);
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        if (channel->kind != TC_CHANNEL_JACOBIAN)
            continue;
        if (seen[channel->family] && every[channel->family] != channel->every_entry)
            return "channels of one family disagree on which entries get noise";
        seen[channel->family] = true;
        every[channel->family] = channel->every_entry;
    }
    return NULL;
}

static const char *list_segments(tc_arena *arena, tc_release *release) {
    const tc_plan *plan = release->plan;
    size_t count = 0, total = 0;
    for (size_t i = 0; i < plan->channel_count; i++) {
        if (tc_channel_entries(release->entries, &plan->channels[i], NULL, &count) != plan->channels[i].entries)
            return tc_arena_format(arena, "the plan miscounts the entries of %s", plan->channels[i].name);
        total += count;
    }
    release->segments = TC_NEW(arena, tc_segment, total);
    for (size_t i = 0; i < plan->channel_count; i++) {
        (void)tc_channel_entries(release->entries, &plan->channels[i], release->segments + release->segment_count,
                                 &count);
        release->segment_count += count;
    }
    return NULL;
}

static void make_room(tc_arena *arena, tc_release *release) {
    const tc_model *model = release->model;
    size_t entries = (size_t)release->plan->entry_count;
    release->noise = TC_NEW(arena, int64_t, entries);
    release->values = TC_NEW(arena, tc_private_values, 1);
    *release->values = (tc_private_values){TC_NEW(arena, int64_t, entries), entries};
    release->sums = TC_NEW(arena, int64_t, model->sum_count);
    release->partial = TC_NEW(arena, int64_t, model->sum_count);
    release->sum_values = TC_NEW(arena, double, model->sum_count);
    release->coords = TC_NEW(arena, double, model->state_count);
    tc_arena_on_free(arena, wipe_all, release);
}

static const char *prepare_to_release(tc_arena *arena, tc_release *release) {
    const tc_plan *plan = release->plan;
    bool *every = TC_NEW(arena, bool, release->model->family_count);
    const char *wrong = list_every_entry(arena, plan, every);
    if (wrong != NULL)
        return wrong;
    release->entries = tc_entries_new(arena, release->model, release->derivatives, every);
    release->evaluator = tc_evaluator_new(arena, release->model, release->derivatives, release->entries);
    if ((wrong = list_segments(arena, release)) != NULL || (wrong = tc_release_check_cover(arena, release)) != NULL ||
        (wrong = tc_release_check_range(arena, release)) != NULL)
        return wrong;
    if (!tc_release_plan_noise(arena, release))
        return "a scale is out of the sampler's range";
    make_room(arena, release);
    return NULL;
}

tc_status tc_release_new(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                         tc_random *random, const tc_release_settings *settings, tc_release **release,
                         const char **why) {
    tc_release_settings usual = {0};
    settings = settings == NULL ? &usual : settings;
    *release = NULL;
    *why = tc_release_check_plan(arena, plan, model);
    if (*why != NULL)
        return TC_BAD_USAGE;
    tc_release *made = TC_NEW(arena, tc_release, 1);
    *made = (tc_release){.plan = plan,
                         .model = model,
                         .derivatives = derivatives,
                         .random = random,
                         .block = settings->block == 0 ? USUAL_BLOCK : settings->block,
                         .next_round = settings->first_round == 0 ? 1 : settings->first_round};
    *why = prepare_to_release(arena, made);
    if (*why != NULL)
        return TC_BAD_USAGE;
    if (!tc_random_claim(random)) {
        *why = "the random source serves another release already: their noise would be the same";
        return TC_BAD_USAGE;
    }
    tc_status status = tc_random_worker_new(arena, random, &made->worker);
    if (status == TC_OK)
        *release = made;
    return status;
}

bool tc_release_is_private(const tc_release *release) {
    return release->plan->is_private && has_noise(release) && tc_random_is_private(release->random);
}

uint64_t tc_release_next_round(const tc_release *release) { return release->next_round; }

tc_released *tc_released_new(tc_arena *arena, tc_release *release) {
    const tc_model *model = release->model;
    tc_released *made = TC_NEW(arena, tc_released, 1);
    *made = (tc_released){.is_private = tc_release_is_private(release),
                          .layout = release->entries,
                          .constraints = TC_NEW(arena, double, model->constraint_count),
                          .jacobian = TC_NEW(arena, double, release->entries->position_count)};
    if (release->plan->placement == TC_PLACEMENT_STATES) {
        made->states = TC_NEW(arena, double, model->state_count);
        for (size_t i = 0; i < model->state_count; i++)
            made->states[i] = NAN;
    }
    tc_release_constants(arena, release, made->jacobian);
    return made;
}

tc_status tc_release_prepare(tc_release *release, uint64_t round) {
    const tc_plan *plan = release->plan;
    if (round != release->next_round || (double)round > plan->rounds)
        return TC_BAD_USAGE;
    tc_status status = tc_random_open_round(release->random, round); /* refuses a forked child, noise at hand or not */
    if (status == TC_OK && release->prepared == round)
        return TC_OK;
    if (status == TC_OK)
        status = tc_release_draw(release);
    if (status == TC_OK)
        release->prepared = round;
    else
        wipe_noise(release);
    return status;
}

/* The door itself. An integer c plus round(y) is round(c + y): docs/proofs/release.md. */
static void publish(const tc_release *release, const tc_private_values *values, tc_released *released) {
    for (size_t i = 0; i < release->segment_count; i++) {
        const tc_segment *segment = &release->segments[i];
        double step = ldexp(1, segment->channel->step_exponent);
        double *out = segment->target == TC_TARGET_CONSTRAINTS ? released->constraints
                      : segment->target == TC_TARGET_JACOBIAN  ? released->jacobian
                                                               : released->states;
        for (size_t k = 0; k < segment->count; k++)
            out[segment->position + k] = step * (double)tc_saturating_add(values->units[segment->address + k],
                                                                          release->noise[segment->address + k]);
    }
}

/* Mechanism none: a simulation that says so. */
static void publish_plainly(tc_release *release, const tc_private_states *states, tc_released *released) {
    for (size_t i = 0; i < release->model->state_count; i++)
        release->coords[i] = (double)states->units[i] * states->step;
    tc_released_evaluate(release, release->coords, released);
    for (size_t i = 0; released->states != NULL && i < release->model->state_count; i++)
        released->states[i] = release->coords[i];
}

tc_status tc_release_round(tc_release *release, uint64_t round, const tc_private_states *states,
                           tc_released *released) {
    if (states->model != release->model || states->exponent != release->plan->state_exponent ||
        released->layout != release->entries)
        return TC_BAD_USAGE;
    tc_status status = tc_release_prepare(release, round);
    if (status != TC_OK)
        return status;
    release->next_round++; /* before anything is written: never twice */
    if (has_noise(release)) {
        tc_release_values(release, states);
        publish(release, release->values, released);
        tc_secret_wipe(release->values->units, release->values->count * sizeof *release->values->units);
    } else {
        publish_plainly(release, states, released);
    }
    wipe_noise(release);
    released->round = round;
    return TC_OK;
}
