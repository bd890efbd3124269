/* The commands of parties on a network, and what the files of each share. */
#ifndef TC_CLI_NETWORK_NETWORK_H
#define TC_CLI_NETWORK_NETWORK_H

#include "cli/shared/plan_options.h"
#include "net/agent/agent.h"
#include "promise/ledger.h"
#include "serve/server.h"
#include "setup/setup.h"

#include <signal.h>
#include <stdio.h>

extern const tc_command tc_command_keys, tc_command_serve, tc_command_agent;

/* ---- serve: what it prints, which is released numbers only ---- */

typedef struct tc_serve_output {
    const tc_setup *setup;
    const tc_plan *plan;
    const tc_tacit_facts *method;
    const tc_tacit_facts *method_before; /* of a run that an earlier version began; NULL: the same */
    const tc_card *card;
    const tc_server_result *result; /* NULL: nothing was served */
    const char *outcome, *reason;   /* "done", "diverged", "stopped", "refused"; reason NULL where there is none */
    const char *const *insecure;    /* why this was not for private data */
    size_t insecure_count;
    const tc_ledger *ledger;      /* as it is now; NULL for none */
    const tc_ledger_entry *entry; /* what the run costs there */
    bool recorded;
    bool whole_card;
} tc_serve_output;

void tc_serve_output_text(const tc_serve_output *output, tc_buffer *out);
void tc_serve_output_json(const tc_serve_output *output, tc_json *json);

/* ---- serve: the run's price in the ledger ---- */

typedef struct tc_serve_ledger {
    tc_cli *cli;
    tc_buffer *messages; /* about what cannot be read at the start */
    tc_logbook *log;
    const tc_plan *plan;
    const char *path; /* --ledger, or the one in the state folder */
    bool is_own;      /* in the state folder, which may not be there yet */
    const tc_budgets *budgets;
    bool recorded;  /* by this process */
    bool is_over;   /* the run may not begin: text says why */
    char text[512]; /* of the last failure */
} tc_serve_ledger;

/* Callbacks of tc_server_settings, with a tc_serve_ledger as their context. The first checks the budgets before any
 * agent is let in (run_id NULL: the run is not begun yet), the second enters the price before the first answer. */
tc_status tc_serve_ledger_look(void *ledger, const char *run_id, bool begun);
tc_status tc_serve_ledger_pay(void *ledger, const char *run_id, bool begun);

bool tc_serve_ledger_has(const tc_ledger *ledger, const char *run_id);

/* ---- agent: what it prints or writes to a file, for the agents' owner alone ---- */

typedef struct tc_agent_output {
    const tc_agent *agent;
    size_t count;
    bool stopped;       /* by a signal, before the end */
    bool is_plain;      /* without TLS */
    bool is_told;       /* the reason is on standard error already */
    const char *reason; /* NULL for none */
    const char *file;   /* where the result is written to; NULL: nowhere */
    bool is_withheld;   /* private numbers are not printed: they are in the file, or output goes to the system's log */
} tc_agent_output;

/* A file of results begins so. */
#define TC_AGENT_RESULT_MARK "{\n  \"tacit_answer\": 1"
#define TC_AGENT_RESULT_FILE                                                                                           \
    { .mark = TC_AGENT_RESULT_MARK, .name = "a result of agents" }

/* "done", "stopped", "diverged", ... */
const char *tc_agent_output_outcome(const tc_agent_output *output);

void tc_agent_output_text(const tc_agent_output *output, tc_buffer *out);
void tc_agent_output_json(const tc_agent_output *output, tc_json *json);
/* At least one agent came to the run's end. */
bool tc_agent_output_has_result(const tc_agent_output *output);
/* Writes the JSON object, private numbers included, to a file of mode 0600: whole, or as it was before.
 * TC_CANNOT_WRITE with a message. */
tc_status tc_agent_output_write(tc_arena *arena, const tc_agent_output *output, tc_buffer *messages) TC_MUST_USE;

/* ---- agent: its loop ---- */

enum { TC_AGENT_SIGNALS = 3 };

/* From now on the first SIGTERM or SIGINT ends the loop, the second the program, and SIGHUP lets it read its keys
 * again. False: no pipe, errno says why. */
bool tc_agent_signals_begin(struct sigaction before[TC_AGENT_SIGNALS]) TC_MUST_USE;
void tc_agent_signals_end(const struct sigaction before[TC_AGENT_SIGNALS]);
/* Instead of tc_agent_signals_end when the program ends soon: a first signal does not cut short the last lines. */
void tc_agent_signals_stay(void);

/* Drives the agents until all are over (false) or a signal comes (true). Reports meanwhile how they fare. */
bool tc_agent_drive(tc_cli *cli, tc_agent *agent, size_t count, bool quiet) TC_MUST_USE;

/* ---- agent: its trace, every state of its agents ---- */

typedef struct tc_agent_tracer {
    const tc_agent_steps *agents;
    tc_cli *cli;
    const char *path;
    FILE *file; /* NULL: none is wanted */
    bool failed;
} tc_agent_tracer;

/* Opens the file, or goes on in it. Refuses a file that is not such a trace. path NULL: no trace. */
tc_status tc_agent_trace_begin(tc_cli *cli, const char *path, tc_agent_tracer *tracer) TC_MUST_USE;

/* For tc_agent_settings.moved. Flushes each line, so that every sent state is in the trace after a crash. */
void tc_agent_trace_row(void *tracer, size_t agent, uint64_t round, const double *x);

#endif
