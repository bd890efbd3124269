#include "model/elaborate/elaborate.h"

#include <math.h>

enum { DEEPEST_ELABORATION = 2500 };

const tc_scope *tc_general_scope(const tc_scope *scope) {
    for (; scope != NULL; scope = scope->outer) {
        if (scope->name == NULL && scope->member == SIZE_MAX)
            return scope;
    }
    return NULL;
}

bool tc_must_be_public(tc_elaborator *elaborator, const tc_value *value, tc_span span, const char *what) {
    if (value->broken || value->secret == NULL)
        return !value->broken;
    const tc_secret *secret = value->secret;
    tc_error(elaborator->diagnostics, span, "%s is public, but this uses the private '%s'", what, secret->name);
    if (secret->data != NULL)
        tc_note(elaborator->diagnostics, secret->span,
                "'%s' is private because all columns of '%s' are, but those listed; add 'public %s' to this line to "
                "make it public",
                secret->name, secret->data, secret->name);
    else
        tc_note(elaborator->diagnostics, secret->span,
                "'%s' is declared private here; leave 'private' out to make it public", secret->name);
    return false;
}

void tc_count_expansion(tc_elaborator *elaborator, size_t more, tc_span span) {
    elaborator->expansions += more;
    if (elaborator->expansions > TC_MOST_ELEMENTS) {
        tc_error(elaborator->diagnostics, span, "the sums and indices of this file have more than %zu terms",
                 TC_MOST_ELEMENTS);
        tc_raise(elaborator->arena, TC_BAD_PROBLEM);
    }
    if (tc_interrupted(elaborator->monitor))
        tc_raise(elaborator->arena, TC_INTERRUPTED);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

double tc_elaborate_number(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree, const char *what) {
    const char *before = elaborator->no_states;
    elaborator->no_states = what;
    tc_value value = tc_elaborate_tree(elaborator, scope, tree);
    elaborator->no_states = before;
    if (value.broken || !tc_must_be_public(elaborator, &value, tree->span, what))
        return NAN;
    if (value.rank != 0) {
        tc_error(elaborator->diagnostics, tree->span, "%s is a number, but this is %s", what,
                 tc_shape_text(elaborator->arena, &value));
        return NAN;
    }
    if (!value.is_number && tc_value_has_data(&elaborator->values, &value)) {
        tc_error(elaborator->diagnostics, tree->span, "%s is one number, the same for all members", what);
        return NAN;
    }
    return tc_coef_of_value(elaborator, elaborator->blocks, &value, 0).value;
}

bool tc_elaborate_whole(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree, const char *what,
                        double least, double most, double *value) {
    *value = tc_elaborate_number(elaborator, scope, tree, what);
    if (isnan(*value))
        return false;
    if (*value != floor(*value)) {
        tc_error(elaborator->diagnostics, tree->span, "%s is a whole number, but this is %.17g", what, *value);
        return false;
    }
    if (*value < least || *value > most) {
        tc_error(elaborator->diagnostics, tree->span, "%s is between %.17g and %.17g, but this is %.17g", what, least,
                 most, *value);
        return false;
    }
    return true;
}

bool tc_elaborate_range(tc_elaborator *elaborator, const tc_scope *scope, const tc_binder *binder, double *first,
                        double *last) {
    if (!tc_elaborate_whole(elaborator, scope, binder->first, "the first value of a range", -1e15, 1e15, first) ||
        !tc_elaborate_whole(elaborator, scope, binder->last, "the last value of a range", -1e15, 1e15, last))
        return false;
    if (*last - *first + 1 > (double)TC_MOST_ELEMENTS) {
        tc_error(elaborator->diagnostics, tc_span_join(binder->first->span, binder->last->span),
                 "this range has %.17g elements; at most %zu are allowed", *last - *first + 1, TC_MOST_ELEMENTS);
        return false;
    }
    return true;
}

/* ---- trees ------------------------------------------------------------------------------------------------------ */

/* [a, b, c]: a vector of numbers, or a matrix of equally long vectors. */
static tc_value elaborate_vector(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    tc_value *items = TC_NEW(elaborator->arena, tc_value, tree->count);
    const tc_secret *secret = NULL;
    bool broken = false, is_number = true;
    for (size_t i = 0; i < tree->count; i++) {
        items[i] = tc_elaborate_tree(elaborator, scope, tree->items[i]);
        broken = broken || items[i].broken;
        is_number = is_number && items[i].is_number;
        secret = secret != NULL ? secret : items[i].secret;
    }
    if (broken)
        return tc_value_broken();
    for (size_t i = 0; i < tree->count; i++) {
        if (items[i].rank == items[0].rank && items[i].rows == items[0].rows && items[i].rank < 2)
            continue;
        tc_error(elaborator->diagnostics, tree->items[i]->span,
                 "the rows of a matrix are vectors of equal length: "
                 "the first entry is %s, this one %s",
                 tc_shape_text(elaborator->arena, &items[0]), tc_shape_text(elaborator->arena, &items[i]));
        return tc_value_broken();
    }
    bool is_matrix = items[0].rank == 1;
    size_t columns = is_matrix ? items[0].rows : 1;
    double *numbers = is_number ? TC_NEW(elaborator->arena, double, tree->count *columns) : NULL;
    tc_expr *nodes = is_number ? NULL : TC_NEW(elaborator->arena, tc_expr, tree->count * columns);
    for (size_t i = 0; i < tree->count * columns; i++) {
        if (is_number)
            numbers[i] = tc_value_number_at(&items[i / columns], i % columns);
        else
            nodes[i] = tc_value_node_at(&elaborator->values, &items[i / columns], i % columns);
    }
    unsigned char rank = is_matrix ? 2 : 1;
    tc_value value = is_number ? tc_value_numbers(numbers, rank, tree->count, columns)
                               : tc_value_nodes(nodes, rank, tree->count, columns);
    value.secret = secret;
    return value;
}

static tc_value elaborate_chain(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    tc_value value = tc_elaborate_tree(elaborator, scope, tree->spine[0]->items[0]);
    for (size_t i = 0; i < tree->spine_count; i++) {
        const tc_tree *step = tree->spine[i];
        tc_value right = tc_elaborate_tree(elaborator, scope, step->items[1]);
        elaborator->dag->origin = step->span;
        if (step->kind == TC_TREE_ADD)
            value = tc_value_add(&elaborator->values, &value, &right, step->span);
        else if (step->kind == TC_TREE_SUBTRACT)
            value = tc_value_subtract(&elaborator->values, &value, &right, step->span);
        else if (step->kind == TC_TREE_MULTIPLY)
            value = tc_value_product(&elaborator->values, &value, &right, step->span);
        else
            value = tc_elaborate_divide(elaborator, &value, &right, step->span);
    }
    return value;
}

static tc_value elaborate_negation(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    tc_value value = tc_elaborate_tree(elaborator, scope, tree->items[0]);
    elaborator->dag->origin = tree->span;
    return value.broken ? value : tc_value_negate(&elaborator->values, &value);
}

static tc_value elaborate_kind(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    switch (tree->kind) {
    case TC_TREE_NUMBER:
        return tc_value_number(tree->number);
    case TC_TREE_NAME:
        return tc_elaborate_name(elaborator, scope, tree->name, tree->span);
    case TC_TREE_VECTOR:
        return elaborate_vector(elaborator, scope, tree);
    case TC_TREE_NEGATE:
        return elaborate_negation(elaborator, scope, tree);
    case TC_TREE_ADD:
    case TC_TREE_SUBTRACT:
    case TC_TREE_MULTIPLY:
    case TC_TREE_DIVIDE:
        return elaborate_chain(elaborator, scope, tree);
    case TC_TREE_POWER:
        return tc_elaborate_power(elaborator, scope, tree);
    case TC_TREE_CALL:
        return tc_elaborate_call(elaborator, scope, tree);
    case TC_TREE_INDEX:
        return tc_elaborate_index(elaborator, scope, tree);
    case TC_TREE_MEMBER:
        return tc_elaborate_member_name(elaborator, scope, tree);
    case TC_TREE_SUM:
        return tc_elaborate_sum(elaborator, scope, tree);
    case TC_TREE_RANGE:
        break;
    }
    tc_error(elaborator->diagnostics, tree->span, "a range stands only in an index or after 'in'");
    return tc_value_broken();
}

tc_value tc_elaborate_tree(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    if (elaborator->depth >= DEEPEST_ELABORATION) {
        tc_error(elaborator->diagnostics, tree->span, "definitions and expressions are nested too deep here");
        tc_raise(elaborator->arena, TC_BAD_PROBLEM);
    }
    elaborator->depth++;
    elaborator->dag->origin = tree->span;
    tc_value value = elaborate_kind(elaborator, scope, tree);
    elaborator->depth--;
    return value;
}
