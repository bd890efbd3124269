/* Doubles side by side, as many as one instruction takes: for files that are compiled once for every processor, once
 * with PACKS_ARE_WIDE for those with AVX2 and once with PACKS_ARE_WIDEST for those with AVX-512. Every lane goes
 * through the same operations in all of them, and nothing is fused: the bits are the same. */
#include "solver/pack.h"

#ifdef PACKS_ARE_WIDE

#include <immintrin.h>

enum { PACK_LANES = 4 };
typedef __m256d pack;
typedef __m256i pack_mask;

TC_INLINE pack pack_of(double x) { return _mm256_set1_pd(x); }
TC_INLINE pack pack_load(const double *from) { return _mm256_loadu_pd(from); }
TC_INLINE void pack_store(double *to, pack p) { _mm256_storeu_pd(to, p); }
TC_INLINE pack_mask pack_less(pack a, pack b) { return (pack_mask)_mm256_cmp_pd(a, b, _CMP_LT_OQ); }
TC_INLINE pack_mask pack_at_most(pack a, pack b) { return (pack_mask)_mm256_cmp_pd(a, b, _CMP_LE_OQ); }
TC_INLINE pack_mask pack_equal(pack a, pack b) { return (pack_mask)_mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
TC_INLINE pack pack_select(pack_mask mask, pack p, pack otherwise) {
    return (pack)((mask & (pack_mask)p) | (~mask & (pack_mask)otherwise)); /* gcc 12 compares again for a blend */
}
TC_INLINE pack pack_where(pack_mask mask, pack p) { return _mm256_and_pd((__m256d)mask, p); }
TC_INLINE pack pack_abs(pack p) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), p); }
TC_INLINE pack pack_clip(pack x, pack lower, pack upper) { return _mm256_min_pd(upper, _mm256_max_pd(lower, x)); }
TC_INLINE pack pack_larger(pack a, pack b) { return _mm256_max_pd(a, b); }
TC_INLINE pack pack_least(pack a, pack b) { return _mm256_min_pd(a, b); }
TC_INLINE pack pack_root(pack p) { return _mm256_sqrt_pd(p); }
TC_INLINE pack_mask pack_none(void) { return _mm256_setzero_si256(); }
/* One bit for each lane. */
TC_INLINE unsigned pack_bits(pack_mask mask) { return (unsigned)_mm256_movemask_pd((__m256d)mask); }

#elif defined PACKS_ARE_WIDEST

enum { PACK_LANES = 8 };
typedef __m512d pack;
typedef unsigned pack_mask; /* one bit for each lane; others say nothing */

TC_INLINE pack pack_of(double x) { return _mm512_set1_pd(x); }
TC_INLINE pack pack_load(const double *from) { return _mm512_loadu_pd(from); }
TC_INLINE void pack_store(double *to, pack p) { _mm512_storeu_pd(to, p); }
TC_INLINE pack_mask pack_less(pack a, pack b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
TC_INLINE pack_mask pack_at_most(pack a, pack b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
TC_INLINE pack_mask pack_equal(pack a, pack b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
TC_INLINE pack pack_select(pack_mask mask, pack p, pack otherwise) {
    return _mm512_mask_mov_pd(otherwise, (__mmask8)mask, p);
}
TC_INLINE pack pack_where(pack_mask mask, pack p) { return _mm512_maskz_mov_pd((__mmask8)mask, p); }
TC_INLINE pack pack_abs(pack p) { return _mm512_andnot_pd(_mm512_set1_pd(-0.0), p); }
TC_INLINE pack pack_clip(pack x, pack lower, pack upper) { return _mm512_min_pd(upper, _mm512_max_pd(lower, x)); }
TC_INLINE pack pack_larger(pack a, pack b) { return _mm512_max_pd(a, b); }
TC_INLINE pack pack_least(pack a, pack b) { return _mm512_min_pd(a, b); }
TC_INLINE pack pack_root(pack p) { return _mm512_sqrt_pd(p); }
TC_INLINE pack_mask pack_none(void) { return 0; }
TC_INLINE unsigned pack_bits(pack_mask mask) { return mask & 255; }

#else

#include <math.h>

enum { PACK_LANES = 2 };
typedef tc_pack pack;
typedef tc_pack_mask pack_mask;

TC_INLINE pack pack_of(double x) { return tc_pack_both(x); }
TC_INLINE pack pack_load(const double *from) { return tc_pack_load(from); }
TC_INLINE void pack_store(double *to, pack p) { tc_pack_store(to, p); }
TC_INLINE pack_mask pack_less(pack a, pack b) { return tc_pack_less(a, b); }
TC_INLINE pack_mask pack_at_most(pack a, pack b) { return tc_pack_at_most(a, b); }
TC_INLINE pack_mask pack_equal(pack a, pack b) { return tc_pack_equal(a, b); }
TC_INLINE pack pack_select(pack_mask mask, pack p, pack otherwise) { return tc_pack_select(mask, p, otherwise); }
TC_INLINE pack pack_where(pack_mask mask, pack p) { return tc_pack_where(mask, p); }
TC_INLINE pack pack_abs(pack p) { return tc_pack_abs(p); }
TC_INLINE pack pack_clip(pack x, pack lower, pack upper) { return tc_pack_clip(x, lower, upper); }
TC_INLINE pack pack_larger(pack a, pack b) { return tc_pack_larger(a, b); }
TC_INLINE pack pack_least(pack a, pack b) { return tc_pack_select(tc_pack_less(a, b), a, b); }
TC_INLINE pack pack_root(pack p) { return (pack){sqrt(p[0]), sqrt(p[1])}; }
TC_INLINE pack_mask pack_none(void) { return (pack_mask){0, 0}; }
TC_INLINE unsigned pack_bits(pack_mask mask) { return (unsigned)((mask[0] & 1) | (mask[1] & 2)); }

#endif

TC_INLINE pack pack_smaller(pack a, pack b) { return -pack_larger(-a, -b); }
TC_INLINE pack_mask pack_is_finite(pack p) { return pack_equal(p - p, pack_of(0)); }
