/* Doubles side by side: tc_pack, as many as one instruction takes, with the operations of one double in every lane.
 *
 * A file works on 2 lanes, which every 64-bit machine has. One that defines TC_SIMD_LANES as 4 or 8 before its first
 * include is compiled for processors with AVX2 or AVX-512, with that many lanes, its functions between TC_SIMD_BEGIN
 * and TC_SIMD_END; where TC_HAS_WIDE is not defined it must be empty. TC_SIMD_CHOOSE calls the version that fits the
 * processor. Nothing is fused, so all versions have the same bits. (The compiler's own choice between clones of a
 * function ends programs under the thread sanitizer.) */
#ifndef TC_BASE_SIMD_H
#define TC_BASE_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define TC_HAS_WIDE 1
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#ifndef TC_SIMD_LANES
#define TC_SIMD_LANES 2
#endif

/* Under sanitizers, a loop that is all in one function takes compilers half a minute. */
#ifdef TACIT_SANITIZED
#define TC_INLINE static inline
#else
#define TC_INLINE static inline __attribute__((always_inline))
#endif

/* ---- the processor ---------------------------------------------------------------------------------------------- */

#ifdef TC_HAS_WIDE
#define TC_WIDE __attribute__((target("avx2"))) /* of one function */
#define TC_WIDEST __attribute__((target("avx512f,avx512dq,avx512vl")))
#define TC_IS_WIDE() __builtin_cpu_supports("avx2")
#define TC_IS_WIDEST()                                                                                                 \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#define TC_SIMD_CHOOSE(narrow, wide, widest) (TC_IS_WIDEST() ? (widest) : TC_IS_WIDE() ? (wide) : (narrow))
#else
#define TC_SIMD_CHOOSE(narrow, wide, widest) (narrow)
#endif

#ifdef __clang__
#define TC_WIDE_BEGIN _Pragma("clang attribute push(__attribute__((target(\"avx2\"))), apply_to = function)")
#define TC_WIDEST_BEGIN                                                                                                \
    _Pragma("clang attribute push(__attribute__((target(\"avx512f,avx512dq,avx512vl\"))), apply_to = function)")
#define TC_WIDE_END _Pragma("clang attribute pop")
#else
#define TC_WIDE_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"avx2\")")
#define TC_WIDEST_BEGIN                                                                                                \
    _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,avx512dq,avx512vl,prefer-vector-width=512\")")
#define TC_WIDE_END _Pragma("GCC pop_options")
#endif

#if TC_SIMD_LANES == 8
#define TC_SIMD_BEGIN TC_WIDEST_BEGIN
#define TC_SIMD_END TC_WIDE_END
#elif TC_SIMD_LANES == 4
#define TC_SIMD_BEGIN TC_WIDE_BEGIN
#define TC_SIMD_END TC_WIDE_END
#else
#define TC_SIMD_BEGIN
#define TC_SIMD_END
#endif

/* ---- packs -------------------------------------------------------------------------------------------------------
 *
 * less, at_most, equal: a mask, which is false where a lane is no number. where: p, or 0. clip: x < lower ? lower : x,
 * then x > upper ? upper : x; a NaN stays. larger: a > b ? a : b. smaller: a < b ? a : b. bits: one for each lane. */

#if TC_SIMD_LANES == 8 && defined(TC_HAS_WIDE)
TC_SIMD_BEGIN

typedef __m512d tc_pack;
typedef unsigned tc_pack_mask; /* one bit for each lane; the others say nothing */

TC_INLINE tc_pack tc_pack_of(double x) { return _mm512_set1_pd(x); }
TC_INLINE tc_pack tc_pack_load(const double *from) { return _mm512_loadu_pd(from); }
TC_INLINE void tc_pack_store(double *to, tc_pack p) { _mm512_storeu_pd(to, p); }
TC_INLINE tc_pack_mask tc_pack_less(tc_pack a, tc_pack b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
TC_INLINE tc_pack_mask tc_pack_at_most(tc_pack a, tc_pack b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
TC_INLINE tc_pack_mask tc_pack_equal(tc_pack a, tc_pack b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
TC_INLINE tc_pack tc_pack_select(tc_pack_mask mask, tc_pack p, tc_pack otherwise) {
    return _mm512_mask_mov_pd(otherwise, (__mmask8)mask, p);
}
TC_INLINE tc_pack tc_pack_where(tc_pack_mask mask, tc_pack p) { return _mm512_maskz_mov_pd((__mmask8)mask, p); }
TC_INLINE tc_pack tc_pack_abs(tc_pack p) { return _mm512_andnot_pd(_mm512_set1_pd(-0.0), p); }
TC_INLINE tc_pack tc_pack_clip(tc_pack x, tc_pack lower, tc_pack upper) {
    return _mm512_min_pd(upper, _mm512_max_pd(lower, x));
}
TC_INLINE tc_pack tc_pack_larger(tc_pack a, tc_pack b) { return _mm512_max_pd(a, b); }
TC_INLINE tc_pack tc_pack_smaller(tc_pack a, tc_pack b) { return _mm512_min_pd(a, b); }
TC_INLINE tc_pack tc_pack_root(tc_pack p) { return _mm512_sqrt_pd(p); }
TC_INLINE tc_pack_mask tc_pack_none(void) { return 0; }
TC_INLINE unsigned tc_pack_bits(tc_pack_mask mask) { return mask & 255; }

TC_SIMD_END
#elif TC_SIMD_LANES == 4 && defined(TC_HAS_WIDE)
TC_SIMD_BEGIN

typedef __m256d tc_pack;
typedef __m256i tc_pack_mask; /* all bits of a lane, or none */

TC_INLINE tc_pack tc_pack_of(double x) { return _mm256_set1_pd(x); }
TC_INLINE tc_pack tc_pack_load(const double *from) { return _mm256_loadu_pd(from); }
TC_INLINE void tc_pack_store(double *to, tc_pack p) { _mm256_storeu_pd(to, p); }
TC_INLINE tc_pack_mask tc_pack_less(tc_pack a, tc_pack b) { return (tc_pack_mask)_mm256_cmp_pd(a, b, _CMP_LT_OQ); }
TC_INLINE tc_pack_mask tc_pack_at_most(tc_pack a, tc_pack b) { return (tc_pack_mask)_mm256_cmp_pd(a, b, _CMP_LE_OQ); }
TC_INLINE tc_pack_mask tc_pack_equal(tc_pack a, tc_pack b) { return (tc_pack_mask)_mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
TC_INLINE tc_pack tc_pack_select(tc_pack_mask mask, tc_pack p, tc_pack otherwise) {
    return (tc_pack)((mask & (tc_pack_mask)p) |
                     (~mask & (tc_pack_mask)otherwise)); /* gcc 12 compares again for a blend */
}
TC_INLINE tc_pack tc_pack_where(tc_pack_mask mask, tc_pack p) { return _mm256_and_pd((__m256d)mask, p); }
TC_INLINE tc_pack tc_pack_abs(tc_pack p) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), p); }
TC_INLINE tc_pack tc_pack_clip(tc_pack x, tc_pack lower, tc_pack upper) {
    return _mm256_min_pd(upper, _mm256_max_pd(lower, x));
}
TC_INLINE tc_pack tc_pack_larger(tc_pack a, tc_pack b) { return _mm256_max_pd(a, b); }
TC_INLINE tc_pack tc_pack_smaller(tc_pack a, tc_pack b) { return _mm256_min_pd(a, b); }
TC_INLINE tc_pack tc_pack_root(tc_pack p) { return _mm256_sqrt_pd(p); }
TC_INLINE tc_pack_mask tc_pack_none(void) { return _mm256_setzero_si256(); }
TC_INLINE unsigned tc_pack_bits(tc_pack_mask mask) { return (unsigned)_mm256_movemask_pd((__m256d)mask); }

TC_SIMD_END
#elif TC_SIMD_LANES == 2

typedef double tc_pack __attribute__((vector_size(16)));
typedef int64_t tc_pack_mask __attribute__((vector_size(16))); /* all bits of a lane, or none */

TC_INLINE tc_pack tc_pack_of(double x) { return (tc_pack){x, x}; }
TC_INLINE tc_pack tc_pack_load(const double *from) {
    tc_pack p;
    memcpy(&p, from, sizeof p);
    return p;
}
TC_INLINE void tc_pack_store(double *to, tc_pack p) { memcpy(to, &p, sizeof p); }
TC_INLINE tc_pack tc_pack_select(tc_pack_mask mask, tc_pack p, tc_pack otherwise) {
    return (tc_pack)((mask & (tc_pack_mask)p) | (~mask & (tc_pack_mask)otherwise));
}
TC_INLINE tc_pack tc_pack_where(tc_pack_mask mask, tc_pack p) { return (tc_pack)(mask & (tc_pack_mask)p); }
TC_INLINE tc_pack tc_pack_abs(tc_pack p) {
    const tc_pack_mask magnitude = {INT64_MAX, INT64_MAX};
    return (tc_pack)((tc_pack_mask)p & magnitude);
}
TC_INLINE tc_pack_mask tc_pack_none(void) { return (tc_pack_mask){0, 0}; }
TC_INLINE unsigned tc_pack_bits(tc_pack_mask mask) { return (unsigned)((mask[0] & 1) | (mask[1] & 2)); }

#ifdef __SSE2__ /* the compiler's own comparisons, on masks that are combined further, end some of its versions */
TC_INLINE tc_pack_mask tc_pack_less(tc_pack a, tc_pack b) { return (tc_pack_mask)_mm_cmplt_pd((__m128d)a, (__m128d)b); }
TC_INLINE tc_pack_mask tc_pack_at_most(tc_pack a, tc_pack b) {
    return (tc_pack_mask)_mm_cmple_pd((__m128d)a, (__m128d)b);
}
TC_INLINE tc_pack_mask tc_pack_equal(tc_pack a, tc_pack b) {
    return (tc_pack_mask)_mm_cmpeq_pd((__m128d)a, (__m128d)b);
}
TC_INLINE tc_pack tc_pack_clip(tc_pack x, tc_pack lower, tc_pack upper) {
    return (tc_pack)_mm_min_pd((__m128d)upper, _mm_max_pd((__m128d)lower, (__m128d)x));
}
TC_INLINE tc_pack tc_pack_larger(tc_pack a, tc_pack b) { return (tc_pack)_mm_max_pd((__m128d)a, (__m128d)b); }
TC_INLINE tc_pack tc_pack_smaller(tc_pack a, tc_pack b) { return (tc_pack)_mm_min_pd((__m128d)a, (__m128d)b); }
TC_INLINE tc_pack tc_pack_root(tc_pack p) { return (tc_pack)_mm_sqrt_pd((__m128d)p); }
#else
TC_INLINE tc_pack_mask tc_pack_less(tc_pack a, tc_pack b) { return a < b; }
TC_INLINE tc_pack_mask tc_pack_at_most(tc_pack a, tc_pack b) { return a <= b; }
TC_INLINE tc_pack_mask tc_pack_equal(tc_pack a, tc_pack b) { return a == b; }
TC_INLINE tc_pack tc_pack_clip(tc_pack x, tc_pack lower, tc_pack upper) {
    x = tc_pack_select(tc_pack_less(x, lower), lower, x);
    return tc_pack_select(tc_pack_less(upper, x), upper, x);
}
TC_INLINE tc_pack tc_pack_larger(tc_pack a, tc_pack b) { return tc_pack_select(tc_pack_less(b, a), a, b); }
TC_INLINE tc_pack tc_pack_smaller(tc_pack a, tc_pack b) { return tc_pack_select(tc_pack_less(a, b), a, b); }
TC_INLINE tc_pack tc_pack_root(tc_pack p) { return (tc_pack){sqrt(p[0]), sqrt(p[1])}; }
#endif
#endif

#if TC_SIMD_LANES == 2 || defined(TC_HAS_WIDE)
TC_SIMD_BEGIN
TC_INLINE tc_pack_mask tc_pack_is_finite(tc_pack p) { return tc_pack_equal(p - p, tc_pack_of(0)); }
TC_SIMD_END
#endif

#endif
