/* The agents' half of a round, for all members of a family at a time:
 *
 *     x_i <- Proj_{X_i}[ x_i - gamma (grad f_i(x_i) + p_i + alpha x_i) ]
 *
 * A function of the agent's own data and of its answer (p_i, step, regularization) alone. The bits of a member do not
 * depend on which members are computed with it, so an agent alone on its device gets the same ones. In double, each
 * operation rounded to nearest, for component c:
 *
 *     v_c = x_c - step * ((gradient_c + p_c) + regularization * x_c)
 *
 * gradient_c is the derivative's expression (calculus/derivatives.h) evaluated as a tape does (calculus/tape/tape.h),
 * +0 where it is zero by structure; then v is projected as tc_project does (solver/project/project.h). */
#ifndef TC_ENGINE_AGENTS_H
#define TC_ENGINE_AGENTS_H

#include "calculus/derivatives.h"
#include "model/model.h"

typedef struct tc_agents tc_agents;

typedef struct tc_answer_scalars { /* the same for every agent */
    double step;                   /* gamma_k */
    double regularization;         /* alpha_k */
} tc_answer_scalars;

/* workers: how many threads may step at once, each with a number of its own. */
tc_agents *tc_agents_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, size_t workers);

/* x_i(1): the model's start, projected onto X_i. x by coordinate. */
void tc_agents_start(tc_agents *agents, double *x);

#define TC_ALL_FINITE SIZE_MAX

/* Members first .. first + count - 1, from x[component][k] and p[component][k] to next[component][k], which may be x.
 * Returns TC_ALL_FINITE, or a member for which v is not finite; next is then of no use. */
size_t tc_agents_next(tc_agents *agents, size_t worker, size_t family, size_t first, size_t count,
                      const double *const *p, tc_answer_scalars scalars, const double *const *x, double *const *next);

/* All families of one member at once, x, p and next by coordinate: the same bits as one by one. Returns TC_ALL_FINITE
 * or the number of a family; next, which may be x, is then unchanged. Families with more members are skipped. */
size_t tc_agents_next_singles(tc_agents *agents, size_t worker, const double *p, tc_answer_scalars scalars,
                              const double *x, double *next);

/* How many projections onto general intersections so far did not reach the accuracy of an exact one; each gave the best
 * point it found. Do not call it while others step. */
uint64_t tc_agents_inaccurate(const tc_agents *agents);

#endif
