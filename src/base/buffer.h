/* A growing text in an arena, with a cap. */
#ifndef TC_BASE_BUFFER_H
#define TC_BASE_BUFFER_H

#include "base/arena.h"

typedef struct tc_buffer {
    tc_arena *arena;
    char *text; /* always NUL-terminated once something was added */
    size_t length;
    size_t capacity;
    size_t limit; /* TC_TOO_LARGE is raised beyond it */
} tc_buffer;

tc_buffer tc_buffer_new(tc_arena *arena, size_t limit);
void tc_buffer_add(tc_buffer *buffer, const char *text, size_t length);
void tc_buffer_puts(tc_buffer *buffer, const char *text);
void tc_buffer_printf(tc_buffer *buffer, const char *format, ...) TC_PRINTF(2, 3);
const char *tc_buffer_text(tc_buffer *buffer);

#endif
