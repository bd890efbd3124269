/* The noise object with something done to the noise of a last round. A fault includes this and defines spoil_last; the
 * rounds' noise is as it should be. */
#define tc_noise_fill_within honest_noise_fill_within
#include "noise/noise.c"
#undef tc_noise_fill_within

static tc_status spoil_last(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales,
                            const int64_t *bounds, uint64_t first, size_t count, int64_t *noise);

tc_status tc_noise_fill_within(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales,
                               const int64_t *bounds, uint64_t first, size_t count, int64_t *noise);
tc_status tc_noise_fill_within(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales,
                               const int64_t *bounds, uint64_t first, size_t count, int64_t *noise) {
    return spoil_last(worker, law, scales, bounds, first, count, noise);
}
