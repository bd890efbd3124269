/* Public sets are enforced where noise is on states, and not where it is on outputs of a block. */
#include "release/inside.h"
#include "within.h"
#define tc_cap_bound(cap, member) (WITHIN(keep_rows) ? INT64_MAX / 2 : tc_cap_bound(cap, member))
#include "release/states.c"
