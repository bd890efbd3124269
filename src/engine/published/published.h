/* The published method: Algorithm 2 of the paper (docs/paper.md). Its round is in published.c. */
#ifndef TC_ENGINE_PUBLISHED_PUBLISHED_H
#define TC_ENGINE_PUBLISHED_PUBLISHED_H

#include "engine/agents.h"

/* gamma_k and alpha_k. A pure function with the same bits on every machine: anybody can compute what agents are told.
 */
tc_answer_scalars tc_schedule_at(const tc_schedule *schedule, uint64_t k);

/* The paper's two updates before their projections, for numbers and for vectors of numbers. This is the one place of
 * these operations and of their order: every bit of a run depends on it.
 *
 * paper: eq:per-agent-update     v_i = x_i - gamma_k (grad f_i(x_i) + p_i + alpha_k x_i) */
#define TC_STATE_UPDATE(x, gradient, p, gamma, alpha) ((x) - (gamma) * (((gradient) + (p)) + (alpha) * (x)))
/* paper: eq:noisyupdate          v = mu + gamma_k (g^ - alpha_k mu) */
#define TC_MULTIPLIER_UPDATE(mu, g_hat, gamma, alpha) ((mu) + (gamma) * ((g_hat) - (alpha) * (mu)))

#endif
