/* The inside of a program, shared by its compiler (program.c) and its evaluator (program_eval.c).
 *
 * One file of registers: inputs, constants, results, each written once. Results are ordered by dependency (a level
 * holds what needs only the levels before it) and, in a level, by operation; so the instructions come in runs of one
 * operation that are independent of each other, and the result of the i-th instruction is register first + i. Instead
 * of one jump for each instruction there is one for each run, and the processor works on several instructions at a
 * time. */
#ifndef TC_CALCULUS_PROGRAM_CODE_H
#define TC_CALCULUS_PROGRAM_CODE_H

#include "calculus/tape/program.h"

enum { TC_RUN_SQUARE = 64 }; /* a tc_op beyond the others: TC_POWI with exponent 2 */

typedef struct tc_run {
    uint32_t op; /* tc_op or TC_RUN_SQUARE */
    uint32_t count;
} tc_run;

typedef struct tc_operands { /* registers, but: */
    uint32_t a;              /* n-ary: where its words start: index, high and low; count; registers */
    uint32_t b;              /* TC_POWI: the exponent, an int32_t; TC_POWR: where its words start, a double */
} tc_operands;

typedef struct tc_gather { /* registers to .. to + count - 1 are inputs from .. from + count - 1 */
    uint32_t from, to, count;
} tc_gather;

struct tc_program {
    tc_gather *coords, *sums;
    size_t coords_count, sums_count;
    double *constants; /* registers first_constant .. */
    size_t first_constant, constant_count;
    tc_run *runs;
    size_t run_count;
    tc_operands *operands; /* of register first_result + i */
    size_t first_result, result_count;
    uint32_t *words; /* what does not fit into operands */
    size_t word_count, widest;
    uint32_t *roots; /* registers */
    size_t root_count;
};

#endif
