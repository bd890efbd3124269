/* A datum in a set and in the objective: the larger of both distances, not their sum. */
#include "analysis/data/inside.h"
#include "within.h"
#define tc_add_up(a, b) (WITHIN(datum_distances) ? fmax(a, b) : tc_add_up(a, b))
#include "analysis/data/data.c"
