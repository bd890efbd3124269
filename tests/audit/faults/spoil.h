/* The noise object with something done to each draw. A fault includes this and defines spoil. If it defines
 * SPOIL_KNOWS_SCALES first, it defines spoil_scaled, for one draw. */
#define tc_noise_fill honest_noise_fill
#define tc_noise_fill_each honest_noise_fill_each
#include "noise/noise.c"
#undef tc_noise_fill
#undef tc_noise_fill_each

#ifdef SPOIL_KNOWS_SCALES
#include <math.h>

static void spoil_scaled(double scale, int64_t *noise);

static void spoil_all(const tc_noise_scale *scales, size_t stride, uint64_t first, size_t count, int64_t *noise) {
    (void)first;
    for (size_t i = 0; i < count; i++)
        spoil_scaled(ldexp((double)scales[i * stride].mantissa, scales[i * stride].exponent - 63), &noise[i]);
}
#else
static void spoil(uint64_t first, size_t count, int64_t *noise);

static void spoil_all(const tc_noise_scale *scales, size_t stride, uint64_t first, size_t count, int64_t *noise) {
    (void)scales;
    (void)stride;
    spoil(first, count, noise);
}
#endif

tc_status tc_noise_fill(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scale, uint64_t first,
                        size_t count, int64_t *noise);
tc_status tc_noise_fill(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scale, uint64_t first,
                        size_t count, int64_t *noise) {
    tc_status status = honest_noise_fill(worker, law, scale, first, count, noise);
    spoil_all(scale, 0, first, count, noise);
    return status;
}

tc_status tc_noise_fill_each(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales, uint64_t first,
                             size_t count, int64_t *noise);
tc_status tc_noise_fill_each(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales, uint64_t first,
                             size_t count, int64_t *noise) {
    tc_status status = honest_noise_fill_each(worker, law, scales, first, count, noise);
    spoil_all(scales, 1, first, count, noise);
    return status;
}
