/* Data below their range are used as they are. */
#include "model/elaborate/elaborate.h"
#include "within.h"
#define tc_coef_at(coef, k)                                                                                            \
    (WITHIN(move_component) && strcmp(#coef, "datum->lower[c]") == 0 ? -HUGE_VAL : tc_coef_at(coef, k))
#include "model/elaborate/ranges.c"
