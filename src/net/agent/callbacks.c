#include "net/agent/agent.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The agent's step of the method `tacit` for a device that has only a gradient and a projection:
 *
 *     argmin over x in X of  f(x) + p . x + (regularization/2) |x|^2 + sum_i (x - from)_i^2 / (2 step_i)
 *
 * Accelerated projected gradients. For any convex f the problem is strongly convex with modulus m = regularization +
 * 1/step, with the longest step. It needs neither values nor constants of f: a step size s is accepted if the gradients
 * at both ends differ by at most their distance over s, and shortened otherwise. With s <= 1/L a projected gradient
 * step contracts the distance to the solution by 1 - s m. So after a step of length r the distance is at most r (1 - s
 * m) / (s m); the method stops when that is below the tolerance. It drops its momentum when that points against the
 * last step. */

enum { PROXIMAL_WORK = 5 };

typedef struct proximal_solver {
    size_t states;
    double tolerance; /* of the distance from the solution */
    double *work;     /* PROXIMAL_WORK * states numbers */
    double step_size; /* of the last call, the first try of the next; 0 at first */
} proximal_solver;

enum { MOST_GRADIENTS = 20000, SETTLED = 1000 /* steps without progress: rounding errors */ };
static const double SHRINK = 0.6, GROW = 1.15; /* factors of the step size when it is refused, accepted */

typedef struct problem {
    proximal_solver *solver;
    const tc_agent_functions *functions;
    const double *p, *from, *steps;
    double regularization, modulus;
    unsigned gradients;
} problem;

/* Of the whole problem: grad f + p + regularization x + (x - from)/steps. */
static bool slope(problem *of, const double *x, double *out) {
    bool finite = of->functions->gradient(of->functions->context, x, out);
    of->gradients++;
    for (size_t i = 0; i < of->solver->states && finite; i++) {
        out[i] = ((out[i] + of->p[i]) + of->regularization * x[i]) + (x[i] - of->from[i]) / of->steps[i];
        finite = isfinite(out[i]) != 0;
    }
    return finite;
}

static double distance(const double *a, const double *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

static double length(const double *a, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

typedef struct iterate {
    double *at, *slope; /* where the step begins, and the slope there */
    double *to, *slope_to;
    double size;   /* of the step: s */
    double length; /* |to - at| */
} iterate;

/* Shorter steps are rounding errors: the slopes at both ends cannot be compared. */
static double grain(const problem *of, const iterate *now) {
    size_t n = of->solver->states;
    return 16 * DBL_EPSILON * (length(now->at, n) + now->size * length(now->slope, n));
}

/* to = P(at - s slope) with a step size that the slopes at both ends allow. */
static bool descend(problem *of, iterate *now) {
    size_t n = of->solver->states;
    for (;;) {
        for (size_t i = 0; i < n; i++)
            now->to[i] = now->at[i] - now->size * now->slope[i];
        if (!of->functions->project(of->functions->context, now->to) || !slope(of, now->to, now->slope_to))
            return false;
        now->length = distance(now->to, now->at, n);
        double change = distance(now->slope_to, now->slope, n);
        if (!isfinite(now->length) || !isfinite(change))
            return false;
        if (change * now->size <= now->length || now->length <= grain(of, now) || of->gradients >= MOST_GRADIENTS)
            return true;
        now->size *= SHRINK;
    }
}

static double bound(const problem *of, const iterate *now) {
    double contraction = fmin(1, now->size * of->modulus);
    return now->length * (1 - contraction) / contraction;
}

/* Nesterov's momentum for condition number 1/(s m). */
static double momentum(const problem *of, double size) {
    double root = sqrt(fmin(1, size * of->modulus));
    return (1 - root) / (1 + root);
}

static bool minimise(problem *of, iterate *now, double *last, double *next) {
    size_t n = of->solver->states;
    double best = INFINITY;
    unsigned since_best = 0;
    for (;;) {
        if (!descend(of, now))
            return false;
        double left = bound(of, now);
        if (left < best) {
            since_best = 0;
            best = left;
            memcpy(next, now->to, n * sizeof(double));
        } else {
            since_best++;
        }
        bool settled = now->length <= grain(of, now) || since_best >= SETTLED;
        if (best <= of->solver->tolerance || settled || of->gradients >= MOST_GRADIENTS)
            return true;
        now->size = fmin(GROW * now->size, 1 / of->modulus);
        /* Momentum, unless it points against the step that was just made. */
        double along = 0, weight = momentum(of, now->size);
        for (size_t i = 0; i < n; i++)
            along += (now->at[i] - now->to[i]) * (now->to[i] - last[i]);
        if (along > 0)
            weight = 0;
        for (size_t i = 0; i < n; i++) {
            double to = now->to[i];
            now->at[i] = to + weight * (to - last[i]);
            last[i] = to;
        }
        if (weight > 0) {
            if (!slope(of, now->at, now->slope))
                return false;
        } else {
            memcpy(now->slope, now->slope_to, n * sizeof(double));
        }
    }
}

/* False: a function failed or gave numbers that are not finite. next must not be from. */
static bool proximal_step(proximal_solver *solver, const tc_agent_functions *functions, const double *p,
                          const double *steps, double regularization, const double *from, double *next) {
    double longest = 0;
    for (size_t i = 0; i < solver->states; i++)
        longest = fmax(longest, steps[i]);
    problem of = {.solver = solver,
                  .functions = functions,
                  .p = p,
                  .from = from,
                  .steps = steps,
                  .regularization = regularization,
                  .modulus = regularization + 1 / longest};
    size_t n = solver->states;
    double *work = solver->work, *last = work + 4 * n;
    iterate now = {.at = work, .slope = work + n, .to = work + 2 * n, .slope_to = work + 3 * n};
    now.size = solver->step_size > 0 ? fmin(solver->step_size, 1 / of.modulus) : 1 / of.modulus;
    memcpy(now.at, from, n * sizeof(double));
    memcpy(last, from, n * sizeof(double));
    if (!slope(&of, now.at, now.slope) || !minimise(&of, &now, last, next))
        return false;
    solver->step_size = now.size;
    return true;
}

/* ---- Functions as an agent ---- */

static const double ACCURACY = 1e-10; /* relative to the narrowest side of the box */

typedef struct caller {
    tc_agent_callbacks given;
    tc_agent_functions watched; /* the same functions; they set has_failed */
    bool has_failed;
    proximal_solver solver;
    double *squares; /* by state: its step over the answer's */
    bool is_even;    /* all of them are the same */
    double *steps;   /* by state, of this round */
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

/* As for a file without a start. */
static double clipped_zero(double lower, double upper) { return lower > 0 ? lower : upper < 0 ? upper : 0; }

static bool start(void *context, double *x) {
    caller *c = context;
    const tc_agent_callbacks *given = &c->given;
    for (size_t i = 0; i < given->states; i++)
        x[i] = given->start != NULL ? given->start[i] : clipped_zero(given->lower[i], given->upper[i]);
    return given->functions.project(given->functions.context, x) && are_finite(x, given->states);
}

static tc_slater_answer check_slater(void *context) { return ((const caller *)context)->given.slater; }

static const double MEMBERSHIP = 1e-9; /* relative to a side of the box */

static bool holds(void *context, const double *p) {
    const tc_agent_callbacks *given = &((caller *)context)->given;
    double *nearest = ((caller *)context)->solver.work;
    bool good = given->slater == TC_SLATER_YES;
    memcpy(nearest, p, given->states * sizeof(double));
    good = good && given->functions.project(given->functions.context, nearest);
    for (size_t i = 0; good && i < given->states; i++)
        good = fabs(nearest[i] - p[i]) <= MEMBERSHIP * (given->upper[i] - given->lower[i]);
    return good;
}

static const char *scale(void *context, const int8_t *scales) {
    caller *c = context;
    const tc_agent_callbacks *given = &c->given;
    c->is_even = true;
    for (size_t i = 0; i < given->states; i++) {
        c->squares[i] = scales == NULL ? 1 : ldexp(1, 2 * scales[i]);
        c->is_even = c->is_even && c->squares[i] == c->squares[0];
    }
    if (c->is_even || given->proximal == NULL || given->proximal_by_state != NULL)
        return NULL;
    return "its own minimiser takes one step for all of them: it needs proximal_by_state";
}

/* Proj[ x - step ((gradient + p) + regularization x) ], as engine/agents.h has it. */
static bool gradient_step(caller *c, const tc_agent_answer *answer, const double *x, double *next) {
    const tc_agent_callbacks *given = &c->given;
    if (!watch_gradient(c, x, next))
        return false;
    for (size_t i = 0; i < given->states; i++)
        next[i] = x[i] - answer->step * ((next[i] + answer->p[i]) + answer->regularization * x[i]);
    return are_finite(next, given->states) && watch_project(c, next);
}

/* By the device's own minimiser, or the one above. */
static bool minimising_step(caller *c, const tc_agent_answer *answer, const double *x, double *next) {
    const tc_agent_callbacks *given = &c->given;
    void *context = given->functions.context;
    const double *p = answer->p;
    for (size_t i = 0; i < given->states; i++)
        c->steps[i] = answer->step * c->squares[i];
    if (given->proximal != NULL && c->is_even)
        return note(c, given->proximal(context, p, c->steps[0], answer->regularization, x, next));
    if (given->proximal_by_state != NULL)
        return note(c, given->proximal_by_state(context, p, c->steps, answer->regularization, x, next));
    return proximal_step(&c->solver, &c->watched, p, c->steps, answer->regularization, x, next);
}

static tc_agent_stepped step(void *context, const tc_agent_answer *answer, const double *x, double *next) {
    caller *c = context;
    c->has_failed = false;
    bool good =
        answer->method == TC_WIRE_PUBLISHED ? gradient_step(c, answer, x, next) : minimising_step(c, answer, x, next);
    const tc_agent_callbacks *given = &c->given;
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
                  .squares = TC_NEW(arena, double, states),
                  .steps = TC_NEW(arena, double, states),
                  .watched = {.context = c, .gradient = watch_gradient, .project = watch_project},
                  .solver = {.states = states,
                             .tolerance = ACCURACY * narrowest,
                             .work = TC_NEW(arena, double, PROXIMAL_WORK *states)}};
    (void)scale(c, NULL);
    *steps = (tc_agent_steps){.name = callbacks->name,
                              .states = states,
                              .lower = callbacks->lower,
                              .upper = callbacks->upper,
                              .context = c,
                              .start = start,
                              .check_slater = check_slater,
                              .holds = holds,
                              .scale = scale,
                              .step = step};
    return TC_OK;
}
