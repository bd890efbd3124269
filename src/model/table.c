/* Tables: columns by name, name_1 .. name_n gathered into vectors, names of members. What a table may look like is
 * decided here, for CSV files and for what a program gives. */
#include "model/csv.h"

#include "base/json.h"
#include "base/ranks/ranks.h"
#include "model/syntax/parse.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST_NAME = 80 };

bool tc_is_column_name(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return length > 0;
}

/* ---- a set of texts, by open addressing ---------------------------------------------------------------------------
 */

typedef struct text_set {
    const char *const *texts;
    uint32_t *slots; /* number of a text plus one */
    size_t size;
} text_set;

static text_set new_set(tc_arena *arena, const char *const *texts, size_t most) {
    text_set set = {.texts = texts, .size = 16};
    if (most > UINT32_MAX / 2)
        tc_raise(arena, TC_TOO_LARGE);
    while (set.size < most * 2)
        set.size *= 2;
    set.slots = TC_NEW(arena, uint32_t, set.size);
    return set;
}

/* Where an equal text is, or would be. */
static size_t slot_of(const text_set *set, const char *text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = text; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    size_t slot = (size_t)(hash ^ (hash >> 29)) & (set->size - 1);
    while (set->slots[slot] != 0 && strcmp(set->texts[set->slots[slot] - 1], text) != 0)
        slot = (slot + 1) & (set->size - 1);
    return slot;
}

/* The number of an equal text, or SIZE_MAX after adding this one. */
static size_t add_to_set(text_set *set, size_t number) {
    uint32_t *slot = &set->slots[slot_of(set, set->texts[number])];
    if (*slot != 0)
        return *slot - 1;
    *slot = (uint32_t)number + 1;
    return SIZE_MAX;
}

bool tc_table_twice(tc_arena *arena, const char *const *texts, size_t count, size_t *first, size_t *second) {
    text_set set = new_set(arena, texts, count);
    for (*second = 0; *second < count; ++*second) {
        *first = add_to_set(&set, *second);
        if (*first != SIZE_MAX)
            return true;
    }
    return false;
}

/* ---- header ----------------------------------------------------------------------------------------------------- */

static bool read_header(tc_csv *csv, tc_table_header *head) {
    const char *text;
    size_t length;
    head->text_column = SIZE_MAX;
    while (tc_csv_field(csv, &text, &length)) {
        if (!tc_is_column_name(text, length)) {
            tc_csv_error(csv, text, length > 0 ? length : 1,
                         length == 0 ? "a column needs a name"
                         : memchr(text, ';', length) != NULL
                             ? "columns are separated by commas, not semicolons"
                             : "a column's name is made of letters, digits and underscores, and does not begin "
                               "with a digit (the first line of a data file names the columns)");
            return false;
        }
        if (head->count == TC_MOST_COLUMNS) {
            tc_csv_error(csv, text, length, "more than %d columns", TC_MOST_COLUMNS);
            return false;
        }
        if (length == 4 && memcmp(text, "name", 4) == 0)
            head->text_column = head->count;
        const char *name = tc_arena_copy(csv->arena, text, length);
        TC_PUSH(csv->arena, head->names, head->count, name);
    }
    if (csv->failed)
        return false;
    size_t first, second;
    if (tc_table_twice(csv->arena, head->names, head->count, &first, &second)) {
        tc_csv_error(csv, csv->record, csv->length, "two columns are called '%s'", head->names[second]);
        return false;
    }
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

const char *tc_text_keep(tc_arena *arena, tc_text_pool *pool, const char *text, size_t length) {
    if (pool->left <= length) {
        pool->left = length + 1 > 1 << 16 ? length + 1 : 1 << 16;
        pool->text = TC_NEW(arena, char, pool->left);
    }
    char *copy = pool->text;
    memcpy(copy, text, length);
    copy[length] = '\0';
    pool->text += length + 1;
    pool->left -= length + 1;
    return copy;
}

/* A character of several bytes begins here; moves *at to the last of them. */
static bool is_utf8(const char *text, size_t length, size_t *at) {
    char character[5] = "";
    memcpy(character, text, length < 4 ? length : 4);
    size_t bytes = tc_utf8_length(character);
    *at += bytes > 0 ? bytes - 1 : 0;
    return bytes > 0;
}

/* A name is shown in messages and becomes part of a file's name: printable, short, no quotes, no brackets. */
const char *tc_member_name_problem(const char *text, size_t length) {
    const char *problem = length == 0             ? "an agent's name is missing"
                          : length > LONGEST_NAME ? "this name is too long"
                                                  : NULL;
    for (size_t i = 0; i < length && problem == NULL; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f || strchr("\"\\[]", c) != NULL)
            problem = "an agent's name must not contain quotes, backslashes, brackets or control characters";
        else if (c >= 0x80 && !is_utf8(text + i, length - i, &i))
            problem = "an agent's name must be UTF-8";
    }
    return problem;
}

typedef struct row_reader {
    tc_csv *csv;
    tc_table_header *head;
    tc_table *table;
    tc_text_pool names;
    size_t *lines;      /* of members with names */
    const char *record; /* a copy of the record on record_line, for the cells in it that are no numbers */
    size_t record_line;
} row_reader;

/* Text is allowed where nobody uses it, so it is only noted. Its column takes no numbers from then on. */
static void note_text(row_reader *r, size_t column, const tc_csv_cell *cell) {
    tc_csv *csv = r->csv;
    tc_text_cell *text = TC_NEW(csv->arena, tc_text_cell, 1);
    text->place = tc_csv_place(csv, cell->text, cell->length > 0 ? cell->length : 1);
    if (r->record_line != csv->line)
        r->record = tc_arena_copy(csv->arena, text->place.text, text->place.length);
    r->record_line = csv->line;
    text->place.text = r->record;
    text->message = tc_arena_format(csv->arena, "column '%.150s': %s", r->head->names[column], cell->problem);
    r->head->text[column] = text;
    size_t first = r->table->known.first;
    memset(r->table->values[column] + first, 0, (r->table->rows - first) * sizeof(double));
}

static bool read_name(row_reader *r) {
    const char *text;
    size_t length;
    if (!tc_csv_field(r->csv, &text, &length))
        return false;
    const char *problem = tc_member_name_problem(text, length);
    if (problem != NULL) {
        tc_csv_error(r->csv, text, length > 0 ? length : 1, "%s", problem);
        return false;
    }
    r->lines[r->table->rows] = r->csv->line;
    r->table->names[r->table->rows] = tc_text_keep(r->csv->arena, &r->names, text, length);
    return true;
}

/* false where there is no cell, and after an error. */
static bool is_known(const tc_table *table) {
    return table->rows >= table->known.first && table->rows < table->known.end;
}

static bool read_value(row_reader *r, size_t column, size_t *missing) {
    tc_csv_cell cell;
    if (r->head->text[column] != NULL) {
        bool is_there = tc_csv_field(r->csv, &cell.text, &cell.length);
        *missing += is_there && cell.length == 0;
        return is_there;
    }
    if (!tc_csv_read_cell(r->csv, &cell))
        return false;
    if (cell.is_number) {
        r->table->values[column][r->table->rows] = cell.value;
    } else {
        note_text(r, column, &cell);
        *missing += cell.length == 0;
    }
    return true;
}

/* A row of another rank: its name alone. */
static bool read_other_row(row_reader *r) {
    const char *text;
    size_t length;
    for (size_t c = 0; r->head->text_column != SIZE_MAX && c <= r->head->text_column; c++) {
        if (c < r->head->text_column ? tc_csv_field(r->csv, &text, &length) : read_name(r))
            continue;
        if (!r->csv->failed)
            tc_csv_error(r->csv, r->csv->record + r->csv->length, 1, "an agent's name is missing");
        return false;
    }
    r->table->rows++;
    return true;
}

static bool read_row(row_reader *r) {
    tc_csv *csv = r->csv;
    const tc_table_header *head = r->head;
    size_t missing = 0;
    for (size_t c = 0; c < head->count; c++) {
        if (c == head->text_column ? read_name(r) : read_value(r, c, &missing))
            continue;
        if (!csv->failed)
            tc_csv_error(csv, csv->record + csv->length, 1, "this line has %zu of the %zu column%s: '%s' is missing", c,
                         head->count, head->count == 1 ? "" : "s", head->names[c]);
        return false;
    }
    if (csv->fields_left) {
        tc_csv_error(csv, csv->at, 1, "this line has more than the %zu column%s of the header", head->count,
                     head->count == 1 ? "" : "s");
        return false;
    }
    if (missing == head->count) {
        tc_csv_error(csv, csv->record, 1, "all cells of this line are empty");
        return false;
    }
    r->table->rows++;
    return true;
}

bool tc_column_has_numbers(tc_diagnostics *diagnostics, const tc_table_column *column) {
    tc_text_cell *text = column->text;
    if (text != NULL && !text->told && text->place.path != NULL)
        tc_error_at(diagnostics, text->place, "%s", text->message);
    else if (text != NULL && !text->told)
        tc_error(diagnostics, text->span, "%s", text->message);
    if (text != NULL)
        text->told = true;
    return text == NULL;
}

static bool names_differ(const row_reader *r) {
    const tc_table *table = r->table;
    size_t first, second;
    if (table->names == NULL || !tc_table_twice(r->csv->arena, table->names, table->rows, &first, &second))
        return true;
    tc_error_at(r->csv->diagnostics, (tc_text_place){.path = r->csv->source->path, .line = r->lines[second]},
                "the name '%s' is given to two agents, in rows %zu and %zu", table->names[second], first + 1,
                second + 1);
    return false;
}

/* ---- vector columns --------------------------------------------------------------------------------------------- */

/* The stem's length and the number of `stem_7`; 0 where the name is not of this form. */
static size_t stem_of(const char *name, size_t *number) {
    size_t length = strlen(name), digits = 0;
    while (digits < length && name[length - 1 - digits] >= '0' && name[length - 1 - digits] <= '9')
        digits++;
    if (digits == 0 || digits > 7 || length - digits < 2 || name[length - digits - 1] != '_' ||
        name[length - digits] == '0')
        return 0;
    *number = 0;
    for (size_t i = length - digits; i < length; i++)
        *number = *number * 10 + (size_t)(name[i] - '0');
    return length - digits - 1;
}

typedef struct column_group { /* columns that share a stem */
    const char *stem;
    size_t count, largest;
    bool has_first;
    size_t column; /* in the table, once made */
} column_group;

static column_group *group_of(column_group *groups, text_set *set, size_t *count, const char *stem) {
    groups[*count].stem = stem;
    ((const char **)(uintptr_t)set->texts)[*count] = stem;
    size_t found = add_to_set(set, *count);
    if (found != SIZE_MAX)
        return &groups[found];
    groups[*count] = (column_group){.stem = stem, .column = SIZE_MAX};
    return &groups[(*count)++];
}

static const char *check_groups(tc_arena *arena, const tc_table_header *head, const column_group *groups,
                                size_t group_count) {
    text_set set = new_set(arena, head->names, head->count);
    for (size_t c = 0; c < head->count; c++)
        (void)add_to_set(&set, c);
    for (size_t g = 0; g < group_count; g++) {
        const char *stem = groups[g].stem;
        if (!groups[g].has_first)
            continue;
        if (groups[g].count != groups[g].largest)
            return tc_arena_format(arena, "columns %s_1 to %s_%zu form a vector, but only %zu of them are there", stem,
                                   stem, groups[g].largest, groups[g].count);
        if (set.slots[slot_of(&set, stem)] != 0)
            return tc_arena_format(arena, "there is a column '%s' beside the vector %s_1 .. %s_%zu", stem, stem, stem,
                                   groups[g].largest);
    }
    return NULL;
}

const char *tc_table_name_columns(tc_arena *arena, const tc_table_header *head, tc_table *table) {
    column_group *groups = TC_NEW(arena, column_group, head->count + 1);
    text_set set = new_set(arena, TC_NEW(arena, const char *, head->count + 1), head->count + 1);
    column_group **of_column = TC_NEW(arena, column_group *, head->count);
    size_t group_count = 0, number = 0;
    for (size_t c = 0; c < head->count; c++) {
        size_t stem = stem_of(head->names[c], &number);
        if (stem == 0)
            continue;
        of_column[c] = group_of(groups, &set, &group_count, tc_arena_copy(arena, head->names[c], stem));
        of_column[c]->count++;
        of_column[c]->has_first |= number == 1;
        of_column[c]->largest = number > of_column[c]->largest ? number : of_column[c]->largest;
    }
    const char *problem = check_groups(arena, head, groups, group_count);
    if (problem != NULL)
        return problem;
    double **physical = table->values;
    table->values = TC_NEW(arena, double *, head->count);
    table->columns = TC_NEW(arena, tc_table_column, head->count);
    for (size_t c = 0; c < head->count; c++) {
        if (c == head->text_column)
            continue;
        column_group *group = of_column[c];
        bool in_vector = group != NULL && group->has_first;
        if (!in_vector || group->column == SIZE_MAX) {
            tc_table_column *column = &table->columns[table->column_count];
            *column = (tc_table_column){.name = in_vector ? group->stem : head->names[c],
                                        .first = table->value_count,
                                        .length = in_vector ? group->count : 1,
                                        .is_vector = in_vector};
            table->value_count += column->length;
            if (in_vector)
                group->column = table->column_count;
            table->column_count++;
        }
        if (in_vector)
            (void)stem_of(head->names[c], &number);
        size_t place = in_vector ? table->columns[group->column].first + number - 1
                                 : table->columns[table->column_count - 1].first;
        table->values[place] = physical[c];
        tc_table_column *column = &table->columns[in_vector ? group->column : table->column_count - 1];
        if (head->text != NULL && column->text == NULL)
            column->text = head->text[c];
    }
    return NULL;
}

static bool read_rows(row_reader *r) {
    tc_csv *csv = r->csv;
    tc_table *table = r->table;
    size_t columns = r->head->count, most = csv->bytes / columns + 1;
    most = most < csv->most_lines ? most : csv->most_lines;
    table->values = TC_NEW(csv->arena, double *, columns);
    r->head->text = TC_NEW(csv->arena, tc_text_cell *, columns);
    for (size_t c = 0; c < columns; c++)
        table->values[c] = c == r->head->text_column ? NULL : TC_NEW(csv->arena, double, most);
    if (r->head->text_column != SIZE_MAX) {
        table->names = TC_NEW(csv->arena, const char *, most);
        r->lines = TC_NEW(csv->arena, size_t, most);
    }
    while (tc_csv_next(csv)) {
        if (table->rows == most) {
            tc_error(csv->diagnostics, csv->source->span, "'%s' changed while it was read", csv->source->path);
            return false;
        }
        if (is_known(table) ? !read_row(r) : !read_other_row(r))
            return false;
    }
    return !csv->failed;
}

/* ---- several ranks ------------------------------------------------------------------------------------------------
 */

/* How many rows there are decides which of them this rank knows: all records are counted first. */
static bool choose_rows(tc_csv *csv, tc_table *table) {
    size_t rows = SIZE_MAX;
    if (tc_ranks_several() && (!tc_csv_count(csv, &rows) || !tc_csv_next(csv)))
        return false;
    table->known = tc_ranks_several() ? tc_known_rows(rows, csv->source->whole) : (tc_known){.end = SIZE_MAX};
    return true;
}

/* What a rank says of a cell, in a form that can be sent. */
typedef struct cell_facts {
    uint64_t line, length, from, to, message;
} cell_facts;

static void take_cell(tc_arena *arena, tc_text_cell **cell, size_t rank, const tc_csv_source *source) {
    bool mine = tc_ranks_mine() == rank;
    cell_facts facts = {0};
    if (mine)
        facts = (cell_facts){(*cell)->place.line, (*cell)->place.length, (*cell)->place.from, (*cell)->place.to,
                             strlen((*cell)->message)};
    tc_ranks_broadcast(&facts, sizeof facts, rank);
    char *text = TC_NEW(arena, char, facts.length + 1), *message = TC_NEW(arena, char, facts.message + 1);
    if (mine) {
        memcpy(message, (*cell)->message, facts.message);
        if (facts.length > 0)
            memcpy(text, (*cell)->place.text, facts.length);
    }
    tc_ranks_broadcast(text, facts.length, rank);
    tc_ranks_broadcast(message, facts.message, rank);
    *cell = TC_NEW(arena, tc_text_cell, 1);
    **cell = (tc_text_cell){.span = source->span, .message = message};
    if (facts.line > 0)
        (*cell)->place = (tc_text_place){source->path, facts.line, text, facts.length, facts.from, facts.to};
}

void tc_table_share_text(tc_arena *arena, const tc_table *table, tc_table_header *head, const tc_csv_source *source) {
    size_t ranks = tc_ranks_count(), count = head->count, *ends = TC_NEW(arena, size_t, ranks);
    if (!table->known.is_spread)
        return;
    bool *has = TC_NEW(arena, bool, ranks *count);
    for (size_t r = 0; r < ranks; r++)
        ends[r] = (r + 1) * count;
    for (size_t c = 0; c < count; c++)
        has[tc_ranks_mine() * count + c] = head->text[c] != NULL;
    tc_ranks_gather(has, ends, sizeof *has);
    for (size_t c = 0; c < count; c++) {
        size_t first = 0;
        while (first < ranks && !has[first * count + c])
            first++;
        if (first < ranks)
            take_cell(arena, &head->text[c], first, source);
    }
}

tc_table *tc_csv_table(tc_arena *arena, tc_diagnostics *diagnostics, const tc_csv_source *source) {
    tc_csv csv = {.arena = arena, .diagnostics = diagnostics, .source = source};
    tc_table *table = TC_NEW(arena, tc_table, 1);
    table->path = source->path;
    tc_table_header head = {0};
    row_reader reader = {.csv = &csv, .head = &head, .table = table};
    tc_told before = tc_told_so_far(diagnostics);
    bool good = tc_csv_open(&csv);
    if (good && !tc_csv_next(&csv)) {
        if (!csv.failed)
            tc_error(diagnostics, source->span, "'%s' is empty; its first line names the columns", source->path);
        good = false;
    }
    size_t header_line = csv.line;
    good = good && read_header(&csv, &head) && choose_rows(&csv, table);
    if (good) {
        good = read_rows(&reader);
        if (table->known.is_spread)
            good = tc_agreed_at(diagnostics, before, good, 2 * table->rows + !is_known(table));
    }
    if (good)
        tc_table_share_text(arena, table, &head, source);
    tc_csv_close(&csv);
    table->known.end = table->known.end < table->rows ? table->known.end : table->rows;
    if (good && table->rows == 0) {
        tc_error(diagnostics, source->span, "'%s' has a header but no rows", source->path);
        good = false;
    }
    if (!good || !names_differ(&reader))
        return NULL;
    const char *problem = tc_table_name_columns(arena, &head, table);
    if (problem != NULL)
        tc_error_at(diagnostics, (tc_text_place){.path = source->path, .line = header_line}, "%s", problem);
    return problem == NULL ? table : NULL;
}
