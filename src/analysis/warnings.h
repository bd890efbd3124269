/* What a reader should not miss: declared constants that are too small or not certified, and the like. */
#ifndef TC_ANALYSIS_WARNINGS_H
#define TC_ANALYSIS_WARNINGS_H

#include "analysis/analysis.h"

/* At most a few dozen are kept. */
void tc_warn(tc_analysis *analysis, tc_arena *arena, const char *text);
void tc_collect_warnings(tc_analysis *analysis, tc_arena *arena);

/* The name of a row: "home[3]", or "home[*]" for a whole family. */
const char *tc_row_name(tc_arena *arena, const tc_analysis *analysis, const tc_agent_constants *row);

#endif
