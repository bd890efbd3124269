/* Assumption 4, a Slater point with a certified margin, and the dual radius R that follows from it. */
#ifndef TC_ANALYSIS_DUALITY_H
#define TC_ANALYSIS_DUALITY_H

#include "analysis/analysis.h"
#include "analysis/lipschitz/streams.h"

/* Fills slater, slater_facts, dual_radius, minimum_lower and minimum_upper. */
void tc_judge_slater(tc_analysis *analysis, tc_arena *arena, tc_streams *streams, const tc_derivatives *derivatives,
                     bool skip_private, const tc_monitor *monitor);

#endif
