/* b log(u) in double, added to a double: the textbook, and its well-known leak. */
#include "release/inside.h"
#include "support/random.h"

static double floating_noise(double scale) {
    static uint64_t seed = 1;
    double u = random_unit(&seed) + 0x1p-54 - 0.5;
    return u < 0 ? scale * log(1 + 2 * u) : -scale * log(1 - 2 * u);
}

void tc_release_add_noise(const tc_channel_run *runs, size_t run_count, const int64_t *units, const int64_t *noise,
                          double *out) {
    (void)noise;
    for (size_t i = 0; i < run_count; i++)
        for (size_t k = 0; k < runs[i].count; k++)
            out[runs[i].to + k] =
                runs[i].channel->step * (double)*units++ + floating_noise(runs[i].channel->about->scale);
}
