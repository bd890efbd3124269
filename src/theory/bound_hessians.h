/* Second derivatives of the constraints over the public box: how large they are, and what noise on the states makes of
 * them. docs/proofs/bound.md, sections 2 and 6. */
#ifndef TC_ENGINE_BOUND_HESSIANS_H
#define TC_ENGINE_BOUND_HESSIANS_H

#include "analysis/lipschitz/streams.h"
#include "plan/plan.h"

/* The variance of x-hat's noise at a coordinate, rounding to the lattice included; 0 where there is none. */
typedef double (*tc_bound_variance)(const void *context, const tc_family *family, size_t member);

typedef struct tc_bound_hessian { /* of one g_j; upper bounds */
    double norm;                  /* sup |H_j|_2 */
    double spread;                /* sum_{cd} H_cd^2 v_c: E|H_j w|^2 */
    double spread_both;           /* sum_{cd} H_cd^2 v_c v_d */
} tc_bound_hessian;

/* For every constraint. streams must have its outer derivatives over the box. variance NULL: norms alone. */
tc_bound_hessian *tc_bound_hessians(tc_streams *streams, tc_bound_variance variance, const void *context);

#endif
