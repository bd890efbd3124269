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

/* Lattice, support, reuse and size of the noise, at `level` together; adds to audit->faults. */
void tc_judge_whole(tc_arena *arena, const tc_audit_view *view, const tc_whole_counts *whole, double level,
                    tc_audit *audit);

#endif
