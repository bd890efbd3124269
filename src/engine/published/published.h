/* The published method: Algorithm 2 of the paper (docs/paper.md). Its round is in published.c. */
#ifndef TC_ENGINE_PUBLISHED_PUBLISHED_H
#define TC_ENGINE_PUBLISHED_PUBLISHED_H

#include "engine/agents.h"
#include "release/release.h"

/* gamma_k and alpha_k. A pure function with the same bits on every machine: anybody can compute what agents are told.
 */
tc_answer_scalars tc_schedule_at(const tc_schedule *schedule, uint64_t k);

/* The same for a run that goes from round to round, in a tenth of the time: powers of many rounds side by side. Begin
 * with zeros. */
enum { TC_ROUNDS_SCHEDULED = 32 };
typedef struct tc_schedule_ahead {
    uint64_t first; /* round; 0 for none */
    double steps[TC_ROUNDS_SCHEDULED], regularizations[TC_ROUNDS_SCHEDULED];
} tc_schedule_ahead;
tc_answer_scalars tc_schedule_next(const tc_schedule *schedule, tc_schedule_ahead *ahead, uint64_t k);

/* The paper's two updates before their projections, for numbers and for vectors of numbers. This is the one place of
 * these operations and of their order: every bit of a run depends on it.
 *
 * paper: eq:per-agent-update     v_i = x_i - gamma_k (grad f_i(x_i) + p_i + alpha_k x_i) */
#define TC_STATE_UPDATE(x, gradient, p, gamma, alpha) ((x) - (gamma) * (((gradient) + (p)) + (alpha) * (x)))
/* paper: eq:noisyupdate          v = mu + gamma_k (g^ - alpha_k mu) */
#define TC_MULTIPLIER_UPDATE(mu, g_hat, gamma, alpha) ((mu) + (gamma) * ((g_hat) - (alpha) * (mu)))

/* ---- answers (jacobian.c) ---------------------------------------------------------------------------------------- */

/* From released entries of the Jacobian to answers, p_i = J^_i' mu. Nothing here takes a private type.
 *
 * In an answer, entries that all members of a family share come first and those of single coordinates after them, each
 * by increasing rows; a row whose multiplier is zero adds nothing. */
typedef struct tc_jacobian tc_jacobian;

/* constants: what tc_released_new made, with the constants of the Jacobian in place. It is read now and kept.
 * is_small: for tc_jacobian_answer_whole. */
tc_jacobian *tc_jacobian_new(tc_arena *arena, const tc_model *model, const tc_released *constants, bool is_small);

/* Whether entries of this family are released anew in each round. */
bool tc_jacobian_has_noise(const tc_jacobian *jacobian, size_t family);
/* Whether entries that this family's members share are among them: then tc_jacobian_answer reads them. */
bool tc_jacobian_is_read(const tc_jacobian *jacobian, size_t family);

/* The answers to one block (release.h): p[component][k]. entries[e][k] as from tc_release_entries; released: single
 * entries. */
void tc_jacobian_answer(const tc_jacobian *jacobian, const tc_released *released, size_t family, size_t block,
                        const double *const *entries, const double *mu, double *const *p);
/* The same answers for all agents of a small ensemble: p by coordinate. */
void tc_jacobian_answer_whole(const tc_jacobian *jacobian, const tc_released *released, const double *mu, double *p);

#endif
