/* Any bytes as a problem file: a model or a list of errors, within bounded memory, and never a crash.
 * Data files are replaced by small stand-ins. */
#include "model/model.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tc_arena *arena = tc_arena_new((size_t)64 << 20);
    if (arena == NULL)
        return 0;
    tc_buffer messages = tc_buffer_new(arena, 1 << 20);
    tc_model *model = NULL;
    tc_load_request request = {.arena = arena,
                               .path = "fuzz.tacit",
                               .text = (const char *)data,
                               .length = size,
                               .messages = &messages,
                               .nodes = 200000,
                               .no_files = true};
    tc_status status = tc_model_load_request(&request, &model);
    /* A model exactly when all went well, a message exactly when not. */
    if (status == TC_INTERNAL || (status == TC_OK) != (model != NULL) ||
        (status == TC_BAD_PROBLEM && messages.length == 0))
        abort();
    tc_arena_free(arena);
    return 0;
}
