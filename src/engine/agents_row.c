/* The step itself, for one component of many members. */
#include "engine/agents_inside.h"
#include "engine/published/published.h"
#include "base/simd.h"

typedef struct scalars {
    tc_pack step, regularization;
} scalars;

static scalars spread(tc_answer_scalars s) { return (scalars){tc_pack_of(s.step), tc_pack_of(s.regularization)}; }

TC_INLINE tc_pack moved(tc_pack x, tc_pack g, tc_pack p, scalars s) {
    return TC_STATE_UPDATE(x, g, p, s.step, s.regularization);
}

static const tc_pack_mask ALL = {-1, -1};

TC_INLINE bool all_of(tc_pack_mask mask) { return (mask[0] & mask[1]) == -1; }

/* The same four at a time: the first of them, as many as come in fours. Zero times v is a zero of some sign, unless v
 * is infinite or no number. */
#ifdef TC_HAS_WIDE
TC_WIDE static size_t wide_row(size_t count, const double *g, const double *p, tc_answer_scalars answer,
                               const double *x, double lower, double upper, double *out, bool *finite) {
    const __m256d step = _mm256_set1_pd(answer.step), regularization = _mm256_set1_pd(answer.regularization);
    const __m256d low = _mm256_set1_pd(lower), high = _mm256_set1_pd(upper);
    __m256d gathered = _mm256_setzero_pd();
    size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        __m256d own = _mm256_loadu_pd(x + k);
        __m256d v = TC_STATE_UPDATE(own, _mm256_loadu_pd(g + k), _mm256_loadu_pd(p + k), step, regularization);
        gathered = _mm256_or_pd(gathered, v * _mm256_setzero_pd());
        _mm256_storeu_pd(out + k, _mm256_min_pd(high, _mm256_max_pd(low, v)));
    }
    *finite = _mm256_movemask_pd(_mm256_cmp_pd(gathered, gathered, _CMP_UNORD_Q)) == 0;
    return k;
}
#endif

bool tc_agents_row(size_t count, const double *g, const double *p, tc_answer_scalars answer, const double *x,
                   double lower, double upper, double *out) {
    const scalars s = spread(answer);
    const tc_pack low = tc_pack_of(lower), high = tc_pack_of(upper);
    tc_pack_mask finite = ALL;
    bool is_first_finite = true;
    size_t k = 0;
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDE())
        k = wide_row(count, g, p, answer, x, lower, upper, out, &is_first_finite);
#endif
    for (; k + 2 <= count; k += 2) {
        tc_pack v = moved(tc_pack_load(x + k), tc_pack_load(g + k), tc_pack_load(p + k), s);
        finite &= tc_pack_is_finite(v);
        tc_pack_store(out + k, tc_pack_clip(v, low, high));
    }
    if (k < count) {
        tc_pack v = moved(tc_pack_of(x[k]), tc_pack_of(g[k]), tc_pack_of(p[k]), s);
        finite &= tc_pack_is_finite(v);
        out[k] = tc_pack_clip(v, low, high)[0];
    }
    return is_first_finite && all_of(finite);
}

bool tc_agents_clipped_row(size_t count, const double *g, const double *p, tc_answer_scalars answer, const double *x,
                           const double *lower, const double *upper, double *out) {
    const scalars s = spread(answer);
    tc_pack_mask finite = ALL;
    size_t k = 0;
    for (; k + 2 <= count; k += 2) {
        tc_pack v = moved(tc_pack_load(x + k), tc_pack_load(g + k), tc_pack_load(p + k), s);
        finite &= tc_pack_is_finite(v);
        tc_pack_store(out + k, tc_pack_clip(v, tc_pack_load(lower + k), tc_pack_load(upper + k)));
    }
    if (k < count) {
        tc_pack v = moved(tc_pack_of(x[k]), tc_pack_of(g[k]), tc_pack_of(p[k]), s);
        finite &= tc_pack_is_finite(v);
        out[k] = tc_pack_clip(v, tc_pack_of(lower[k]), tc_pack_of(upper[k]))[0];
    }
    return all_of(finite);
}
