/* The agent half: one agent's side of the rounds, for a file made for one agent. Its bits are those of the same agent
 * in an engine that has all parties together, alone or as a member of a family. */
#ifndef TC_ENGINE_AGENT_HALF_H
#define TC_ENGINE_AGENT_HALF_H

#include "engine/agents.h"
#include "plan/plan.h"

typedef struct tc_agent_half tc_agent_half;

/* model: of role AGENT. TC_BAD_USAGE and a sentence in *why for any other, and for an objective with kinks that is not
 * proved convex. Raises on its arena. */
tc_status tc_agent_half_new(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives, tc_agent_half **half,
                            const char **why) TC_MUST_USE;

const char *tc_agent_half_name(const tc_agent_half *half); /* "a4", "home[17]" */
size_t tc_agent_half_states(const tc_agent_half *half);

/* Whether the objective has kinks, which only method tacit takes. */
bool tc_agent_half_has_kinks(const tc_agent_half *half);

/* Whether the public Slater point, with the room around it, lies in the agent's own set; has_point false: the file
 * names none. */
typedef struct tc_agent_half_slater {
    bool has_point, holds;
} tc_agent_half_slater;
tc_agent_half_slater tc_agent_half_check_slater(tc_agent_half *half);
/* Whether p is that point. */
bool tc_agent_half_is_slater(const tc_agent_half *half, const double *p);

/* The agent's public box. */
void tc_agent_half_box(const tc_agent_half *half, double *lower, double *upper);

/* x(1); false where it is not proved to be accurate and a promise about data rests on that. */
bool tc_agent_half_start(tc_agent_half *half, double *x);

/* The scales of the agent's states, as exponents of 2, for later steps; NULL: all are 0. Returns NULL, or a sentence
 * why there cannot be any. */
const char *tc_agent_half_scale(tc_agent_half *half, const int8_t *exponents) TC_MUST_USE;

/* x(k+1) from x(k) and the answer of round k: a gradient step (published) or a proximal one (tacit). False if something
 * is not finite, for a gradient step where the objective has kinks, and where protected data need a step that is proved
 * to be accurate and this one is not; next is then undefined. next may be x. */
bool tc_agent_half_step(tc_agent_half *half, tc_method method, tc_answer_scalars scalars, const double *p,
                        const double *x, double *next) TC_MUST_USE;

/* The weight of round k in the agent's result. In the method tacit the result is an average that begins at x(1), and
 * round k does  average += weight (x(k) - average). Multipliers are averaged alike, with mu(k+1). In the method
 * published the result is the last x, and the weight is 1. */
double tc_result_weight(tc_method method, uint64_t k);

/* One component of the result of a run that ends with a move: average, t and p of the last answer. In the box that
 * average and p are in, since rounding is monotone and the cloud sends no t between 1 - 2^-40 and 1. */
double tc_moved(double average, double t, double p);

/* The nearest multiples of 2^exponent, for a message. Rounds exactly as the cloud does, also at ties
 * (tc_states_from_doubles). False where a number is not finite or beyond 2^62 steps. */
bool tc_to_lattice(const double *x, size_t count, int exponent, int64_t *units) TC_MUST_USE;

/* Moves units to the nearest lattice points of the box, as the cloud does. A bound that is no lattice point may be
 * nearest to one outside. */
void tc_into_box(const double *lower, const double *upper, size_t count, int exponent, int64_t *units);

#endif
