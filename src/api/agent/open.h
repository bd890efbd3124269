/* Code that both ways to open an agent share. */
#ifndef TC_API_AGENT_OPEN_H
#define TC_API_AGENT_OPEN_H

#include "net/agent/agent.h"

#include <tacit/agent.h>

/* Makes the steps of all agents, in an arena whose escape is set. */
typedef struct tc_agent_source {
    tc_status (*make)(const void *context, tc_arena *arena, tc_buffer *messages, tc_agent_steps *steps);
    const void *context;
    size_t count;
} tc_agent_source;

tacit_status tc_agent_open(const tacit_agent_options *options, const tc_agent_source *source, tacit_agent **agent,
                           char **message);

#endif
