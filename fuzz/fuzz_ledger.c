/* Any bytes as lines of a ledger: what is accepted is written again as something that is accepted. */
#include "promise/ledger.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_line(tc_arena *arena, const char *line, size_t length, char check[TC_LEDGER_CHECK + 1]) {
    char before[TC_LEDGER_CHECK + 1], after[TC_LEDGER_CHECK + 1];
    tc_ledger_entry entry, again;
    memcpy(before, check, sizeof before);
    memcpy(after, check, sizeof after);
    if (tc_ledger_line_read(arena, line, length, &entry, check) != NULL)
        return;
    tc_buffer written = tc_buffer_new(arena, 1 << 16);
    tc_ledger_line_write(&written, &entry, before);
    if (tc_ledger_line_read(arena, written.text, written.length - 1, &again, after) != NULL ||
        strcmp(before, after) != 0 || strcmp(entry.run, again.run) != 0)
        abort();
}

static void read_all(tc_arena *arena, const char *text, size_t size) {
    char check[TC_LEDGER_CHECK + 1] = "";
    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        size_t length = end == NULL ? size : (size_t)(end - text);
        read_line(arena, text, length, check);
        if (end == NULL)
            return;
        text += length + 1;
        size -= length + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tc_arena *arena = tc_arena_new((size_t)256 << 20);
    if (arena == NULL)
        return 0;
    tc_escape escape;
    if (TC_TRY(arena, &escape) == TC_OK)
        read_all(arena, (const char *)data, size);
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return 0;
}
