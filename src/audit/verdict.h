/* What an audit comes to, point by point. */
#ifndef TC_AUDIT_VERDICT_H
#define TC_AUDIT_VERDICT_H

#include "audit/fresh.h"

/* Sets points, verdict and inconclusive_because. rounds: releases of the long one; fresh may be NULL: none. level: that
 * of tc_judge_whole. */
void tc_audit_conclude(tc_arena *arena, const tc_whole_counts *whole, uint64_t rounds, const tc_fresh *fresh,
                       double level, tc_audit *audit);

#endif
