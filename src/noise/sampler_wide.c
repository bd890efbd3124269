/* Draws in lanes for processors with AVX2 and FMA: four in one instruction. */
#define TC_SIMD_LANES 4
#include "base/simd.h"
#include "noise/sampler_inside.h"

#ifdef TC_HAS_WIDE
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

enum { LANES = TC_SIMD_LANES, PACKS = 4 };
typedef uint64_t words __attribute__((vector_size(32)));

TC_INLINE tc_pack fuse(tc_pack a, tc_pack b, tc_pack c) { return _mm256_fmadd_pd(a, b, c); }

/* 2^84 + high 2^32 and 2^52 + low are exact, and so is the difference: the sum alone rounds. */
TC_INLINE tc_pack rounded(words w) {
    __m256i low = _mm256_blend_epi32((__m256i)w, (__m256i)tc_pack_of(0x1p52), 0xAA);
    __m256i high = (__m256i)(w >> 32 | (words)tc_pack_of(0x1p84));
    return ((tc_pack)high - tc_pack_of(0x1p84 + 0x1p52)) + (tc_pack)low;
}

TC_INLINE words load(const int64_t *from) { return (words)_mm256_loadu_si256((const __m256i *)(const void *)from); }
TC_INLINE words load_some(const int64_t *from, size_t live, size_t before) {
    __m256i number = _mm256_add_epi64(_mm256_setr_epi64x(0, 1, 2, 3), _mm256_set1_epi64x((int64_t)before));
    __m256i mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x((int64_t)live), number);
    return (words)_mm256_maskload_epi64((const long long *)from, mask);
}
TC_INLINE void store_some(int64_t *to, tc_pack_mask where, words k) {
    _mm256_maskstore_epi64((long long *)to, where, (__m256i)k);
}
TC_INLINE void store(int64_t *to, tc_pack_mask where, words k, words otherwise) {
    tc_pack value = _mm256_blendv_pd((tc_pack)otherwise, (tc_pack)k, (tc_pack)where);
    _mm256_storeu_pd((double *)(void *)to, value);
}

/* Numbers 2 pair and 2 pair + 1 of the segments that the last four bits of a word say, from one row for each lane. */
typedef struct lane_rows {
    const double *row[LANES];
} lane_rows;
#define PLACES lane_rows
#define LAPLACE_TABLE tc_lane_laplace_rows
#define GAUSSIAN_TABLE tc_lane_gaussian_rows
TC_INLINE lane_rows find(const double *table, size_t size, words which) {
    uint64_t segment[LANES];
    _mm256_storeu_si256((__m256i *)(void *)segment, (__m256i)(which & (TC_LANE_SEGMENTS - 1)));
    __asm__("" : "+m"(segment)); /* the units that take a register apart are those that put one together */
    lane_rows at;
    for (int lane = 0; lane < LANES; lane++)
        at.row[lane] = table + segment[lane] * size;
    return at;
}
TC_INLINE tc_pack two_rows(const double *low, const double *high) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
}
TC_INLINE void pick(const lane_rows *at, int first, tc_pack *even, tc_pack *odd) {
    tc_pack a = two_rows(at->row[0] + first, at->row[2] + first), b = two_rows(at->row[1] + first, at->row[3] + first);
    *even = _mm256_unpacklo_pd(a, b);
    *odd = _mm256_unpackhi_pd(a, b);
}
#define FIND(table, which) find((table)[0], sizeof(table)[0] / sizeof(double), which)
#define PICK(table, at, pair, even, odd) pick(&(at), 2 * (pair), even, odd)

TC_INLINE tc_pack real_scales(const tc_noise_scale *from) {
    const __m256i *two = (const __m256i *)(const void *)from; /* mantissa, exponent and shift, mantissa, ... */
    __m256i a = _mm256_loadu_si256(two), b = _mm256_loadu_si256(two + 1);
    words m = (words)_mm256_permute4x64_epi64(_mm256_unpacklo_epi64(a, b), 0xD8);
    words e = (words)_mm256_permute4x64_epi64(_mm256_unpackhi_epi64(a, b), 0xD8);
    return (tc_pack)((m >> 11) + ((e + 1022) << 52));
}

#define SAMPLE tc_sample_wide
#include "noise/sampler_lanes.inc.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
