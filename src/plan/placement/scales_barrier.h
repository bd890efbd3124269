/* The inside of scales.c: the same problem on normalised numbers, solved on a few rows at a time. */
#ifndef TC_PRIVACY_SCALES_BARRIER_H
#define TC_PRIVACY_SCALES_BARRIER_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tc_rows { /* sparse, row by row */
    size_t count;
    size_t *start;
    uint32_t *column;
    double *value;
} tc_rows;

typedef struct tc_allotment {
    size_t columns;
    int q;
    const double *cost; /* > 0, sum 1 */
    tc_rows rows;       /* entries in (0, 1], each column has one that is 1 */
    double *x;          /* in: strictly within the rows; out: near the optimum for these rows */
    double at_best;     /* out: no x within these rows costs less */
    size_t steps;       /* grows */
} tc_allotment;

double tc_allotment_cost(const tc_allotment *problem, const double *x);

/* Until cost / at_best <= 1 + accuracy, or no progress is made. */
void tc_allotment_solve(tc_arena *arena, tc_allotment *problem, double accuracy);

#endif
