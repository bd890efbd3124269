/* Random numbers with fixed seeds, and numbers chosen to hurt. */
#ifndef TC_TESTS_CALCULUS_RANDOM_H
#define TC_TESTS_CALCULUS_RANDOM_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Sanitized programs are several times slower: they get a part of the cases. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CASES(count) ((count) / 8)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define CASES(count) ((count) / 8)
#endif
#endif
#ifndef CASES
#define CASES(count) (count)
#endif

static inline uint64_t next_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t *state, uint64_t limit) { return next_random(state) % limit; }
static inline double uniform(uint64_t *state, double low, double high) {
    return low + (high - low) * ((double)(next_random(state) >> 11) * 0x1p-53);
}

/* A finite double: random bits, near one, powers of two and their neighbours, subnormal, huge, whole, halves. */
static inline double nasty(uint64_t *state) {
    uint64_t bits = next_random(state);
    double sign = next_random(state) & 1 ? 1 : -1, x;
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
