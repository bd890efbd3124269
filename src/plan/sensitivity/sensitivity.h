/* How far released numbers move when states move, what rounding adds, and that the time of a release shows neither. */
#ifndef TC_PLAN_SENSITIVITY_SENSITIVITY_H
#define TC_PLAN_SENSITIVITY_SENSITIVITY_H

#include "analysis/lipschitz/variation.h"
#include "analysis/region.h"
#include "calculus/tape/tape.h"
#include "plan/entries.h"
#include "plan/sensitivity/cap.h"

/* ==== sensitivity.c, block.c ==== */

/* How every released number moves when one agent's states move: bounds over the public box, agent by agent.
 *
 * F = (g, the entries of its Jacobian that vary). A *block* is one agent, its columns the coordinates of its state; the
 * entries of column c are intervals that hold dF_e/dx_c for every x in the box. With a lattice they are widened by what
 * rounding can add, so that for any two states on the lattice F as it is computed moves by M (x - x'), M within the
 * intervals (docs/proofs/lattice.md). For the unit `agent` a block has one column: how far each entry can move at all.
 *
 * If an outer function couples the members of a family, their Jacobian entries of one row and component become one
 * entry, `together`, with the norm of all of them. Keeps nothing between blocks. */

/* What rounding adds: bounds of |F computed and rounded - F| enter as 2 e + zeta. */
typedef struct tc_lattice {
    double step;           /* h */
    double *sum_extra;     /* by inner sum: 2 e + zeta of one member's term */
    double *sum_spread;    /* by inner sum: how far the whole sum can be from the exact one */
    double *row_extra;     /* by constraint: 2 e + zeta */
    double *channel_extra; /* by channel: the same for Jacobian entries */
} tc_lattice;

typedef struct tc_channel_map { /* which channel an entry belongs to */
    const tc_channel *channels;
    uint32_t *of_row;   /* by constraint; UINT32_MAX: not released with noise */
    uint32_t *jacobian; /* channels of Jacobian entries, by family, then first row, then first member */
    size_t jacobian_count;
} tc_channel_map;

tc_channel_map *tc_channel_map_new(tc_arena *arena, const tc_model *model, const tc_channel *channels, size_t count);
/* UINT32_MAX: none. Of several members together: the one with the least scale. */
uint32_t tc_channel_at(const tc_channel_map *map, uint32_t family, size_t member, uint32_t row);

/* An observer: what it sees, and which states are its own. */
typedef struct tc_view {
    bool everything;      /* all entries; otherwise g and the Jacobian blocks of `agents` */
    const size_t *agents; /* sorted numbers of agents, whose states are theirs */
    size_t agent_count;
    uint32_t any_of; /* instead: any one member of this family, bounded together; UINT32_MAX for none */
    double **share;  /* by family, by body_first: norm of the slopes of all members that are seen */
} tc_view;

typedef struct tc_moved {
    uint32_t channel, row;
    uint32_t family; /* of a Jacobian entry; UINT32_MAX for g_row */
    uint32_t component;
    size_t member; /* SIZE_MAX: all members, together */
    tc_interval value;
} tc_moved;

typedef struct tc_capped_slope { /* of an entry, in one column */
    tc_moved moved;
    size_t column;
} tc_capped_slope;

/* The unit `agent` with a public set that is relied on: what each entry is made of (docs/proofs/publicset.md). By entry
 * of the block's one column, |F_e(x) - F_e(x')| <= |sum_c M_ec (x_c - x_c')| + extra_e, and that sum is at most
 * linear_e for all states of the set. */
typedef struct tc_capped {
    double *linear, *extra;
    tc_capped_slope *slopes; /* M, by entry in the order of the column */
    size_t *start;           /* slopes of entry e: start[e] .. start[e + 1] - 1 */
    size_t slope_count, capacity;
    tc_gain *gains; /* scratch, by column */
} tc_capped;

typedef struct tc_sensitivity_block {
    const tc_family *family;
    size_t member;
    double weight; /* how many agents like it */
    size_t columns;
    const size_t *start; /* entries of column c: start[c] .. start[c + 1] - 1; sorted, each once */
    const tc_moved *moved;
    const tc_capped *capped; /* NULL: the box is all there is */
} tc_sensitivity_block;
typedef void (*tc_block_sink)(void *context, const tc_sensitivity_block *block);

typedef struct tc_sensitivity {
    tc_arena *arena;
    tc_streams *streams;
    tc_variation *variation; /* for its links */
    const tc_channel_map *map;
    const tc_lattice *lattice;       /* NULL: exact arithmetic */
    bool values_only;                /* nobody sees slopes: g alone is released */
    bool whole_agents;               /* the unit `agent` */
    const tc_caps *caps;             /* public sets that whole agents keep to; NULL: the box is all */
    bool extras_only;                /* what rounding adds, alone */
    int norm;                        /* 1 or 2 */
    size_t *slope_start, *slope_end; /* by sum: its body_first entries */
    /* the block being made */
    size_t *start;
    tc_moved *moved;
    size_t count, capacity, widest; /* widest: the most states of an agent */
    tc_capped capped;
    tc_interval *first, *second;        /* outer derivatives where sums are off by sum_spread ... */
    double *first_shift, *second_shift; /* ... and how far those can be from the ones over the exact sums' range */
} tc_sensitivity;

tc_sensitivity *tc_sensitivity_new(tc_arena *arena, tc_streams *streams);
/* Whether every state that an expression reads has a derivative there. */
bool tc_sensitivity_sees_all(tc_sensitivity *sensitivity);
/* Call after any change of lattice: outer derivatives over the box that rounded sums can reach. */
void tc_sensitivity_prepare(tc_sensitivity *sensitivity);

tc_view *tc_view_new(tc_sensitivity *sensitivity, bool everything, const size_t *agents, size_t count, uint32_t any_of);

/* paper: sensitivity (Delta_p of g and of each g_{x_i}), entry by entry. All blocks outside the view; alike agents
 * once. False when interrupted. pack: all that the sink adds to. Where members of a spread family come one by one, it
 * goes from rank to rank (model/parcel.h), so that the sink sees the blocks of all members in order. */
bool tc_sensitivity_blocks(tc_sensitivity *sensitivity, const tc_view *view, tc_block_sink sink, tc_packing pack,
                           void *context);

/* ---- for sensitivity.c and block.c ------------------------------------------------------------------------------- */

/* In s->moved from first on: entries sorted, each once. */
int tc_compare_moved(const void *x, const void *y);

/* capped.c: before a block becomes one column, keeps its slopes; then bounds each entry's linear part. */
bool tc_is_capped(const tc_sensitivity *s, size_t family);
void tc_capped_keep(tc_sensitivity *s, const tc_family *family);
void tc_capped_bound(tc_sensitivity *s, size_t family, size_t member);
/* What a capped block costs with all entries together, scales by entry: epsilon, or gdp, of one round. */
double tc_capped_price(tc_sensitivity *s, const tc_sensitivity_block *block, const double *scales, bool gaussian);

/* The block of the member in a lane of its family's current batch, into s->start and s->moved. */
void tc_make_block(tc_sensitivity *s, const tc_view *view, size_t family, size_t lane);

/* ==== even.c ==== */

/* Even time: proves that a release computes no subnormal number from private states. Processors take up to a hundred
 * times longer for such numbers, so the time of a release would depend on states. The proof bounds the sizes of all
 * computed numbers over the public box (calculus/tape/tiny.h); docs/proofs/time.md, "The release". */

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

/* ==== lattice.c ==== */

/* The lattices of states, sums and entries: how fine, what their rounding adds, and that nothing overflows.
 * docs/proofs/lattice.md derives every condition. */

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
