/* Values during elaboration: a scalar, vector or matrix, of numbers where all of it is constant, of DAG nodes
 * otherwise, with the label that says whether private data flowed into it.
 *
 * Arithmetic on numbers happens in double: that is the definition of a constant expression. */
#ifndef TC_MODEL_ELABORATE_VALUE_H
#define TC_MODEL_ELABORATE_VALUE_H

#include "model/syntax/diagnose.h"
#include "model/expr.h"

/* A private datum, for messages. */
typedef struct tc_private_datum {
    const char *name; /* "need", "w" */
    const char *data; /* the table, where it is a column; else NULL */
    tc_span span;     /* where it was declared private */
} tc_private_datum;

typedef struct tc_value {
    bool broken;    /* an error was reported already: report no more */
    bool is_number; /* number or numbers hold it; else node or nodes */
    unsigned char rank;
    size_t rows, columns; /* rank 1: rows elements, columns 1 */
    double number;        /* rank 0 */
    tc_expr node;
    const double *numbers; /* rank 1 and 2, row by row */
    const tc_expr *nodes;
    const tc_private_datum *secret; /* NULL: public */
} tc_value;

typedef struct tc_values { /* what operations on values need */
    tc_arena *arena;
    tc_dag *dag;
    tc_diagnostics *diagnostics;
} tc_values;

/* Expansions beyond this are refused. */
#define TC_MOST_ELEMENTS ((size_t)10000000)

tc_value tc_value_number(double number);
tc_value tc_value_node(tc_expr node);
tc_value tc_value_broken(void);
tc_value tc_value_numbers(const double *numbers, unsigned char rank, size_t rows, size_t columns);
tc_value tc_value_nodes(const tc_expr *nodes, unsigned char rank, size_t rows, size_t columns);

static inline size_t tc_value_count(const tc_value *value) {
    return value->rank == 0 ? 1 : value->rows * value->columns;
}
static inline double tc_value_number_at(const tc_value *value, size_t i) {
    return value->rank == 0 ? value->number : value->numbers[i];
}
tc_expr tc_value_node_at(const tc_values *values, const tc_value *value, size_t i);
bool tc_value_has_state(const tc_values *values, const tc_value *value);
bool tc_value_has_data(const tc_values *values, const tc_value *value);

/* "a number", "a vector of 3", "a 2 x 3 matrix" */
const char *tc_shape_text(tc_arena *arena, const tc_value *value);

typedef double tc_number_function(double a, double b);
typedef tc_expr tc_node_function(tc_dag *dag, tc_expr a, tc_expr b);
/* Element by element, a scalar with every element; what: the operator, for messages. */
tc_value tc_value_elementwise(const tc_values *values, const tc_value *a, const tc_value *b,
                              tc_number_function *on_numbers, tc_node_function *on_nodes, tc_span span,
                              const char *what);
tc_value tc_value_product(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span);
tc_value tc_value_add(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span);
tc_value tc_value_subtract(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span);
/* left - right of a relation. */
tc_value tc_value_compare(const tc_values *values, const tc_value *left, const tc_value *right, tc_span span);
tc_value tc_value_negate(const tc_values *values, const tc_value *a);
tc_value tc_value_transpose(const tc_values *values, const tc_value *a);
tc_value tc_value_total(const tc_values *values, const tc_value *a, tc_span span);
tc_value tc_value_dot(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span);

/* Reports a constant that is not finite. */
tc_value tc_value_checked(const tc_values *values, tc_value value, tc_span span);

#endif
