/* The commands for whoever holds the whole problem. Each reads its options, calls the library's function
 * of the same name, and prints its result. */
#ifndef TC_CLI_STUDY_STUDY_H
#define TC_CLI_STUDY_STUDY_H

#include "cli/shared/plan_options.h"

#include <tacit/tacit.h>

extern const tc_command tc_command_check, tc_command_solve, tc_command_plan, tc_command_advise, tc_command_run,
    tc_command_sweep, tc_command_bound, tc_command_audit, tc_command_split, tc_command_report;

/* A command at work. */
typedef struct tc_study {
    tc_cli *cli;
    const char *command;    /* "run" */
    const char *path;       /* the problem's; NULL: there is none */
    tacit_problem *problem; /* freed with the cli's arena */
    tacit_options options;  /* progress, interrupts and warnings go to the terminal */
    tc_status failure;      /* of a callback */
    tc_spread spread;       /* what of the data several ranks share */
    bool is_apart;          /* of several ranks each makes whole runs, and has all data */
} tc_study;

/* Sets the options up; the study must stay where it is. */
void tc_study_begin(tc_study *study, tc_cli *cli, const char *command);
/* Loads the problem; errors are messages. */
tc_status tc_study_load(tc_study *study, const char *path) TC_MUST_USE;

/* For callbacks: where memory runs out, no jump leaves the library, and study->failure is set. */
void tc_study_guard(tc_study *study, void (*print)(void *context), void *context);

/* A hook of run and sweep: tells the messages so far, before longer work. context: the study. */
void tc_study_tell(void *context);

/* Prints a result as JSON, or as text where it is not NULL, and keeps it until the cli's arena is freed. result is NULL
 * where status is a failure, which was told as a warning. TC_INTERRUPTED for one that was interrupted. */
tc_status tc_study_end(tc_study *study, tacit_status status, tacit_result *result, bool wants_json,
                       bool *yes) TC_MUST_USE;

/* The end of it: *yes, and the status as above. For a command that has printed the result itself. */
tc_status tc_study_keep(tc_study *study, tacit_result *result, bool *yes) TC_MUST_USE;

/* Whether a trace and a page (NULL for neither) may be written, before anything is run. */
tc_status tc_study_check_files(tc_study *study, const tc_arguments *arguments, const char *trace, const char *page,
                               const char *ledger) TC_MUST_USE;
/* Writes them after a run or a sweep that was printed, status being what tc_study_end said. */
tc_status tc_study_write(tc_study *study, tc_status status, tacit_result *result, const char *trace,
                         const char *page) TC_MUST_USE;

#endif
