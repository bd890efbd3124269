/* An agent's exact minimisation for a device that gives its gradient and its projection alone:
 *
 *     argmin over x in X of  f(x) + p . x + (regularization/2) |x|^2 + |x - from|^2 / (2 step)
 *
 * Accelerated projected gradients. The problem is strongly convex with modulus m = regularization + 1/step, whatever
 * the convex f. No function values are asked for, and no constant of f: a step size s is accepted when gradients at its
 * two ends differ by no more than their distance over s, and shortened otherwise. With s <= 1/L a projected gradient
 * step contracts distances to the solution by 1 - s m, so that from the length r of such a step follows the distance of
 * its end from the solution, at most r (1 - s m) / (s m); the method stops when that is below the tolerance. It begins
 * again from where it is whenever momentum points away from the last step. */
#ifndef TC_NET_AGENT_PROXIMAL_H
#define TC_NET_AGENT_PROXIMAL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tc_agent_functions { /* each returns whether it could */
    void *context;
    bool (*gradient)(void *context, const double *x, double *gradient);
    bool (*project)(void *context, double *v);
} tc_agent_functions;

typedef struct tc_agent_proximal {
    size_t states;
    double tolerance;              /* of the distance from the solution */
    double *work;                  /* TC_AGENT_PROXIMAL_WORK * states numbers */
    double step_size;              /* of the last call, where the next begins; 0 at first */
    unsigned long long inaccurate; /* calls that did not reach the tolerance; each gave the best point it found */
} tc_agent_proximal;

enum { TC_AGENT_PROXIMAL_WORK = 5 };

/* False: a function failed or gave numbers that are not finite. next is not from. */
bool tc_agent_proximal_step(tc_agent_proximal *solver, const tc_agent_functions *functions, const double *p,
                            double step, double regularization, const double *from, double *next);

#endif
