/* Doubles that are chosen to hurt. */
#ifndef TC_TESTS_CALCULUS_NASTY_H
#define TC_TESTS_CALCULUS_NASTY_H

#include "support/random.h"

#include <math.h>
#include <string.h>

/* A finite double: random bits, near one, powers of two and their neighbours, subnormal, huge, whole, halves. */
static inline double nasty(uint64_t *state) {
    uint64_t bits = random_word(state);
    double sign = random_word(state) & 1 ? 1 : -1, x;
    int shift = (int)random_below(state, 2098) - 1074;
    double steps = (double)random_below(state, 9) - 4;
    switch (random_below(state, 10)) {
    case 0:
        memcpy(&x, &bits, sizeof x);
        return isfinite(x) ? x : sign;
    case 1:
        return sign * (1 + steps * 0x1p-52);
    case 2:
        x = ldexp(1 + steps * 0x1p-52, shift);
        return sign * (isfinite(x) ? x : 0x1p1023);
    case 3:
        return sign * (double)(bits >> 12) * 0x1p-1074; /* subnormal */
    case 4:
        return sign * (0x1.fffffffffffffp1023 - (double)random_below(state, 4) * 0x1p971);
    case 5:
        return sign * (double)random_below(state, 100);
    case 6:
        return sign * ((double)(bits >> 12) + 0.5);
    case 7:
        return sign * ldexp((double)(bits >> 11), (int)random_below(state, 120) - 110);
    case 8:
        return sign * (double)random_below(state, 5) * 0x1p-1074;
    default:
        return uniform(state, -10, 10);
    }
}

#endif
