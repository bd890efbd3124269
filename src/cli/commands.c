#include "cli/cli.h"

#include "base/machine.h"
#include "base/text.h"
#include "cli/failure.h"
#include "cli/terminal.h"
#include "model/load.h"

#include <tacit/tacit.h>

#include <stdio.h>
#include <string.h>

static const size_t output_limit = (size_t)1 << 36;
static const double LOG_SECONDS = 1; /* for a reader of the log to take its last lines */

const tc_command *const tc_commands[] = {&tc_command_check, &tc_command_solve, &tc_command_plan,  &tc_command_run,
                                         &tc_command_sweep, &tc_command_bound, &tc_command_audit, &tc_command_split,
                                         &tc_command_keys,  &tc_command_serve, &tc_command_agent, &tc_command_report,
                                         &tc_command_help};
const size_t tc_command_count = sizeof tc_commands / sizeof tc_commands[0];

const tc_command *tc_command_find(tc_cli *cli, const char *name) {
    const char **names = TC_NEW(cli->arena, const char *, tc_command_count);
    for (size_t i = 0; i < tc_command_count; i++) {
        names[i] = tc_commands[i]->usage.name;
        if (strcmp(names[i], name) == 0)
            return tc_commands[i];
    }
    const char *near = tc_suggest(name, names, tc_command_count);
    tc_buffer_printf(&cli->messages, "tacit: there is no command '%s'; ", name);
    tc_buffer_puts(&cli->messages, near == NULL ? "tacit --help lists them\n"
                                                : tc_arena_format(cli->arena, "did you mean '%s'?\n", near));
    return NULL;
}

tc_status tc_cli_load(tc_cli *cli, const char *path, tc_model **model) {
    return tc_model_load(cli->arena, path, &cli->monitor, &cli->messages, model);
}

static void add_shell_word(tc_buffer *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        tc_buffer_puts(out, word);
        return;
    }
    tc_buffer_puts(out, "'");
    for (; *word != '\0'; word++)
        tc_buffer_add(out, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    tc_buffer_puts(out, "'");
}

static const char *shell_command(tc_arena *arena, int argc, char *const *argv) {
    tc_buffer command = tc_buffer_new(arena, output_limit);
    tc_buffer_puts(&command, "tacit");
    for (int i = 1; i < argc; i++) {
        tc_buffer_puts(&command, " ");
        add_shell_word(&command, argv[i]);
    }
    return command.text;
}

static tc_status run_command(tc_cli *cli, const tc_command *command, int argc, char *const *argv, bool *answer) {
    tc_arguments arguments;
    tc_status status = tc_options_parse(cli->arena, &command->usage, argc, argv, &cli->messages, &arguments);
    if (status != TC_OK)
        return status;
    if (arguments.help) {
        tc_options_help(&command->usage, &cli->output);
        return TC_OK;
    }
    if (command != &tc_command_serve) /* listens itself, from when there is something to end cleanly */
        tc_terminal_catch_terminate();
    return command->run(cli, &arguments, answer);
}

static tc_status run_program(tc_cli *cli, int argc, char *const *argv, bool *answer) {
    const char *first = argc > 1 ? argv[1] : NULL, *fault = tc_arithmetic_fault();
    cli->wants_json = tc_failure_wants_json(argc - 1, argv + 1);
    cli->command = shell_command(cli->arena, argc, argv);
    if (fault != NULL) {
        tc_buffer_printf(&cli->messages, "tacit: %s\n", fault);
        return TC_BAD_ARITHMETIC;
    }
    if (first == NULL) {
        tc_buffer_puts(&cli->messages, "tacit: which command? tacit --help lists them\n");
        return TC_BAD_USAGE;
    }
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
        tc_program_help(&cli->output);
        return TC_OK;
    }
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) {
        tc_buffer_printf(&cli->output, "tacit %s\n", tacit_version());
        return TC_OK;
    }
    if (first[0] == '-') {
        tc_buffer_printf(&cli->messages, "tacit: there is no option %s before a command; tacit --help\n", first);
        return TC_BAD_USAGE;
    }
    const tc_command *command = tc_command_find(cli, first);
    if (command == &tc_command_serve && tc_failure_wants_json_log(argc - 2, argv + 2))
        cli->log = tc_log_new(cli->arena, stderr, true, TC_LOG_WARNING);
    return command == NULL ? TC_BAD_USAGE : run_command(cli, command, argc - 2, argv + 2, answer);
}

/* event: what messages are where a log has them. */
static void tell(tc_cli *cli, tc_log_event event) {
    tc_terminal_clear();
    if (cli->messages.length > 0 && cli->log != NULL)
        tc_log_say(cli->log, event, cli->messages.text);
    else if (cli->messages.length > 0)
        (void)fputs(cli->messages.text, stderr);
    cli->messages.length = 0;
}

void tc_cli_tell(tc_cli *cli) { tell(cli, TC_EVENT_NOTE); }

/* Standard error first: what was wrong stands above what was found. */
void tc_cli_flush(tc_cli *cli) {
    tc_cli_tell(cli);
    if (cli->cannot_write) /* once is enough */
        cli->output.length = 0;
    size_t written = cli->output.length == 0 ? 0 : fwrite(cli->output.text, 1, cli->output.length, stdout);
    if (fflush(stdout) != 0 || written != cli->output.length)
        cli->cannot_write = true;
    cli->has_printed = cli->has_printed || written > 0;
    cli->output.length = 0;
}

/* An answer that is there says more: an interrupted search has its best point. */
static void print_failure(tc_cli *cli, tc_status status, int code) {
    if (code == 0 || !cli->wants_json || cli->has_printed || cli->output.length > 0)
        return;
    tc_failure failure = tc_failure_json(cli->messages.length == 0 ? "" : cli->messages.text, status, code);
    if (failure.json != NULL && fputs(failure.json, stdout) < 0)
        cli->cannot_write = true;
    tc_arena_free(failure.arena);
}

/* Where memory may be out: into no buffer. */
static void say_last(tc_cli *cli, const char *text) {
    char line[256];
    (void)snprintf(line, sizeof line, "tacit: %s\n", text);
    if (cli->log != NULL)
        tc_log_say(cli->log, TC_EVENT_FAILED, line);
    else
        (void)fputs(line, stderr);
}

static int print_all(tc_cli *cli, tc_status status, bool answer) {
    int code = status != TC_OK ? tc_status_exit_code(status) : answer ? 0 : 1;
    print_failure(cli, status, code);
    if (cli->is_logged)
        cli->messages.length = 0;
    else if (cli->messages.length == 0 && status != TC_OK)
        say_last(cli, tc_status_text(status));
    tell(cli, status == TC_OK ? TC_EVENT_NOTE : TC_EVENT_FAILED);
    tc_cli_flush(cli);
    if (cli->cannot_write)
        say_last(cli, "standard output cannot be written");
    tc_log_flush(cli->log, LOG_SECONDS);
    return cli->cannot_write ? tc_status_exit_code(TC_CANNOT_WRITE) : code;
}

static int run_in(tc_cli *cli, int argc, char *const *argv) {
    tc_escape escape;
    bool answer = true;
    tc_status status = TC_TRY(cli->arena, &escape);
    if (status == TC_OK)
        status = run_program(cli, argc, argv, &answer);
    else
        cli->output.length = 0; /* half an answer is none */
    tc_escape_end(cli->arena, &escape);
    if (cli->keeps_signals)
        tc_terminal_clear();
    else
        tc_terminal_end();
    return print_all(cli, status, answer);
}

int tc_cli_main(int argc, char *const *argv) {
    tc_cli cli = {.arena = tc_arena_new(0), .words = argv};
    if (cli.arena == NULL) {
        (void)fprintf(stderr, "tacit: %s\n", tc_status_text(TC_NO_MEMORY));
        return tc_status_exit_code(TC_NO_MEMORY);
    }
    cli.output = tc_buffer_new(cli.arena, output_limit);
    cli.messages = tc_buffer_new(cli.arena, 1 << 20);
    tc_terminal_begin(&cli.monitor);
    int code = run_in(&cli, argc, argv);
    tc_arena_free(cli.arena);
    return code;
}
