/* Whether noise has the law that the plan says: its sign, its tails, its scale, and that no draw tells of another, of
 * another entry, agent or round. docs/proofs/audit.md. */
#include "audit/inside.h"

#include <string.h>

/* Of noise without bounds, in units of its scale: the probability to exceed a size. */
static double free_tail(const tc_plan *plan, double size) {
    if (!(size > 0))
        return 1;
    return plan->mechanism == TC_MECHANISM_LAPLACE ? exp(-size) : erfc(size / sqrt(2));
}

double tc_noise_reach(const tc_channel *channel) {
    return channel->bound > 0 ? ((double)channel->bound + 0.5) / channel->lattice_scale : (double)INFINITY;
}

double tc_noise_kept(const tc_plan *plan, const tc_channel *channel) {
    return channel->bound > 0 ? 1 - free_tail(plan, tc_noise_reach(channel)) : 1;
}

/* The same of a channel's noise, which in a last round is drawn until it is within its bounds. */
static double stated_tail(const tc_plan *plan, const tc_channel *channel, double size) {
    double tail = free_tail(plan, size), kept = tc_noise_kept(plan, channel);
    return kept == 1 ? tail : size >= tc_noise_reach(channel) ? 0 : (tail - (1 - kept)) / kept;
}

/* The size that a draw exceeds with this probability; by bisection, since any size gives a valid test. */
static double size_with_tail(const tc_plan *plan, const tc_channel *channel, double probability) {
    double low = 0, high = 64;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (stated_tail(plan, channel, middle) > probability)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The size of noise below which half of the draws should lie. */
static double stated_median(const tc_plan *plan, const tc_channel *channel) {
    if (channel->bound > 0)
        return channel->scale * size_with_tail(plan, channel, 0.5);
    return channel->scale * (plan->mechanism == TC_MECHANISM_LAPLACE ? 0.69314718055994531 : 0.67448975019608174);
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
    law->outside = TC_NEW(arena, uint64_t, channels);
    law->median = TC_NEW(arena, double, channels);
    law->beyond = tc_arena_alloc(arena, channels, sizeof *law->beyond);
    law->tails = tc_arena_alloc(arena, channels, sizeof *law->tails);
    law->pairs = tc_arena_alloc(arena, TC_LIKENESSES, sizeof *law->pairs);
    law->bits = TC_NEW(arena, unsigned char, view->count);
    for (size_t i = 0; i < channels; i++) {
        law->median[i] = stated_median(view->plan, &view->plan->channels[i]);
        const tc_channel *channel = &view->plan->channels[i];
        for (int j = 0; j < TC_LAW_TAILS; j++)
            law->tails[i][j] = channel->scale * size_with_tail(view->plan, channel, ldexp(1, -j - 1));
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
            law->outside[i] += size - aside > channel->scale * tc_noise_reach(channel);
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

/* ---- which counts contradict the stated law ---- */

/* A bound on each probability follows from the law and from how far the auditor's F may be off. Counts that put the
 * probability beyond it have a chance of at most the test's level. */

enum { KINDS_OF_TESTS = 5 };

void tc_audit_add_fault(tc_audit *audit, const char *kind, const char *text) {
    if (audit->faults == NULL)
        audit->faults = TC_NEW(audit->arena, tc_audit_fault, TC_AUDIT_FAULTS);
    if (audit->fault_count < TC_AUDIT_FAULTS)
        audit->faults[audit->fault_count++] = (tc_audit_fault){kind, text};
    audit->refuted = true;
}

typedef struct bench {
    tc_arena *arena;
    const tc_law *law;
    const tc_audit_view *view;
    const char *kind, *where; /* kind may be NULL */
    tc_audit *audit;
    double share; /* of the level: each kind of test has it */
} bench;

static void find(const bench *b, const char *kind, const char *text) {
    tc_audit_add_fault(b->audit, b->kind == NULL ? kind : b->kind, tc_arena_format(b->arena, "%s%s", b->where, text));
}

/* Whether the counted probability is above `most`. Counts far from it are not examined. */
static bool is_above(uint64_t hits, uint64_t trials, double most, double level) {
    double n = (double)trials, over = (double)hits - n * most;
    if (trials == 0 || !(over > 3 * sqrt(n * most * (1 - most))))
        return false;
    return tc_binomial_lower(hits, trials, level) > most;
}

static bool is_below(uint64_t hits, uint64_t trials, double least, double level) {
    return is_above(trials - hits, trials, 1 - least, level);
}

/* How far F may be from the auditor's, in units of the scale. */
static double off_by(const bench *b, const tc_channel *channel) { return b->law->slack + 4 / channel->lattice_scale; }

static double median_size(const bench *b, const tc_channel *channel) {
    return stated_median(b->view->plan, channel) / channel->scale;
}

static double most_within(const bench *b, const tc_channel *channel) {
    return 1 - stated_tail(b->view->plan, channel, median_size(b, channel) + off_by(b, channel));
}

double tc_off_side(const tc_plan *plan, const tc_channel *channel, double slack) {
    return (1 - stated_tail(plan, channel, slack + 4 / channel->lattice_scale)) / 2;
}

/* How far the probability of one side, or of being within the median, can be from a half. */
static double off_half(const bench *b, const tc_channel *channel, tc_likeness what) {
    const tc_plan *plan = b->view->plan;
    double by = off_by(b, channel), median = median_size(b, channel);
    if (what == TC_SAME_SIDE)
        return tc_off_side(plan, channel, b->law->slack);
    return fmax(stated_tail(plan, channel, median - by) - 0.5, 0.5 - stated_tail(plan, channel, median + by));
}

/* ---- one channel ---- */

static void judge_size(const bench *b) {
    const tc_law *law = b->law;
    for (size_t i = 0; i < b->view->plan->channel_count; i++) {
        const tc_channel *channel = &b->view->plan->channels[i];
        double most = most_within(b, channel);
        if (is_above(law->within[i], law->trials[i], most, b->share / (double)b->view->plan->channel_count))
            find(b, "noise",
                 tc_arena_format(b->arena,
                                 "%s: noise stays within %.4g in %.3g of all releases, and should in %.3g: it is "
                                 "smaller than the plan says",
                                 channel->name, law->median[i], (double)law->within[i] / (double)law->trials[i], most));
    }
}

/* One fault per channel: a wrong law is mostly wrong at many sizes. */
static void judge_tails(const bench *b, size_t i, double level) {
    const tc_law *law = b->law;
    const tc_channel *channel = &b->view->plan->channels[i];
    for (int j = 0; j < TC_LAW_TAILS; j++) {
        double size = law->tails[i][j] / channel->scale, by = off_by(b, channel);
        double least = stated_tail(b->view->plan, channel, size + by),
               most = stated_tail(b->view->plan, channel, size - by);
        bool lacks = is_below(law->beyond[i][j], law->trials[i], least, level);
        if (!lacks && !is_above(law->beyond[i][j], law->trials[i], most, level))
            continue;
        find(b, "law",
             tc_arena_format(b->arena,
                             "%s: noise exceeds %.4g in %.3g of all releases, and should in %.3g: it does not have "
                             "the law that the plan says",
                             channel->name, law->tails[i][j], (double)law->beyond[i][j] / (double)law->trials[i],
                             lacks ? least : most));
        return;
    }
}

/* Cannot happen by chance. What is certain of results rests on bounds. */
static void judge_bounds(const bench *b) {
    for (size_t i = 0; i < b->view->plan->channel_count; i++)
        if (b->law->outside[i] > 0)
            find(b, "bounds",
                 tc_arena_format(
                     b->arena, "%s: %llu of %llu draws of noise lie beyond its bounds, %.4g on either side",
                     b->view->plan->channels[i].name, (unsigned long long)b->law->outside[i],
                     (unsigned long long)b->law->trials[i],
                     ldexp((double)b->view->plan->channels[i].bound, b->view->plan->channels[i].step_exponent)));
}

static void judge_shape(const bench *b) {
    const tc_law *law = b->law;
    size_t channels = b->view->plan->channel_count;
    double level = b->share / (double)channels / (2 + 2 * TC_LAW_TAILS);
    for (size_t i = 0; i < channels; i++) {
        bool is_up = is_above(law->above[i], law->trials[i], 0.5, level);
        if (is_up || is_above(law->below[i], law->trials[i], 0.5, level))
            find(b, "law",
                 tc_arena_format(b->arena, "%s: noise is %s zero in %.3g of all releases, and should be in a half",
                                 b->view->plan->channels[i].name, is_up ? "above" : "below",
                                 (double)(is_up ? law->above[i] : law->below[i]) / (double)law->trials[i]));
        judge_tails(b, i, level);
    }
}

/* ---- entries ---- */

static const char *name_entry(const bench *b, size_t watched) {
    size_t e = b->law->watched[watched], channel = b->view->entries[e].channel;
    return tc_arena_format(b->arena, "number %zu of %s", e - b->view->start[channel] + 1,
                           b->view->plan->channels[channel].name);
}

static const tc_channel *channel_of(const bench *b, size_t watched) {
    return &b->view->plan->channels[b->view->entries[b->law->watched[watched]].channel];
}

/* Reports the first one that fails: a fault in all of them is one fault. */
static void judge_entries(const bench *b) {
    const tc_law *law = b->law;
    double level = b->share / (3 * (double)law->watched_count);
    for (size_t i = 0; i < law->watched_count; i++) {
        const char *what = is_above(law->entry_within[i], law->entry_trials, most_within(b, channel_of(b, i)), level)
                               ? "is smaller than the plan says"
                           : is_above(law->entry_above[i], law->entry_trials, 0.5, level) ? "is too often above zero"
                           : is_above(law->entry_below[i], law->entry_trials, 0.5, level) ? "is too often below zero"
                                                                                          : NULL;
        if (what == NULL)
            continue;
        find(b, "law", tc_arena_format(b->arena, "the noise of %s %s", name_entry(b, i), what));
        return;
    }
}

/* Two independent events, each of probability a half give or take `off`: whether they agree too often or too seldom. */
static const char *how_alike(uint64_t same, uint64_t trials, double off, double level) {
    return is_above(same, trials, fmin(1, 0.5 + off), level)   ? "more"
           : is_below(same, trials, fmax(0, 0.5 - off), level) ? "less"
                                                               : NULL;
}

static const char *of_likeness(tc_likeness what) { return what == TC_SAME_SIDE ? "side of zero" : "size"; }

static bool judge_pairs(const bench *b, tc_likeness what, double level) {
    const tc_law *law = b->law;
    for (size_t i = 0; i < law->watched_count; i++)
        for (size_t j = i + 1; j < law->watched_count; j++) {
            double off = 2 * off_half(b, channel_of(b, i), what) * off_half(b, channel_of(b, j), what);
            const char *how = how_alike(law->pairs[what][i][j], law->pair_trials, off, level);
            if (how == NULL)
                continue;
            find(b, "dependence",
                 tc_arena_format(b->arena,
                                 "the noise of %s and of %s have the same %s %s often than by chance: whoever knows "
                                 "one learns of the other",
                                 name_entry(b, i), name_entry(b, j), of_likeness(what), how));
            return true;
        }
    return false;
}

static void judge_back(const bench *b, tc_likeness what, double level) {
    const tc_law *law = b->law;
    for (size_t back = 0; back < TC_LAW_BACK; back++)
        for (size_t i = 0; i < law->watched_count; i++) {
            double off = off_half(b, channel_of(b, i), what);
            const char *how = how_alike(law->back[what][back][i], law->back_trials[back], 2 * off * off, level);
            if (how == NULL)
                continue;
            find(b, "dependence",
                 tc_arena_format(b->arena,
                                 "the noise of %s has the same %s as %zu release%s before, %s often than by chance",
                                 name_entry(b, i), of_likeness(what), back + 1, back == 0 ? "" : "s", how));
            return;
        }
}

static void judge_lags(const bench *b, tc_likeness what, double level) {
    const tc_law *law = b->law;
    double off = 0;
    for (size_t i = 0; i < b->view->plan->channel_count; i++)
        off = fmax(off, off_half(b, &b->view->plan->channels[i], what));
    for (size_t l = 0; l < law->lag_count; l++) {
        const char *how = how_alike(law->lag_same[what][l], law->lag_trials[l], off, level);
        if (how == NULL)
            continue;
        find(b, "dependence",
             tc_arena_format(b->arena, "the noise of numbers %zu apart has the same %s %s often than by chance",
                             law->lags[l], of_likeness(what), how));
        return;
    }
}

static double pair_level(const tc_law *law, double share) {
    double pairs = (double)law->watched_count * (double)(law->watched_count - 1) / 2;
    return share / (2 * TC_LIKENESSES * fmax(1, pairs));
}

void tc_judge_law(tc_arena *arena, const tc_law *law, double level, const char *kind, const char *where,
                  tc_audit *audit) {
    bench b = {.arena = arena,
               .law = law,
               .view = law->view,
               .kind = kind,
               .where = where,
               .audit = audit,
               .share = level / KINDS_OF_TESTS};
    if (law->rounds == 0)
        return;
    judge_bounds(&b);
    judge_size(&b);
    judge_shape(&b);
    judge_entries(&b);
    for (tc_likeness what = 0; what < TC_LIKENESSES; what++) {
        if (!judge_pairs(&b, what, pair_level(law, b.share)))
            judge_lags(&b, what, b.share / 2 / (2 * TC_LIKENESSES * TC_LAW_LAGS));
        judge_back(&b, what, b.share / 2 / (2 * TC_LIKENESSES * TC_LAW_BACK * (double)law->watched_count));
    }
}

/* ---- power ---- */

typedef struct size_wish {
    double within, level; /* of noise at half its size: the share within the stated median */
} size_wish;

static bool size_shows(const size_wish *s, uint64_t draws) {
    return tc_expected_lower((double)draws * s->within, (double)draws, s->level) > 0.5;
}

/* Half of the draws lie within the stated median; of noise at half its size, those within twice its own. */
static double half_within(const tc_plan *plan) {
    double least = plan->mechanism == TC_MECHANISM_LAPLACE ? 0.75 : 1 - erfc(2 * 0.67448975019608174 / sqrt(2));
    for (size_t i = 0; plan->is_last && i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        double median = stated_median(plan, channel) / channel->scale;
        least = fmin(least, 1 - free_tail(plan, 2 * median)); /* all the more, where these are bounded too */
    }
    return least;
}

uint64_t tc_draws_for_half(const tc_plan *plan, double level) {
    size_wish s = {.within = half_within(plan), .level = level / KINDS_OF_TESTS / (double)plan->channel_count};
    uint64_t low = 0, high = 16;
    for (; !size_shows(&s, high); high *= 2)
        low = high;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        *(size_shows(&s, middle) ? &high : &low) = middle;
    }
    return high;
}

uint64_t tc_rounds_for_law(const tc_law *law, double level) {
    uint64_t draws = tc_draws_for_half(law->view->plan, level);
    uint64_t needed = (uint64_t)ceil(-log2(pair_level(law, level / KINDS_OF_TESTS))) + 1;
    for (size_t i = 0; i < law->view->plan->channel_count && law->rounds > 0; i++) {
        uint64_t each = law->trials[i] / law->rounds; /* the same number in every round */
        if (each > 0 && (draws + each - 1) / each > needed)
            needed = (draws + each - 1) / each;
    }
    return needed;
}
