/* A folder of keys for measurements: net_keys FOLDER NAME... */
#include "net/authority.h"

#include <stdio.h>

int main(int argc, char **argv) {
    tc_arena *arena = tc_arena_new(0);
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    tc_status status = argc < 3 ? TC_BAD_USAGE : tc_authority_init(arena, argv[1], NULL, &messages);
    for (int i = 2; status == TC_OK && i < argc; i++) {
        const char *name = argv[i];
        status = tc_authority_issue(arena, argv[1], NULL, &name, 1, NULL, &messages);
    }
    (void)fputs(tc_buffer_text(&messages), stderr);
    tc_arena_free(arena);
    return tc_status_exit_code(status);
}
