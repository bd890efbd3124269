/* Any bytes as tokens: they cover the text in order and come to an end. */
#include "model/syntax/lexer.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const tc_source *source, tc_arena *arena, tc_buffer *messages) {
    tc_diagnostics diagnostics = {arena, source, messages, 0};
    tc_lexer lexer = tc_lexer_new(&diagnostics);
    size_t end = 0;
    for (tc_token token; (token = tc_lexer_next(&lexer)).kind != TC_TOKEN_END;) {
        if (token.span.offset < end || token.span.length == 0 || token.span.offset + token.span.length > source->length)
            abort();
        end = token.span.offset + token.span.length;
        diagnostics.errors = 0; /* read on after any number of errors */
        messages->length = 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tc_arena *arena = tc_arena_new((size_t)64 << 20);
    if (arena == NULL)
        return 0;
    tc_source source = {"fuzz.tacit", (const char *)data, size};
    tc_buffer messages = tc_buffer_new(arena, 1 << 20);
    tc_escape escape;
    if (TC_TRY(arena, &escape) == TC_OK)
        read_all(&source, arena, &messages);
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return 0;
}
