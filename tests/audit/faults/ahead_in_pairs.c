/* Noise drawn ahead: two rounds have the same. */
#include "release/inside.h"
#include "within.h"
#define tc_random_open_round(random, round) tc_random_open_round(random, WITHIN(draw) ? ((round) | 1) : (round))
#include "release/noise.c"
