#include "plan/placement/placement.h"

#include <math.h>
#include <string.h>

/* Minimises  sum c x^-q - tau sum log(1 - S x)  for falling tau by Newton's method, in the variables d = dx / x. The
 * Newton equations are solved by Cholesky where there are few columns, else by conjugate gradients, stopped early: any
 * such step descends. The multipliers tau / s, corrected by the step, give the lower bound (docs/proofs/scales.md). */

enum { DENSE = 300, MOST_STEPS = 300, MOST_GRADIENTS = 400 };

typedef struct newton {
    tc_allotment *problem;
    size_t n, m;
    double tau;
    double *slack;    /* 1 - S x */
    double *lambda;   /* multipliers */
    double *gradient; /* in d */
    double *diagonal; /* q (q + 1) c x^-q: the objective's part of the Hessian */
    double *jacobi;   /* the whole Hessian's diagonal */
    double *step;     /* d */
    double *moved;    /* S (x d) */
    double *residual, *direction, *product, *preconditioned;
    double *matrix; /* n x n, or NULL */
} newton;

static double power(double x, int q) { return q == 1 ? x : x * x; }

double tc_allotment_cost(const tc_allotment *problem, const double *x) {
    double sum = 0;
    for (size_t e = 0; e < problem->columns; e++)
        sum += problem->cost[e] / power(x[e], problem->q);
    return sum;
}

static void apply_rows(const newton *w, const double *d, double *out) { /* S (x d) */
    const tc_rows *s = &w->problem->rows;
    for (size_t u = 0; u < w->m; u++) {
        double sum = 0;
        for (size_t k = s->start[u]; k < s->start[u + 1]; k++)
            sum += s->value[k] * w->problem->x[s->column[k]] * d[s->column[k]];
        out[u] = sum;
    }
}

static void find_slack(newton *w) {
    const tc_rows *s = &w->problem->rows;
    for (size_t u = 0; u < w->m; u++) {
        double sum = 0;
        for (size_t k = s->start[u]; k < s->start[u + 1]; k++)
            sum += s->value[k] * w->problem->x[s->column[k]];
        w->slack[u] = 1 - sum;
    }
}

static void find_derivatives(newton *w) {
    const tc_rows *s = &w->problem->rows;
    const double *x = w->problem->x;
    int q = w->problem->q;
    for (size_t e = 0; e < w->n; e++) {
        double term = w->problem->cost[e] / power(x[e], q);
        w->gradient[e] = -q * term;
        w->diagonal[e] = w->jacobi[e] = q * (q + 1) * term;
    }
    for (size_t u = 0; u < w->m; u++) {
        double first = w->tau / w->slack[u], second = first / w->slack[u];
        for (size_t k = s->start[u]; k < s->start[u + 1]; k++) {
            double part = s->value[k] * x[s->column[k]];
            w->gradient[s->column[k]] += first * part;
            w->jacobi[s->column[k]] += second * part * part;
        }
    }
}

/* ---- the Newton equations --------------------------------------------------------------------------------------- */

static void fill_matrix(newton *w) {
    const tc_rows *s = &w->problem->rows;
    const double *x = w->problem->x;
    size_t n = w->n;
    memset(w->matrix, 0, n * n * sizeof *w->matrix);
    for (size_t e = 0; e < n; e++)
        w->matrix[e * n + e] = w->diagonal[e];
    for (size_t u = 0; u < w->m; u++) {
        double weight = w->tau / w->slack[u] / w->slack[u];
        for (size_t k = s->start[u]; k < s->start[u + 1]; k++) {
            double *row = w->matrix + s->column[k] * n, part = weight * s->value[k] * x[s->column[k]];
            for (size_t j = s->start[u]; j < s->start[u + 1]; j++)
                row[s->column[j]] += part * s->value[j] * x[s->column[j]];
        }
    }
}

/* Row operations on the symmetric matrix, so that inner loops run along rows. */
static void solve_densely(newton *w) {
    size_t n = w->n;
    fill_matrix(w);
    for (size_t e = 0; e < n; e++)
        w->step[e] = -w->gradient[e];
    for (size_t k = 0; k < n; k++) {
        double *pivot = w->matrix + k * n;
        for (size_t i = k + 1; i < n; i++) {
            double *row = w->matrix + i * n, factor = pivot[i] / pivot[k]; /* symmetric: pivot[i] is row[k] */
            if (factor == 0)
                continue;
            for (size_t j = i; j < n; j++)
                row[j] -= factor * pivot[j];
            w->step[i] -= factor * w->step[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        double sum = w->step[k];
        for (size_t j = k + 1; j < n; j++)
            sum -= w->matrix[k * n + j] * w->step[j];
        w->step[k] = sum / w->matrix[k * n + k];
    }
}

static void apply_hessian(newton *w, const double *d, double *out) {
    const tc_rows *s = &w->problem->rows;
    apply_rows(w, d, w->moved);
    for (size_t e = 0; e < w->n; e++)
        out[e] = w->diagonal[e] * d[e];
    for (size_t u = 0; u < w->m; u++) {
        double weight = w->tau / w->slack[u] / w->slack[u] * w->moved[u];
        for (size_t k = s->start[u]; k < s->start[u + 1]; k++)
            out[s->column[k]] += weight * s->value[k] * w->problem->x[s->column[k]];
    }
}

static double inner(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void solve_by_gradients(newton *w, double accuracy) {
    for (size_t e = 0; e < w->n; e++) {
        w->step[e] = 0;
        w->residual[e] = -w->gradient[e];
        w->direction[e] = w->preconditioned[e] = w->residual[e] / w->jacobi[e];
    }
    double size = inner(w->n, w->residual, w->preconditioned), target = accuracy * accuracy * size;
    for (int i = 0; i < MOST_GRADIENTS && size > target; i++) {
        apply_hessian(w, w->direction, w->product);
        double length = size / inner(w->n, w->direction, w->product);
        if (!isfinite(length))
            break;
        for (size_t e = 0; e < w->n; e++) {
            w->step[e] += length * w->direction[e];
            w->residual[e] -= length * w->product[e];
            w->preconditioned[e] = w->residual[e] / w->jacobi[e];
        }
        double next = inner(w->n, w->residual, w->preconditioned), ratio = next / size;
        size = next;
        for (size_t e = 0; e < w->n; e++)
            w->direction[e] = w->preconditioned[e] + ratio * w->direction[e];
    }
}

/* ---- one step --------------------------------------------------------------------------------------------------- */

/* For any multipliers >= 0 and y = S' lambda, Hoelder's inequality bounds the optimum from below by
 * (sum c^(1/(q+1)) y^(q/(q+1)))^(q+1) / (sum lambda)^q. */
static double lower_bound(newton *w) {
    const tc_rows *s = &w->problem->rows;
    double total = 0, sum = 0, *y = w->product;
    int q = w->problem->q;
    memset(y, 0, w->n * sizeof *y);
    for (size_t u = 0; u < w->m; u++) {
        total += w->lambda[u];
        for (size_t k = s->start[u]; k < s->start[u + 1]; k++)
            y[s->column[k]] += s->value[k] * w->lambda[u];
    }
    for (size_t e = 0; e < w->n; e++)
        sum += q == 1 ? sqrt(w->problem->cost[e] * y[e]) : cbrt(w->problem->cost[e]) * cbrt(y[e]) * cbrt(y[e]);
    return q == 1 ? sum * sum / total : sum * sum * sum / (total * total);
}

static void note_bound(newton *w) {
    apply_rows(w, w->step, w->moved);
    for (size_t u = 0; u < w->m; u++)
        w->lambda[u] = fmax(0, w->tau / w->slack[u] * (1 + w->moved[u] / w->slack[u]));
    double bound = lower_bound(w);
    if (bound > w->problem->at_best)
        w->problem->at_best = bound;
}

static double barrier(const newton *w, double length) { /* at x (1 + length d) */
    double sum = 0;
    for (size_t e = 0; e < w->n; e++) {
        double factor = 1 + length * w->step[e];
        if (!(factor > 0))
            return HUGE_VAL;
        sum += w->problem->cost[e] / power(w->problem->x[e] * factor, w->problem->q);
    }
    for (size_t u = 0; u < w->m; u++) {
        double slack = w->slack[u] - length * w->moved[u];
        if (!(slack > 0))
            return HUGE_VAL;
        sum -= w->tau * log(slack);
    }
    return sum;
}

/* Backtracking; false when nothing is gained any more. */
static bool walk(newton *w, double slope) {
    double start = barrier(w, 0);
    for (double length = 1; length > 1e-10; length /= 2) {
        if (barrier(w, length) > start + 0.1 * length * slope)
            continue;
        for (size_t e = 0; e < w->n; e++)
            w->problem->x[e] *= 1 + length * w->step[e];
        find_slack(w);
        return true;
    }
    return false;
}

/* The largest S x: x divided by it touches the rows. */
static double reach(const newton *w) {
    double least = 1;
    for (size_t u = 0; u < w->m; u++)
        least = fmin(least, w->slack[u]);
    return 1 - least;
}

static newton *begin(tc_arena *arena, tc_allotment *problem) {
    size_t n = problem->columns, m = problem->rows.count;
    newton *w = TC_NEW(arena, newton, 1);
    *w = (newton){.problem = problem, .n = n, .m = m};
    double **of_columns[] = {&w->gradient, &w->diagonal,  &w->jacobi,  &w->step,
                             &w->residual, &w->direction, &w->product, &w->preconditioned};
    for (size_t i = 0; i < sizeof of_columns / sizeof *of_columns; i++)
        *of_columns[i] = TC_NEW(arena, double, n);
    w->slack = TC_NEW(arena, double, m);
    w->lambda = TC_NEW(arena, double, m);
    w->moved = TC_NEW(arena, double, m);
    w->matrix = n <= DENSE ? TC_NEW(arena, double, n *n) : NULL;
    return w;
}

void tc_allotment_solve(tc_arena *arena, tc_allotment *problem, double accuracy) {
    tc_mark mark = tc_arena_mark(arena);
    newton *w = begin(arena, problem);
    find_slack(w);
    problem->at_best = 0;
    double last_tau = 0.1 * accuracy * tc_allotment_cost(problem, problem->x) / (double)(w->m + 1);
    w->tau = 0.1 * tc_allotment_cost(problem, problem->x) / (double)(w->m + 1);
    for (int i = 0; i < MOST_STEPS; i++, problem->steps++) {
        find_derivatives(w);
        if (w->matrix != NULL)
            solve_densely(w);
        else
            solve_by_gradients(w, w->tau > last_tau ? 1e-2 : 1e-4);
        note_bound(w);
        double touching = tc_allotment_cost(problem, problem->x) * power(reach(w), problem->q);
        if (touching <= problem->at_best * (1 + accuracy))
            break;
        double slope = inner(w->n, w->gradient, w->step); /* minus the squared Newton decrement */
        bool centred = -slope < 0.3 * w->tau;
        if (!walk(w, slope) && w->tau <= last_tau)
            break;
        if (centred || -slope < 1e-3 * w->tau)
            w->tau = fmax(w->tau / 8, last_tau * 1e-3);
    }
    tc_arena_rewind(arena, mark);
}
