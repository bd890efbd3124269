#include "model/elaborate/squares.h"

enum { MOST_PENDING = 64 }; /* sums waiting while others are taken apart; chains need one place */

typedef struct pending {
    tc_expr node;
    tc_expr factor; /* positive; TC_NO_EXPR for one */
} pending;

typedef struct walk {
    tc_dag *dag;
    pending stack[MOST_PENDING];
    size_t depth;
    tc_expr *arguments; /* NULL on the first walk, which only counts */
    size_t count;
} walk;

static bool is_positive(const tc_dag *dag, tc_expr e) {
    return dag->nodes[e].op == TC_CONST && dag->nodes[e].u.value > 0;
}

/* Both walks take the same steps; only the second makes nodes. */
static tc_expr factor_of(const walk *w, pending item, tc_expr by, bool divide) {
    if (w->arguments == NULL)
        return TC_NO_EXPR;
    tc_expr factor = item.factor == TC_NO_EXPR ? tc_const(w->dag, 1) : item.factor;
    return divide ? tc_div(w->dag, factor, by) : tc_mul(w->dag, factor, by);
}

/* root(factor) * base is an argument. */
static void add_argument(walk *w, tc_expr base, tc_expr factor) {
    if (w->arguments != NULL)
        w->arguments[w->count] = factor == TC_NO_EXPR ? base : tc_mul(w->dag, tc_sqrt(w->dag, factor), base);
    w->count++;
}

/* An even power or a constant becomes an argument, a sum or a multiple waits. false: it is none of these. */
static bool take(walk *w, pending item) {
    const tc_node n = w->dag->nodes[item.node]; /* a copy: the pool may move */
    bool build = w->arguments != NULL;
    if (n.op == TC_POWI && n.u.exponent >= 2 && n.u.exponent % 2 == 0) {
        add_argument(w, build ? tc_pow(w->dag, n.a, (double)n.u.exponent / 2) : item.node, item.factor);
        return true;
    }
    if (is_positive(w->dag, item.node)) {
        add_argument(w, build ? tc_sqrt(w->dag, item.node) : item.node, item.factor);
        return true;
    }
    bool multiple = n.op == TC_MUL && is_positive(w->dag, n.a), part = n.op == TC_DIV && is_positive(w->dag, n.b);
    if ((n.op != TC_ADD && !multiple && !part) || w->depth == MOST_PENDING)
        return false;
    w->stack[w->depth++] = item;
    return true;
}

static bool collect(walk *w, tc_expr e) {
    w->depth = w->count = 0;
    bool fits = take(w, (pending){e, TC_NO_EXPR});
    while (fits && w->depth > 0) {
        pending item = w->stack[--w->depth];
        const tc_node n = w->dag->nodes[item.node];
        if (n.op == TC_ADD)
            fits = take(w, (pending){n.a, item.factor}) && take(w, (pending){n.b, item.factor});
        else if (n.op == TC_MUL)
            fits = take(w, (pending){n.b, factor_of(w, item, n.a, false)});
        else
            fits = take(w, (pending){n.a, factor_of(w, item, n.b, true)});
    }
    return fits;
}

tc_expr tc_root_of_squares(tc_dag *dag, tc_expr e) {
    walk w = {.dag = dag};
    if (!dag->nodes[e].has_state || !collect(&w, e))
        return TC_NO_EXPR;
    w.arguments = TC_NEW(dag->arena, tc_expr, w.count);
    (void)collect(&w, e);
    return tc_norm(dag, w.arguments, w.count);
}

tc_expr tc_squares_of(tc_dag *dag, tc_expr norm) {
    size_t count = tc_operand_count(dag, norm);
    tc_expr sum = tc_const(dag, 0);
    for (size_t i = 0; i < count; i++)
        sum = tc_add(dag, sum, tc_pow(dag, tc_operand(dag, norm, i), 2));
    return sum;
}
