/* Projections onto one part within bounds, for many members at a time.
 *
 * The nearest point is a function of one number, the part's multiplier, and that is the root of a decreasing piecewise
 * linear function. Newton's method finds it in a few steps, for several members side by side; every member goes
 * through the same operations, in the same order, as it would alone. */
#ifndef TC_SOLVER_PROJECT_CUT_H
#define TC_SOLVER_PROJECT_CUT_H

#include "model/model.h"

typedef struct tc_cut {
    tc_set_kind kind; /* half-space, hyperplane, ball or l1 ball */
    size_t count;
    const tc_coef *center, *lower, *upper; /* count each: centre or normal, and the bounds */
    tc_coef radius;                        /* INFINITY: the member has no such part, only the bounds */
} tc_cut;

/* Members first .. first + count - 1: v[c * stride + lane] to x, which may be v. The part and the bounds meet. */
void tc_project_cut(const tc_cut *cut, size_t first, size_t count, size_t stride, const double *v, double *x);

#endif
