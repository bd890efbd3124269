/* All numbers of the last round have the noise words of the first one. */
#include "spoil_last.h"

static tc_status spoil_last(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales,
                            const int64_t *bounds, uint64_t first, size_t count, int64_t *noise) {
    tc_status status = TC_OK;
    for (size_t i = 0; status == TC_OK && i < count; i++)
        status = honest_noise_fill_within(worker, law, &scales[i], &bounds[i], first, 1, &noise[i]);
    return status;
}
