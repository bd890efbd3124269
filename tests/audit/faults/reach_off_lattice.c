/* States on the lattice pass for as near as they were before. */
#include "analysis/data/data.h"
#include "plan/planner.h"
#include "within.h"
#define tc_mul_up(a, b) (WITHIN(tc_reaches) ? 0 : tc_mul_up(a, b))
#include "plan/distance.c"
