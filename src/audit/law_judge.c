/* Which counts of law.h contradict the stated law. A bound on each probability follows from the law and from how far
 * the auditor's F may be off; counts that put the probability beyond it have a chance of at most the test's level. */
#include "audit/binomial.h"
#include "audit/law.h"

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
static double aside(const bench *b, const tc_channel *channel) { return b->law->slack + 4 / channel->lattice_scale; }

static double median_size(const bench *b, const tc_channel *channel) {
    return tc_stated_median(b->view->plan, channel) / channel->scale;
}

static double most_within(const bench *b, const tc_channel *channel) {
    return 1 - tc_stated_tail(b->view->plan, median_size(b, channel) + aside(b, channel));
}

/* How far the probability of one side, or of being within the median, can be from a half. */
static double off_half(const bench *b, const tc_channel *channel, tc_likeness what) {
    double by = aside(b, channel), median = median_size(b, channel);
    if (what == TC_SAME_SIDE)
        return (1 - tc_stated_tail(b->view->plan, by)) / 2;
    return fmax(tc_stated_tail(b->view->plan, median - by) - 0.5, 0.5 - tc_stated_tail(b->view->plan, median + by));
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
        double size = law->tails[i][j] / channel->scale, by = aside(b, channel);
        double least = tc_stated_tail(b->view->plan, size + by), most = tc_stated_tail(b->view->plan, size - by);
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
uint64_t tc_draws_for_half(const tc_plan *plan, double level) {
    bool laplace = plan->mechanism == TC_MECHANISM_LAPLACE;
    size_wish s = {.within = laplace ? 0.75 : 1 - erfc(2 * 0.67448975019608174 / sqrt(2)),
                   .level = level / KINDS_OF_TESTS / (double)plan->channel_count};
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
