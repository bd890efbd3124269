#include "calculus/derivatives.h"

#include <stdlib.h>
#include <string.h>

/* Reverse mode: adjoint[e] is the node d root / d e; nodes are visited in decreasing order, so that an adjoint is
 * complete when its node is met. Work per call is proportional to what the root reaches, not to the whole DAG: marks
 * are stamps that need no clearing. */

struct tc_differentiator {
    tc_arena *arena;
    tc_dag *dag;
    uint32_t *stamps;  /* by node: the number of the call that met it last */
    tc_expr *adjoints; /* by node, valid under the current stamp */
    bool *useful;      /* by node, valid under the current stamp: it leads to a wanted leaf */
    size_t capacity;
    uint32_t stamp;
    tc_expr *met; /* the nodes of the current call */
    size_t met_count, met_capacity;
    tc_partial *partials;
    size_t partial_count, partial_capacity;
};

tc_differentiator *tc_differentiator_new(tc_arena *arena, tc_dag *dag) {
    tc_differentiator *d = TC_NEW(arena, tc_differentiator, 1);
    d->arena = arena;
    d->dag = dag;
    return d;
}

static uint64_t leaf_rank(const tc_node *leaf) {
    return leaf->op == TC_COORD ? leaf->u.index + (UINT64_C(1) << 63) : leaf->u.index;
}

static bool is_wanted(const tc_node *n, tc_op op, uint64_t last_rank) {
    bool of_kind = op == TC_STATE ? n->op == TC_STATE : n->op == TC_SUM || n->op == TC_COORD;
    return of_kind && leaf_rank(n) <= last_rank;
}

static void make_room(tc_differentiator *d, size_t nodes) {
    if (d->capacity >= nodes)
        return;
    size_t capacity = nodes > d->capacity * 2 ? nodes : d->capacity * 2;
    d->stamps = tc_arena_grow(d->arena, d->stamps, d->capacity, capacity, sizeof *d->stamps);
    d->adjoints = TC_NEW(d->arena, tc_expr, capacity);
    d->useful = TC_NEW(d->arena, bool, capacity);
    d->capacity = capacity;
}

static void meet(tc_differentiator *d, tc_expr e) {
    if (d->stamps[e] == d->stamp || !d->dag->nodes[e].has_state)
        return;
    d->stamps[e] = d->stamp;
    d->adjoints[e] = TC_NO_EXPR;
    if (d->met_count == d->met_capacity) {
        size_t capacity = d->met_capacity * 2 + 256;
        d->met = tc_arena_grow(d->arena, d->met, d->met_count, capacity, sizeof *d->met);
        d->met_capacity = capacity;
    }
    d->met[d->met_count++] = e;
}

static int by_number(const void *x, const void *y) {
    tc_expr a = *(const tc_expr *)x, b = *(const tc_expr *)y;
    return a < b ? -1 : a > b;
}

/* All nodes with states below root, in increasing order, with the useful ones marked. */
static void collect(tc_differentiator *d, tc_expr root, tc_op op, uint64_t last_rank) {
    d->met_count = 0;
    meet(d, root);
    for (size_t next = 0; next < d->met_count; next++) {
        tc_expr e = d->met[next];
        size_t operands = tc_operand_count(d->dag, e);
        for (size_t i = 0; i < operands; i++)
            meet(d, tc_operand(d->dag, e, i));
    }
    if (d->met_count > 1)
        qsort(d->met, d->met_count, sizeof *d->met, by_number);
    for (size_t i = 0; i < d->met_count; i++) {
        tc_expr e = d->met[i];
        bool useful = is_wanted(&d->dag->nodes[e], op, last_rank);
        size_t operands = tc_operand_count(d->dag, e);
        for (size_t k = 0; k < operands && !useful; k++) {
            tc_expr operand = tc_operand(d->dag, e, k);
            useful = d->dag->nodes[operand].has_state && d->useful[operand];
        }
        d->useful[e] = useful;
    }
}

static bool leads_somewhere(const tc_differentiator *d, tc_expr e) {
    return d->dag->nodes[e].has_state && d->useful[e];
}

static void contribute(tc_differentiator *d, tc_expr to, tc_expr amount) {
    d->adjoints[to] = d->adjoints[to] == TC_NO_EXPR ? amount : tc_add(d->dag, d->adjoints[to], amount);
}

/* d a^p = p a^(p-1). Where p - 1 is not a double it is the sum of two, and a^(p-1) the product of two powers. */
static tc_expr power_rule(tc_dag *dag, tc_expr a, double p) {
    double less = p - 1, part = less - p, rest = (p - (less - part)) + (-1 - part);
    tc_expr power = tc_pow(dag, a, less);
    if (rest != 0)
        power = tc_mul(dag, power, tc_pow(dag, a, rest));
    return tc_mul(dag, tc_const(dag, p), power);
}

static tc_expr softmax_of(tc_dag *dag, const tc_node *n, size_t index) {
    return tc_softmax(dag, dag->arguments + n->a, n->b, index);
}

/* ---- norms: u = a / N, d N / d a_k = u_k, d u_i / d a_k = B_ik ----------------------------------------------------
 */

/* Nodes TC_BEND of more arguments cost too much off the diagonal: there are n^2 of them. */
enum { WIDEST_BEND = 64 };

static tc_expr norm_of(tc_dag *dag, const tc_node *n) { return tc_norm(dag, dag->arguments + n->a, n->b); }

static tc_expr direction_of(tc_dag *dag, const tc_node *n, size_t index) {
    return tc_norm_direction(dag, dag->arguments + n->a, n->b, index);
}

static tc_expr bend_of(tc_dag *dag, const tc_node *n, size_t i, size_t k) {
    if (i == k || n->b <= WIDEST_BEND)
        return tc_norm_bend(dag, dag->arguments + n->a, n->b, i, k);
    return tc_neg(dag, tc_div(dag, tc_mul(dag, direction_of(dag, n, i), direction_of(dag, n, k)), norm_of(dag, n)));
}

/* d B_ik / d a_m = -(B_im u_k + B_km u_i + B_ik u_m) / N */
static tc_expr slope_of_bend(tc_dag *dag, tc_expr e, const tc_node *n, size_t m) {
    size_t i = (size_t)(n->u.index >> 32), k = (size_t)(n->u.index & UINT32_MAX);
    tc_expr sum = tc_mul(dag, bend_of(dag, n, i, m), direction_of(dag, n, k));
    sum = tc_add(dag, sum, tc_mul(dag, bend_of(dag, n, k, m), direction_of(dag, n, i)));
    sum = tc_add(dag, sum, tc_mul(dag, e, direction_of(dag, n, m)));
    return tc_neg(dag, tc_div(dag, sum, norm_of(dag, n)));
}

static void spread_norm(tc_differentiator *d, tc_expr e, const tc_node *n, tc_expr adjoint) {
    tc_dag *dag = d->dag;
    for (size_t k = 0; k < n->b; k++) {
        tc_expr argument = dag->arguments[n->a + k];
        if (!leads_somewhere(d, argument))
            continue;
        tc_expr slope = n->op == TC_NORM        ? direction_of(dag, n, k)
                        : n->op == TC_DIRECTION ? bend_of(dag, n, (size_t)n->u.index, k)
                                                : slope_of_bend(dag, e, n, k);
        contribute(d, argument, tc_mul(dag, adjoint, slope));
    }
}

/* d N^p / d a_k = p N^(p-2) a_k, straight to the arguments: for p >= 2 nothing in it has a kink at 0, while N and u_k
 * have. */
static void spread_norm_power(tc_differentiator *d, tc_expr norm, double p, tc_expr adjoint) {
    tc_dag *dag = d->dag;
    const tc_node n = dag->nodes[norm];
    tc_expr common = tc_mul(dag, adjoint, tc_mul(dag, tc_const(dag, p), tc_pow(dag, norm, p - 2)));
    for (size_t k = 0; k < n.b; k++) {
        tc_expr argument = dag->arguments[n.a + k];
        if (leads_somewhere(d, argument))
            contribute(d, argument, tc_mul(dag, common, argument));
    }
}

/* ---- everything else --------------------------------------------------------------------------------------------- */

static void spread_lse(tc_differentiator *d, tc_expr e, const tc_node *n, tc_expr adjoint) {
    tc_dag *dag = d->dag;
    for (size_t k = 0; k < n->b; k++) {
        tc_expr argument = dag->arguments[n->a + k];
        if (!leads_somewhere(d, argument))
            continue;
        tc_expr share = softmax_of(dag, n, k);
        if (n->op == TC_LSE)
            contribute(d, argument, tc_mul(dag, adjoint, share));
        else if (k == n->u.index) /* d s_i / d u_i = s_i (1 - s_i) */
            contribute(d, argument, tc_mul(dag, adjoint, tc_hump(dag, e)));
        else /* d s_i / d u_k = -s_i s_k */
            contribute(d, argument, tc_neg(dag, tc_mul(dag, adjoint, tc_pair(dag, e, share))));
    }
}

static void spread_power(tc_differentiator *d, const tc_node *n, tc_expr adjoint) {
    double p = n->op == TC_POWI ? (double)n->u.exponent : n->u.value;
    if (!leads_somewhere(d, n->a))
        return;
    if (d->dag->nodes[n->a].op == TC_NORM && p >= 2) /* p - 2 is a double */
        spread_norm_power(d, n->a, p, adjoint);
    else
        contribute(d, n->a, tc_mul(d->dag, adjoint, power_rule(d->dag, n->a, p)));
}

static void spread_quotient(tc_differentiator *d, tc_expr e, const tc_node *n, tc_expr adjoint) {
    tc_expr over = tc_div(d->dag, adjoint, n->b);
    if (leads_somewhere(d, n->a))
        contribute(d, n->a, over);
    if (leads_somewhere(d, n->b))
        contribute(d, n->b, tc_neg(d->dag, tc_mul(d->dag, over, e)));
}

/* The derivative with respect to a of an operation on a alone, or on a and a second operand free of states. */
static tc_expr slope(tc_dag *dag, tc_expr e, const tc_node *n) {
    switch ((tc_op)n->op) {
    case TC_NEG:
        return tc_const(dag, -1);
    case TC_EXP:
        return e;
    case TC_LOG:
        return tc_div(dag, tc_const(dag, 1), n->a);
    case TC_SQRT:
        return tc_div(dag, tc_const(dag, 0.5), e);
    case TC_HUBER:
        return tc_clamp(dag, n->a, n->b);
    case TC_CLAMP:
        return tc_inside(dag, n->a, n->b);
    case TC_HUMP:
        return tc_sub(dag, tc_const(dag, 1), tc_mul(dag, tc_const(dag, 2), n->a));
    case TC_CONST:
    case TC_DATA:
    case TC_STATE:
    case TC_COORD:
    case TC_SUM:
    case TC_ADD:
    case TC_SUB:
    case TC_MUL:
    case TC_DIV:
    case TC_POWI:
    case TC_POWR:
    case TC_INSIDE: /* the third derivative of huber: zero except at the edges, where it is not used */
    case TC_PAIR:
    case TC_ABS:
    case TC_MAX:
    case TC_LSE:
    case TC_SOFTMAX:
    case TC_NORM:
    case TC_DIRECTION:
    case TC_BEND:
    case TC_POWD:
    default:
        return tc_const(dag, 0);
    }
}

static void spread(tc_differentiator *d, tc_expr e, tc_expr adjoint) {
    tc_dag *dag = d->dag;
    const tc_node n = dag->nodes[e]; /* a copy: the pool may move while nodes are added */
    bool a = !tc_is_nary(n.op) && leads_somewhere(d, n.a);
    switch ((tc_op)n.op) {
    case TC_CONST:
    case TC_DATA:
    case TC_STATE:
    case TC_COORD:
    case TC_SUM:
        return;
    case TC_ADD:
    case TC_SUB:
        if (a)
            contribute(d, n.a, adjoint);
        if (leads_somewhere(d, n.b))
            contribute(d, n.b, n.op == TC_ADD ? adjoint : tc_neg(dag, adjoint));
        return;
    case TC_MUL:
    case TC_PAIR:
        if (a)
            contribute(d, n.a, tc_mul(dag, adjoint, n.b));
        if (leads_somewhere(d, n.b))
            contribute(d, n.b, tc_mul(dag, adjoint, n.a));
        return;
    case TC_ABS: /* lifted before anything is differentiated (lift.h) */
    case TC_MAX:
        tc_raise(d->arena, TC_INTERNAL);
    case TC_DIV:
        spread_quotient(d, e, &n, adjoint);
        return;
    case TC_LSE:
    case TC_SOFTMAX:
        spread_lse(d, e, &n, adjoint);
        return;
    case TC_NORM:
    case TC_DIRECTION:
    case TC_BEND:
        spread_norm(d, e, &n, adjoint);
        return;
    case TC_POWD:
        if (leads_somewhere(d, dag->arguments[n.a]))
            contribute(d, dag->arguments[n.a], tc_mul(dag, adjoint, tc_powd_slope(dag, e)));
        return;
    case TC_POWI:
    case TC_POWR:
        spread_power(d, &n, adjoint);
        return;
    case TC_NEG:
    case TC_EXP:
    case TC_LOG:
    case TC_SQRT:
    case TC_HUBER:
    case TC_CLAMP:
    case TC_INSIDE:
    case TC_HUMP:
    default:
        if (a)
            contribute(d, n.a, tc_mul(dag, adjoint, slope(dag, e, &n)));
    }
}

static void add_partial(tc_differentiator *d, tc_expr leaf) {
    if (d->partial_count == d->partial_capacity) {
        size_t capacity = d->partial_capacity * 2 + 64;
        d->partials = tc_arena_grow(d->arena, d->partials, d->partial_count, capacity, sizeof *d->partials);
        d->partial_capacity = capacity;
    }
    d->partials[d->partial_count++] =
        (tc_partial){.rank = leaf_rank(&d->dag->nodes[leaf]), .leaf = leaf, .value = d->adjoints[leaf]};
}

static int by_rank(const void *x, const void *y) {
    const tc_partial *a = x, *b = y;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

const tc_partial *tc_differentiate(tc_differentiator *d, tc_expr root, tc_op op, uint64_t last_rank, size_t *count) {
    make_room(d, d->dag->count);
    if (++d->stamp == 0) {
        memset(d->stamps, 0, d->capacity * sizeof *d->stamps);
        d->stamp = 1;
    }
    d->partial_count = 0;
    collect(d, root, op, last_rank);
    tc_span origin = d->dag->origin;
    uint32_t realm = d->dag->realm;
    d->dag->realm = d->dag->nodes[root].realm;
    if (d->met_count > 0)
        d->adjoints[root] = tc_const(d->dag, 1);
    for (size_t i = d->met_count; i-- > 0;) {
        tc_expr e = d->met[i];
        if (!d->useful[e] || d->adjoints[e] == TC_NO_EXPR || tc_is_const(d->dag, d->adjoints[e], 0))
            continue;
        d->dag->origin = d->dag->spans[e];
        if (is_wanted(&d->dag->nodes[e], op, last_rank))
            add_partial(d, e);
        else
            spread(d, e, d->adjoints[e]);
    }
    d->dag->origin = origin;
    d->dag->realm = realm;
    if (d->partial_count > 1)
        qsort(d->partials, d->partial_count, sizeof *d->partials, by_rank);
    *count = d->partial_count;
    return d->partials;
}

size_t tc_gradient(tc_arena *arena, tc_differentiator *d, tc_expr root, tc_op op, tc_expr **leaves,
                   tc_expr **partials) {
    size_t count;
    const tc_partial *found = tc_differentiate(d, root, op, UINT64_MAX, &count);
    *leaves = TC_NEW(arena, tc_expr, count);
    *partials = TC_NEW(arena, tc_expr, count);
    for (size_t i = 0; i < count; i++) {
        (*leaves)[i] = found[i].leaf;
        (*partials)[i] = found[i].value;
    }
    return count;
}
