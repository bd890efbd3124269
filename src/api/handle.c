/* The code that every program needs: a device links this file and not the whole library. */
#include "api/handle.h"

#include "base/machine.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>
#include <tacit/tacit.h>

const char *tacit_version(void) { return TACIT_VERSION; }

const char *tacit_status_text(tacit_status status) { return tc_status_text((tc_status)status); }

char *tc_own_lines(const char *text) {
    size_t length = strlen(text);
    bool is_whole = length > 0 && text[length - 1] == '\n';
    char *copy = malloc(length + 2);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, length);
    memcpy(copy + length, is_whole ? "" : "\n", is_whole ? 1 : 2);
    return copy;
}

void tacit_text_free(char *text) { free(text); }

enum { MESSAGE_LIMIT = 1 << 20 };

tacit_status tc_handle_make(tc_status (*make)(void *context, tc_arena *arena, tc_buffer *messages), void *context,
                            char **message) {
    const char *fault = tc_arithmetic_fault();
    if (message != NULL)
        *message = fault == NULL ? NULL : tc_own_lines(fault);
    if (fault != NULL)
        return TACIT_BAD_ARITHMETIC;
    tc_arena *arena = tc_arena_new(0);
    if (arena == NULL)
        return TACIT_NO_MEMORY;
    locale_t host = tc_locale_begin();
    tc_escape escape;
    tc_buffer messages = tc_buffer_new(arena, MESSAGE_LIMIT);
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK) {
        status = make(context, arena, &messages);
        if (status != TC_OK && message != NULL)
            *message = tc_own_lines(messages.length > 0 ? tc_buffer_text(&messages) : tc_status_text(status));
    }
    tc_escape_end(arena, &escape);
    tc_locale_end(host);
    if (status != TC_OK)
        tc_arena_free(arena);
    return (tacit_status)status;
}
