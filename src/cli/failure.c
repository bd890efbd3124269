#include "cli/failure.h"

#include "base/json.h"

#include <string.h>

static const size_t MOST_BYTES = (size_t)1 << 24;

bool tc_failure_wants_json(int argc, char *const *argv) {
    bool is_asked = false;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        is_asked = is_asked || strcmp(argv[i], "--json") == 0;
    return is_asked;
}

bool tc_failure_wants_json_log(int argc, char *const *argv) {
    bool is_asked = false;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--log=", 6) == 0)
            is_asked = strcmp(argv[i] + 6, "json") == 0;
        else if (strcmp(argv[i], "--log") == 0 && i + 1 < argc)
            is_asked = strcmp(argv[i + 1], "json") == 0;
    return is_asked;
}

static void write(tc_arena *arena, const char *messages, tc_status status, int exit_code, tc_buffer *out) {
    size_t length = strlen(messages);
    while (length > 0 && messages[length - 1] == '\n')
        length--;
    tc_json json = tc_json_new(out);
    tc_json_open_object(&json, NULL);
    tc_json_bool(&json, "ok", false);
    tc_json_string(&json, "error", length == 0 ? tc_status_text(status) : tc_arena_copy(arena, messages, length));
    tc_json_count(&json, "exit_code", (uint64_t)exit_code);
    tc_json_close_object(&json);
}

tc_failure tc_failure_json(const char *messages, tc_status status, int exit_code) {
    tc_failure failure = {.arena = tc_arena_new(0)};
    const char *volatile text = NULL;
    tc_escape escape;
    if (failure.arena == NULL)
        return failure;
    if (TC_TRY(failure.arena, &escape) == TC_OK) {
        tc_buffer out = tc_buffer_new(failure.arena, MOST_BYTES);
        write(failure.arena, messages, status, exit_code, &out);
        text = tc_buffer_text(&out);
    }
    tc_escape_end(failure.arena, &escape);
    failure.json = text;
    return failure;
}
