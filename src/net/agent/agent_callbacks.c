#include "net/agent/agent_callbacks.h"

#include <math.h>
#include <string.h>

static const double ACCURACY = 1e-10; /* of the narrowest bounds */

typedef struct caller {
    tc_agent_callbacks given;
    tc_agent_functions watched; /* the same, and whether one failed is known afterwards */
    bool has_failed;
    tc_agent_proximal solver;
} caller;

static bool are_finite(const double *values, size_t count) {
    bool finite = true;
    for (size_t i = 0; i < count; i++)
        finite = finite && isfinite(values[i]);
    return finite;
}

static bool note(caller *c, bool good) {
    c->has_failed = c->has_failed || !good;
    return good;
}

static bool watch_gradient(void *context, const double *x, double *gradient) {
    caller *c = context;
    return note(c, c->given.functions.gradient(c->given.functions.context, x, gradient));
}

static bool watch_project(void *context, double *v) {
    caller *c = context;
    return note(c, c->given.functions.project(c->given.functions.context, v));
}

/* As in a file that names no start. */
static double clipped_zero(double lower, double upper) { return lower > 0 ? lower : upper < 0 ? upper : 0; }

static bool start(void *context, double *x) {
    caller *c = context;
    const tc_agent_callbacks *given = &c->given;
    for (size_t i = 0; i < given->states; i++)
        x[i] = given->start != NULL ? given->start[i] : clipped_zero(given->lower[i], given->upper[i]);
    return given->functions.project(given->functions.context, x) && are_finite(x, given->states);
}

static tc_slater_answer check_slater(void *context) { return ((const caller *)context)->given.slater; }

/* Proj[ x - step ((gradient + p) + regularization x) ], as engine/agents.h has it. */
static bool gradient_step(caller *c, const tc_agent_answer *answer, const double *x, double *next) {
    const tc_agent_callbacks *given = &c->given;
    if (!watch_gradient(c, x, next))
        return false;
    for (size_t i = 0; i < given->states; i++)
        next[i] = x[i] - answer->step * ((next[i] + answer->p[i]) + answer->regularization * x[i]);
    return are_finite(next, given->states) && watch_project(c, next);
}

static tc_agent_stepped step(void *context, const tc_agent_answer *answer, const double *x, double *next) {
    caller *c = context;
    const tc_agent_callbacks *given = &c->given;
    bool good;
    c->has_failed = false;
    if (answer->method != TC_WIRE_TACIT)
        good = gradient_step(c, answer, x, next);
    else if (given->proximal != NULL)
        good = note(
            c, given->proximal(given->functions.context, answer->p, answer->step, answer->regularization, x, next));
    else
        good =
            tc_agent_proximal_step(&c->solver, &c->watched, answer->p, answer->step, answer->regularization, x, next);
    if (good && are_finite(next, given->states))
        return TC_STEPPED;
    return c->has_failed ? TC_STEP_FAILED : TC_STEP_NOT_FINITE;
}

static const char *check(const tc_agent_callbacks *given) {
    if (given->name == NULL || given->states == 0 || given->states > TC_MOST_STATES)
        return "an agent has a name and at least one state";
    if (given->functions.gradient == NULL || given->functions.project == NULL)
        return "an agent needs its gradient and its projection";
    if (given->lower == NULL || given->upper == NULL)
        return "an agent needs the bounds of its public box";
    for (size_t i = 0; i < given->states; i++)
        if (!isfinite(given->lower[i]) || !isfinite(given->upper[i]) || !(given->lower[i] < given->upper[i]))
            return "bounds are finite, and the lower ones below the upper ones";
    return NULL;
}

tc_status tc_agent_call(tc_arena *arena, const tc_agent_callbacks *callbacks, tc_buffer *messages,
                        tc_agent_steps *steps) {
    const char *wrong = check(callbacks);
    if (wrong != NULL) {
        tc_buffer_printf(messages, "%s\n", wrong);
        return TC_BAD_USAGE;
    }
    caller *c = TC_NEW(arena, caller, 1);
    size_t states = callbacks->states;
    double narrowest = INFINITY;
    for (size_t i = 0; i < states; i++)
        narrowest = fmin(narrowest, callbacks->upper[i] - callbacks->lower[i]);
    *c = (caller){.given = *callbacks,
                  .watched = {.context = c, .gradient = watch_gradient, .project = watch_project},
                  .solver = {.states = states,
                             .tolerance = ACCURACY * narrowest,
                             .work = TC_NEW(arena, double, TC_AGENT_PROXIMAL_WORK *states)}};
    *steps = (tc_agent_steps){.name = callbacks->name,
                              .states = states,
                              .lower = callbacks->lower,
                              .upper = callbacks->upper,
                              .context = c,
                              .start = start,
                              .check_slater = check_slater,
                              .step = step};
    return TC_OK;
}
