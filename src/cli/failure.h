/* What a command that was asked for JSON prints where it failed: one object all the same. */
#ifndef TC_CLI_FAILURE_H
#define TC_CLI_FAILURE_H

#include "base/arena.h"

#include <stdbool.h>

/* Whether the words ask for JSON, be they right or wrong otherwise. */
bool tc_failure_wants_json(int argc, char *const *argv);
/* The same for the log: --log json. */
bool tc_failure_wants_json_log(int argc, char *const *argv);

/* {"ok": false, "error": what standard error is about to say, "exit_code": 2}, into memory of its own, since the
 * command's may be what ran out. NULL: there is none left for this either. The caller frees the arena. */
typedef struct tc_failure {
    tc_arena *arena;
    const char *json;
} tc_failure;
tc_failure tc_failure_json(const char *messages, tc_status status, int exit_code) TC_MUST_USE;

#endif
