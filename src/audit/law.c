#include "audit/law.h"

#include <string.h>

double tc_stated_median(const tc_plan *plan, const tc_channel *channel) {
    return channel->scale * (plan->mechanism == TC_MECHANISM_LAPLACE ? 0.69314718055994531 : 0.67448975019608174);
}

double tc_stated_tail(const tc_plan *plan, double size) {
    if (!(size > 0))
        return 1;
    return plan->mechanism == TC_MECHANISM_LAPLACE ? exp(-size) : erfc(size / sqrt(2));
}

/* The size that a draw exceeds with this probability; by bisection, since any size gives a valid test. */
static double size_with_tail(const tc_plan *plan, double probability) {
    double low = 0, high = 64;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (tc_stated_tail(plan, middle) > probability)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Groups of four neighbours, spread over all entries: neighbours share words of the random source, others agents and
 * rows. */
static void choose_watched(tc_law *law) {
    size_t count = law->view->count;
    if (count <= TC_LAW_WATCHED) {
        for (size_t e = 0; e < count; e++)
            law->watched[law->watched_count++] = e;
        return;
    }
    for (size_t g = 0; g < TC_LAW_WATCHED / 4; g++)
        for (size_t i = 0; i < 4; i++)
            law->watched[law->watched_count++] = g * (count - 4) / (TC_LAW_WATCHED / 4 - 1) + i;
}

static void add_lag(tc_law *law, size_t lag) {
    for (size_t i = 0; i < law->lag_count; i++)
        if (law->lags[i] == lag)
            return;
    if (lag > 0 && lag < law->view->count && law->lag_count < TC_LAW_LAGS)
        law->lags[law->lag_count++] = lag;
}

static void choose_lags(tc_law *law) {
    const tc_plan *plan = law->view->plan;
    for (size_t lag = 1; lag <= 8; lag++)
        add_lag(law, lag);
    for (size_t lag = 16; lag <= 8192; lag *= 2)
        add_lag(law, lag);
    for (size_t f = 0; f < plan->model->family_count; f++) /* the next component of the same agents */
        add_lag(law, plan->model->families[f].count);
    for (size_t i = 0; i < plan->channel_count; i++)
        add_lag(law, (size_t)plan->channels[i].entries);
}

tc_law *tc_law_new(tc_arena *arena, const tc_audit_view *view) {
    tc_law *law = TC_NEW(arena, tc_law, 1);
    size_t channels = view->plan->channel_count;
    law->view = view;
    law->trials = TC_NEW(arena, uint64_t, channels);
    law->above = TC_NEW(arena, uint64_t, channels);
    law->below = TC_NEW(arena, uint64_t, channels);
    law->within = TC_NEW(arena, uint64_t, channels);
    law->median = TC_NEW(arena, double, channels);
    law->beyond = tc_arena_alloc(arena, channels, sizeof *law->beyond);
    law->tails = tc_arena_alloc(arena, channels, sizeof *law->tails);
    law->pairs = tc_arena_alloc(arena, TC_LIKENESSES, sizeof *law->pairs);
    law->bits = TC_NEW(arena, unsigned char, view->count);
    for (size_t i = 0; i < channels; i++) {
        law->median[i] = tc_stated_median(view->plan, &view->plan->channels[i]);
        for (int j = 0; j < TC_LAW_TAILS; j++)
            law->tails[i][j] = view->plan->channels[i].scale * size_with_tail(view->plan, ldexp(1, -j - 1));
    }
    choose_watched(law);
    choose_lags(law);
    return law;
}

/* ---- counting ---- */

static void take_channels(tc_law *law, const double *values, const double *truth) {
    const tc_audit_view *view = law->view;
    for (size_t i = 0; i < view->plan->channel_count; i++) {
        const tc_channel *channel = &view->plan->channels[i];
        size_t count = view->start[i + 1] - view->start[i], step = count / TC_LAW_ENTRIES + 1;
        double aside = law->slack * channel->scale + ldexp(4, channel->step_exponent);
        for (size_t e = view->start[i]; e < view->start[i + 1]; e += step) {
            double noise = values[e] - truth[e], size = fabs(noise);
            law->trials[i]++;
            law->above[i] += noise > aside;
            law->below[i] += noise < -aside;
            law->within[i] += size <= law->median[i];
            for (int j = 0; j < TC_LAW_TAILS && size > law->tails[i][j]; j++)
                law->beyond[i][j]++;
        }
    }
}

static void count_alike(tc_law *law, tc_likeness what, uint64_t mask) {
    for (size_t i = 0; i + 1 < law->watched_count; i++) {
        uint64_t same = (mask >> i & 1) != 0 ? mask : ~mask;
        uint32_t *row = law->pairs[what][i];
        for (size_t j = i + 1; j < law->watched_count; j++)
            row[j] += (uint32_t)(same >> j & 1);
    }
}

static void take_watched(tc_law *law, const double *values, const double *truth) {
    uint64_t masks[TC_LIKENESSES] = {0};
    for (size_t i = 0; i < law->watched_count; i++) {
        size_t e = law->watched[i];
        const tc_channel *channel = &law->view->plan->channels[law->view->entries[e].channel];
        double noise = values[e] - truth[e], aside = law->slack * channel->scale + ldexp(4, channel->step_exponent);
        bool is_within = fabs(noise) <= law->median[law->view->entries[e].channel];
        law->entry_above[i] += noise > aside;
        law->entry_below[i] += noise < -aside;
        law->entry_within[i] += is_within;
        masks[TC_SAME_SIDE] |= (uint64_t)(noise >= 0) << i;
        masks[TC_SAME_SIZE] |= (uint64_t)is_within << i;
    }
    law->entry_trials++;
    if (law->rounds >= TC_LAW_ROUNDS)
        return;
    law->pair_trials++;
    for (tc_likeness what = 0; what < TC_LIKENESSES; what++) {
        count_alike(law, what, masks[what]);
        for (size_t b = 0; b < TC_LAW_BACK && b < law->rounds; b++) {
            uint64_t same = ~(masks[what] ^ law->masks[what][b]);
            for (size_t i = 0; i < law->watched_count; i++)
                law->back[what][b][i] += same >> i & 1;
            law->back_trials[b] += what == 0;
        }
        memmove(&law->masks[what][1], &law->masks[what][0], (TC_LAW_BACK - 1) * sizeof law->masks[what][0]);
        law->masks[what][0] = masks[what];
    }
}

static void take_whole(tc_law *law, const double *values, const double *truth) {
    for (size_t e = 0; e < law->view->count; e++) {
        double noise = values[e] - truth[e];
        law->bits[e] = (unsigned char)((noise >= 0) + 2 * (fabs(noise) <= law->median[law->view->entries[e].channel]));
    }
    for (size_t l = 0; l < law->lag_count; l++) {
        size_t lag = law->lags[l], pairs = law->view->count - lag;
        uint64_t sides = 0, sizes = 0;
        for (size_t e = 0; e < pairs; e++) {
            unsigned same = ~(unsigned)(law->bits[e] ^ law->bits[e + lag]);
            sides += same & 1;
            sizes += same >> 1 & 1;
        }
        law->lag_same[TC_SAME_SIDE][l] += sides;
        law->lag_same[TC_SAME_SIZE][l] += sizes;
        law->lag_trials[l] += pairs;
    }
}

void tc_law_take(tc_law *law, const double *values, const double *truth, double slack) {
    law->slack = slack;
    take_channels(law, values, truth);
    take_watched(law, values, truth);
    if (law->rounds < TC_LAW_WHOLE)
        take_whole(law, values, truth);
    law->rounds++;
}
