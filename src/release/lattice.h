/* The lattices of a release, rounding to integers, and integers to doubles. */
#ifndef TC_RELEASE_LATTICE_H
#define TC_RELEASE_LATTICE_H

#include "noise/sampler.h"
#include "plan/entries.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct tc_release_channel {
    const tc_channel *about;
    tc_noise_scale scale;
    double step, per_unit; /* zeta and 1 / zeta */
    bool is_small;         /* rounded values are at most TC_SMALL_UNITS in size */
} tc_release_channel;

typedef struct tc_channel_run { /* entries side by side, of one channel */
    const tc_release_channel *channel;
    size_t count;
    size_t to; /* where they are released */
} tc_channel_run;

typedef struct tc_sum_lattice {
    double step, per_unit;
    bool is_small;
} tc_sum_lattice;

/* The lattice points of the public box of one component, in steps: for all members, or for each. Whole numbers of at
 * most 2^53. */
typedef struct tc_lattice_box {
    double least, most;
    const double *leasts, *mosts;
    bool is_small;
} tc_lattice_box;

/* The nearest whole number of units, ties to even, at most 2^62 in size; 0 for NaN. A release that obeys its plan
 * reaches neither limit (check.c). */
static inline int64_t tc_lattice_round(double value, double units_per_one) {
    const double most = 0x1p62;
    double units = rint(value * units_per_one);
    if (!(units > -most))
        return units <= -most ? -((int64_t)1 << 62) : 0;
    return units < most ? (int64_t)units : (int64_t)1 << 62;
}

/* The next function is exact up to this size. The plan decides whether that is enough, so no branch depends on data. */
#define TC_SMALL_UNITS 0x1p50

/* The same for values of at most TC_SMALL_UNITS in size: after adding 1.5 2^52, the last bit of a double is worth
 * one. */
static inline int64_t tc_lattice_round_small(double value, double units_per_one) {
#if FLT_EVAL_METHOD == 0
    const double shift = 0x1.8p52;
    double moved = value * units_per_one + shift;
    int64_t bits, base;
    memcpy(&bits, &moved, sizeof bits);
    memcpy(&base, &shift, sizeof base);
    return (int64_t)((uint64_t)bits - (uint64_t)base);
#else
    return tc_lattice_round(value, units_per_one);
#endif
}

static inline int64_t tc_lattice_units(bool is_small, double value, double units_per_one) {
    return is_small ? tc_lattice_round_small(value, units_per_one) : tc_lattice_round(value, units_per_one);
}

/* (double)value, in steps that compilers vectorise: both halves become doubles exactly, then one rounded addition. */
static inline double tc_lattice_double(int64_t value) {
#if FLT_EVAL_METHOD == 0
    uint64_t low_bits = ((uint64_t)value & UINT32_MAX) | UINT64_C(0x4330000000000000); /* 2^52 + low */
    uint64_t high_bits = ((uint64_t)value >> 32) ^ UINT64_C(0x4530000080000000);       /* 2^84 + 2^63 + 2^32 high */
    double low, high;
    memcpy(&low, &low_bits, sizeof low);
    memcpy(&high, &high_bits, sizeof high);
    return (high - (0x1p84 + 0x1p63 + 0x1p52)) + low;
#else
    return (double)value;
#endif
}

typedef struct tc_lattice_seen {
    bool all_finite;
    bool is_any_outside; /* of its bounds */
} tc_lattice_seen;

/* Whole rows, compiled for each width of vectors. The bits are the same. */
typedef struct tc_lattice_rows {
    bool (*all_finite)(const double *x, size_t count);
    tc_lattice_seen (*look)(const double *lower, const double *upper, size_t count, const double *x);
    /* The nearest lattice points to x of members first .. first + count - 1, in a box that is small. False if a number
     * is not finite; units is then undefined. */
    bool (*take)(const tc_lattice_box *box, double per_unit, size_t first, size_t count, const double *x,
                 int64_t *units);
    void (*points)(double step, size_t count, const int64_t *units, double *row); /* step times the integers: exact */
    /* The sum of terms of at most TC_SMALL_UNITS, each rounded. */
    int64_t (*sum)(double per_unit, size_t count, const double *terms);
} tc_lattice_rows;

const tc_lattice_rows *tc_lattice_rows_here(void);
extern const tc_lattice_rows tc_lattice_rows_narrow;
extern const tc_lattice_rows tc_lattice_rows_wide, tc_lattice_rows_widest; /* only where TC_HAS_WIDE (base/simd.h) */

/* Depends on value + noise alone, so saturation costs no privacy. */
static inline int64_t tc_saturating_add(int64_t value, int64_t noise) {
    int64_t sum;
    if (__builtin_add_overflow(value, noise, &sum))
        return noise < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

#endif
