#include "cli/shared/cli.h"

#include "base/machine.h"
#include "base/ranks/ranks.h"
#include "base/json.h"
#include "base/text.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const size_t OUTPUT_LIMIT = (size_t)1 << 36;
static const size_t FAILURE_LIMIT = (size_t)1 << 24;
static const double LOG_SECONDS = 1; /* for a reader of the log to take its last lines */

const char tc_cli_version[] = TACIT_VERSION;

void tc_no_core(void) {
    const struct rlimit none = {0};
    (void)setrlimit(RLIMIT_CORE, &none);
}

/* ---- words ---- */

const tc_command *tc_command_find(tc_cli *cli, const char *name) {
    const char **names = TC_NEW(cli->arena, const char *, cli->table.count);
    for (size_t i = 0; i < cli->table.count; i++) {
        names[i] = cli->table.commands[i]->usage.name;
        if (strcmp(names[i], name) == 0)
            return cli->table.commands[i];
    }
    const char *near = tc_suggest(name, names, cli->table.count);
    tc_buffer_printf(&cli->messages, "tacit: there is no command '%s'; ", name);
    tc_buffer_puts(&cli->messages, near == NULL ? "tacit --help lists them\n"
                                                : tc_arena_format(cli->arena, "did you mean '%s'?\n", near));
    return NULL;
}

tc_status tc_cli_load(tc_cli *cli, const char *path, tc_model **model) {
    bool is_input = tc_is_standard_input(path);
    tc_load_request request = {.arena = cli->arena,
                               .path = is_input ? "<stdin>" : path,
                               .standard_input = is_input,
                               .monitor = &cli->monitor,
                               .messages = &cli->messages};
    return tc_model_load_request(&request, model);
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
    tc_buffer command = tc_buffer_new(arena, OUTPUT_LIMIT);
    tc_buffer_puts(&command, "tacit");
    for (int i = 1; i < argc; i++) {
        tc_buffer_puts(&command, " ");
        add_shell_word(&command, argv[i]);
    }
    return command.text;
}

/* Whether the words ask for --json, even if others of them are wrong. */
static bool wants_json(int argc, char *const *argv) {
    bool is_asked = false;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        is_asked = is_asked || strcmp(argv[i], "--json") == 0;
    return is_asked;
}

/* The same for --log json. */
static bool wants_json_log(int argc, char *const *argv) {
    bool is_asked = false;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--log=", 6) == 0)
            is_asked = strcmp(argv[i] + 6, "json") == 0;
        else if (strcmp(argv[i], "--log") == 0 && i + 1 < argc)
            is_asked = strcmp(argv[i + 1], "json") == 0;
    return is_asked;
}

static tc_status run_command(tc_cli *cli, const tc_command *command, int argc, char *const *argv, bool *yes) {
    tc_arguments arguments;
    tc_status status = tc_options_parse(cli->arena, &command->usage, argc, argv, &cli->messages, &arguments);
    if (status != TC_OK)
        return status;
    if (arguments.help) {
        tc_options_help(&command->usage, &cli->output);
        return TC_OK;
    }
    bool works = true;
    if (!command->is_service)
        tc_terminal_catch_terminate();
    status = tc_cli_begin_ranks(cli, command, &works);
    return status == TC_OK && works ? command->run(cli, &arguments, yes) : status;
}

static tc_status run_program(tc_cli *cli, int argc, char *const *argv, bool *yes) {
    const char *first = argc > 1 ? argv[1] : NULL, *fault = tc_arithmetic_fault();
    cli->wants_json = wants_json(argc - 1, argv + 1);
    cli->command = shell_command(cli->arena, argc, argv);
    if (fault != NULL) {
        tc_buffer_printf(&cli->messages, "tacit: %s\n", fault);
        return TC_BAD_ARITHMETIC;
    }
    tc_status alike = tc_cli_check_words(cli);
    if (alike != TC_OK)
        return alike;
    if (first == NULL) {
        tc_buffer_puts(&cli->messages, "tacit: which command? tacit --help lists them\n");
        return TC_BAD_USAGE;
    }
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
        tc_program_help(cli->table, &cli->output);
        return TC_OK;
    }
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) {
        tc_buffer_printf(&cli->output, "tacit %s\n", tc_cli_version);
        return TC_OK;
    }
    if (first[0] == '-') {
        tc_buffer_printf(&cli->messages, "tacit: there is no option %s before a command; tacit --help\n", first);
        return TC_BAD_USAGE;
    }
    const tc_command *command = tc_command_find(cli, first);
    if (command != NULL && command->is_service && wants_json_log(argc - 2, argv + 2))
        cli->log = tc_log_new(cli->arena, stderr, true, TC_LOG_WARNING);
    return command == NULL ? TC_BAD_USAGE : run_command(cli, command, argc - 2, argv + 2, yes);
}

/* ---- printing ---- */

void tc_cli_say(tc_cli *cli, const char *command, const char *text) {
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        tc_buffer_printf(&cli->messages, "%s: %.*s\n", command, (int)length, text);
        text += length + (text[length] == '\n');
    }
}

/* event: of the log's line, where messages go to the log. */
static void tell(tc_cli *cli, tc_log_event event) {
    tc_terminal_clear();
    if (cli->is_silent)
        cli->messages.length = 0;
    if (cli->messages.length > 0 && cli->log != NULL)
        tc_log_say(cli->log, event, cli->messages.text);
    else if (cli->messages.length > 0)
        tc_terminal_tell(cli->messages.text);
    cli->messages.length = 0;
}

void tc_cli_tell(tc_cli *cli) { tell(cli, TC_EVENT_NOTE); }

/* Standard error first, so that messages stand above the output. */
void tc_cli_flush(tc_cli *cli) {
    tc_cli_tell(cli);
    if (cli->cannot_write || cli->is_silent) /* was said before, or another rank says it */
        cli->output.length = 0;
    size_t written = cli->output.length == 0 ? 0 : fwrite(cli->output.text, 1, cli->output.length, stdout);
    if (fflush(stdout) != 0 || written != cli->output.length)
        cli->cannot_write = true;
    cli->has_printed = cli->has_printed || written > 0;
    cli->output.length = 0;
}

static void write_failure(tc_arena *arena, const char *messages, tc_status status, int exit_code, tc_buffer *out) {
    size_t length = strlen(messages);
    while (length > 0 && messages[length - 1] == '\n')
        length--;
    tc_json json = tc_json_new(out);
    tc_json_open_object(&json, NULL);
    tc_json_bool(&json, "ok", false);
    tc_json_string(&json, "error", length == 0 ? tc_status_text(status) : tc_arena_copy(arena, messages, length));
    tc_json_count(&json, "exit_code", (uint64_t)exit_code);
    tc_json_close_object(&json);
}

/* {"ok": false, "error": what standard error is about to say, "exit_code": 2}. In an arena of its own, since the
 * command's may be what ran out; the caller frees it. json is NULL where this arena ran out too. */
typedef struct failure_object {
    tc_arena *arena;
    const char *json;
} failure_object;

static failure_object make_failure(const char *messages, tc_status status, int exit_code) {
    failure_object failure = {.arena = tc_arena_new(0)};
    const char *volatile text = NULL;
    tc_escape escape;
    if (failure.arena == NULL)
        return failure;
    if (TC_TRY(failure.arena, &escape) == TC_OK) {
        tc_buffer out = tc_buffer_new(failure.arena, FAILURE_LIMIT);
        write_failure(failure.arena, messages, status, exit_code, &out);
        text = tc_buffer_text(&out);
    }
    tc_escape_end(failure.arena, &escape);
    failure.json = text;
    return failure;
}

/* Where memory runs out nobody can add a line, and notes of before are no reason. */
static bool lacks_reason(const tc_cli *cli, tc_status status) {
    return status == TC_NO_MEMORY && strstr(cli->messages.text, tc_status_text(status)) == NULL;
}

/* Nothing where there is output, which says more: an interrupted search has its best point. */
static void print_failure(tc_cli *cli, tc_status status, int code) {
    if (code == 0 || !cli->wants_json || cli->has_printed || cli->output.length > 0)
        return;
    bool is_masked = cli->messages.length == 0 || lacks_reason(cli, status);
    failure_object failure = make_failure(is_masked ? "" : cli->messages.text, status, code);
    if (failure.json != NULL && fputs(failure.json, stdout) < 0)
        cli->cannot_write = true;
    tc_arena_free(failure.arena);
}

/* Without a buffer, since memory may be out. */
static void say_last(tc_cli *cli, const char *text) {
    char line[256];
    (void)snprintf(line, sizeof line, "tacit: %s\n", text);
    if (cli->log != NULL)
        tc_log_say(cli->log, TC_EVENT_FAILED, line);
    else
        (void)fputs(line, stderr);
}

static int print_what_is_left(tc_cli *cli, tc_status status, int code) {
    print_failure(cli, status, code);
    if (cli->is_logged)
        cli->messages.length = 0;
    bool says_last = !cli->is_logged && status != TC_OK && (cli->messages.length == 0 || lacks_reason(cli, status));
    tell(cli, status == TC_OK ? TC_EVENT_NOTE : TC_EVENT_FAILED);
    if (says_last)
        say_last(cli, tc_status_text(status));
    tc_cli_flush(cli);
    if (cli->cannot_write)
        say_last(cli, "standard output cannot be written");
    tc_log_flush(cli->log, LOG_SECONDS);
    return cli->cannot_write ? tc_status_exit_code(TC_CANNOT_WRITE) : code;
}

/* Of several ranks one prints. */
static int meet_and_print(tc_cli *cli, tc_status status, bool yes) {
    int code = status != TC_OK ? tc_status_exit_code(status) : yes ? 0 : 1;
    int shared = cli->is_bystander ? 0 : code;
    tc_terminal_clear();
    if (!tc_ranks_prints())
        tc_terminal_hold();
    tc_rank_voice voice = tc_ranks_meet(&shared, status != TC_OK && status != TC_INTERRUPTED && !cli->is_bystander);
    cli->is_silent = voice == TC_RANK_IS_SILENT;
    if (cli->is_silent)
        return shared;
    if (!cli->keeps_signals)
        tc_terminal_end();
    if (voice == TC_RANK_FAILED_ALONE || !tc_ranks_prints())
        (void)fprintf(stderr, "tacit: rank %zu failed%s:\n", tc_ranks_mine(),
                      voice == TC_RANK_FAILED_ALONE ? " alone, and ends the job" : "");
    code = print_what_is_left(cli, status, code);
    if (voice == TC_RANK_FAILED_ALONE)
        tc_ranks_abort(code);
    return code;
}

/* A rank that has nothing more to do is not ended by a signal: that would end the others too. */
static int print_all(tc_cli *cli, tc_status status, bool yes) {
    int code = meet_and_print(cli, status, yes);
    if (tc_ranks_several())
        tc_terminal_hold();
    return code;
}

static int run_in(tc_cli *cli, int argc, char *const *argv) {
    tc_escape escape;
    bool yes = true;
    tc_status status = TC_TRY(cli->arena, &escape);
    if (status == TC_OK)
        status = run_program(cli, argc, argv, &yes);
    else
        cli->output.length = 0; /* drop incomplete output */
    tc_escape_end(cli->arena, &escape);
    return print_all(cli, status, yes);
}

int tc_cli_run(tc_command_table table, int argc, char *const *argv) {
    tc_cli cli = {.arena = tc_arena_new(0), .table = table, .words = argv};
    if (cli.arena == NULL)
        return print_all(&cli, TC_NO_MEMORY, false);
    cli.output = tc_buffer_new(cli.arena, OUTPUT_LIMIT);
    cli.messages = tc_buffer_new(cli.arena, 1 << 20);
    cli.is_silent = !tc_ranks_prints();
    tc_terminal_begin(&cli.monitor);
    int code = run_in(&cli, argc, argv);
    tc_arena_free(cli.arena);
    return code;
}
