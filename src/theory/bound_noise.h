/* K_w: how large the noise in one round's direction is in mean square. docs/proofs/bound.md, section 6. */
#ifndef TC_ENGINE_BOUND_NOISE_H
#define TC_ENGINE_BOUND_NOISE_H

#include "analysis/lipschitz/streams.h"
#include "theory/bound.h"
#include "theory/bound_hessians.h"

/* Of one noised entry of a channel, with what rounding to its lattice can add. */
double tc_bound_channel_variance(const tc_channel *channel);

/* tc_bound_variance for placement STATES; context: the plan. */
double tc_bound_state_variance(const void *plan, const tc_family *family, size_t member);

/* Fills price_noise, constraint_noise and noise, or problem. hessians: for placement STATES. */
void tc_bound_measure_noise(tc_arena *arena, const tc_plan *plan, tc_streams *streams, const tc_bound_hessian *hessians,
                            tc_bound_constants *constants);

#endif
