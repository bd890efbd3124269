/* Whether noise has the law that the plan says: its sign, its tails, its scale, and that no draw tells of another, of
 * another entry, agent or round. docs/proofs/audit.md. */
#ifndef TC_AUDIT_LAW_H
#define TC_AUDIT_LAW_H

#include "audit/audit.h"

/* ---- the released numbers that have noise, as one vector ---- */

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

/* F at a point of the auditor's own (no agent's: nothing private), without noise and hardly rounded. */
void tc_audit_truth(tc_audit_view *view, const double *x, double *values);

/* ---- their law ---- */

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

/* The size of noise below which half of the draws should lie. */
double tc_stated_median(const tc_plan *plan, const tc_channel *channel);
/* Of noise in units of its scale: the probability to exceed a size. */
double tc_stated_tail(const tc_plan *plan, double size);

/* Contradictions, at `level` together; adds to audit->faults. where: what was released, in words, as part of a
 * sentence. kind: what faults are called, NULL for "noise" (too small), "law" and "dependence". */
void tc_judge_law(tc_arena *arena, const tc_law *law, double level, const char *kind, const char *where,
                  tc_audit *audit);

/* How many draws reveal by their size that noise is half of what the plan says; and how many rounds it takes until all
 * channels have so many and two entries with the same noise are noticed. level: as in tc_judge_law. */
uint64_t tc_draws_for_half(const tc_plan *plan, double level);
uint64_t tc_rounds_for_law(const tc_law *law, double level);

/* Adds a fault; the audit is refuted. */
void tc_audit_add_fault(tc_audit *audit, const char *kind, const char *text);

#endif
