/* How far a quotient, a root or a logarithm moves does not depend on what divides. */
#include "analysis/data/inside.h"
#include "within.h"
#define tc_idiv(a, b) (WITHIN(slope_of) ? (a) : tc_idiv(a, b))
#include "analysis/data/ranges.c"
