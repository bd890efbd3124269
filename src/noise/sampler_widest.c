/* Draws in lanes for processors with AVX-512: eight in one instruction. Tables are in registers, so no address depends
 * on a word. */
#define TC_SIMD_LANES 8
#include "base/simd.h"
#include "noise/sampler_inside.h"

#ifdef TC_HAS_WIDE
TC_SIMD_BEGIN

enum { LANES = TC_SIMD_LANES, PACKS = 2 };
typedef uint64_t words __attribute__((vector_size(64)));

TC_INLINE tc_pack fuse(tc_pack a, tc_pack b, tc_pack c) { return _mm512_fmadd_pd(a, b, c); }
TC_INLINE tc_pack rounded(words w) { return _mm512_cvtepu64_pd((__m512i)w); }

TC_INLINE words load(const int64_t *from) { return (words)_mm512_loadu_si512(from); }
TC_INLINE __mmask8 first(size_t live, size_t before) { return (__mmask8)(((UINT32_C(1) << live) - 1) >> before); }
TC_INLINE words load_some(const int64_t *from, size_t live, size_t before) {
    return (words)_mm512_maskz_loadu_epi64(first(live, before), from);
}
TC_INLINE void store_some(int64_t *to, tc_pack_mask where, words k) {
    _mm512_mask_storeu_epi64(to, (__mmask8)where, (__m512i)k);
}
TC_INLINE void store(int64_t *to, tc_pack_mask where, words k, words otherwise) {
    (void)otherwise;
    store_some(to, where, k);
}

/* Numbers 2 pair and 2 pair + 1 of the segments that the last four bits of a word say. */
#define PLACES words
#define LAPLACE_TABLE tc_lane_laplace_columns
#define GAUSSIAN_TABLE tc_lane_gaussian_columns
#define FIND(table, which) (which)
TC_INLINE tc_pack pick_one(const double *column, words at) {
    return _mm512_permutex2var_pd(_mm512_load_pd(column), (__m512i)at, _mm512_load_pd(column + 8));
}
#define PICK(table, at, pair, even, odd)                                                                               \
    (*(even) = pick_one((table)[2 * (pair)], at), *(odd) = pick_one((table)[2 * (pair) + 1], at))

TC_INLINE tc_pack real_scales(const tc_noise_scale *from) {
    __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + 4); /* mantissa, exponent and shift, ... */
    words m = (words)_mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b);
    words e = (words)_mm512_permutex2var_epi64(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b);
    return (tc_pack)((m >> 11) + ((e + 1022) << 52));
}

#define SAMPLE tc_sample_widest
#include "noise/sampler_lanes.inc.h"

TC_SIMD_END
#endif
