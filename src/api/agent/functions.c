/* Agents that are functions. Those that are files are in another file, so that a device links no language. */
#include "api/agent/open.h"
#include "base/sized.h"
#include "net/agent/agent.h"

#include <string.h>

typedef struct agent_array {
    const tacit_agent_functions *first;
    size_t count;
} agent_array;

static bool call_gradient(void *context, const double *x, double *gradient) {
    const tacit_agent_functions *functions = context;
    return functions->gradient(functions->context, x, gradient) == 0;
}

static bool call_project(void *context, double *v) {
    const tacit_agent_functions *functions = context;
    return functions->project(functions->context, v) == 0;
}

static bool call_proximal(void *context, const double *p, double step, double regularization, const double *from,
                          double *next) {
    const tacit_agent_functions *functions = context;
    return functions->proximal(functions->context, p, step, regularization, from, next) == 0;
}

static bool call_proximal_by_state(void *context, const double *p, const double *steps, double regularization,
                                   const double *from, double *next) {
    const tacit_agent_functions *functions = context;
    return functions->proximal_by_state(functions->context, p, steps, regularization, from, next) == 0;
}

static const double *copy_numbers(tc_arena *arena, const double *values, size_t count) {
    if (values == NULL || count > TC_MOST_STATES)
        return NULL;
    double *copy = TC_NEW(arena, double, count);
    memcpy(copy, values, count * sizeof *copy);
    return copy;
}

static tc_status make_one(tc_arena *arena, const tacit_agent_functions *from, tc_buffer *messages,
                          tc_agent_steps *steps) {
    tacit_agent_functions *f = TC_NEW(arena, tacit_agent_functions, 1);
    if (!tc_copy_sized(f, sizeof *f, offsetof(tacit_agent_functions, proximal_by_state), from)) {
        tc_buffer_puts(messages, "an agent's size is not sizeof(tacit_agent_functions)\n");
        return TC_BAD_USAGE;
    }
    if (f->slater < 0 || f->slater > 2) {
        tc_buffer_puts(messages, "an agent's slater is 0, 1 or 2\n");
        return TC_BAD_USAGE;
    }
    const tc_agent_callbacks callbacks = {
        .name = f->name == NULL ? NULL : tc_arena_copy(arena, f->name, strlen(f->name)),
        .states = f->states,
        .lower = copy_numbers(arena, f->lower, f->states),
        .upper = copy_numbers(arena, f->upper, f->states),
        .start = copy_numbers(arena, f->start, f->states),
        .slater = f->slater == 1   ? TC_SLATER_YES
                  : f->slater == 2 ? TC_SLATER_NO
                                   : TC_SLATER_UNASKED,
        .functions = {.context = f,
                      .gradient = f->gradient == NULL ? NULL : call_gradient,
                      .project = f->project == NULL ? NULL : call_project},
        .proximal = f->proximal == NULL ? NULL : call_proximal,
        .proximal_by_state = f->proximal_by_state == NULL ? NULL : call_proximal_by_state};
    return tc_agent_call(arena, &callbacks, messages, steps);
}

/* The caller's header decides how far apart the elements are. */
static tc_status make(const void *context, tc_arena *arena, tc_buffer *messages, tc_agent_steps *steps) {
    const agent_array *g = context;
    const unsigned char *at = (const unsigned char *)g->first;
    for (size_t i = 0; i < g->count; i++, at += g->first->size) {
        tc_status status = make_one(arena, (const tacit_agent_functions *)(const void *)at, messages, &steps[i]);
        if (status != TC_OK)
            return status;
    }
    return TC_OK;
}

tacit_status tacit_agent_open(const tacit_agent_options *options, const tacit_agent_functions *agents, size_t count,
                              tacit_agent **agent, char **message) {
    const agent_array g = {.first = agents, .count = count};
    return tc_agent_open(options, &(tc_agent_source){.make = make, .context = &g, .count = count}, agent, message);
}
