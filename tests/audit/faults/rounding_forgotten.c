/* Rounding to lattices of sums, constraints and slopes does not count. */
#include "plan/sensitivity/sensitivity.h"

#include <string.h>

#define tc_add_up(a, zeta) (strcmp(#zeta, "zeta") == 0 ? (a) : tc_add_up(a, zeta))
#include "plan/sensitivity/lattice.c"
