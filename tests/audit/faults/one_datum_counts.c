/* Of several data the one with the largest distance counts alone, and steps as another. */
#include "analysis/data/data.h"
#include "plan/planner.h"
#include "within.h"
#define tc_add_up(a, b) (WITHIN(add_data) ? fmax(a, b) : tc_add_up(a, b))
#include "plan/distance.c"
