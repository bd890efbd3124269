/* The box of a family's first member passes for everybody's. */
#include "analysis/data/inside.h"
#include "model/spread.h"
#include "within.h"
#define tc_end_known(family, varies) (WITHIN(tc_box_diameter) ? 1 : tc_end_known(family, varies))
#include "analysis/data/data.c"
