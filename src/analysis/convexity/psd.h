/* Whether every symmetric matrix between two bounds is positive semidefinite. */
#ifndef TC_ANALYSIS_PSD_H
#define TC_ANALYSIS_PSD_H

#include "base/arena.h"
#include "calculus/interval/interval.h"

/* h: n x n, row by row, both triangles, sign * h is tested. True is a proof; false says nothing.
 * See docs/proofs/convexity.md. */
bool tc_interval_psd(tc_arena *arena, const tc_interval *h, size_t n, int sign);

#endif
