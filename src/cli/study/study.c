#include "cli/study/study.h"

#include "api/result.h"

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

/* A line that begins with the problem's path is about the file, as a compiler's. */
static int show_warning(void *context, const char *line) {
    const tc_study *study = context;
    size_t length = study->path == NULL ? 0 : strlen(study->path);
    bool is_of_file = length > 0 && strncmp(line, study->path, length) == 0 && line[length] == ':';
    if (is_of_file)
        tc_buffer_printf(&study->cli->messages, "%s\n", line);
    else
        tc_buffer_printf(&study->cli->messages, "tacit %s: %s\n", study->command, line);
    return 0;
}

void tc_study_begin(tc_study *study, tc_cli *cli, const char *command) {
    *study = (tc_study){.cli = cli, .command = command};
    tacit_options_default(&study->options, sizeof study->options);
    study->options.context = study;
    study->options.interrupted = is_interrupted;
    study->options.progress = show_progress;
    study->options.warning = show_warning;
}

static void free_problem(void *problem) { tacit_problem_free(problem); }
static void free_result(void *result) { tacit_result_free(result); }

tc_status tc_study_load(tc_study *study, const char *path) {
    char *message = NULL;
    bool is_input = tc_is_standard_input(path);
    tacit_source source = {.size = sizeof source,
                           .path = is_input ? "<stdin>" : path,
                           .interrupted = is_interrupted,
                           .context = study};
    study->path = source.path;
    tacit_status status = tc_problem_make(&source, is_input, &study->problem, &message);
    if (study->problem != NULL)
        tc_arena_on_free(study->cli->arena, free_problem, study->problem);
    if (message != NULL)
        tc_buffer_puts(&study->cli->messages, message);
    tacit_text_free(message);
    return (tc_status)status;
}

tc_status tc_study_end(tc_study *study, tacit_status status, tacit_result *result, bool wants_json, bool *yes) {
    if (status != TACIT_OK)
        return (tc_status)status;
    tc_arena_on_free(study->cli->arena, free_result, result);
    const char *text = wants_json ? tacit_result_json(result) : tacit_result_text(result);
    if (text == NULL)
        return TC_NO_MEMORY;
    tc_buffer_puts(&study->cli->output, text);
    *yes = tacit_result_holds(result);
    return tacit_result_interrupted(result) ? TC_INTERRUPTED : TC_OK;
}
