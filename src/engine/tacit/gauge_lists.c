/* Lists what a family's bodies, slopes and curvatures are made of: atoms of the expressions, each of them once. */
#include "engine/tacit/gauge_build.h"

#include <stdlib.h>

#define NODE_ONE TC_NO_EXPR /* raw.row is a node until rows have numbers */

/* ---- expressions ---------------------------------------------------------------------------------------------------
 */

/* Takes constant factors off an expression. */
static tc_expr peel(const tc_dag *dag, tc_expr e, double *factor) {
    for (;;) {
        const tc_node *node = &dag->nodes[e];
        if (node->op == TC_NEG) {
            *factor = -*factor;
            e = node->a;
        } else if (node->op == TC_MUL && dag->nodes[node->a].op == TC_CONST) {
            *factor *= dag->nodes[node->a].u.value;
            e = node->b;
        } else if (node->op == TC_MUL && dag->nodes[node->b].op == TC_CONST) {
            *factor *= dag->nodes[node->b].u.value;
            e = node->a;
        } else if (node->op == TC_DIV && dag->nodes[node->b].op == TC_CONST) {
            *factor /= dag->nodes[node->b].u.value;
            e = node->a;
        } else {
            return e;
        }
    }
}

/* A derivative is not split into atoms, since the size of a sum is not the sum of sizes; only factors are taken off. */
static tc_gauge_raw derivative(const tc_gauge_builder *b, uint32_t at, uint32_t input, tc_expr value) {
    tc_combination is = tc_combination_of(b->combiner, value);
    tc_gauge_raw made = {.at = at, .input = input, .factor = 1};
    if (is.count == 0) {
        made.row = NODE_ONE;
        made.factor = is.constant;
    } else if (is.count == 1 && is.constant == 0) {
        made.row = is.terms[0].atom;
        made.factor = is.terms[0].factor;
    } else {
        made.row = peel(b->gauge->model->dag, value, &made.factor);
    }
    return made;
}

static void collect_values(const tc_gauge_builder *b, const tc_family_derivatives *d, const tc_family *family,
                           tc_gauge_lists *lists) {
    size_t count = 0;
    tc_combination *bodies = TC_NEW(b->arena, tc_combination, d->body_count);
    for (size_t i = 0; i < d->body_count; i++) {
        bodies[i] = tc_combination_of(b->combiner, d->bodies[i]);
        count += bodies[i].count;
    }
    lists->values = TC_NEW(b->arena, tc_gauge_raw, count);
    for (size_t i = 0; i < d->body_count; i++) {
        b->gauge->fixed.value[d->sums[i]] += bodies[i].constant * (double)family->count;
        for (size_t t = 0; t < bodies[i].count; t++)
            lists->values[lists->value_count++] = (tc_gauge_raw){
                .row = bodies[i].terms[t].atom, .input = d->sums[i], .factor = bodies[i].terms[t].factor};
    }
}

static void collect(const tc_gauge_builder *b, const tc_family_derivatives *d, const tc_family *family,
                    tc_gauge_lists *lists) {
    collect_values(b, d, family, lists);
    lists->slopes = TC_NEW(b->arena, tc_gauge_raw, d->body_first_count);
    for (size_t i = 0; i < d->body_first_count; i++) {
        const tc_first *first = &d->body_first[i];
        lists->slopes[lists->slope_count++] = derivative(b, first->column, d->sums[first->row], first->value);
    }
    lists->bends = TC_NEW(b->arena, tc_gauge_raw, d->body_second_count);
    for (size_t i = 0; i < d->body_second_count; i++) {
        const tc_second *second = &d->body_second[i];
        uint32_t pair = second->column * (uint32_t)family->dim + second->other;
        lists->bends[lists->bend_count++] = derivative(b, pair, d->sums[second->row], second->value);
    }
}

int tc_gauge_increasing(const void *x, const void *y) {
    tc_expr a = *(const tc_expr *)x, b = *(const tc_expr *)y;
    return (a > b) - (a < b);
}

static size_t list_nodes(const tc_gauge_raw *raw, size_t count, tc_expr *nodes, size_t at) {
    for (size_t i = 0; i < count; i++)
        if (raw[i].row != NODE_ONE)
            nodes[at++] = raw[i].row;
    return at;
}

static void number_nodes(const tc_gauge_builder *b, tc_gauge_lists *lists) {
    size_t count = 0;
    lists->nodes = TC_NEW(b->arena, tc_expr, lists->value_count + lists->slope_count + lists->bend_count);
    count = list_nodes(lists->values, lists->value_count, lists->nodes, count);
    count = list_nodes(lists->slopes, lists->slope_count, lists->nodes, count);
    count = list_nodes(lists->bends, lists->bend_count, lists->nodes, count);
    if (count > 1)
        qsort(lists->nodes, count, sizeof *lists->nodes, tc_gauge_increasing);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || lists->nodes[i] != lists->nodes[lists->node_count - 1])
            lists->nodes[lists->node_count++] = lists->nodes[i];
}

/* Row 0 is ONE. */
static void number_rows(const tc_gauge_lists *lists, tc_gauge_raw *raw, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const tc_expr *found = raw[i].row == NODE_ONE ? NULL
                                                      : bsearch(&raw[i].row, lists->nodes, lists->node_count,
                                                                sizeof *lists->nodes, tc_gauge_increasing);
        raw[i].row = found == NULL ? 0 : (uint32_t)(found - lists->nodes) + 1;
    }
}

tc_gauge_lists tc_gauge_list(const tc_gauge_builder *b, const tc_family_derivatives *d, const tc_family *family) {
    tc_gauge_lists made = {0};
    collect(b, d, family, &made);
    number_nodes(b, &made);
    number_rows(&made, made.values, made.value_count);
    number_rows(&made, made.slopes, made.slope_count);
    number_rows(&made, made.bends, made.bend_count);
    return made;
}
