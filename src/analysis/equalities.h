/* The rows of g that are equalities, A x = b: which of them depend on others, which contradict each other, and how
 * large their multipliers can be. Proofs: docs/proofs/equalities.md */
#ifndef TC_ANALYSIS_EQUALITIES_H
#define TC_ANALYSIS_EQUALITIES_H

#include "analysis/lipschitz/streams.h"

typedef struct tc_equalities {
    size_t count;        /* of the equalities */
    size_t *row;         /* their constraints, in order */
    size_t rank;         /* so many rows of A are independent ... */
    size_t *chosen;      /* ... these: numbers below count */
    double *combination; /* T, count * rank: row e of A is the sum over k of T[e, k] times row chosen[k], to rounding */
    double *size;        /* by equality: the size of its terms at the point, or what one state can add across its box */
    tc_interval *error;  /* by equality: its value at the point */
    bool is_unclear;     /* rows are nearly dependent, but not to rounding */
    size_t contradicted; /* an equality that contradicts those it depends on; count for none */
    /* scratch of a pass over the columns of A */
    size_t *place;       /* by constraint: its number among the equalities; SIZE_MAX for an inequality */
    tc_interval *column; /* count */
} tc_equalities;

/* x: where errors are measured. NULL without equalities, or when interrupted. */
tc_equalities *tc_equalities_new(tc_arena *arena, tc_streams *streams, const double *x);

/* "balance", "total" and so on: the equalities that cannot hold together. */
const char *tc_equalities_conflict(tc_arena *arena, const tc_model *model, const tc_equalities *equalities);

/* What is known about a point with room around it, for tc_radius_of. */
typedef struct tc_roomy_point {
    const double *x, *room; /* by coordinate */
    double gap;             /* sum of the F_i */
    const double *weights;  /* by constraint; NULL for ones */
    const double *taken;    /* from the slack, by constraint; NULL for nothing */
} tc_roomy_point;

/* kappa: |nu|_1 <= kappa |D A'nu|_1, D the rooms, both in the units of the weights; rounded up. INFINITY where rooms do
 * not reach every row: *unreached is then an equality whose multiplier nothing bounds, or count where it is none of
 * them in particular. Rooms that are half as large make kappa twice as large. */
double tc_reach_of(tc_arena *arena, tc_streams *streams, tc_equalities *equalities, const tc_roomy_point *point,
                   size_t *unreached);

/* A bound of sum_j w_j |mu_j|; NAN where none follows. */
double tc_radius_of(tc_arena *arena, tc_streams *streams, const tc_roomy_point *point, double kappa);

#endif
