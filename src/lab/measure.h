/* The true objective, constraints and distance to the reference solution at a state. Not released. */
#ifndef TC_LAB_MEASURE_H
#define TC_LAB_MEASURE_H

#include "lab/lab.h"

typedef struct tc_measure tc_measure; /* for one thread at a time */

/* reference may be NULL. */
tc_measure *tc_measure_new(tc_arena *arena, const tc_model *model, const tc_reference *reference);

/* Fills the row except k; its arrays are allocated. x by coordinate. */
void tc_measure_row(tc_measure *measure, const double *x, const double *mu, tc_row *row);

/* |a - b|_2^2 */
double tc_squared_distance(const double *a, const double *b, size_t count);

#endif
