/* What a run found, for people and as JSON. */
#ifndef TC_CLI_RUN_ANSWER_H
#define TC_CLI_RUN_ANSWER_H

#include "cli/study.h"
#include "lab/lab.h"
#include "promise/card.h"
#include "promise/ledger.h"

/* True states and errors carry this wherever they are shown. */
#define TC_NOT_RELEASED "simulation: not released"

typedef struct tc_run_answer {
    const tc_study *study;
    const tc_plan *plan;
    const tc_tacit_facts *method; /* NULL for the published method */
    const tc_card *card;          /* NULL where nothing is run */
    const char *outcome, *reason; /* "done", "diverged", "interrupted", "refused"; reason NULL where it is done */
    tc_record *records;           /* of runs that were begun; NULL where nothing was run */
    size_t record_count;
    tc_record *finished; /* those of them that were not interrupted, which quantiles are over */
    size_t finished_count;
    size_t wanted;       /* runs asked for */
    const char *warning; /* a sentence, or NULL */
    bool simulated;      /* noise from seeds */
    bool many;           /* --seeds */
    double run_seconds;  /* of a single run its rounds alone; of many, from begin to end */
    size_t threads;
    const uint64_t *checkpoints; /* rounds that are shown */
    size_t checkpoint_count;
    const tc_ledger *ledger;      /* NULL for none */
    const tc_ledger_entry *entry; /* what the run costs there */
    bool recorded;
    bool whole_card; /* for people: instead of the one that fits a screen */
} tc_run_answer;

void tc_run_answer_json(const tc_run_answer *answer, tc_json *json);

/* In this order: what is run, and of a single run the head of the table; a line for each checkpoint as it comes; all
 * the rest. */
void tc_run_answer_begin(const tc_run_answer *answer, tc_buffer *out);
void tc_run_answer_row(const tc_row *row, tc_buffer *out);
void tc_run_answer_end(const tc_run_answer *answer, bool full, tc_buffer *out);

/* What released data show of the constraints: a sentence, and "feasibility": null or {probability, shown, exact,
 * bounds}. For serve too. */
const char *tc_feasibility_sentence(tc_arena *arena, const tc_model *model, const tc_feasibility *found);
void tc_feasibility_json(tc_json *json, const tc_feasibility *found, size_t m);

/* {min, q10, median, q90, max}, for sweep too. */
void tc_json_quantiles(tc_json *json, const char *key, const tc_quantiles *quantiles);

#endif
