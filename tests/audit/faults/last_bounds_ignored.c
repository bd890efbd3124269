/* The last round's noise has no bounds: what is called certain is not. */
#include "spoil_last.h"

static tc_status spoil_last(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales,
                            const int64_t *bounds, uint64_t first, size_t count, int64_t *noise) {
    (void)bounds;
    return fill(worker, law, scales, 1, first, count, noise);
}
