/* The last round's noise is set to its bound where it should be drawn again. */
#include "spoil_last.h"

static tc_status spoil_last(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales,
                            const int64_t *bounds, uint64_t first, size_t count, int64_t *noise) {
    tc_status status = fill(worker, law, scales, 1, first, count, noise);
    for (size_t i = 0; i < count; i++)
        noise[i] = noise[i] > bounds[i] ? bounds[i] : noise[i] < -bounds[i] ? -bounds[i] : noise[i];
    return status;
}
