/* Whether a tape can meet a subnormal number: where it cannot, arithmetic takes the same time whatever the numbers are.
 *
 * A tape run on tc_sized numbers keeps, for each instruction, where the computed doubles lie, how small one can be that
 * is not zero, and of which power of two all are multiples. It follows evaluate_float.inc.h, elementary.h and
 * elementary.c one by one; docs/proofs/time.md derives each rule. */
#ifndef TC_CALCULUS_TAPE_TINY_H
#define TC_CALCULUS_TAPE_TINY_H

#include "calculus/tape/tape.h"

enum {
    TC_LEAST_NORMAL = -1022, /* 2^this is the smallest normal number */
    TC_ALWAYS_ZERO = 1 << 20 /* for least and grain of what is zero and nothing else */
};

typedef struct tc_sized {
    tc_interval range; /* holds the computed doubles */
    int least;         /* one that is not zero is at least 2^least in size */
    int grain;         /* all are multiples of 2^grain */
    const char *tiny;  /* NULL: nothing on the way to it can be subnormal. Otherwise what can: "an exponential" */
} tc_sized;

tc_sized tc_sized_constant(double value);
/* Multiples of 2^grain in a range: a state, or a sum on its lattice. */
tc_sized tc_sized_multiple(tc_interval range, int grain);
/* Both: one number that stands for either. */
tc_sized tc_sized_hull(tc_sized a, tc_sized b);

/* Operations on entries of the Jacobian outside of tapes. */
tc_sized tc_sized_add(tc_sized a, tc_sized b);
tc_sized tc_sized_multiply(tc_sized a, tc_sized b);

typedef struct tc_sized_inputs { /* as tc_inputs */
    const tc_sized *const *state;
    const tc_sized *const *data;
    const tc_sized *coords;
    const tc_sized *sums;
} tc_sized_inputs;

void tc_tape_sizes(const tc_tape *tape, const tc_sized_inputs *inputs, size_t lanes, tc_sized *work,
                   tc_sized *const *out);

#endif
