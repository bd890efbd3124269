#include "audit/fresh.h"

#include <stdio.h>
#include <string.h>

enum { MOST_FRESH = 1000, LEAST_FRESH = 250, WORK = 1 << 24 };

/* With a seed each has a name of its own. Otherwise only a fresh key tells them apart: whether it does is looked at. */
static tc_status make_random(tc_arena *arena, const tc_audit_options *options, uint64_t number, tc_random **random) {
    char name[48];
    int length = snprintf(name, sizeof name, "audit of a first round %llu", (unsigned long long)number);
    tc_run_identity run = {.run_id = name, .run_id_length = options->seeded ? (size_t)length : 5};
    return options->seeded ? tc_random_new_simulation(arena, &run, options->seed, random)
                           : tc_random_new(arena, &run, random);
}

/* In an arena of its own, which goes afterwards: keys go with it. */
static tc_status release_once(tc_arena *arena, const tc_sampler *s, const tc_audit_options *options, uint64_t number) {
    const tc_plan *plan = s->view->plan;
    tc_random *random = NULL;
    tc_release *release = NULL;
    const char *why = NULL;
    tc_status status = make_random(arena, options, number, &random);
    if (status == TC_OK)
        status = tc_release_new(arena, plan, plan->measured, plan->measured_derivatives, random, NULL, &release, &why);
    if (status != TC_OK)
        return status;
    tc_released *released = tc_released_new(arena, release);
    status = tc_release_round(release, 1, s->states[0], released);
    if (status == TC_OK)
        tc_audit_read(s->view, released, s->values);
    return status;
}

static tc_status release_fresh(const tc_sampler *s, const tc_audit_options *options, uint64_t number) {
    tc_arena *arena = tc_arena_new(0);
    tc_escape escape;
    if (arena == NULL)
        return TC_NO_MEMORY;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = release_once(arena, s, options, number);
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return status;
}

static tc_fresh *new_fresh(tc_arena *arena, const tc_audit_view *view) {
    tc_fresh *made = TC_NEW(arena, tc_fresh, 1);
    uint64_t each = view->model->state_count + view->count, fit = WORK / each;
    made->wanted = fit > MOST_FRESH ? MOST_FRESH : fit < LEAST_FRESH ? LEAST_FRESH : fit;
    made->law = tc_law_new(arena, view);
    made->moved = TC_NEW(arena, bool, view->count);
    made->marks = TC_NEW(arena, uint64_t *, view->plan->channel_count);
    for (size_t i = 0; i < tc_marked_channels(view->plan); i++)
        made->marks[i] = TC_NEW(arena, uint64_t, made->wanted);
    return made;
}

tc_status tc_fresh_sample(tc_arena *arena, tc_sampler *s, const tc_worst_case *pair, const tc_audit_options *options,
                          double until, const tc_monitor *monitor, tc_fresh **fresh) {
    const tc_audit_view *view = s->view;
    tc_fresh *made = *fresh = new_fresh(arena, view);
    double slack = tc_audit_slack(view->plan, pair);
    tc_sampler_set(arena, s, pair);
    for (uint64_t i = 0; i < made->wanted && !tc_interrupted(monitor) && tc_audit_clock() <= until; i++) {
        tc_status status = release_fresh(s, options, i);
        if (status != TC_OK)
            return status;
        for (size_t e = 0; i > 0 && e < view->count; e++)
            made->moved[e] = made->moved[e] || s->values[e] != s->previous[0][e];
        memcpy(s->previous[0], s->values, view->count * sizeof *s->values);
        tc_law_take(made->law, s->values, pair->truth[0], slack);
        for (size_t c = 0; c < tc_marked_channels(view->plan); c++)
            made->marks[c][i] = tc_mark_of(view, s->values, c, 0);
        made->done++;
    }
    return TC_OK;
}

static void judge_support(tc_arena *arena, const tc_audit_view *view, const tc_fresh *fresh, double level,
                          tc_audit *audit) {
    size_t still = 0, last = 0;
    for (size_t e = 0; e < view->count; e++) {
        double mass = tc_largest_mass(view->plan, &view->plan->channels[view->entries[e].channel]);
        bool is_still =
            !fresh->moved[e] && fresh->done > 1 && pow(mass, (double)(fresh->done - 1)) * (double)view->count <= level;
        still += is_still;
        last = is_still ? e : last;
    }
    if (still > 0)
        tc_audit_add_fault(
            audit, "first round",
            tc_arena_format(arena,
                            "%zu of %zu numbers never changed in the first rounds of %llu releases of the same input, "
                            "one of %s among them: they have no noise, or the same under every key",
                            still, view->count, (unsigned long long)fresh->done,
                            view->plan->channels[view->entries[last].channel].name));
}

void tc_judge_fresh(tc_arena *arena, const tc_audit_view *view, const tc_fresh *fresh, double level, tc_audit *audit) {
    size_t channels = tc_marked_channels(view->plan);
    uint64_t same;
    judge_support(arena, view, fresh, level / 3, audit);
    for (size_t i = 0; i < channels; i++)
        if (tc_judge_reuse(view, i, fresh->marks[i], fresh->done, level / 3 / (double)channels, &same)) {
            tc_audit_add_fault(audit, "first round",
                               tc_arena_format(arena,
                                               "%s: %llu pairs of releases with fresh keys released the same numbers "
                                               "in their first round",
                                               view->plan->channels[i].name, (unsigned long long)same));
            break;
        }
    tc_judge_law(arena, fresh->law, level / 3, "first round", "in first rounds ", audit);
}

uint64_t tc_fresh_needed(const tc_fresh *fresh, double level) { return tc_rounds_for_law(fresh->law, level / 3); }
