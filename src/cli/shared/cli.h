/* A command line: a table of commands, each a usage (options as data) and a function; the terminal. */
#ifndef TC_CLI_SHARED_CLI_H
#define TC_CLI_SHARED_CLI_H

#include "base/status.h"
#include "base/options.h"
#include "base/outputs.h"
#include "model/model.h"
#include "serve/log.h"

typedef struct tc_command tc_command;

/* The commands of one program, in the order of its help. */
typedef struct tc_command_table {
    const tc_command *const *commands;
    size_t count;
} tc_command_table;

typedef struct tc_cli {
    tc_arena *arena; /* of this process; an escape is set */
    tc_command_table table;
    tc_buffer output;   /* printed on standard output when the command is done, or by tc_cli_flush */
    tc_buffer messages; /* printed on standard error then, or by tc_cli_tell */
    tc_monitor monitor;
    bool cannot_write;   /* standard output failed */
    bool has_printed;    /* something on it */
    bool wants_json;     /* print one JSON object in every case */
    bool keeps_signals;  /* handlers stay, so that a first signal does not cut short the last lines */
    bool is_silent;      /* another rank prints */
    bool is_bystander;   /* another rank failed, and says why */
    bool is_logged;      /* the log has the messages already: they are for the JSON of a failure alone */
    tc_logbook *log;     /* messages go through it, and wait for no reader; NULL: to standard error as they are */
    const char *command; /* as typed, quoted for a shell: "tacit run ev.tacit --seed 1" */
    char *const *words;  /* the same, as the program was given them; NULL at the end */
} tc_cli;

struct tc_command {
    tc_usage usage;
    /* Handles SIGTERM itself, and has an option --log, which holds for messages about wrong options too. */
    bool is_service;
    /* Of several ranks (base/ranks/ranks.h) all work; otherwise the first alone does. */
    bool has_ranks;
    const char *wants_one_rank; /* NULL, or why several are refused */
    /* *yes decides between the exit codes 0 and 1; true before the call. */
    tc_status (*run)(tc_cli *cli, const tc_arguments *arguments, bool *yes);
};

extern const tc_command tc_command_help;

/* An option of most commands. */
#define TC_JSON_OPTION                                                                                                 \
    { .name = "json", .type = TC_OPTION_FLAG, .text = "Print one JSON object on standard output." }

/* The whole program; returns the exit code. */
int tc_cli_run(tc_command_table table, int argc, char *const *argv);

/* The version that CMakeLists.txt states. */
extern const char tc_cli_version[];

/* Prints messages and output so far, for output that grows. Printed text stays, even if something fails later. */
void tc_cli_flush(tc_cli *cli);

/* Prints the messages so far and no output: for what has to be known before long work. */
void tc_cli_tell(tc_cli *cli);

/* Adds a message, each of its lines with the command's name in front: "tacit agent: ...". */
void tc_cli_say(tc_cli *cli, const char *command, const char *text);

/* Finds a command; NULL, and a message with a suggestion, where there is none. */
const tc_command *tc_command_find(tc_cli *cli, const char *name);

/* The page of `tacit --help`. */
void tc_program_help(tc_command_table table, tc_buffer *out);

/* Whether an operand means standard input. */
static inline bool tc_is_standard_input(const char *path) { return path[0] == '-' && path[1] == '\0'; }
#define TC_FILE_HELP                                                                                                   \
    "FILE is the problem. A dash (-) reads it from standard input; paths of data files then start at the working "     \
    "folder. A file of that name is ./-."

/* Loads a problem from a file or from standard input; messages go to cli->messages. */
tc_status tc_cli_load(tc_cli *cli, const char *path, tc_model **model) TC_MUST_USE;

/* ---- several ranks (ranks.c); with one these do nothing ---- */

/* Whether all ranks were started alike. */
tc_status tc_cli_check_words(tc_cli *cli) TC_MUST_USE;
/* Before a command: refuses it where it cannot have several ranks. *works: whether this rank has something to do. */
tc_status tc_cli_begin_ranks(tc_cli *cli, const tc_command *command, bool *works) TC_MUST_USE;
/* All ranks get the first failure. The rank that failed says why. */
tc_status tc_cli_agree(tc_cli *cli, tc_status status) TC_MUST_USE;
/* Bytes into a hash, which is 0 at first. */
void tc_alike_add(uint64_t *hash, const void *bytes, size_t count);
/* TC_BAD_USAGE, with a message, where ranks have different hashes: "rank 1 has WHAT than rank 0: ADVICE". */
tc_status tc_cli_alike(tc_cli *cli, uint64_t hash, const char *what, const char *advice) TC_MUST_USE;

/* From now on this process leaves no core file, which would hold keys and private states. */
void tc_no_core(void);

/* ---- the terminal ---- */

/* From now on the monitor reports the first Ctrl-C, to any thread; the second ends the program. A pipe without a reader
 * and a file at its size limit become errors of writing, and do not end the program. */
void tc_terminal_begin(tc_monitor *monitor);
/* The same for SIGTERM. */
void tc_terminal_catch_terminate(void);
/* Whether standard output (1) or standard error (2) is a terminal; of several ranks, that of the first's launcher. */
bool tc_terminal_is_watched(int stream);
/* Clears the line of progress, so that something else can be printed there. */
void tc_terminal_clear(void);
/* Lines to standard error. On a terminal, those that do not begin with a blank (a quoted line, a caret) are wrapped to
 * its width; elsewhere they stay whole, for programs to search. Takes no memory. */
void tc_terminal_tell(const char *lines);
/* Whether standard output is a terminal, and its user has nothing against colours (NO_COLOR, TERM=dumb). */
bool tc_terminal_has_colours(void);
/* Clears the line of progress and restores the signals. */
void tc_terminal_end(void);
/* From now on neither Ctrl-C nor SIGTERM ends the program; they are seen, as the first is. */
void tc_terminal_hold(void);

#endif
