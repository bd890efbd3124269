#include "model/expr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_NODES = 256, FIRST_TABLE = 1024 };

tc_dag *tc_dag_new(tc_arena *arena, size_t node_limit) {
    tc_dag *dag = TC_NEW(arena, tc_dag, 1);
    dag->arena = arena;
    dag->limit = node_limit < TC_NO_EXPR ? node_limit : TC_NO_EXPR - 1;
    dag->capacity = FIRST_NODES;
    dag->nodes = TC_NEW(arena, tc_node, FIRST_NODES);
    dag->spans = TC_NEW(arena, tc_span, FIRST_NODES);
    dag->arguments = TC_NEW(arena, tc_expr, FIRST_NODES);
    dag->argument_capacity = FIRST_NODES;
    dag->table_size = FIRST_TABLE;
    dag->table = TC_NEW(arena, tc_expr, FIRST_TABLE);
    memset(dag->table, 0xff, FIRST_TABLE * sizeof *dag->table);
    return dag;
}

size_t tc_operand_count(const tc_dag *dag, tc_expr e) {
    const tc_node *n = &dag->nodes[e];
    switch ((tc_op)n->op) {
    case TC_CONST:
    case TC_DATA:
    case TC_STATE:
    case TC_COORD:
    case TC_SUM:
        return 0;
    case TC_NEG:
    case TC_POWI:
    case TC_POWR:
    case TC_EXP:
    case TC_LOG:
    case TC_SQRT:
    case TC_HUMP:
    case TC_ABS:
        return 1;
    case TC_ADD:
    case TC_SUB:
    case TC_MUL:
    case TC_DIV:
    case TC_HUBER:
    case TC_CLAMP:
    case TC_INSIDE:
    case TC_PAIR:
    case TC_MAX:
        return 2;
    case TC_LSE:
    case TC_SOFTMAX:
    case TC_NORM:
    case TC_DIRECTION:
    case TC_BEND:
    case TC_POWD:
        return n->b;
    }
    return 0;
}

tc_expr tc_operand(const tc_dag *dag, tc_expr e, size_t i) {
    const tc_node *n = &dag->nodes[e];
    if (tc_is_nary(n->op))
        return dag->arguments[n->a + i];
    return i == 0 ? n->a : n->b;
}

/* ---- sharing ---------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

static uint64_t hash_node(const tc_node *n, const tc_expr *arguments) {
    uint64_t h = mix(n->op | (uint64_t)n->realm << 8, n->u.index);
    h = mix(h, n->family);
    if (tc_is_nary(n->op)) {
        for (size_t i = 0; i < n->b; i++)
            h = mix(h, arguments[i]);
        return mix(h, n->b);
    }
    return mix(mix(h, n->a), n->b);
}

static bool same_node(const tc_dag *dag, const tc_node *x, const tc_node *wanted, const tc_expr *arguments) {
    if (x->op != wanted->op || x->u.index != wanted->u.index || x->family != wanted->family || x->b != wanted->b ||
        x->realm != wanted->realm)
        return false;
    if (tc_is_nary(x->op))
        return memcmp(dag->arguments + x->a, arguments, x->b * sizeof *arguments) == 0;
    return x->a == wanted->a;
}

static void place(tc_expr *table, size_t size, uint64_t hash, tc_expr e) {
    size_t slot = hash & (size - 1);
    while (table[slot] != TC_NO_EXPR)
        slot = (slot + 1) & (size - 1);
    table[slot] = e;
}

static void grow_table(tc_dag *dag) {
    size_t size = dag->table_size * 2;
    tc_expr *table = TC_NEW(dag->arena, tc_expr, size);
    memset(table, 0xff, size * sizeof *table);
    for (size_t e = 0; e < dag->count; e++) {
        const tc_node *n = &dag->nodes[e];
        place(table, size, hash_node(n, tc_is_nary(n->op) ? dag->arguments + n->a : NULL), (tc_expr)e);
    }
    dag->table = table;
    dag->table_size = size;
}

/* Where the arguments stand in the pool. A list that is already there, a derivative's that is its function's own, is
 * shared: the n^2 second derivatives of a function of n arguments must not take n^3 places. */
static tc_expr keep_arguments(tc_dag *dag, const tc_expr *arguments, size_t count) {
    uintptr_t place = (uintptr_t)arguments - (uintptr_t)dag->arguments;
    if (place < dag->argument_count * sizeof *arguments)
        return (tc_expr)(place / sizeof *arguments);
    if (dag->argument_capacity - dag->argument_count < count) {
        size_t capacity = (dag->argument_count + count) * 2;
        dag->arguments =
            tc_arena_grow(dag->arena, dag->arguments, dag->argument_count, capacity, sizeof *dag->arguments);
        dag->argument_capacity = capacity;
    }
    memcpy(dag->arguments + dag->argument_count, arguments, count * sizeof *arguments);
    tc_expr first = (tc_expr)dag->argument_count;
    dag->argument_count += count;
    return first;
}

static void inherit(const tc_dag *dag, tc_node *n, tc_expr child) {
    const tc_node *c = &dag->nodes[child];
    n->has_state |= c->has_state;
    n->has_data |= c->has_data;
    n->is_private |= c->is_private;
    n->is_partial |= c->is_partial;
    if (c->family != UINT32_MAX)
        n->family = c->family;
}

static tc_expr intern(tc_dag *dag, tc_node n, const tc_expr *arguments) {
    n.realm = dag->realm;
    if (n.op == TC_DIV)
        n.is_partial |= dag->nodes[n.b].has_state || dag->nodes[n.b].has_data;
    else if (n.op == TC_LOG || n.op == TC_SQRT || n.op == TC_POWR || n.op == TC_POWD ||
             (n.op == TC_POWI && n.u.exponent < 0))
        n.is_partial |= n.has_state || n.has_data;
    uint64_t hash = hash_node(&n, arguments);
    for (size_t slot = hash & (dag->table_size - 1); dag->table[slot] != TC_NO_EXPR;
         slot = (slot + 1) & (dag->table_size - 1)) {
        if (same_node(dag, &dag->nodes[dag->table[slot]], &n, arguments))
            return dag->table[slot];
    }
    if (dag->count >= dag->limit)
        tc_raise(dag->arena, TC_TOO_LARGE);
    if (dag->count == dag->capacity) {
        dag->nodes = tc_arena_grow(dag->arena, dag->nodes, dag->count, dag->capacity * 2, sizeof *dag->nodes);
        dag->spans = tc_arena_grow(dag->arena, dag->spans, dag->count, dag->capacity * 2, sizeof *dag->spans);
        dag->capacity *= 2;
    }
    if (dag->count * 2 >= dag->table_size)
        grow_table(dag);
    if (tc_is_nary(n.op))
        n.a = keep_arguments(dag, arguments, n.b);
    tc_expr e = (tc_expr)dag->count++;
    dag->nodes[e] = n;
    dag->spans[e] = dag->origin;
    place(dag->table, dag->table_size, hash, e);
    return e;
}

static tc_expr leaf(tc_dag *dag, tc_op op, uint32_t family, uint64_t index, bool is_private) {
    tc_node n = {.op = (uint8_t)op, .family = family, .is_private = is_private, .u.index = index};
    n.has_state = op == TC_STATE || op == TC_COORD || op == TC_SUM;
    n.has_data = op == TC_DATA;
    return intern(dag, n, NULL);
}

static tc_expr unary(tc_dag *dag, tc_op op, tc_expr a) {
    tc_node n = {.op = (uint8_t)op, .family = UINT32_MAX, .a = a};
    inherit(dag, &n, a);
    return intern(dag, n, NULL);
}

static tc_expr binary(tc_dag *dag, tc_op op, tc_expr a, tc_expr b) {
    tc_node n = {.op = (uint8_t)op, .family = UINT32_MAX, .a = a, .b = b};
    inherit(dag, &n, a);
    inherit(dag, &n, b);
    return intern(dag, n, NULL);
}

/* ---- leaves ----------------------------------------------------------------------------------------------------- */

tc_expr tc_const(tc_dag *dag, double value) {
    tc_node n = {.op = TC_CONST, .family = UINT32_MAX};
    n.u.value = value == 0 ? 0 : value; /* one zero, not two */
    return intern(dag, n, NULL);
}

tc_expr tc_data(tc_dag *dag, uint32_t family, uint64_t column, bool is_private) {
    return leaf(dag, TC_DATA, family, column, is_private);
}
tc_expr tc_state(tc_dag *dag, uint32_t family, uint64_t component) {
    return leaf(dag, TC_STATE, family, component, false);
}
tc_expr tc_coord(tc_dag *dag, uint64_t coordinate) { return leaf(dag, TC_COORD, UINT32_MAX, coordinate, false); }
tc_expr tc_sum(tc_dag *dag, uint64_t sum) { return leaf(dag, TC_SUM, UINT32_MAX, sum, false); }

/* ---- exact folding ---------------------------------------------------------------------------------------------- */

static bool both_const(const tc_dag *dag, tc_expr a, tc_expr b, double *x, double *y) {
    if (dag->nodes[a].op != TC_CONST || dag->nodes[b].op != TC_CONST)
        return false;
    *x = dag->nodes[a].u.value;
    *y = dag->nodes[b].u.value;
    return true;
}

/* Whether x + y is a double: the error of the sum (Knuth) is zero. */
static bool add_is_exact(double x, double y, double *sum) {
    *sum = x + y;
    double part = *sum - x;
    return isfinite(*sum) && (x - (*sum - part)) + (y - part) == 0;
}

/* Whether x * y is a double: the fused remainder is zero and nothing was lost to underflow. */
static bool mul_is_exact(double x, double y, double *product) {
    *product = x * y;
    if (x == 0 || y == 0)
        return true;
    return isfinite(*product) && fabs(*product) > 0x1p-900 && fma(x, y, -*product) == 0;
}

static bool div_is_exact(double x, double y, double *quotient) {
    if (y == 0)
        return false;
    *quotient = x / y;
    if (x == 0)
        return true;
    return isfinite(*quotient) && fabs(*quotient) > 0x1p-900 && fabs(x) > 0x1p-900 && fma(*quotient, y, -x) == 0;
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

tc_expr tc_add(tc_dag *dag, tc_expr a, tc_expr b) {
    double x, y, sum;
    if (both_const(dag, a, b, &x, &y) && add_is_exact(x, y, &sum))
        return tc_const(dag, sum);
    if (tc_is_const(dag, a, 0))
        return b;
    if (tc_is_const(dag, b, 0))
        return a;
    if (a == b)
        return tc_mul(dag, tc_const(dag, 2), a);
    if (dag->nodes[b].op == TC_NEG)
        return tc_sub(dag, a, dag->nodes[b].a);
    if (dag->nodes[a].op == TC_NEG)
        return tc_sub(dag, b, dag->nodes[a].a);
    return a < b ? binary(dag, TC_ADD, a, b) : binary(dag, TC_ADD, b, a);
}

tc_expr tc_sub(tc_dag *dag, tc_expr a, tc_expr b) {
    double x, y, sum;
    if (both_const(dag, a, b, &x, &y) && add_is_exact(x, -y, &sum))
        return tc_const(dag, sum);
    if (a == b && !dag->nodes[a].is_partial)
        return tc_const(dag, 0);
    if (tc_is_const(dag, b, 0))
        return a;
    if (tc_is_const(dag, a, 0))
        return tc_neg(dag, b);
    if (dag->nodes[b].op == TC_NEG)
        return tc_add(dag, a, dag->nodes[b].a);
    return binary(dag, TC_SUB, a, b);
}

tc_expr tc_neg(tc_dag *dag, tc_expr a) {
    const tc_node *n = &dag->nodes[a];
    if (n->op == TC_CONST)
        return tc_const(dag, -n->u.value);
    if (n->op == TC_NEG)
        return n->a;
    if (n->op == TC_SUB)
        return tc_sub(dag, n->b, n->a);
    if (n->op == TC_MUL && dag->nodes[n->a].op == TC_CONST)
        return tc_mul(dag, tc_const(dag, -dag->nodes[n->a].u.value), n->b);
    return unary(dag, TC_NEG, a);
}

/* constant * (constant * rest), where the constants' product is exact. */
static tc_expr merge_factors(tc_dag *dag, tc_expr constant, tc_expr b) {
    const tc_node *n = &dag->nodes[b];
    double x, y, product;
    if (n->op == TC_MUL && both_const(dag, constant, n->a, &x, &y) && mul_is_exact(x, y, &product))
        return tc_mul(dag, tc_const(dag, product), n->b);
    return TC_NO_EXPR;
}

/* The base and whole exponent of a node read as a power. */
static tc_expr as_power(const tc_dag *dag, tc_expr e, int64_t *exponent) {
    const tc_node *n = &dag->nodes[e];
    *exponent = n->op == TC_POWI ? n->u.exponent : 1;
    return n->op == TC_POWI ? n->a : e;
}

tc_expr tc_mul(tc_dag *dag, tc_expr a, tc_expr b) {
    double x, y, product;
    if (both_const(dag, a, b, &x, &y) && mul_is_exact(x, y, &product))
        return tc_const(dag, product);
    if (dag->nodes[b].op == TC_CONST || (a > b && dag->nodes[a].op != TC_CONST)) {
        tc_expr swap = a;
        a = b;
        b = swap;
    }
    if (tc_is_const(dag, a, 0) && !dag->nodes[b].is_partial)
        return a;
    if (tc_is_const(dag, a, 1))
        return b;
    if (tc_is_const(dag, a, -1))
        return tc_neg(dag, b);
    if (dag->nodes[a].op == TC_CONST) {
        tc_expr merged = merge_factors(dag, a, b);
        if (merged != TC_NO_EXPR)
            return merged;
        if (dag->nodes[b].op == TC_NEG)
            return tc_mul(dag, tc_const(dag, -dag->nodes[a].u.value), dag->nodes[b].a);
    } else if (dag->nodes[b].op == TC_MUL && dag->nodes[dag->nodes[b].a].op == TC_CONST) {
        return tc_mul(dag, dag->nodes[b].a, tc_mul(dag, a, dag->nodes[b].b));
    } else if (dag->nodes[a].op == TC_MUL && dag->nodes[dag->nodes[a].a].op == TC_CONST) {
        return tc_mul(dag, dag->nodes[a].a, tc_mul(dag, dag->nodes[a].b, b));
    } else {
        int64_t i, j;
        tc_expr base = as_power(dag, a, &i);
        if (base == as_power(dag, b, &j) && i > 0 && j > 0)
            return tc_pow(dag, base, (double)(i + j));
    }
    return binary(dag, TC_MUL, a, b);
}

tc_expr tc_div(tc_dag *dag, tc_expr a, tc_expr b) {
    double x, y, quotient;
    if (both_const(dag, a, b, &x, &y) && div_is_exact(x, y, &quotient))
        return tc_const(dag, quotient);
    if (tc_is_const(dag, b, 1))
        return a;
    if (tc_is_const(dag, b, -1))
        return tc_neg(dag, a);
    if (tc_is_const(dag, a, 0) && dag->nodes[b].op == TC_CONST && dag->nodes[b].u.value != 0)
        return a;
    if (dag->nodes[b].op == TC_CONST && div_is_exact(1, dag->nodes[b].u.value, &quotient))
        return tc_mul(dag, tc_const(dag, quotient), a);
    return binary(dag, TC_DIV, a, b);
}

/* ---- sums of squares --------------------------------------------------------------------------------------------- */

enum { MOST_PENDING = 64 }; /* sums waiting while others are taken apart; chains need one place */

typedef struct pending {
    tc_expr node;
    tc_expr factor; /* positive; TC_NO_EXPR for one */
} pending;

typedef struct square_walk {
    tc_dag *dag;
    pending stack[MOST_PENDING];
    size_t depth;
    tc_expr *arguments; /* NULL on the first walk, which only counts */
    size_t count;
} square_walk;

static bool is_positive(const tc_dag *dag, tc_expr e) {
    return dag->nodes[e].op == TC_CONST && dag->nodes[e].u.value > 0;
}

/* Both walks take the same steps; only the second makes nodes. */
static tc_expr factor_of(const square_walk *w, pending item, tc_expr by, bool divide) {
    if (w->arguments == NULL)
        return TC_NO_EXPR;
    tc_expr factor = item.factor == TC_NO_EXPR ? tc_const(w->dag, 1) : item.factor;
    return divide ? tc_div(w->dag, factor, by) : tc_mul(w->dag, factor, by);
}

/* root(factor) * base is an argument. */
static void add_argument(square_walk *w, tc_expr base, tc_expr factor) {
    if (w->arguments != NULL)
        w->arguments[w->count] = factor == TC_NO_EXPR ? base : tc_mul(w->dag, tc_sqrt(w->dag, factor), base);
    w->count++;
}

/* An even power or a constant becomes an argument, a sum or a multiple waits. false: it is none of these. */
static bool take(square_walk *w, pending item) {
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

static bool collect(square_walk *w, tc_expr e) {
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

/* The node TC_NORM whose square is e, where e depends on states and is made, by addition, of even powers, constants
 * >= 0 and positive multiples of such; else TC_NO_EXPR. Exactly the same function: sqrt(x^2 + c) is the norm of x and
 * the root of c, which stays a node where it is not a double. */
static tc_expr root_of_squares(tc_dag *dag, tc_expr e) {
    square_walk w = {.dag = dag};
    if (!dag->nodes[e].has_state || !collect(&w, e))
        return TC_NO_EXPR;
    w.arguments = TC_NEW(dag->arena, tc_expr, w.count);
    (void)collect(&w, e);
    return tc_norm(dag, w.arguments, w.count);
}

/* The sum of the squares of a TC_NORM's arguments. */
static tc_expr squares_of(tc_dag *dag, tc_expr norm) {
    size_t count = tc_operand_count(dag, norm);
    tc_expr sum = tc_const(dag, 0);
    for (size_t i = 0; i < count; i++)
        sum = tc_add(dag, sum, tc_pow(dag, tc_operand(dag, norm, i), 2));
    return sum;
}

/* ---- powers and functions ---------------------------------------------------------------------------------------- */

tc_expr tc_pow(tc_dag *dag, tc_expr a, double exponent) {
    if (exponent == 0) /* 1, where a is defined */
        return tc_add(dag, tc_const(dag, 1), tc_mul(dag, tc_const(dag, 0), a));
    if (exponent == 1)
        return a;
    tc_node n = {.family = UINT32_MAX, .a = a};
    inherit(dag, &n, a);
    if (exponent != floor(exponent) || fabs(exponent) >= 0x1p31) {
        bool half = exponent + exponent == floor(exponent + exponent) && fabs(exponent) < 0x1p30;
        tc_expr root = half ? root_of_squares(dag, a) : TC_NO_EXPR;
        if (root != TC_NO_EXPR)
            return tc_pow(dag, root, exponent + exponent);
        n.op = TC_POWR;
        n.u.value = exponent;
        return intern(dag, n, NULL);
    }
    const tc_node *base = &dag->nodes[a];
    double product;
    if (base->op == TC_CONST && exponent == 2 && mul_is_exact(base->u.value, base->u.value, &product))
        return tc_const(dag, product);
    if (base->op == TC_POWI && base->u.exponent > 0 && exponent > 0 && (double)base->u.exponent * exponent < 0x1p31)
        return tc_pow(dag, base->a, (double)base->u.exponent * exponent);
    if ((base->op == TC_NEG || base->op == TC_ABS) && fmod(exponent, 2) == 0)
        return tc_pow(dag, base->a, exponent);
    if (base->op == TC_SQRT && exponent == 2 && !base->is_partial)
        return base->a;
    if (base->op == TC_NORM && exponent > 0 && fmod(exponent, 2) == 0) /* smooth, where the norm is not */
        return tc_pow(dag, squares_of(dag, a), exponent / 2);
    n.op = TC_POWI;
    n.u.exponent = (int64_t)exponent;
    return intern(dag, n, NULL);
}

tc_expr tc_exp(tc_dag *dag, tc_expr a) { return tc_is_const(dag, a, 0) ? tc_const(dag, 1) : unary(dag, TC_EXP, a); }

tc_expr tc_log(tc_dag *dag, tc_expr a) { return tc_is_const(dag, a, 1) ? tc_const(dag, 0) : unary(dag, TC_LOG, a); }

tc_expr tc_sqrt(tc_dag *dag, tc_expr a) {
    double product,
        root = dag->nodes[a].op == TC_CONST && dag->nodes[a].u.value >= 0 ? sqrt(dag->nodes[a].u.value) : -1;
    if (root >= 0 && mul_is_exact(root, root, &product) && product == dag->nodes[a].u.value)
        return tc_const(dag, root);
    tc_expr norm = root_of_squares(dag, a);
    return norm != TC_NO_EXPR ? norm : unary(dag, TC_SQRT, a);
}

tc_expr tc_huber(tc_dag *dag, tc_expr a, tc_expr threshold) { return binary(dag, TC_HUBER, a, threshold); }
tc_expr tc_clamp(tc_dag *dag, tc_expr a, tc_expr threshold) { return binary(dag, TC_CLAMP, a, threshold); }
tc_expr tc_inside(tc_dag *dag, tc_expr a, tc_expr threshold) { return binary(dag, TC_INSIDE, a, threshold); }

static tc_expr nary(tc_dag *dag, tc_op op, const tc_expr *arguments, size_t count, uint64_t index) {
    tc_node n = {.op = (uint8_t)op, .family = UINT32_MAX, .b = (tc_expr)count};
    n.u.index = index;
    for (size_t i = 0; i < n.b; i++)
        inherit(dag, &n, arguments[i]);
    return intern(dag, n, arguments);
}

tc_expr tc_lse(tc_dag *dag, const tc_expr *arguments, size_t count) {
    return count == 1 ? arguments[0] : nary(dag, TC_LSE, arguments, count, 0);
}

tc_expr tc_softmax(tc_dag *dag, const tc_expr *arguments, size_t count, size_t index) {
    return count == 1 ? tc_const(dag, 1) : nary(dag, TC_SOFTMAX, arguments, count, index);
}

tc_expr tc_hump(tc_dag *dag, tc_expr a) { return unary(dag, TC_HUMP, a); }

tc_expr tc_pair(tc_dag *dag, tc_expr a, tc_expr b) {
    return a < b ? binary(dag, TC_PAIR, a, b) : binary(dag, TC_PAIR, b, a);
}

tc_expr tc_norm(tc_dag *dag, const tc_expr *arguments, size_t count) { return nary(dag, TC_NORM, arguments, count, 0); }

tc_expr tc_norm_direction(tc_dag *dag, const tc_expr *arguments, size_t count, size_t index) {
    return nary(dag, TC_DIRECTION, arguments, count, index);
}

tc_expr tc_norm_bend(tc_dag *dag, const tc_expr *arguments, size_t count, size_t i, size_t k) {
    uint64_t large = i > k ? i : k, small = i > k ? k : i;
    return nary(dag, TC_BEND, arguments, count, large << 32 | small);
}

tc_expr tc_powd(tc_dag *dag, tc_expr a, tc_expr p) {
    if (dag->nodes[p].op == TC_CONST)
        return tc_pow(dag, a, dag->nodes[p].u.value);
    return nary(dag, TC_POWD, (tc_expr[]){a, p}, 2, 0);
}

tc_expr tc_powd_slope(tc_dag *dag, tc_expr power) {
    const tc_node n = dag->nodes[power];
    return nary(dag, TC_POWD, dag->arguments + n.a, 2, n.u.index + 1);
}

/* ---- kinks ------------------------------------------------------------------------------------------------------ */

tc_expr tc_abs(tc_dag *dag, tc_expr a) {
    const tc_node *n = &dag->nodes[a];
    if (n->op == TC_CONST)
        return tc_const(dag, fabs(n->u.value));
    if (n->op == TC_NEG)
        return tc_abs(dag, n->a);
    return n->op == TC_ABS ? a : unary(dag, TC_ABS, a);
}

tc_expr tc_max(tc_dag *dag, tc_expr a, tc_expr b) {
    double x, y;
    if (both_const(dag, a, b, &x, &y))
        return x > y ? a : b;
    if (a == b)
        return a;
    return binary(dag, TC_MAX, a, b); /* in the order of the arguments, which names of rows follow */
}

tc_expr tc_min(tc_dag *dag, tc_expr a, tc_expr b) { return tc_neg(dag, tc_max(dag, tc_neg(dag, a), tc_neg(dag, b))); }

/* ---- order ------------------------------------------------------------------------------------------------------ */

/* Whether none of the next eight nodes is wanted: a small root of a large graph wants few. */
static bool none_wanted(const bool *wanted) {
    uint64_t word;
    memcpy(&word, wanted, sizeof word);
    return word == 0;
}

static int compare_nodes(const void *x, const void *y) {
    tc_expr a = *(const tc_expr *)x, b = *(const tc_expr *)y;
    return a < b ? -1 : a > b;
}

/* A walk through a part of a large DAG, whose cost does not depend on the rest of it. */
enum { FEW_NODES = 256, FEW_PLACES = 1024 }; /* the places of a hash table are powers of two */

typedef struct few_nodes {
    uint32_t places[FEW_PLACES]; /* the number of a node in met, from 1; 0: free */
    tc_expr met[FEW_NODES];
    size_t count;
} few_nodes;

static bool meet_few(few_nodes *few, tc_expr e) {
    size_t at = (e * UINT32_C(2654435761)) % FEW_PLACES;
    while (few->places[at] != 0 && few->met[few->places[at] - 1] != e)
        at = (at + 1) % FEW_PLACES;
    if (few->places[at] != 0)
        return true;
    if (few->count == FEW_NODES)
        return false;
    few->met[few->count++] = e;
    few->places[at] = (uint32_t)few->count;
    return true;
}

/* NULL where there are more than a few. */
static tc_expr *reach_few(tc_arena *arena, const tc_dag *dag, const tc_expr *roots, size_t root_count, size_t *count) {
    few_nodes few = {.count = 0};
    for (size_t i = 0; i < root_count; i++)
        if (!meet_few(&few, roots[i]))
            return NULL;
    for (size_t next = 0; next < few.count; next++)
        for (size_t i = 0; i < tc_operand_count(dag, few.met[next]); i++)
            if (!meet_few(&few, tc_operand(dag, few.met[next], i)))
                return NULL;
    qsort(few.met, few.count, sizeof *few.met, compare_nodes);
    *count = few.count;
    tc_expr *order = TC_NEW(arena, tc_expr, few.count);
    memcpy(order, few.met, few.count * sizeof *order);
    return order;
}

tc_expr *tc_reachable(tc_arena *arena, const tc_dag *dag, const tc_expr *roots, size_t root_count, size_t *count) {
    tc_expr top = 0;
    for (size_t i = 0; i < root_count; i++)
        top = roots[i] > top ? roots[i] : top;
    tc_expr *few = top >= FEW_NODES * 8 ? reach_few(arena, dag, roots, root_count, count) : NULL;
    if (few != NULL)
        return few;
    /* Children have smaller numbers: one downward sweep from the largest root finds all of them. */
    bool *wanted = TC_NEW(arena, bool, (size_t)top + 1);
    for (size_t i = 0; i < root_count; i++)
        wanted[roots[i]] = true;
    *count = 0;
    for (size_t e = root_count > 0 ? (size_t)top + 1 : 0; e-- > 0;) {
        while (e >= sizeof(uint64_t) && none_wanted(wanted + e - sizeof(uint64_t) + 1))
            e -= sizeof(uint64_t);
        if (!wanted[e])
            continue;
        ++*count;
        for (size_t i = 0; i < tc_operand_count(dag, (tc_expr)e); i++)
            wanted[tc_operand(dag, (tc_expr)e, i)] = true;
    }
    tc_expr *order = TC_NEW(arena, tc_expr, *count);
    size_t next = 0;
    for (size_t e = 0; next < *count; e++) {
        while (e + sizeof(uint64_t) <= top && none_wanted(wanted + e))
            e += sizeof(uint64_t);
        if (wanted[e])
            order[next++] = (tc_expr)e;
    }
    return order;
}
