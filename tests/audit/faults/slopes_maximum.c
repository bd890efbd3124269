/* How far a sum or a product moves: the larger of what its parts do, not their sum. */
#include "analysis/data/inside.h"
#include "within.h"
#define tc_iadd(a, b) (WITHIN(slope_of) ? tc_hull(a, b) : tc_iadd(a, b))
#include "analysis/data/ranges.c"
