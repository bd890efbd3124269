/* Which part of F a block of members holds, and where its noise is. These lists are public and made once; a round only
 * reads them. */
#ifndef TC_RELEASE_BLOCKS_H
#define TC_RELEASE_BLOCKS_H

#include "plan/entries.h"
#include "noise/sampler.h"

#include <stdatomic.h>

enum { TC_NOISE_ROOM = 4096 }; /* entries that a worker draws at once; never less than a block */

typedef struct tc_release_channel {
    const tc_channel *about;
    tc_noise_scale scale;
    double step, per_unit; /* zeta and 1 / zeta */
    bool is_small;         /* rounded values are at most TC_SMALL_UNITS in size */
} tc_release_channel;

typedef struct tc_sum_lattice {
    double step, per_unit;
    bool is_small;
} tc_sum_lattice;

/* The lattice points of the public box of one component, in steps: for all members, or for each. Whole numbers of at
 * most 2^53. */
typedef struct tc_lattice_box {
    double least, most;
    const double *leasts, *mosts;
    bool is_small;
} tc_lattice_box;

typedef struct tc_piece { /* entries address .. address + count - 1 of one channel; at most TC_NOISE_ROOM */
    uint64_t address;
    uint32_t channel;
    uint32_t row;         /* of the block's numbers: a component, or one of the family's noised entries */
    size_t offset, count; /* members of the block */
} tc_piece;

typedef struct tc_named { /* a coordinate that a constraint names */
    size_t coord;
    uint32_t component, offset;
} tc_named;

typedef struct tc_fold { /* a single part of a shared entry that gets noise */
    uint32_t row, offset, outer;
} tc_fold;

typedef struct tc_left_out { /* an entry constant by structure, without noise among entries that have noise */
    uint32_t row, offset;
    double value;
} tc_left_out;

typedef struct tc_release_block {
    uint32_t family;
    size_t first, count; /* members */
    tc_piece *pieces;    /* by address */
    size_t piece_count;
    tc_named *named;
    size_t named_count;
    tc_fold *folds;
    size_t fold_count;
    tc_left_out *left_out;
    size_t left_out_count;
    size_t plain;                      /* where its sums begin among tc_release's plain_sums */
    _Atomic uint64_t summed, released; /* the last round in which the block was summed, released; once a round */
    uint64_t mark;                     /* of the summed states; the released states must have the same */
} tc_release_block;

typedef struct tc_block_family {
    size_t first_block;
    uint32_t *noised; /* rows: the shared entries that get noise, increasing */
    uint32_t noised_count;
} tc_block_family;

typedef struct tc_outer_entry { /* a number made from complete sums: of g, or a single entry of the Jacobian */
    size_t source;              /* in outer_values of the evaluator */
    size_t position;            /* in what is released */
    bool is_constraint;
} tc_outer_entry;

typedef struct tc_block_plan {
    tc_block_family *families;
    tc_release_block *blocks;
    size_t block_count;
    tc_outer_entry *outer; /* by address */
    size_t outer_count;
    tc_piece *outer_pieces; /* row 0; offset and count refer to outer[] */
    size_t outer_piece_count;
    size_t most_rows;   /* numbers of one member at once */
    size_t plain_count; /* sums of all blocks */
} tc_block_plan;

/* constants: the Jacobian with its constants in place, for entries that a channel leaves out. */
tc_block_plan *tc_block_plan_new(tc_arena *arena, const tc_plan *plan, const tc_derivatives *derivatives,
                                 const tc_entries *entries, const tc_segment *segments, size_t segment_count,
                                 size_t block, const double *constants);

#endif
