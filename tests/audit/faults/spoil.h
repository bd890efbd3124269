/* The noise object with something done to each draw; a fault includes this and defines spoil. */
#define tc_noise_fill honest_noise_fill
#define tc_noise_fill_each honest_noise_fill_each
#include "privacy/noise.c"
#undef tc_noise_fill
#undef tc_noise_fill_each

static void spoil(uint64_t first, size_t count, int64_t *noise);

tc_status tc_noise_fill(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scale, uint64_t first,
                        size_t count, int64_t *noise);
tc_status tc_noise_fill(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scale, uint64_t first,
                        size_t count, int64_t *noise) {
    tc_status status = honest_noise_fill(worker, law, scale, first, count, noise);
    spoil(first, count, noise);
    return status;
}

tc_status tc_noise_fill_each(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales, uint64_t first,
                             size_t count, int64_t *noise);
tc_status tc_noise_fill_each(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales, uint64_t first,
                             size_t count, int64_t *noise) {
    tc_status status = honest_noise_fill_each(worker, law, scales, first, count, noise);
    spoil(first, count, noise);
    return status;
}
