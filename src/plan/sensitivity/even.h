/* Even time: proves that a release computes no subnormal number from private states. Processors take up to a hundred
 * times longer for such numbers, so the time of a release would depend on states. The proof bounds the sizes of all
 * computed numbers over the public box (calculus/tape/tiny.h); docs/proofs/time.md, "The release". */
#ifndef TC_PLAN_SENSITIVITY_EVEN_H
#define TC_PLAN_SENSITIVITY_EVEN_H

#include "analysis/region.h"
#include "calculus/tape/tape.h"
#include "plan/entries.h"

typedef struct tc_even tc_even;

/* The evaluated tapes: for each family those of its bodies and of their first derivatives, as derivatives.h orders
 * them, NULL where there are none; outer: Phi_j, then outer_first. */
typedef struct tc_even_tapes {
    const tc_tape *const *bodies, *const *slopes; /* by family */
    const tc_tape *outer;
} tc_even_tapes;

tc_even *tc_even_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                     const tc_entries *entries, tc_even_tapes tapes);

typedef struct tc_even_lattices {
    int state_exponent;
    const int *sum_exponents;
    int most_step_exponent;  /* the coarsest channel's */
    const tc_interval *sums; /* ranges of the computed sums */
} tc_even_lattices;

/* NULL, or which constraint could meet a subnormal number, and what to do. */
const char *tc_even_problem(tc_even *even, const tc_even_lattices *lattices);

#endif
