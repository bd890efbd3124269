/* The door: the only place where noise meets what it hides. */
#include "privacy/release_parts.h"

void tc_release_publish(const tc_release_channel *channel, const int64_t *units, const int64_t *noise, size_t count,
                        double *out) {
    double step = channel->step;
    for (size_t k = 0; k < count; k++)
        out[k] = step * (double)tc_saturating_add(units[k], noise[k]);
}
