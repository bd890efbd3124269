/* A datum in a factor that cancels, and in what is left: the larger of both moves, not their sum. */
#include "analysis/data/inside.h"
#include "within.h"
#define tc_add_up(a, b) (WITHIN(moved_by) ? fmax(a, b) : tc_add_up(a, b))
#include "analysis/data/objective.c"
