/* What a cloud found, for people and as JSON: released numbers only. */
#ifndef TC_CLI_SERVE_ANSWER_H
#define TC_CLI_SERVE_ANSWER_H

#include "cli/study.h"
#include "promise/card.h"
#include "promise/ledger.h"
#include "serve/server.h"

typedef struct tc_serve_answer {
    const tc_study *study;
    const tc_plan *plan;
    const tc_tacit_facts *method;
    const tc_card *card;
    const tc_server_result *result; /* NULL: nothing was served */
    const char *outcome, *reason;   /* "done", "diverged", "stopped", "refused"; reason NULL where there is none */
    const char *const *insecure;    /* why this was not for private data */
    size_t insecure_count;
    const tc_ledger *ledger;      /* as it is now; NULL for none */
    const tc_ledger_entry *entry; /* what the run costs there */
    bool recorded;
    bool whole_card;
} tc_serve_answer;

void tc_serve_answer_text(const tc_serve_answer *answer, tc_buffer *out);
void tc_serve_answer_json(const tc_serve_answer *answer, tc_json *json);

#endif
