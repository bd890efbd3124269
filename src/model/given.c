#include "model/csv.h"

#include <stdio.h>
#include <string.h>

/* ---- copying ----------------------------------------------------------------------------------------------------
 *
 * A row-major array becomes columns. Rows are taken in blocks, and all strided columns of a block one after another:
 * the block's lines stay in the cache while their other numbers are taken. */

enum { BLOCK = 64 };

typedef struct lane { /* numbers that will stand side by side */
    const double *from;
    size_t stride;
    double *to;
    size_t bad; /* the first that is not finite; SIZE_MAX: none */
} lane;

/* The sign bit of the sum is set where the exponent has all bits: infinity or NaN. In integers, so that it
 * vectorises. */
static inline uint64_t test_bits(uint64_t bits) {
    return (bits & UINT64_C(0x7fffffffffffffff)) + UINT64_C(0x0010000000000000);
}

static uint64_t copy_block(double *restrict to, const double *restrict from) {
    uint64_t tests = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        uint64_t bits;
        memcpy(&bits, from + i, sizeof bits);
        tests |= test_bits(bits);
        memcpy(to + i, &bits, sizeof bits);
    }
    return tests;
}

static uint64_t copy_some(double *restrict to, const double *restrict from, size_t stride, size_t count) {
    uint64_t tests = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, from + i * stride, sizeof bits);
        tests |= test_bits(bits);
        memcpy(to + i, &bits, sizeof bits);
    }
    return tests;
}

static void copy_part(lane *of, size_t first, size_t count) {
    double *to = of->to + first;
    const double *from = of->from + first * of->stride;
    bool is_block = of->stride == 1 && count == BLOCK;
    uint64_t tests = is_block ? copy_block(to, from) : copy_some(to, from, of->stride, count);
    for (size_t i = 0; tests >> 63 != 0 && of->bad == SIZE_MAX && i < count; i++) {
        if (!isfinite(to[i]))
            of->bad = first + i;
    }
}

static void copy_lanes(lane *lanes, size_t lane_count, size_t count, bool strided) {
    for (size_t first = 0; first < count; first += BLOCK) {
        for (size_t l = 0; l < lane_count; l++) {
            if ((lanes[l].stride != 1) == strided)
                copy_part(&lanes[l], first, count - first < BLOCK ? count - first : BLOCK);
        }
    }
}

/* Contiguous lanes gain nothing from one another. */
static void copy_all(const tc_given_place *place, lane *lanes, size_t lane_count, size_t count) {
    copy_lanes(lanes, lane_count, count, true);
    for (size_t l = 0; l < lane_count; l++) {
        copy_lanes(&lanes[l], 1, count, false);
        if (tc_interrupted(place->monitor))
            tc_raise(place->arena, TC_INTERRUPTED);
    }
}

/* Whether an array of two dimensions, of which neither is empty, can exist, and a copy of it. */
static bool can_exist(size_t rows, size_t columns, size_t row_stride, size_t column_stride) {
    size_t most = PTRDIFF_MAX / sizeof(double), last_row, last_column;
    return columns <= most / rows && !__builtin_mul_overflow(rows - 1, row_stride, &last_row) &&
           !__builtin_mul_overflow(columns - 1, column_stride, &last_column) && last_row < most &&
           last_column < most - last_row;
}

/* Whether its numbers are all different places: a stride that was left out reads rows that overlap. */
static bool is_apart(size_t rows, size_t columns, size_t row_stride, size_t column_stride) {
    return rows <= 1 || columns <= 1 || row_stride > (columns - 1) * column_stride ||
           column_stride > (rows - 1) * row_stride;
}

#define OVERLAPS "%zu rows of %zu numbers, %zu and %zu apart, overlap: give both strides"

/* ---- messages ---------------------------------------------------------------------------------------------------- */

enum { LONGEST_SHOWN = 100 };

const char *tc_given_shown(tc_arena *arena, const char *name) {
    size_t length = strnlen(name, LONGEST_SHOWN);
    char *text = tc_arena_format(arena, "%.*s%s", (int)length, name, name[length] != '\0' ? "..." : "");
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] >= 0x7f)
            text[i] = '?';
    }
    return text;
}

TC_PRINTF(4, 5)
static void complain(const tc_given_place *place, const char *kind, const char *name, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tc_error(place->diagnostics, place->span, "the %s '%s' that is given: %s", kind, name, text);
}

static const char *not_finite(double value) { return isnan(value) ? "NaN" : value > 0 ? "infinity" : "-infinity"; }

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef struct table_reading {
    const tc_given_place *place;
    const tc_given_table *given;
    size_t errors; /* before */
    size_t lanes;  /* physical columns with numbers */
    tc_table_header head;
} table_reading;

#define WRONG(reading, ...) complain((reading)->place, "table", (reading)->given->name, __VA_ARGS__)

static bool is_good(const table_reading *r) { return r->place->diagnostics->errors == r->errors; }

static void check_column(table_reading *r, size_t number) {
    const tc_given_column *column = &r->given->columns[number];
    size_t length = column->name != NULL ? strlen(column->name) : 0;
    if (length == 0) {
        WRONG(r, "column %zu has no name", number + 1);
        return;
    }
    const char *name = tc_given_shown(r->place->arena, column->name);
    if (!tc_is_column_name(column->name, length))
        WRONG(r,
              "a column is called '%s', but names are made of letters, digits and underscores, and do not begin "
              "with a digit",
              name);
    else if (strcmp(column->name, "name") == 0)
        WRONG(r, "a column is called 'name', but names are texts: give them as the members' names");
    size_t row_stride = column->row_stride != 0 ? column->row_stride : column->length;
    size_t component_stride = column->component_stride != 0 ? column->component_stride : 1;
    if (column->length == 0)
        WRONG(r, "column '%s' has no components; a plain column has 1", name);
    else if (r->given->rows > 0 && column->values == NULL)
        WRONG(r, "column '%s' has no numbers", name);
    else if (r->given->rows > 0 && !can_exist(r->given->rows, column->length, row_stride, component_stride))
        WRONG(r, "column '%s': %zu rows of %zu numbers, %zu and %zu apart, are more than a memory can hold", name,
              r->given->rows, column->length, row_stride, component_stride);
    else if (!is_apart(r->given->rows, column->length, row_stride, component_stride))
        WRONG(r, "column '%s': " OVERLAPS, name, r->given->rows, column->length, row_stride, component_stride);
    if (column->length <= TC_MOST_COLUMNS - r->lanes)
        r->lanes += column->length;
    else
        WRONG(r, "column '%s': with it there are more than %d columns", name, TC_MOST_COLUMNS);
}

/* Where the table's form makes sense, its numbers can be read. */
static bool check_form(table_reading *r) {
    const tc_given_table *given = r->given;
    if (given->rows == 0)
        WRONG(r, "it has no rows");
    if (given->column_count > 0 && given->columns == NULL)
        WRONG(r, "it has %zu columns, but the list of columns is NULL", given->column_count);
    else if (given->column_count == 0 && given->members == NULL)
        WRONG(r, "it has no columns");
    else if (given->column_count > TC_MOST_COLUMNS)
        WRONG(r, "it has more than %d columns", TC_MOST_COLUMNS);
    else
        for (size_t c = 0; c < given->column_count; c++)
            check_column(r, c);
    return is_good(r);
}

/* The columns that a CSV file would have: a vector as its components. */
static void expand_header(table_reading *r) {
    tc_arena *arena = r->place->arena;
    bool has_text = r->given->members != NULL;
    r->head = (tc_table_header){.names = TC_NEW(arena, const char *, r->lanes + has_text),
                                .text_column = has_text ? r->lanes : SIZE_MAX};
    for (size_t c = 0; c < r->given->column_count; c++) {
        const tc_given_column *column = &r->given->columns[c];
        for (size_t i = 0; i < column->length; i++) {
            r->head.names[r->head.count++] = column->length == 1
                                                 ? tc_arena_copy(arena, column->name, strlen(column->name))
                                                 : tc_arena_format(arena, "%s_%zu", column->name, i + 1);
        }
    }
    if (has_text)
        r->head.names[r->head.count++] = "name";
}

static void check_header(table_reading *r, tc_table *table) {
    size_t first, second;
    if (tc_table_twice(r->place->arena, r->head.names, r->head.count, &first, &second)) {
        WRONG(r, "two columns are called '%s'", tc_given_shown(r->place->arena, r->head.names[second]));
        return;
    }
    const char *problem = tc_table_name_columns(r->place->arena, &r->head, table);
    if (problem != NULL)
        WRONG(r, "%s", problem);
}

/* Allowed where nobody uses the column, as text in a file is. */
static void note_not_finite(table_reading *r, size_t column, const lane *from, size_t rows) {
    tc_arena *arena = r->place->arena;
    tc_text_cell *cell = TC_NEW(arena, tc_text_cell, 1);
    cell->span = r->place->span;
    cell->message = tc_arena_format(
        arena, "the table '%s' that is given: column '%s', row %zu: %s is not a finite number", r->given->name,
        tc_given_shown(arena, r->head.names[column]), from->bad + 1, not_finite(from->to[from->bad]));
    if (r->head.text == NULL)
        r->head.text = TC_NEW(arena, tc_text_cell *, r->head.count);
    r->head.text[column] = cell;
    memset(from->to, 0, rows * sizeof(double));
}

static void read_numbers(table_reading *r, tc_table *table) {
    tc_arena *arena = r->place->arena;
    lane *lanes = TC_NEW(arena, lane, r->lanes);
    size_t l = 0;
    table->values = TC_NEW(arena, double *, r->head.count);
    for (size_t c = 0; c < r->given->column_count; c++) {
        const tc_given_column *column = &r->given->columns[c];
        size_t apart = column->component_stride != 0 ? column->component_stride : 1;
        for (size_t i = 0; i < column->length; i++, l++) {
            table->values[l] = tc_arena_room(arena, table->rows, sizeof(double));
            lanes[l] = (lane){.from = column->values + i * apart,
                              .stride = column->row_stride != 0 ? column->row_stride : column->length,
                              .to = table->values[l],
                              .bad = SIZE_MAX};
        }
    }
    copy_all(r->place, lanes, l, table->rows);
    for (l = 0; l < r->lanes; l++)
        if (lanes[l].bad != SIZE_MAX)
            note_not_finite(r, l, &lanes[l], table->rows);
}

static void read_members(table_reading *r, tc_table *table) {
    tc_arena *arena = r->place->arena;
    tc_text_pool pool = {0};
    table->names = TC_NEW(arena, const char *, table->rows);
    for (size_t k = 0; k < table->rows; k++) {
        const char *name = r->given->members[k];
        const char *problem = name == NULL ? "an agent's name is NULL" : tc_member_name_problem(name, strlen(name));
        if (problem != NULL) {
            WRONG(r, "row %zu: %s", k + 1, problem);
            return;
        }
        table->names[k] = tc_text_keep(arena, &pool, name, strlen(name));
    }
    size_t first, second;
    if (tc_table_twice(arena, table->names, table->rows, &first, &second))
        WRONG(r, "the name '%s' is given to two agents, in rows %zu and %zu", table->names[second], first + 1,
              second + 1);
}

tc_table *tc_given_read_table(const tc_given_place *place, const tc_given_table *given) {
    table_reading r = {.place = place, .given = given, .errors = place->diagnostics->errors};
    if (!check_form(&r))
        return NULL;
    tc_table *table = TC_NEW(place->arena, tc_table, 1);
    table->path = tc_arena_copy(place->arena, given->name, strlen(given->name));
    table->rows = table->known.end = given->rows;
    expand_header(&r);
    read_numbers(&r, table);
    if (given->members != NULL)
        read_members(&r, table);
    check_header(&r, table);
    return is_good(&r) ? table : NULL;
}

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

bool tc_given_read_matrix(const tc_given_place *place, const tc_given_matrix *given, double **numbers) {
    size_t errors = place->diagnostics->errors, rows = given->rows, columns = given->columns;
    size_t row_stride = given->row_stride != 0 ? given->row_stride : columns;
    size_t column_stride = given->column_stride != 0 ? given->column_stride : 1;
    if (rows == 0)
        complain(place, "matrix", given->name, "it has no rows");
    if (columns == 0)
        complain(place, "matrix", given->name, "it has no columns");
    if (rows > 0 && columns > 0 && given->values == NULL)
        complain(place, "matrix", given->name, "it has no numbers");
    if (rows > 0 && columns > 0 && !can_exist(rows, columns, row_stride, column_stride))
        complain(place, "matrix", given->name,
                 "%zu rows of %zu numbers, %zu and %zu apart, are more than a memory can hold", rows, columns,
                 row_stride, column_stride);
    else if (rows > 0 && columns > 0 && !is_apart(rows, columns, row_stride, column_stride))
        complain(place, "matrix", given->name, OVERLAPS, rows, columns, row_stride, column_stride);
    if (place->diagnostics->errors != errors)
        return false;
    *numbers = tc_arena_room(place->arena, rows * columns, sizeof(double));
    bool whole = column_stride == 1 && row_stride == columns; /* then all of it is one lane */
    size_t lane_count = whole ? 1 : rows, length = whole ? rows * columns : columns, bad = SIZE_MAX;
    for (size_t first = 0; first < lane_count && bad == SIZE_MAX; first += BLOCK) {
        lane lanes[BLOCK];
        size_t count = lane_count - first < BLOCK ? lane_count - first : BLOCK;
        for (size_t l = 0; l < count; l++)
            lanes[l] = (lane){.from = given->values + (first + l) * row_stride,
                              .stride = column_stride,
                              .to = *numbers + (first + l) * length,
                              .bad = SIZE_MAX};
        copy_all(place, lanes, count, length);
        for (size_t l = 0; l < count && bad == SIZE_MAX; l++)
            bad = lanes[l].bad != SIZE_MAX ? (first + l) * length + lanes[l].bad : SIZE_MAX;
    }
    if (bad != SIZE_MAX)
        complain(place, "matrix", given->name, "row %zu, column %zu: %s is not a finite number", bad / columns + 1,
                 bad % columns + 1, not_finite((*numbers)[bad]));
    return bad == SIZE_MAX;
}
