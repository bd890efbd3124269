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

/* How many draws of a channel show by their size that noise is half of what the plan says, and how many rounds it takes
 * until all channels have so many, by what was counted in `rounds`; 0 where nothing was. level: as in tc_judge_whole.
 */
uint64_t tc_draws_for_half(const tc_plan *plan, double level);
uint64_t tc_rounds_for_half(const tc_audit_view *view, const tc_whole_counts *whole, uint64_t rounds, double level);

#endif
