/* First rounds: releases with fresh keys, one round of each. A release that goes through many rounds has only one
 * first, and a run has it too. */
#ifndef TC_AUDIT_FRESH_H
#define TC_AUDIT_FRESH_H

#include "audit/judge.h"

typedef struct tc_fresh {
    uint64_t wanted; /* by the size of the problem alone */
    uint64_t done;
    tc_law *law;
    bool *moved;      /* by entry: two of them differed */
    uint64_t **marks; /* by channel: fingerprints */
} tc_fresh;

/* As many as the size of the problem allows, of the pair's first input. Stops early when the clock says so, or at an
 * interrupt. */
tc_status tc_fresh_sample(tc_arena *arena, tc_sampler *sampler, const tc_worst_case *pair,
                          const tc_audit_options *options, double until, const tc_monitor *monitor,
                          tc_fresh **fresh) TC_MUST_USE;

/* Contradictions, at `level` together; adds to audit->faults, of kind "first round". */
void tc_judge_fresh(tc_arena *arena, const tc_audit_view *view, const tc_fresh *fresh, double level, tc_audit *audit);

/* How many show noise of half its size in the first round, or none. */
uint64_t tc_fresh_needed(const tc_fresh *fresh, double level);

#endif
