/* Whether an audit could have refuted a plan with half the noise that it needs, had the counts been what they are
 * expected to be. Of use only to say how little an audit has seen: no verdict "refuted" depends on it. */
#ifndef TC_AUDIT_POWER_H
#define TC_AUDIT_POWER_H

#include "audit/judge.h"

/* Whether so many samples of each world refute the system's claim, were its noise half of what the plan says. */
bool tc_price_shows_half(const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                         const tc_audit_system *system, uint64_t samples);

/* The least such number, which all larger ones share; 0 where a billion are too few. */
uint64_t tc_samples_for_half(const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                             const tc_audit_system *system);

#endif
