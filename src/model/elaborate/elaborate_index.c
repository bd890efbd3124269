/* v[i], M[i, j], M[i], v[a..b]; with an index that differs between members, the elements are gathered into a column. */
#include "model/elaborate/elaborate.h"

#include <math.h>
#include <string.h>

typedef struct tc_subscript {
    size_t first, count; /* 0-based; count 1 and is_single for a single index */
    bool is_single;
    tc_expr varying; /* an index that differs between members; TC_NO_EXPR for none */
    tc_coef places;  /* its values, 1-based */
} tc_subscript;

struct tc_gather {
    const void *base;
    size_t offset;
    tc_expr varying[2];
    tc_expr leaf;
};

static bool check_places(tc_elaborator *elaborator, const tc_block *block, const tc_subscript *subscript, size_t extent,
                         tc_span span) {
    size_t members = elaborator->model->families[block->number].count;
    for (size_t k = 0; k < members; k++) {
        double place = tc_coef_at(subscript->places, k);
        if (place >= 1 && place <= (double)extent && place == floor(place))
            continue;
        tc_error(elaborator->diagnostics, span,
                 "this index is %.17g for %s, but must be a whole number between 1 and %zu", place,
                 tc_member_text(elaborator, block, k), extent);
        return false;
    }
    return true;
}

static bool elaborate_subscript(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree, size_t extent,
                                tc_subscript *subscript, const tc_secret **secret) {
    double first = 1, last = 1;
    subscript->varying = TC_NO_EXPR;
    if (tree->kind == TC_TREE_RANGE) {
        if (!tc_elaborate_whole(elaborator, scope, tree->items[0], "the first index", 1, (double)extent, &first) ||
            !tc_elaborate_whole(elaborator, scope, tree->items[1], "the last index", first, (double)extent, &last))
            return false;
        subscript->first = (size_t)first - 1;
        subscript->count = (size_t)(last - first) + 1;
        return true;
    }
    tc_value value = tc_elaborate_tree(elaborator, scope, tree);
    if (value.broken)
        return false;
    if (value.rank != 0 || tc_value_has_state(&elaborator->values, &value)) {
        tc_error(elaborator->diagnostics, tree->span, "an index is a whole number that does not depend on states%s",
                 value.rank != 0
                     ? tc_arena_format(elaborator->arena, ", but this is %s", tc_shape_text(elaborator->arena, &value))
                     : "");
        return false;
    }
    *secret = *secret != NULL ? *secret : value.secret;
    subscript->is_single = true;
    subscript->count = 1;
    const tc_scope *general = tc_general_scope(scope);
    if (!value.is_number && tc_value_has_data(&elaborator->values, &value) && general != NULL) {
        subscript->varying = value.node;
        subscript->places = tc_coef_of(elaborator, general->block, value.node);
        return check_places(elaborator, general->block, subscript, extent, tree->span);
    }
    double place = value.is_number ? value.number : tc_coef_of(elaborator, elaborator->blocks, value.node).value;
    if (place != floor(place) || place < 1 || place > (double)extent) {
        tc_error(elaborator->diagnostics, tree->span, "the index %.17g is outside of 1..%zu", place, extent);
        return false;
    }
    subscript->first = (size_t)place - 1;
    return true;
}

/* The place, in the base, of element (i, j) of the result for member k. */
static size_t place_of(const tc_value *base, const tc_subscript *subscripts, size_t i, size_t j, size_t member) {
    size_t at[2] = {i, j};
    for (size_t d = 0; d < 2; d++)
        at[d] += subscripts[d].varying != TC_NO_EXPR ? (size_t)tc_coef_at(subscripts[d].places, member) - 1
                                                     : subscripts[d].first;
    return at[0] * base->columns + at[1];
}

static tc_expr gather(tc_elaborator *elaborator, tc_block *block, const tc_value *base, const tc_subscript *subscripts,
                      size_t i, size_t j, bool is_private) {
    const void *from = base->is_number ? (const void *)base->numbers : (const void *)base->nodes;
    size_t offset = (i + subscripts[0].first) * base->columns + j + subscripts[1].first;
    for (size_t g = 0; g < block->gather_count; g++) {
        const struct tc_gather *known = &block->gathers[g];
        if (known->base == from && known->offset == offset && known->varying[0] == subscripts[0].varying &&
            known->varying[1] == subscripts[1].varying)
            return known->leaf;
    }
    size_t members = elaborator->model->families[block->number].count;
    double *column = TC_NEW(elaborator->arena, double, members);
    tc_coef *elements = NULL;
    if (!base->is_number) {
        elements = TC_NEW(elaborator->arena, tc_coef, base->rows * base->columns);
        for (size_t e = 0; e < base->rows * base->columns; e++)
            elements[e] = tc_coef_of(elaborator, block, base->nodes[e]);
    }
    for (size_t k = 0; k < members; k++) {
        size_t place = place_of(base, subscripts, i, j, k);
        column[k] = base->is_number ? base->numbers[place] : tc_coef_at(elements[place], k);
    }
    struct tc_gather made = {from, offset, {subscripts[0].varying, subscripts[1].varying}, 0};
    made.leaf = tc_new_column(elaborator, block, column, is_private);
    TC_PUSH(elaborator->arena, block->gathers, block->gather_count, made);
    return made.leaf;
}

static tc_value pick(tc_elaborator *elaborator, const tc_scope *scope, const tc_value *base,
                     const tc_subscript *subscripts, const tc_secret *secret) {
    size_t rows = subscripts[0].count, columns = subscripts[1].count;
    bool varies = subscripts[0].varying != TC_NO_EXPR || subscripts[1].varying != TC_NO_EXPR;
    bool is_number = base->is_number && !varies;
    double *numbers = is_number ? TC_NEW(elaborator->arena, double, rows *columns) : NULL;
    tc_expr *nodes = is_number ? NULL : TC_NEW(elaborator->arena, tc_expr, rows * columns);
    const tc_scope *general = tc_general_scope(scope);
    for (size_t e = 0; e < rows * columns; e++) {
        size_t i = e / columns, j = e % columns;
        if (varies)
            nodes[e] = gather(elaborator, general->block, base, subscripts, i, j, secret != NULL);
        else if (is_number)
            numbers[e] = base->numbers[place_of(base, subscripts, i, j, 0)];
        else
            nodes[e] = base->nodes[place_of(base, subscripts, i, j, 0)];
    }
    unsigned char rank = (unsigned char)(!subscripts[0].is_single + !subscripts[1].is_single);
    tc_value value;
    if (rank == 0)
        value = is_number ? tc_value_number(numbers[0]) : tc_value_node(nodes[0]);
    else if (rank == 1)
        value =
            is_number ? tc_value_numbers(numbers, 1, rows * columns, 1) : tc_value_nodes(nodes, 1, rows * columns, 1);
    else
        value = is_number ? tc_value_numbers(numbers, 2, rows, columns) : tc_value_nodes(nodes, 2, rows, columns);
    value.secret = secret;
    return value;
}

tc_value tc_elaborate_index(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    tc_value base = tc_elaborate_tree(elaborator, scope, tree->items[0]);
    if (base.broken)
        return base;
    if (tree->count - 1 > base.rank) {
        tc_error(elaborator->diagnostics, tree->span, "%zu %s given, but this is %s", tree->count - 1,
                 tree->count == 2 ? "index is" : "indices are", tc_shape_text(elaborator->arena, &base));
        return tc_value_broken();
    }
    /* A vector is treated as a matrix of one column; M[i] as M[i, all]. */
    tc_subscript subscripts[2] = {{.count = base.rows, .varying = TC_NO_EXPR},
                                  {.count = base.columns, .varying = TC_NO_EXPR}};
    subscripts[1].is_single = base.rank == 1;
    const tc_secret *secret = base.secret;
    for (size_t d = 0; d + 1 < tree->count; d++) {
        subscripts[d] = (tc_subscript){0};
        if (!elaborate_subscript(elaborator, scope, tree->items[d + 1], d == 0 ? base.rows : base.columns,
                                 &subscripts[d], &secret))
            return tc_value_broken();
        if (subscripts[d].varying != TC_NO_EXPR && tc_value_has_state(&elaborator->values, &base)) {
            tc_error(elaborator->diagnostics, tree->items[d + 1]->span,
                     "the index of a state must be the same for all members");
            return tc_value_broken();
        }
    }
    return pick(elaborator, scope, &base, subscripts, secret);
}
