/* Text to traces: lines, comments and the names of the columns. Any bytes give a trace or an error with its line. */
#include "report/trace/trace_read.h"

#include "base/text.h"
#include "report/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const size_t most_bytes = (size_t)1 << 31;
enum { MOST_COLUMNS = 1 << 20, LINES_BETWEEN_LOOKS = 4096 };
static const char first_line[] = "# tacit trace ";
static const char run_columns[] = "seed,k,x_error,mu_error,objective,max_violation";
static const char sweep_columns[] = "epsilon,seed,x_error,mu_error,objective,max_violation,penalty";
const char *const tc_trace_mark_names[TC_TRACE_MARK_COLUMNS] = {"x_error", "mu_error", "objective", "max_violation"};

bool tc_trace_wrong(tc_trace_reader *reader, const char *format, ...) {
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

static bool next_line(tc_trace_reader *reader) {
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
        return tc_trace_wrong(reader, "there is a zero byte in this line: the file is no text");
    if (reader->number % LINES_BETWEEN_LOOKS == 0 && tc_interrupted(reader->monitor))
        tc_raise(reader->arena, TC_INTERRUPTED);
    reader->at = reader->line;
    reader->fields_left = true;
    return true;
}

static bool quoted_field(tc_trace_reader *reader, const char **field, size_t *length) {
    const char *stop = reader->line + reader->length;
    char *plain = TC_NEW(reader->arena, char, reader->length + 1);
    size_t count = 0;
    const char *c = reader->at + 1;
    for (; c < stop && (*c != '"' || (c + 1 < stop && c[1] == '"')); c++) {
        plain[count++] = *c;
        c += *c == '"';
    }
    if (c == stop)
        return tc_trace_wrong(reader, "a quote is not closed");
    c++;
    if (c < stop && *c != ',')
        return tc_trace_wrong(reader, "there is text behind a closing quote");
    *field = plain;
    *length = count;
    reader->fields_left = c < stop;
    reader->at = c + (c < stop);
    return true;
}

bool tc_trace_field(tc_trace_reader *reader, const char **field, size_t *length) {
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

/* ---- comments ---------------------------------------------------------------------------------------------------- */

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* Undoes what the writer did to keep a value in its line. */
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

static bool read_kind(tc_trace_reader *reader, const char *value) {
    for (int kind = TC_TRACE_RUN; kind <= TC_TRACE_MARKS; kind++) {
        if (strcmp(tc_trace_kind_name((tc_trace_kind)kind), value) == 0) {
            reader->trace->kind = (tc_trace_kind)kind;
            return true;
        }
    }
    return tc_trace_wrong(reader, "there is no kind '%.40s'; it is run, sweep or marks", value);
}

static bool read_number(tc_trace_reader *reader, const char *key, const char *text, double *value) {
    size_t length = strlen(text);
    if (length == 0 || tc_number_read(text, length, true, value) != length || !isfinite(*value))
        return tc_trace_wrong(reader, "%s is not a number: '%.40s'", key, text);
    return true;
}

static bool read_fact(tc_trace_reader *reader, const char *value) {
    const char *sign = strstr(value, " = ");
    if (sign == NULL)
        return tc_trace_wrong(reader, "a fact is written NAME = VALUE");
    const char *name = tc_arena_copy(reader->arena, value, (size_t)(sign - value));
    tc_trace_fact_add(reader->arena, reader->trace, name, sign + 3);
    return true;
}

static bool read_text_key(tc_trace_reader *reader, const char *key, const char *value) {
    tc_trace *trace = reader->trace;
    const struct {
        const char *key;
        const char **into;
    } texts[] = {
        {"problem", &trace->problem},
        {"label", &trace->label},
        {"command", &trace->command},
        {"penalty", &trace->penalty},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(key, texts[i].key) == 0) {
            *texts[i].into = value;
            return true;
        }
    }
    return false;
}

/* A key that is not known is passed over: another version may have written it. */
static bool read_key(tc_trace_reader *reader, const char *key, const char *value) {
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
        {"reference_objective", &trace->reference_objective},
    };
    if (strcmp(key, "kind") == 0)
        return read_kind(reader, value);
    if (strcmp(key, "fact") == 0)
        return read_fact(reader, value);
    if (strcmp(key, "note") == 0)
        tc_trace_note_add(reader->arena, trace, value);
    else if (strcmp(key, "card") == 0)
        tc_trace_card_add(reader->arena, trace, value);
    else if (!read_text_key(reader, key, value)) {
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            if (strcmp(key, numbers[i].key) == 0)
                return read_number(reader, key, value, numbers[i].into);
        }
    }
    return true;
}

static bool read_comment(tc_trace_reader *reader) {
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

static bool read_first_line(tc_trace_reader *reader) {
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin files with it */
    if (reader->end - reader->text >= 3 && memcmp(reader->text, mark, 3) == 0)
        reader->text += 3;
    if (!next_line(reader)) {
        reader->number = 1;
        return tc_trace_wrong(reader, "the file is empty");
    }
    size_t length = sizeof first_line - 1;
    uint64_t version;
    if (reader->length < length || memcmp(reader->line, first_line, length) != 0 ||
        !tc_trace_whole(reader->line + length, reader->length - length, &version))
        return tc_trace_wrong(reader, "this is no trace: its first line is not '# tacit trace 1'");
    if (version != 1)
        return tc_trace_wrong(reader, "this trace is of format %llu; this program reads format 1",
                              (unsigned long long)version);
    return true;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* The name in "g[name]", NULL where the field is none of these. */
static const char *constraint_of(tc_trace_reader *reader, const char *what, const char *field, size_t length) {
    size_t before = strlen(what);
    if (length < before + 2 || memcmp(field, what, before) != 0 || field[before] != '[' || field[length - 1] != ']')
        return NULL;
    return tc_arena_copy(reader->arena, field + before + 1, length - before - 2);
}

static bool read_run_columns(tc_trace_reader *reader) {
    tc_trace *trace = reader->trace;
    size_t length = sizeof run_columns - 1, capacity = 16, multipliers = 0;
    if (reader->length < length || memcmp(reader->line, run_columns, length) != 0 ||
        (reader->length > length && reader->line[length] != ','))
        return tc_trace_wrong(reader, "the columns of a run begin with %s", run_columns);
    trace->constraints = TC_NEW(reader->arena, const char *, capacity);
    reader->fields_left = reader->length > length;
    reader->at = reader->line + length + (reader->length > length);
    const char *field;
    for (size_t size; tc_trace_field(reader, &field, &size);) {
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
        name = constraint_of(reader, "mu", field, size);
        if (name == NULL || multipliers >= trace->constraint_count ||
            strcmp(name, trace->constraints[multipliers]) != 0)
            return tc_trace_wrong(reader,
                                  "column '%.*s' is not expected here: there is g[NAME] for each constraint, "
                                  "and then mu[NAME] for the same names",
                                  (int)(size < 40 ? size : 40), field);
        multipliers++;
    }
    if (reader->failed)
        return false;
    return multipliers == trace->constraint_count ||
           tc_trace_wrong(reader, "there are %zu columns g[NAME] and %zu mu[NAME]", trace->constraint_count,
                          multipliers);
}

static bool read_mark_columns(tc_trace_reader *reader) {
    const char *field;
    size_t length;
    if (!tc_trace_field(reader, &field, &length) || length != 1 || *field != 'k')
        return tc_trace_wrong(reader, "the first column of marks is k");
    while (tc_trace_field(reader, &field, &length)) {
        size_t which = 0;
        while (which < TC_TRACE_MARK_COLUMNS &&
               (strlen(tc_trace_mark_names[which]) != length || memcmp(tc_trace_mark_names[which], field, length) != 0))
            which++;
        for (size_t i = 0; i < reader->mark_column_count; i++)
            which = reader->mark_columns[i] == which ? TC_TRACE_MARK_COLUMNS : which;
        if (which == TC_TRACE_MARK_COLUMNS)
            return tc_trace_wrong(reader,
                                  "column '%.*s': marks have k, and any of x_error, mu_error, objective and "
                                  "max_violation once",
                                  (int)(length < 40 ? length : 40), field);
        reader->mark_columns[reader->mark_column_count++] = which;
    }
    return !reader->failed;
}

static bool read_columns(tc_trace_reader *reader) {
    if (reader->trace->kind == TC_TRACE_RUN)
        return read_run_columns(reader);
    if (reader->trace->kind == TC_TRACE_MARKS)
        return read_mark_columns(reader);
    if (reader->length != sizeof sweep_columns - 1 || memcmp(reader->line, sweep_columns, reader->length) != 0)
        return tc_trace_wrong(reader, "the columns of a sweep are %s", sweep_columns);
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static bool read_trace(tc_trace_reader *reader) {
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
        if (!(has_columns ? tc_trace_read_row(reader) : read_columns(reader)))
            return false;
        has_columns = true;
    }
    if (reader->failed)
        return false;
    return has_columns ? tc_trace_rows_end(reader) : tc_trace_wrong(reader, "there is no line that names the columns");
}

tc_status tc_trace_parse(tc_arena *arena, const char *path, const char *text, size_t length, const tc_monitor *monitor,
                         tc_buffer *messages, tc_trace **trace) {
    tc_trace_reader reader = {.arena = arena, .monitor = monitor, .messages = messages, .path = path};
    reader.text = text;
    reader.end = text + length;
    *trace = reader.trace = TC_NEW(arena, tc_trace, 1);
    *reader.trace = (tc_trace){.kind = TC_TRACE_RUN,
                               .free_x_error = NAN,
                               .free_mu_error = NAN,
                               .reference_objective = NAN,
                               .fit = {NAN, NAN, NAN, NAN, NAN, NAN}};
    return read_trace(&reader) ? TC_OK : TC_BAD_PROBLEM;
}

tc_status tc_trace_read(tc_arena *arena, const char *path, const tc_monitor *monitor, tc_buffer *messages,
                        tc_trace **trace) {
    char *text;
    size_t length;
    tc_status status = tc_file_read(arena, path, most_bytes, messages, &text, &length);
    return status == TC_OK ? tc_trace_parse(arena, path, text, length, monitor, messages, trace) : status;
}
