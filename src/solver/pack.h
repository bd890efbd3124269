/* Two doubles side by side, with the operations of one in each: what every 64-bit machine has. */
#ifndef TC_SOLVER_PACK_H
#define TC_SOLVER_PACK_H

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Under sanitizers, a loop that is all in one function takes compilers half a minute. */
#ifdef TACIT_SANITIZED
#define TC_INLINE static inline
#else
#define TC_INLINE static inline __attribute__((always_inline))
#endif

typedef double tc_pack __attribute__((vector_size(16)));
typedef int64_t tc_pack_mask __attribute__((vector_size(16))); /* all bits of a lane, or none */

TC_INLINE tc_pack tc_pack_both(double x) { return (tc_pack){x, x}; }

TC_INLINE tc_pack tc_pack_load(const double *from) {
    tc_pack p;
    memcpy(&p, from, sizeof p);
    return p;
}

TC_INLINE void tc_pack_store(double *to, tc_pack p) { memcpy(to, &p, sizeof p); }

/* Comparisons. The compiler's own, on masks that are combined further, end some of its versions. */
#ifdef __SSE2__
TC_INLINE tc_pack_mask tc_pack_less(tc_pack a, tc_pack b) { return (tc_pack_mask)_mm_cmplt_pd((__m128d)a, (__m128d)b); }
TC_INLINE tc_pack_mask tc_pack_at_most(tc_pack a, tc_pack b) {
    return (tc_pack_mask)_mm_cmple_pd((__m128d)a, (__m128d)b);
}
TC_INLINE tc_pack_mask tc_pack_equal(tc_pack a, tc_pack b) {
    return (tc_pack_mask)_mm_cmpeq_pd((__m128d)a, (__m128d)b);
}
#else
TC_INLINE tc_pack_mask tc_pack_less(tc_pack a, tc_pack b) { return a < b; }
TC_INLINE tc_pack_mask tc_pack_at_most(tc_pack a, tc_pack b) { return a <= b; }
TC_INLINE tc_pack_mask tc_pack_equal(tc_pack a, tc_pack b) { return a == b; }
#endif

/* p where the mask is set, 0 elsewhere. */
TC_INLINE tc_pack tc_pack_where(tc_pack_mask mask, tc_pack p) { return (tc_pack)(mask & (tc_pack_mask)p); }

TC_INLINE tc_pack tc_pack_select(tc_pack_mask mask, tc_pack p, tc_pack otherwise) {
    return (tc_pack)((mask & (tc_pack_mask)p) | (~mask & (tc_pack_mask)otherwise));
}

TC_INLINE tc_pack tc_pack_abs(tc_pack p) {
    const tc_pack_mask magnitude = {INT64_MAX, INT64_MAX};
    return (tc_pack)((tc_pack_mask)p & magnitude);
}

/* x < lower ? lower : x, then x > upper ? upper : x; a NaN stays. */
TC_INLINE tc_pack tc_pack_clip(tc_pack x, tc_pack lower, tc_pack upper) {
#ifdef __SSE2__
    return (tc_pack)_mm_min_pd((__m128d)upper, _mm_max_pd((__m128d)lower, (__m128d)x));
#else
    x = tc_pack_select(tc_pack_less(x, lower), lower, x);
    return tc_pack_select(tc_pack_less(upper, x), upper, x);
#endif
}

/* a > b ? a : b */
TC_INLINE tc_pack tc_pack_larger(tc_pack a, tc_pack b) {
#ifdef __SSE2__
    return (tc_pack)_mm_max_pd((__m128d)a, (__m128d)b);
#else
    return tc_pack_select(tc_pack_less(b, a), a, b);
#endif
}

#endif
