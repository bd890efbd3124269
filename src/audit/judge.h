/* Which counts contradict the plan, and the verdict. Every test has its share of the allowed false alarms. */
#ifndef TC_AUDIT_JUDGE_H
#define TC_AUDIT_JUDGE_H

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

/* ---- could half the noise have been seen? ---- */

/* Whether so many samples of each world refute the system's claim, were its noise half of what the plan says. */
bool tc_price_shows_half(const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                         const tc_audit_system *system, uint64_t samples);

/* The least such number, which all larger ones share; 0 where a billion are too few. */
uint64_t tc_samples_for_half(const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                             const tc_audit_system *system);

/* ---- verdicts ---- */

/* Sets points, verdict and inconclusive_because. rounds: releases of the long one; fresh may be NULL: none. level: that
 * of tc_judge_whole. */
void tc_audit_conclude(tc_arena *arena, const tc_whole_counts *whole, uint64_t rounds, const tc_fresh *fresh,
                       double level, tc_audit *audit);

#endif
