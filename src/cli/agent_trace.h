/* The trace of `tacit agent`: every state of its agents, for their owner's eyes. */
#ifndef TC_CLI_AGENT_TRACE_H
#define TC_CLI_AGENT_TRACE_H

#include "cli/cli.h"
#include "net/agent/agent.h"

#include <stdio.h>

typedef struct tc_agent_tracer {
    const tc_agent_steps *agents;
    FILE *file; /* NULL: none is wanted */
    bool failed;
} tc_agent_tracer;

/* Opens the file, or goes on in it. It must have been begun here, or be none. path NULL: no trace. */
tc_status tc_agent_trace_begin(tc_cli *cli, const char *path, tc_agent_tracer *tracer) TC_MUST_USE;

/* tc_agent_settings.moved. Each line leaves at once: what was traced is there after a crash, and what was sent has been
 * traced. */
void tc_agent_trace_row(void *tracer, size_t agent, uint64_t round, const double *x);

#endif
