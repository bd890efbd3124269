/* min f_i over X_i, for all members of a family. */
#ifndef TC_SOLVER_MINIMUM_H
#define TC_SOLVER_MINIMUM_H

#include "base/monitor.h"
#include "calculus/derivatives.h"

typedef struct tc_minimum {
    double sum;        /* of the minima */
    double error;      /* the sum is above the truth by at most about this (from first-order certificates) */
    size_t inaccurate; /* members whose certificate is worse than 1e-9 of their objective's range */
    bool interrupted;
} tc_minimum;

/* minima: one per member, and points: by component like the states, each may be NULL. Members are streamed; memory
 * does not depend on their number. Every X_i must be non-empty. */
tc_minimum tc_minimum_of_family(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                const tc_family *family, const tc_monitor *monitor, double *minima, double *points);

#endif
