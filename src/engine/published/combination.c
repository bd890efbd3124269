#include "engine/published/combination.h"

#include <math.h>
#include <stdlib.h>

struct tc_combiner {
    tc_arena *arena;
    const tc_dag *dag;
    double *factors; /* by node; zero outside tc_combination_of */
    bool *listed;
    tc_expr *nodes; /* those under the open root */
    size_t count, capacity;
};

tc_combiner *tc_combiner_new(tc_arena *arena, const tc_dag *dag) {
    tc_combiner *made = TC_NEW(arena, tc_combiner, 1);
    *made = (tc_combiner){.arena = arena,
                          .dag = dag,
                          .factors = TC_NEW(arena, double, dag->count),
                          .listed = TC_NEW(arena, bool, dag->count)};
    return made;
}

typedef struct parts { /* node = by_a * a + by_b * b; nothing of the kind where both are 0 */
    double by_a, by_b;
} parts;

static double constant_of(const tc_dag *dag, tc_expr e) {
    return dag->nodes[e].op == TC_CONST ? dag->nodes[e].u.value : 0;
}

static parts parts_of(const tc_dag *dag, const tc_node *node) {
    double value;
    if (node->op == TC_ADD)
        return (parts){1, 1};
    if (node->op == TC_SUB)
        return (parts){1, -1};
    if (node->op == TC_NEG)
        return (parts){-1, 0};
    if (node->op == TC_MUL && (value = constant_of(dag, node->a)) != 0)
        return (parts){0, value};
    if (node->op == TC_MUL && (value = constant_of(dag, node->b)) != 0)
        return (parts){value, 0};
    if (node->op == TC_DIV && (value = constant_of(dag, node->b)) != 0 && isfinite(1 / value))
        return (parts){1 / value, 0};
    return (parts){0, 0};
}

static bool is_linear(parts p) { return p.by_a != 0 || p.by_b != 0; }

static void list(tc_combiner *combiner, tc_expr node) {
    if (combiner->listed[node])
        return;
    if (combiner->count == combiner->capacity) {
        size_t capacity = 2 * combiner->capacity + 64;
        combiner->nodes =
            tc_arena_grow(combiner->arena, combiner->nodes, combiner->count, capacity, sizeof *combiner->nodes);
        combiner->capacity = capacity;
    }
    combiner->listed[node] = true;
    combiner->nodes[combiner->count++] = node;
}

static int decreasing(const void *x, const void *y) {
    tc_expr a = *(const tc_expr *)x, b = *(const tc_expr *)y;
    return (a < b) - (a > b);
}

static void list_all(tc_combiner *combiner, tc_expr root) {
    combiner->count = 0;
    list(combiner, root);
    for (size_t i = 0; i < combiner->count; i++) {
        const tc_node *node = &combiner->dag->nodes[combiner->nodes[i]];
        parts p = parts_of(combiner->dag, node);
        if (p.by_a != 0)
            list(combiner, node->a);
        if (p.by_b != 0)
            list(combiner, node->b);
    }
    qsort(combiner->nodes, combiner->count, sizeof *combiner->nodes, decreasing);
}

/* Children have smaller numbers than parents: a node's factor is complete when its turn comes. */
tc_combination tc_combination_of(tc_combiner *combiner, tc_expr root) {
    tc_combination made = {0};
    list_all(combiner, root);
    made.terms = TC_NEW(combiner->arena, tc_combination_term, combiner->count);
    combiner->factors[root] = 1;
    for (size_t i = 0; i < combiner->count; i++) {
        tc_expr at = combiner->nodes[i];
        const tc_node *node = &combiner->dag->nodes[at];
        double factor = combiner->factors[at];
        parts p = parts_of(combiner->dag, node);
        combiner->factors[at] = 0;
        combiner->listed[at] = false;
        if (p.by_a != 0)
            combiner->factors[node->a] += factor * p.by_a;
        if (p.by_b != 0)
            combiner->factors[node->b] += factor * p.by_b;
        if (node->op == TC_CONST)
            made.constant += factor * node->u.value;
        else if (!is_linear(p) && factor != 0)
            made.terms[made.count++] = (tc_combination_term){factor, at};
    }
    for (size_t i = 0; i < made.count / 2; i++) {
        tc_combination_term kept = made.terms[i];
        made.terms[i] = made.terms[made.count - 1 - i];
        made.terms[made.count - 1 - i] = kept;
    }
    return made;
}
