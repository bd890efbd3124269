/* Functions with kinks: of constants and data only. */
#include "model/elaborate/functions.h"

#include <math.h>
#include <string.h>

/* All entries of all arguments, one after another. */
tc_value tc_call_joined(const tc_call *c) {
    size_t count = 0;
    bool is_number = true;
    const tc_secret *secret = NULL;
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

static double take_min(double a, double b) { return a < b ? a : b; }
static double take_max(double a, double b) { return a > b ? a : b; }
static double take_abs_sum(double a, double b) { return a + fabs(b); }
static double take_abs_max(double a, double b) { return fmax(fabs(a), fabs(b)); }
static double take_abs(double a, double b) { return (void)b, fabs(a); }
static double take_floor(double a, double b) { return (void)b, floor(a); }
static double take_ceil(double a, double b) { return (void)b, ceil(a); }

static const char *smooth_alternative(const char *name) {
    if (strcmp(name, "max") == 0)
        return "logsumexp is smooth and lies above max by at most log(n)";
    if (strcmp(name, "min") == 0)
        return "-logsumexp(-u, -v) is smooth and lies below min by at most log(n)";
    if (strcmp(name, "abs") == 0 || strcmp(name, "norm1") == 0)
        return "huber(u, d) or sqrt(u^2 + d^2) is smooth";
    if (strcmp(name, "norminf") == 0)
        return "logsumexp of u and -u is smooth";
    return "round the result instead of the state";
}

static bool free_of_states(const tc_call *c) {
    for (size_t i = 0; i < c->count; i++) {
        if (!tc_value_has_state(&c->elaborator->values, &c->arguments[i]))
            continue;
        tc_error(c->elaborator->diagnostics, c->tree->span,
                 "%s of a state is not continuously differentiable, as %s; %s", c->tree->name->text,
                 c->elaborator->in_block ? "Assumption 1 asks of objectives" : "Assumption 3 asks of constraints",
                 smooth_alternative(c->tree->name->text));
        return false;
    }
    return true;
}

/* A column of the members' values of step(...step(step(first, v1), v2)..., vn), or a number. */
static tc_value fold(const tc_call *c, const tc_value *all, tc_number_function *step, double first, bool from_first) {
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
    size_t members = elaborator->model->families[general->block->number].count;
    double *column = TC_NEW(elaborator->arena, double, members);
    for (size_t i = 0; i < all->rows; i++) {
        tc_coef coef = tc_coef_of_value(elaborator, general->block, all, i);
        for (size_t k = 0; k < members; k++) {
            double before = i > 0 ? column[k] : first;
            column[k] = i == 0 && !from_first ? tc_coef_at(coef, k) : step(before, tc_coef_at(coef, k));
        }
    }
    tc_value value = tc_value_node(tc_new_column(elaborator, general->block, column, all->secret != NULL));
    value.secret = all->secret;
    return value;
}

/* Nodes that turned out to be constants, as numbers. */
static tc_value settled(const tc_call *c, tc_value value) {
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

static tc_value folded(const tc_call *c, tc_number_function *step, bool from_first) {
    if (!free_of_states(c))
        return tc_value_broken();
    tc_value all = settled(c, tc_call_joined(c));
    return fold(c, &all, step, 0, from_first);
}

tc_value tc_call_min(const tc_call *c) { return folded(c, take_min, false); }
tc_value tc_call_max(const tc_call *c) { return folded(c, take_max, false); }
tc_value tc_call_norm1(const tc_call *c) { return folded(c, take_abs_sum, true); }
tc_value tc_call_norminf(const tc_call *c) { return folded(c, take_abs_max, true); }

/* abs, floor and ceil keep the shape of their argument. */
static tc_value each_constant(const tc_call *c, tc_number_function *step) {
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
    size_t count = tc_value_count(a), members = c->elaborator->model->families[general->block->number].count;
    tc_expr *nodes = TC_NEW(c->elaborator->arena, tc_expr, count);
    for (size_t i = 0; i < count; i++) {
        tc_coef coef = tc_coef_of_value(c->elaborator, general->block, a, i);
        double *column = TC_NEW(c->elaborator->arena, double, members);
        for (size_t k = 0; k < members; k++)
            column[k] = step(tc_coef_at(coef, k), 0);
        nodes[i] = tc_new_column(c->elaborator, general->block, column, a->secret != NULL);
    }
    tc_value value = a->rank == 0 ? tc_value_node(nodes[0]) : tc_value_nodes(nodes, a->rank, a->rows, a->columns);
    value.secret = a->secret;
    return value;
}

tc_value tc_call_abs(const tc_call *c) { return each_constant(c, take_abs); }
tc_value tc_call_floor(const tc_call *c) { return each_constant(c, take_floor); }
tc_value tc_call_ceil(const tc_call *c) { return each_constant(c, take_ceil); }
