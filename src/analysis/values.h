/* f_i of members of a family, enclosed: at a point, on a box, and at the worst vertex of a box. */
#ifndef TC_ANALYSIS_VALUES_H
#define TC_ANALYSIS_VALUES_H

#include "analysis/region.h"

typedef struct tc_objective_values {
    const tc_family *family;
    tc_tape *tape;
    tc_batch *batch;
    tc_interval *work, *values;
} tc_objective_values;

tc_objective_values *tc_objective_values_new(tc_arena *arena, const tc_model *model, const tc_family *family);

/* Of members first .. first + lanes - 1, at most TC_LANES; all coordinates of the ensemble are given. */
const tc_interval *tc_objective_at(tc_objective_values *o, size_t first, size_t lanes, const double *x);
const tc_interval *tc_objective_between(tc_objective_values *o, size_t first, size_t lanes, const double *lower,
                                        const double *upper);

/* By lane: a value that f_i attains, up to rounding, at a vertex of the box x +- room: the largest if f_i is convex and
 * a sum over its states. */
void tc_objective_at_vertices(tc_objective_values *o, size_t first, size_t lanes, const double *x, const double *room,
                              double *attained);

#endif
