/* The command line: a table of commands, each a usage (options as data) and a function. */
#ifndef TC_CLI_CLI_H
#define TC_CLI_CLI_H

#include "base/monitor.h"
#include "base/options.h"
#include "model/model.h"
#include "serve/log.h"

typedef struct tc_cli {
    tc_arena *arena;    /* of this run; an escape is set */
    tc_buffer output;   /* printed on standard output when the command is done, or by tc_cli_flush */
    tc_buffer messages; /* printed on standard error then, or by tc_cli_tell */
    tc_monitor monitor;
    bool cannot_write;   /* standard output failed */
    bool has_printed;    /* something on it */
    bool wants_json;     /* whatever happens: one object */
    bool keeps_signals;  /* handlers stay: a first signal does not cut short what is still to be said */
    bool is_logged;      /* a log on standard error has what the messages say: they are for that object alone */
    tc_logbook *log;     /* messages go through it, and wait for no reader; NULL: to standard error as they are */
    const char *command; /* as typed, quoted for a shell: "tacit run ev.tacit --seed 1" */
    char *const *words;  /* the same, as the program was given them; NULL at the end */
} tc_cli;

typedef struct tc_command {
    tc_usage usage;
    /* *answer: whether the answer is yes (exit code 0) or no (1); true before the call. */
    tc_status (*run)(tc_cli *cli, const tc_arguments *arguments, bool *answer);
} tc_command;

extern const tc_command tc_command_check, tc_command_solve, tc_command_plan, tc_command_run, tc_command_sweep,
    tc_command_bound, tc_command_audit, tc_command_split, tc_command_keys, tc_command_serve, tc_command_agent,
    tc_command_report, tc_command_help;
extern const tc_command *const tc_commands[];
extern const size_t tc_command_count;

/* Prints messages and output as they are now, for an answer that grows. Printed is printed: whatever fails later. */
void tc_cli_flush(tc_cli *cli);

/* Prints the messages that there are, and nothing else: what is to be known before work that takes long. */
void tc_cli_tell(tc_cli *cli);

/* The whole program; returns the exit code. */
int tc_cli_main(int argc, char *const *argv);

/* Looks a command up; where there is none, NULL and a message with a suggestion. */
const tc_command *tc_command_find(tc_cli *cli, const char *name);

/* The page of `tacit --help`, and man pages ("tacit" itself where command is NULL). */
void tc_program_help(tc_buffer *out);
void tc_program_man(const tc_command *command, tc_buffer *out);

/* Loads a problem; messages go to cli->messages. */
tc_status tc_cli_load(tc_cli *cli, const char *path, tc_model **model) TC_MUST_USE;

#endif
