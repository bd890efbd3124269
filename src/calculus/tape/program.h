/* Expressions compiled for one evaluation after another at a single point: outer functions, and agents that are alone
 * in their family. The same operations in the same order as a tape's (tape.h), hence the same bits, without its cost
 * per instruction for rows of lanes. */
#ifndef TC_CALCULUS_TAPE_PROGRAM_H
#define TC_CALCULUS_TAPE_PROGRAM_H

#include "model/model.h"

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

#endif
