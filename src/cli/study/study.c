#include "cli/study/study.h"

#include "api/runs/run.h"
#include "base/ranks/ranks.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

static int is_interrupted(void *context) {
    const tc_study *study = context;
    return tc_interrupted(&study->cli->monitor);
}

static int show_progress(void *context, const char *what, double fraction) {
    const tc_study *study = context;
    tc_progress(&study->cli->monitor, what, fraction);
    return 0;
}

void tc_study_guard(tc_study *study, void (*print)(void *context), void *context) {
    tc_escape escape;
    tc_status status = TC_TRY(study->cli->arena, &escape);
    if (status == TC_OK)
        print(context);
    else
        study->failure = status;
    tc_escape_end(study->cli->arena, &escape);
}

void tc_study_tell(void *context) {
    const tc_study *study = context;
    tc_cli_tell(study->cli);
}

typedef struct warning_line {
    tc_study *study;
    const char *text;
} warning_line;

/* A line about a file begins with the path, as a compiler's does. */
static void add_warning(void *context) {
    const warning_line *of = context;
    const tc_study *study = of->study;
    const char *line = of->text;
    size_t length = study->path == NULL ? 0 : strlen(study->path);
    bool is_of_file = (length > 0 && strncmp(line, study->path, length) == 0 && line[length] == ':') ||
                      strstr(line, ": error: ") != NULL;
    if (is_of_file)
        tc_buffer_printf(&study->cli->messages, "%s\n", line);
    else
        tc_buffer_printf(&study->cli->messages, "tacit %s: %s\n", study->command, line);
}

static int show_warning(void *context, const char *line) {
    tc_study *study = context;
    tc_study_guard(study, add_warning, &(warning_line){.study = study, .text = line});
    return study->failure != TC_OK;
}

void tc_study_begin(tc_study *study, tc_cli *cli, const char *command) {
    *study = (tc_study){.cli = cli, .command = command};
    tacit_options_default(&study->options, sizeof study->options);
    study->options.context = study;
    study->options.interrupted = is_interrupted;
    study->options.progress = show_progress;
    study->options.warning = show_warning;
    study->options.colours = tc_terminal_has_colours();
}

static void free_problem(void *problem) { tacit_problem_free(problem); }
static void free_result(void *result) { tacit_result_free(result); }

/* Several ranks: the same file and the same data? */
static tc_status compare_problems(tc_study *study) {
    uint64_t text = 0, data = 0;
    const tc_model *model = study->problem->loaded.model;
    tc_alike_add(&text, model->source.text, model->source.length);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        tc_alike_add(&data, &family->count, sizeof family->count);
        /* Where they are spread, all ranks have compared the file. */
        for (size_t d = 0; !family->is_spread && d < family->column_count; d++)
            if (family->columns[d].values != NULL)
                tc_alike_add(&data, family->columns[d].values, family->count * sizeof(double));
        for (size_t k = 0; !family->is_spread && family->member_names != NULL && k < family->count; k++)
            tc_alike_add(&data, family->member_names[k], strlen(family->member_names[k]));
    }
    for (const tc_matrix_file *file = model->last_matrix; file != NULL; file = file->before) {
        tc_alike_add(&data, &file->columns, sizeof file->columns);
        tc_alike_add(&data, file->numbers, file->rows * file->columns * sizeof(double));
    }
    tc_status status = tc_cli_alike(study->cli, text, "another problem file", "give all ranks the same file");
    return status != TC_OK ? status
                           : tc_cli_alike(study->cli, data, "other data", "give all ranks the same data files");
}

/* At once: where memory runs out next, this says why. */
static void add_whole(void *context) {
    const warning_line *of = context;
    tc_buffer_printf(&of->study->cli->messages,
                     "tacit %s: every rank loads the data of all agents, and needs as much memory as one process: %s\n",
                     of->study->command, of->text);
    tc_cli_tell(of->study->cli);
}

static void say_whole(void *context, const char *why) {
    tc_study_guard(context, add_whole, &(warning_line){.study = context, .text = why});
}

static tc_status load_here(tc_study *study, const char *path) {
    char *message = NULL;
    bool is_input = tc_is_standard_input(path);
    tacit_source source = {
        .size = sizeof source, .path = is_input ? "<stdin>" : path, .interrupted = is_interrupted, .context = study};
    study->path = source.path;
    tc_spread spread = {
        .is_wished = study->is_spread, .needs_all = study->needs_all, .whole = say_whole, .context = study};
    tacit_status status = tc_problem_make(&source, is_input, spread, &study->problem, &message);
    if (study->problem != NULL)
        tc_arena_on_free(study->cli->arena, free_problem, study->problem);
    if (message != NULL)
        tc_buffer_puts(&study->cli->messages, message);
    tacit_text_free(message);
    return (tc_status)status;
}

/* Of a file that some ranks cannot use and others can: the first of those that cannot speaks. */
static void say_where(tc_cli *cli, tc_status status) {
    uint64_t failed = status == TC_CANNOT_READ || status == TC_BAD_PROBLEM || status == TC_BAD_USAGE;
    uint64_t ranks = tc_ranks_count();
    bool has_failed = failed > 0;
    tc_ranks_sum(&failed, 1);
    if (has_failed && failed < ranks)
        tc_buffer_printf(&cli->messages,
                         "tacit: %llu of %llu ranks cannot use it, rank %zu is the first: give all the same files\n",
                         (unsigned long long)failed, (unsigned long long)ranks, tc_ranks_mine());
}

tc_status tc_study_load(tc_study *study, const char *path) {
    if (tc_ranks_several() && tc_is_standard_input(path)) {
        tc_buffer_printf(&study->cli->messages, "tacit %s: standard input goes to one rank alone: give a file\n",
                         study->command);
        return TC_BAD_USAGE;
    }
    if (study->is_apart)
        tc_ranks_part();
    tc_status status = load_here(study, path);
    if (study->is_apart && !tc_ranks_join())
        return status == TC_OK ? TC_INTERRUPTED : status;
    if (!study->is_apart && tc_ranks_several() && (status == TC_NO_MEMORY || status == TC_TOO_LARGE))
        return status; /* an escape: other ranks may still be in a meeting of the loading */
    say_where(study->cli, status);
    status = tc_cli_agree(study->cli, status);
    if (status == TC_OK && tc_ranks_several())
        status = compare_problems(study);
    if (study->is_apart)
        tc_ranks_part();
    return status;
}

tc_status tc_study_keep(tc_study *study, tacit_result *result, bool *yes) {
    tc_arena_on_free(study->cli->arena, free_result, result);
    *yes = tacit_result_holds(result);
    return study->failure != TC_OK ? study->failure : tacit_result_interrupted(result) ? TC_INTERRUPTED : TC_OK;
}

tc_status tc_study_end(tc_study *study, tacit_status status, tacit_result *result, bool wants_json, bool *yes) {
    if (status != TACIT_OK)
        return study->failure != TC_OK ? study->failure : (tc_status)status;
    tc_status kept = tc_study_keep(study, result, yes);
    if (!tc_ranks_prints()) /* memory for what nobody prints must not run out */
        return kept;
    const char *text = wants_json ? tacit_result_json(result) : tacit_result_text(result);
    if (text == NULL)
        return TC_NO_MEMORY;
    tc_buffer_puts(&study->cli->output, text);
    return kept;
}

static tc_status check_files_here(tc_study *study, const tc_arguments *arguments, tc_study_files files,
                                  const char *ledger) {
    const tc_output_file outputs[] = {{"--output", files.object, {.mark = "{", .name = "a JSON object"}},
                                      {"--trace", files.trace, TC_TRACE_FILE},
                                      {"--report", files.page, TC_PAGE_FILE}};
    const tc_input_file inputs[] = {{"the problem", arguments->operands[0]}, {"the ledger", ledger}};
    return tc_outputs_check(study->cli->arena, outputs, 3, inputs, 2, &study->cli->messages);
}

/* One rank writes them. */
tc_status tc_study_check_files(tc_study *study, const tc_arguments *arguments, tc_study_files files,
                               const char *ledger) {
    tc_status status = tc_ranks_prints() ? check_files_here(study, arguments, files, ledger) : TC_OK;
    return tc_cli_agree(study->cli, status);
}

static tc_status write_object(tc_cli *cli, tacit_result *result, const char *path) {
    tc_file *file = NULL;
    const char *text = tacit_result_json(result);
    if (text == NULL)
        return TC_NO_MEMORY;
    tc_status status = tc_file_open(cli->arena, path, &cli->messages, &file);
    if (status != TC_OK)
        return status;
    (void)fputs(text, file->stream); /* closing says whether that failed */
    return tc_file_close(file, &cli->messages);
}

static tc_status write_trace_and_page(tc_study *study, tacit_result *result, tc_study_files files) {
    tc_cli *cli = study->cli;
    char *message = NULL;
    tacit_status status = TACIT_OK;
    if (files.trace == NULL && files.page == NULL)
        return TC_OK;
    if (!tc_result_has_trace(result)) {
        tc_buffer_printf(&cli->messages, "tacit %s: no run was %s: no trace and no report is written\n", study->command,
                         result->of.sweep != NULL ? "finished" : "begun");
        return TC_OK;
    }
    if (files.trace != NULL)
        status = tacit_result_write_trace(result, files.trace, cli->command, &message);
    if (status == TACIT_OK && files.page != NULL)
        status = tacit_result_write_report(result, files.page, cli->command, &message);
    if (message != NULL)
        tc_buffer_puts(&cli->messages, message);
    tacit_text_free(message);
    return (tc_status)status;
}

/* The result first: after Ctrl-C to mpirun little time is left. */
tc_status tc_study_write(tc_study *study, tc_status status, tacit_result *result, tc_study_files files) {
    tc_status written = TC_OK;
    if (result == NULL || (status != TC_OK && status != TC_INTERRUPTED))
        return status;
    if (tc_ranks_prints() && files.object != NULL)
        written = write_object(study->cli, result, files.object);
    if (tc_ranks_prints() && written == TC_OK)
        written = write_trace_and_page(study, result, files);
    if (status == TC_INTERRUPTED)
        tc_buffer_printf(&study->cli->messages, "tacit %s: interrupted: this is how far it came\n", study->command);
    return written == TC_OK ? status : written;
}
