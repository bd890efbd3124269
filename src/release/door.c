/* The door: the only place where noise is added to private numbers. paper: the mechanism */
#include "base/simd.h"
#include "release/inside.h"

/* Noise is at most 2^57 in size, so small units cannot overflow. An overflow would cost no privacy: the sum modulo 2^64
 * depends on the sum alone. */
TC_INLINE void add_small(double step, const int64_t *units, const int64_t *noise, size_t count, double *restrict out) {
    for (size_t k = 0; k < count; k++)
        out[k] = step * tc_lattice_double((int64_t)((uint64_t)units[k] + (uint64_t)noise[k]));
}

static void add_plainly(double step, const int64_t *units, const int64_t *noise, size_t count, double *restrict out) {
    add_small(step, units, noise, count, out);
}

#ifdef TC_HAS_WIDE
TC_WIDE static void add_widely(double step, const int64_t *units, const int64_t *noise, size_t count,
                               double *restrict out) {
    add_small(step, units, noise, count, out);
}
#endif

void tc_release_add_noise(const tc_release_channel *channel, const int64_t *units, const int64_t *noise, size_t count,
                          double *out) {
    if (channel->is_small)
        TC_SIMD_CHOOSE(add_plainly, add_widely, add_widely)(channel->step, units, noise, count, out);
    else
        for (size_t k = 0; k < count; k++)
            out[k] = channel->step * (double)tc_saturating_add(units[k], noise[k]);
}
