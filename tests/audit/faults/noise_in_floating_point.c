/* b log(u) in double, added to a double: the textbook, and its well-known leak. */
#include "release/inside.h"
#include "support/random.h"

static double floating_noise(double scale) {
    static uint64_t seed = 1;
    double u = random_unit(&seed) + 0x1p-54 - 0.5;
    return u < 0 ? scale * log(1 + 2 * u) : -scale * log(1 - 2 * u);
}

void tc_release_add_noise(const tc_release_channel *channel, const int64_t *units, const int64_t *noise, size_t count,
                          double *out) {
    (void)noise;
    for (size_t k = 0; k < count; k++)
        out[k] = channel->step * (double)units[k] + floating_noise(channel->about->scale);
}
