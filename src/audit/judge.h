/* Which counts contradict the plan. Every test has its share of the allowed false alarms. */
#ifndef TC_AUDIT_JUDGE_H
#define TC_AUDIT_JUDGE_H

#include "audit/audit.h"
#include "audit/sample.h"

/* Tests of epsilon that a system has, and the false alarms each may raise. */
size_t tc_tests_of_epsilon(const tc_plan *plan);

/* Sets lower_bound, refuted and event. */
void tc_judge_epsilon(tc_arena *arena, const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                      tc_audit_system *system);

/* A lower bound on epsilon from the counts of one event in the two worlds. */
double tc_bound_epsilon(uint64_t hits, uint64_t trials, uint64_t other_hits, uint64_t other_trials, double delta,
                        double level);

/* How the false alarms of what is not a bound on epsilon are shared; docs/proofs/audit.md. */
#define TC_SHARE_SUPPORT (1 / 6.0)
#define TC_SHARE_REUSE (1 / 6.0)
#define TC_SHARE_LAW (1 / 3.0)
#define TC_SHARE_FIRST (1 / 3.0) /* of first rounds, audit/fresh.h */

/* The largest probability of one value of the noise: density times a step. */
double tc_largest_mass(const tc_plan *plan, const tc_channel *channel);
/* Whether so many fingerprints of a channel agree that its noise was used twice; sorts them, and says how many pairs
 * do. */
bool tc_judge_reuse(const tc_audit_view *view, size_t channel, uint64_t *marks, uint64_t count, double level,
                    uint64_t *same);

/* Lattice, support, reuse and law of the noise, at `level` together; adds to audit->faults. */
void tc_judge_whole(tc_arena *arena, const tc_audit_view *view, const tc_whole_counts *whole, double level,
                    tc_audit *audit);

#endif
