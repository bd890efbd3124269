/* The structs of the private types and of a release. For src/release alone: tests/release/test_private_types.py checks
 * that no other folder includes this file. */
#ifndef TC_RELEASE_INSIDE_H
#define TC_RELEASE_INSIDE_H

#include "plan/sensitivity/cap.h"
#include "release/evaluate.h"
#include "release/lattice.h"
#include "release/release.h"

#include <stdatomic.h>

/* ---- private types ----------------------------------------------------------------------------------------------- */

struct tc_private_states {
    const tc_model *model;
    int exponent;
    double step;                 /* h */
    double per_unit;             /* 1 / h */
    tc_lattice_box **boxes;      /* [family][component] */
    tc_lattice_box *flat;        /* small ensembles: one box for all coordinates; NULL otherwise */
    const double *lower, *upper; /* its public bounds, by coordinate */
    const tc_caps *caps;         /* public sets that the plan relies on; NULL: the box is all */
    int64_t *units; /* one per coordinate, in the model's order; |units| <= 2^53, so that h * units is exact */
};

struct tc_private_values {
    int64_t *units;
    size_t count;
};

#define TC_MOST_EXACT (INT64_C(1) << 53)

/* NULL where the box of some agent holds no lattice point, or one beyond 2^53 steps. */
tc_lattice_box **tc_lattice_boxes(tc_arena *arena, const tc_model *model, int exponent);

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Which part of F a block of members holds, and where its noise is. These lists are public and made once; a round only
 * reads them. */

enum { TC_NOISE_ROOM = 4096 }; /* entries that a worker draws at once; never less than a block */

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
    size_t held_count;     /* of the blocks, those that this rank holds */
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

/* ---- a release --------------------------------------------------------------------------------------------------- */

typedef struct tc_noise_draw { /* entries drawn by one call */
    uint64_t first;
    size_t count;
    const tc_noise_scale *scales; /* one for all, or one for each */
    bool each;
    const int64_t *bounds; /* the last round: one for each, with scales; NULL otherwise */
} tc_noise_draw;

typedef enum tc_release_phase {
    TC_ROUND_CLOSED,
    TC_ROUND_OPEN,   /* blocks are summed (OUTPUTS) or released (STATES) */
    TC_ROUND_SUMMED, /* OUTPUTS: g-hat is out, blocks are released */
} tc_release_phase;

struct tc_release_worker {
    tc_release *release;
    tc_random_worker *random;
    size_t members;            /* of the largest block: the length of rows */
    tc_evaluator *evaluator;   /* scratch of its own */
    tc_release_block *holds;   /* the block whose states it holds; NULL for none */
    double **rows;             /* OUTPUTS: [component][k], h times the integers */
    tc_private_values *values; /* [row][k], rows of the block's length: states (STATES), entries of F (OUTPUTS) */
    double **entries;          /* OUTPUTS: [row][k], before rounding */
    int64_t *sums;             /* by sum: terms of the blocks it has summed */
    int64_t *noise;
    tc_noise_scale *scales;
    double **out;   /* [row]: where the entries of a block go */
    size_t drawn;   /* most entries of noise drawn at once in this round */
    bool has_taken; /* in this round */
    bool has_sums;  /* in this round */
};

typedef struct tc_whole tc_whole;
typedef struct tc_ahead tc_ahead;

struct tc_release {
    const tc_plan *plan;
    const tc_model *model;
    const tc_derivatives *derivatives;
    tc_entries *entries;
    tc_segment *segments;
    size_t segment_count;
    tc_block_plan *blocks;
    tc_whole *whole;                    /* NULL: a round of tc_release_round goes block by block */
    tc_release_channel *channels;       /* as in the plan */
    tc_sum_lattice *sum_lattices;       /* by sum; OUTPUTS with noise */
    tc_lattice_box **boxes;             /* [family][component] */
    const tc_caps *caps;                /* public sets that the plan relies on; NULL: the box is all */
    double state_step, states_per_unit; /* h and 1 / h */
    size_t block;
    tc_random *random;
    tc_evaluator *evaluator; /* for public points; shares no numbers with a worker's */
    tc_release_worker *workers;
    size_t worker_count;
    tc_noise_draw *draws; /* none without a mechanism */
    size_t draw_count;
    uint64_t next_round;
    uint64_t round; /* the open one, unless the phase is CLOSED */
    tc_release_phase phase;
    uint64_t prepared; /* the round whose noise has been drawn; 0 for none */
    int64_t *noise;    /* by address; wiped when used */
    tc_ahead *ahead;   /* the drawing thread, the only user of the random source; NULL: the caller draws */
    double *coords;    /* scratch: the coordinates that constraints name, or all of them (mechanism none) */
    double *sum_values, *block_sums;
    bool has_sums;                  /* in this round: sum_values are those of private numbers */
    tc_private_values *outer_units; /* as blocks->outer */
    bool has_outer;                 /* in this round */
    double *outer_out;
    double **targets; /* rows of what tc_release_round releases */
    atomic_size_t summed_blocks;
    double *plain_sums; /* mechanism none: by block and body, added up in that order */
    uint64_t *shared;   /* what ranks tell each other of a round: sums, then named coordinates; NULL: one rank */
    size_t shared_count;
};

static inline bool tc_release_has_noise(const tc_release *release) {
    return release->plan->mechanism != TC_MECHANISM_NONE;
}

/* States of the agents of the model that is released, or of one with the same agents (plan/placement/forms.c), which
 * keep to the public sets that prices rely on. */
static inline bool tc_release_knows(const tc_release *release, const tc_private_states *states) {
    return states->model->families == release->model->families && (states->caps != NULL || release->caps == NULL);
}

/* NULL if the release can obey the plan, else what is wrong with it. */
const char *tc_release_check_plan(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                                  const tc_derivatives *derivatives);
const char *tc_release_check_cover(tc_arena *arena, const tc_release *release);
/* Proves by enclosures over the public box that integer sums and entries fit 64 bits. Notes which are at most
 * TC_SMALL_UNITS. */
const char *tc_release_check_range(tc_arena *arena, tc_release *release);

/* Plans how noise is drawn; false where a scale is out of the sampler's range. tc_release_draw draws all of the round
 * whose key is open. */
bool tc_release_plan_noise(tc_arena *arena, tc_release *release) TC_MUST_USE;
tc_status tc_release_draw(const tc_release *release, int64_t *noise) TC_MUST_USE;

/* tc_ahead_take waits for the noise of the round and makes it the release's; tc_ahead_give_back frees its place, wiped.
 * tc_ahead_check: TC_OK unless that round can never be drawn. */
tc_status tc_ahead_take(tc_release *release, uint64_t round) TC_MUST_USE;
void tc_ahead_give_back(tc_release *release, uint64_t round);
tc_status tc_ahead_check(const tc_release *release, uint64_t round) TC_MUST_USE;

/* Adds the noise of pieces to units[row * stride + offset + k] and writes the sums to out[row][offset + k]. */
tc_status tc_release_pieces(tc_release_worker *worker, const tc_piece *pieces, size_t count, const int64_t *units,
                            size_t stride, double *const *out) TC_MUST_USE;

/* The door itself, the only function that adds noise: out[to + k] = step * (units[k] + noise[k]) for each run, whose
 * entries follow those of the run before. The channels are small ones, or none is. An integer c plus round(y) is
 * round(c + y): docs/proofs/release.md. */
void tc_release_add_noise(const tc_channel_run *runs, size_t run_count, const int64_t *units, const int64_t *noise,
                          double *out);

/* All workers' sums, and Phi and its derivatives into the first worker's evaluator. */
void tc_release_evaluate_outer(tc_release *release);
/* One block of tc_release_round, by the first worker. */
tc_status tc_release_block_sums(tc_release *release, const tc_release_block *block,
                                const tc_private_states *states) TC_MUST_USE;
tc_status tc_release_block_rows(tc_release *release, const tc_release_block *block, const tc_private_states *states,
                                tc_released *released) TC_MUST_USE;

/* Public constants of the Jacobian into jacobian[]. */
void tc_release_constants(tc_arena *arena, tc_release *release, double *jacobian);

/* ---- a small round at once --------------------------------------------------------------------------------------- */

/* In one pass: flat lists instead of blocks for families of one member and for numbers made from complete sums. Larger
 * families go through their blocks.
 *
 * NULL if the round is not small, which depends on public structure alone. */
tc_whole *tc_whole_new(tc_arena *arena, tc_release *release);

/* The noise of the open round must have been drawn. */
tc_status tc_whole_release(tc_release *release, const tc_private_states *states, tc_released *released) TC_MUST_USE;

/* Wipes the private numbers of the round. */
void tc_whole_wipe(tc_release *release);

#endif
