/* Every draw of noise is half of what it should be. */
#define tc_noise_fill honest_noise_fill
#include "privacy/noise.c"
#undef tc_noise_fill

tc_status tc_noise_fill(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scale, uint64_t first,
                        size_t count, int64_t *noise);
tc_status tc_noise_fill(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scale, uint64_t first,
                        size_t count, int64_t *noise) {
    tc_status status = honest_noise_fill(worker, law, scale, first, count, noise);
    for (size_t i = 0; i < count; i++)
        noise[i] /= 2;
    return status;
}
