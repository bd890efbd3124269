/* What `tacit agent` prints: the agents' own answers, for their owner's eyes. */
#ifndef TC_CLI_AGENT_ANSWER_H
#define TC_CLI_AGENT_ANSWER_H

#include "base/json.h"
#include "net/agent.h"

typedef struct tc_agent_report {
    const tc_agent *agent;
    size_t count;
    bool stopped;       /* by a signal, before the end */
    bool is_plain;      /* without TLS */
    bool is_told;       /* the reason, on standard error */
    const char *reason; /* NULL for none */
} tc_agent_report;

/* "done", "stopped", "diverged", ... */
const char *tc_agent_report_outcome(const tc_agent_report *report);

void tc_agent_report_text(const tc_agent_report *report, tc_buffer *out);
void tc_agent_report_json(const tc_agent_report *report, tc_json *json);

#endif
