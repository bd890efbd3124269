/* The last round's noise is drawn until it is within three quarters of its bounds: that costs more delta. */
#include "spoil_last.h"

static tc_status spoil_last(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales,
                            const int64_t *bounds, uint64_t first, size_t count, int64_t *noise) {
    tc_status status = fill(worker, law, scales, 1, first, count, noise);
    for (size_t i = 0; status == TC_OK && i < count; i++)
        status = draw_until_inside(worker, law, &scales[i], bounds[i] / 4 * 3, first + i, &noise[i]);
    return status;
}
