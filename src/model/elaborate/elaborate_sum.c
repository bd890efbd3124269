/* sum(i in 1..n: E) and sum(family: E). */
#include "model/elaborate/elaborate.h"

/* The number of the inner sum (family, body), a new one where there is none. */
static size_t inner_sum(tc_elaborator *elaborator, uint32_t family, tc_expr body) {
    tc_model *model = elaborator->model;
    if (model->sum_count * 2 >= elaborator->sum_table_size) {
        size_t size = elaborator->sum_table_size == 0 ? 64 : elaborator->sum_table_size * 2;
        elaborator->sum_table = TC_NEW(elaborator->arena, size_t, size);
        elaborator->sum_table_size = size;
        for (size_t s = 0; s < model->sum_count; s++) {
            size_t slot = model->sums[s].body * (size_t)2654435761u & (size - 1);
            while (elaborator->sum_table[slot] != 0)
                slot = (slot + 1) & (size - 1);
            elaborator->sum_table[slot] = s + 1;
        }
    }
    size_t slot = body * (size_t)2654435761u & (elaborator->sum_table_size - 1);
    for (; elaborator->sum_table[slot] != 0; slot = (slot + 1) & (elaborator->sum_table_size - 1)) {
        size_t known = elaborator->sum_table[slot] - 1;
        if (model->sums[known].body == body && model->sums[known].family == family)
            return known;
    }
    tc_inner_sum sum = {family, body};
    TC_PUSH(elaborator->arena, model->sums, model->sum_count, sum);
    elaborator->sum_table[slot] = model->sum_count;
    return model->sum_count - 1;
}

/* One element of a body, summed over all members; a number where it is free of states. */
static tc_value sum_element(tc_elaborator *elaborator, const tc_block *block, const tc_value *body, size_t i) {
    size_t members = elaborator->model->families[block->number].count;
    tc_expr node = tc_value_node_at(&elaborator->values, body, i);
    if (elaborator->dag->nodes[node].has_state)
        return tc_value_node(tc_sum(elaborator->dag, inner_sum(elaborator, block->number, node)));
    tc_coef coef = tc_coef_of(elaborator, block, node);
    double sum = coef.column == NULL ? coef.value * (double)members : 0;
    for (size_t k = 0; coef.column != NULL && k < members; k++)
        sum += coef.column[k];
    return tc_value_number(sum);
}

static tc_value sum_over_family(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    const tc_binder *binder = &tree->binders[0];
    if (tc_general_scope(scope) != NULL) {
        tc_error(elaborator->diagnostics, tree->span,
                 "a sum over agents cannot stand inside %s; a term speaks of one agent only (a square of a sum is "
                 "written outside: sum(%s: ...)^2)",
                 elaborator->in_block ? "an agent's block" : "another sum over agents", binder->name->text);
        return tc_value_broken();
    }
    tc_block *block = tc_block_named(elaborator, binder->name, binder->span);
    if (block == NULL)
        return tc_value_broken();
    tc_scope inner = {.outer = scope, .block = block, .member = block->statement->is_family ? SIZE_MAX : 0};
    tc_value body = tc_elaborate_tree(elaborator, &inner, tree->items[0]);
    if (tc_refuse_foreign(elaborator, scope, block, &body, tree->span))
        return tc_value_broken();
    if (body.broken || inner.member == 0)
        return body;
    elaborator->dag->origin = tree->span;
    size_t count = tc_value_count(&body);
    double *numbers = TC_NEW(elaborator->arena, double, count);
    tc_expr *nodes = TC_NEW(elaborator->arena, tc_expr, count);
    bool is_number = true;
    for (size_t i = 0; i < count; i++) {
        tc_value element = sum_element(elaborator, block, &body, i);
        is_number = is_number && element.is_number;
        numbers[i] = element.number;
        nodes[i] = tc_value_node_at(&elaborator->values, &element, 0);
    }
    tc_value value;
    if (body.rank == 0)
        value = is_number ? tc_value_number(numbers[0]) : tc_value_node(nodes[0]);
    else
        value = is_number ? tc_value_numbers(numbers, body.rank, body.rows, body.columns)
                          : tc_value_nodes(nodes, body.rank, body.rows, body.columns);
    value.secret = body.secret;
    return tc_value_checked(&elaborator->values, value, tree->span);
}

/* All ranges from binder b on, the first outermost. */
static tc_value sum_over_ranges(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree, size_t b) {
    if (b == tree->binder_count)
        return tc_elaborate_tree(elaborator, scope, tree->items[0]);
    double first, last;
    if (!tc_elaborate_range(elaborator, scope, &tree->binders[b], &first, &last))
        return tc_value_broken();
    tc_value total = tc_value_number(0);
    for (double i = first; i <= last; i++) {
        tc_count_expansion(elaborator, 1, tree->span);
        tc_scope inner = {.outer = scope, .name = tree->binders[b].name, .value = i};
        tc_value term = sum_over_ranges(elaborator, &inner, tree, b + 1);
        elaborator->dag->origin = tree->span;
        total = i == first ? term : tc_value_add(&elaborator->values, &total, &term, tree->span);
        if (total.broken)
            break;
    }
    return total;
}

tc_value tc_elaborate_sum(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    if (tree->binders[0].first == NULL)
        return sum_over_family(elaborator, scope, tree);
    return sum_over_ranges(elaborator, scope, tree, 0);
}
