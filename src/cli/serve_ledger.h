/* What a run that is served costs, in the ledger: looked up before anybody is let in, and entered before the first
 * answer leaves. */
#ifndef TC_CLI_SERVE_LEDGER_H
#define TC_CLI_SERVE_LEDGER_H

#include "cli/budget.h"
#include "promise/ledger.h"
#include "serve/log.h"

typedef struct tc_serve_ledger {
    tc_cli *cli;
    tc_buffer *messages; /* of what cannot be read at the start */
    tc_logbook *log;
    const tc_plan *plan;
    const char *path; /* --ledger, or the one in the state folder */
    bool is_own;      /* in the state folder, which may not be there yet */
    const tc_budgets *budgets;
    bool recorded;  /* by this process */
    bool is_over;   /* the run may not begin: text says why */
    char text[512]; /* of what failed last */
} tc_serve_ledger;

/* run_id NULL: of a run that is not begun yet. For tc_server_settings, with a tc_serve_ledger as their context. */
tc_status tc_serve_ledger_look(void *ledger, const char *run_id, bool begun);
tc_status tc_serve_ledger_pay(void *ledger, const char *run_id, bool begun);

bool tc_serve_ledger_has(const tc_ledger *ledger, const char *run_id);

#endif
