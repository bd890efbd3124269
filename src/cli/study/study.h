/* The commands of somebody who has the whole problem before them, and what these share. */
#ifndef TC_CLI_STUDY_STUDY_H
#define TC_CLI_STUDY_STUDY_H

#include "cli/shared/setup.h"
#include "lab/sweep.h"
#include "promise/ledger.h"
#include "reference/reference.h"
#include "report/report.h"

extern const tc_command tc_command_check, tc_command_solve, tc_command_plan, tc_command_run, tc_command_sweep,
    tc_command_bound, tc_command_audit, tc_command_split, tc_command_report;

/* Files that run, sweep and report write. */
#define TC_TRACE_FILE                                                                                                  \
    { .mark = "# tacit trace 1", .name = "a trace" }
#define TC_PAGE_FILE                                                                                                   \
    { .mark = "<!doctype html", .name = "an HTML page", .is_html = true }

/* Writes a trace, and a page about it; NULL for neither. */
tc_status tc_trace_write_both(tc_cli *cli, const tc_trace *trace, const char *trace_path,
                              const char *page_path) TC_MUST_USE;

/* ---- what runs are measured against ---- */

typedef struct tc_run_target {
    const tc_reference *reference; /* NULL: none was asked for, or there is none */
    const char *warning;           /* NULL, or why a run cannot reach it */
    double seconds;                /* that it took to find */
} tc_run_target;

/* Finds the reference solution. Warns, in messages, of one that is not to be measured against. */
tc_status tc_run_target_find(tc_cli *cli, tc_setup *setup, double tolerance, tc_run_target *target) TC_MUST_USE;

/* ---- what run prints ---- */

/* Shown wherever true states and errors are. */
#define TC_NOT_RELEASED "simulation: not released"

typedef struct tc_run_output {
    const tc_setup *setup;
    tc_run_target target;
    const tc_plan *plan;
    const tc_tacit_facts *method; /* NULL for the published method */
    const tc_card *card;          /* NULL where nothing is run */
    const char *outcome, *reason; /* "done", "diverged", "interrupted", "refused"; reason NULL where it is done */
    tc_record *records;           /* of runs that were begun; NULL: nothing was run */
    size_t record_count;
    tc_record *finished; /* those that were not interrupted: quantiles are over these */
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
} tc_run_output;

void tc_run_output_json(const tc_run_output *output, tc_json *json);

/* To be called in this order: what is run, and the head of a single run's table; a line for each checkpoint; the rest.
 */
void tc_run_output_begin(const tc_run_output *output, tc_buffer *out);
void tc_run_output_row(const tc_row *row, tc_buffer *out);
void tc_run_output_end(const tc_run_output *output, bool full, tc_buffer *out);

/* ---- what sweep prints ---- */

typedef struct tc_sweep_output {
    const tc_setup *setup;
    tc_run_target target;
    tc_method method;
    const char *margin;    /* NULL for none */
    const char **warnings; /* of the method, each once */
    size_t warning_count;
    const tc_sweep *sweep; /* NULL where it was refused */
    const char *reason;    /* why, or why it is not whole; NULL where it is */
    double run_seconds;
    size_t threads;
} tc_sweep_output;

/* Every run came to its end. */
bool tc_sweep_is_whole(const tc_sweep *sweep);

void tc_sweep_output_json(const tc_sweep_output *output, tc_json *json);
void tc_sweep_output_text(const tc_sweep_output *output, tc_buffer *out);

/* ---- both ---- */

/* {min, q10, median, q90, max} */
void tc_json_quantiles(tc_json *json, const char *key, const tc_quantiles *quantiles);

/* x_error, mu_error, objective, max_violation: of one row (NULL: each is null), and their quantiles. */
void tc_json_measures(tc_json *json, const tc_row *row);
void tc_json_measure_quantiles(tc_json *json, const tc_row_quantiles *rows);
tc_row tc_row_medians(const tc_row_quantiles *rows);

#endif
