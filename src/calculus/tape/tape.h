/* Expressions compiled for evaluation, many members at a time.
 *
 * A tape holds the nodes some roots need, in order, each with a place in a small reused work area. Inputs are arrays
 * with one entry per lane (a lane is a member of a family; outer expressions use one lane):
 *   state[c][lane]   component c            data[d][lane]   data column d
 *   coords[i]        coordinate i of the ensemble           sums[r]   inner sum r       (outer; the same in all lanes)
 * Unused inputs may be NULL. Three evaluators share the tape: double for speed, long double for the reference
 * solution, intervals for certificates. Outputs: out[root][lane]; the rows are written while the tape runs and must
 * not overlap each other, the inputs or the work area. */
#ifndef TC_CALCULUS_TAPE_TAPE_H
#define TC_CALCULUS_TAPE_TAPE_H

#include "calculus/interval/interval.h"
#include "model/model.h"

/* Lanes of one call: what most callers take at a time, and the most. */
enum { TC_LANES = 64, TC_MOST_LANES = 256 };

typedef struct tc_tape tc_tape;

tc_tape *tc_tape_new(tc_arena *arena, const tc_dag *dag, const tc_expr *roots, size_t root_count);
size_t tc_tape_root_count(const tc_tape *tape);
/* How many operations an evaluation takes: what it costs. */
size_t tc_tape_length(const tc_tape *tape);
/* Entries (of the evaluator's number type) of the work area that an evaluation of TC_LANES, or of so many lanes, needs.
 */
size_t tc_tape_work(const tc_tape *tape);
size_t tc_tape_work_of(const tc_tape *tape, size_t lanes);
/* How many lanes suit a caller that has many members: a call has a fixed cost, and rows should stay in the nearest
 * cache. TC_LANES or TC_MOST_LANES. */
size_t tc_tape_lanes(const tc_tape *tape);

typedef struct tc_inputs {
    const double *const *state;
    const double *const *data;
    const double *coords;
    const double *sums;
} tc_inputs;
void tc_tape_eval(const tc_tape *tape, const tc_inputs *inputs, size_t lanes, double *work, double *const *out);

typedef struct tc_long_inputs {
    const long double *const *state;
    const double *const *data;
    const long double *coords;
    const long double *sums;
} tc_long_inputs;
void tc_tape_eval_long(const tc_tape *tape, const tc_long_inputs *inputs, size_t lanes, long double *work,
                       long double *const *out);

typedef struct tc_interval_inputs {
    const tc_interval *const *state;
    const tc_interval *const *data;
    const tc_interval *coords;
    const tc_interval *sums;
} tc_interval_inputs;
void tc_tape_enclose(const tc_tape *tape, const tc_interval_inputs *inputs, size_t lanes, tc_interval *work,
                     tc_interval *const *out);

/* Enclosures of single nodes, by number, for analyses that look inside an expression: nodes[] in increasing order as
 * from tc_reachable, one lane; enclosures is indexed by node number. */
void tc_enclose_nodes(const tc_dag *dag, const tc_expr *nodes, size_t count, const tc_interval_inputs *inputs,
                      tc_interval *enclosures);

/* ---- one point at a time: program.c --------------------------------------------------------------------------------
 */

/* Expressions compiled for one evaluation after another at a single point: outer functions, and agents that are alone
 * in their family. The same operations in the same order as a tape's, hence the same bits, without its cost
 * per instruction for rows of lanes. */
typedef struct tc_program tc_program;

/* Leaves: TC_COORD and TC_SUM, and TC_STATE and TC_DATA of families of one, which become coordinates and constants. */
tc_program *tc_program_new(tc_arena *arena, const tc_model *model, const tc_expr *roots, size_t root_count);
/* Numbers that one evaluation needs as scratch. */
size_t tc_program_work(const tc_program *program);
/* coords: by the model's coordinates; sums: by the model's sums; either may be NULL where no root needs it. out: one
 * number for each root, overlapping nothing. work: prepared by tc_program_prepare, one for each thread. */
void tc_program_prepare(const tc_program *program, double *work);
/* Where tc_program_prepare puts the constants: a caller that wipes the rest of the scratch need not prepare again. */
void tc_program_constants(const tc_program *program, size_t *first, size_t *count);
void tc_program_eval(const tc_program *program, const double *coords, const double *sums, double *work, double *out);

/* ---- rounding errors: rounding.c -----------------------------------------------------------------------------------
 */

/* How far tc_tape_eval can be from the exact value: a proved bound for every root, at all points of a box.
 *
 * A tape run on tc_rounded numbers keeps, for each instruction, where the exact values lie, where the computed doubles
 * lie, and how far a computed one can be from the exact one at the same point. It follows the operations of
 * evaluate_float.inc.h one by one, underflow included; docs/proofs/rounding.md derives each rule. Where a computed
 * value might leave its domain or overflow, the error is infinite. */

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

/* ---- sizes of numbers: tiny.c --------------------------------------------------------------------------------------
 */

/* Whether a tape can meet a subnormal number: where it cannot, arithmetic takes the same time whatever the numbers are.
 *
 * A tape run on tc_sized numbers keeps, for each instruction, where the computed doubles lie, how small one can be that
 * is not zero, and of which power of two all are multiples. It follows evaluate_float.inc.h, elementary.h and
 * elementary.c one by one; docs/proofs/time.md derives each rule. */

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
