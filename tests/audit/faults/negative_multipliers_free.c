/* Negative multipliers do not count against the dual radius. */
#include <math.h>

static double not_negative(double v) { return v > 0 ? v : 0; }

#include "solver/project/set.h"
#define fabs not_negative
#include "solver/project/project.c"
