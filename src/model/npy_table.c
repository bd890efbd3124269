/* Tables from .npy files: the fields of a structured array are columns, a field of n numbers is a vector, and texts
 * called `name` are the members' names. Only the rows that are held are read. */
#include "model/npy.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

typedef struct npy_reading {
    tc_npy npy;
    tc_table *table;
    tc_table_header head;
    const tc_npy_field **field_of; /* by physical column */
    size_t *component_of;
    tc_text_pool pool;
    char *name; /* room for one */
} npy_reading;

/* What is wrong in the file. */
#define wrong(r, ...) tc_npy_refuse(&(r)->npy, ": " __VA_ARGS__)

/* ---- columns ------------------------------------------------------------------------------------------------------
 */

static bool add_field(npy_reading *r, const tc_npy_field *field) {
    tc_arena *arena = r->npy.arena;
    bool is_name = strcmp(field->name, "name") == 0;
    if (!tc_is_column_name(field->name, strlen(field->name)))
        return wrong(r,
                     "a column is called '%s', but names are made of letters, digits and underscores, and do not begin "
                     "with a digit",
                     tc_given_shown(arena, field->name));
    if (is_name && (!field->is_text || field->is_vector))
        return wrong(r, "the column 'name' holds names: one text in each row");
    if (field->length == 0)
        return wrong(r, "column '%s' has no components", tc_given_shown(arena, field->name));
    if (field->length > TC_MOST_COLUMNS - r->head.count)
        return wrong(r, "there are more than %d columns", TC_MOST_COLUMNS);
    if (is_name) {
        r->head.text_column = r->head.count;
        r->name = TC_NEW(arena, char, field->size);
    }
    for (size_t i = 0; i < field->length; i++) {
        size_t at = r->head.count;
        const char *name = field->is_vector ? tc_arena_format(arena, "%s_%zu", field->name, i + 1) : field->name;
        TC_PUSH(arena, r->head.names, r->head.count, name);
        size_t count = at;
        TC_PUSH(arena, r->field_of, count, field);
        count = at;
        TC_PUSH(arena, r->component_of, count, i);
    }
    return true;
}

/* Text is allowed where nobody uses it, as in a CSV file. */
static void note(npy_reading *r, size_t column, const char *message) {
    tc_text_cell *cell = TC_NEW(r->npy.arena, tc_text_cell, 1);
    cell->span = r->npy.source->span;
    cell->message = tc_arena_format(r->npy.arena, "'%s': column '%s'%s", r->npy.source->path,
                                    tc_given_shown(r->npy.arena, r->head.names[column]), message);
    r->head.text[column] = cell;
}

static bool read_columns(npy_reading *r) {
    tc_npy *npy = &r->npy;
    if (!npy->is_structured || npy->dimensions != 1)
        return wrong(r, "a table is an array of one dimension with named fields, one for each column, as "
                        "np.save(file, frame.to_records(index=False)) writes it");
    r->head.text_column = SIZE_MAX;
    for (size_t f = 0; f < npy->field_count; f++) {
        if (!npy->fields[f].is_padding && !add_field(r, &npy->fields[f]))
            return false;
    }
    size_t first, second;
    if (r->head.count == 0)
        return wrong(r, "it has no columns");
    if (tc_table_twice(npy->arena, r->head.names, r->head.count, &first, &second))
        return wrong(r, "two columns are called '%s'", r->head.names[second]);
    if (npy->shape[0] == 0)
        return wrong(r, "it has no rows");
    r->head.text = TC_NEW(npy->arena, tc_text_cell *, r->head.count);
    return true;
}

/* ---- names --------------------------------------------------------------------------------------------------------
 */

/* Four bytes for each character, the low one first. SIZE_MAX where one of them is none. */
static size_t utf8_of(const unsigned char *from, size_t size, char *to) {
    size_t length = 0, end = size;
    while (end >= 4 && memcmp(from + end - 4, "\0\0\0\0", 4) == 0)
        end -= 4;
    for (size_t i = 0; i < end; i += 4) {
        uint32_t c = from[i] | (uint32_t)from[i + 1] << 8 | (uint32_t)from[i + 2] << 16 | (uint32_t)from[i + 3] << 24;
        if (c < 0x80) {
            to[length++] = (char)c;
            continue;
        }
        if (c > 0x10ffff)
            return SIZE_MAX;
        unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        to[length++] = (char)((0xf0 << (3 - more) & 0xff) | c >> (6 * more));
        while (more-- > 0)
            to[length++] = (char)(0x80 | (c >> (6 * more) & 0x3f));
    }
    return length;
}

static bool read_name(npy_reading *r, const unsigned char *from, const tc_npy_field *field, size_t row) {
    size_t length = field->size;
    const char *text = (const char *)from;
    if (field->kind == 'U') {
        text = r->name;
        length = utf8_of(from, field->size, r->name);
    } else {
        while (length > 0 && text[length - 1] == '\0')
            length--;
    }
    const char *problem = length == SIZE_MAX ? "an agent's name must be UTF-8" : tc_member_name_problem(text, length);
    if (problem != NULL)
        return wrong(r, "row %zu: %s", row + 1, problem);
    r->table->names[row] = tc_text_keep(r->npy.arena, &r->pool, text, length);
    return true;
}

/* ---- rows ---------------------------------------------------------------------------------------------------------
 */

static bool take_names(void *taker, const unsigned char *rows, size_t first, size_t count) {
    npy_reading *r = taker;
    const tc_npy_field *field = r->field_of[r->head.text_column];
    for (size_t k = 0; k < count; k++) {
        if (!read_name(r, rows + k * r->npy.row_bytes + field->offset, field, first + k))
            return false;
    }
    return true;
}

static bool take_rows(void *taker, const unsigned char *rows, size_t first, size_t count) {
    npy_reading *r = taker;
    tc_table *table = r->table;
    size_t each = r->npy.row_bytes;
    for (size_t c = 0; c < r->head.count; c++) {
        const tc_npy_field *field = r->field_of[c];
        const unsigned char *from = rows + field->offset + r->component_of[c] * field->size;
        if (c == r->head.text_column) {
            if (!table->known.is_spread && !take_names(r, rows, first, count))
                return false;
        } else if (field->is_text) {
            if (r->head.text[c] == NULL)
                note(r, c, ", row 1: this is not a number");
        } else if (r->head.text[c] == NULL) {
            double *to = table->values[c] + first;
            size_t good = tc_npy_numbers(field, from, each, count, to);
            if (good == count)
                continue;
            note(r, c,
                 tc_arena_format(r->npy.arena, ", row %zu: %s", first + good + 1,
                                 tc_npy_problem(r->npy.arena, to[good], field)));
            size_t begin = table->known.first;
            memset(table->values[c] + begin, 0, (first + count - begin) * sizeof(double));
        }
    }
    return true;
}

static bool read_table(npy_reading *r) {
    tc_arena *arena = r->npy.arena;
    tc_table *table = r->table;
    if (!tc_npy_open(&r->npy) || !read_columns(r))
        return false;
    table->rows = r->npy.shape[0];
    table->values = TC_NEW(arena, double *, r->head.count);
    for (size_t c = 0; c < r->head.count; c++)
        table->values[c] = c == r->head.text_column ? NULL : TC_NEW(arena, double, table->rows);
    if (r->head.text_column != SIZE_MAX)
        table->names = TC_NEW(arena, const char *, table->rows);
    table->known = tc_known_rows(table->rows, r->npy.source->whole);
    tc_told before = tc_told_so_far(r->npy.diagnostics);
    bool good = true;
    if (table->names != NULL && table->known.is_spread) /* every rank knows the names of all */
        good = tc_npy_rows(&r->npy, 0, table->rows, take_names, r);
    good = good && tc_npy_rows(&r->npy, table->known.first, table->known.end, take_rows, r);
    if (table->known.is_spread)
        good = tc_agreed_at(r->npy.diagnostics, before, good, 0);
    if (!good)
        return false;
    tc_table_share_text(arena, table, &r->head, r->npy.source);
    size_t first, second;
    if (table->names != NULL && tc_table_twice(arena, table->names, table->rows, &first, &second))
        return wrong(r, "the name '%s' is given to two agents, in rows %zu and %zu", table->names[second], first + 1,
                     second + 1);
    const char *problem = tc_table_name_columns(arena, &r->head, table);
    return problem == NULL || wrong(r, "%s", problem);
}

tc_table *tc_npy_table(tc_arena *arena, tc_diagnostics *diagnostics, const tc_csv_source *source) {
    npy_reading r = {.npy = {.arena = arena, .diagnostics = diagnostics, .source = source},
                     .table = TC_NEW(arena, tc_table, 1)};
    r.table->path = source->path;
    bool good = read_table(&r);
    tc_npy_close(&r.npy);
    return good ? r.table : NULL;
}
