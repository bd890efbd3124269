/* What tacit_run and tacit_sweep make: runs, what they are measured against, and how they are shown. */
#ifndef TC_API_RUNS_RUN_H
#define TC_API_RUNS_RUN_H

#include "api/runs/compare.h"
#include "api/planned.h"
#include "lab/sweep.h"
#include "reference/reference.h"
#include "report/report.h"

/* Shown wherever true states and errors are. */
#define TC_NOT_RELEASED "simulation: not released"

/* ---- what runs are measured against ---- */

typedef struct tc_run_target {
    const tc_reference *reference; /* NULL: none was asked for, or there is none */
    const char *warning;           /* NULL, or why a run cannot reach it */
    double seconds;                /* that it took to find */
} tc_run_target;

/* Finds the reference solution. Warns where nothing should be measured against it. */
tc_status tc_run_target_find(tc_work *work, tc_setup *setup, double tolerance, size_t threads,
                             tc_run_target *target) TC_MUST_USE;

/* ---- run ---- */

typedef struct tc_run_output {
    const tc_setup *setup;
    tc_run_target target;
    const tc_plan *plan;
    const tc_tacit_facts *method; /* NULL for the published method */
    const tc_card *card;          /* NULL where nothing is run */
    const char *outcome, *reason; /* "done", "diverged", "interrupted", "refused"; reason NULL where it is done */
    tc_record *records;           /* of runs that were begun; NULL: nothing was run */
    size_t record_count;
    const char **released_words; /* by record: what was released shows of the constraints; NULL for nothing */
    const char **true_words;     /* and what is true */
    tc_record *finished;         /* those that were not interrupted: quantiles are over these */
    size_t finished_count;
    size_t wanted;       /* runs asked for */
    const char *warning; /* a sentence, or NULL */
    bool simulated;      /* noise from seeds */
    bool many;           /* a number of seeds was given */
    bool keep_states;    /* of each of many */
    bool keep_row_states;
    double run_seconds; /* of a single run: its rounds alone; of many: from begin to end */
    size_t threads;
    const uint64_t *checkpoints; /* rounds that are shown */
    size_t checkpoint_count;
    const tc_ledger *ledger;      /* NULL for none */
    const tc_ledger_entry *entry; /* what the run costs there */
    bool recorded;
    tc_comparison comparison;
} tc_run_output;

void tc_run_output_json(const tc_run_output *output, tc_json *json);

/* For people, in this order: the verdict, where the text is written after the run; what is run, and the head of a
 * single run's table; a line for each row that is shown; the rest, which begins with the verdict where it was not yet
 * said. */
void tc_run_output_verdict(const tc_run_output *output, tc_buffer *out);
void tc_run_output_begin(const tc_run_output *output, tc_buffer *out);
bool tc_run_output_shows(const tc_run_output *output, const tc_record *record, const tc_row *row);
void tc_run_output_row(const tc_row *row, tc_buffer *out);
void tc_run_output_end(const tc_run_output *output, bool full, bool whole_card, tc_buffer *out);
/* All of it. */
void tc_run_output_text(const tc_run_output *output, bool full, bool whole_card, tc_buffer *out);

/* ---- sweep ---- */

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
    tc_comparison comparison; /* the baselines alone */
} tc_sweep_output;

/* Every run came to its end. */
bool tc_sweep_is_whole(const tc_sweep *sweep);

void tc_sweep_output_json(const tc_sweep_output *output, tc_json *json);
void tc_sweep_output_text(const tc_sweep_output *output, tc_buffer *out);

/* ---- both ---- */

/* {min, q10, median, q90, max} */
void tc_json_quantiles(tc_json *json, const char *key, const tc_quantiles *quantiles);

/* How long loading, analysing, solving, the runs and comparing them took, and on how many threads. */
void tc_json_times(tc_json *json, const tc_setup *setup, const tc_run_target *target, double run_seconds,
                   double compare_seconds, size_t threads);

/* x_error, mu_error, objective, max_violation: of one row (NULL: each is null), and their quantiles. */
void tc_json_measures(tc_json *json, const tc_row *row);
void tc_json_measure_quantiles(tc_json *json, const tc_row_quantiles *rows);
tc_row tc_row_medians(const tc_row_quantiles *rows);

/* For programs. */
tacit_row tc_row_facts(const tc_model *model, const tc_row *row);

/* The trace of these runs; NULL where it would have no row. command: NULL for none. */
tc_trace *tc_run_trace(tc_arena *arena, const tc_run_output *output, const char *command);
tc_trace *tc_sweep_trace(tc_arena *arena, const tc_sweep_output *output, const char *command);
/* Whether there is anything that tacit_result_write_trace could write. */
bool tc_result_has_trace(const tacit_result *result);

/* ---- for a command that prints as it goes; any may be NULL ---- */

typedef struct tc_hooks {
    void *context;
    void (*judged)(void *context); /* the problem is judged, and longer work begins */
    void (*begin)(void *context, const tc_run_output *output);
    void (*row)(void *context, const tc_run_output *output, const tc_record *record, const tc_row *row);
} tc_hooks;

/* tacit_run and tacit_sweep have no hooks. */
tacit_status tc_run_with(tacit_problem *problem, const tacit_promise *promise, const tacit_run_options *run,
                         const tc_hooks *hooks, const tacit_options *options, tacit_result **result, char **message);
tacit_status tc_sweep_with(tacit_problem *problem, const tacit_promise *promise, const tacit_sweep_options *sweep,
                           const tc_hooks *hooks, const tacit_options *options, tacit_result **result, char **message);

#endif
