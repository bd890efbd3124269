#include "base/buffer.h"

#include <stdio.h>
#include <string.h>

tc_buffer tc_buffer_new(tc_arena *arena, size_t limit) { return (tc_buffer){.arena = arena, .limit = limit}; }

static char *room(tc_buffer *buffer, size_t more) {
    if (more >= buffer->limit || buffer->length > buffer->limit - more)
        tc_raise(buffer->arena, TC_TOO_LARGE);
    size_t wanted = buffer->length + more + 1;
    if (wanted > buffer->capacity) {
        size_t capacity = buffer->capacity < 128 ? 256 : buffer->capacity * 2;
        if (capacity < wanted)
            capacity = wanted;
        buffer->text = tc_arena_grow(buffer->arena, buffer->text, buffer->length, capacity, 1);
        buffer->capacity = capacity;
    }
    return buffer->text + buffer->length;
}

void tc_buffer_add(tc_buffer *buffer, const char *text, size_t length) {
    char *end = room(buffer, length);
    memcpy(end, text, length);
    end[length] = '\0';
    buffer->length += length;
}

void tc_buffer_puts(tc_buffer *buffer, const char *text) { tc_buffer_add(buffer, text, strlen(text)); }

void tc_buffer_printf(tc_buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        tc_raise(buffer->arena, TC_INTERNAL);
    char *end = room(buffer, (size_t)length);
    va_start(arguments, format);
    (void)vsnprintf(end, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->length += (size_t)length;
}

const char *tc_buffer_text(tc_buffer *buffer) {
    (void)room(buffer, 0);
    buffer->text[buffer->length] = '\0';
    return buffer->text;
}
