#include "model/syntax/diagnose.h"

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
    tc_place place = tc_place_of(source, span, &column);
    tc_buffer_printf(out, "%s:%zu:%zu", place.path, place.line, column);
}
