/* Functions by name, powers and division. */
#include "model/elaborate/elaborate.h"

#include <math.h>
#include <string.h>

typedef struct function_call {
    tc_elaborator *elaborator;
    const tc_scope *scope;
    const tc_tree *tree;
    tc_value *arguments;
    size_t count;
} function_call;

typedef tc_value function(const function_call *c);

/* All entries of all arguments, one after another. */
static tc_value joined(const function_call *c) {
    size_t count = 0;
    bool is_number = true;
    const tc_private_datum *secret = NULL;
    for (size_t i = 0; i < c->count; i++) {
        count += tc_value_count(&c->arguments[i]);
        is_number = is_number && c->arguments[i].is_number;
        secret = secret != NULL ? secret : c->arguments[i].secret;
    }
    double *numbers = is_number ? TC_NEW(c->elaborator->arena, double, count) : NULL;
    tc_expr *nodes = is_number ? NULL : TC_NEW(c->elaborator->arena, tc_expr, count);
    size_t at = 0;
    for (size_t i = 0; i < c->count; i++) {
        for (size_t k = 0; k < tc_value_count(&c->arguments[i]); k++, at++) {
            if (is_number)
                numbers[at] = tc_value_number_at(&c->arguments[i], k);
            else
                nodes[at] = tc_value_node_at(&c->elaborator->values, &c->arguments[i], k);
        }
    }
    tc_value value = is_number ? tc_value_numbers(numbers, 1, count, 1) : tc_value_nodes(nodes, 1, count, 1);
    value.secret = secret;
    return value;
}

static tc_value refuse(const function_call *c, size_t argument, const char *wanted) {
    tc_error(c->elaborator->diagnostics, c->tree->items[argument]->span, "%s needs %s, but this is %s",
             c->tree->name->text, wanted, tc_shape_text(c->elaborator->arena, &c->arguments[argument]));
    return tc_value_broken();
}

/* ---- what data may not be ---------------------------------------------------------------------------------------- */

static bool is_bad(double x, tc_demand_kind kind) {
    switch (kind) {
    case TC_MUST_BE_POSITIVE:
        return !(x > 0);
    case TC_MUST_NOT_BE_NEGATIVE:
        return x < 0;
    case TC_MUST_NOT_BE_ZERO:
        return x == 0;
    case TC_MUST_BE_FINITE:
    case TC_MUST_BE_A_PLACE:
        break;
    }
    return !isfinite(x);
}

/* Checks data (constants included) for every member; what depends on states is checked by the analysis. */
static bool data_passes(tc_elaborator *elaborator, tc_expr node, tc_demand_kind kind, bool is_private, tc_span span,
                        const char *problem) {
    const tc_node *n = &elaborator->dag->nodes[node];
    if (n->has_state)
        return true;
    const tc_agents_block *block = &elaborator->blocks[n->family == UINT32_MAX ? 0 : n->family];
    tc_demand_of(elaborator, block, node, kind, span);
    tc_coef coef = tc_coef_of(elaborator, block, node);
    const tc_family *family = &elaborator->model->families[block->number];
    bool varies = coef.column != NULL, good = true;
    tc_told before = tc_told_so_far(elaborator->diagnostics);
    for (size_t k = tc_first_known(family, varies); good && k < tc_end_known(family, varies); k++) {
        good = !is_bad(tc_coef_at(coef, k), kind);
        if (good)
            continue;
        tc_error(elaborator->diagnostics, span, "%s, but %s%s%s", problem,
                 tc_wrong_number(elaborator, is_private, tc_coef_at(coef, k)), varies ? " for " : "",
                 varies ? tc_member_text(elaborator, block, k) : "");
    }
    return tc_agreed(elaborator->diagnostics, family, before, good);
}

static bool all_pass(tc_elaborator *elaborator, const tc_value *value, tc_demand_kind kind, tc_span span,
                     const char *problem) {
    for (size_t i = 0; i < tc_value_count(value); i++) {
        if (value->is_number && !is_bad(tc_value_number_at(value, i), kind))
            continue;
        if (!data_passes(elaborator, tc_value_node_at(&elaborator->values, value, i), kind, value->secret != NULL, span,
                         problem))
            return false;
    }
    return true;
}

/* ---- element by element ------------------------------------------------------------------------------------------ */

static double exp_number(double a, double b) { return (void)b, exp(a); }
static double log_number(double a, double b) { return (void)b, log(a); }
static double sqrt_number(double a, double b) { return (void)b, sqrt(a); }
static tc_expr exp_node(tc_dag *dag, tc_expr a, tc_expr b) { return (void)b, tc_exp(dag, a); }
static tc_expr log_node(tc_dag *dag, tc_expr a, tc_expr b) { return (void)b, tc_log(dag, a); }
static tc_expr sqrt_node(tc_dag *dag, tc_expr a, tc_expr b) { return (void)b, tc_sqrt(dag, a); }

static tc_value each(const function_call *c, tc_number_function *on_numbers, tc_node_function *on_nodes) {
    tc_value zero = tc_value_number(0);
    return tc_value_elementwise(&c->elaborator->values, &c->arguments[0], &zero, on_numbers, on_nodes, c->tree->span,
                                c->tree->name->text);
}

static tc_value call_exp(const function_call *c) { return each(c, exp_number, exp_node); }

static tc_value call_log(const function_call *c) {
    if (!all_pass(c->elaborator, &c->arguments[0], TC_MUST_BE_POSITIVE, c->tree->items[0]->span,
                  "a logarithm needs a positive argument"))
        return tc_value_broken();
    return each(c, log_number, log_node);
}

static tc_value call_sqrt(const function_call *c) {
    if (!all_pass(c->elaborator, &c->arguments[0], TC_MUST_NOT_BE_NEGATIVE, c->tree->items[0]->span,
                  "a square root needs an argument that is not negative"))
        return tc_value_broken();
    return each(c, sqrt_number, sqrt_node);
}

static double huber_number(double a, double d) { return fabs(a) <= d ? a * a / 2 : d * (fabs(a) - d / 2); }

static tc_value call_huber(const function_call *c) {
    tc_span span = c->tree->items[1]->span;
    if (tc_value_has_state(&c->elaborator->values, &c->arguments[1])) {
        tc_error(c->elaborator->diagnostics, span, "the threshold of huber must not depend on states");
        return tc_value_broken();
    }
    if (!all_pass(c->elaborator, &c->arguments[1], TC_MUST_BE_POSITIVE, span,
                  "the threshold of huber must be positive"))
        return tc_value_broken();
    return tc_value_elementwise(&c->elaborator->values, &c->arguments[0], &c->arguments[1], huber_number, tc_huber,
                                c->tree->span, "huber");
}

/* ---- powers and quotients ---------------------------------------------------------------------------------------- */

/* base ^ exponent, exponent a constant. */
static tc_value power(tc_elaborator *elaborator, const tc_value *base, double exponent, tc_span span) {
    size_t count = tc_value_count(base);
    double *numbers = base->is_number ? TC_NEW(elaborator->arena, double, count) : NULL;
    tc_expr *nodes = base->is_number ? NULL : TC_NEW(elaborator->arena, tc_expr, count);
    if (exponent < 0 &&
        !all_pass(elaborator, base, TC_MUST_NOT_BE_ZERO, span, "a negative power needs a base that is not zero"))
        return tc_value_broken();
    if (exponent != floor(exponent) && !all_pass(elaborator, base, TC_MUST_NOT_BE_NEGATIVE, span,
                                                 "a fractional power needs a base that is not negative"))
        return tc_value_broken();
    elaborator->dag->origin = span;
    for (size_t i = 0; i < count; i++) {
        if (base->is_number)
            numbers[i] = pow(tc_value_number_at(base, i), exponent);
        else
            nodes[i] = tc_pow(elaborator->dag, tc_value_node_at(&elaborator->values, base, i), exponent);
    }
    tc_value result = *base;
    if (base->is_number)
        result.numbers = numbers;
    else
        result.nodes = nodes;
    if (base->rank == 0) {
        result.number = base->is_number ? numbers[0] : 0;
        result.node = base->is_number ? 0 : nodes[0];
        result.numbers = NULL;
        result.nodes = NULL;
    }
    return tc_value_checked(&elaborator->values, result, span);
}

/* A column of exponents: one that is there, or one made of what was written. TC_NO_EXPR after an error. */
static tc_expr exponent_column(tc_elaborator *elaborator, const tc_scope *scope, const tc_value *exponent,
                               tc_span span) {
    const tc_scope *general = tc_general_scope(scope);
    tc_expr node = exponent->node;
    if (general == NULL || !data_passes(elaborator, node, TC_MUST_BE_FINITE, exponent->secret != NULL, span,
                                        "an exponent must be a finite number"))
        return TC_NO_EXPR;
    if (elaborator->dag->nodes[node].op == TC_DATA)
        return node;
    tc_coef coef = tc_coef_of(elaborator, general->block, node);
    return coef.column == NULL
               ? tc_const(elaborator->dag, coef.value)
               : tc_new_column(elaborator, general->block, coef.column, exponent, exponent->secret != NULL);
}

static tc_value each_power(tc_elaborator *elaborator, const tc_scope *scope, const tc_value *base,
                           const tc_value *exponent, tc_span span);

/* base ^ exponent, the exponent a number, one of each member's own, or a vector of these. */
static tc_value any_power(tc_elaborator *elaborator, const tc_scope *scope, const tc_value *base,
                          const tc_value *exponent, tc_span span) {
    if (exponent->rank == 1)
        return each_power(elaborator, scope, base, exponent, span);
    if (exponent->is_number)
        return power(elaborator, base, exponent->number, span);
    tc_expr column = exponent_column(elaborator, scope, exponent, span);
    if (column == TC_NO_EXPR)
        return tc_value_broken();
    size_t count = tc_value_count(base);
    tc_expr *nodes = TC_NEW(elaborator->arena, tc_expr, count);
    elaborator->dag->origin = span;
    for (size_t i = 0; i < count; i++) {
        nodes[i] = tc_powd(elaborator->dag, tc_value_node_at(&elaborator->values, base, i), column);
        if (!data_passes(elaborator, nodes[i], TC_MUST_BE_FINITE, elaborator->dag->nodes[nodes[i]].is_private, span,
                         "a power must be a finite number"))
            return tc_value_broken();
    }
    return base->rank == 0 ? tc_value_node(nodes[0]) : tc_value_nodes(nodes, 1, count, 1);
}

/* One element, as a value of its own. */
static tc_value element_of(const tc_value *value, size_t i) {
    if (value->rank == 0)
        return *value;
    tc_value element = value->is_number ? tc_value_number(value->numbers[i]) : tc_value_node(value->nodes[i]);
    element.secret = value->secret;
    return element;
}

/* base ^ exponent element by element, where the exponent is a vector. */
static tc_value each_power(tc_elaborator *elaborator, const tc_scope *scope, const tc_value *base,
                           const tc_value *exponent, tc_span span) {
    size_t count = exponent->rows;
    if (base->rank == 1 && base->rows != count) {
        tc_error(elaborator->diagnostics, span, "^ needs equal shapes: the left side is %s, the right side %s",
                 tc_shape_text(elaborator->arena, base), tc_shape_text(elaborator->arena, exponent));
        return tc_value_broken();
    }
    double *numbers = TC_NEW(elaborator->arena, double, count);
    tc_expr *nodes = TC_NEW(elaborator->arena, tc_expr, count);
    bool is_number = base->is_number && exponent->is_number;
    for (size_t i = 0; i < count; i++) {
        tc_value of = element_of(base, i), p = element_of(exponent, i);
        tc_value result = any_power(elaborator, scope, &of, &p, span);
        if (result.broken)
            return result;
        numbers[i] = result.number;
        nodes[i] = is_number ? 0 : tc_value_node_at(&elaborator->values, &result, 0);
    }
    return is_number ? tc_value_numbers(numbers, 1, count, 1) : tc_value_nodes(nodes, 1, count, 1);
}

static bool constant_exponent(tc_elaborator *elaborator, const tc_value *exponent, tc_span span) {
    if (exponent->broken)
        return false;
    if (exponent->rank <= 1 && !tc_value_has_state(&elaborator->values, exponent))
        return true;
    if (exponent->rank == 2)
        tc_error(elaborator->diagnostics, span, "an exponent must be a number or a vector, but this is %s",
                 tc_shape_text(elaborator->arena, exponent));
    else
        tc_error(elaborator->diagnostics, span,
                 "an exponent must be a constant; for a power of a fixed base write "
                 "exp(x * log(a))");
    return false;
}

static tc_value sum_of_squares(tc_elaborator *elaborator, const tc_value *value, tc_span span) {
    tc_value squares = power(elaborator, value, 2, span);
    tc_value total = tc_value_total(&elaborator->values, &squares, span);
    total.secret = value->secret;
    return total;
}

static bool is_norm(const tc_tree *tree) {
    return tree->kind == TC_TREE_CALL && tree->count == 1 &&
           (strcmp(tree->name->text, "norm") == 0 || strcmp(tree->name->text, "norm2") == 0);
}

static const tc_private_datum *both(const tc_value *a, const tc_value *b) {
    return a->secret != NULL ? a->secret : b->secret;
}

tc_value tc_elaborate_power(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    tc_value exponent = tc_elaborate_tree(elaborator, scope, tree->items[1]);
    if (!constant_exponent(elaborator, &exponent, tree->items[1]->span))
        return tc_value_broken();
    double p = exponent.is_number && exponent.rank == 0 ? exponent.number : 0;
    /* An even power of a norm is a power of the sum of squares: smooth where the norm is not. */
    bool even_norm = is_norm(tree->items[0]) && p >= 2 && fmod(p, 2) == 0;
    tc_value base = tc_elaborate_tree(elaborator, scope, even_norm ? tree->items[0]->items[0] : tree->items[0]);
    if (base.broken)
        return base;
    if (base.rank == 2) {
        tc_error(elaborator->diagnostics, tree->span, "a power of a matrix is not part of the language");
        return tc_value_broken();
    }
    tc_value result;
    if (even_norm) {
        tc_value squares = sum_of_squares(elaborator, &base, tree->items[0]->span);
        result = squares.broken ? squares : power(elaborator, &squares, p / 2, tree->span);
    } else {
        result = any_power(elaborator, scope, &base, &exponent, tree->span);
    }
    result.secret = both(&base, &exponent);
    return result;
}

static tc_value call_pow(const function_call *c) {
    if (!constant_exponent(c->elaborator, &c->arguments[1], c->tree->items[1]->span))
        return tc_value_broken();
    if (c->arguments[0].rank == 2)
        return refuse(c, 0, "a number or a vector");
    tc_value result = any_power(c->elaborator, c->scope, &c->arguments[0], &c->arguments[1], c->tree->span);
    result.secret = both(&c->arguments[0], &c->arguments[1]);
    return result;
}

static double divide_numbers(double a, double b) { return a / b; }

tc_value tc_elaborate_divide(tc_elaborator *elaborator, const tc_value *a, const tc_value *b, tc_span span) {
    if (a->broken || b->broken)
        return tc_value_broken();
    if (!all_pass(elaborator, b, TC_MUST_NOT_BE_ZERO, span, "a divisor must not be zero"))
        return tc_value_broken();
    return tc_value_elementwise(&elaborator->values, a, b, divide_numbers, tc_div, span, "/");
}

/* ---- vectors to numbers ------------------------------------------------------------------------------------------ */

static tc_value call_sum(const function_call *c) {
    return tc_value_total(&c->elaborator->values, &c->arguments[0], c->tree->span);
}
static tc_value call_sumsq(const function_call *c) {
    return sum_of_squares(c->elaborator, &c->arguments[0], c->tree->span);
}

static tc_value call_dot(const function_call *c) {
    return tc_value_dot(&c->elaborator->values, &c->arguments[0], &c->arguments[1], c->tree->span);
}

static tc_value call_norm(const function_call *c) {
    tc_value squares = sum_of_squares(c->elaborator, &c->arguments[0], c->tree->span);
    tc_value zero = tc_value_number(0);
    return tc_value_elementwise(&c->elaborator->values, &squares, &zero, sqrt_number, sqrt_node, c->tree->span, "norm");
}

static tc_value call_logsumexp(const function_call *c) {
    tc_value all = joined(c);
    tc_value result;
    if (all.is_number) {
        double largest = -INFINITY, sum = 0;
        for (size_t i = 0; i < all.rows; i++)
            largest = fmax(largest, all.numbers[i]);
        for (size_t i = 0; i < all.rows; i++)
            sum += exp(all.numbers[i] - largest);
        result = tc_value_number(largest + log(sum));
    } else {
        result = tc_value_node(tc_lse(c->elaborator->dag, all.nodes, all.rows));
    }
    result.secret = all.secret;
    return tc_value_checked(&c->elaborator->values, result, c->tree->span);
}

static tc_value call_quadform(const function_call *c) {
    const tc_value *v = &c->arguments[0], *q = &c->arguments[1];
    if (v->rank != 1)
        return refuse(c, 0, "a vector first");
    if (q->rank != 2 || q->rows != v->rows || q->columns != v->rows)
        return refuse(c, 1, tc_arena_format(c->elaborator->arena, "a %zu x %zu matrix second", v->rows, v->rows));
    if (tc_value_has_state(&c->elaborator->values, q)) {
        tc_error(c->elaborator->diagnostics, c->tree->items[1]->span,
                 "the matrix of quadform must not depend on states");
        return tc_value_broken();
    }
    tc_dag *dag = c->elaborator->dag;
    const tc_values *values = &c->elaborator->values;
    tc_value result;
    if (v->is_number && q->is_number) {
        tc_value image = tc_value_product(values, q, v, c->tree->span);
        result = image.broken ? image : tc_value_dot(values, v, &image, c->tree->span);
    } else {
        tc_expr sum = tc_const(dag, 0);
        for (size_t i = 0; i < v->rows; i++) {
            tc_expr square = tc_pow(dag, tc_value_node_at(values, v, i), 2);
            sum = tc_add(dag, sum, tc_mul(dag, tc_value_node_at(values, q, i * q->columns + i), square));
            for (size_t j = 0; j < i; j++) {
                tc_expr factor = tc_add(dag, tc_value_node_at(values, q, i * q->columns + j),
                                        tc_value_node_at(values, q, j * q->columns + i));
                tc_expr product = tc_mul(dag, tc_value_node_at(values, v, i), tc_value_node_at(values, v, j));
                sum = tc_add(dag, sum, tc_mul(dag, factor, product));
            }
        }
        result = tc_value_node(sum);
    }
    result.secret = both(v, q);
    return result;
}

static tc_value call_length(const function_call *c) {
    if (c->arguments[0].rank != 1)
        return refuse(c, 0, "a vector");
    tc_value length = tc_value_number((double)c->arguments[0].rows);
    length.secret = c->arguments[0].secret; /* how many there are may be as private as what they are */
    return length;
}

static tc_value call_transpose(const function_call *c) {
    if (c->arguments[0].rank != 2)
        return refuse(c, 0, "a matrix");
    return tc_value_transpose(&c->elaborator->values, &c->arguments[0]);
}

/* ---- functions with kinks ---------------------------------------------------------------------------------------- */

static double take_min(double a, double b) { return a < b ? a : b; }
static double take_max(double a, double b) { return a > b ? a : b; }
static double take_abs_sum(double a, double b) { return a + fabs(b); }
static double take_abs_max(double a, double b) { return fmax(fabs(a), fabs(b)); }
static double take_abs(double a, double b) { return (void)b, fabs(a); }
static double take_floor(double a, double b) { return (void)b, floor(a); }
static double take_ceil(double a, double b) { return (void)b, ceil(a); }

static tc_expr abs_node(tc_dag *dag, tc_expr a, tc_expr b) { return (void)b, tc_abs(dag, a); }
static tc_expr abs_sum_node(tc_dag *dag, tc_expr a, tc_expr b) { return tc_add(dag, a, tc_abs(dag, b)); }
/* a: the largest so far, at least 0. */
static tc_expr abs_max_node(tc_dag *dag, tc_expr a, tc_expr b) {
    return tc_is_const(dag, a, 0) ? tc_abs(dag, b) : tc_max(dag, a, tc_abs(dag, b));
}

static bool has_state(const function_call *c) {
    bool found = false;
    for (size_t i = 0; i < c->count; i++)
        found = found || tc_value_has_state(&c->elaborator->values, &c->arguments[i]);
    return found;
}

static bool free_of_states(const function_call *c) {
    if (has_state(c))
        tc_error(c->elaborator->diagnostics, c->tree->span,
                 "%s of a state is not continuous; round the result instead of the state", c->tree->name->text);
    return !has_state(c);
}

/* Numbers only, or one vector: what a mix means is to be said. */
static bool is_reducible(const function_call *c) {
    bool mixed = false;
    for (size_t i = 0; i < c->count; i++)
        mixed = mixed || (c->count > 1 && c->arguments[i].rank > 0);
    const char *name = c->tree->name->text;
    if (mixed)
        tc_error(
            c->elaborator->diagnostics, c->tree->span,
            "%s takes numbers, or one vector, of which it takes the %s element; element by element it is %simum(a, b), "
            "where a number goes with every element%s",
            name, name[1] == 'a' ? "largest" : "smallest", name,
            name[1] == 'a' ? ", and pos(u) for maximum(0, u)" : "");
    return !mixed;
}

/* A column of the members' values of step(...step(step(first, v1), v2)..., vn), or a number. */
static tc_value fold(const function_call *c, const tc_value *all, tc_number_function *step, double first,
                     bool from_first) {
    tc_elaborator *elaborator = c->elaborator;
    if (all->is_number) {
        double result = from_first ? first : all->numbers[0];
        for (size_t i = from_first ? 0 : 1; i < all->rows; i++)
            result = step(result, all->numbers[i]);
        tc_value value = tc_value_number(result);
        value.secret = all->secret;
        return tc_value_checked(&elaborator->values, value, c->tree->span);
    }
    const tc_scope *general = tc_general_scope(c->scope);
    if (general == NULL)
        return tc_value_broken();
    const tc_family *family = &elaborator->model->families[general->block->number];
    double *column = TC_NEW(elaborator->arena, double, family->count);
    for (size_t i = 0; i < all->rows; i++) {
        tc_coef coef = tc_coef_of_value(elaborator, general->block, all, i);
        for (size_t k = family->known_first; k < family->known_end; k++) {
            double before = i > 0 ? column[k] : first;
            column[k] = i == 0 && !from_first ? tc_coef_at(coef, k) : step(before, tc_coef_at(coef, k));
        }
    }
    tc_value value = tc_value_node(tc_new_column(elaborator, general->block, column, all, all->secret != NULL));
    value.secret = all->secret;
    return value;
}

/* Nodes that turned out to be constants, as numbers. */
static tc_value settled(const function_call *c, tc_value value) {
    tc_elaborator *elaborator = c->elaborator;
    if (value.is_number || tc_value_has_data(&elaborator->values, &value))
        return value;
    size_t count = tc_value_count(&value);
    double *numbers = TC_NEW(elaborator->arena, double, count);
    for (size_t i = 0; i < count; i++)
        numbers[i] = tc_coef_of_value(elaborator, elaborator->blocks, &value, i).value;
    tc_value result = value.rank == 0 ? tc_value_number(numbers[0])
                                      : tc_value_numbers(numbers, value.rank, value.rows, value.columns);
    result.secret = value.secret;
    return result;
}

/* The same of states: a node. */
static tc_value fold_nodes(const function_call *c, const tc_value *all, tc_node_function *step, bool from_first) {
    tc_elaborator *elaborator = c->elaborator;
    tc_expr result = from_first ? tc_const(elaborator->dag, 0) : tc_value_node_at(&elaborator->values, all, 0);
    for (size_t i = from_first ? 0 : 1; i < all->rows; i++)
        result = step(elaborator->dag, result, tc_value_node_at(&elaborator->values, all, i));
    tc_value value = tc_value_node(result);
    value.secret = all->secret;
    elaborator->kinks++;
    return value;
}

static tc_value folded(const function_call *c, tc_number_function *step, tc_node_function *node_step, bool from_first) {
    if (has_state(c)) {
        tc_value nodes = joined(c);
        return fold_nodes(c, &nodes, node_step, from_first);
    }
    tc_value all = settled(c, joined(c));
    return fold(c, &all, step, 0, from_first);
}

static tc_value call_min(const function_call *c) {
    return is_reducible(c) ? folded(c, take_min, tc_min, false) : tc_value_broken();
}
static tc_value call_max(const function_call *c) {
    return is_reducible(c) ? folded(c, take_max, tc_max, false) : tc_value_broken();
}
static tc_value call_norm1(const function_call *c) { return folded(c, take_abs_sum, abs_sum_node, true); }
static tc_value call_norminf(const function_call *c) { return folded(c, take_abs_max, abs_max_node, true); }

/* Data that were made of data, as columns of their own: nobody but this file knows maxima of data. */
static tc_value as_columns(const function_call *c, tc_value value) {
    tc_elaborator *elaborator = c->elaborator;
    if (value.is_number)
        return value;
    const tc_scope *general = tc_general_scope(c->scope);
    if (general == NULL)
        return tc_value_broken();
    const tc_family *family = &elaborator->model->families[general->block->number];
    size_t count = tc_value_count(&value);
    tc_expr *nodes = TC_NEW(elaborator->arena, tc_expr, count);
    for (size_t i = 0; i < count; i++) {
        tc_coef coef = tc_coef_of_value(elaborator, general->block, &value, i);
        double *column = TC_NEW(elaborator->arena, double, family->count);
        for (size_t k = family->known_first; k < family->known_end; k++)
            column[k] = tc_coef_at(coef, k);
        tc_value source = tc_value_node(tc_value_node_at(&elaborator->values, &value, i));
        nodes[i] = tc_new_column(elaborator, general->block, column, &source, value.secret != NULL);
    }
    tc_value columns =
        value.rank == 0 ? tc_value_node(nodes[0]) : tc_value_nodes(nodes, value.rank, value.rows, value.columns);
    columns.secret = value.secret;
    return columns;
}

/* All arguments, element by element. */
static tc_value each_of_all(const function_call *c, tc_number_function *on_numbers, tc_node_function *on_nodes) {
    tc_value result = c->arguments[0];
    c->elaborator->kinks += has_state(c);
    for (size_t i = 1; i < c->count && !result.broken; i++) {
        const tc_private_datum *secret = both(&result, &c->arguments[i]);
        result = tc_value_elementwise(&c->elaborator->values, &result, &c->arguments[i], on_numbers, on_nodes,
                                      c->tree->span, c->tree->name->text);
        result.secret = secret;
    }
    return result.broken || has_state(c) ? result : as_columns(c, settled(c, result));
}

static tc_value call_maximum(const function_call *c) { return each_of_all(c, take_max, tc_max); }
static tc_value call_minimum(const function_call *c) { return each_of_all(c, take_min, tc_min); }

static tc_value call_pos(const function_call *c) {
    tc_value arguments[2] = {tc_value_number(0), c->arguments[0]};
    function_call with_zero = *c;
    with_zero.arguments = arguments;
    with_zero.count = 2;
    return each_of_all(&with_zero, take_max, tc_max);
}

/* abs, floor and ceil keep the shape of their argument. */
static tc_value each_constant(const function_call *c, tc_number_function *step) {
    if (!free_of_states(c))
        return tc_value_broken();
    tc_value argument = settled(c, c->arguments[0]);
    const tc_value *a = &argument;
    tc_value zero = tc_value_number(0);
    if (a->is_number)
        return tc_value_elementwise(&c->elaborator->values, a, &zero, step, tc_add, c->tree->span, c->tree->name->text);
    const tc_scope *general = tc_general_scope(c->scope);
    if (general == NULL)
        return tc_value_broken();
    const tc_family *family = &c->elaborator->model->families[general->block->number];
    size_t count = tc_value_count(a);
    tc_expr *nodes = TC_NEW(c->elaborator->arena, tc_expr, count);
    for (size_t i = 0; i < count; i++) {
        tc_coef coef = tc_coef_of_value(c->elaborator, general->block, a, i);
        double *column = TC_NEW(c->elaborator->arena, double, family->count);
        for (size_t k = family->known_first; k < family->known_end; k++)
            column[k] = step(tc_coef_at(coef, k), 0);
        tc_value source = tc_value_node(tc_value_node_at(&c->elaborator->values, a, i));
        nodes[i] = tc_new_column(c->elaborator, general->block, column, &source, a->secret != NULL);
    }
    tc_value value = a->rank == 0 ? tc_value_node(nodes[0]) : tc_value_nodes(nodes, a->rank, a->rows, a->columns);
    value.secret = a->secret;
    return value;
}

static tc_value call_abs(const function_call *c) {
    if (!has_state(c))
        return each_constant(c, take_abs);
    c->elaborator->kinks++;
    return each(c, take_abs, abs_node);
}
static tc_value call_floor(const function_call *c) { return each_constant(c, take_floor); }
static tc_value call_ceil(const function_call *c) { return each_constant(c, take_ceil); }

/* ---- functions by name ------------------------------------------------------------------------------------------- */

#define JOINED "; several numbers make a vector: [x, y]"
#define NORMS                                                                                                          \
    "; norm(v) is the Euclidean norm, others are norm1(v) and norminf(v); several numbers make a vector: [x, y]"

static const struct {
    const char *name;
    size_t least, most; /* arguments */
    function *call;
    const char *otherwise; /* said after another number of arguments */
} functions[] = {
    {"sum", 1, 1, call_sum, JOINED},
    {"sumsq", 1, 1, call_sumsq, JOINED},
    {"dot", 2, 2, call_dot, ""},
    {"norm", 1, 1, call_norm, NORMS},
    {"norm2", 1, 1, call_norm, NORMS},
    {"exp", 1, 1, call_exp, ""},
    {"log", 1, 1, call_log, ""},
    {"ln", 1, 1, call_log, ""},
    {"sqrt", 1, 1, call_sqrt, ""},
    {"pow", 2, 2, call_pow, ""},
    {"huber", 2, 2, call_huber, "; huber(u, d) is quadratic where |u| <= d"},
    {"logsumexp", 1, SIZE_MAX, call_logsumexp, ""},
    {"quadform", 2, 2, call_quadform, "; quadform(v, Q) is v'Qv"},
    {"length", 1, 1, call_length, ""},
    {"transpose", 1, 1, call_transpose, ""},
    {"min", 1, SIZE_MAX, call_min, ""},
    {"max", 1, SIZE_MAX, call_max, ""},
    {"abs", 1, 1, call_abs, JOINED},
    {"norm1", 1, 1, call_norm1, JOINED},
    {"norminf", 1, 1, call_norminf, JOINED},
    {"floor", 1, 1, call_floor, ""},
    {"ceil", 1, 1, call_ceil, ""},
    {"pos", 1, 1, call_pos, "; pos(u) is maximum(0, u)"},
    {"maximum", 2, SIZE_MAX, call_maximum, ""},
    {"minimum", 2, SIZE_MAX, call_minimum, ""},
};
enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

static tc_value unknown_function(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    const char *names[FUNCTION_COUNT];
    for (size_t f = 0; f < FUNCTION_COUNT; f++)
        names[f] = functions[f].name;
    bool is_value = tree->name->global != NULL && tree->name->global->kind == TC_DEFINES_PARAM;
    for (const tc_scope *s = scope; s != NULL; s = s->outer) {
        for (size_t i = 0; s->name == NULL && i < s->block->local_count; i++)
            is_value = is_value || s->block->locals[i].name == tree->name;
    }
    const char *near = is_value ? "; an index is written in brackets"
                                : tc_did_you_mean(elaborator->arena, tree->name->text, names, FUNCTION_COUNT);
    tc_error(elaborator->diagnostics, tree->name_span, "there is no function '%s'%s", tree->name->text, near);
    return tc_value_broken();
}

tc_value tc_elaborate_call(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    size_t f = 0;
    while (f < FUNCTION_COUNT && strcmp(functions[f].name, tree->name->text) != 0)
        f++;
    if (f == FUNCTION_COUNT)
        return unknown_function(elaborator, scope, tree);
    if (tree->count < functions[f].least || tree->count > functions[f].most) {
        tc_error(elaborator->diagnostics, tree->span, "%s takes %zu argument%s, not %zu%s", tree->name->text,
                 functions[f].least, functions[f].least == 1 ? "" : "s", tree->count, functions[f].otherwise);
        return tc_value_broken();
    }
    tc_value few[2];
    function_call c = {elaborator, scope, tree,
                       tree->count <= 2 ? few : TC_NEW(elaborator->arena, tc_value, tree->count), tree->count};
    bool broken = false;
    for (size_t i = 0; i < tree->count; i++) {
        c.arguments[i] = tc_elaborate_tree(elaborator, scope, tree->items[i]);
        broken = broken || c.arguments[i].broken;
    }
    elaborator->dag->origin = tree->span;
    return broken ? tc_value_broken() : functions[f].call(&c);
}
