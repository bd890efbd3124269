#include "model/syntax/diagnose.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* A line wider than this is clipped around the caret. */
enum { WIDEST = 110, BEFORE_CARET = 60, TAB_WIDTH = 4 };

/* Bytes of the character at text, and whether it can be shown as it is. */
static size_t character(const char *text, size_t left, bool *printable) {
    unsigned char first = (unsigned char)text[0];
    *printable = first >= 0x20 && first < 0x7f;
    size_t length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
    if (first < 0x80 || first >= 0xf5 || length == 1 || length > left)
        return 1;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 1;
    }
    /* C1 controls, U+0080 to U+009F, are not for terminals. */
    *printable = !(first == 0xc2 && (unsigned char)text[1] < 0xa0);
    return length;
}

static size_t width_of(const char *text, size_t length) {
    size_t width = 0;
    for (size_t i = 0; i < length;) {
        bool printable;
        size_t step = character(text + i, length - i, &printable);
        width += text[i] == '\t' ? TAB_WIDTH : 1;
        i += step;
    }
    return width;
}

/* The characters of text that fall in columns first .. last - 1 of the screen. */
static void show(tc_buffer *out, const char *text, size_t length, size_t first, size_t last) {
    size_t at = 0;
    for (size_t i = 0; i < length && at < last;) {
        bool printable;
        size_t step = character(text + i, length - i, &printable);
        if (text[i] == '\t') {
            for (size_t k = 0; k < TAB_WIDTH; k++, at++) {
                if (at >= first && at < last)
                    tc_buffer_puts(out, " ");
            }
        } else {
            if (at >= first)
                tc_buffer_add(out, printable ? text + i : "?", printable ? step : 1);
            at++;
        }
        i += step;
    }
}

static void underline(tc_buffer *out, tc_text_place place) {
    size_t width = width_of(place.text, place.length);
    size_t start = width_of(place.text, place.from);
    size_t end = width_of(place.text, place.to > place.length ? place.length : place.to);
    size_t first = 0, last = width;
    if (width > WIDEST) {
        first = start > BEFORE_CARET ? start - BEFORE_CARET : 0;
        last = first + WIDEST < width ? first + WIDEST : width;
    }
    const char *ellipsis = first > 0 ? "..." : "";
    tc_buffer_printf(out, "    %s", ellipsis);
    show(out, place.text, place.length, first, last);
    tc_buffer_printf(out, "%s\n    %*s", last < width ? "..." : "", (int)(start - first + strlen(ellipsis)), "");
    tc_buffer_puts(out, "^");
    for (size_t i = start + 1; i < end && i < last; i++)
        tc_buffer_puts(out, "~");
    tc_buffer_puts(out, "\n");
}

static void render(tc_buffer *out, tc_text_place place, size_t column, const char *severity, const char *text) {
    tc_buffer_printf(out, "%s:", place.path);
    if (place.line > 0)
        tc_buffer_printf(out, "%zu:", place.line);
    if (column > 0)
        tc_buffer_printf(out, "%zu:", column);
    tc_buffer_printf(out, " %s: %s\n", severity, text);
    if (place.text != NULL)
        underline(out, place);
}

/* 1-based line and column (in characters), and the line's bytes. */
static tc_text_place place_of(const tc_source *source, tc_span span, size_t *column) {
    size_t offset = span.offset < source->length ? span.offset : source->length;
    size_t start = offset, line = 1;
    while (start > 0 && source->text[start - 1] != '\n')
        start--;
    for (size_t i = 0; i < start; i++)
        line += source->text[i] == '\n';
    const char *text = source->text + start;
    const char *newline = memchr(text, '\n', source->length - start);
    size_t length = newline != NULL ? (size_t)(newline - text) : source->length - start;
    if (length > 0 && text[length - 1] == '\r')
        length--;
    size_t from = offset - start < length ? offset - start : length;
    *column = 1;
    for (size_t i = 0; i < from; ++*column) {
        bool printable;
        i += character(text + i, length - i, &printable);
    }
    return (tc_text_place){source->path, line, text, length, from, from + span.length};
}

/* Whether digits of a 'private param' stand in bytes start .. end - 1: its number is private. The text may be wrong, so
 * this looks at its characters alone. */
static bool has_private_param(const tc_source *source, size_t start, size_t end) {
    static const char first[] = "private", second[] = "param";
    bool is_first = true, is_param = false, in_comment = false;
    size_t depth = 0;
    for (size_t i = 0; i < end && i < source->length; i++) {
        const char *text = source->text + i;
        size_t left = source->length - i;
        in_comment = *text != '\n' && (in_comment || *text == '#');
        if (in_comment || *text == ' ' || *text == '\t' || *text == '\r')
            continue;
        if (strchr(";{}", *text) != NULL || (*text == '\n' && depth == 0)) {
            is_first = true;
            is_param = false;
            depth = 0;
            continue;
        }
        depth += *text == '(' || *text == '[';
        depth -= depth > 0 && (*text == ')' || *text == ']');
        if (is_first && left > sizeof first && memcmp(text, first, sizeof first - 1) == 0) {
            size_t skip = sizeof first - 1;
            while (skip < left && (text[skip] == ' ' || text[skip] == '\t'))
                skip++;
            is_param = left - skip > sizeof second && memcmp(text + skip, second, sizeof second - 1) == 0;
        }
        is_first = false;
        if (is_param && i >= start && *text >= '0' && *text <= '9')
            return true;
    }
    return false;
}

bool tc_is_private_number(const tc_source *source, tc_span span) {
    return has_private_param(source, span.offset, (size_t)span.offset + span.length);
}

static void count_error(tc_diagnostics *diagnostics) {
    if (++diagnostics->errors < TC_MOST_ERRORS)
        return;
    tc_buffer_printf(diagnostics->messages, "%s: stopped after %d errors\n", diagnostics->source->path, TC_MOST_ERRORS);
    tc_raise(diagnostics->arena, TC_BAD_PROBLEM);
}

TC_PRINTF(2, 0) static char *formatted(tc_arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        tc_raise(arena, TC_INTERNAL);
    char *text = TC_NEW(arena, char, (size_t)length + 1);
    (void)vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

static void report(tc_diagnostics *diagnostics, tc_span span, const char *severity, const char *text) {
    size_t column;
    tc_text_place place = place_of(diagnostics->source, span, &column);
    size_t start = (size_t)(place.text - diagnostics->source->text);
    if (has_private_param(diagnostics->source, start, start + place.length))
        place.text = NULL;
    render(diagnostics->messages, place, column, severity, text);
}

void tc_error(tc_diagnostics *diagnostics, tc_span span, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = formatted(diagnostics->arena, format, arguments);
    va_end(arguments);
    report(diagnostics, span, "error", text);
    count_error(diagnostics);
}

void tc_note(tc_diagnostics *diagnostics, tc_span span, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = formatted(diagnostics->arena, format, arguments);
    va_end(arguments);
    report(diagnostics, span, "note", text);
}

void tc_error_at(tc_diagnostics *diagnostics, tc_text_place place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = formatted(diagnostics->arena, format, arguments);
    va_end(arguments);
    size_t column = place.text != NULL ? width_of(place.text, place.from) + 1 : 0;
    place.text = NULL; /* rows of data are private */
    render(diagnostics->messages, place, column, "error", text);
    count_error(diagnostics);
}

void tc_error_file(tc_diagnostics *diagnostics, const char *path, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = formatted(diagnostics->arena, format, arguments);
    va_end(arguments);
    render(diagnostics->messages, (tc_text_place){.path = path}, 0, "error", text);
    count_error(diagnostics);
}

const char *tc_did_you_mean(tc_arena *arena, const char *wanted, const char *const *candidates, size_t count) {
    const char *near = tc_suggest(wanted, candidates, count);
    return near != NULL ? tc_arena_format(arena, "; did you mean '%s'?", near) : "";
}

/* ---- quotes of a source ------------------------------------------------------------------------------------------ */

enum { LONGEST_QUOTE = 60 };

void tc_span_text(tc_buffer *out, const tc_source *source, tc_span span) {
    size_t end = (size_t)span.offset + span.length;
    if (end > source->length)
        end = source->length;
    bool in_space = false, in_comment = false;
    size_t written = 0;
    for (size_t i = span.offset; i < end; i++) {
        unsigned char byte = (unsigned char)source->text[i];
        in_comment = byte == '#' || (in_comment && byte != '\n');
        if (in_comment || byte <= ' ' || byte == 0x7f) {
            in_space = true;
            continue;
        }
        /* Cut before a character, not inside one. */
        if (written >= LONGEST_QUOTE && (byte & 0xc0) != 0x80) {
            tc_buffer_puts(out, "...");
            return;
        }
        if (in_space && written > 0) {
            tc_buffer_puts(out, " ");
            written++;
        }
        in_space = false;
        tc_buffer_add(out, source->text + i, 1);
        written++;
    }
}

void tc_span_place(tc_buffer *out, const tc_source *source, tc_span span) {
    size_t column;
    tc_text_place place = place_of(source, span, &column);
    tc_buffer_printf(out, "%s:%zu:%zu", place.path, place.line, column);
}
