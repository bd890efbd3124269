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
    bool is_spread;         /* several ranks share the data, where they can */
    const char *needs_all;  /* why they cannot, whatever the problem is; NULL: nothing */
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

/* The files of a run or a sweep; NULL for those that are not wanted. */
typedef struct tc_study_files {
    const char *object; /* --output: the result as JSON */
    const char *trace, *page;
} tc_study_files;

/* Whether they may be written, before anything is run. */
tc_status tc_study_check_files(tc_study *study, const tc_arguments *arguments, tc_study_files files,
                               const char *ledger) TC_MUST_USE;
/* Writes them when the result is there, status being what tc_study_end said. */
tc_status tc_study_write(tc_study *study, tc_status status, tacit_result *result, tc_study_files files) TC_MUST_USE;

#define TC_OBJECT_OPTION                                                                                               \
    {                                                                                                                  \
        .name = "output", .type = TC_OPTION_STRING, .argument = "FILE.json",                                           \
        .text =                                                                                                        \
            "Also write the JSON object of --json to a file, whole or not at all: after Ctrl-C to mpirun standard "    \
            "output is cut. Overwrites an existing JSON object, never another file."                                   \
    }

#endif
