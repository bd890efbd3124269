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
#include "model/expr.h"

enum { TC_LANES = 64 }; /* the most lanes of one call */

typedef struct tc_tape tc_tape;

tc_tape *tc_tape_new(tc_arena *arena, const tc_dag *dag, const tc_expr *roots, size_t root_count);
size_t tc_tape_root_count(const tc_tape *tape);
/* Entries (of the evaluator's number type) of the work area an evaluation needs. */
size_t tc_tape_work(const tc_tape *tape);

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

#endif
