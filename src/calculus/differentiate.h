/* Reverse-mode differentiation with a reusable work area: for the many roots of one DAG. */
#ifndef TC_CALCULUS_DIFFERENTIATE_H
#define TC_CALCULUS_DIFFERENTIATE_H

#include "calculus/derivatives.h"

typedef struct tc_differentiator tc_differentiator;

typedef struct tc_partial {
    uint64_t rank; /* of the leaf: its index; coordinates come after all sums */
    tc_expr leaf;
    tc_expr value;
} tc_partial;

tc_differentiator *tc_differentiator_new(tc_arena *arena, tc_dag *dag);

/* The non-zero partial derivatives of root with respect to its leaves of the kind op (as in tc_gradient) whose rank is
 * at most last_rank, by increasing rank. The array is valid until the next call. */
const tc_partial *tc_differentiate(tc_differentiator *d, tc_expr root, tc_op op, uint64_t last_rank, size_t *count);

uint64_t tc_leaf_rank(const tc_node *leaf);

#endif
