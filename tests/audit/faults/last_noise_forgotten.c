/* One number of the last round gets no noise. */
#include "spoil_last.h"

static tc_status spoil_last(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales,
                            const int64_t *bounds, uint64_t first, size_t count, int64_t *noise) {
    tc_status status = honest_noise_fill_within(worker, law, scales, bounds, first, count, noise);
    noise[count - 1] = 0;
    return status;
}
