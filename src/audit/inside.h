/* Between the files of src/audit: what is looked at, what is counted, and what counts contradict. */
#ifndef TC_AUDIT_INSIDE_H
#define TC_AUDIT_INSIDE_H

#include "audit/audit.h"
#include "plan/sensitivity/cap.h"

/* ==== worst.c: the released numbers that have noise, as one vector ==== */

typedef struct tc_view_entry {
    tc_target target;
    size_t position;
    uint32_t channel;
} tc_view_entry;

typedef struct tc_audit_view {
    const tc_plan *plan;
    const tc_model *model;
    tc_release *release;
    tc_released *released;  /* scratch */
    tc_view_entry *entries; /* in the order of the addresses of their noise */
    size_t count;
    size_t *start; /* by channel: its entries are start[i] .. start[i + 1] - 1 */
} tc_audit_view;

tc_audit_view *tc_audit_view_new(tc_arena *arena, const tc_plan *plan, tc_release *release);

/* What was released, entry by entry. */
void tc_audit_read(const tc_audit_view *view, const tc_released *released, double *values);

/* ==== law.c: their law ==== */

enum {
    TC_LAW_ENTRIES = 16,    /* of a channel, spread over it */
    TC_LAW_TAILS = 12,      /* sizes that half, a quarter, ... of all draws exceed */
    TC_LAW_WATCHED = 64,    /* entries that are compared with each other, one pair at a time */
    TC_LAW_BACK = 4,        /* rounds back that a round is compared with */
    TC_LAW_LAGS = 32,       /* distances at which all entries are compared ... */
    TC_LAW_WHOLE = 64,      /* ... in the first rounds */
    TC_LAW_ROUNDS = 1 << 16 /* in which pairs are counted */
};

/* In what two draws may agree. */
typedef enum tc_likeness { TC_SAME_SIDE, TC_SAME_SIZE, TC_LIKENESSES } tc_likeness;

typedef struct tc_law {
    const tc_audit_view *view;
    double slack;    /* in units of the scale: how far the auditor's F may be from the release's, besides steps */
    uint64_t rounds; /* counted so far */
    /* by channel, of TC_LAW_ENTRIES of its entries */
    uint64_t *trials, *above, *below, *within; /* within: the stated median */
    uint64_t *outside;                         /* beyond the bounds of a last round's noise */
    uint64_t (*beyond)[TC_LAW_TAILS];
    double (*tails)[TC_LAW_TAILS];
    double *median;
    /* of watched entries */
    size_t watched[TC_LAW_WATCHED], watched_count;
    uint64_t entry_above[TC_LAW_WATCHED], entry_below[TC_LAW_WATCHED], entry_within[TC_LAW_WATCHED];
    uint64_t entry_trials, pair_trials;
    uint32_t (*pairs)[TC_LAW_WATCHED][TC_LAW_WATCHED]; /* [likeness][i][j], j > i: how often */
    uint64_t back[TC_LIKENESSES][TC_LAW_BACK][TC_LAW_WATCHED], back_trials[TC_LAW_BACK];
    uint64_t masks[TC_LIKENESSES][TC_LAW_BACK]; /* of the rounds before */
    /* of all entries */
    size_t lags[TC_LAW_LAGS], lag_count;
    uint64_t lag_same[TC_LIKENESSES][TC_LAW_LAGS], lag_trials[TC_LAW_LAGS];
    unsigned char *bits; /* scratch, by entry */
} tc_law;

tc_law *tc_law_new(tc_arena *arena, const tc_audit_view *view);

/* Counts one release of an input whose F is known; slack: see above. Calls are the successive rounds of one release, or
 * unrelated releases, which are then compared as rounds are. */
void tc_law_take(tc_law *law, const double *values, const double *truth, double slack);

/* Contradictions, at `level` together; adds to audit->faults. where: what was released, in words, as part of a
 * sentence. kind: what faults are called, NULL for "noise" (too small), "law" and "dependence". */
void tc_judge_law(tc_arena *arena, const tc_law *law, double level, const char *kind, const char *where,
                  tc_audit *audit);

/* How many draws reveal by their size that noise is half of what the plan says; and how many rounds it takes until all
 * channels have so many and two entries with the same noise are noticed. level: as in tc_judge_law. */
uint64_t tc_draws_for_half(const tc_plan *plan, double level);
uint64_t tc_rounds_for_law(const tc_law *law, double level);

/* Noise of a last round is drawn until it is within its bounds: so many scales, and with this probability at once.
 * Infinite, and 1, for noise without bounds. */
double tc_noise_reach(const tc_channel *channel);
double tc_noise_kept(const tc_plan *plan, const tc_channel *channel);

/* How far the probability that noise is above zero can be from a half; slack: as in tc_law_take. */
double tc_off_side(const tc_plan *plan, const tc_channel *channel, double slack);

/* Adds a fault; the audit is refuted. */
void tc_audit_add_fault(tc_audit *audit, const char *kind, const char *text);

/* ==== worst.c: two adjacent inputs ==== */

double tc_audit_clock(void); /* clock.c; in seconds */

typedef struct tc_worst_case {
    double *x[2];     /* on the lattice of the states, within the box */
    double *truth[2]; /* F at either, all entries of the view */
    double loss;      /* the price of telling them apart by the chosen entries, if scales are as the plan says:
                       * sum |difference| / b for Laplace, gdp for Gaussian noise */
    size_t moved;     /* coordinates that differ */
    size_t coord;     /* the one that differs most */
} tc_worst_case;

/* The worst pair found for entries first .. end - 1 of the view, adjacent in the plan's unit (for the unit `agent`, in
 * one round). How far it looks depends on the size of the problem, not on the machine; but no longer than until that
 * time (tc_audit_clock; HUGE_VAL for never). *is_whole: it has looked at all that it wanted to. NULL where the lattice
 * allows no pair or an interrupt came. */
tc_worst_case *tc_worst_pair(tc_arena *arena, tc_audit_view *view, const tc_analysis *analysis, size_t first,
                             size_t end, double until, const tc_monitor *monitor, bool *is_whole);

/* ==== sample.c: many releases of them ==== */

enum { TC_CORNERS = 4, TC_REUSE_ENTRIES = 4, TC_REUSE_CHANNELS = 32, TC_REUSE_SAMPLES = 1 << 17 };

typedef struct tc_changed { /* an entry that differs between the inputs of a pair */
    size_t entry;
    double scale;    /* of its noise */
    double distance; /* (F(x0) - F(x1)) / scale */
} tc_changed;

/* Of one pair. World w is the input x[w]; direction d asks for what is likelier in world d. */
typedef struct tc_pair_counts {
    tc_changed *changed; /* the most changed first */
    size_t changed_count;
    uint64_t samples[2];
    uint64_t corner[2][2][TC_CORNERS]; /* [direction][world][m]: the m + 1 most changed entries beyond F(x[d]) */
    double corner_loss[TC_CORNERS];    /* [m]: what the m + 1 most changed entries cost together; 0 if they are fewer */
    uint64_t impossible[2];            /* of a last round, by world: beyond the bounds that the other world has */
    double *statistic[2];              /* by world: the log-likelihood ratio of each sample, in the order drawn */
} tc_pair_counts;

/* Of everything that is released, over all pairs. */
typedef struct tc_whole_counts {
    uint64_t *off_lattice; /* by channel: values that are no multiples of the step */
    bool *moved;           /* by entry: two releases of the same input differed */
    uint64_t comparisons;  /* how often each entry was compared */
    tc_law *law;           /* of the first pair */
    uint64_t **marks; /* by channel: a fingerprint of each of the first samples of the first pair, input included */
    uint64_t mark_count;
} tc_whole_counts;

typedef struct tc_sampler {
    tc_audit_view *view;
    tc_private_states *states[2];
    tc_released *released;
    double *values, *previous[2];
    tc_whole_counts whole;
    uint64_t round;
    uint64_t worlds; /* state of the sequence that chooses the input: public, so any generator will do */
} tc_sampler;

typedef struct tc_sample_limits {
    uint64_t samples;  /* of each world */
    double until;      /* tc_audit_clock; HUGE_VAL for never */
    double begin, end; /* of the whole work, for progress */
    const tc_audit_options *options;
} tc_sample_limits;

tc_sampler *tc_sampler_new(tc_arena *arena, tc_audit_view *view, uint64_t most_samples);

static inline size_t tc_marked_channels(const tc_plan *plan) {
    return plan->channel_count < TC_REUSE_CHANNELS ? plan->channel_count : TC_REUSE_CHANNELS;
}

/* Without a sample yet. */
tc_pair_counts *tc_pair_counts_new(tc_arena *arena, const tc_audit_view *view, const tc_worst_case *pair, size_t first,
                                   size_t end);

tc_status tc_sample_pair(tc_arena *arena, tc_sampler *sampler, const tc_worst_case *pair,
                         const tc_sample_limits *limits, const tc_monitor *monitor, tc_pair_counts *counts) TC_MUST_USE;

/* ---- first rounds of many releases ---- */

/* Each with a key of its own. */
typedef struct tc_fresh {
    uint64_t wanted; /* by the size of the problem alone */
    uint64_t done;
    tc_law *law;
    bool *moved;      /* by entry: two of them differed */
    uint64_t **marks; /* by channel: fingerprints */
} tc_fresh;

/* As many as the size of the problem allows, of the pair's first input. Stops early at `until` or at an interrupt. */
tc_status tc_fresh_sample(tc_arena *arena, tc_sampler *sampler, const tc_worst_case *pair,
                          const tc_audit_options *options, double until, const tc_monitor *monitor,
                          tc_fresh **fresh) TC_MUST_USE;

/* One of them. Sources of a run have its name and the hash of their plan. */
typedef struct tc_audit_start {
    const char *name;
    uint64_t number;
    bool has_hash;
} tc_audit_start;

/* The first round of a release of its own, of an input that was set; sampler->values has what was released. */
tc_status tc_release_first(const tc_sampler *sampler, size_t world, const tc_audit_options *options,
                           const tc_audit_start *start) TC_MUST_USE;

/* Sets the pair's two inputs for the release. */
void tc_set_inputs(tc_arena *arena, tc_sampler *sampler, const tc_worst_case *pair);

/* How far the auditor's F may be from the release's, in units of the noise's scale, beyond four steps of the lattice:
 * terms of sums are rounded one by one. docs/proofs/audit.md. */
double tc_audit_slack(const tc_plan *plan, const tc_worst_case *pair);

/* ==== sets.c: public sets that the plan relies on ==== */

/* Moves a member's states, among all in x (points of the lattice), into its public set: the first components first, as
 * the cloud does, or backward. caps may be NULL. */
void tc_audit_keep(const tc_caps *caps, const tc_family *family, size_t number, size_t member, bool backward,
                   double *x);

/* Sends states outside of public sets, of some members of every family, and adds faults of kind "public set" where the
 * release does not move them into the set. */
tc_status tc_audit_sets(tc_arena *arena, const tc_audit_view *view, tc_audit *audit) TC_MUST_USE;

/* ==== binomial.c ==== */

/* Bounds of a probability from k successes in n independent trials (Clopper and Pearson): each holds with probability
 * at least 1 - level, whatever the probability is. docs/proofs/audit.md. */

/* The regularised incomplete beta function I_x(a, b) for a, b > 0; relative error below 1e-9 where it is above 1e-300
 * and a + b is below 1e9 (tests compare with scipy). */
double tc_incomplete_beta(double a, double b, double x);

/* Below and above the probability; moved outward by more than the error of the computation. */
double tc_binomial_lower(uint64_t successes, uint64_t trials, double level);
double tc_binomial_upper(uint64_t successes, uint64_t trials, double level);

/* The same formulas of expected counts, which need not be whole: bounds that narrow with every trial. */
double tc_expected_lower(double successes, double trials, double level);
double tc_expected_upper(double successes, double trials, double level);

/* ==== judge.c ==== */

/* Which counts contradict the plan, and the verdict. Every test has its share of the allowed false alarms. */

/* Tests of epsilon that a system has, and the false alarms each may raise. */
size_t tc_tests_of_epsilon(const tc_plan *plan);

/* Whether the samples alone contradict what is claimed. */
bool tc_samples_refute(const tc_audit_system *system);

/* Sets lower_bound, delta_seen, refuted and event. */
void tc_judge_epsilon(tc_arena *arena, const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                      tc_audit_system *system);

/* How the false alarms of what is not a bound on epsilon are shared; docs/proofs/audit.md. */
#define TC_SHARE_SUPPORT (1 / 6.0)
#define TC_SHARE_REUSE (1 / 6.0)
#define TC_SHARE_LAW (1 / 3.0)
#define TC_SHARE_FIRST (1 / 3.0) /* of first rounds */

/* Lattice, support, reuse and law of the noise, at `level` together; adds to audit->faults. */
void tc_judge_whole(tc_arena *arena, const tc_audit_view *view, const tc_whole_counts *whole, double level,
                    tc_audit *audit);

/* Contradictions, at `level` together; adds to audit->faults, of kind "first round". */
void tc_judge_fresh(tc_arena *arena, const tc_audit_view *view, const tc_fresh *fresh, double level, tc_audit *audit);

/* ---- the price of a pair: exact, without a sample ---- */

/* Sets amount and price of the system, and priced_out where they refute its claim. `rounds`: how often the two inputs
 * may differ: 1, or in the unit `agent` all rounds of the plan. */
void tc_judge_price(const tc_audit_view *view, const tc_worst_case *pair, size_t first, size_t end, double rounds,
                    tc_audit_system *system);

/* ==== last.c: a last round, which is a plan within the plan ==== */

/* Its release as an audit looks at it: averages are as far apart as the plan says. */
tc_plan *tc_audit_plan_of_last(tc_arena *arena, const tc_plan *whole);

/* What the plan claims of the rounds by themselves, and of the last round. */
tc_audit_system tc_claim_of_rounds(const tc_plan *whole);
tc_audit_system tc_claim_of_last(const tc_plan *whole);

/* Sets exact_delta_of_bounds of the system, and priced_out where it refutes the claim. */
void tc_judge_bounds(const tc_audit_view *view, const tc_worst_case *pair, size_t first, size_t end,
                     tc_audit_system *system);

/* One of the two releases of a run, and an input. */
typedef struct tc_audit_source {
    tc_sampler *sampler;
    const tc_worst_case *pair;
} tc_audit_source;

/* Starts both as a run does, many times, and adds a fault of kind "sources" where the noise of the last round tells of
 * that of the first one. */
tc_status tc_audit_sources(tc_arena *arena, const tc_audit_source both[2], const tc_audit_options *options,
                           const tc_monitor *monitor, double level, tc_audit *audit) TC_MUST_USE;

/* Adds the findings about the last round: its systems, faults and notes, and one point. */
void tc_audit_join(tc_audit *audit, const tc_audit *last);

/* ---- could half the noise have been seen? ---- */

/* Whether so many samples of each world refute the system's claim, were its noise half of what the plan says. */
bool tc_price_shows_half(const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                         const tc_audit_system *system, uint64_t samples);

/* The least such number, which all larger ones share; 0 where a billion are too few. */
uint64_t tc_samples_for_half(const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                             const tc_audit_system *system);

/* ---- verdicts ---- */

/* why: what keeps it from being conclusive; NULL for nothing. */
void tc_audit_add_point(tc_audit *audit, const char *name, bool is_refuted, const char *why);

/* Sets points, verdict and inconclusive_because. rounds: releases of the long one; fresh may be NULL: none. level: that
 * of tc_judge_whole. */
void tc_audit_conclude(tc_arena *arena, const tc_whole_counts *whole, uint64_t rounds, const tc_fresh *fresh,
                       double level, tc_audit *audit);

#endif
