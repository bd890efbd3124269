/* What the sampler rests on: tables, and tails with error bounds. For sampler*.c and their tests. */
#ifndef TC_NOISE_SAMPLER_INSIDE_H
#define TC_NOISE_SAMPLER_INSIDE_H

#include "noise/sampler.h"

/* ---- tables (sampler_tables.c) ----------------------------------------------------------------------------------- */

/* Polynomials of quantile functions in fixed point, 58 bits after the point. The error bounds are in
 * docs/proofs/sampling.md; tests/noise/test_tables.c checks every entry. */

enum {
    TC_QUANTILE_BITS = 58, /* one unit is 2^-58 */

    TC_LAPLACE_SEGMENT_BITS = 8,
    TC_LAPLACE_SEGMENTS = 1 << TC_LAPLACE_SEGMENT_BITS,
    TC_LAPLACE_DEGREE = 5,
    TC_LAPLACE_OCTAVES = 32,

    TC_GAUSSIAN_SEGMENT_BITS = 5,
    TC_GAUSSIAN_SEGMENTS = 1 << TC_GAUSSIAN_SEGMENT_BITS,
    TC_GAUSSIAN_DEGREE = 7, /* a segment is one cache line */
    TC_GAUSSIAN_OCTAVES = 20,
};

/* ln on [1, 2), cut into equal segments: coefficients in t, -1/2 <= t < 1/2 across a segment. */
extern const int64_t tc_laplace_table[TC_LAPLACE_SEGMENTS][TC_LAPLACE_DEGREE + 1];
/* (octave + 1) ln 2 */
extern const int64_t tc_laplace_octave[TC_LAPLACE_OCTAVES];
/* The x with erfc(x / sqrt 2) = V, for V in [2^-(octave + 1), 2^-octave), cut likewise. */
extern const int64_t tc_gaussian_table[TC_GAUSSIAN_OCTAVES][TC_GAUSSIAN_SEGMENTS][TC_GAUSSIAN_DEGREE + 1];

/* ---- lanes (sampler_wide.c, sampler_widest.c, sampler_lane_tables.c) ------------------------------------------------
 */

/* Several draws in one instruction, in doubles: docs/proofs/sampling.md, "Lanes". Whatever the arithmetic rounds to,
 * the computed quantile is within TC_LANE_ERROR of the true one of every V that the word allows. In place: words become
 * noise where that decides; other entries stay words, and their bits are set in open, which has room for one bit for
 * each entry. No branch and no address but those of table rows depends on a word. */
typedef void (*tc_sampler_lanes)(tc_noise_law law, const tc_noise_scale *scales, size_t stride, int64_t *values,
                                 size_t count, uint64_t *open);

#define TC_LANE_ERROR 0x1p-48

enum {
    TC_LANE_SEGMENTS = 16,
    TC_LANE_LAPLACE_DEGREE = 8,
    TC_LANE_LAPLACE_OCTAVES = 11,
    TC_LANE_GAUSSIAN_DEGREE = 13,
    TC_LANE_GAUSSIAN_OCTAVES = 8,
};

/* Only where TC_HAS_WIDE, and for processors with AVX2 and FMA, and with AVX-512. */
void tc_sample_wide(tc_noise_law law, const tc_noise_scale *scales, size_t stride, int64_t *values, size_t count,
                    uint64_t *open);
void tc_sample_widest(tc_noise_law law, const tc_noise_scale *scales, size_t stride, int64_t *values, size_t count,
                      uint64_t *open);

/* tc_sample_fast with these lanes, or in integers alone where lanes is NULL. */
size_t tc_sample_with(tc_sampler_lanes lanes, tc_noise_law law, const tc_noise_scale *scales, size_t stride,
                      int64_t *values, uint16_t count, uint16_t *undecided) TC_MUST_USE;

/* Each table by rows of one segment, and by columns of one number of all segments. */
extern const double tc_lane_log_2;
/* ln(1 + z) = c + z (series[0] + series[1] z + ...), |z| <= 1/33 */
extern const double tc_lane_log_series[TC_LANE_LAPLACE_DEGREE];
/* Of a segment of [1, 2): r, the inverse of its middle, and ln 2 + ln r - c. */
extern const double tc_lane_laplace_rows[TC_LANE_SEGMENTS][2];
extern const double tc_lane_laplace_columns[2][TC_LANE_SEGMENTS];
/* Half an octave: coefficients in M - (its middle), V = M 2^-(octave + 1), 1 <= M < 2. */
extern const double tc_lane_gaussian_rows[TC_LANE_SEGMENTS][TC_LANE_GAUSSIAN_DEGREE + 1];
extern const double tc_lane_gaussian_columns[TC_LANE_GAUSSIAN_DEGREE + 1][TC_LANE_SEGMENTS];

/* ---- tails (sampler_tail.c) -------------------------------------------------------------------------------------- */

/* P(|Y| > x s) of the real laws in fixed point, limbs of 64 bits, the lowest first: docs/proofs/sampling.md, "The slow
 * path". */

enum { TC_TAIL_LIMBS = 37 }; /* the most that a tail needs */

/* floor(sqrt(2 / pi) 2^(64 TC_TAIL_LIMBS)) (sampler_root.c) */
extern const uint64_t tc_root_limbs[TC_TAIL_LIMBS];

/* low <= tail 2^(64 limbs) <= high. All of it is secret: whoever has one wipes it. */
typedef struct tc_tail {
    unsigned limbs;
    uint64_t low[TC_TAIL_LIMBS], high[TC_TAIL_LIMBS];
    /* of the computation */
    uint64_t point[TC_TAIL_LIMBS + 1], square[TC_TAIL_LIMBS + 1], half[TC_TAIL_LIMBS + 1], small[TC_TAIL_LIMBS + 1];
    uint64_t exponential[TC_TAIL_LIMBS], term[TC_TAIL_LIMBS];
} tc_tail;

/* The tail at x = (k + 1/2) / s, k < TC_MOST_NOISE, with high - low far below 2^-bits, bits = 63 + 64 i. False when
 * tail <= 2^-bits by a simple estimate; nothing is then computed. */
bool tc_tail_compute(tc_noise_law law, const tc_noise_scale *scale, uint64_t k, unsigned bits,
                     tc_tail *tail) TC_MUST_USE;

#endif
