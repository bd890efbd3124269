/* What a round's number decides: pure functions with the same bits on every machine. */
#ifndef TC_ENGINE_SCHEDULE_H
#define TC_ENGINE_SCHEDULE_H

#include "engine/agents.h"
#include "plan/plan.h"

/* Step and regularization of the published method: gamma_k = step k^-step_decay, alpha_k = regularization
 * k^-regularization_decay, k = 1, 2, ... What an agent is told can be computed again by anybody. */
tc_answer_scalars tc_schedule_at(const tc_schedule *schedule, uint64_t k);

/* The weight of x(k) in the agent's answer, which in the method `tacit` is an average:  average += weight (x - average)
 * with x(k), in round k; the average is x(1) before. The same for multipliers, with mu(k+1). In the published method
 * the answer is the last x, and this is 1. */
double tc_answer_weight(tc_method method, uint64_t k);

#endif
