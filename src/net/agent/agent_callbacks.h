/* An agent that is a few functions of whoever made the device. */
#ifndef TC_NET_AGENT_CALLBACKS_H
#define TC_NET_AGENT_CALLBACKS_H

#include "net/agent/agent_proximal.h"
#include "net/agent/agent_steps.h"

#include "base/buffer.h"

typedef struct tc_agent_callbacks { /* texts and arrays stay the caller's, for as long as the agent lives */
    const char *name;
    size_t states;
    const double *lower, *upper; /* the public box: finite, lower < upper */
    const double *start; /* where it starts, before its projection; NULL: 0, or where that is outside of the box, its
                            nearest point */
    tc_slater_answer slater;
    tc_agent_functions functions;
    /* Optional: the minimiser (agent_proximal.h) into next, which is not from. */
    bool (*proximal)(void *context, const double *p, double step, double regularization, const double *from,
                     double *next);
} tc_agent_callbacks;

/* TC_BAD_USAGE with a message where something is missing or not finite. *steps lives as long as the arena. */
tc_status tc_agent_call(tc_arena *arena, const tc_agent_callbacks *callbacks, tc_buffer *messages,
                        tc_agent_steps *steps) TC_MUST_USE;

#endif
