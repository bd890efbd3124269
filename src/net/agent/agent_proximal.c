#include "net/agent/agent_proximal.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_GRADIENTS = 20000, SETTLED = 1000 /* steps in a row that come no closer: rounding */ };
static const double SHRINK = 0.6, GROW = 1.15; /* of the step size, when it is refused and when it is accepted */

typedef struct problem {
    tc_agent_proximal *solver;
    const tc_agent_functions *functions;
    const double *p, *from;
    double step, regularization, modulus;
    unsigned gradients;
} problem;

/* Of everything: grad f + p + regularization x + (x - from)/step. */
static bool slope(problem *of, const double *x, double *out) {
    bool finite = of->functions->gradient(of->functions->context, x, out);
    of->gradients++;
    for (size_t i = 0; i < of->solver->states && finite; i++) {
        out[i] = ((out[i] + of->p[i]) + of->regularization * x[i]) + (x[i] - of->from[i]) / of->step;
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

/* Below this the two ends cannot be told apart by their slopes. */
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
        if (best <= of->solver->tolerance || settled || of->gradients >= MOST_GRADIENTS) {
            of->solver->inaccurate += best > of->solver->tolerance && !settled;
            return true;
        }
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

bool tc_agent_proximal_step(tc_agent_proximal *solver, const tc_agent_functions *functions, const double *p,
                            double step, double regularization, const double *from, double *next) {
    problem of = {.solver = solver,
                  .functions = functions,
                  .p = p,
                  .from = from,
                  .step = step,
                  .regularization = regularization,
                  .modulus = regularization + 1 / step};
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
