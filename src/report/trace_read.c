#include "report/report.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const size_t most_bytes = (size_t)1 << 31;
enum { MOST_COLUMNS = 1 << 20, LINES_BETWEEN_LOOKS = 4096 };
static const char first_line[] = "# tacit trace ";
static const char run_columns[] = "seed,k,x_error,mu_error,objective,max_violation";
static const char sweep_columns[] = "epsilon,seed,x_error,mu_error,objective,max_violation,penalty";
enum { MARK_COLUMNS = 4 };

typedef struct trace_reader {
    tc_arena *arena;
    const tc_monitor *monitor;
    tc_buffer *messages;
    const char *path;
    const char *text, *end; /* what is left */
    const char *line;       /* the line read last, without its end */
    size_t length;
    size_t number;  /* of that line, from 1 */
    const char *at; /* the next field of the line */
    bool fields_left;
    bool failed;
    tc_trace *trace;
    size_t mark_columns[MARK_COLUMNS]; /* MARKS: which number each column after k is */
    size_t mark_column_count;
    size_t state_columns; /* RUN: passed over */
    size_t record_capacity, row_capacity, point_capacity, mark_capacity;
} trace_reader;

static const char *const mark_names[MARK_COLUMNS] = {"x_error", "mu_error", "objective", "max_violation"};

/* Reports the first error, at the line read last; returns false. */
TC_PRINTF(2, 3) static bool wrong(trace_reader *reader, const char *format, ...) {
    if (reader->failed)
        return false;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tc_buffer_printf(reader->messages, "%s:%zu: error: %s\n", reader->path, reader->number, text);
    reader->failed = true;
    return false;
}

/* ---- lines and fields -------------------------------------------------------------------------------------------- */

static bool next_line(trace_reader *reader) {
    if (reader->failed || reader->text == reader->end)
        return false;
    const char *newline = memchr(reader->text, '\n', (size_t)(reader->end - reader->text));
    const char *stop = newline != NULL ? newline : reader->end;
    reader->line = reader->text;
    reader->length = (size_t)(stop - reader->text);
    reader->text = newline != NULL ? newline + 1 : reader->end;
    reader->number++;
    if (reader->length > 0 && reader->line[reader->length - 1] == '\r')
        reader->length--;
    if (memchr(reader->line, '\0', reader->length) != NULL)
        return wrong(reader, "there is a zero byte in this line: the file is no text");
    if (reader->number % LINES_BETWEEN_LOOKS == 0 && tc_interrupted(reader->monitor))
        tc_raise(reader->arena, TC_INTERRUPTED);
    reader->at = reader->line;
    reader->fields_left = true;
    return true;
}

static bool quoted_field(trace_reader *reader, const char **field, size_t *length) {
    const char *stop = reader->line + reader->length;
    char *plain = TC_NEW(reader->arena, char, reader->length + 1);
    size_t count = 0;
    const char *c = reader->at + 1;
    for (; c < stop && (*c != '"' || (c + 1 < stop && c[1] == '"')); c++) {
        plain[count++] = *c;
        c += *c == '"';
    }
    if (c == stop)
        return wrong(reader, "a quote is not closed");
    c++;
    if (c < stop && *c != ',')
        return wrong(reader, "there is text behind a closing quote");
    *field = plain;
    *length = count;
    reader->fields_left = c < stop;
    reader->at = c + (c < stop);
    return true;
}

/* The next field, without its quotes. False at the end of the line, and after an error. */
static bool next_field(trace_reader *reader, const char **field, size_t *length) {
    if (!reader->fields_left || reader->failed)
        return false;
    const char *stop = reader->line + reader->length;
    if (reader->at < stop && *reader->at == '"')
        return quoted_field(reader, field, length);
    const char *comma = memchr(reader->at, ',', (size_t)(stop - reader->at));
    *field = reader->at;
    *length = (size_t)((comma != NULL ? comma : stop) - reader->at);
    reader->fields_left = comma != NULL;
    reader->at = comma != NULL ? comma + 1 : stop;
    return true;
}

/* A whole number in decimal, below 2^64. */
static bool read_decimal(const char *text, size_t length, uint64_t *value) {
    *value = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)((unsigned char)text[i] - '0');
        if (digit > 9 || *value > (UINT64_MAX - digit) / 10)
            return false;
        *value = *value * 10 + digit;
    }
    return length > 0;
}

/* ---- comments ---------------------------------------------------------------------------------------------------- */

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* Undoes the writer's escapes. */
static const char *value_of(tc_arena *arena, const char *text, size_t length) {
    char *value = tc_arena_copy(arena, text, length);
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '\\' && i + 1 < length && (text[i + 1] == '\\' || text[i + 1] == 'n')) {
            c = text[++i] == 'n' ? '\n' : '\\';
        } else if (c == '\\' && i + 3 < length && text[i + 1] == 'x' && hex_digit(text[i + 2]) >= 0 &&
                   hex_digit(text[i + 3]) >= 0 && hex_digit(text[i + 2]) + hex_digit(text[i + 3]) > 0) {
            c = (char)(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3]));
            i += 3;
        }
        value[count++] = c;
    }
    value[count] = '\0';
    return value;
}

static bool read_kind(trace_reader *reader, const char *value) {
    for (int kind = TC_TRACE_RUN; kind <= TC_TRACE_MARKS; kind++) {
        if (strcmp(tc_trace_kind_name((tc_trace_kind)kind), value) == 0) {
            reader->trace->kind = (tc_trace_kind)kind;
            return true;
        }
    }
    return wrong(reader, "there is no kind '%.40s'; it is run, sweep or marks", value);
}

static bool read_number(trace_reader *reader, const char *key, const char *text, double *value) {
    size_t length = strlen(text);
    if (length == 0 || tc_number_read(text, length, true, value) != length || !isfinite(*value))
        return wrong(reader, "%s is not a number: '%.40s'", key, text);
    return true;
}

static bool read_fact(trace_reader *reader, const char *value) {
    const char *sign = strstr(value, " = ");
    if (sign == NULL)
        return wrong(reader, "a fact is written NAME = VALUE");
    const char *name = tc_arena_copy(reader->arena, value, (size_t)(sign - value));
    tc_trace_fact_add(reader->arena, reader->trace, name, sign + 3);
    return true;
}

static bool read_text_key(trace_reader *reader, const char *key, const char *value) {
    tc_trace *trace = reader->trace;
    const struct {
        const char *key;
        const char **into;
    } texts[] = {
        {"problem", &trace->problem},
        {"label", &trace->label},
        {"command", &trace->command},
        {"penalty", &trace->penalty},
        {"verdict", &trace->verdict},
        {"error_parts", &trace->error_parts},
        {"feasibility", &trace->feasibility},
        {"true_feasibility", &trace->true_feasibility},
        {"baseline_worst", &trace->nothing.worst},
        {"slater_worst", &trace->slater.worst},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(key, texts[i].key) == 0) {
            *texts[i].into = value;
            return true;
        }
    }
    return false;
}

/* Skips an unknown key: another version may have written it. */
static bool read_key(trace_reader *reader, const char *key, const char *value) {
    tc_trace *trace = reader->trace;
    const struct {
        const char *key;
        double *into;
    } numbers[] = {
        {"slope", &trace->fit.slope},
        {"slope_low", &trace->fit.slope_low},
        {"slope_high", &trace->fit.slope_high},
        {"intercept", &trace->fit.intercept},
        {"fit_from", &trace->fit.from},
        {"fit_to", &trace->fit.to},
        {"free_x_error", &trace->free_x_error},
        {"free_mu_error", &trace->free_mu_error},
        {"free_objective", &trace->free_objective},
        {"free_max_violation", &trace->free_max_violation},
        {"reference_objective", &trace->reference_objective},
        {"baseline_x_error", &trace->nothing.x_error},
        {"baseline_objective", &trace->nothing.objective},
        {"baseline_max_violation", &trace->nothing.max_violation},
        {"slater_x_error", &trace->slater.x_error},
        {"slater_objective", &trace->slater.objective},
        {"slater_max_violation", &trace->slater.max_violation},
    };
    if (strcmp(key, "kind") == 0)
        return read_kind(reader, value);
    if (strcmp(key, "fact") == 0)
        return read_fact(reader, value);
    if (strcmp(key, "note") == 0)
        tc_trace_note_add(reader->arena, trace, value);
    else if (strcmp(key, "card") == 0)
        tc_trace_card_add(reader->arena, trace, value);
    else if (strcmp(key, "equality") == 0)
        tc_trace_equality_add(reader->arena, trace, value);
    else if (strcmp(key, "no_better_than_nothing") == 0)
        trace->is_lost = strcmp(value, "yes") == 0;
    else if (!read_text_key(reader, key, value)) {
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            if (strcmp(key, numbers[i].key) == 0)
                return read_number(reader, key, value, numbers[i].into);
        }
    }
    return true;
}

static bool read_comment(trace_reader *reader) {
    const char *text = reader->line + 1;
    size_t length = reader->length - 1;
    const char *colon = memchr(text, ':', length);
    if (colon == NULL)
        return true;
    while (text < colon && *text == ' ')
        text++;
    const char *value = colon + 1;
    size_t left = reader->length - (size_t)(value - reader->line);
    if (left > 0 && *value == ' ') {
        value++;
        left--;
    }
    return read_key(reader, tc_arena_copy(reader->arena, text, (size_t)(colon - text)),
                    value_of(reader->arena, value, left));
}

static bool read_first_line(trace_reader *reader) {
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin files with it */
    if (reader->end - reader->text >= 3 && memcmp(reader->text, mark, 3) == 0)
        reader->text += 3;
    if (!next_line(reader)) {
        reader->number = 1;
        return wrong(reader, "the file is empty");
    }
    size_t length = sizeof first_line - 1;
    uint64_t version;
    if (reader->length < length || memcmp(reader->line, first_line, length) != 0 ||
        !read_decimal(reader->line + length, reader->length - length, &version))
        return wrong(reader, "this is no trace: its first line is not '# tacit trace 1'");
    if (version != 1)
        return wrong(reader, "this trace is of format %llu; this program reads format 1", (unsigned long long)version);
    return true;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* The name in "g[name]", NULL where the field is none of these. */
static const char *constraint_of(trace_reader *reader, const char *what, const char *field, size_t length) {
    size_t before = strlen(what);
    if (length < before + 2 || memcmp(field, what, before) != 0 || field[before] != '[' || field[length - 1] != ']')
        return NULL;
    return tc_arena_copy(reader->arena, field + before + 1, length - before - 2);
}

static bool read_run_columns(trace_reader *reader) {
    tc_trace *trace = reader->trace;
    size_t length = sizeof run_columns - 1, capacity = 16, multipliers = 0;
    if (reader->length < length || memcmp(reader->line, run_columns, length) != 0 ||
        (reader->length > length && reader->line[length] != ','))
        return wrong(reader, "the columns of a run begin with %s", run_columns);
    trace->constraints = TC_NEW(reader->arena, const char *, capacity);
    reader->fields_left = reader->length > length;
    reader->at = reader->line + length + (reader->length > length);
    const char *field;
    for (size_t size; next_field(reader, &field, &size);) {
        const char *name = multipliers == 0 ? constraint_of(reader, "g", field, size) : NULL;
        if (name != NULL && trace->constraint_count < MOST_COLUMNS) {
            if (trace->constraint_count == capacity) {
                trace->constraints = tc_arena_grow(reader->arena, trace->constraints, capacity, 2 * capacity,
                                                   sizeof *trace->constraints);
                capacity *= 2;
            }
            trace->constraints[trace->constraint_count++] = name;
            continue;
        }
        if (multipliers == trace->constraint_count && constraint_of(reader, "x", field, size) != NULL) {
            reader->state_columns++;
            continue;
        }
        name = reader->state_columns > 0 ? NULL : constraint_of(reader, "mu", field, size);
        if (name == NULL || multipliers >= trace->constraint_count ||
            strcmp(name, trace->constraints[multipliers]) != 0)
            return wrong(reader,
                         "column '%.*s' is not expected here: there is g[NAME] for each constraint, "
                         "then mu[NAME] for the same names, and then x[NAME] for states, if any",
                         (int)(size < 40 ? size : 40), field);
        multipliers++;
    }
    if (reader->failed)
        return false;
    return multipliers == trace->constraint_count ||
           wrong(reader, "there are %zu columns g[NAME] and %zu mu[NAME]", trace->constraint_count, multipliers);
}

static bool read_mark_columns(trace_reader *reader) {
    const char *field;
    size_t length;
    if (!next_field(reader, &field, &length) || length != 1 || *field != 'k')
        return wrong(reader, "the first column of marks is k");
    while (next_field(reader, &field, &length)) {
        size_t which = 0;
        while (which < MARK_COLUMNS &&
               (strlen(mark_names[which]) != length || memcmp(mark_names[which], field, length) != 0))
            which++;
        for (size_t i = 0; i < reader->mark_column_count; i++)
            which = reader->mark_columns[i] == which ? MARK_COLUMNS : which;
        if (which == MARK_COLUMNS)
            return wrong(reader,
                         "column '%.*s': marks have k, and any of x_error, mu_error, objective and "
                         "max_violation once",
                         (int)(length < 40 ? length : 40), field);
        reader->mark_columns[reader->mark_column_count++] = which;
    }
    return !reader->failed;
}

static bool read_columns(trace_reader *reader) {
    if (reader->trace->kind == TC_TRACE_RUN)
        return read_run_columns(reader);
    if (reader->trace->kind == TC_TRACE_MARKS)
        return read_mark_columns(reader);
    if (reader->length != sizeof sweep_columns - 1 || memcmp(reader->line, sweep_columns, reader->length) != 0)
        return wrong(reader, "the columns of a sweep are %s", sweep_columns);
    return true;
}

/* ---- rows: cells ---- */

enum { MOST_RECORDS = 10000 };
static const uint64_t largest_round = (uint64_t)1 << 48;

static void *room(tc_arena *arena, void *items, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity)
        return items;
    *capacity = count < 16 ? 16 : 2 * count;
    return tc_arena_grow(arena, items, count, *capacity, size);
}

static bool too_few(trace_reader *reader) { return wrong(reader, "there are fewer fields than columns"); }

static bool read_end(trace_reader *reader) {
    return !reader->fields_left || wrong(reader, "there are more fields than columns");
}

static bool read_whole(trace_reader *reader, const char *column, uint64_t most, uint64_t *value) {
    const char *field = NULL;
    size_t length = 0;
    if (!next_field(reader, &field, &length))
        return too_few(reader);
    if (!read_decimal(field, length, value) || *value > most)
        return wrong(reader, "%s is not a whole number: '%.*s'", column, (int)(length < 40 ? length : 40), field);
    return true;
}

/* An empty field means that there is no number. */
static bool read_cell(trace_reader *reader, double *value) {
    const char *field = NULL;
    size_t length = 0;
    if (!next_field(reader, &field, &length))
        return too_few(reader);
    *value = NAN;
    if (length == 0)
        return true;
    if (tc_number_read(field, length, true, value) != length || !isfinite(*value))
        return wrong(reader, "this is not a number: '%.*s'", (int)(length < 40 ? length : 40), field);
    return true;
}

static bool read_cells(trace_reader *reader, double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!read_cell(reader, &values[i]))
            return false;
    }
    return true;
}

static bool read_seed(trace_reader *reader, bool *seeded, uint64_t *seed) {
    const char *stop = reader->line + reader->length;
    *seed = 0;
    *seeded = reader->at < stop && *reader->at != ',';
    if (*seeded)
        return read_whole(reader, "seed", UINT64_MAX, seed);
    const char *field;
    size_t length;
    return next_field(reader, &field, &length) || too_few(reader);
}

/* ---- rows: runs ---- */

static bool begin_record(trace_reader *reader, bool seeded, uint64_t seed) {
    tc_trace *trace = reader->trace;
    for (size_t i = 0; i < trace->record_count; i++) {
        if (!seeded || !trace->records[i].seeded || trace->records[i].seed == seed)
            return wrong(reader, "the rows of a seed stand together, and a run without one stands alone");
    }
    if (trace->record_count == MOST_RECORDS)
        return wrong(reader, "there are more than %d runs", MOST_RECORDS);
    trace->records =
        room(reader->arena, trace->records, trace->record_count, &reader->record_capacity, sizeof *trace->records);
    trace->records[trace->record_count++] =
        (tc_record){.seeded = seeded, .seed = seed, .outcome = TC_ENGINE_DONE, .moved_x = NAN, .moved_mu = NAN};
    reader->row_capacity = 0;
    return true;
}

static bool read_run_row(trace_reader *reader) {
    tc_trace *trace = reader->trace;
    size_t m = trace->constraint_count;
    bool seeded;
    uint64_t seed;
    tc_row row = {0};
    if (!read_seed(reader, &seeded, &seed) || !read_whole(reader, "k", largest_round, &row.k))
        return false;
    tc_record *record = trace->record_count > 0 ? &trace->records[trace->record_count - 1] : NULL;
    if (record == NULL || record->seeded != seeded || record->seed != seed) {
        if (!begin_record(reader, seeded, seed))
            return false;
        record = &trace->records[trace->record_count - 1];
    }
    if (record->row_count > 0 && record->rows[record->row_count - 1].k >= row.k)
        return wrong(reader, "k does not increase");
    double numbers[4];
    if (!read_cells(reader, numbers, 4))
        return false;
    row.x_error = numbers[0];
    row.mu_error = numbers[1];
    row.objective = numbers[2];
    row.max_violation = numbers[3];
    if ((size_t)(reader->line + reader->length - reader->at) + 1 < 2 * m) /* before memory is taken for them */
        return too_few(reader);
    row.constraints = TC_NEW(reader->arena, double, 2 * m);
    row.multipliers = row.constraints + m;
    double passed_over;
    bool read = read_cells(reader, row.constraints, 2 * m);
    for (size_t i = 0; read && i < reader->state_columns; i++)
        read = read_cell(reader, &passed_over);
    if (!read || !read_end(reader))
        return false;
    record->rows = room(reader->arena, record->rows, record->row_count, &reader->row_capacity, sizeof *record->rows);
    record->rows[record->row_count++] = row;
    record->rounds = row.k;
    return true;
}

/* ---- rows: sweeps and marks ---- */

static bool read_sweep_row(trace_reader *reader) {
    tc_trace *trace = reader->trace;
    tc_trace_point point;
    double numbers[5];
    if (!read_cell(reader, &point.epsilon) || !read_seed(reader, &point.seeded, &point.seed) ||
        !read_cells(reader, numbers, 5) || !read_end(reader))
        return false;
    if (!(point.epsilon > 0))
        return wrong(reader, "epsilon is not positive");
    if (trace->point_count > 0 && trace->points[trace->point_count - 1].epsilon > point.epsilon)
        return wrong(reader, "epsilon decreases: the rows of an epsilon stand together, smallest first");
    point.x_error = numbers[0];
    point.mu_error = numbers[1];
    point.objective = numbers[2];
    point.max_violation = numbers[3];
    point.penalty = numbers[4];
    trace->points =
        room(reader->arena, trace->points, trace->point_count, &reader->point_capacity, sizeof *trace->points);
    trace->points[trace->point_count++] = point;
    return true;
}

static bool read_mark(trace_reader *reader) {
    tc_trace *trace = reader->trace;
    tc_row mark = {.x_error = NAN, .mu_error = NAN, .objective = NAN, .max_violation = NAN};
    double *const into[MARK_COLUMNS] = {&mark.x_error, &mark.mu_error, &mark.objective, &mark.max_violation};
    if (!read_whole(reader, "k", largest_round, &mark.k))
        return false;
    for (size_t i = 0; i < reader->mark_column_count; i++) {
        if (!read_cell(reader, into[reader->mark_columns[i]]))
            return false;
    }
    if (!read_end(reader))
        return false;
    if (trace->mark_count > 0 && trace->marks[trace->mark_count - 1].k >= mark.k)
        return wrong(reader, "k does not increase");
    trace->marks = room(reader->arena, trace->marks, trace->mark_count, &reader->mark_capacity, sizeof *trace->marks);
    trace->marks[trace->mark_count++] = mark;
    return true;
}

/* The line read last, as a row of the trace's kind. */
static bool read_row(trace_reader *reader) {
    switch (reader->trace->kind) {
    case TC_TRACE_RUN:
        return read_run_row(reader);
    case TC_TRACE_SWEEP:
        return read_sweep_row(reader);
    case TC_TRACE_MARKS:
    default:
        return read_mark(reader);
    }
}

static bool end_rows(trace_reader *reader) {
    const tc_trace *trace = reader->trace;
    return trace->record_count + trace->point_count + trace->mark_count > 0 || wrong(reader, "there are no rows");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static bool read_trace(trace_reader *reader) {
    if (!read_first_line(reader))
        return false;
    bool has_columns = false;
    while (next_line(reader)) {
        if (reader->length == 0)
            continue;
        bool is_comment = reader->line[0] == '#';
        if (is_comment && !has_columns && !read_comment(reader))
            return false;
        if (is_comment)
            continue;
        if (!(has_columns ? read_row(reader) : read_columns(reader)))
            return false;
        has_columns = true;
    }
    if (reader->failed)
        return false;
    return has_columns ? end_rows(reader) : wrong(reader, "there is no line that names the columns");
}

tc_status tc_trace_parse(tc_arena *arena, const char *path, const char *text, size_t length, const tc_monitor *monitor,
                         tc_buffer *messages, tc_trace **trace) {
    trace_reader reader = {.arena = arena, .monitor = monitor, .messages = messages, .path = path};
    reader.text = text;
    reader.end = text + length;
    *trace = reader.trace = TC_NEW(arena, tc_trace, 1);
    *reader.trace = tc_trace_empty(TC_TRACE_RUN);
    return read_trace(&reader) ? TC_OK : TC_BAD_PROBLEM;
}

tc_status tc_trace_read(tc_arena *arena, const char *path, const tc_monitor *monitor, tc_buffer *messages,
                        tc_trace **trace) {
    char *text;
    size_t length;
    tc_status status = tc_file_read(arena, path, most_bytes, messages, &text, &length);
    return status == TC_OK ? tc_trace_parse(arena, path, text, length, monitor, messages, trace) : status;
}
