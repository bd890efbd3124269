/* One entry that varies gets none. */
#define tc_noise_fill honest_noise_fill
#include "privacy/noise.c"
#undef tc_noise_fill

tc_status tc_noise_fill(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scale, uint64_t first,
                        size_t count, int64_t *noise);
tc_status tc_noise_fill(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scale, uint64_t first,
                        size_t count, int64_t *noise) {
    const uint64_t forgotten = 5;
    tc_status status = honest_noise_fill(worker, law, scale, first, count, noise);
    if (first <= forgotten && forgotten - first < count)
        noise[forgotten - first] = 0;
    return status;
}
