#include "model/elaborate/elaborate.h"

#include <math.h>

tc_value tc_value_number(double number) {
    return (tc_value){.is_number = true, .rows = 1, .columns = 1, .number = number};
}
tc_value tc_value_node(tc_expr node) { return (tc_value){.rows = 1, .columns = 1, .node = node}; }
tc_value tc_value_broken(void) { return (tc_value){.broken = true, .is_number = true, .rows = 1, .columns = 1}; }

tc_value tc_value_numbers(const double *numbers, unsigned char rank, size_t rows, size_t columns) {
    return (tc_value){.is_number = true, .rank = rank, .rows = rows, .columns = columns, .numbers = numbers};
}

tc_value tc_value_nodes(const tc_expr *nodes, unsigned char rank, size_t rows, size_t columns) {
    return (tc_value){.rank = rank, .rows = rows, .columns = columns, .nodes = nodes};
}

tc_expr tc_value_node_at(const tc_values *values, const tc_value *value, size_t i) {
    if (value->is_number)
        return tc_const(values->dag, tc_value_number_at(value, i));
    return value->rank == 0 ? value->node : value->nodes[i];
}

bool tc_value_has_state(const tc_values *values, const tc_value *value) {
    for (size_t i = 0; !value->is_number && i < tc_value_count(value); i++) {
        if (values->dag->nodes[tc_value_node_at(values, value, i)].has_state)
            return true;
    }
    return false;
}

bool tc_value_has_data(const tc_values *values, const tc_value *value) {
    for (size_t i = 0; !value->is_number && i < tc_value_count(value); i++) {
        if (values->dag->nodes[tc_value_node_at(values, value, i)].has_data)
            return true;
    }
    return false;
}

const char *tc_shape_text(tc_arena *arena, const tc_value *value) {
    if (value->rank == 0)
        return "a number";
    if (value->rank == 1)
        return tc_arena_format(arena, "a vector of %zu", value->rows);
    return tc_arena_format(arena, "a %zu x %zu matrix", value->rows, value->columns);
}

static const tc_private_datum *either(const tc_value *a, const tc_value *b) {
    return a->secret != NULL ? a->secret : b->secret;
}

tc_value tc_value_checked(const tc_values *values, tc_value value, tc_span span) {
    for (size_t i = 0; value.is_number && !value.broken && i < tc_value_count(&value); i++) {
        if (isfinite(tc_value_number_at(&value, i)))
            continue;
        tc_error(values->diagnostics, span, "the value of this constant expression is not a finite number");
        return tc_value_broken();
    }
    return value;
}

/* A value of the shape of `like`, made of given elements. */
static tc_value shaped(const tc_value *like, bool is_number, const double *numbers, const tc_expr *nodes) {
    tc_value value = {.is_number = is_number, .rank = like->rank, .rows = like->rows, .columns = like->columns};
    if (like->rank == 0 && is_number)
        value.number = numbers[0];
    else if (like->rank == 0)
        value.node = nodes[0];
    value.numbers = like->rank > 0 && is_number ? numbers : NULL;
    value.nodes = like->rank > 0 && !is_number ? nodes : NULL;
    return value;
}

tc_value tc_value_elementwise(const tc_values *values, const tc_value *a, const tc_value *b,
                              tc_number_function *on_numbers, tc_node_function *on_nodes, tc_span span,
                              const char *what) {
    if (a->broken || b->broken)
        return tc_value_broken();
    bool fits = a->rank == 0 || b->rank == 0 || (a->rank == b->rank && a->rows == b->rows && a->columns == b->columns);
    if (!fits) {
        tc_error(values->diagnostics, span, "%s needs equal shapes: the left side is %s, the right side %s", what,
                 tc_shape_text(values->arena, a), tc_shape_text(values->arena, b));
        return tc_value_broken();
    }
    const tc_value *shape = a->rank >= b->rank ? a : b;
    size_t count = tc_value_count(shape);
    double one_number;
    tc_expr one_node;
    tc_value result;
    if (a->is_number && b->is_number) {
        double *numbers = shape->rank == 0 ? &one_number : TC_NEW(values->arena, double, count);
        for (size_t i = 0; i < count; i++)
            numbers[i] = on_numbers(tc_value_number_at(a, i), tc_value_number_at(b, i));
        result = shaped(shape, true, numbers, NULL);
    } else {
        tc_expr *nodes = shape->rank == 0 ? &one_node : TC_NEW(values->arena, tc_expr, count);
        for (size_t i = 0; i < count; i++)
            nodes[i] = on_nodes(values->dag, tc_value_node_at(values, a, i), tc_value_node_at(values, b, i));
        result = shaped(shape, false, NULL, nodes);
    }
    result.secret = either(a, b);
    return tc_value_checked(values, result, span);
}

static double add_numbers(double a, double b) { return a + b; }
static double subtract_numbers(double a, double b) { return a - b; }
static double multiply_numbers(double a, double b) { return a * b; }

tc_value tc_value_add(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span) {
    return tc_value_elementwise(values, a, b, add_numbers, tc_add, span, "+");
}

tc_value tc_value_subtract(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span) {
    return tc_value_elementwise(values, a, b, subtract_numbers, tc_sub, span, "-");
}

tc_value tc_value_compare(const tc_values *values, const tc_value *left, const tc_value *right, tc_span span) {
    return tc_value_elementwise(values, left, right, subtract_numbers, tc_sub, span, "a relation");
}

tc_value tc_value_negate(const tc_values *values, const tc_value *a) {
    tc_value zero = tc_value_number(0);
    return tc_value_subtract(values, &zero, a, (tc_span){0, 0});
}

/* sum over i of a[a_first + i a_step] b[b_first + i b_step] */
static tc_value inner(const tc_values *values, const tc_value *a, size_t a_first, size_t a_step, const tc_value *b,
                      size_t b_first, size_t b_step, size_t count) {
    tc_value result;
    if (a->is_number && b->is_number) {
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += tc_value_number_at(a, a_first + i * a_step) * tc_value_number_at(b, b_first + i * b_step);
        result = tc_value_number(sum);
    } else {
        tc_expr sum = tc_const(values->dag, 0);
        for (size_t i = 0; i < count; i++) {
            tc_expr x = tc_value_node_at(values, a, a_first + i * a_step);
            tc_expr y = tc_value_node_at(values, b, b_first + i * b_step);
            sum = tc_add(values->dag, sum, tc_mul(values->dag, x, y));
        }
        result = tc_value_node(sum);
    }
    return result;
}

tc_value tc_value_dot(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span) {
    if (a->broken || b->broken)
        return tc_value_broken();
    if (a->rank != 1 || b->rank != 1 || a->rows != b->rows) {
        tc_error(values->diagnostics, span, "dot needs two vectors of equal length: these are %s and %s",
                 tc_shape_text(values->arena, a), tc_shape_text(values->arena, b));
        return tc_value_broken();
    }
    tc_value result = inner(values, a, 0, 1, b, 0, 1, a->rows);
    result.secret = either(a, b);
    return tc_value_checked(values, result, span);
}

/* Matrix times vector or matrix. */
static tc_value matrix_product(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span) {
    size_t columns = b->rank == 1 ? 1 : b->columns;
    size_t count = a->rows * columns;
    if (count > TC_MOST_ELEMENTS) {
        tc_error(values->diagnostics, span, "this product has more than %zu elements", TC_MOST_ELEMENTS);
        return tc_value_broken();
    }
    bool is_number = a->is_number && b->is_number;
    double *numbers = is_number ? TC_NEW(values->arena, double, count) : NULL;
    tc_expr *nodes = is_number ? NULL : TC_NEW(values->arena, tc_expr, count);
    for (size_t i = 0; i < count; i++) {
        tc_value element = inner(values, a, i / columns * a->columns, 1, b, i % columns, columns, a->columns);
        if (is_number)
            numbers[i] = element.number;
        else
            nodes[i] = tc_value_node_at(values, &element, 0);
    }
    tc_value shape = {.rank = b->rank, .rows = a->rows, .columns = columns};
    tc_value result = shaped(&shape, is_number, numbers, nodes);
    result.secret = either(a, b);
    return tc_value_checked(values, result, span);
}

tc_value tc_value_product(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span) {
    if (a->broken || b->broken)
        return tc_value_broken();
    if (a->rank == 2 && b->rank >= 1) {
        if (a->columns == b->rows)
            return matrix_product(values, a, b, span);
        tc_error(values->diagnostics, span, "the shapes do not fit: %s times %s", tc_shape_text(values->arena, a),
                 tc_shape_text(values->arena, b));
        return tc_value_broken();
    }
    if (a->rank == 1 && b->rank == 2) {
        tc_error(values->diagnostics, span, "a vector times a matrix: write transpose(M) * v");
        return tc_value_broken();
    }
    return tc_value_elementwise(values, a, b, multiply_numbers, tc_mul, span, "*");
}

tc_value tc_value_transpose(const tc_values *values, const tc_value *a) {
    tc_value result = *a;
    if (a->broken || a->rank != 2)
        return result;
    double *numbers = a->is_number ? TC_NEW(values->arena, double, a->rows * a->columns) : NULL;
    tc_expr *nodes = a->is_number ? NULL : TC_NEW(values->arena, tc_expr, a->rows * a->columns);
    for (size_t i = 0; i < a->rows; i++) {
        for (size_t j = 0; j < a->columns; j++) {
            if (a->is_number)
                numbers[j * a->rows + i] = a->numbers[i * a->columns + j];
            else
                nodes[j * a->rows + i] = a->nodes[i * a->columns + j];
        }
    }
    result.rows = a->columns;
    result.columns = a->rows;
    result.numbers = numbers;
    result.nodes = nodes;
    return result;
}

tc_value tc_value_total(const tc_values *values, const tc_value *a, tc_span span) {
    if (a->broken || a->rank == 0)
        return *a;
    tc_value one = tc_value_number(1);
    tc_value result = inner(values, a, 0, 1, &one, 0, 0, tc_value_count(a));
    result.secret = a->secret;
    return tc_value_checked(values, result, span);
}
