/* The part of the engine for a device that computes its own steps. A separate file, so that the device links nothing
 * else. */
#include "engine/agent_half.h"

#include <math.h>

/* Weights k (k+1): the newest of k rounds has this part of the sum. */
double tc_result_weight(tc_method method, uint64_t k) { return method == TC_METHOD_TACIT ? 3 / ((double)k + 2) : 1; }

double tc_moved(double average, double t, double p) { return t < 1 ? average + t * (p - average) : p; }

bool tc_to_lattice(const double *x, size_t count, int exponent, int64_t *units) {
    const double most = 0x1p62, per_unit = ldexp(1, -exponent);
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        double nearest = rint(x[i] * per_unit); /* ties to even */
        bool fits = nearest >= -most && nearest <= most;
        units[i] = fits ? (int64_t)nearest : 0;
        good = good && fits;
    }
    return good;
}

void tc_into_box(const double *lower, const double *upper, size_t count, int exponent, int64_t *units) {
    const double most = 0x1p62;
    for (size_t i = 0; i < count; i++) {
        double first = ceil(ldexp(lower[i], -exponent)), last = floor(ldexp(upper[i], -exponent));
        if (!(first <= last && first >= -most && last <= most))
            continue; /* no lattice point in the box; no cloud has such a box */
        if (units[i] < (int64_t)first)
            units[i] = (int64_t)first;
        else if (units[i] > (int64_t)last)
            units[i] = (int64_t)last;
    }
}
