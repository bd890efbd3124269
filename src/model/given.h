/* Data that the program which loads a problem gives, in place of files. Every number is copied once, into the model's
 * arena; the arrays may be freed when loading ends. */
#ifndef TC_MODEL_GIVEN_H
#define TC_MODEL_GIVEN_H

#include <stddef.h>

/* Component c of row r is values[r * row_stride + c * component_stride]. A column of length n means the plain columns
 * name_1 .. name_n of a CSV file, so it is the vector `name`; plain columns name_1 .. name_n form it as well. */
typedef struct tc_given_column {
    const char *name;
    const double *values;
    size_t length;           /* components; 1: a plain column */
    size_t row_stride;       /* in doubles; 0: length */
    size_t component_stride; /* in doubles; 0: 1 */
} tc_given_column;

typedef struct tc_given_table { /* in place of `data name = csv "..."` or `data name = given` */
    const char *name;
    size_t rows;
    const tc_given_column *columns;
    size_t column_count;
    const char *const *members; /* the names of the members, as in a text column `name`; NULL: they have none */
} tc_given_table;

/* The number at (r, c) is values[r * row_stride + c * column_stride]. */
typedef struct tc_given_matrix { /* in place of `param name = csv "..."` or `param name = given` */
    const char *name;
    const double *values;
    size_t rows, columns;
    size_t row_stride;    /* in doubles; 0: columns */
    size_t column_stride; /* in doubles; 0: 1 */
} tc_given_matrix;

typedef struct tc_given {
    const tc_given_table *tables;
    size_t table_count;
    const tc_given_matrix *matrices;
    size_t matrix_count;
} tc_given;

#endif
