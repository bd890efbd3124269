/* A straight line through points with weights: how fast log(penalty) falls with log(epsilon). */
#ifndef TC_LAB_FIT_H
#define TC_LAB_FIT_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tc_line {
    double slope, intercept; /* NAN where fewer than two abscissae differ */
} tc_line;

/* Minimises sum weight (y - intercept - slope x)^2. */
tc_line tc_line_fit(const double *x, const double *y, const double *weight, size_t count);

/* Samples of a non-negative quantity at one abscissa. */
typedef struct tc_sample {
    double x; /* log epsilon */
    const double *values;
    size_t count;
} tc_sample;

/* log of the mean, and the weight of that point: 1 / variance of log mean by the delta method, n mean^2 / s^2. */
typedef struct tc_sample_facts {
    double mean, deviation; /* deviation: of the sample, with n - 1; NAN for fewer than two values */
    double log_mean;        /* NAN where the mean is not positive: the point is left out */
    double weight;          /* 0 where it is left out */
} tc_sample_facts;
void tc_samples_judge(const tc_sample *samples, size_t count, tc_sample_facts *facts);

typedef struct tc_slope {
    double slope, intercept; /* natural logarithms */
    double low, high;        /* bootstrap percentiles; NAN where a sample has fewer than two values */
} tc_slope;

/* Whether a slope lies within the interval. */
static inline bool tc_slope_allows(const tc_slope *slope, double value) {
    return slope->low <= value && value <= slope->high;
}

/* The tail probability at which a bootstrap percentile of a mean of n values is to be read, so that it is no narrower
 * than Student's interval (Hesterberg's expanded percentile interval): tail itself for large n, less for small n. */
double tc_expanded_tail(double tail, size_t n);

/* The slope of log mean against x by weighted least squares, and its interval: values are drawn again from each sample
 * with replacement, resamples times, from a fixed seed; weights stay as they are. confidence: 0.95. */
tc_slope tc_slope_fit(tc_arena *arena, const tc_sample *samples, size_t count, double confidence, size_t resamples);

#endif
