/* Boxes of more lattice points than the fast path takes are a step larger. */
#include "release/inside.h"
#include "release/lattice.h"
#define floor(units) (floor(units) + ((units) > TC_SMALL_UNITS))
#include "release/states.c"
