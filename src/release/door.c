/* The door: the only place where noise is added to private numbers. paper: the mechanism */
#include "base/simd.h"
#include "release/inside.h"

/* Noise is at most 2^57 in size, so small units cannot overflow. An overflow would cost no privacy: the sum modulo 2^64
 * depends on the sum alone. */
TC_INLINE void add_small(const tc_channel_run *runs, size_t run_count, const int64_t *units, const int64_t *noise,
                         double *restrict out) {
    for (const tc_channel_run *run = runs, *end = runs + run_count; run < end; run++) {
        double *restrict to = out + run->to, step = run->channel->step;
        size_t count = run->count;
        for (size_t k = 0; k < count; k++)
            to[k] = step * tc_lattice_double((int64_t)((uint64_t)units[k] + (uint64_t)noise[k]));
        units += count;
        noise += count;
    }
}

static void add_plainly(const tc_channel_run *runs, size_t run_count, const int64_t *units, const int64_t *noise,
                        double *restrict out) {
    add_small(runs, run_count, units, noise, out);
}

#ifdef TC_HAS_WIDE
TC_WIDE static void add_widely(const tc_channel_run *runs, size_t run_count, const int64_t *units, const int64_t *noise,
                               double *restrict out) {
    add_small(runs, run_count, units, noise, out);
}

/* Eight at a time, the rest of a run by a mask: small rounds have runs of a few entries. The instruction that makes
 * doubles of integers rounds as tc_lattice_double does. */
TC_WIDEST static void add_widest(const tc_channel_run *runs, size_t run_count, const int64_t *units,
                                 const int64_t *noise, double *restrict out) {
    for (const tc_channel_run *run = runs, *end = runs + run_count; run < end; run++) {
        double *restrict to = out + run->to;
        const __m512d step = _mm512_set1_pd(run->channel->step);
        size_t k = 0, count = run->count;
        for (; k + 8 <= count; k += 8) {
            __m512i sum = _mm512_add_epi64(_mm512_loadu_si512(units + k), _mm512_loadu_si512(noise + k));
            _mm512_storeu_pd(to + k, step * _mm512_cvtepi64_pd(sum));
        }
        if (k < count) {
            __mmask8 rest = (__mmask8)((1U << (count - k)) - 1);
            __m512i sum =
                _mm512_add_epi64(_mm512_maskz_loadu_epi64(rest, units + k), _mm512_maskz_loadu_epi64(rest, noise + k));
            _mm512_mask_storeu_pd(to + k, rest, step * _mm512_cvtepi64_pd(sum));
        }
        units += count;
        noise += count;
    }
}
#endif

static void add_large(const tc_channel_run *run, const int64_t *units, const int64_t *noise, double *out) {
    for (size_t k = 0; k < run->count; k++)
        out[run->to + k] = run->channel->step * (double)tc_saturating_add(units[k], noise[k]);
}

void tc_release_add_noise(const tc_channel_run *runs, size_t run_count, const int64_t *units, const int64_t *noise,
                          double *out) {
    if (runs->channel->is_small)
        TC_SIMD_CHOOSE(add_plainly, add_widely, add_widest)(runs, run_count, units, noise, out);
    else
        for (size_t i = 0; i < run_count; units += runs[i].count, noise += runs[i].count, i++)
            add_large(&runs[i], units, noise, out);
}
