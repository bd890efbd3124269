/* The cheapest scales within one joint budget (docs/proofs/scales.md):
 *
 *     minimise   sum over groups e of  cost_e a_e^-q      subject to   sum over e of  S_ue a_e <= 1   for every unit u
 *
 * A group is a set of released entries that share a scale; a unit is the thing to hide (a coordinate, an agent), and
 * S_ue is its effect on the group. Laplace: a = 1/b in units of the budget, q = 2, S the l1 sensitivities. Gaussian: a
 * = 1/sigma^2 likewise, q = 1, S the squares of the l2 sensitivities. */
#ifndef TC_PLAN_PLACEMENT_SCALES_H
#define TC_PLAN_PLACEMENT_SCALES_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tc_scale_problem {
    size_t groups, units;
    int q;              /* 1 or 2 */
    const double *cost; /* per group, >= 0 */
    /* entries start[u] .. start[u + 1] - 1 are those of unit u; a group at most once in each */
    const size_t *start;
    const uint32_t *group;
    const double *sensitivity; /* >= 0 */
} tc_scale_problem;

typedef struct tc_scales {
    double *a;      /* per group; infinite if no unit affects it: no noise is needed */
    double cost;    /* the cost of these, groups of cost 0 left out */
    double at_best; /* lower bound of the cost of any a within the budget, up to rounding */
    size_t rows;    /* units in the final working set, of all distinct ones */
    size_t steps;
} tc_scales;

/* The result provably keeps the budget. cost / at_best - 1 bounds its distance from the optimum, in practice below
 * 1e-6. Groups of cost 0 share what the others leave, at least 2e-7 of it all. An input that is negative or not finite
 * gives a = 0, infinite noise, everywhere. */
void tc_scales_find(tc_arena *arena, const tc_scale_problem *budget, tc_scales *scales);

/* The largest sum over e of S_ue a_e, rounded up; infinite entries of a are passed over where S is 0. */
double tc_scales_use(const tc_scale_problem *budget, const double *a);

/* ---- for scales.c and barrier.c ---------------------------------------------------------------------------------- */

/* The inside of scales.c: the same problem on normalised numbers, solved on a few rows at a time. */

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
