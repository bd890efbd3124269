/* a x <= b, b moved: x moves by as much, whatever a is. */
#include "analysis/data/inside.h"
#include "within.h"
#define tc_div_up(by, least) (WITHIN(shift_bounds) ? (by) : tc_div_up(by, least))
#include "analysis/data/sets.c"
