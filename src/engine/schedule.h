/* Step and regularization of a round: gamma_k = step k^-step_decay, alpha_k = regularization k^-regularization_decay.
 * A pure function with the same bits on every machine: what an agent is told can be computed again by anybody. */
#ifndef TC_ENGINE_SCHEDULE_H
#define TC_ENGINE_SCHEDULE_H

#include "engine/agents.h"

/* k = 1, 2, ... */
tc_answer_scalars tc_schedule_at(const tc_schedule *schedule, uint64_t k);

#endif
