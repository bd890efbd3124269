/* Rows of traces. */
#include "base/text.h"
#include "report/trace/trace_read.h"

#include <math.h>
#include <string.h>

enum { MOST_RECORDS = 10000 };
static const uint64_t largest_round = (uint64_t)1 << 48;

bool tc_trace_whole(const char *text, size_t length, uint64_t *value) {
    *value = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)((unsigned char)text[i] - '0');
        if (digit > 9 || *value > (UINT64_MAX - digit) / 10)
            return false;
        *value = *value * 10 + digit;
    }
    return length > 0;
}

static void *room(tc_arena *arena, void *items, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity)
        return items;
    *capacity = count < 16 ? 16 : 2 * count;
    return tc_arena_grow(arena, items, count, *capacity, size);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static bool too_few(tc_trace_reader *reader) { return tc_trace_wrong(reader, "there are fewer fields than columns"); }

static bool read_end(tc_trace_reader *reader) {
    return !reader->fields_left || tc_trace_wrong(reader, "there are more fields than columns");
}

static bool read_whole(tc_trace_reader *reader, const char *column, uint64_t most, uint64_t *value) {
    const char *field;
    size_t length;
    if (!tc_trace_field(reader, &field, &length))
        return too_few(reader);
    if (!tc_trace_whole(field, length, value) || *value > most)
        return tc_trace_wrong(reader, "%s is not a whole number: '%.*s'", column, (int)(length < 40 ? length : 40),
                              field);
    return true;
}

/* An empty field means that there is no number. */
static bool read_number(tc_trace_reader *reader, double *value) {
    const char *field;
    size_t length;
    if (!tc_trace_field(reader, &field, &length))
        return too_few(reader);
    *value = NAN;
    if (length == 0)
        return true;
    if (tc_number_read(field, length, true, value) != length || !isfinite(*value))
        return tc_trace_wrong(reader, "this is not a number: '%.*s'", (int)(length < 40 ? length : 40), field);
    return true;
}

static bool read_numbers(tc_trace_reader *reader, double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!read_number(reader, &values[i]))
            return false;
    }
    return true;
}

static bool read_seed(tc_trace_reader *reader, bool *seeded, uint64_t *seed) {
    const char *stop = reader->line + reader->length;
    *seed = 0;
    *seeded = reader->at < stop && *reader->at != ',';
    if (*seeded)
        return read_whole(reader, "seed", UINT64_MAX, seed);
    const char *field;
    size_t length;
    return tc_trace_field(reader, &field, &length) || too_few(reader);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static bool begin_record(tc_trace_reader *reader, bool seeded, uint64_t seed) {
    tc_trace *trace = reader->trace;
    for (size_t i = 0; i < trace->record_count; i++) {
        if (!seeded || !trace->records[i].seeded || trace->records[i].seed == seed)
            return tc_trace_wrong(reader, "the rows of a seed stand together, and a run without one stands alone");
    }
    if (trace->record_count == MOST_RECORDS)
        return tc_trace_wrong(reader, "there are more than %d runs", MOST_RECORDS);
    trace->records =
        room(reader->arena, trace->records, trace->record_count, &reader->record_capacity, sizeof *trace->records);
    trace->records[trace->record_count++] =
        (tc_record){.seeded = seeded, .seed = seed, .outcome = TC_ENGINE_DONE, .moved_x = NAN, .moved_mu = NAN};
    reader->row_capacity = 0;
    return true;
}

static bool read_run_row(tc_trace_reader *reader) {
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
        return tc_trace_wrong(reader, "k does not increase");
    double numbers[4];
    if (!read_numbers(reader, numbers, 4))
        return false;
    row.x_error = numbers[0];
    row.mu_error = numbers[1];
    row.objective = numbers[2];
    row.max_violation = numbers[3];
    if ((size_t)(reader->line + reader->length - reader->at) + 1 < 2 * m) /* before memory is taken for them */
        return too_few(reader);
    row.constraints = TC_NEW(reader->arena, double, 2 * m);
    row.multipliers = row.constraints + m;
    if (!read_numbers(reader, row.constraints, 2 * m) || !read_end(reader))
        return false;
    record->rows = room(reader->arena, record->rows, record->row_count, &reader->row_capacity, sizeof *record->rows);
    record->rows[record->row_count++] = row;
    record->rounds = row.k;
    return true;
}

/* ---- sweeps and marks -------------------------------------------------------------------------------------------- */

static bool read_sweep_row(tc_trace_reader *reader) {
    tc_trace *trace = reader->trace;
    tc_trace_point point;
    double numbers[5];
    if (!read_number(reader, &point.epsilon) || !read_seed(reader, &point.seeded, &point.seed) ||
        !read_numbers(reader, numbers, 5) || !read_end(reader))
        return false;
    if (!(point.epsilon > 0))
        return tc_trace_wrong(reader, "epsilon is not positive");
    if (trace->point_count > 0 && trace->points[trace->point_count - 1].epsilon > point.epsilon)
        return tc_trace_wrong(reader, "epsilon decreases: the rows of an epsilon stand together, smallest first");
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

static bool read_mark(tc_trace_reader *reader) {
    tc_trace *trace = reader->trace;
    tc_row mark = {.x_error = NAN, .mu_error = NAN, .objective = NAN, .max_violation = NAN};
    double *const into[TC_TRACE_MARK_COLUMNS] = {&mark.x_error, &mark.mu_error, &mark.objective, &mark.max_violation};
    if (!read_whole(reader, "k", largest_round, &mark.k))
        return false;
    for (size_t i = 0; i < reader->mark_column_count; i++) {
        if (!read_number(reader, into[reader->mark_columns[i]]))
            return false;
    }
    if (!read_end(reader))
        return false;
    if (trace->mark_count > 0 && trace->marks[trace->mark_count - 1].k >= mark.k)
        return tc_trace_wrong(reader, "k does not increase");
    trace->marks = room(reader->arena, trace->marks, trace->mark_count, &reader->mark_capacity, sizeof *trace->marks);
    trace->marks[trace->mark_count++] = mark;
    return true;
}

bool tc_trace_read_row(tc_trace_reader *reader) {
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

bool tc_trace_rows_end(tc_trace_reader *reader) {
    const tc_trace *trace = reader->trace;
    return trace->record_count + trace->point_count + trace->mark_count > 0 ||
           tc_trace_wrong(reader, "there are no rows");
}
