/* The trade-off between privacy and convergence: the same problem for many epsilons, many seeds each.
 *
 * The penalty at an epsilon is how far noise has moved the run by its last round,
 *
 *     penalty = mean over seeds of |z(T+1) - z_free(T+1)|^2,      z = (x, mu),
 *
 * where z_free is the run without noise, by the same method. It is positive, it is zero without noise, and where the
 * sets do not bind it is quadratic in the scale of the noise to first order, that is, proportional to epsilon^-2, which
 * is the claim to be tested. The squared distance to the solution has more in it: what the noise-free run has still to
 * go, and twice the product of that with the bias; `excess` shows it. */
#ifndef TC_LAB_SWEEP_H
#define TC_LAB_SWEEP_H

#include "lab/baseline.h"

/* ---- a straight line through points with weights: how fast log(penalty) falls with log(epsilon) ---- */

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

/* The slope of log mean against x by weighted least squares, and its interval: values are drawn again from each sample
 * with replacement, resamples times, from a fixed seed; weights stay as they are. confidence: 0.95. */
tc_slope tc_slope_fit(tc_arena *arena, const tc_sample *samples, size_t count, double confidence, size_t resamples);

/* ---- the sweep ---- */

typedef struct tc_sweep_point {
    double epsilon;
    const tc_plan *plan;
    const tc_tacit_facts *method; /* NULL for the published method */
    tc_record *records;           /* of the runs that were begun, by seed */
    size_t record_count;          /* as many as seeds; fewer after an interrupt */
    size_t runs;                  /* those that reached the end; all figures below are over these */
    size_t diverged;              /* those that diverged */
    tc_row_quantiles at_end;      /* after T rounds */
    double penalty;               /* NAN without a run */
    double penalty_error;         /* standard error of that mean; NAN for fewer than two runs */
    double penalty_x, penalty_mu; /* its two parts */
    /* The penalty is the sum of two parts: how far the mean of the runs is off, squared (an unbiased estimate, which
     * may come out below zero), and their variance around it. NAN for fewer than two runs, or states that are not kept.
     */
    double bias, spread;
    tc_quantiles moved;  /* of |z - z_free|^2 over seeds */
    double excess;       /* mean |z - z_0|^2 - |z_free - z_0|^2; NAN without a reference */
    double share_of_box; /* penalty_x / squared diameter of the public box: 1 is all there is room for */
    bool is_lost;        /* no better than doing nothing: half of the runs or more */
    /* Noise moves x by less (root mean square) than the run without noise is from the solution: more privacy is free.
     */
    bool is_free;
} tc_sweep_point;

/* Between two neighbouring epsilons, with an interval that holds for all pairs together. */
typedef enum tc_bend {
    TC_BEND_NONE,    /* slope -2 is within the interval */
    TC_BEND_FLATTER, /* the penalty falls more slowly with epsilon */
    TC_BEND_STEEPER, /* faster */
    TC_BEND_UNKNOWN, /* no interval: too few runs */
} tc_bend;

typedef struct tc_local_slope {
    tc_slope slope;
    tc_bend bend;
} tc_local_slope;

typedef struct tc_sweep {
    const tc_model *model;
    size_t seeds;
    uint64_t first_seed;
    uint64_t rounds;
    const tc_record *without_noise;
    tc_sweep_point *points; /* by increasing epsilon */
    size_t point_count;
    tc_slope slope;        /* of all points, 95 % */
    bool bent;             /* the points are not on a line, so that their slope has no interval */
    tc_local_slope *local; /* point_count - 1 */
    /* The longest stretch of points in which no pair of neighbours contradicts -2 (the same point twice where there is
     * none), and the slope of these alone, which may. */
    size_t agreeing_first, agreeing_last;
    tc_slope agreeing;
    const char *worth[2]; /* sentences: where the result is worth nothing, and where privacy costs nothing */
    size_t worth_count;
    const char **verdict; /* sentences on the claim about epsilon */
    size_t verdict_count;
    bool interrupted;
} tc_sweep;

enum { TC_SWEEP_RESAMPLES = 10000 };
#define TC_SWEEP_CONFIDENCE 0.95

/* States of this many numbers at most are kept, for the bias. */
#define TC_SWEEP_KEPT ((size_t)1 << 25)

/* base: all but the plan and what the method takes from it, which are plans[e] and methods[e] for epsilons[e]
 * (increasing), and noise_free and base->method for the run without noise. methods is NULL for the published one. */
tc_status tc_sweep_run(tc_arena *arena, const tc_experiment *base, const tc_plan *noise_free,
                       const tc_plan *const *plans, const tc_tacit_facts *const *methods, const double *epsilons,
                       size_t epsilon_count, uint64_t first_seed, size_t seeds, const tc_monitor *monitor,
                       tc_sweep **sweep, const char **why) TC_MUST_USE;

/* From the records, which are in place: penalties, slopes and the verdict. */
void tc_sweep_judge(tc_arena *arena, tc_sweep *sweep);
/* Then: where the result is worth nothing, and where privacy costs nothing. The verdict begins with it. Baselines may
 * be NULL. */
void tc_sweep_weigh(tc_arena *arena, tc_sweep *sweep, const tc_baseline *zero, const tc_baseline *slater);

#endif
