/* Random expressions over a few states and data columns, made of every operation, with cancellations and, when wild,
 * with functions outside their domains on part of the box. */
#ifndef TC_TESTS_CALCULUS_RANDOM_EXPRESSION_H
#define TC_TESTS_CALCULUS_RANDOM_EXPRESSION_H

#include "model/expr.h"
#include "support/random.h"

#include <stdio.h>

enum { STATES = 3, COLUMNS = 2 };

static inline tc_expr random_constant(tc_dag *dag, uint64_t *seed) {
    static const double choices[] = {1, 2, -1, 0.5, -3, 0.1, 1e-3, 7.25, 1e4, -0.3};
    return tc_const(dag, choices[random_below(seed, sizeof choices / sizeof *choices)]);
}

static inline tc_expr random_leaf(tc_dag *dag, uint64_t *seed) {
    uint64_t kind = random_below(seed, 10);
    if (kind < 7)
        return tc_state(dag, 0, random_below(seed, STATES));
    return kind < 8 ? tc_data(dag, 0, random_below(seed, COLUMNS), false) : random_constant(dag, seed);
}

static inline tc_expr random_expression(tc_dag *dag, uint64_t *seed, unsigned depth, bool wild);

/* Something above zero, or, when wild, anything. */
static inline tc_expr random_positive(tc_dag *dag, uint64_t *seed, unsigned depth, bool wild) {
    tc_expr u = random_expression(dag, seed, depth, wild);
    if (wild && random_below(seed, 2) == 0)
        return u;
    static const double floors[] = {1, 0.25, 1e-6};
    if (random_below(seed, 4) == 0) /* not a square */
        return tc_add(dag, tc_exp(dag, tc_mul(dag, tc_const(dag, 0.25), u)),
                      tc_const(dag, floors[random_below(seed, 3)]));
    return tc_add(dag, tc_pow(dag, u, 2), tc_const(dag, floors[random_below(seed, 3)]));
}

static inline tc_expr random_power_of_data(tc_dag *dag, uint64_t *seed, unsigned depth, bool wild) {
    tc_expr exponent = tc_data(dag, 0, random_below(seed, COLUMNS), false);
    if (random_below(seed, 2))
        exponent = tc_add(dag, tc_const(dag, (double)random_below(seed, 4)), exponent);
    return tc_powd(dag, random_positive(dag, seed, depth, wild), exponent);
}

static inline tc_expr random_power(tc_dag *dag, uint64_t *seed, unsigned depth, bool wild) {
    static const double reals[] = {0.5, 1.5, 2.5, -0.5, 0.1, 1.7, -1.3, 3.3};
    static const double wholes[] = {2, 3, 4, 5, 6, 9, 17};
    if (random_below(seed, 4) == 0)
        return random_power_of_data(dag, seed, depth, wild);
    if (random_below(seed, 3) == 0)
        return tc_pow(dag, random_positive(dag, seed, depth, wild), reals[random_below(seed, 8)]);
    if (random_below(seed, 4) == 0)
        return tc_pow(dag, random_positive(dag, seed, depth, wild), -(double)(1 + random_below(seed, 3)));
    return tc_pow(dag, random_expression(dag, seed, depth, wild), wholes[random_below(seed, depth > 1 ? 3 : 7)]);
}

static inline tc_expr random_huber(tc_dag *dag, uint64_t *seed, tc_expr u) {
    tc_expr threshold = random_below(seed, 2)
                            ? tc_const(dag, 0.75)
                            : tc_add(dag, tc_const(dag, 0.5), tc_pow(dag, tc_data(dag, 0, 0, false), 2));
    return tc_huber(dag, u, threshold);
}

static inline tc_expr random_nary(tc_dag *dag, uint64_t *seed, unsigned depth, bool wild) {
    tc_expr arguments[4];
    size_t count = 2 + random_below(seed, 3);
    for (size_t i = 0; i < count; i++)
        arguments[i] = random_expression(dag, seed, depth, wild);
    if (random_below(seed, 2)) /* smoothed, or else with a kink */
        arguments[count - 1] = random_below(seed, 3) ? random_constant(dag, seed) : arguments[count - 1];
    switch (random_below(seed, 10)) {
    case 0:
        return tc_softmax(dag, arguments, count, random_below(seed, count));
    case 1:
        return tc_hump(dag, tc_softmax(dag, arguments, count, random_below(seed, count)));
    case 2:
        return tc_pair(dag, tc_softmax(dag, arguments, count, 0), tc_softmax(dag, arguments, count, count - 1));
    case 3:
        return tc_norm_direction(dag, arguments, count, random_below(seed, count));
    case 4:
        return tc_norm_bend(dag, arguments, count, random_below(seed, count), random_below(seed, count));
    case 5:
    case 6:
    case 7:
        return tc_norm(dag, arguments, count - random_below(seed, 2));
    default:
        return tc_lse(dag, arguments, count);
    }
}

static inline tc_expr random_expression(tc_dag *dag, uint64_t *seed, unsigned depth, bool wild) {
    if (depth == 0)
        return random_leaf(dag, seed);
    depth--;
    uint64_t kind = random_below(seed, 18);
    if (kind == 0)
        return random_leaf(dag, seed);
    if (kind == 1)
        return random_power(dag, seed, depth, wild);
    if (kind == 2 || kind == 17)
        return random_nary(dag, seed, depth, wild);
    if (kind == 3)
        return tc_log(dag, random_positive(dag, seed, depth, wild));
    if (kind == 4)
        return tc_sqrt(dag, random_positive(dag, seed, depth, wild));
    tc_expr u = random_expression(dag, seed, depth, wild);
    if (kind == 5)
        return tc_exp(dag, wild ? u : tc_mul(dag, tc_const(dag, 0.25), u));
    if (kind == 6)
        return tc_neg(dag, u);
    if (kind == 7)
        return random_huber(dag, seed, u);
    if (kind == 8)
        return tc_pow(dag, u, 2);
    if (kind == 9)
        return tc_div(dag, u, random_positive(dag, seed, depth, wild));
    tc_expr v = random_expression(dag, seed, depth, wild);
    if (kind == 10) { /* a cancellation */
        tc_expr big = tc_const(dag, 1e8);
        return tc_sub(dag, tc_add(dag, tc_mul(dag, u, v), big), tc_add(dag, u, big));
    }
    if (kind < 13)
        return tc_add(dag, u, v);
    return kind < 14 ? tc_sub(dag, u, v) : tc_mul(dag, u, v);
}

/* For messages: the expression as text, on stderr. */
static inline void show_expression(const tc_dag *dag, tc_expr e) {
    static const char *const names[] = {"const", "data",  "state",     "coord",  "sum",  "+",       "-",
                                        "*",     "/",     "neg",       "powi",   "powr", "exp",     "log",
                                        "sqrt",  "huber", "clamp",     "inside", "lse",  "softmax", "hump",
                                        "pair",  "norm",  "direction", "bend",   "powd"};
    const tc_node *n = &dag->nodes[e];
    if (n->op == TC_CONST)
        (void)fprintf(stderr, "%.17g", n->u.value);
    else
        (void)fprintf(stderr, "%s", names[n->op]);
    if (n->op == TC_POWR)
        (void)fprintf(stderr, "%.17g", n->u.value);
    if (n->op == TC_DATA || n->op == TC_STATE || n->op == TC_POWI || n->op == TC_SOFTMAX || n->op == TC_DIRECTION ||
        n->op == TC_BEND)
        (void)fprintf(stderr, "%lld", (long long)n->u.exponent);
    for (size_t i = 0; i < tc_operand_count(dag, e); i++) {
        (void)fprintf(stderr, i == 0 ? "(" : ", ");
        show_expression(dag, tc_operand(dag, e, i));
    }
    if (tc_operand_count(dag, e) > 0)
        (void)fprintf(stderr, ")");
}

#endif
