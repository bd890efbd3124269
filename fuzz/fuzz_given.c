/* Bytes as a description of tables and matrices that a program gives: names, sizes, strides, holes. They give a
 * model of finite numbers or a list of errors. Arrays are as large as their description says, so the sanitizer sees a
 * step too far. Impossible sizes are beyond 2^60. */
#include "model/model.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_THINGS = 3, MOST_COLUMNS = 5, MOST_ROWS = 130, MOST_PIECES = 64 };

typedef struct bytes {
    const uint8_t *at, *end;
    void *pieces[MOST_PIECES]; /* to be freed */
    size_t piece_count;
} bytes;

static unsigned take(bytes *b, unsigned limit) { return b->at < b->end ? *b->at++ % limit : 0; }

static void *piece(bytes *b, size_t size) {
    void *memory = b->piece_count < MOST_PIECES ? calloc(1, size == 0 ? 1 : size) : NULL;
    if (memory != NULL)
        b->pieces[b->piece_count++] = memory;
    return memory;
}

static const char *take_name(bytes *b) {
    static const char *const names[] = {"homes", "m",    "need",    "need_1", "need_2", "need_3",
                                        "cap",   "name", "",        "name_1", "cap_1",  "v",
                                        "home",  "1x",   "need_01", "a.m",    "a.v",    "home.m"};
    unsigned which = take(b, 21);
    if (which < 18)
        return names[which];
    if (which == 18)
        return NULL;
    size_t length = take(b, 100);
    char *text = piece(b, length + 1);
    for (size_t i = 0; text != NULL && i < length; i++)
        text[i] = (char)take(b, 256);
    return text;
}

/* A small size, or an impossible one. */
static size_t take_size(bytes *b, unsigned limit) {
    unsigned which = take(b, 40);
    return which == 0 ? SIZE_MAX : which == 1 ? (size_t)1 << 60 : which == 2 ? SIZE_MAX / 2 + 1 : take(b, limit);
}

static double take_number(bytes *b) {
    static const double numbers[] = {0, 1, -2.5, 1e308, 5e-324, -0.0};
    unsigned which = take(b, 60);
    return which == 59 ? NAN : which == 58 ? INFINITY : which < 6 ? numbers[which] : which;
}

static const double *take_values(bytes *b, size_t rows, size_t columns, size_t row_stride, size_t column_stride) {
    size_t small = MOST_ROWS * 8;
    if (take(b, 30) == 29)
        return NULL;
    row_stride = row_stride != 0 ? row_stride : columns;
    column_stride = column_stride != 0 ? column_stride : 1;
    size_t count = 1;
    if (rows > 1 && rows < small && row_stride < small)
        count += (rows - 1) * row_stride;
    if (columns > 1 && columns < small && column_stride < small)
        count += (columns - 1) * column_stride;
    double *values = piece(b, count * sizeof *values);
    for (size_t i = 0; values != NULL && i < count; i++)
        values[i] = take_number(b);
    return values;
}

static tc_given_table take_table(bytes *b) {
    tc_given_table table = {.name = take_name(b), .rows = take_size(b, MOST_ROWS)};
    table.column_count = take(b, MOST_COLUMNS + 1);
    tc_given_column *columns = piece(b, MOST_COLUMNS * sizeof *columns);
    for (size_t c = 0; columns != NULL && c < table.column_count; c++) {
        tc_given_column column = {.name = take_name(b), .length = take_size(b, 5)};
        column.row_stride = take_size(b, 7);
        column.component_stride = take_size(b, 7);
        column.values = take_values(b, table.rows, column.length, column.row_stride, column.component_stride);
        columns[c] = column;
    }
    table.columns = take(b, 30) == 29 ? NULL : columns;
    if (take(b, 3) != 0 || table.rows > MOST_ROWS)
        return table;
    const char **members = piece(b, table.rows * sizeof *members);
    for (size_t k = 0; members != NULL && k < table.rows; k++) {
        char *text = piece(b, 8);
        if (text != NULL)
            memcpy(text, (char[]){(char)('a' + take(b, 26)), (char)('a' + k), (char)take(b, 128)}, 3);
        members[k] = text != NULL ? text : take_name(b);
    }
    table.members = members;
    return table;
}

static tc_given_matrix take_matrix(bytes *b) {
    tc_given_matrix matrix = {.name = take_name(b), .rows = take_size(b, 80), .columns = take_size(b, 8)};
    matrix.row_stride = take_size(b, 12);
    matrix.column_stride = take_size(b, 80);
    matrix.values = take_values(b, matrix.rows, matrix.columns, matrix.row_stride, matrix.column_stride);
    return matrix;
}

static void check(const tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->column_count; c++) {
            for (size_t k = 0; k < family->count; k++) {
                if (!isfinite(family->columns[c].values[k]))
                    abort();
            }
        }
    }
    for (const tc_matrix_file *m = model->last_matrix; m != NULL; m = m->before) {
        for (size_t i = 0; i < m->rows * m->columns; i++) {
            if (!isfinite(m->numbers[i]))
                abort();
        }
    }
}

static void load(tc_arena *arena, bytes *b) {
    static const char *const texts[] = {
        "data homes = given public cap\nagents home over homes { state p in [0, 1]; private minimize p }\n",
        "data homes = csv \"no\"\nparam m = given\n"
        "agents home over homes { state p in [0, 1]; private minimize p * need + sum(cap) }\n",
        "private param m = given\nparam v = given\nagent a { state p in [0, 1]; private minimize p }\n",
        "param given = 3\nparam m = given\nparam v = csv \"no\"\nagent a { state p in [0, 1]; private minimize p }\n",
        "agent a { private param m = given; param v = csv \"no\"; state p in [0, 1]; private minimize p + sum(m * v) "
        "}\n"};
    const char *text = texts[take(b, 5)];
    tc_given_table tables[MOST_THINGS];
    tc_given_matrix matrices[MOST_THINGS];
    tc_given given = {tables, take(b, MOST_THINGS + 1), matrices, take(b, MOST_THINGS + 1)};
    for (size_t i = 0; i < given.table_count; i++)
        tables[i] = take_table(b);
    for (size_t i = 0; i < given.matrix_count; i++)
        matrices[i] = take_matrix(b);
    tc_buffer messages = tc_buffer_new(arena, 1 << 20);
    tc_model *model = NULL;
    tc_load_request request = {.arena = arena,
                               .path = "/nowhere/fuzz.tacit",
                               .text = text,
                               .length = strlen(text),
                               .messages = &messages,
                               .given = given};
    tc_status status = tc_model_load_request(&request, &model);
    if (status == TC_INTERNAL || (status == TC_OK) != (model != NULL) ||
        (status == TC_BAD_PROBLEM && messages.length == 0))
        abort();
    if (model != NULL)
        check(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tc_arena *arena = tc_arena_new((size_t)64 << 20);
    if (arena == NULL)
        return 0;
    bytes b = {.at = data, .end = data + size};
    load(arena, &b);
    for (size_t i = 0; i < b.piece_count; i++)
        free(b.pieces[i]);
    tc_arena_free(arena);
    return 0;
}
