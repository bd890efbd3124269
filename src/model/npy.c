/* Numbers from NumPy's .npy files: structured arrays of one dimension are tables, plain arrays of one or two are
 * vectors and matrices. Objects are never unpickled: such a file is refused. */
#include "model/npy.h"

#include "base/ranks/ranks.h"
#include "model/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, LONGEST_HEADER = 1 << 24 };

struct tc_npy_file {
    int descriptor;
};

static void close_file(void *what) {
    struct tc_npy_file *file = what;
    if (file->descriptor >= 0)
        (void)close(file->descriptor);
    file->descriptor = -1;
}

bool tc_npy_refuse(const tc_npy *npy, const char *format, ...) {
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tc_error(npy->diagnostics, npy->source->span, "'%s'%s", npy->source->path, text);
    return false;
}

/* What the file is or has. */
#define refuse(npy, ...) tc_npy_refuse((npy), " " __VA_ARGS__)

static bool cannot_read(tc_npy *npy, int code) {
    tc_error(npy->diagnostics, npy->source->span, "cannot read '%s': %s", npy->source->path, strerror(code));
    return false;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

static bool open_file(tc_npy *npy) {
    npy->file = TC_NEW(npy->arena, struct tc_npy_file, 1);
    npy->file->descriptor = -1;
    tc_arena_on_free(npy->arena, close_file, npy->file);
    struct stat facts;
    npy->file->descriptor = open(npy->source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (npy->file->descriptor < 0 || fstat(npy->file->descriptor, &facts) != 0)
        return cannot_read(npy, errno);
    if (!S_ISREG(facts.st_mode))
        return refuse(npy, "is %s, not a file", S_ISDIR(facts.st_mode) ? "a folder" : "something else");
    npy->size = (size_t)facts.st_size;
    return true;
}

/* Exactly these bytes; offset + length is at most npy->size. */
static bool read_at(tc_npy *npy, size_t offset, size_t length, void *into) {
    if (npy->file == NULL) {
        memcpy(into, npy->source->text + offset, length);
        return true;
    }
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(npy->file->descriptor, (char *)into + done, length - done, (off_t)(offset + done));
        if (tc_interrupted(npy->source->monitor))
            tc_raise(npy->arena, TC_INTERRUPTED);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot_read(npy, errno);
        if (got == 0)
            return refuse(npy, "changed while it was read");
        done += (size_t)got;
    }
    return true;
}

static bool read_header(tc_npy *npy) {
    unsigned char start[12] = {0};
    if (npy->size < 10)
        return refuse(npy, "is not a .npy file: it has %zu bytes", npy->size);
    if (!read_at(npy, 0, npy->size < 12 ? npy->size : 12, start))
        return false;
    if (memcmp(start, "\x93NUMPY", 6) != 0)
        return refuse(npy, "is not a .npy file: it does not begin as one%s",
                      memcmp(start, "PK\x03\x04", 4) == 0 ? "; a .npz file holds several, save one with np.save" : "");
    if (start[6] < 1 || start[6] > 3)
        return refuse(npy, "is a .npy file of version %u.%u; versions 1 to 3 are read", start[6], start[7]);
    size_t length = start[8] + 256u * start[9], first = 10;
    if (start[6] > 1) {
        length += 65536 * (start[10] + (size_t)256 * start[11]);
        first = 12;
    }
    if (length > LONGEST_HEADER)
        return refuse(npy, "has a header of %zu bytes; at most %d are read", length, LONGEST_HEADER);
    if (npy->size < first || npy->size - first < length)
        return refuse(npy, "is cut off: it ends within its header");
    char *header = TC_NEW(npy->arena, char, length + 1);
    npy->at = header;
    npy->data = first + length;
    if (!read_at(npy, first, length, header))
        return false;
    for (size_t i = 0; i < length; i++)
        npy->hash = (npy->hash ^ (unsigned char)header[i]) * UINT64_C(0x100000001b3);
    return true;
}

/* ---- the header: a literal of Python ----------------------------------------------------------------------------- */

static bool odd_header(tc_npy *npy) {
    return refuse(npy, "has a header that is not understood, from here on: %s", tc_given_shown(npy->arena, npy->at));
}

static void skip_spaces(tc_npy *npy) {
    while (*npy->at == ' ' || *npy->at == '\t' || *npy->at == '\n')
        npy->at++;
}

static bool accept(tc_npy *npy, char c) {
    skip_spaces(npy);
    bool found = *npy->at == c;
    npy->at += found;
    return found;
}

static bool expect(tc_npy *npy, char c) { return accept(npy, c) || odd_header(npy); }

static bool read_text(tc_npy *npy, const char **text) {
    skip_spaces(npy);
    char quote = *npy->at;
    if (quote != '\'' && quote != '"')
        return odd_header(npy);
    const char *first = npy->at + 1, *last = strchr(first, quote);
    if (last == NULL || memchr(first, '\\', (size_t)(last - first)) != NULL)
        return odd_header(npy);
    *text = tc_arena_copy(npy->arena, first, (size_t)(last - first));
    npy->at = last + 1;
    return true;
}

static bool read_count(tc_npy *npy, size_t *count) {
    skip_spaces(npy);
    const char *first = npy->at;
    *count = 0;
    for (; *npy->at >= '0' && *npy->at <= '9'; npy->at++) {
        if (__builtin_mul_overflow(*count, (size_t)10, count) ||
            __builtin_add_overflow(*count, (size_t)(*npy->at - '0'), count))
            return refuse(npy, "says that it holds more numbers than a memory can");
    }
    return npy->at > first || odd_header(npy);
}

/* (3, 4) or (5,) or () */
static bool read_shape(tc_npy *npy, size_t shape[2], size_t *dimensions) {
    *dimensions = 0;
    shape[0] = shape[1] = 1;
    if (!expect(npy, '('))
        return false;
    while (!accept(npy, ')')) {
        size_t length;
        if (!read_count(npy, &length))
            return false;
        if (*dimensions < 2)
            shape[*dimensions] = length;
        ++*dimensions;
        if (!accept(npy, ',')) {
            if (!expect(npy, ')'))
                return false;
            break;
        }
    }
    return true;
}

/* '<f8': byte order, kind, size. */
static bool read_type(tc_npy *npy, const char *type, const char *name, tc_npy_field *field) {
    size_t size = 0, digits = 0;
    for (const char *c = type[0] != '\0' && type[1] != '\0' ? type + 2 : ""; *c >= '0' && *c <= '9' && digits < 9; c++)
        size = size * 10 + (size_t)(*c - '0'), digits++;
    const char *which =
        *name != '\0' ? tc_arena_format(npy->arena, "column '%s' of ", tc_given_shown(npy->arena, name)) : "";
    const char *shown = tc_given_shown(npy->arena, type);
    field->kind = type[0] != '\0' ? type[1] : '\0';
    field->size = field->kind == 'U' ? 4 * size : size;
    if (field->kind == 'O')
        return refuse(npy, "holds %sPython objects, which are never read; save numbers: a.astype('<f8')", which);
    if (digits == 0 || type[2 + digits] != '\0' || size == 0)
        return refuse(npy, "holds %stype '%s', which is not read", which, shown);
    if (type[0] == '>')
        return refuse(npy,
                      "holds %stype '%s', with the high byte first; save it with the low byte first: "
                      "a.astype(a.dtype.newbyteorder('<'))",
                      which, shown);
    bool is_whole = (field->kind == 'i' || field->kind == 'u') && (size == 1 || size == 2 || size == 4 || size == 8);
    field->is_number = is_whole || (field->kind == 'f' && (size == 4 || size == 8));
    field->is_text = field->kind == 'U' || field->kind == 'S';
    field->is_padding = field->kind == 'V' && *name == '\0';
    bool has_order =
        type[0] == '<' || (type[0] == '|' && (field->size == 1 || field->kind == 'S' || field->kind == 'V'));
    if (!has_order || (!field->is_number && !field->is_text && !field->is_padding))
        return refuse(npy, "holds %stype '%s'; numbers of types f8, f4, i1 to i8 and u1 to u8 are read", which, shown);
    return true;
}

/* ('pref', '<f8', (24,)) */
static bool read_field(tc_npy *npy) {
    const char *name, *type;
    size_t shape[2], dimensions = 0, bytes;
    if (!expect(npy, '('))
        return false;
    skip_spaces(npy);
    if (*npy->at == '(')
        return refuse(npy, "has a column with a title; save it with names alone");
    if (!read_text(npy, &name) || !expect(npy, ','))
        return false;
    skip_spaces(npy);
    if (*npy->at == '[')
        return refuse(npy, "has a column '%s' that is a structure itself; columns are numbers",
                      tc_given_shown(npy->arena, name));
    tc_npy_field field = {.name = name, .length = 1, .offset = npy->row_bytes};
    if (!read_text(npy, &type) || !read_type(npy, type, name, &field))
        return false;
    if (accept(npy, ',')) {
        skip_spaces(npy);
        if (*npy->at == '(' && !read_shape(npy, shape, &dimensions))
            return false;
    }
    if (dimensions > 1)
        return refuse(npy, "has a column '%s' of %zu dimensions; a vector has one", tc_given_shown(npy->arena, name),
                      dimensions);
    if (dimensions == 1) {
        field.length = shape[0];
        field.is_vector = true;
    }
    if (__builtin_mul_overflow(field.size, field.length, &bytes) ||
        __builtin_add_overflow(npy->row_bytes, bytes, &npy->row_bytes))
        return refuse(npy, "says that it holds more numbers than a memory can");
    TC_PUSH(npy->arena, npy->fields, npy->field_count, field);
    return expect(npy, ')');
}

static bool read_descr(tc_npy *npy) {
    const char *type;
    tc_npy_field field = {.name = "", .length = 1};
    if (!accept(npy, '[')) {
        if (!read_text(npy, &type) || !read_type(npy, type, "", &field))
            return false;
        npy->row_bytes = field.size;
        TC_PUSH(npy->arena, npy->fields, npy->field_count, field);
        return true;
    }
    npy->is_structured = true;
    while (!accept(npy, ']')) {
        if (npy->field_count == TC_MOST_COLUMNS)
            return refuse(npy, "has more than %d columns", TC_MOST_COLUMNS);
        if (!read_field(npy))
            return false;
        if (!accept(npy, ',')) {
            if (!expect(npy, ']'))
                return false;
            break;
        }
    }
    return true;
}

static bool read_order(tc_npy *npy) {
    skip_spaces(npy);
    npy->is_fortran = strncmp(npy->at, "True", 4) == 0;
    if (!npy->is_fortran && strncmp(npy->at, "False", 5) != 0)
        return odd_header(npy);
    npy->at += npy->is_fortran ? 4 : 5;
    return true;
}

static bool read_facts(tc_npy *npy) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    bool found[3] = {false};
    if (!expect(npy, '{'))
        return false;
    while (!accept(npy, '}')) {
        const char *key;
        size_t k = 0;
        if (!read_text(npy, &key) || !expect(npy, ':'))
            return false;
        while (k < 3 && strcmp(key, keys[k]) != 0)
            k++;
        if (k == 3 || found[k])
            return odd_header(npy);
        found[k] = true;
        if (!(k == 0 ? read_descr(npy) : k == 1 ? read_order(npy) : read_shape(npy, npy->shape, &npy->dimensions)))
            return false;
        if (!accept(npy, ',')) {
            if (!expect(npy, '}'))
                return false;
            break;
        }
    }
    skip_spaces(npy);
    return (found[0] && found[1] && found[2] && *npy->at == '\0') || odd_header(npy);
}

/* The file's length is what the header says. */
static bool check_size(tc_npy *npy) {
    size_t count, bytes, all;
    if (__builtin_mul_overflow(npy->shape[0], npy->shape[1], &count) ||
        __builtin_mul_overflow(count, npy->row_bytes, &bytes) || __builtin_add_overflow(bytes, npy->data, &all) ||
        all > PTRDIFF_MAX)
        return refuse(npy, "says that it holds more numbers than a memory can");
    if (npy->size < all)
        return refuse(npy, "is cut off: its header promises %zu bytes, it has %zu", all, npy->size);
    if (npy->size > all)
        return refuse(npy, "has %zu bytes more than its header says", npy->size - all);
    return true;
}

static bool open_and_check(tc_npy *npy) {
    if (npy->source->text != NULL)
        npy->size = npy->source->length;
    else if (!open_file(npy))
        return false;
    if (!read_header(npy) || !read_facts(npy))
        return false;
    if (npy->dimensions > 2)
        return refuse(npy, "holds an array of %zu dimensions; tables have one, matrices two", npy->dimensions);
    return check_size(npy);
}

/* Each rank reads the rows that it holds, but all must have the same file: so all of it is compared. */
static bool hash_body(tc_npy *npy) {
    unsigned char *block = TC_NEW(npy->arena, unsigned char, BLOCK);
    uint64_t hash = npy->hash;
    for (size_t at = npy->data; at < npy->size; at += BLOCK) {
        size_t length = npy->size - at < BLOCK ? npy->size - at : BLOCK, padded = (length + 7) / 8 * 8;
        if (!read_at(npy, at, length, block))
            return false;
        memset(block + length, 0, padded - length);
        for (size_t i = 0; i < padded; i += 8) {
            uint64_t word;
            memcpy(&word, block + i, sizeof word);
            hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
            hash ^= hash >> 32;
        }
    }
    npy->hash = hash;
    return true;
}

/* The same file on all ranks. */
bool tc_npy_open(tc_npy *npy) {
    tc_told before = tc_told_so_far(npy->diagnostics);
    bool good = open_and_check(npy) && (!tc_ranks_several() || hash_body(npy));
    tc_file_facts facts = {good, npy->size, npy->shape[0], npy->hash};
    return tc_same_file(npy->diagnostics, before, npy->source->span, npy->source->path, facts) && good;
}

void tc_npy_close(tc_npy *npy) {
    if (npy->file != NULL)
        close_file(npy->file);
}

/* ---- numbers ------------------------------------------------------------------------------------------------------
 */

static inline uint64_t low_first(const unsigned char *from, unsigned size) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < size; i++)
        bits |= (uint64_t)from[i] << (8 * i);
    return bits;
}

/* The number as a double; false where it is not finite, or no double has its value. */
static bool number_at(const tc_npy_field *field, const unsigned char *from, double *value) {
    uint64_t bits = field->size == 8 ? low_first(from, 8) : low_first(from, (unsigned)field->size);
    if (field->kind == 'u') {
        *value = (double)bits;
        return *value < 0x1p64 && (uint64_t)*value == bits;
    }
    if (field->kind == 'i') {
        unsigned unused = 64 - 8 * (unsigned)field->size;
        int64_t whole = (int64_t)(bits << unused) >> unused;
        *value = (double)whole;
        return *value < 0x1p63 && (int64_t)*value == whole;
    }
    if (field->size == 4) {
        uint32_t half = (uint32_t)bits;
        float single;
        memcpy(&single, &half, sizeof single);
        *value = single;
    } else {
        memcpy(value, &bits, sizeof *value);
    }
    return *value - *value == 0;
}

size_t tc_npy_numbers(const tc_npy_field *field, const unsigned char *from, size_t stride, size_t count, double *to) {
    for (size_t i = 0; i < count; i++) {
        if (!number_at(field, from + i * stride, &to[i]))
            return i;
    }
    return count;
}

const char *tc_npy_problem(tc_arena *arena, double value, const tc_npy_field *field) {
    if (field->kind == 'f')
        return isnan(value) ? "NaN is not a finite number"
                            : tc_arena_format(arena, "%sinfinity is not a finite number", value < 0 ? "-" : "");
    return "this whole number is too large: no double has its value";
}

bool tc_npy_rows(tc_npy *npy, size_t first, size_t end, bool (*take)(void *, const unsigned char *, size_t, size_t),
                 void *taker) {
    size_t each = npy->row_bytes > 0 && npy->row_bytes < BLOCK ? BLOCK / npy->row_bytes : 1;
    unsigned char *rows = tc_arena_room(npy->arena, each, npy->row_bytes > 0 ? npy->row_bytes : 1);
    for (size_t at = first; at < end; at += each) {
        size_t count = end - at < each ? end - at : each;
        if (!read_at(npy, npy->data + at * npy->row_bytes, count * npy->row_bytes, rows) ||
            !take(taker, rows, at, count))
            return false;
    }
    return true;
}

/* ---- matrices ------------------------------------------------------------------------------------------------------
 */

typedef struct matrix_reading {
    tc_npy *npy;
    double *numbers;
} matrix_reading;

static bool take_numbers(void *taker, const unsigned char *bytes, size_t first, size_t count) {
    const matrix_reading *m = taker;
    tc_npy *npy = m->npy;
    const tc_npy_field *field = &npy->fields[0];
    size_t good = tc_npy_numbers(field, bytes, field->size, count, m->numbers + first), bad = first + good;
    if (good == count)
        return true;
    size_t row = npy->is_fortran ? bad % npy->shape[0] : bad / npy->shape[1];
    size_t column = npy->is_fortran ? bad / npy->shape[0] : bad % npy->shape[1];
    return refuse(npy, "row %zu, column %zu: %s", row + 1, column + 1,
                  tc_npy_problem(npy->arena, m->numbers[bad], field));
}

/* By columns to by rows. */
static double *transposed(tc_arena *arena, const double *numbers, size_t rows, size_t columns) {
    double *made = tc_arena_room(arena, rows * columns, sizeof *made);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++)
            made[r * columns + c] = numbers[c * rows + r];
    }
    return made;
}

static bool read_matrix(tc_npy *npy, double **numbers) {
    if (npy->is_structured || !npy->fields[0].is_number)
        return refuse(npy, "holds %s",
                      npy->is_structured ? "a table (an array with named fields); a parameter is a plain array"
                                         : "text; a parameter is an array of numbers");
    size_t rows = npy->shape[0], columns = npy->shape[1], count = rows * columns;
    if (count == 0)
        return refuse(npy, "holds no numbers");
    matrix_reading m = {npy, tc_arena_room(npy->arena, count, sizeof(double))};
    if (!tc_npy_rows(npy, 0, count, take_numbers, &m))
        return false;
    bool turned = npy->is_fortran && rows > 1 && columns > 1;
    *numbers = turned ? transposed(npy->arena, m.numbers, rows, columns) : m.numbers;
    return true;
}

bool tc_npy_matrix(tc_arena *arena, tc_diagnostics *diagnostics, const tc_csv_source *source, double **numbers,
                   size_t *rows, size_t *columns) {
    tc_npy npy = {.arena = arena, .diagnostics = diagnostics, .source = source};
    bool good = tc_npy_open(&npy) && read_matrix(&npy, numbers);
    tc_npy_close(&npy);
    *rows = npy.shape[0];
    *columns = npy.shape[1];
    return good;
}
