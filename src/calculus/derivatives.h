/* All first and second derivatives of a model, as nodes of its DAG, found once by automatic differentiation of the
 * DAG itself (reverse mode, sparse). A derivative that does not appear is zero by structure; one whose node does not
 * depend on states (has_state false) is constant by structure. TC_INSIDE, the second derivative of huber, counts as
 * locally constant: what it jumps by is not a function. */
#ifndef TC_CALCULUS_DERIVATIVES_H
#define TC_CALCULUS_DERIVATIVES_H

#include "model/model.h"

typedef struct tc_first {
    uint32_t row;    /* the body or constraint */
    uint32_t column; /* the component or outer input */
    tc_expr value;
} tc_first;

typedef struct tc_second {
    uint32_t row;
    uint32_t column, other; /* other <= column: the lower triangle */
    tc_expr value;
} tc_second;

typedef struct tc_lift tc_lift;       /* lift.h */
typedef struct tc_choices tc_choices; /* choose.h */

typedef struct tc_family_derivatives {
    /* the objective f_i (row 0 everywhere); counts 0 where the file has none, or where it has kinks: then lift has
     * derivatives, and is NULL else */
    const tc_lift *lift;
    const tc_lift *bends; /* the objective with its huber lifted, where it has some and no kinks; else NULL */
    tc_first *objective_first;
    tc_second *objective_second;
    size_t objective_first_count, objective_second_count;
    /* bodies of the model's sums over this family; sums[b] is the number of body b in model->sums */
    uint32_t *sums;
    tc_expr *bodies;
    size_t body_count;
    tc_first *body_first; /* sorted by row, then column */
    tc_second *body_second;
    size_t body_first_count, body_second_count;
} tc_family_derivatives;

typedef struct tc_outer_input { /* what an outer expression depends on */
    tc_op op;                   /* TC_SUM or TC_COORD */
    uint64_t index;             /* into model->sums, or a coordinate */
    tc_expr leaf;
} tc_outer_input;

typedef struct tc_derivatives {
    tc_family_derivatives *families; /* as in the model */
    tc_outer_input *inputs;          /* distinct: all sums first, in the model's order, then coordinates, increasing */
    size_t input_count;
    tc_first *outer_first; /* row: constraint; column: input; sorted by row, then column */
    tc_second *outer_second;
    size_t outer_first_count, outer_second_count;
} tc_derivatives;

/* Raises TC_TOO_LARGE where second derivatives would be more than the DAG may hold. */
tc_derivatives *tc_derive(tc_arena *arena, tc_model *model);
/* The objective's alone, for members that choose alike (calculus/choose.h). Adds nodes to the model's DAG. */
tc_family_derivatives tc_derive_objective(tc_arena *arena, const tc_model *model, const tc_family *family,
                                          const tc_choices *choices);

/* Reverse mode, with a work area for the many roots of one DAG. */
typedef struct tc_differentiator tc_differentiator;

typedef struct tc_partial {
    uint64_t rank; /* of the leaf: its index; coordinates come after all sums */
    tc_expr leaf;
    tc_expr value;
} tc_partial;

tc_differentiator *tc_differentiator_new(tc_arena *arena, tc_dag *dag);

/* The non-zero partial derivatives of root with respect to its leaves of the kind op (TC_STATE, or TC_COORD and TC_SUM
 * together when op is TC_SUM) whose rank is at most last_rank, by increasing rank. The array is valid until the next
 * call. */
const tc_partial *tc_differentiate(tc_differentiator *d, tc_expr root, tc_op op, uint64_t last_rank, size_t *count);

/* The same for leaves of every rank. Returns how many; *leaves and *partials are in arena. */
size_t tc_gradient(tc_arena *arena, tc_differentiator *d, tc_expr root, tc_op op, tc_expr **leaves, tc_expr **partials);

/* By constraint: whether no state has an effect on it (a link that no route uses). Such a row holds whatever the agents
 * do; it needs no noise, its multiplier is 0, and it must not count where rows are compared. */
bool *tc_constant_rows(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives);
size_t tc_moving_count(const bool *constant_rows, size_t count);

/* The problem without its constant rows. */
typedef struct tc_moving {
    tc_model model;
    tc_derivatives derivatives;
    size_t *row; /* by constraint of model: its number in the whole problem */
} tc_moving;

/* NULL where no row is constant. */
tc_moving *tc_moving_rows(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives);
/* Marks of the moving rows, by row of the whole problem; false for constant ones. */
bool *tc_moving_spread(tc_arena *arena, const tc_moving *moving, const tc_model *whole, const bool *marks);

/* Whether every constraint is affine or quadratic in the states: all second derivatives of g are constant by structure.
 * Sufficient, not necessary: what cancels in numbers only is not seen. */
bool tc_constraints_are_quadratic(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives);

#endif
