/* Two inputs that are hard to hide, many releases of them, and what is counted while they pass. */
#ifndef TC_AUDIT_SAMPLE_H
#define TC_AUDIT_SAMPLE_H

#include "audit/law.h"

/* ---- two adjacent inputs ---- */

double tc_audit_clock(void); /* seconds */

typedef struct tc_worst_case {
    double *x[2];     /* on the lattice of the states, within the box */
    double *truth[2]; /* F at either, all entries of the view */
    double loss;      /* the price of telling them apart by the chosen entries, if scales are as the plan says:
                       * sum |difference| / b for Laplace, the trade-off parameter mu for Gaussian noise */
    size_t moved;     /* coordinates that differ */
    size_t coord;     /* the one that differs most */
} tc_worst_case;

/* The worst pair found for entries first .. end - 1 of the view, adjacent in the plan's unit (for the unit `agent`, in
 * one round). How far it looks depends on the size of the problem, not on the machine; but no longer than until that
 * time (tc_audit_clock; HUGE_VAL for never). *is_whole: it has looked at all that it wanted to. NULL where the lattice
 * allows no pair or an interrupt came. */
tc_worst_case *tc_worst_pair(tc_arena *arena, tc_audit_view *view, const tc_analysis *analysis, size_t first,
                             size_t end, double until, const tc_monitor *monitor, bool *is_whole);

/* ---- many releases of them ---- */

enum { TC_CORNERS = 4, TC_REUSE_ENTRIES = 4, TC_REUSE_CHANNELS = 32, TC_REUSE_SAMPLES = 1 << 17 };

/* Of one pair. World w is the input x[w]; direction d asks for what is likelier in world d. */
typedef struct tc_pair_counts {
    uint64_t samples[2];
    uint64_t corner[2][2][TC_CORNERS]; /* [direction][world][m]: the m + 1 most changed entries beyond F(x[d]) */
    double corner_loss[TC_CORNERS];    /* [m]: what the m + 1 most changed entries cost together; 0 if they are fewer */
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
} tc_sample_limits;

tc_sampler *tc_sampler_new(tc_arena *arena, tc_audit_view *view, uint64_t most_samples);

/* How far the auditor's F may be from the release's, in units of the noise's scale, beyond four steps of the lattice:
 * terms of sums are rounded one by one. docs/proofs/audit.md. */
double tc_audit_slack(const tc_plan *plan, const tc_worst_case *pair);

/* The fingerprint of a channel's first entries. */
uint64_t tc_mark_of(const tc_audit_view *view, const double *values, size_t channel, uint64_t start);
static inline size_t tc_marked_channels(const tc_plan *plan) {
    return plan->channel_count < TC_REUSE_CHANNELS ? plan->channel_count : TC_REUSE_CHANNELS;
}

/* Sets the pair's two inputs for the release. */
void tc_sampler_set(tc_arena *arena, tc_sampler *sampler, const tc_worst_case *pair);

tc_status tc_sample_pair(tc_arena *arena, tc_sampler *sampler, const tc_worst_case *pair, size_t first, size_t end,
                         const tc_sample_limits *limits, const tc_monitor *monitor,
                         tc_pair_counts **counts) TC_MUST_USE;

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

#endif
