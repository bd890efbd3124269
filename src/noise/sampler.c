/* The fast path of rounded real noise. Lanes of doubles (sampler_lanes.inc.h) decide nearly all draws, where the
 * processor has them; integers decide the rest but for a few in a million, which are for sampler_slow.c.
 * docs/proofs/sampling.md derives every constant of all three. */
#include "noise/sampler.h"

#include "base/simd.h"
#include "noise/sampler_inside.h"

#include <math.h>

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

enum { FIXED_ERROR = 4 }; /* units: interpolation, coefficients, Horner's rule, octaves, and the fraction of a width */

bool tc_noise_scale_from(double s, tc_noise_scale *scale) {
    if (!(s >= TC_LEAST_NOISE_SCALE && s <= TC_MOST_NOISE_SCALE))
        return false;
    int exponent = 0;
    double fraction = frexp(s, &exponent); /* in [1/2, 1), 53 bits */
    scale->mantissa = (uint64_t)(fraction * 0x1p53) << 11;
    scale->exponent = exponent - 1;
    scale->shift = (uint32_t)(57 - scale->exponent);
    return true;
}

/* A compiler that sees what a mask is made of may turn it into a jump. */
static inline uint64_t hidden(uint64_t mask) {
    __asm__("" : "+r"(mask));
    return mask;
}

static inline int64_t multiply_high(int64_t a, int64_t b) { return (int64_t)(((int128)a * b) >> 64); }

/* The polynomial at position / 2^64, -1/2 <= position / 2^64 < 1/2. */
static inline int64_t horner(const int64_t *coefficients, unsigned degree, int64_t position) {
    int64_t sum = coefficients[degree];
    for (unsigned d = degree; d-- > 0;)
        sum = coefficients[d] + multiply_high(sum, position);
    return sum;
}

/* A number in [1, 2), 63 bits after the point and the 1 on top, cut into 2^bits segments: which, and where in it. */
static inline size_t segment_of(uint64_t mantissa, unsigned bits, int64_t *position) {
    *position = (int64_t)((mantissa << (bits + 1)) ^ (UINT64_C(1) << 63));
    return (size_t)((mantissa << 1) >> (64 - bits));
}

static inline unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* The quantile at the middle of the V that 63 bits allow, and how far the true one may be from it, in units. */
static inline uint64_t quantile(tc_noise_law law, uint64_t middle, unsigned octave, uint64_t *error) {
    int64_t position = 0, value = 0;
    uint64_t mantissa = middle << octave;
    if (law == TC_LAPLACE) {
        size_t segment = segment_of(mantissa, TC_LAPLACE_SEGMENT_BITS, &position);
        unsigned row = least(octave, TC_LAPLACE_OCTAVES - 1);
        value = tc_laplace_octave[row] - horner(tc_laplace_table[segment], TC_LAPLACE_DEGREE, position);
        *error = FIXED_ERROR + ((UINT64_C(1) << row) >> 5);
    } else {
        size_t segment = segment_of(mantissa, TC_GAUSSIAN_SEGMENT_BITS, &position);
        unsigned row = least(octave, TC_GAUSSIAN_OCTAVES - 1);
        value = horner(tc_gaussian_table[row][segment], TC_GAUSSIAN_DEGREE, position);
        *error = FIXED_ERROR + ((UINT64_C(3) << row) >> 6);
    }
    return (uint64_t)value & ~hidden((uint64_t)(value >> 63)); /* the quantile is not negative */
}

static inline __attribute__((always_inline)) size_t sample(tc_noise_law law, const tc_noise_scale *scales,
                                                           size_t stride, int64_t *values, uint16_t count,
                                                           uint16_t *undecided) {
    const unsigned octaves = law == TC_LAPLACE ? TC_LAPLACE_OCTAVES : TC_GAUSSIAN_OCTAVES;
    size_t open = 0;
    for (uint16_t i = 0; i < count; i++) {
        const tc_noise_scale *scale = &scales[i * stride];
        uint64_t word = (uint64_t)values[i];
        uint64_t middle = word | 1; /* V = middle 2^-64, give or take 2^-64; the last bit is the sign */
        unsigned octave = (unsigned)__builtin_clzll(middle);
        uint64_t error = 0;
        uint64_t q = quantile(law, middle, octave, &error);
        uint64_t product = (uint64_t)(((uint128)scale->mantissa * q) >> 64); /* s Q 2^shift */
        uint64_t rounded = product + (UINT64_C(1) << (scale->shift - 1));
        uint64_t low = (rounded - error) >> scale->shift, high = (rounded + error + 1) >> scale->shift;
        unsigned is_open = (unsigned)(low != high) | (unsigned)(octave >= octaves);
        uint64_t negative = UINT64_C(0) - (word & 1), keep = hidden(UINT64_C(0) - (uint64_t)is_open);
        values[i] = (int64_t)((((low ^ negative) - negative) & ~keep) | (word & keep));
        undecided[open] = i;
        open += is_open;
    }
    return open;
}

/* Not inlined: its loops need all registers. */
static __attribute__((noinline)) size_t sample_in_integers(tc_noise_law law, const tc_noise_scale *scales,
                                                           size_t stride, int64_t *values, uint16_t count,
                                                           uint16_t *undecided) {
    if (law == TC_LAPLACE)
        return stride == 0 ? sample(TC_LAPLACE, scales, 0, values, count, undecided)
                           : sample(TC_LAPLACE, scales, 1, values, count, undecided);
    return stride == 0 ? sample(TC_GAUSSIAN, scales, 0, values, count, undecided)
                       : sample(TC_GAUSSIAN, scales, 1, values, count, undecided);
}

/* ---- what lanes leave open --------------------------------------------------------------------------------------- */

enum {
    BATCH = 512,
    BITMAP = BATCH / 64,
    MOST_LANE_EXPONENT = 44 /* of a scale: beyond it lanes leave a quarter of the draws open, or more */
};

#ifdef TC_HAS_WIDE
#define BESIDE_LANES TC_WIDE /* where there are lanes, one instruction counts the bits of a word */
#else
#define BESIDE_LANES
#endif

BESIDE_LANES static size_t count_bits(const uint64_t *bits, size_t words) {
    size_t count = 0;
    for (size_t i = 0; i < words; i++)
        count += (size_t)__builtin_popcountll(bits[i]);
    return count;
}

/* The first bit that is set, which it clears. Without a jump: time tells how many draws are open, and not which. */
BESIDE_LANES static size_t take_first(uint64_t *bits, size_t words) {
    uint64_t word = 0, number = 0;
    for (uint64_t i = words; i-- > 0;) {
        uint64_t is_empty = hidden((uint64_t)(bits[i] != 0) - 1);
        word = (word & is_empty) | (bits[i] & ~is_empty);
        number = (number & is_empty) | (i & ~is_empty);
    }
    bits[number] &= word - 1;
    return (size_t)number * 64 + (size_t)__builtin_ctzll(word);
}

BESIDE_LANES static size_t sample_in_lanes(tc_sampler_lanes lanes, tc_noise_law law, const tc_noise_scale *scales,
                                           size_t stride, int64_t *values, uint16_t count, uint16_t *undecided) {
    size_t undecided_count = 0;
    for (size_t start = 0; start < count; start += BATCH) {
        uint64_t open[BITMAP];
        size_t batch = count - start < BATCH ? count - start : BATCH, words = (batch + 63) / 64;
        lanes(law, scales + start * stride, stride, values + start, batch, open);
        for (size_t left = count_bits(open, words); left > 0; left--) {
            size_t i = start + take_first(open, words);
            uint16_t first = 0;
            undecided[undecided_count] = (uint16_t)i;
            undecided_count += sample_in_integers(law, &scales[i * stride], 0, &values[i], 1, &first);
        }
    }
    return undecided_count;
}

/* The first scale decides for all, since that affects time alone. */
size_t tc_sample_with(tc_sampler_lanes lanes, tc_noise_law law, const tc_noise_scale *scales, size_t stride,
                      int64_t *values, uint16_t count, uint16_t *undecided) {
    if (lanes == NULL || count == 0 || scales->exponent > MOST_LANE_EXPONENT)
        return sample_in_integers(law, scales, stride, values, count, undecided);
    return sample_in_lanes(lanes, law, scales, stride, values, count, undecided);
}

static tc_sampler_lanes lanes_of_processor(void) {
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDEST())
        return tc_sample_widest;
    if (TC_IS_WIDE() && __builtin_cpu_supports("fma"))
        return tc_sample_wide;
#endif
    return NULL;
}

size_t tc_sample_fast(tc_noise_law law, const tc_noise_scale *scales, size_t stride, int64_t *values, uint16_t count,
                      uint16_t *undecided) {
    return tc_sample_with(lanes_of_processor(), law, scales, stride, values, count, undecided);
}
