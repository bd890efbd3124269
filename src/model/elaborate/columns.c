/* Expressions of data alone, evaluated once for every member. */
#include "model/elaborate/elaborate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 256 };

static int by_number(const void *a, const void *b) {
    tc_expr x = *(const tc_expr *)a, y = *(const tc_expr *)b;
    return (x > y) - (x < y);
}

static void prepare_walk(tc_elaborator *elaborator) {
    if (elaborator->stamp_count >= elaborator->dag->count)
        return;
    elaborator->stamp_count = elaborator->dag->count * 2;
    elaborator->stamps = TC_NEW(elaborator->arena, uint32_t, elaborator->stamp_count);
    elaborator->places = TC_NEW(elaborator->arena, uint32_t, elaborator->stamp_count);
    elaborator->stamp = 0;
}

tc_expr *tc_nodes_under(tc_elaborator *elaborator, tc_expr root, size_t *count) {
    const tc_dag *dag = elaborator->dag;
    prepare_walk(elaborator);
    uint32_t stamp = ++elaborator->stamp;
    tc_expr *nodes = NULL;
    *count = 0;
    elaborator->stamps[root] = stamp;
    TC_PUSH(elaborator->arena, nodes, *count, root);
    /* The list is its own queue: what stands after i is still to be looked into. */
    for (size_t i = 0; i < *count; i++) {
        for (size_t k = 0; k < tc_operand_count(dag, nodes[i]); k++) {
            tc_expr child = tc_operand(dag, nodes[i], k);
            if (elaborator->stamps[child] == stamp)
                continue;
            elaborator->stamps[child] = stamp;
            TC_PUSH(elaborator->arena, nodes, *count, child);
        }
    }
    qsort(nodes, *count, sizeof *nodes, by_number);
    for (size_t i = 0; i < *count; i++)
        elaborator->places[nodes[i]] = (uint32_t)i;
    return nodes;
}

static double huber(double a, double threshold) {
    return fabs(a) <= threshold ? a * a / 2 : threshold * (fabs(a) - threshold / 2);
}

static double log_sum_exp(const tc_node *n, const tc_expr *arguments, const double *work, const uint32_t *place,
                          size_t lane) {
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < n->b; i++)
        largest = fmax(largest, work[place[arguments[i]] * LANES + lane]);
    for (size_t i = 0; i < n->b; i++)
        sum += exp(work[place[arguments[i]] * LANES + lane] - largest);
    return largest + log(sum);
}

static double apply(const tc_node *n, double a, double b) {
    switch ((tc_op)n->op) {
    case TC_CONST:
        return n->u.value;
    case TC_ADD:
        return a + b;
    case TC_SUB:
        return a - b;
    case TC_MUL:
        return a * b;
    case TC_DIV:
        return a / b;
    case TC_NEG:
        return -a;
    case TC_POWI:
        return n->u.exponent == 2 ? a * a : pow(a, (double)n->u.exponent);
    case TC_POWR:
        return pow(a, n->u.value);
    case TC_EXP:
        return exp(a);
    case TC_LOG:
        return log(a);
    case TC_SQRT:
        return sqrt(a);
    case TC_HUBER:
        return huber(a, b);
    case TC_DATA:
    case TC_LSE:
        break; /* handled by the caller */
    case TC_STATE:
    case TC_COORD:
    case TC_SUM:
    case TC_CLAMP:
    case TC_INSIDE:
    case TC_SOFTMAX:
    case TC_HUMP:
    case TC_PAIR:
    case TC_NORM: /* made of states only; roots of squares of data are roots */
    case TC_DIRECTION:
    case TC_BEND:
        break; /* not in an expression of data */
    }
    return NAN;
}

/* Values of the nodes for members first .. first + lanes - 1. place: where a node's lanes are in work. */
static void evaluate(const tc_dag *dag, const tc_family *family, const tc_expr *nodes, size_t count,
                     const uint32_t *place, double *work, size_t first, size_t lanes) {
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &dag->nodes[nodes[i]];
        double *out = work + i * LANES;
        if (n->op == TC_DATA) {
            memcpy(out, family->columns[n->u.index].values + first, lanes * sizeof *out);
            continue;
        }
        size_t operands = n->op == TC_LSE ? 0 : tc_operand_count(dag, nodes[i]);
        const double *a = operands > 0 ? work + place[n->a] * LANES : out;
        const double *b = operands > 1 ? work + place[n->b] * LANES : out;
        for (size_t lane = 0; lane < lanes; lane++)
            out[lane] =
                n->op == TC_LSE ? log_sum_exp(n, dag->arguments + n->a, work, place, lane) : apply(n, a[lane], b[lane]);
    }
}

tc_coef tc_coef_of(tc_elaborator *elaborator, const tc_block *block, tc_expr expression) {
    const tc_dag *dag = elaborator->dag;
    const tc_node *root = &dag->nodes[expression];
    const tc_family *family = &elaborator->model->families[block->number];
    if (root->op == TC_CONST)
        return (tc_coef){.value = root->u.value};
    if (root->op == TC_DATA)
        return (tc_coef){.column = family->columns[root->u.index].values};
    size_t members = root->has_data ? family->count : 1;
    double *column = TC_NEW(elaborator->arena, double, members);
    prepare_walk(elaborator); /* before the mark: it outlives this function */
    tc_mark mark = tc_arena_mark(elaborator->arena);
    size_t count;
    tc_expr *nodes = tc_nodes_under(elaborator, expression, &count);
    double *work = TC_NEW(elaborator->arena, double, count *LANES);
    for (size_t first = 0; first < members; first += LANES) {
        size_t lanes = members - first < LANES ? members - first : LANES;
        evaluate(dag, family, nodes, count, elaborator->places, work, first, lanes);
        memcpy(column + first, work + (count - 1) * LANES, lanes * sizeof *column);
    }
    tc_arena_rewind(elaborator->arena, mark);
    return root->has_data ? (tc_coef){.column = column} : (tc_coef){.value = column[0]};
}

tc_coef tc_coef_of_value(tc_elaborator *elaborator, const tc_block *block, const tc_value *value, size_t i) {
    if (value->is_number)
        return (tc_coef){.value = tc_value_number_at(value, value->rank == 0 ? 0 : i)};
    return tc_coef_of(elaborator, block, tc_value_node_at(&elaborator->values, value, i));
}

tc_expr tc_new_column(tc_elaborator *elaborator, tc_block *block, const double *values, bool is_private) {
    tc_family *family = &elaborator->model->families[block->number];
    if (family->column_count == block->column_capacity) {
        size_t capacity = block->column_capacity == 0 ? 8 : block->column_capacity * 2;
        family->columns =
            tc_arena_grow(elaborator->arena, family->columns, family->column_count, capacity, sizeof *family->columns);
        block->column_capacity = capacity;
    }
    family->columns[family->column_count] = (tc_column){.values = values, .is_private = is_private};
    return tc_data(elaborator->dag, block->number, family->column_count++, is_private);
}
