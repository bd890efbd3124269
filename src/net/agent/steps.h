/* An agent's half of a run, as the network side sees it: where it starts, whether the public Slater point lies in its
 * set, and its step. compiled.c makes it from an agent's file, callbacks.c from functions of a device's maker. A
 * program that uses only the latter links neither the language nor the engine. */
#ifndef TC_NET_AGENT_STEPS_H
#define TC_NET_AGENT_STEPS_H

#include "base/arena.h"
#include "base/status.h"
#include "net/wire/message.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct tc_agent_answer { /* of one round */
    tc_wire_method method;
    double step, regularization;
    const double *p;
} tc_agent_answer;

typedef enum tc_agent_stepped {
    TC_STEPPED,
    TC_STEP_NOT_FINITE,
    TC_STEP_FAILED, /* a function of the device's maker reported an error */
} tc_agent_stepped;

typedef struct tc_agent_steps {
    const char *name;            /* 1 to TC_MOST_NAME bytes */
    size_t states;               /* 1 to TC_MOST_STATES */
    const double *lower, *upper; /* the public box, into which states are moved; NULL: none */
    void *context;
    /* x(1). False: there is none. */
    bool (*start)(void *context, double *x);
    tc_slater_answer (*check_slater)(void *context);
    /* x(k+1) from x(k), into next, which is not x. next is valid after TC_STEPPED only. Neither allocates nor raises.
     */
    tc_agent_stepped (*step)(void *context, const tc_agent_answer *answer, const double *x, double *next);
} tc_agent_steps;

enum { TC_MOST_STATES = TC_FRAME_MOST_BODY / 8 - 2 }; /* that fit into an answer */

/* An agent's file, as `tacit split` writes it. *steps lives as long as the arena. TC_BAD_USAGE, TC_BAD_PROBLEM,
 * TC_CANNOT_READ with messages. */
tc_status tc_agent_compile(tc_arena *arena, const char *path, const tc_monitor *monitor, tc_buffer *messages,
                           tc_agent_steps *steps) TC_MUST_USE;

/* The agent's step of the method `tacit` for a device that has only a gradient and a projection:
 *
 *     argmin over x in X of  f(x) + p . x + (regularization/2) |x|^2 + |x - from|^2 / (2 step)
 *
 * Accelerated projected gradients. For any convex f the problem is strongly convex with modulus m = regularization +
 * 1/step. It needs neither values nor constants of f: a step size s is accepted if the gradients at both ends differ by
 * at most their distance over s, and shortened otherwise. With s <= 1/L a projected gradient step contracts the
 * distance to the solution by 1 - s m. So after a step of length r the distance is at most r (1 - s m) / (s m); the
 * method stops when that is below the tolerance. It drops its momentum when that points against the last step. */

typedef struct tc_agent_functions { /* each returns false on failure */
    void *context;
    bool (*gradient)(void *context, const double *x, double *gradient);
    bool (*project)(void *context, double *v);
} tc_agent_functions;

typedef struct tc_agent_proximal {
    size_t states;
    double tolerance;              /* of the distance from the solution */
    double *work;                  /* TC_AGENT_PROXIMAL_WORK * states numbers */
    double step_size;              /* of the last call, the first try of the next; 0 at first */
    unsigned long long inaccurate; /* calls that missed the tolerance and gave the best point found */
} tc_agent_proximal;

enum { TC_AGENT_PROXIMAL_WORK = 5 };

/* False: a function failed or gave numbers that are not finite. next must not be from. */
bool tc_agent_proximal_step(tc_agent_proximal *solver, const tc_agent_functions *functions, const double *p,
                            double step, double regularization, const double *from, double *next);

/* An agent made of a few functions. */
typedef struct tc_agent_callbacks { /* texts and arrays stay the caller's and must outlive the agent */
    const char *name;
    size_t states;
    const double *lower, *upper; /* the public box: finite, lower < upper */
    const double *start;         /* is projected to get x(1); NULL: the point of the box nearest to 0 */
    tc_slater_answer slater;
    tc_agent_functions functions;
    /* Optional: the device's own minimiser, instead of tc_agent_proximal_step. */
    bool (*proximal)(void *context, const double *p, double step, double regularization, const double *from,
                     double *next);
} tc_agent_callbacks;

/* TC_BAD_USAGE with a message if something is missing or not finite. *steps lives as long as the arena. */
tc_status tc_agent_call(tc_arena *arena, const tc_agent_callbacks *callbacks, tc_buffer *messages,
                        tc_agent_steps *steps) TC_MUST_USE;

#endif
