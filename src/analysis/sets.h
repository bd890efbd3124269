/* Assumption 2: the sets X_i are non-empty, compact and convex. Every set the language knows is convex and closed, and
 * the public box bounds it; what remains to be shown is a point in it. */
#ifndef TC_ANALYSIS_SETS_H
#define TC_ANALYSIS_SETS_H

#include "analysis/analysis.h"

void tc_judge_sets(tc_arena *arena, const tc_model *model, tc_assumption *assumption, const tc_monitor *monitor);

#endif
