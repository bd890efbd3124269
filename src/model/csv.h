/* Numbers from CSV files (RFC 4180: commas, quotes doubled inside quotes, CRLF or LF), read in blocks, so that a file
 * of any size needs memory for its numbers alone. */
#ifndef TC_MODEL_CSV_H
#define TC_MODEL_CSV_H

#include "base/status.h"
#include "model/given.h"
#include "model/spread.h"
#include "model/syntax/diagnose.h"

typedef struct tc_csv_source {
    const char *path; /* as shown and opened */
    tc_span span;     /* where the problem file names it */
    const char *text; /* not NULL: read this instead of the file */
    size_t length;
    const tc_monitor *monitor;
    bool whole; /* every rank knows all rows */
} tc_csv_source;

/* The first cell of a column that is no number. Nobody hears of it unless the problem uses the column. */
typedef struct tc_text_cell {
    tc_text_place place; /* without a path: span says where */
    tc_span span;        /* of the line that the program's numbers are given for */
    const char *message;
    bool told;
} tc_text_cell;

typedef struct tc_table_column {
    const char *name;
    size_t first;       /* into values */
    size_t length;      /* components; 1 for a plain column */
    bool is_vector;     /* made of name_1 .. name_n */
    tc_text_cell *text; /* NULL where all cells are numbers; else values of the column must not be used */
} tc_table_column;

typedef struct tc_table {
    const char *path;
    size_t rows;
    tc_known known; /* the rows whose numbers this rank has */
    tc_table_column *columns;
    size_t column_count;
    double **values; /* by physical column, rows each; of a spread table only those known are touched */
    size_t value_count;
    const char **names; /* the text column `name`: all rows', all different; or NULL */
} tc_table;

/* A table with a header. NULL after a reported error. */
tc_table *tc_csv_table(tc_arena *arena, tc_diagnostics *diagnostics, const tc_csv_source *source);

/* Whether all cells of a column are numbers. Reports the first other cell, once. */
bool tc_column_has_numbers(tc_diagnostics *diagnostics, const tc_table_column *column);

/* A matrix without a header, row by row. false after a reported error. */
bool tc_csv_matrix(tc_arena *arena, tc_diagnostics *diagnostics, const tc_csv_source *source, double **numbers,
                   size_t *rows, size_t *columns);

/* The same from NumPy's .npy files: a structured array is a table, an array of one or two dimensions a matrix. */
tc_table *tc_npy_table(tc_arena *arena, tc_diagnostics *diagnostics, const tc_csv_source *source);
bool tc_npy_matrix(tc_arena *arena, tc_diagnostics *diagnostics, const tc_csv_source *source, double **numbers,
                   size_t *rows, size_t *columns);

/* ---- tables of any origin (table.c) ---- */

enum { TC_MOST_COLUMNS = 100000 };

typedef struct tc_table_header { /* physical columns */
    const char **names;
    size_t count;
    size_t text_column;  /* the column `name`, or SIZE_MAX */
    tc_text_cell **text; /* by column: NULL, or its first cell that is no number; NULL: there are none */
} tc_table_header;

typedef struct tc_text_pool {
    char *text;
    size_t left;
} tc_text_pool;

bool tc_is_column_name(const char *text, size_t length);
/* Why this cannot be a member's name; NULL where it can. */
const char *tc_member_name_problem(const char *text, size_t length);
/* Whether two texts are equal, and which. */
bool tc_table_twice(tc_arena *arena, const char *const *texts, size_t count, size_t *first, size_t *second);
/* A copy in a pool: many short texts. */
const char *tc_text_keep(tc_arena *arena, tc_text_pool *pool, const char *text, size_t length);
/* Of a spread table: what one rank found in a column to be no number is known to all. */
void tc_table_share_text(tc_arena *arena, const tc_table *table, tc_table_header *head, const tc_csv_source *source);
/* Sorts physical columns into named ones: table->values is reordered so that a vector's components are neighbours.
 * Why that cannot be; NULL where it can. */
const char *tc_table_name_columns(tc_arena *arena, const tc_table_header *head, tc_table *table);

/* ---- the same from arrays (given.c) ---- */

typedef struct tc_given_place { /* the declaration, for messages */
    tc_arena *arena;
    tc_diagnostics *diagnostics;
    const tc_monitor *monitor;
    tc_span span;
} tc_given_place;

/* NULL after reported errors. */
tc_table *tc_given_read_table(const tc_given_place *place, const tc_given_table *given);
/* Row by row. false after reported errors. */
bool tc_given_read_matrix(const tc_given_place *place, const tc_given_matrix *given, double **numbers);
/* A name as messages show it, whatever bytes it has. */
const char *tc_given_shown(tc_arena *arena, const char *name);

/* ---- between csv.c and table.c ---- */

typedef struct tc_csv {
    tc_arena *arena;
    tc_diagnostics *diagnostics;
    const tc_csv_source *source;
    struct tc_csv_file *file; /* NULL: from memory */
    char *buffer;
    size_t capacity, start, end;
    bool at_end;
    size_t most_lines; /* newlines in the file, and one */
    size_t bytes;
    uint64_t hash; /* of the text, where there are several ranks */
    /* the record read last */
    const char *record;
    size_t length;
    size_t line; /* its first line, 1-based */
    size_t next_line;
    const char *at; /* the next field */
    bool fields_left;
    const char *quoted; /* the field read last as it stands in the record, where it has doubled quotes */
    size_t quoted_length;
    char *unquoted; /* and without them */
    size_t unquoted_capacity;
    bool failed;
} tc_csv;

/* The same file on all ranks. false after a reported error. */
bool tc_csv_open(tc_csv *csv);
void tc_csv_close(tc_csv *csv);
/* Counts the records that are left, which are not blank, and goes back to before the first of the file. */
bool tc_csv_count(tc_csv *csv, size_t *records);
/* The next record that is not blank; false at the end or after an error (csv->failed). */
bool tc_csv_next(tc_csv *csv);
/* The next field of the record, without quotes; text is good until the next call. */
bool tc_csv_field(tc_csv *csv, const char **text, size_t *length);
typedef struct tc_csv_cell { /* a field that should be a number */
    bool is_number;
    double value;
    const char *problem; /* otherwise: what to say of it */
    const char *text;
    size_t length;
} tc_csv_cell;
/* false where there is no field, and after an error. */
bool tc_csv_read_cell(tc_csv *csv, tc_csv_cell *cell);
/* The place of bytes of the record read last. */
tc_text_place tc_csv_place(const tc_csv *csv, const char *from, size_t length);
void tc_csv_error(tc_csv *csv, const char *from, size_t length, const char *format, ...) TC_PRINTF(4, 5);

#endif
