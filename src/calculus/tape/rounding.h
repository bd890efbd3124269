/* How far tc_tape_eval can be from the exact value: a proved bound for every root, at all points of a box.
 *
 * A tape run on tc_rounded numbers keeps, for each instruction, where the exact values lie, where the computed doubles
 * lie, and how far a computed one can be from the exact one at the same point. It follows the operations of
 * evaluate_float.inc.h one by one, underflow included; docs/proofs/rounding.md derives each rule. Where a computed
 * value might leave its domain or overflow, the error is infinite. */
#ifndef TC_CALCULUS_TAPE_ROUNDING_H
#define TC_CALCULUS_TAPE_ROUNDING_H

#include "calculus/tape/tape.h"

typedef struct tc_rounded {
    tc_interval exact;    /* holds the exact values */
    tc_interval computed; /* holds the doubles */
    double error;         /* |computed - exact| at each point; infinite where nothing is known */
} tc_rounded;

/* A datum, or a state that is a double: the computed value is the exact one. */
static inline tc_rounded tc_rounded_exactly(tc_interval range) { return (tc_rounded){range, range, 0}; }
/* An input that already errs, as a sum of terms rounded to a lattice does. */
tc_rounded tc_rounded_within(tc_interval exact, double error);

typedef struct tc_rounding_inputs { /* as tc_inputs */
    const tc_rounded *const *state;
    const tc_rounded *const *data;
    const tc_rounded *coords;
    const tc_rounded *sums;
} tc_rounding_inputs;

void tc_tape_rounding(const tc_tape *tape, const tc_rounding_inputs *inputs, size_t lanes, tc_rounded *work,
                      tc_rounded *const *out);

#endif
