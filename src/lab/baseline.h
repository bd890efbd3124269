/* What a result is compared with beside the solution: doing nothing, and the same method without noise.
 *
 * Zero prices: every agent minimises its own objective in its set, and nobody looks at the constraints. Where several
 * points do, the one of least norm. The Slater point: everybody where the file says that the constraints hold with
 * room.
 *
 * All of it comes from private data, and none of it is released. */
#ifndef TC_LAB_BASELINE_H
#define TC_LAB_BASELINE_H

#include "lab/lab.h"

typedef struct tc_baseline {
    tc_row row;   /* x_error, objective, max_violation, constraints; multipliers are 0 */
    size_t worst; /* the row of max_violation; constraint_count where none is violated */
} tc_baseline;

/* NULL where a private set is empty, and after an interrupt. tolerance: of each agent's optimality. */
const tc_baseline *tc_baseline_of_zero_prices(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                              const tc_reference *reference, double tolerance, size_t threads,
                                              const tc_monitor *monitor);
/* NULL where an agent has none. */
const tc_baseline *tc_baseline_of_slater(tc_arena *arena, const tc_model *model, const tc_reference *reference);

/* The row that is violated most; constraint_count where none is. */
size_t tc_worst_row(const tc_model *model, const double *constraints);

/* ---- is a result better than doing nothing? ---- */

/* A baseline is as good as a result that is not better by a tenth at least in either of the two: the distance to the
 * solution, and the largest violation. Then no weight between the two makes the result worth its while. A violation
 * below 1e-6 of the baseline's largest |g_j| counts as none. False without errors. */
bool tc_baseline_dominates(const tc_baseline *baseline, const tc_model *model, double x_error, double max_violation);

/* How many of the runs a baseline dominates, of those that have a last row. */
typedef struct tc_tally {
    size_t runs, dominated;
} tc_tally;
tc_tally tc_baseline_tally(const tc_baseline *baseline, const tc_model *model, const tc_record *records, size_t count);
/* Half of them or more: the median run is no better. */
static inline bool tc_tally_is_lost(tc_tally tally) { return tally.runs > 0 && 2 * tally.dominated >= tally.runs; }

/* ---- has a run without noise arrived? ---- */

#define TC_ARRIVED 1e-3

/* How far x and mu are from the solution, as shares of their natural sizes: of the solution's norms, or of the way from
 * the start where that is longer. Without a reference the residual of the saddle point conditions takes their place, as
 * a share of 1 + |z|. A share that has no size to be compared with is 0. */
typedef struct tc_arrival {
    double x, mu;    /* NAN without a reference */
    double residual; /* NAN with one */
    bool arrived;    /* all shares are at most TC_ARRIVED */
} tc_arrival;
tc_arrival tc_arrival_of(tc_arena *arena, const tc_experiment *experiment, const tc_record *record);

#endif
