/* Noise that was not drawn before is drawn by groups, and each begins with the same. */
#include "release/inside.h"
#include "within.h"
#define tc_noise_fill(random, law, scales, first, count, to)                                                           \
    tc_noise_fill(random, law, scales, WITHIN(noise_of_group) ? 0 : (first), count, to)
#include "release/noise.c"
