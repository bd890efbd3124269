/* Expressions: from trees to values. */
#include "model/elaborate/elaborate.h"

#include <math.h>
#include <string.h>

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
    const tc_private_datum *secret = value->secret;
    tc_error(elaborator->diagnostics, span, "%s is public, but this uses the private '%s'", what, secret->name);
    if (secret->data != NULL)
        tc_note(elaborator->diagnostics, secret->span,
                "'%s' is private: columns of '%s' are, unless this line lists them as public; add 'public %s' to make "
                "it public",
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
        tc_error(elaborator->diagnostics, tree->span, "%s must be a number, but this is %s", what,
                 tc_shape_text(elaborator->arena, &value));
        return NAN;
    }
    if (!value.is_number && tc_value_has_data(&elaborator->values, &value)) {
        tc_error(elaborator->diagnostics, tree->span, "%s must be one number, the same for all members", what);
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
        tc_error(elaborator->diagnostics, tree->span, "%s must be a whole number, but this is %.17g", what, *value);
        return false;
    }
    if (*value < least || *value > most) {
        tc_error(elaborator->diagnostics, tree->span, "%s must be between %.17g and %.17g, but this is %.17g", what,
                 least, most, *value);
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

/* ---- indices -----------------------------------------------------------------------------------------------------
 *
 * v[i], M[i, j], M[i], v[a..b]; with an index that differs between members, the elements are gathered into a column. */

typedef struct index_range {
    size_t first, count; /* 0-based; count 1 and is_single for a single index */
    bool is_single;
    tc_expr varying; /* an index that differs between members; TC_NO_EXPR for none */
    tc_coef places;  /* its values, 1-based */
} index_range;

struct tc_derived_column {
    const void *base;
    size_t offset;
    tc_expr varying[2];
    tc_expr leaf;
};

static bool check_places(tc_elaborator *elaborator, const tc_agents_block *block, const index_range *subscript,
                         size_t extent, bool is_private, tc_span span) {
    const tc_family *family = &elaborator->model->families[block->number];
    bool good = true;
    tc_told before = tc_told_so_far(elaborator->diagnostics);
    for (size_t k = family->known_first; good && k < family->known_end; k++) {
        double place = tc_coef_at(subscript->places, k);
        good = place >= 1 && place <= (double)extent && place == floor(place);
        if (good)
            continue;
        tc_error(elaborator->diagnostics, span, "an index must be a whole number between 1 and %zu, but %s for %s",
                 extent, tc_wrong_number(elaborator, is_private, place), tc_member_text(elaborator, block, k));
    }
    return tc_agreed(elaborator->diagnostics, family, before, good);
}

static bool elaborate_subscript(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree, size_t extent,
                                index_range *subscript, const tc_private_datum **secret) {
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
        tc_error(elaborator->diagnostics, tree->span,
                 "an index must be a whole number that does not depend on states%s",
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
        tc_demand_of(elaborator, general->block, value.node, TC_MUST_BE_A_PLACE, tree->span);
        return check_places(elaborator, general->block, subscript, extent, value.secret != NULL, tree->span);
    }
    double place = value.is_number ? value.number : tc_coef_of(elaborator, elaborator->blocks, value.node).value;
    if (place != floor(place) || place < 1 || place > (double)extent) {
        if (value.secret != NULL && !tc_shows_private(elaborator))
            tc_error(elaborator->diagnostics, tree->span, "this private index is outside of 1..%zu", extent);
        else
            tc_error(elaborator->diagnostics, tree->span, "the index %.17g is outside of 1..%zu", place, extent);
        return false;
    }
    subscript->first = (size_t)place - 1;
    return true;
}

/* The place, in the base, of element (i, j) of the result for member k. */
static size_t place_of(const tc_value *base, const index_range *subscripts, size_t i, size_t j, size_t member) {
    size_t at[2] = {i, j};
    for (size_t d = 0; d < 2; d++)
        at[d] += subscripts[d].varying != TC_NO_EXPR ? (size_t)tc_coef_at(subscripts[d].places, member) - 1
                                                     : subscripts[d].first;
    return at[0] * base->columns + at[1];
}

static tc_expr gather(tc_elaborator *elaborator, tc_agents_block *block, const tc_value *base,
                      const index_range *subscripts, size_t i, size_t j, bool is_private) {
    const void *from = base->is_number ? (const void *)base->numbers : (const void *)base->nodes;
    size_t offset = (i + subscripts[0].first) * base->columns + j + subscripts[1].first;
    for (size_t g = 0; g < block->gather_count; g++) {
        const struct tc_derived_column *known = &block->gathers[g];
        if (known->base == from && known->offset == offset && known->varying[0] == subscripts[0].varying &&
            known->varying[1] == subscripts[1].varying)
            return known->leaf;
    }
    const tc_family *family = &elaborator->model->families[block->number];
    double *column = TC_NEW(elaborator->arena, double, family->count);
    tc_coef *elements = NULL;
    if (!base->is_number) {
        elements = TC_NEW(elaborator->arena, tc_coef, base->rows * base->columns);
        for (size_t e = 0; e < base->rows * base->columns; e++)
            elements[e] = tc_coef_of(elaborator, block, base->nodes[e]);
    }
    for (size_t k = family->known_first; k < family->known_end; k++) {
        size_t place = place_of(base, subscripts, i, j, k);
        column[k] = base->is_number ? base->numbers[place] : tc_coef_at(elements[place], k);
    }
    struct tc_derived_column made = {from, offset, {subscripts[0].varying, subscripts[1].varying}, 0};
    tc_expr *sources = NULL;
    size_t source_count = 0;
    for (size_t e = 0; !base->is_number && e < base->rows * base->columns; e++)
        TC_PUSH(elaborator->arena, sources, source_count, base->nodes[e]);
    for (size_t d = 0; d < 2; d++) {
        if (subscripts[d].varying != TC_NO_EXPR)
            TC_PUSH(elaborator->arena, sources, source_count, subscripts[d].varying);
    }
    tc_value source = tc_value_nodes(sources, 1, source_count, 1);
    made.leaf = tc_new_column(elaborator, block, column, &source, is_private);
    TC_PUSH(elaborator->arena, block->gathers, block->gather_count, made);
    return made.leaf;
}

static tc_value pick(tc_elaborator *elaborator, const tc_scope *scope, const tc_value *base,
                     const index_range *subscripts, const tc_private_datum *secret) {
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

static tc_value elaborate_index(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    tc_value base = tc_elaborate_tree(elaborator, scope, tree->items[0]);
    if (base.broken)
        return base;
    if (tree->count - 1 > base.rank) {
        tc_error(elaborator->diagnostics, tree->span, "%zu %s given, but this is %s", tree->count - 1,
                 tree->count == 2 ? "index is" : "indices are", tc_shape_text(elaborator->arena, &base));
        return tc_value_broken();
    }
    /* A vector is treated as a matrix of one column; M[i] as M[i, all]. */
    index_range subscripts[2] = {{.count = base.rows, .varying = TC_NO_EXPR},
                                 {.count = base.columns, .varying = TC_NO_EXPR}};
    subscripts[1].is_single = base.rank == 1;
    const tc_private_datum *secret = base.secret;
    for (size_t d = 0; d + 1 < tree->count; d++) {
        subscripts[d] = (index_range){0};
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

/* ---- sum(i in 1..n: E) and sum(family: E) ------------------------------------------------------------------------ */

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

/* One element of a body, summed over all members; a number where no state has an effect. */
static tc_value sum_element(tc_elaborator *elaborator, const tc_agents_block *block, const tc_value *body, size_t i) {
    const tc_family *family = &elaborator->model->families[block->number];
    tc_expr node = tc_value_node_at(&elaborator->values, body, i);
    if (!tc_is_without_states(elaborator, block, node))
        return tc_value_node(tc_sum(elaborator->dag, inner_sum(elaborator, block->number, node)));
    tc_coef coef = tc_coef_of(elaborator, block, node);
    if (coef.column == NULL)
        return tc_value_number(coef.value * (double)family->count);
    double sum = 0;
    tc_fold_begin(family, &sum, sizeof sum);
    for (size_t k = family->known_first; k < family->known_end; k++)
        sum += coef.column[k];
    tc_fold_end(family, &sum, sizeof sum);
    return tc_value_number(sum);
}

static tc_value sum_over_family(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    const tc_binder *binder = &tree->binders[0];
    if (tc_general_scope(scope) != NULL) {
        if (elaborator->in_block)
            tc_error(elaborator->diagnostics, tree->span,
                     "a sum over agents cannot stand inside an agent's block: bind agents together by a 'constraint' "
                     "outside of the blocks");
        else
            tc_error(elaborator->diagnostics, tree->span,
                     "a sum over agents cannot stand inside another sum over agents; a term speaks of one agent only "
                     "(a square of a sum is written outside: sum(%s: ...)^2)",
                     binder->name->text);
        return tc_value_broken();
    }
    tc_agents_block *block = tc_block_named(elaborator, binder->name, binder->span);
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

static tc_value elaborate_sum(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    if (tree->binders[0].first == NULL)
        return sum_over_family(elaborator, scope, tree);
    return sum_over_ranges(elaborator, scope, tree, 0);
}

/* ---- trees ------------------------------------------------------------------------------------------------------ */

/* Items one below another: a vector of numbers, or a matrix of equally long vectors. */
static tc_value stacked(tc_elaborator *elaborator, const tc_tree *tree, const tc_value *items, size_t count) {
    const tc_private_datum *secret = NULL;
    bool is_number = true;
    for (size_t i = 0; i < count; i++) {
        is_number = is_number && items[i].is_number;
        secret = secret != NULL ? secret : items[i].secret;
        if (items[i].rank == items[0].rank && items[i].rows == items[0].rows && items[i].rank < 2)
            continue;
        tc_error(elaborator->diagnostics, tree->items[i < tree->count ? i : 0]->span,
                 "the rows of a matrix are vectors of equal length: "
                 "the first entry is %s, this one %s",
                 tc_shape_text(elaborator->arena, &items[0]), tc_shape_text(elaborator->arena, &items[i]));
        return tc_value_broken();
    }
    bool is_matrix = items[0].rank == 1;
    size_t columns = is_matrix ? items[0].rows : 1;
    double *numbers = is_number ? TC_NEW(elaborator->arena, double, count *columns) : NULL;
    tc_expr *nodes = is_number ? NULL : TC_NEW(elaborator->arena, tc_expr, count * columns);
    for (size_t i = 0; i < count * columns; i++) {
        if (is_number)
            numbers[i] = tc_value_number_at(&items[i / columns], i % columns);
        else
            nodes[i] = tc_value_node_at(&elaborator->values, &items[i / columns], i % columns);
    }
    unsigned char rank = is_matrix ? 2 : 1;
    tc_value value =
        is_number ? tc_value_numbers(numbers, rank, count, columns) : tc_value_nodes(nodes, rank, count, columns);
    value.secret = secret;
    return value;
}

/* [a, b, c] */
static tc_value elaborate_vector(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    tc_value *items = TC_NEW(elaborator->arena, tc_value, tree->count);
    bool broken = false;
    for (size_t i = 0; i < tree->count; i++) {
        items[i] = tc_elaborate_tree(elaborator, scope, tree->items[i]);
        broken = broken || items[i].broken;
    }
    return broken ? tc_value_broken() : stacked(elaborator, tree, items, tree->count);
}

/* [i in 1..n: E], from binder b on: [i in 1..n, j in 1..m: E] is [i in 1..n: [j in 1..m: E]]. */
static tc_value elaborate_list(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree, size_t b) {
    double first, last;
    if (b == tree->binder_count)
        return tc_elaborate_tree(elaborator, scope, tree->items[0]);
    const tc_binder *binder = &tree->binders[b];
    if (!tc_elaborate_range(elaborator, scope, binder, &first, &last))
        return tc_value_broken();
    if (last < first) {
        tc_error(elaborator->diagnostics, tc_span_join(binder->first->span, binder->last->span),
                 "this range is empty, and a vector has at least one element");
        return tc_value_broken();
    }
    size_t count = (size_t)(last - first) + 1;
    tc_count_expansion(elaborator, count, tree->span);
    tc_value *items = TC_NEW(elaborator->arena, tc_value, count);
    for (size_t i = 0; i < count; i++) {
        tc_scope inner = {.outer = scope, .name = binder->name, .value = first + (double)i};
        items[i] = elaborate_list(elaborator, &inner, tree, b + 1);
        if (items[i].broken)
            return tc_value_broken();
    }
    return stacked(elaborator, tree, items, count);
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
        return elaborate_index(elaborator, scope, tree);
    case TC_TREE_MEMBER:
        return tc_elaborate_member_name(elaborator, scope, tree);
    case TC_TREE_SUM:
        return elaborate_sum(elaborator, scope, tree);
    case TC_TREE_LIST:
        return elaborate_list(elaborator, scope, tree, 0);
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
