/* Exact noise on the integers: W = round(Y), Y real Laplace(s) or real Gaussian(0, s^2), by inversion of a uniform
 * whose bits are drawn as they are needed. With s = scale / zeta, zeta W is the real noise rounded to the lattice of
 * step zeta. docs/proofs/sampling.md proves that the law is exact. For the noise of a round, see noise.h. */
#ifndef TC_NOISE_SAMPLER_H
#define TC_NOISE_SAMPLER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tc_noise_law { TC_LAPLACE, TC_GAUSSIAN } tc_noise_law;

/* s exactly: mantissa 2^(exponent - 63), 2^63 <= mantissa. */
typedef struct tc_noise_scale {
    uint64_t mantissa;
    int32_t exponent;
    uint32_t shift; /* of the fast path's product: 57 - exponent */
} tc_noise_scale;

#define TC_LEAST_NOISE_SCALE 0x1p-6
#define TC_MOST_NOISE_SCALE 0x1p47
/* The largest possible |W|. */
#define TC_MOST_NOISE (INT64_C(1) << 57)

/* False outside the limits above; the limits themselves are allowed. */
bool tc_noise_scale_from(double s, tc_noise_scale *scale) TC_MUST_USE;

/* In place: random words become noise. Entry i uses scales[i * stride], stride 0 or 1. The few entries that 64 bits do
 * not decide stay words. Writes their positions to undecided, which has room for count, and returns how many.
 *
 * Time: one branch depends on words, the end of a loop that runs once for each entry that lanes of doubles leave open
 * to integers (one in a thousand, or one in 250 for Gaussian noise). It shows how many of up to 512 draws were left
 * open, and not which. On processors without AVX2 there are no lanes, and no branch depends on a word. */
size_t tc_sample_fast(tc_noise_law law, const tc_noise_scale *scales, size_t stride, int64_t *values, uint16_t count,
                      uint16_t *undecided) TC_MUST_USE;

/* Where the slow path gets more bits of the uniform: attempt is 1, 2, ... */
typedef struct tc_bit_source {
    tc_status (*more)(void *context, unsigned attempt, uint64_t *word);
    void *context;
} tc_bit_source;

/* The slow path draws bits until they decide, up to this limit; it reaches the limit with a probability below
 * 2^-1000. */
enum { TC_MOST_REFINEMENTS = 16 };

/* The same function of the word and the bits after it, by comparison with the tail. Fails only where the source does.
 */
tc_status tc_sample_slow(tc_noise_law law, const tc_noise_scale *scale, uint64_t word, tc_bit_source source,
                         int64_t *value) TC_MUST_USE;

#endif
