/* Integers at the door. */
#ifndef TC_PRIVACY_RELEASE_LATTICE_H
#define TC_PRIVACY_RELEASE_LATTICE_H

#include <math.h>
#include <stdint.h>

/* The nearest whole number of units, ties to even, at most 2^62 in size; 0 for NaN. Where a plan is obeyed, neither
 * limit is reached (release_range.c). */
static inline int64_t tc_lattice_round(double value, double units_per_one) {
    const double most = 0x1p62;
    double units = rint(value * units_per_one);
    if (!(units > -most))
        return units <= -most ? -((int64_t)1 << 62) : 0;
    return units < most ? (int64_t)units : (int64_t)1 << 62;
}

/* A function of value + noise alone, so it costs nothing. */
static inline int64_t tc_saturating_add(int64_t value, int64_t noise) {
    int64_t sum;
    if (__builtin_add_overflow(value, noise, &sum))
        return noise < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

#endif
