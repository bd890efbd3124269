/* The lattices of states, sums and entries: how fine, what their rounding adds, and that nothing overflows.
 * docs/proofs/lattice.md derives every condition. */
#ifndef TC_PLAN_SENSITIVITY_LATTICE_H
#define TC_PLAN_SENSITIVITY_LATTICE_H

#include "plan/sensitivity/even.h"
#include "plan/entries.h"
#include "plan/sensitivity/sensitivity.h"

#define TC_MOST_LATTICE_SCALE 0x1p40 /* finer lattices than this are refused; the sampler would allow 2^47 */
#define TC_MOST_UNITS 0x1p62         /* integer sums and entries stay below it */

typedef struct tc_lattice_wish {
    int state_exponent;  /* h = 2^state_exponent */
    double share;        /* omega: what rounding may add to a sensitivity */
    double most_moved;   /* entries that one column moves */
    const double *slope; /* by channel: the largest movement of one entry, per unit, or (whole_agents) in all */
    bool whole_agents;
} tc_lattice_wish;

typedef struct tc_lattice_choice {
    tc_lattice lattice;
    int *sum_exponents;
    const char *problem; /* NULL, or why this lattice is unsuitable */
} tc_lattice_choice;

typedef struct tc_lattices { /* independent of the choice */
    tc_arena *arena;
    tc_streams *streams;
    const tc_entries *entries;
    double *term_error, *term_size;   /* by sum: of one member's term */
    tc_interval *sums;                /* exact ranges over the box */
    double *slope_error, *slope_size; /* by family, by body_first (see first_slope) */
    size_t *first_slope;
    tc_tape *outer; /* Phi_j, then outer_first */
    tc_even *even;
} tc_lattices;

tc_lattices *tc_lattices_new(tc_arena *arena, tc_streams *streams, const tc_entries *entries);

/* Sets every channel's step_exponent, and what rounding adds. */
void tc_lattice_choose(tc_lattices *lattices, const tc_lattice_wish *wish, const tc_channel_map *map,
                       tc_channel *channels, size_t count, tc_lattice_choice *choice);

/* The exponent of the largest power of two not above x > 0. */
int tc_exponent_below(double x);
/* The states' range has no more than 2^53 steps, and each box holds a lattice point. NULL, or why not. */
const char *tc_lattice_check_states(const tc_model *model, int state_exponent);

#endif
