/* The step of Newton's method in a box: min slope . d + d' hessian d / 2 over bounds, for one member. */
#ifndef TC_ENGINE_PROXIMAL_PROXIMAL_BOX_H
#define TC_ENGINE_PROXIMAL_PROXIMAL_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tc_box_step {
    size_t dim;
    bool is_diagonal;
    const double *hessian;       /* dim * dim, positive definite */
    const double *slope;         /* dim */
    const double *lower, *upper; /* of d, at c * stride; lower <= 0 <= upper */
    double *move;                /* d, at c * stride */
    size_t stride;
    double *factor; /* dim * dim */
    double *right;  /* dim */
    size_t *free;   /* dim */
    size_t free_count;
    int8_t *holds; /* dim: -1 and 1 where d is held at a bound */
} tc_box_step;

/* Finds d, with the components that are free and their factor; where the right bounds are not found in a few rounds,
 * a d that is better than 0. */
void tc_box_step_find(tc_box_step *s);
/* z = H_FF^-1 z over the free components, after tc_box_step_find; entries of the others become 0. */
void tc_box_step_solve(tc_box_step *s, double *z);

#endif
