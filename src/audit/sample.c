/* Many releases of two inputs that are hard to hide, and what is counted while they pass. */
#include "audit/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1 << 12 }; /* a power of two */

tc_sampler *tc_sampler_new(tc_arena *arena, tc_audit_view *view, uint64_t most_samples) {
    tc_sampler *s = TC_NEW(arena, tc_sampler, 1);
    size_t channels = view->plan->channel_count;
    *s = (tc_sampler){.view = view, .released = tc_released_new(arena, view->release), .worlds = 1};
    s->values = TC_NEW(arena, double, view->count);
    for (size_t w = 0; w < 2; w++) {
        s->states[w] = tc_states_of_plan(arena, view->model, view->plan);
        s->previous[w] = TC_NEW(arena, double, view->count);
        if (s->states[w] == NULL)
            return NULL;
    }
    s->whole.off_lattice = TC_NEW(arena, uint64_t, channels);
    s->whole.moved = TC_NEW(arena, bool, view->count);
    s->whole.law = tc_law_new(arena, view);
    s->whole.marks = TC_NEW(arena, uint64_t *, channels);
    for (size_t i = 0; i < tc_marked_channels(view->plan); i++)
        s->whole.marks[i] = TC_NEW(arena, uint64_t, most_samples < TC_REUSE_SAMPLES ? most_samples : TC_REUSE_SAMPLES);
    return s;
}

double tc_audit_slack(const tc_plan *plan, const tc_worst_case *pair) {
    if (tc_noises_states(plan))
        return 1e-9; /* F is the states, on their lattice */
    return fmin(0.05, 1e-4 * (1 + (double)plan->model->agent_count * pair->loss));
}

/* ---- what is counted of every release ---- */

static void check_entries(tc_sampler *s, size_t world, bool compare) {
    const tc_plan *plan = s->view->plan;
    for (size_t i = 0; i < plan->channel_count; i++) {
        double per_unit = ldexp(1, -plan->channels[i].step_exponent);
        for (size_t e = s->view->start[i]; e < s->view->start[i + 1]; e++) {
            double units = s->values[e] * per_unit;
            s->whole.off_lattice[i] += units != rint(units);
            s->whole.moved[e] = s->whole.moved[e] || (compare && s->values[e] != s->previous[world][e]);
        }
    }
    s->whole.comparisons += compare;
    memcpy(s->previous[world], s->values, s->view->count * sizeof *s->values);
}

static uint64_t mix(uint64_t a, uint64_t b) { /* splitmix64's finaliser */
    a ^= b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2);
    a = (a ^ (a >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    a = (a ^ (a >> 27)) * UINT64_C(0x94d049bb133111eb);
    return a ^ (a >> 31);
}

/* The fingerprint of a channel's first entries. */
static uint64_t mark_of(const tc_audit_view *view, const double *values, size_t channel, uint64_t mark) {
    size_t end = view->start[channel + 1];
    for (size_t e = view->start[channel]; e < end && e < view->start[channel] + TC_REUSE_ENTRIES; e++) {
        uint64_t bits;
        memcpy(&bits, &values[e], sizeof bits);
        mark = mix(mark, bits);
    }
    return mark;
}

static void mark_channels(tc_sampler *s, size_t world) {
    for (size_t i = 0; i < tc_marked_channels(s->view->plan); i++)
        s->whole.marks[i][s->whole.mark_count] = mark_of(s->view, s->values, i, world);
    s->whole.mark_count++;
}

/* ---- what is counted for one pair ---- */

static int compare_changed(const void *x, const void *y) {
    double a = fabs(((const tc_changed *)x)->distance), b = fabs(((const tc_changed *)y)->distance);
    return a > b ? -1 : a < b;
}

/* The entries that differ, the most changed first. */
static tc_changed *list_changed(tc_arena *arena, const tc_audit_view *view, const tc_worst_case *pair, size_t first,
                                size_t end, size_t *count) {
    tc_changed *list = TC_NEW(arena, tc_changed, end - first);
    *count = 0;
    for (size_t e = first; e < end; e++) {
        double scale = view->plan->channels[view->entries[e].channel].scale;
        double distance = (pair->truth[0][e] - pair->truth[1][e]) / scale;
        if (distance != 0)
            list[(*count)++] = (tc_changed){e, scale, distance};
    }
    qsort(list, *count, sizeof *list, compare_changed);
    return list;
}

static void count_corners(const tc_sampler *s, const tc_worst_case *pair, const tc_changed *list, size_t count,
                          size_t world, tc_pair_counts *counts) {
    for (size_t d = 0; d < 2; d++)
        for (size_t m = 0; m < TC_CORNERS && m < count; m++) {
            double away = d == 0 ? list[m].distance : -list[m].distance;
            double beyond = s->values[list[m].entry] - pair->truth[d][list[m].entry];
            if (!(away > 0 ? beyond >= 0 : beyond <= 0))
                break;
            counts->corner[d][world][m]++;
        }
}

/* log of the density at F(x0) over that at F(x1), were the noise as stated. */
static double ratio_of(const tc_sampler *s, const tc_worst_case *pair, const tc_changed *list, size_t count) {
    bool laplace = s->view->plan->mechanism == TC_MECHANISM_LAPLACE;
    double ratio = 0;
    for (size_t i = 0; i < count; i++) {
        size_t e = list[i].entry;
        double from0 = (s->values[e] - pair->truth[0][e]) / list[i].scale;
        double from1 = (s->values[e] - pair->truth[1][e]) / list[i].scale;
        ratio += laplace ? fabs(from1) - fabs(from0) : (from1 - from0) * (from1 + from0) / 2;
    }
    return ratio;
}

/* Whether some entry lies beyond what noise within its bounds makes of the other input. */
static bool is_impossible(const tc_sampler *s, const tc_worst_case *pair, const tc_changed *list, size_t count,
                          size_t world, double slack) {
    const tc_plan *plan = s->view->plan;
    for (size_t i = 0; plan->is_last && i < count; i++) {
        const tc_channel *channel = &plan->channels[s->view->entries[list[i].entry].channel];
        double far = fabs(s->values[list[i].entry] - pair->truth[1 - world][list[i].entry]) / list[i].scale;
        if (far > tc_noise_reach(channel) + slack + 4 / channel->lattice_scale)
            return true;
    }
    return false;
}

/* Room grows with the samples: time may end an audit long before all are drawn. */
static void keep_statistic(tc_arena *arena, tc_pair_counts *counts, size_t world, double value) {
    size_t count = (size_t)counts->samples[world]++;
    if (count == 0)
        counts->statistic[world] = TC_NEW(arena, double, FIRST_ROOM);
    else if (count >= FIRST_ROOM && (count & (count - 1)) == 0)
        counts->statistic[world] = tc_arena_grow(arena, counts->statistic[world], count, 2 * count, sizeof(double));
    counts->statistic[world][count] = value;
}

void tc_set_inputs(tc_arena *arena, tc_sampler *s, const tc_worst_case *pair) {
    const tc_model *model = s->view->model;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        double *x = TC_NEW(arena, double, family->dim);
        for (size_t w = 0; w < 2; w++)
            for (size_t k = 0; k < family->count; k++) {
                for (size_t c = 0; c < family->dim; c++)
                    x[c] = pair->x[w][tc_coord_of(family, k, c)];
                tc_taken taken = tc_states_from_doubles(s->states[w], f, k, x);
                (void)taken; /* points of the lattice in the box */
            }
    }
}

/* One more release of an input. There is one last round, so each has a release of its own, as in a run. */
static tc_status sample(tc_sampler *s, size_t world, const tc_audit_options *options) {
    const tc_audit_start start = {.name = "a last round", .number = ++s->round, .has_hash = true};
    if (s->view->plan->is_last)
        return tc_release_first(s, world, options, &start);
    tc_status status = tc_release_round(s->view->release, s->round, s->states[world], s->released);
    if (status == TC_OK)
        tc_audit_read(s->view, s->released, s->values);
    return status;
}

tc_pair_counts *tc_pair_counts_new(tc_arena *arena, const tc_audit_view *view, const tc_worst_case *pair, size_t first,
                                   size_t end) {
    tc_pair_counts *made = TC_NEW(arena, tc_pair_counts, 1);
    made->changed = list_changed(arena, view, pair, first, end, &made->changed_count);
    for (size_t m = 0; m < TC_CORNERS && m < made->changed_count; m++)
        made->corner_loss[m] = (m == 0 ? 0 : made->corner_loss[m - 1]) + fabs(made->changed[m].distance);
    return made;
}

tc_status tc_sample_pair(tc_arena *arena, tc_sampler *s, const tc_worst_case *pair, const tc_sample_limits *limits,
                         const tc_monitor *monitor, tc_pair_counts *made) {
    bool is_first = s->round == 0;
    double slack = tc_audit_slack(s->view->plan, pair);
    tc_set_inputs(arena, s, pair);
    for (uint64_t i = 0; i < 2 * limits->samples; i++) {
        if (i % 64 == 0) {
            tc_progress(monitor, "sampling",
                        limits->begin + (limits->end - limits->begin) * (double)i / (2 * (double)limits->samples));
            if (tc_interrupted(monitor) || tc_audit_clock() > limits->until)
                break;
        }
        /* A shuffled order of worlds, so that noise used again after any number of rounds meets the same input. */
        s->worlds = mix(s->worlds, i);
        size_t world = s->worlds & 1;
        if (made->samples[world] == limits->samples)
            world = 1 - world;
        tc_status status = sample(s, world, limits->options);
        if (status != TC_OK)
            return status;
        check_entries(s, world, made->samples[world] > 0);
        if (is_first)
            tc_law_take(s->whole.law, s->values, pair->truth[world], slack);
        if (is_first && s->whole.mark_count < TC_REUSE_SAMPLES)
            mark_channels(s, world);
        count_corners(s, pair, made->changed, made->changed_count, world, made);
        made->impossible[world] += is_impossible(s, pair, made->changed, made->changed_count, world, slack);
        keep_statistic(arena, made, world, ratio_of(s, pair, made->changed, made->changed_count));
    }
    return TC_OK;
}

/* ---- first rounds of many releases ---- */

enum { MOST_FRESH = 1000, LEAST_FRESH = 250, WORK = 1 << 24 };

/* With a seed each has a name of its own. Otherwise only a fresh key tells them apart, and that is what is tested. */
static tc_status make_random(tc_arena *arena, const tc_plan *plan, const tc_audit_options *options,
                             const tc_audit_start *start, tc_random **random) {
    char name[64];
    int length = snprintf(name, sizeof name, "audit of %s %llu", start->name, (unsigned long long)start->number);
    tc_run_identity run = {.run_id = name, .run_id_length = options->seeded ? (size_t)length : 5};
    if (start->has_hash)
        memcpy(run.plan_hash, plan->hash, sizeof run.plan_hash);
    return options->seeded ? tc_random_new_simulation(arena, &run, options->seed, random)
                           : tc_random_new(arena, &run, random);
}

/* The arena is freed afterwards, and the keys with it. */
static tc_status release_once(tc_arena *arena, const tc_sampler *s, size_t world, const tc_audit_options *options,
                              const tc_audit_start *start) {
    const tc_plan *plan = s->view->plan;
    tc_random *random = NULL;
    tc_release *release = NULL;
    const char *why = NULL;
    tc_status status = make_random(arena, plan, options, start, &random);
    if (status == TC_OK)
        status = tc_release_new(arena, plan, plan->measured, plan->measured_derivatives, random, NULL, &release, &why);
    if (status != TC_OK)
        return status;
    tc_released *released = tc_released_new(arena, release);
    status = tc_release_round(release, 1, s->states[world], released);
    if (status == TC_OK)
        tc_audit_read(s->view, released, s->values);
    return status;
}

tc_status tc_release_first(const tc_sampler *s, size_t world, const tc_audit_options *options,
                           const tc_audit_start *start) {
    tc_arena *arena = tc_arena_new(0);
    tc_escape escape;
    if (arena == NULL)
        return TC_NO_MEMORY;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = release_once(arena, s, world, options, start);
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
    tc_set_inputs(arena, s, pair);
    for (uint64_t i = 0; i < made->wanted && !tc_interrupted(monitor) && tc_audit_clock() <= until; i++) {
        const tc_audit_start start = {.name = "a first round", .number = i, .has_hash = view->plan->is_last};
        tc_status status = tc_release_first(s, 0, options, &start);
        if (status != TC_OK)
            return status;
        for (size_t e = 0; i > 0 && e < view->count; e++)
            made->moved[e] = made->moved[e] || s->values[e] != s->previous[0][e];
        memcpy(s->previous[0], s->values, view->count * sizeof *s->values);
        tc_law_take(made->law, s->values, pair->truth[0], slack);
        for (size_t c = 0; c < tc_marked_channels(view->plan); c++)
            made->marks[c][i] = mark_of(view, s->values, c, 0);
        made->done++;
    }
    return TC_OK;
}
