/* What `tacit agent` prints, or writes to a file: the agents' own answers, for their owner's eyes. */
#ifndef TC_CLI_AGENT_ANSWER_H
#define TC_CLI_AGENT_ANSWER_H

#include "base/json.h"
#include "net/agent/agent.h"

typedef struct tc_agent_report {
    const tc_agent *agent;
    size_t count;
    bool stopped;       /* by a signal, before the end */
    bool is_plain;      /* without TLS */
    bool is_told;       /* the reason, on standard error */
    const char *reason; /* NULL for none */
    const char *file;   /* where the answer is written to; NULL: nowhere */
    bool is_withheld; /* what is private is not printed: it is in the file, or others would read it in the system's log
                       */
} tc_agent_report;

/* A file of answers begins so. */
#define TC_AGENT_ANSWER_MARK "{\n  \"tacit_answer\": 1"

/* "done", "stopped", "diverged", ... */
const char *tc_agent_report_outcome(const tc_agent_report *report);

void tc_agent_report_text(const tc_agent_report *report, tc_buffer *out);
void tc_agent_report_json(const tc_agent_report *report, tc_json *json);
bool tc_agent_report_has_answer(const tc_agent_report *report); /* one at least came to the run's end */
/* The same object as JSON prints, with all that is private, in a file of mode 0600: whole, or as it was before.
 * TC_CANNOT_WRITE with a message. */
tc_status tc_agent_report_write(tc_arena *arena, const tc_agent_report *report, tc_buffer *messages) TC_MUST_USE;

#endif
