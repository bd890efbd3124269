#include "model/csv.h"

#include "base/ranks/ranks.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, LONGEST_RECORD = 1 << 26 };

struct tc_csv_file {
    int descriptor;
};

static void close_file(void *what) {
    struct tc_csv_file *file = what;
    if (file->descriptor >= 0)
        (void)close(file->descriptor);
    file->descriptor = -1;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static bool read_failed(tc_csv *csv, int code) {
    tc_error(csv->diagnostics, csv->source->span, "cannot read '%s': %s", csv->source->path, strerror(code));
    csv->failed = true;
    return false;
}

static size_t read_some(tc_csv *csv, char *into, size_t room) {
    ssize_t got;
    do {
        got = read(csv->file->descriptor, into, room);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        (void)read_failed(csv, errno);
    if (tc_interrupted(csv->source->monitor))
        tc_raise(csv->arena, TC_INTERRUPTED);
    return got > 0 ? (size_t)got : 0;
}

static size_t count_newlines(const char *text, size_t length) {
    size_t count = 0;
    for (const char *at = text, *end = text + length; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        count++;
    return count;
}

/* Tells the files of ranks apart. */
static uint64_t hash_more(uint64_t hash, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* One pass over the file to know how much memory its numbers need. */
static bool measure(tc_csv *csv) {
    csv->most_lines = 1;
    for (size_t got; (got = read_some(csv, csv->buffer, csv->capacity)) > 0;) {
        csv->most_lines += count_newlines(csv->buffer, got);
        csv->bytes += got;
        if (tc_ranks_several())
            csv->hash = hash_more(csv->hash, csv->buffer, got);
    }
    if (csv->failed)
        return false;
    if (lseek(csv->file->descriptor, 0, SEEK_SET) != 0)
        return read_failed(csv, errno);
    return true;
}

static bool open_file(tc_csv *csv) {
    struct stat facts;
    int descriptor = open(csv->source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return read_failed(csv, errno);
    csv->file->descriptor = descriptor;
    if (fstat(descriptor, &facts) != 0)
        return read_failed(csv, errno);
    if (!S_ISREG(facts.st_mode)) {
        tc_error(csv->diagnostics, csv->source->span, "'%s' is %s, not a file", csv->source->path,
                 S_ISDIR(facts.st_mode) ? "a folder" : "something else");
        csv->failed = true;
        return false;
    }
    csv->capacity = BLOCK;
    csv->buffer = TC_NEW(csv->arena, char, csv->capacity);
    return measure(csv);
}

static bool open_source(tc_csv *csv) {
    csv->next_line = 1;
    if (csv->source->text != NULL) {
        csv->bytes = csv->end = csv->length = csv->source->length;
        csv->buffer = tc_arena_copy(csv->arena, csv->source->text, csv->end);
        csv->at_end = true;
        csv->most_lines = count_newlines(csv->buffer, csv->end) + 1;
    } else {
        csv->file = TC_NEW(csv->arena, struct tc_csv_file, 1);
        csv->file->descriptor = -1;
        tc_arena_on_free(csv->arena, close_file, csv->file);
        if (!open_file(csv))
            return false;
    }
    if (csv->bytes >= 3 && csv->source->text != NULL && memcmp(csv->buffer, "\xef\xbb\xbf", 3) == 0)
        csv->start = 3;
    return true;
}

bool tc_csv_open(tc_csv *csv) {
    tc_told before = tc_told_so_far(csv->diagnostics);
    bool good = open_source(csv);
    tc_file_facts facts = {good, csv->bytes, csv->most_lines - 1, csv->hash};
    return tc_same_file(csv->diagnostics, before, csv->source->span, csv->source->path, facts) && good;
}

void tc_csv_close(tc_csv *csv) {
    if (csv->file != NULL)
        close_file(csv->file);
}

/* More bytes behind those not yet used. */
static bool refill(tc_csv *csv) {
    if (csv->at_end)
        return false;
    size_t kept = csv->end - csv->start;
    if (csv->start > 0)
        memmove(csv->buffer, csv->buffer + csv->start, kept);
    csv->start = 0;
    csv->end = kept;
    if (kept == csv->capacity) {
        if (kept >= LONGEST_RECORD)
            tc_raise(csv->arena, TC_TOO_LARGE);
        csv->buffer = tc_arena_grow(csv->arena, csv->buffer, kept, csv->capacity * 2, 1);
        csv->capacity *= 2;
    }
    size_t got = read_some(csv, csv->buffer + kept, csv->capacity - kept);
    if (got == 0)
        csv->at_end = true;
    if (csv->next_line == 1 && kept == 0 && got >= 3 && memcmp(csv->buffer, "\xef\xbb\xbf", 3) == 0)
        csv->start = 3;
    csv->end += got;
    return got > 0;
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

tc_text_place tc_csv_place(const tc_csv *csv, const char *from, size_t length) {
    /* A record of several lines (newlines in quotes) is shown up to its first. */
    const char *newline = memchr(csv->record, '\n', csv->length);
    size_t shown = newline != NULL ? (size_t)(newline - csv->record) : csv->length;
    if (csv->unquoted != NULL && from == csv->unquoted) {
        from = csv->quoted;
        length = csv->quoted_length;
    }
    size_t offset = (size_t)(from - csv->record);
    offset = offset < shown ? offset : shown;
    return (tc_text_place){csv->source->path, csv->line, csv->record, shown, offset, offset + length};
}

void tc_csv_error(tc_csv *csv, const char *from, size_t length, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char text[1024];
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    csv->failed = true;
    tc_error_at(csv->diagnostics, tc_csv_place(csv, from, length), "%s", text);
}

/* The length of the record at start, up to its newline; quotes hide newlines. SIZE_MAX when more bytes are needed. */
static size_t record_length(const tc_csv *csv, size_t *scanned) {
    const char *text = csv->buffer + csv->start;
    size_t left = csv->end - csv->start;
    const char *newline = memchr(text + *scanned, '\n', left - *scanned);
    size_t length = newline != NULL ? (size_t)(newline - text) : left;
    if (memchr(text, '"', length) == NULL) {
        *scanned = length;
        return newline != NULL || csv->at_end ? length : SIZE_MAX;
    }
    bool quoted = false;
    size_t i = 0;
    for (; i < left && (quoted || text[i] != '\n'); i++)
        quoted ^= text[i] == '"';
    if (i < left || csv->at_end)
        return i;
    *scanned = 0;
    return SIZE_MAX;
}

static bool is_blank(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return false;
    }
    return true;
}

static bool read_record(tc_csv *csv) {
    size_t scanned = 0, length;
    while ((length = record_length(csv, &scanned)) == SIZE_MAX) {
        (void)refill(csv);
        if (csv->failed)
            return false;
    }
    csv->record = csv->buffer + csv->start;
    csv->length = length;
    csv->line = csv->next_line;
    size_t used = length + (csv->start + length < csv->end);
    if (used == 0)
        return false;
    csv->next_line += 1 + (memchr(csv->record, '"', length) != NULL ? count_newlines(csv->record, length) : 0);
    csv->start += used;
    if (length > 0 && csv->record[length - 1] == '\r')
        csv->length--;
    csv->at = csv->record;
    csv->fields_left = true;
    return true;
}

bool tc_csv_next(tc_csv *csv) {
    while (!csv->failed && read_record(csv)) {
        if (!is_blank(csv->record, csv->length))
            return true;
    }
    return false;
}

bool tc_csv_count(tc_csv *csv, size_t *records) {
    for (*records = 0; tc_csv_next(csv);)
        ++*records;
    if (csv->failed)
        return false;
    if (csv->file != NULL) {
        if (lseek(csv->file->descriptor, 0, SEEK_SET) != 0)
            return read_failed(csv, errno);
        csv->start = csv->end = 0;
        csv->at_end = false;
    } else {
        csv->start = csv->bytes >= 3 && memcmp(csv->buffer, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    }
    csv->next_line = 1;
    return true;
}

/* ---- fields ----------------------------------------------------------------------------------------------------- */

/* The bytes between quotes, doubled ones once; the record stays as it is, for messages. */
static const char *without_doubled_quotes(tc_csv *csv, const char *from, size_t *length) {
    if (*length > csv->unquoted_capacity) {
        csv->unquoted_capacity = *length;
        csv->unquoted = TC_NEW(csv->arena, char, *length);
    }
    size_t kept = 0;
    for (size_t i = 0; i < *length; i++) {
        csv->unquoted[kept++] = from[i];
        i += from[i] == '"';
    }
    csv->quoted = from;
    csv->quoted_length = *length;
    *length = kept;
    return csv->unquoted;
}

/* at points to the opening quote. */
static bool quoted_field(tc_csv *csv, const char *end, const char **text, size_t *length) {
    const char *opened = csv->at, *read = opened + 1;
    bool doubled = false;
    for (; read < end; read++) {
        if (*read == '"' && (read + 1 >= end || read[1] != '"'))
            break;
        doubled = doubled || *read == '"';
        read += *read == '"';
    }
    if (read >= end) {
        tc_csv_error(csv, opened, 1, "the quote opened here is not closed");
        return false;
    }
    *length = (size_t)(read - opened - 1);
    *text = doubled ? without_doubled_quotes(csv, opened + 1, length) : opened + 1;
    read++;
    if (read < end && *read != ',') {
        tc_csv_error(csv, read, 1, "expected a comma after the closing quote");
        return false;
    }
    csv->fields_left = read < end;
    csv->at = read + (read < end);
    return true;
}

bool tc_csv_field(tc_csv *csv, const char **text, size_t *length) {
    const char *end = csv->record + csv->length;
    if (!csv->fields_left)
        return false;
    if (csv->at < end && *csv->at == '"')
        return quoted_field(csv, end, text, length);
    const char *comma = csv->at < end ? memchr(csv->at, ',', (size_t)(end - csv->at)) : NULL;
    const char *stop = comma != NULL ? comma : end;
    *text = csv->at;
    while (*text < stop && (**text == ' ' || **text == '\t'))
        ++*text;
    const char *last = stop;
    while (last > *text && (last[-1] == ' ' || last[-1] == '\t'))
        last--;
    *length = (size_t)(last - *text);
    csv->fields_left = comma != NULL;
    csv->at = stop + (comma != NULL);
    return true;
}

static bool is_word(const char *text, size_t length, const char *word) {
    if (length > 0 && (text[0] == '-' || text[0] == '+')) {
        text++;
        length--;
    }
    if (strlen(word) != length)
        return false;
    for (size_t i = 0; i < length; i++) {
        if ((text[i] | 0x20) != word[i])
            return false;
    }
    return true;
}

static const char *problem_of(const char *text, size_t length, bool is_read) {
    if (length == 0)
        return "a number is missing";
    if (is_read)
        return "this number is too large for a double";
    if (is_word(text, length, "nan") || is_word(text, length, "inf") || is_word(text, length, "infinity"))
        return "data must be finite";
    if (memchr(text, ';', length) != NULL)
        return "this is not a number; columns are separated by commas, not semicolons";
    return "this is not a number";
}

bool tc_csv_read_cell(tc_csv *csv, tc_csv_cell *cell) {
    const char *end = csv->record + csv->length;
    /* The common case: a bare number up to the comma. */
    size_t used = tc_number_read(csv->at, (size_t)(end - csv->at), true, &cell->value);
    const char *after = csv->at + used;
    cell->is_number = true;
    if (used > 0 && csv->fields_left && (after == end || *after == ',') && cell->value - cell->value == 0) {
        csv->fields_left = after < end;
        csv->at = after + (after < end);
        return true;
    }
    if (!tc_csv_field(csv, &cell->text, &cell->length))
        return false;
    used = tc_number_read(cell->text, cell->length, true, &cell->value);
    bool is_read = used == cell->length && cell->length > 0;
    cell->is_number = is_read && cell->value - cell->value == 0;
    if (!cell->is_number)
        cell->problem = problem_of(cell->text, cell->length, is_read);
    return true;
}

/* ---- matrices --------------------------------------------------------------------------------------------------- */

static size_t count_fields(tc_csv *csv) {
    const char *text;
    size_t length, count = 0;
    while (tc_csv_field(csv, &text, &length))
        count++;
    csv->at = csv->record;
    csv->fields_left = true;
    return count;
}

static bool matrix_row(tc_csv *csv, double *row, size_t columns) {
    for (size_t c = 0; c < columns; c++) {
        tc_csv_cell cell;
        bool is_there = tc_csv_read_cell(csv, &cell);
        if (is_there && cell.is_number) {
            row[c] = cell.value;
            continue;
        }
        if (is_there)
            tc_csv_error(csv, cell.text, cell.length > 0 ? cell.length : 1, "column %zu: %s", c + 1, cell.problem);
        else if (!csv->failed)
            tc_csv_error(csv, csv->record + csv->length, 1, "this line has %zu number%s, the first line %zu", c,
                         c == 1 ? "" : "s", columns);
        return false;
    }
    if (csv->fields_left) {
        tc_csv_error(csv, csv->at, 1, "this line has more than the %zu number%s of the first line", columns,
                     columns == 1 ? "" : "s");
        return false;
    }
    return true;
}

bool tc_csv_matrix(tc_arena *arena, tc_diagnostics *diagnostics, const tc_csv_source *source, double **numbers,
                   size_t *rows, size_t *columns) {
    tc_csv csv = {.arena = arena, .diagnostics = diagnostics, .source = source};
    *rows = *columns = 0;
    size_t most = 0;
    bool good = true;
    if (!tc_csv_open(&csv)) {
        tc_csv_close(&csv);
        return false;
    }
    while (good && tc_csv_next(&csv)) {
        if (*rows == 0) {
            /* Quotes must not be removed twice; numbers need none. */
            if (memchr(csv.record, '"', csv.length) == NULL)
                *columns = count_fields(&csv);
            else
                tc_csv_error(&csv, memchr(csv.record, '"', csv.length), 1, "a matrix file holds numbers only");
            most = *columns > 0 ? csv.bytes / *columns + 1 : 0;
            most = most < csv.most_lines ? most : csv.most_lines;
            *numbers = TC_NEW(arena, double, most **columns);
        }
        good = !csv.failed && *rows < most && matrix_row(&csv, *numbers + *rows * *columns, *columns);
        *rows += good;
    }
    tc_csv_close(&csv);
    if (good && !csv.failed && *rows == 0) {
        tc_error(diagnostics, source->span, "'%s' is empty", source->path);
        return false;
    }
    if (!good && !csv.failed)
        tc_error(diagnostics, source->span, "'%s' changed while it was read", source->path);
    return good && !csv.failed;
}
