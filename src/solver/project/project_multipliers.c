#include "solver/project/project.h"

#include <stdlib.h>

static int decreasing(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Beyond the radius the nearest point is max(v - t, 0) with the t that makes the sum the radius: with the k largest
 * entries positive, t = (their sum - radius) / k, for the largest k whose k-th entry exceeds its t. */
void tc_project_multipliers(size_t count, double radius, const double *v, double *mu, double *work) {
    long double sum = 0;
    for (size_t j = 0; j < count; j++) {
        work[j] = v[j] > 0 ? v[j] : 0;
        sum += (long double)work[j];
    }
    if (sum <= (long double)radius) {
        for (size_t j = 0; j < count; j++)
            mu[j] = work[j];
        return;
    }
    qsort(work, count, sizeof *work, decreasing);
    /* All measured from the largest entry: a radius far smaller than it would be lost in their sum. */
    long double top = (long double)work[0], partial = 0, threshold = 0;
    for (size_t k = 0; k < count; k++) {
        long double below = (long double)work[k] - top;
        partial += below;
        long double candidate = (partial - (long double)radius) / (long double)(k + 1);
        if (k > 0 && below <= candidate)
            break;
        threshold = candidate;
    }
    for (size_t j = 0; j < count; j++) {
        long double rest = (long double)v[j] - top - threshold;
        mu[j] = rest > 0 ? (double)rest : 0;
    }
}
