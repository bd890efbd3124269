/* Tails of the real laws in fixed point, for the slow path. docs/proofs/sampling.md, "The slow path", derives every
 * bound. A fraction is an integer of `limbs` limbs in units of 2^-(64 limbs); one with a whole part has a limb more. */
#include "noise/limbs.h"
#include "noise/sampler_inside.h"

enum {
    GUARD_BITS = 48,    /* of precision beyond the bits of V */
    SMALL_BITS = 12,    /* the exponential series begins below 2^-12 */
    POINT_BITS = 48,    /* of the first look at x */
    FAR_POINT_BITS = 10 /* x >= 2^10 is far for both laws */
};

/* x = (k + 1/2) / s = this / mantissa */
static tc_two_limbs numerator(const tc_noise_scale *scale, uint64_t k) {
    return (tc_two_limbs)(2 * k + 1) << (62 - scale->exponent);
}

/* How many limbs the tail at k needs, and 2^growth >= exp(x^2 / 2), by which a Gaussian series may multiply errors.
 * 0 limbs where a simple estimate gives tail <= 2^-bits: both tails are at most exp(-x^p / p), p = 1 or 2, and
 * ln 2 < 7/10. */
static unsigned limbs_needed(tc_noise_law law, const tc_noise_scale *scale, uint64_t k, unsigned bits,
                             unsigned *growth) {
    tc_two_limbs top = numerator(scale, k);
    *growth = 0;
    if (top >> FAR_POINT_BITS >= scale->mantissa)
        return 0;
    tc_two_limbs x = (top << POINT_BITS) / scale->mantissa; /* rounded down */
    if (law == TC_LAPLACE) {
        if (10 * (unsigned)(x >> POINT_BITS) >= 7 * bits)
            return 0;
    } else {
        if (5 * (unsigned)(x * x >> (2 * POINT_BITS)) >= 7 * bits)
            return 0;
        unsigned above = (unsigned)((x + 1) * (x + 1) >> (2 * POINT_BITS)) + 1; /* x^2 < above; 1 / (2 ln 2) < 3/4 */
        *growth = 3 * above / 4 + 1;
    }
    unsigned guard = GUARD_BITS + bits / 16; /* more where no bits are left that could decide */
    return (bits + guard + *growth + 63) / 64;
}

/* Everything from here on is compiled for the usual numbers of limbs, and once for all others. Terms that have become
 * small have fewer limbs; the loops over `used` are unrolled, so that this number is a constant too. */
#define FOR_EACH_WIDTH static inline __attribute__((always_inline))

FOR_EACH_WIDTH void set_point(tc_tail *t, unsigned limbs, const tc_noise_scale *scale, uint64_t k) {
    tc_two_limbs top = numerator(scale, k);
    memset(t->point, 0, limbs * sizeof *t->point);
    t->point[limbs] = (uint64_t)top;
    tc_limbs_divide(t->point, limbs + 1, (uint64_t)(top >> 64), scale->mantissa);
}

/* How often argument, which has a whole part, is halved until it is below 2^-SMALL_BITS. */
FOR_EACH_WIDTH unsigned halvings_of(const uint64_t *argument, unsigned limbs) {
    if (argument[limbs] > 0)
        return SMALL_BITS + 64 - (unsigned)__builtin_clzll(argument[limbs]);
    unsigned zeros = (unsigned)__builtin_clzll(argument[limbs - 1] | 1);
    return zeros < SMALL_BITS ? SMALL_BITS - zeros : 0;
}

/* t->exponential = exp(-argument), which has a whole part. Returns a bound of the error. Halves the argument, adds
 * terms until they vanish, and squares back. */
FOR_EACH_WIDTH uint64_t exponential(tc_tail *t, unsigned limbs, const uint64_t *argument) {
    unsigned halvings = halvings_of(argument, limbs), terms = 2;
    tc_limbs_shift_right(t->small, argument, limbs + 1, halvings);
    memcpy(t->term, t->small, limbs * sizeof *t->term);
    memcpy(t->exponential, t->small, limbs * sizeof *t->exponential); /* z - z^2 / 2! + z^3 / 3! - ... */
#pragma GCC unroll 4
    for (unsigned used = limbs; used > 0; used--)
        for (; t->term[used - 1] != 0; terms++) {
            (void)tc_limbs_multiply(t->term, used, t->small, limbs, limbs);
            tc_limbs_divide(t->term, used, 0, terms);
            if (terms % 2 == 0)
                (void)tc_limbs_subtract(t->exponential, t->term, limbs);
            else
                (void)tc_limbs_add(t->exponential, t->term, limbs);
        }
    tc_limbs_complement(t->exponential, limbs);
    uint64_t error = 2 * (uint64_t)terms;
    for (unsigned i = 0; i < halvings; i++) {
        (void)tc_limbs_multiply(t->exponential, limbs, t->exponential, limbs, limbs);
        error = 2 * error + 2;
    }
    return error;
}

/* 1 - sqrt(2 / pi) exp(-x^2 / 2) (x + x^3 / 3!! + x^5 / 5!! + ...). Returns a bound of the error, to be multiplied by
 * 2^growth. The terms grow while 2 i + 1 < x^2. */
FOR_EACH_WIDTH uint64_t gaussian(tc_tail *t, unsigned limbs) {
    unsigned terms = 1;
    memcpy(t->square, t->point, (limbs + 1) * sizeof *t->square);
    (void)tc_limbs_multiply(t->square, limbs + 1, t->point, limbs + 1, limbs);
    tc_limbs_shift_right(t->half, t->square, limbs + 1, 1);
    uint64_t error = exponential(t, limbs, t->half);
    memcpy(t->term, t->exponential, limbs * sizeof *t->term);
    (void)tc_limbs_multiply(t->term, limbs, tc_root_limbs + (TC_TAIL_LIMBS - limbs), limbs, limbs);
    (void)tc_limbs_multiply(t->term, limbs, t->point, limbs + 1, limbs);
    memcpy(t->low, t->term, limbs * sizeof *t->low);
#pragma GCC unroll 4
    for (unsigned used = limbs; used > 0; used--)
        for (; t->term[used - 1] != 0 || 2 * (uint64_t)terms + 1 <= t->square[limbs]; terms++) {
            uint64_t whole = tc_limbs_multiply(t->term, used, t->square, limbs + 1, limbs);
            tc_limbs_divide(t->term, used, whole, 2 * (uint64_t)terms + 1);
            (void)tc_limbs_add(t->low, t->term, limbs);
        }
    tc_limbs_complement(t->low, limbs);
    return error + terms + 5;
}

/* low and high, error 2^growth below and above the tail in t->low. */
FOR_EACH_WIDTH void widen(tc_tail *t, unsigned limbs, uint64_t error, unsigned growth) {
    tc_two_limbs shifted = (tc_two_limbs)error << growth % 64;
    memset(t->term, 0, limbs * sizeof *t->term);
    t->term[growth / 64] = (uint64_t)shifted;
    t->term[growth / 64 + 1] = (uint64_t)(shifted >> 64);
    memcpy(t->high, t->low, limbs * sizeof *t->high);
    (void)tc_limbs_add(t->high, t->term, limbs);
    (void)tc_limbs_subtract(t->low, t->term, limbs);
}

FOR_EACH_WIDTH void compute(tc_tail *t, unsigned limbs, tc_noise_law law, const tc_noise_scale *scale, uint64_t k,
                            unsigned growth) {
    uint64_t error = 0;
    set_point(t, limbs, scale, k);
    if (law == TC_LAPLACE) {
        error = exponential(t, limbs, t->point);
        memcpy(t->low, t->exponential, limbs * sizeof *t->low);
    } else {
        error = gaussian(t, limbs);
    }
    widen(t, limbs, error, growth);
}

bool tc_tail_compute(tc_noise_law law, const tc_noise_scale *scale, uint64_t k, unsigned bits, tc_tail *tail) {
    unsigned growth = 0;
    tail->limbs = limbs_needed(law, scale, k, bits, &growth);
    switch (tail->limbs) {
    case 0:
        return false;
    case 2: /* whatever 63 bits of V decide, nearly always */
        compute(tail, 2, law, scale, k, growth);
        return true;
    case 3:
        compute(tail, 3, law, scale, k, growth);
        return true;
    default:
        compute(tail, tail->limbs, law, scale, k, growth);
        return true;
    }
}
