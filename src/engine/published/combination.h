/* Expressions as linear combinations with constant coefficients of nodes that are none themselves ("atoms").
 *
 * Sums over members and weighted sums of slopes are linear, so they may be taken atom by atom: ten bodies that combine
 * two common nodes cost two sums over the members, not ten. */
#ifndef TC_ENGINE_COMBINATION_H
#define TC_ENGINE_COMBINATION_H

#include "model/expr.h"

typedef struct tc_combination_term {
    double factor;
    tc_expr atom;
} tc_combination_term;

typedef struct tc_combination {
    double constant;
    tc_combination_term *terms; /* by atom, increasing; factors are not zero */
    size_t count;
} tc_combination;

typedef struct tc_combiner tc_combiner; /* scratch for many roots of one DAG */

tc_combiner *tc_combiner_new(tc_arena *arena, const tc_dag *dag);
/* The result is in the combiner's arena. */
tc_combination tc_combination_of(tc_combiner *combiner, tc_expr root);

#endif
