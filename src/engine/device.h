/* One agent on its own device: the agents' half of a round for a file made for one agent. Its bits are those of the
 * same agent in an engine where all parties are together, whether it stands there alone or as a member of a family. */
#ifndef TC_ENGINE_DEVICE_H
#define TC_ENGINE_DEVICE_H

#include "engine/agents.h"
#include "engine/published/schedule.h" /* tc_answer_weight */

typedef struct tc_device tc_device;

/* model: of role AGENT. TC_BAD_USAGE and a sentence in *why for any other. Raises on its arena. */
tc_status tc_device_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, tc_device **device,
                        const char **why) TC_MUST_USE;

const char *tc_device_name(const tc_device *device); /* "a4", "home[17]" */
size_t tc_device_states(const tc_device *device);

/* Whether the public Slater point lies in the agent's own set; has_point false: the file names none. */
typedef struct tc_device_slater {
    bool has_point, holds;
} tc_device_slater;
tc_device_slater tc_device_check_slater(tc_device *device);

/* The agent's public box. */
void tc_device_box(const tc_device *device, double *lower, double *upper);

/* x(1). */
void tc_device_start(tc_device *device, double *x);

/* x(k+1) from x(k) and the answer of round k: a gradient step (published) or a proximal one (tacit). False where
 * something is not finite; next is then of no use. next may be x. */
bool tc_device_step(tc_device *device, tc_method method, tc_answer_scalars scalars, const double *p, const double *x,
                    double *next) TC_MUST_USE;

/* The nearest multiples of 2^exponent: what a message carries. Ties and all as the cloud's own rounding
 * (tc_states_from_doubles). False where a number is not finite or beyond 2^62 steps. */
bool tc_to_lattice(const double *x, size_t count, int exponent, int64_t *units) TC_MUST_USE;

/* Moves units to the nearest lattice points of the box, which is what the cloud does with them: a bound that is no
 * lattice point may lie nearer to one outside. */
void tc_into_box(const double *lower, const double *upper, size_t count, int exponent, int64_t *units);

#endif
