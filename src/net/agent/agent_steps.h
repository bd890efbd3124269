/* What an agent does by itself, and all that the network's side knows of it: where it starts, whether the public Slater
 * point suits it, and its half of a round. Two things do it: a file made for one agent (agent_compiled.h), and
 * functions of whoever made the device (agent_callbacks.h); a device that has the latter links no language. */
#ifndef TC_NET_AGENT_STEPS_H
#define TC_NET_AGENT_STEPS_H

#include "net/wire/message_cloud.h"

typedef struct tc_agent_answer { /* of one round */
    tc_wire_method method;
    double step, regularization;
    const double *p;
} tc_agent_answer;

typedef enum tc_agent_stepped {
    TC_STEPPED,
    TC_STEP_NOT_FINITE,
    TC_STEP_FAILED, /* a function of the device said that it could not */
} tc_agent_stepped;

typedef struct tc_agent_steps {
    const char *name;            /* 1 to TC_MOST_NAME bytes */
    size_t states;               /* 1 to TC_MOST_STATES */
    const double *lower, *upper; /* the public box: what is said lies within. NULL: nothing is moved */
    void *context;
    /* x(1). False where it cannot be had. */
    bool (*start)(void *context, double *x);
    tc_slater_answer (*check_slater)(void *context);
    /* x(k+1) from x(k). Unless STEPPED, next is of no use. Neither allocates nor raises. next is not x. */
    tc_agent_stepped (*step)(void *context, const tc_agent_answer *answer, const double *x, double *next);
} tc_agent_steps;

enum { TC_MOST_STATES = TC_FRAME_MOST_BODY / 8 - 2 }; /* what an answer has room for */

#endif
