/* Refuses a protected number that stands in two places, since the unit data hides what one agent tells.
 *
 * Places are compared and numbers never, since a refusal would show them. */
#include "model/elaborate/elaborate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A column of a table, or a parameter: read from a file, or given by a program. Of the same data two blocks have one
 * each. */
typedef struct origin {
    size_t number;                /* in the order of the file, for messages */
    const tc_agents_block *block; /* NULL: a parameter outside of the blocks */
    const char *name;
    const tc_datum *datum; /* where it is protected; else NULL */
    bool told;
    /* read from a file: */
    dev_t device;
    ino_t file;
    const char *column; /* "" for a matrix */
    /* given: */
    const double *values; /* NULL: read */
    size_t rows, columns, row_stride, column_stride;
} origin;

typedef struct all_origins {
    tc_elaborator *elaborator;
    origin *all;
    size_t count;
} all_origins;

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void add(all_origins *r, origin one) {
    one.number = r->count;
    TC_PUSH(r->elaborator->arena, r->all, r->count, one);
}

static void add_read(all_origins *r, const tc_statement *statement, const char *column, origin one) {
    const char *path = tc_data_path(r->elaborator, statement);
    struct stat facts;
    one.column = column;
    if (!r->elaborator->limits->no_files && stat(path, &facts) == 0) {
        one.device = facts.st_dev;
        one.file = facts.st_ino;
    } else {
        one.column = tc_arena_format(r->elaborator->arena, "%s,%s", path, column);
    }
    add(r, one);
}

static void add_param(all_origins *r, const tc_agents_block *block, const tc_statement *statement,
                      const tc_datum *datum) {
    const tc_given_matrix *given = statement->matrix;
    origin one = {.block = block, .name = statement->name->text, .datum = datum};
    if (!tc_is_loaded_param(statement))
        return;
    if (given == NULL) {
        if (!statement->is_given)
            add_read(r, statement, "", one);
        return;
    }
    one.values = given->values;
    one.rows = given->rows;
    one.columns = given->columns;
    one.row_stride = given->row_stride != 0 ? given->row_stride : given->columns;
    one.column_stride = given->column_stride != 0 ? given->column_stride : 1;
    add(r, one);
}

/* pref, or pref_7 where pref is a vector */
static bool is_part_of(const char *given, const tc_table_column *column) {
    size_t length = strlen(column->name);
    if (strncmp(given, column->name, length) != 0)
        return false;
    return given[length] == '\0' || (column->is_vector && given[length] == '_' &&
                                     strspn(given + length + 1, "0123456789") == strlen(given + length + 1));
}

static void add_column(all_origins *r, const tc_agents_block *block, const tc_table_column *column,
                       const tc_datum *datum) {
    const tc_given_table *table = block->data->given_table;
    origin one = {.block = block, .name = column->name, .datum = datum};
    if (table == NULL && !block->data->statement->is_given)
        add_read(r, block->data->statement, column->name, one);
    for (size_t c = 0; table != NULL && c < table->column_count; c++) {
        const tc_given_column *given = &table->columns[c];
        if (!is_part_of(given->name, column))
            continue;
        one.values = given->values;
        one.rows = table->rows;
        one.columns = given->length;
        one.row_stride = given->row_stride != 0 ? given->row_stride : given->length;
        one.column_stride = given->component_stride != 0 ? given->component_stride : 1;
        add(r, one);
    }
}

static const tc_datum *protected_datum(const tc_family *family, const char *name) {
    for (size_t d = 0; d < family->datum_count; d++) {
        if (family->data[d].by != NULL && strcmp(family->data[d].name, name) == 0)
            return &family->data[d];
    }
    return NULL;
}

/* Everybody knows a public column, whether its family uses it or not. */
static bool is_known(const tc_agents_block *block, size_t column) {
    bool known = block->data->secrets[column] == NULL;
    for (size_t part = 0; part < TC_PARTS; part++)
        known = known || block->column_known[part][column];
    return known;
}

static void add_block(all_origins *r, const tc_agents_block *block) {
    const tc_family *family = &r->elaborator->model->families[block->number];
    const tc_definition *data = block->data;
    for (size_t c = 0; data != NULL && c < data->table->column_count; c++) {
        const tc_table_column *column = &data->table->columns[c];
        if (is_known(block, c))
            add_column(r, block, column, protected_datum(family, column->name));
    }
    for (size_t i = 0; i < block->local_count; i++) {
        const tc_statement *statement = block->locals[i].statement;
        add_param(r, block, statement, protected_datum(family, statement->name->text));
    }
}

/* ---- two of them ------------------------------------------------------------------------------------------------- */

static uintptr_t first_place(const origin *one) { return (uintptr_t)one->values; }

static uintptr_t last_place(const origin *one) {
    return (uintptr_t)(one->values + (one->rows - 1) * one->row_stride + (one->columns - 1) * one->column_stride);
}

static int by_place(const void *left, const void *right) {
    const origin *a = left, *b = right;
    uintptr_t first = first_place(a), second = first_place(b);
    int order = (first > second) - (first < second);
    order = order != 0 || a->values != NULL ? order : (a->device > b->device) - (a->device < b->device);
    order = order != 0 || a->values != NULL ? order : (a->file > b->file) - (a->file < b->file);
    order = order != 0 || a->values != NULL ? order : strcmp(a->column, b->column);
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

/* Whether a number lies there. Rows do not overlap, or columns do not (given.c). */
static bool has_place(const origin *one, uintptr_t place) {
    bool by_rows = one->row_stride >= one->column_stride;
    size_t outer = by_rows ? one->row_stride : one->column_stride, outers = by_rows ? one->rows : one->columns;
    size_t inner = by_rows ? one->column_stride : one->row_stride, inners = by_rows ? one->columns : one->rows;
    if (place < first_place(one) || (place - first_place(one)) % sizeof(double) != 0)
        return false;
    size_t at = (place - first_place(one)) / sizeof(double);
    size_t i = at / outer < outers ? at / outer : outers - 1, rest = at - i * outer;
    return rest % inner == 0 && rest / inner < inners;
}

static bool is_same(const origin *a, const origin *b) {
    if (a->values == NULL)
        return a->device == b->device && a->file == b->file && strcmp(a->column, b->column) == 0;
    for (size_t r = 0; r < a->rows; r++) {
        for (size_t c = 0; c < a->columns; c++) {
            if (has_place(b, (uintptr_t)(a->values + r * a->row_stride + c * a->column_stride)))
                return true;
        }
    }
    return false;
}

static void refuse(all_origins *r, origin *one, const origin *other) {
    const char *who = other->block != NULL ? other->block->statement->name->text : NULL;
    if (one->datum == NULL || one->told)
        return;
    one->told = true;
    if (other->block != NULL && other->block->data != NULL && strcmp(one->name, other->name) == 0)
        tc_error(r->elaborator->diagnostics, one->datum->span,
                 "'%s' cannot be protected: '%s' reads the same column, so that two agents would tell of one number, "
                 "and the unit data hides what one agent tells; let one block use it",
                 one->name, who);
    else
        tc_error(r->elaborator->diagnostics, one->datum->span,
                 "'%s' cannot be protected: '%s'%s%s%s has the same numbers, by the same %s, and would show them; "
                 "declare them once, in the block of the one agent that has them",
                 one->name, other->name, who != NULL ? " of '" : "", who != NULL ? who : "", who != NULL ? "'" : "",
                 one->values != NULL ? "array" : "file");
}

void tc_check_protected_data(tc_elaborator *elaborator) {
    all_origins r = {.elaborator = elaborator};
    bool protects = false;
    if (elaborator->diagnostics->errors > 0)
        return; /* what is given may not be there */
    for (size_t f = 0; f < elaborator->model->family_count; f++) {
        const tc_family *family = &elaborator->model->families[f];
        for (size_t d = 0; d < family->datum_count; d++)
            protects = protects || family->data[d].by != NULL;
    }
    for (size_t b = 0; protects && b < elaborator->model->family_count; b++) {
        if (!elaborator->blocks[b].broken)
            add_block(&r, &elaborator->blocks[b]);
    }
    for (const tc_definition *d = elaborator->definitions; protects && d != NULL; d = d->next) {
        if (d->kind == TC_DEFINES_PARAM)
            add_param(&r, NULL, d->statement, NULL);
    }
    if (r.count > 0)
        qsort(r.all, r.count, sizeof *r.all, by_place);
    for (size_t i = 0; i < r.count; i++) {
        origin *one = &r.all[i];
        for (size_t j = i + 1; j < r.count; j++) {
            origin *other = &r.all[j];
            if (one->values != NULL ? first_place(other) > last_place(one)
                                    : other->values != NULL || !is_same(one, other))
                break;
            if ((one->datum == NULL && other->datum == NULL) || !is_same(one, other))
                continue;
            refuse(&r, one, other);
            refuse(&r, other, one);
        }
    }
}

/* ---- their names ------------------------------------------------------------------------------------------------- */

static bool is_source(const tc_value *value) {
    return !value->broken && value->secret != NULL && value->secret->made_of == NULL;
}

static bool is_private_source(const tc_local *local) {
    bool found = is_source(&local->column);
    for (size_t part = 0; part < TC_PARTS; part++)
        found = found || (local->progress[part] == TC_DONE && is_source(&local->value[part]));
    return local->statement->kind != TC_STATEMENT_STATE && local->statement->is_private && found;
}

void tc_name_private_data(tc_elaborator *elaborator) {
    tc_model *model = elaborator->model;
    for (size_t b = 0; b < model->family_count; b++) {
        const tc_agents_block *block = &elaborator->blocks[b];
        const tc_definition *data = block->broken ? NULL : block->data;
        tc_family *family = &model->families[b];
        for (size_t c = 0; data != NULL && c < data->table->column_count; c++) {
            if (data->secrets[c] != NULL && is_known(block, c))
                TC_PUSH(elaborator->arena, family->private_names, family->private_count, data->columns[c]->text);
        }
        for (size_t i = 0; i < block->local_count; i++) {
            if (is_private_source(&block->locals[i]))
                TC_PUSH(elaborator->arena, family->private_names, family->private_count, block->locals[i].name->text);
        }
    }
    for (const tc_definition *d = elaborator->definitions; d != NULL; d = d->next) {
        if (d->kind == TC_DEFINES_PARAM && d->statement->is_private && is_source(&d->value))
            TC_PUSH(elaborator->arena, model->outside_names, model->outside_count, d->name->text);
    }
}
