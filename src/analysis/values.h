/* g and f at a point, in intervals. */
#ifndef TC_ANALYSIS_VALUES_H
#define TC_ANALYSIS_VALUES_H

#include "analysis/lipschitz/streams.h"

/* Enclosures of all g_j(x). */
void tc_constraint_values(tc_streams *streams, const double *x, tc_interval *g);
/* The least of -g_j(x), rounded down; *worst the constraint that gives it. INFINITY without constraints. */
double tc_slater_margin(tc_streams *streams, const double *x, size_t *worst);
/* f_i(x_i) of members first .. first + lanes - 1 of a family. */
typedef struct tc_objective_values {
    const tc_family *family;
    tc_tape *tape;
    tc_batch *batch;
    tc_interval *work, *values;
} tc_objective_values;
tc_objective_values *tc_objective_values_new(tc_arena *arena, const tc_model *model, const tc_family *family);
const tc_interval *tc_objective_values_at(tc_objective_values *objective, size_t first, size_t lanes, const double *x);

#endif
