/* Problems of bench/solve_ratios.py by Ipopt, with sparse first and second derivatives and its default options but
 * for the ordering of its linear solver.
 *
 *     ipopt_solve KIND < NUMBERS         prints: seconds of the solve alone, objective, largest violation, status
 *
 * Numbers: how many agents N; of ball, quadratic and affine N times want_1 want_2; of ev the 24 limits, then N times
 * need, weight, pref_1 .. pref_24. All constraints are g(x) <= limit with one row for the set of each agent, where it
 * has one, and then the rows that couple agents. */
#include <IpStdCInterface.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIR = 2, HOURS = 24, LIMITS = 10 };

typedef enum kind { BALL, QUADRATIC, AFFINE, EV } kind;

typedef struct problem {
    kind kind;
    size_t agents, dim, sets, coupling; /* sets: rows of agents */
    double *data;                       /* by agent */
    size_t columns;
    double *limits;
} problem;

static const double *data_of(const problem *p, size_t agent) { return p->data + agent * p->columns; }

static void *room(size_t count) {
    void *numbers = calloc(count > 0 ? count : 1, sizeof(double));
    if (numbers == NULL) {
        (void)fprintf(stderr, "ipopt_solve: out of memory\n");
        exit(3);
    }
    return numbers;
}

static double wish(const problem *p, size_t agent, size_t c) {
    const double *data = data_of(p, agent);
    switch (p->kind) {
    case BALL:
        return c == 0 ? 4 * data[0] : 1;
    case QUADRATIC:
    case AFFINE:
        return data[c];
    case EV:
        return data[2 + c];
    }
    return 0;
}

static double weight(const problem *p, size_t agent) { return p->kind == EV ? data_of(p, agent)[1] : 1; }

/* ---- functions, as Ipopt asks for them ---- */

static Bool objective(Index n, Number *x, Bool is_new, Number *value, UserDataPtr data) {
    const problem *p = data;
    (void)n, (void)is_new;
    *value = 0;
    for (size_t i = 0; i < p->agents; i++)
        for (size_t c = 0; c < p->dim; c++) {
            double d = x[i * p->dim + c] - wish(p, i, c);
            *value += weight(p, i) * d * d;
        }
    return TRUE;
}

static Bool gradient(Index n, Number *x, Bool is_new, Number *out, UserDataPtr data) {
    const problem *p = data;
    (void)n, (void)is_new;
    for (size_t i = 0; i < p->agents; i++)
        for (size_t c = 0; c < p->dim; c++)
            out[i * p->dim + c] = 2 * weight(p, i) * (x[i * p->dim + c] - wish(p, i, c));
    return TRUE;
}

static Bool constraints(Index n, Number *x, Bool is_new, Index m, Number *g, UserDataPtr data) {
    const problem *p = data;
    (void)n, (void)is_new;
    memset(g, 0, (size_t)m * sizeof *g);
    for (size_t i = 0; i < p->agents; i++) {
        const Number *own = x + i * p->dim;
        const double *want = data_of(p, i);
        double *rows = g + p->sets;
        switch (p->kind) {
        case BALL:
            g[i] = (own[0] - want[0]) * (own[0] - want[0]) + (own[1] - want[1]) * (own[1] - want[1]);
            rows[0] += own[0] * own[0] + own[1] * own[1];
            break;
        case QUADRATIC:
        case AFFINE:
            for (size_t j = 0; j < LIMITS; j++)
                rows[j] += (p->kind == AFFINE ? own[0] : own[0] * own[0]) + (double)(j + 1) * own[1];
            break;
        case EV:
            for (size_t t = 0; t < HOURS; t++) {
                g[i] -= own[t];
                rows[t] += own[t];
            }
            break;
        }
    }
    return TRUE;
}

static void entry(size_t *at, Index *row, Index *column, Number *value, size_t r, size_t c, double number) {
    if (value == NULL) {
        row[*at] = (Index)r;
        column[*at] = (Index)c;
    } else {
        value[*at] = number;
    }
    ++*at;
}

static size_t jacobian_entries(const problem *p) {
    return p->agents * (p->kind == BALL ? 2 * PAIR : p->kind == EV ? 2 * HOURS : LIMITS * PAIR);
}

static Bool jacobian(Index n, Number *x, Bool is_new, Index m, Index count, Index *row, Index *column, Number *value,
                     UserDataPtr data) {
    const problem *p = data;
    size_t at = 0;
    (void)n, (void)is_new, (void)m, (void)count;
    for (size_t i = 0; i < p->agents; i++) {
        const double *want = data_of(p, i);
        for (size_t c = 0; c < p->dim; c++) {
            size_t v = i * p->dim + c;
            double own = value == NULL ? 0 : x[v];
            if (p->kind == BALL) {
                entry(&at, row, column, value, i, v, 2 * (own - want[c]));
                entry(&at, row, column, value, p->sets, v, 2 * own);
            } else if (p->kind == EV) {
                entry(&at, row, column, value, i, v, -1);
                entry(&at, row, column, value, p->sets + c, v, 1);
            } else {
                for (size_t j = 0; j < LIMITS; j++)
                    entry(&at, row, column, value, p->sets + j, v,
                          c == 1              ? (double)(j + 1)
                          : p->kind == AFFINE ? 1
                                              : 2 * own);
            }
        }
    }
    return TRUE;
}

static Bool hessian(Index n, Number *x, Bool is_new, Number factor, Index m, Number *lambda, Bool new_lambda,
                    Index count, Index *row, Index *column, Number *value, UserDataPtr data) {
    const problem *p = data;
    size_t at = 0;
    (void)n, (void)x, (void)is_new, (void)m, (void)new_lambda, (void)count;
    double prices = 0;
    for (size_t j = 0; value != NULL && p->kind == QUADRATIC && j < LIMITS; j++)
        prices += lambda[j];
    for (size_t i = 0; i < p->agents; i++)
        for (size_t c = 0; c < p->dim; c++) {
            double curvature = 0;
            if (value != NULL)
                curvature = 2 * weight(p, i) * factor + (p->kind == BALL ? 2 * (lambda[i] + lambda[p->sets])
                                                         : p->kind == QUADRATIC && c == 0 ? 2 * prices
                                                                                          : 0);
            entry(&at, row, column, value, i * p->dim + c, i * p->dim + c, curvature);
        }
    return TRUE;
}

/* ---- the problem ---- */

static void read_numbers(double *into, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (scanf("%lf", &into[i]) != 1) {
            (void)fprintf(stderr, "ipopt_solve: numbers are missing\n");
            exit(2);
        }
}

static problem read_problem(const char *name) {
    static const char *const names[] = {"ball", "quadratic", "affine", "ev"};
    problem p = {.dim = PAIR, .columns = PAIR};
    size_t k = 0;
    while (k < 4 && strcmp(name, names[k]) != 0)
        k++;
    double agents = 0;
    read_numbers(&agents, 1);
    if (k == 4 || !(agents >= 1 && agents <= 1e7)) {
        (void)fprintf(stderr, "usage: ipopt_solve ball|quadratic|affine|ev < NUMBERS\n");
        exit(2);
    }
    p.kind = (kind)k;
    p.agents = (size_t)agents;
    p.coupling = p.kind == BALL ? 1 : p.kind == EV ? HOURS : LIMITS;
    p.sets = p.kind == BALL || p.kind == EV ? p.agents : 0;
    p.limits = room(p.sets + p.coupling);
    if (p.kind == EV) {
        p.dim = HOURS;
        p.columns = HOURS + 2;
        read_numbers(p.limits + p.sets, HOURS);
    }
    p.data = room(p.agents * p.columns);
    read_numbers(p.data, p.agents * p.columns);
    for (size_t i = 0; i < p.sets; i++)
        p.limits[i] = p.kind == BALL ? (1 + data_of(&p, i)[0]) * (1 + data_of(&p, i)[0]) : -data_of(&p, i)[0];
    for (size_t j = 0; p.kind != EV && j < p.coupling; j++)
        p.limits[p.sets + j] = (p.kind == BALL ? 1.5 : 0.1 + 0.3 * (double)(j + 1)) * agents;
    return p;
}

static double seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int count, char **arguments) {
    problem p = read_problem(count == 2 ? arguments[1] : "");
    size_t n = p.agents * p.dim, m = p.sets + p.coupling;
    double *x = room(n), *lower = room(n), *upper = room(n), *least = room(m), *g = room(m), value = 0, violation = 0;
    for (size_t v = 0; v < n; v++) {
        lower[v] = p.kind == BALL ? -10 : 0;
        upper[v] = p.kind == BALL ? 10 : p.kind == EV ? 7.4 : 1;
        x[v] = (lower[v] + upper[v]) / 2;
    }
    for (size_t j = 0; j < m; j++)
        least[j] = -2e19;
    IpoptProblem solver =
        CreateIpoptProblem((Index)n, lower, upper, (Index)m, least, p.limits, (Index)jacobian_entries(&p), (Index)n, 0,
                           objective, constraints, gradient, jacobian, hessian);
    char level[] = "print_level", banner[] = "sb", yes[] = "yes"; /* the interface wants them writable */
    char ordering[] = "mumps_pivot_order";
    /* 6: an ordering for almost dense rows. The one that Debian's MUMPS chooses by itself fails from 10,000 agents on.
     */
    if (solver == NULL || !AddIpoptIntOption(solver, level, 0) || !AddIpoptStrOption(solver, banner, yes) ||
        !AddIpoptIntOption(solver, ordering, 6))
        return 3;
    double began = seconds();
    int status = IpoptSolve(solver, x, g, &value, NULL, NULL, NULL, &p);
    double took = seconds() - began;
    (void)constraints((Index)n, x, TRUE, (Index)m, g, &p);
    for (size_t j = 0; j < m; j++)
        violation = fmax(violation, g[j] - p.limits[j]);
    printf("%.9g %.17g %.3g %d\n", took, value, violation, status);
    FreeIpoptProblem(solver);
    return 0;
}
