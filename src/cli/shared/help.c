#include "cli/shared/cli.h"

#include <stdio.h>

enum { MAN, WRITE_MAN };

static const tc_option options[] = {
    [MAN] = {.name = "man", .type = TC_OPTION_FLAG, .text = "Print the man page, in troff, instead."},
    [WRITE_MAN] = {.name = "write-man",
                   .type = TC_OPTION_STRING,
                   .argument = "DIR",
                   .text = "Write all man pages into DIR, which exists."},
};

static const tc_example examples[] = {
    {"tacit help run", "What run does, its options and examples."},
    {"tacit help serve --man | man -l -", "The man page of serve."},
};

static const tc_usage program = {
    .summary = "private constrained optimisation among many agents",
    .operands = "COMMAND",
    .description =
        "Lets a group of agents reach the best joint decision under shared constraints without showing their "
        "objectives, limits or behaviour to each other. Each agent talks to one trusted cloud, and what the cloud "
        "answers is differentially private.",
};

static const char *const exit_codes[][2] = {
    {"0", "Success."},
    {"1", "Done, with a negative outcome: an assumption fails, no solution was found, a plan is not private or cannot "
          "be made, or an audit refutes one."},
    {"2", "The command or a file is wrong; the message says where."},
    {"3", "The environment failed (disk, memory, permission), or Ctrl-C or SIGTERM interrupted the work; a second "
          "signal ends the program at once."},
};

static const char json_text[] =
    "With --json one object is printed on standard output in every case. Where a command failed (exit code 2 or 3) or "
    "refused (1) and has no output of its own, it is {\"ok\": false, \"error\": \"what standard error says\", "
    "\"exit_code\": 2}; other objects have no member ok.";

void tc_program_help(tc_command_table table, tc_buffer *out) {
    tc_buffer_printf(out, "tacit %s: %s\n\nUsage: tacit COMMAND ...\n\n", tc_cli_version, program.summary);
    tc_options_wrap(out, program.description, 0);
    tc_buffer_puts(out, "\nCommands:\n");
    for (size_t i = 0; i < table.count; i++)
        tc_buffer_printf(out, "  %-10s%s\n", table.commands[i]->usage.name, table.commands[i]->usage.summary);
    tc_buffer_puts(out, "\nOptions:\n  --help    show this; `tacit help COMMAND` says more about a command\n"
                        "  --version print the version\n\nExit codes:\n");
    for (size_t i = 0; i < sizeof exit_codes / sizeof exit_codes[0]; i++) {
        tc_options_wrap(out, tc_arena_format(out->arena, "%s %s", exit_codes[i][0], exit_codes[i][1]), 2);
    }
    tc_buffer_puts(out, "\nJSON:\n");
    tc_options_wrap(out, json_text, 2);
}

static void man_json(tc_buffer *out) {
    tc_buffer_puts(out, ".SH JSON\n");
    tc_troff_text(out, json_text);
    tc_buffer_puts(out, "\n");
}

static void man_exit_codes(tc_buffer *out) {
    tc_buffer_puts(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof exit_codes / sizeof exit_codes[0]; i++) {
        tc_buffer_printf(out, ".TP\n%s\n", exit_codes[i][0]);
        tc_troff_text(out, exit_codes[i][1]);
        tc_buffer_puts(out, "\n");
    }
}

/* Of a command, or of the program where command is NULL. */
static void write_man(tc_command_table table, const tc_command *command, tc_buffer *out) {
    tc_buffer extra = tc_buffer_new(out->arena, 1 << 16);
    if (command == NULL) {
        tc_buffer_puts(&extra, ".TP\n\\fB\\-\\-version\\fR\nPrint the version.\n.SH COMMANDS\n");
        for (size_t i = 0; i < table.count; i++) {
            tc_buffer_printf(&extra, ".TP\n\\fBtacit\\-%s\\fR(1)\n", table.commands[i]->usage.name);
            tc_troff_text(&extra, table.commands[i]->usage.summary);
            tc_buffer_puts(&extra, "\n");
        }
    }
    man_exit_codes(&extra);
    if (command == NULL)
        man_json(&extra);
    else
        tc_buffer_puts(&extra, ".SH SEE ALSO\n\\fBtacit\\fR(1)\n");
    tc_options_man(command == NULL ? &program : &command->usage, tc_cli_version, tc_buffer_text(&extra), out);
}

static tc_status write_page(tc_cli *cli, const char *directory, const tc_command *command) {
    const char *path = tc_arena_format(cli->arena, "%s/tacit%s%s.1", directory, command == NULL ? "" : "-",
                                       command == NULL ? "" : command->usage.name);
    tc_buffer page = tc_buffer_new(cli->arena, 1 << 20);
    write_man(cli->table, command, &page);
    FILE *file = fopen(path, "w");
    bool written = file != NULL && fwrite(page.text, 1, page.length, file) == page.length;
    if (file != NULL && fclose(file) != 0)
        written = false;
    if (!written)
        tc_buffer_printf(&cli->messages, "tacit help: %s cannot be written\n", path);
    return written ? TC_OK : TC_CANNOT_WRITE;
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    (void)yes;
    if (arguments->values[WRITE_MAN].given) {
        tc_status status = write_page(cli, arguments->values[WRITE_MAN].text, NULL);
        for (size_t i = 0; i < cli->table.count && status == TC_OK; i++)
            status = write_page(cli, arguments->values[WRITE_MAN].text, cli->table.commands[i]);
        return status;
    }
    const tc_command *command = NULL;
    if (arguments->operand_count > 0) {
        command = tc_command_find(cli, arguments->operands[0]);
        if (command == NULL)
            return TC_BAD_USAGE;
    }
    if (arguments->values[MAN].flag)
        write_man(cli->table, command, &cli->output);
    else if (command == NULL)
        tc_program_help(cli->table, &cli->output);
    else
        tc_options_help(&command->usage, &cli->output);
    return TC_OK;
}

const tc_command tc_command_help = {
    .usage = {.name = "help",
              .summary = "say more about a command",
              .operands = "[COMMAND]",
              .most_operands = 1,
              .description = "Prints what a command does, its options and examples; the same as tacit COMMAND --help.",
              .options = options,
              .option_count = sizeof options / sizeof options[0],
              .examples = examples,
              .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
};
