/* Agents that are files. */
#include "api/agent/open.h"
#include "net/agent/agent.h"

typedef struct agent_paths {
    const char *const *paths;
    size_t count;
} agent_paths;

static tc_status make(const void *context, tc_arena *arena, tc_buffer *messages, tc_agent_steps *steps) {
    const agent_paths *g = context;
    for (size_t i = 0; i < g->count; i++) {
        tc_status status = tc_agent_compile(arena, g->paths[i], NULL, messages, &steps[i]);
        if (status != TC_OK)
            return status;
    }
    return TC_OK;
}

tacit_status tacit_agent_open_files(const tacit_agent_options *options, const char *const *paths, size_t count,
                                    tacit_agent **agent, char **message) {
    const agent_paths g = {.paths = paths, .count = count};
    return tc_agent_open(options, &(tc_agent_source){.make = make, .context = &g, .count = count}, agent, message);
}
