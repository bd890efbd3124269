/* Families whose members' data are made from their numbers, so that one member can be written again as a family of its
 * own or as an agent. */
#ifndef TC_TESTS_ENGINE_CROWD_H
#define TC_TESTS_ENGINE_CROWD_H

#include "calculus/derivatives.h"
#include "engine/agents.h"
#include "model/model.h"
#include "solver/project/set.h"
#include "support/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CROWD_DIM = 4, CROWD_TEXT = 8192 };

typedef struct crowd {
    tc_arena *arena;
    tc_model *model;
    tc_derivatives *derivatives;
} crowd;

static inline crowd crowd_of(const char *text) {
    crowd made = {.arena = tc_arena_new(0)};
    tc_escape escape;
    if (made.arena == NULL || TC_TRY(made.arena, &escape) != TC_OK)
        abort();
    tc_buffer messages = tc_buffer_new(made.arena, 1 << 16);
    if (tc_model_parse(made.arena, "test.tacit", text, strlen(text), NULL, &messages, &made.model) != TC_OK) {
        (void)fprintf(stderr, "%s\n%s\n", text, tc_buffer_text(&messages));
        abort();
    }
    made.derivatives = tc_derive(made.arena, made.model);
    tc_escape_end(made.arena, &escape);
    return made;
}

static inline void crowd_free(crowd *c) { tc_arena_free(c->arena); }

/* Objectives over all operations; a, b, d, w are numbers of the member in [0, 1). */
static const char *const OBJECTIVES[] = {
    "sumsq(x - [a, b, d, w])",
    "(1 + w) * sumsq(x - [a, b, d, 2 * a]) + 3 * x[2]",
    "exp(a * x[1] - b) + exp(0.3 * x[2]) + (x[3] - d)^4",
    "-w * log(4 + x[1] + a) - sqrt(5 + b + x[2]) + x[4]^2",
    "huber(x[1] - a, 0.3 + b) + huber(2 * x[3] + x[4], 0.5)",
    "logsumexp(x[1] - a, x[2] * (1 + b), -x[3], d) + 0.05 * sumsq(x)",
    "norm([x[1] - 3, x[2] + 4 * a + 3, x[3]]) + pow(4 + x[4], 1.5 + 1)",
    "1 / (5 + a + x[1]) + (x[2] + b) / (7 + d) + x[3]^3 / 9 + x[4]^20 / 1e9",
    "sqrt(sumsq(x - [a, b, d, w]) + 0.1 + w^2) + quadform(x[1..2], [[2, 1], [1, 3]])",
    "(w - 0.5) * x[1] + x[3]", /* derivatives that are constant, and two that are zero by structure */
    "0.7 * (1.3 + a) * sum(k in 1..4: (x[k] - b * k)^2) + dot([a, b, d, w], x)",
};
enum { OBJECTIVE_COUNT = sizeof OBJECTIVES / sizeof *OBJECTIVES };

/* Sets that hold the point (a, b, d, w) / 4 + 1/4, one for each kind and form. */
static const char *const SETS[] = {
    "",
    "private set x in [a - 1, b + 0.6]",
    "private set sum(x) <= 1 + a + b",
    "private set x[1] * (1 + a) - 2 * x[2] + b * x[3] + x[4] <= 0.9 + w",
    "private set x[1] + x[2] * (0.5 + w) - x[3] == (a + 1) / 4 + (b + 1) / 4 * (0.5 + w) - (d + 1) / 4",
    "private set x[2..4] in simplex((b + d + w) / 4 + 0.75)",
    "private set norm(x - [a, b, d, w]) <= 1.1 + a",
    "private set x[1..3] in ball([b, b, a], 0.9 + d * 4)", /* cuts nothing for some */
    "private set norm1(x - [d, d, d, d]) <= 2.2 + w",
    "private set x[1..2] in ball([a, a], 0.8); private set x[3] + 2 * x[4] <= 1.4 + d; private set x[3] <= 0.8",
    "private set quadform(x[1..2] - [a, b], [[2, 0.5], [0.5, 1 + d]]) <= 1.7",
    "private set sum(x) <= 1.3 + a + b; private set norm(x - [a, a, a, a]) <= 1.2 + w",
    "private set x[1] + x[2] <= 0.6 + a; private set x[2] - x[3] <= 0.4 + b; private set x[1..2] in ball1(0.3, 1.2)",
    "private set x[1] - 5 * floor(2 * a) <= 0.9; private set x[1] + x[2] + 5 * floor(2 * a) >= -0.2",
    /* slabs: wide and narrow, with one side that cuts nothing for some, with two caps, and without room */
    "private set sum(x) >= 0.9 - a; private set sum(x) <= 1.8 + b + 30 * floor(1.3 * d)",
    "private set -9 * floor(2 * b) - 3 * w <= x[1] * (1 + a) + b * x[2] - x[4] <= 2.1 + 9 * floor(2 * d)",
    ("private set x[1..2] in ball([a, b], 1.4); private set 0.5 <= x[3] + (1 - 2 * floor(2 * w)) * x[4] + 1 <= 2; "
     "private set x[3] + (1 - 2 * floor(2 * w)) * x[4] <= 1.3 + w - d / 2"),
    "private set (a + b + 2) / 4 <= x[1] + x[2] <= (a + b + 2) / 4",
};
enum { SET_COUNT = sizeof SETS / sizeof *SETS };

static inline void crowd_lines(char *out, size_t size, const char *j, const char *objective, const char *sets) {
    (void)snprintf(out, size,
                   "  private param a = %s * 0.6180339887 - floor(%s * 0.6180339887)\n"
                   "  private param b = %s * 0.4142135623 - floor(%s * 0.4142135623)\n"
                   "  private param d = %s * 0.7320508075 - floor(%s * 0.7320508075)\n"
                   "  private param w = %s * 0.2360679774 - floor(%s * 0.2360679774)\n"
                   "  state x[4] in [-2, 3]\n  private minimize %s\n  %s\n}\n",
                   j, j, j, j, j, j, j, j, objective, sets);
}

/* Members offset + 1 .. offset + count. */
static inline void crowd_family(char *out, size_t size, const char *name, size_t count, size_t offset,
                                const char *objective, const char *sets) {
    char lines[CROWD_TEXT / 2], j[32];
    (void)snprintf(j, sizeof j, "(i + %zu)", offset);
    crowd_lines(lines, sizeof lines, j, objective, sets);
    (void)snprintf(out, size, "agents %s[i in 1..%zu] {\n%s", name, count, lines);
}

/* Member number j, on its own. */
static inline void crowd_agent(char *out, size_t size, const char *name, size_t j, const char *objective,
                               const char *sets) {
    char lines[CROWD_TEXT / 2], number[32];
    (void)snprintf(number, sizeof number, "%zu", j);
    crowd_lines(lines, sizeof lines, number, objective, sets);
    (void)snprintf(out, size, "agent %s {\n%s", name, lines);
}

/* A number that depends on the member and the component alone. */
static inline double crowd_number(size_t member, size_t component, uint64_t salt, double low, double high) {
    uint64_t state = salt * 1000003 + member * 17 + component;
    return uniform(&state, low, high);
}

typedef struct crowd_rows {
    double *at[CROWD_DIM];
} crowd_rows;

/* Numbers of members offset + 1 .. offset + count. */
static inline crowd_rows crowd_rows_of(tc_arena *arena, size_t count, size_t offset,
                                       double (*of)(size_t member, size_t component)) {
    crowd_rows made;
    for (size_t c = 0; c < CROWD_DIM; c++) {
        made.at[c] = TC_NEW(arena, double, count);
        for (size_t k = 0; k < count; k++)
            made.at[c][k] = of(offset + k + 1, c);
    }
    return made;
}

/* A random point of a set: drawn towards its inner point until it is inside, or, in a set without room, projected.
 * Either way it is checked to be in the set. */
static inline bool crowd_feasible(tc_set *set, const double *inner, uint64_t *seed, double *y) {
    for (size_t c = 0; c < set->dim; c++)
        y[c] = uniform(seed, -2, 3);
    for (int drawn = 0; drawn < 20 && tc_set_violation(set, y, NULL) > 1e-13; drawn++)
        for (size_t c = 0; c < set->dim; c++)
            y[c] = inner[c] + (y[c] - inner[c]) * 0.7;
    if (tc_set_violation(set, y, NULL) > 1e-13)
        (void)tc_project(set, y, y);
    return tc_set_violation(set, y, NULL) <= 1e-12;
}

#endif
