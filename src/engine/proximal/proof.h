/* Proves that agents' steps are accurate, where a promise rests on that: docs/proofs/data.md, "Steps".
 *
 * Two agents with data that differ stay near each other if both go to the exact minimiser. Computed steps do not. Each
 * step is therefore checked after it was made, by intervals and from the outside: how it was found does not matter. */
#ifndef TC_ENGINE_PROXIMAL_PROOF_H
#define TC_ENGINE_PROXIMAL_PROOF_H

#include "engine/agents.h"

typedef struct tc_step_proof tc_step_proof;

/* NULL where no family of the model has protected data whose distances rest on steps. */
tc_step_proof *tc_step_proof_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                 size_t workers);

/* A step that is not proved at once is made anew from where it is: next may change.
 *
 * Whether next is within TC_STEP_ERROR of the diameter of the public box of what
 *     argmin over x in X_i of  f_i(x) + p_i . x + (regularization/2) |x|^2 + |x - x_i|^2 / (2 step)
 * is, for members first .. first + count - 1; rows as of tc_agents_next, next not x. Returns TC_ALL_FINITE, or a member
 * for which that is not proved. */
size_t tc_step_proof_check(tc_step_proof *proof, size_t worker, size_t family, size_t first, size_t count,
                           const double *const *p, tc_answer_scalars scalars, const double *const *x,
                           double *const *next);

/* The same for all families of one member, by coordinate; returns a family. */
size_t tc_step_proof_check_singles(tc_step_proof *proof, const double *p, tc_answer_scalars scalars, const double *x,
                                   double *next);

/* The same for x(1), the start projected onto X_i; x by coordinate. Any member of any family: its number, and *family.
 */
size_t tc_step_proof_check_start(tc_step_proof *proof, double *x, size_t *family);

#endif
