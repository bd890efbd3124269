/* The structs of the private types and of a release. For src/release alone: tests/release/test_private_types.py checks
 * that no other folder includes this file. */
#ifndef TC_RELEASE_INSIDE_H
#define TC_RELEASE_INSIDE_H

#include "release/private.h"
#include "release/release.h"
#include "release/blocks.h"
#include "release/evaluate.h"
#include "release/lattice.h"

/* ---- private types ----------------------------------------------------------------------------------------------- */

struct tc_private_states {
    const tc_model *model;
    int exponent;
    double step;                 /* h */
    double per_unit;             /* 1 / h */
    tc_lattice_box **boxes;      /* [family][component] */
    tc_lattice_box *flat;        /* small ensembles: one box for all coordinates; NULL otherwise */
    const double *lower, *upper; /* its public bounds, by coordinate */
    int64_t *units; /* one per coordinate, in the model's order; |units| <= 2^53, so that h * units is exact */
};

struct tc_private_values {
    int64_t *units;
    size_t count;
};

#define TC_MOST_EXACT (INT64_C(1) << 53)

/* NULL where the box of some agent holds no lattice point, or one beyond 2^53 steps. */
tc_lattice_box **tc_lattice_boxes(tc_arena *arena, const tc_model *model, int exponent);

/* ---- a release --------------------------------------------------------------------------------------------------- */

typedef struct tc_noise_draw { /* entries drawn by one call */
    uint64_t first;
    size_t count;
    const tc_noise_scale *scales; /* one for all, or one for each */
    bool each;
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
};

static inline bool tc_release_has_noise(const tc_release *release) {
    return release->plan->mechanism != TC_MECHANISM_NONE;
}

/* States of the agents of the model that is released, or of one with the same agents (plan/placement/forms.c). */
static inline bool tc_release_knows(const tc_release *release, const tc_private_states *states) {
    return states->model->families == release->model->families;
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

/* The door itself, the only function that adds noise: out[k] = step * (units[k] + noise[k]). An integer c plus round(y)
 * is round(c + y): docs/proofs/release.md. */
void tc_release_add_noise(const tc_release_channel *channel, const int64_t *units, const int64_t *noise, size_t count,
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

/* A small round in one pass: flat lists instead of blocks for families of one member and for numbers made from complete
 * sums. Larger families go through their blocks. */

/* NULL if the round is not small, which depends on public structure alone. */
tc_whole *tc_whole_new(tc_arena *arena, tc_release *release);

/* The noise of the open round must have been drawn. */
tc_status tc_whole_release(tc_release *release, const tc_private_states *states, tc_released *released) TC_MUST_USE;

/* Wipes the private numbers of the round. */
void tc_whole_wipe(tc_release *release);

#endif
