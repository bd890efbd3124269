/* tacit report TRACE... -o FILE.html */
#include "cli/study/study.h"

#include "base/text.h"

#include <stdint.h>

enum { OUTPUT, TITLE, JSON };
static const tc_option options[] = {
    [OUTPUT] = {.name = "output",
                .letter = 'o',
                .required = true,
                .type = TC_OPTION_STRING,
                .argument = "FILE",
                .text = "The page to write. Overwrites an existing page, never another file."},
    [TITLE] = {.name = "title",
               .type = TC_OPTION_STRING,
               .argument = "TEXT",
               .text = "The page's title, instead of the problem's name."},
    [JSON] = TC_JSON_OPTION,
};

static const tc_example examples[] = {
    {"tacit report laplace.csv gaussian.csv -o report.html", "Compares two runs that were traced."},
    {"tacit report run.csv published.csv sweep.csv -o report.html",
     "A run with figures from a paper beside it, and a sweep."},
};

tc_status tc_trace_write_both(tc_cli *cli, const tc_trace *trace, const char *trace_path, const char *page_path) {
    tc_status status = trace_path == NULL ? TC_OK : tc_trace_write(cli->arena, trace_path, trace, &cli->messages);
    if (status != TC_OK || page_path == NULL)
        return status;
    return tc_report_write(cli->arena, page_path, NULL, &trace, 1, &cli->messages);
}

static tc_status check_files(tc_cli *cli, const tc_arguments *arguments) {
    const tc_output_file page = {"--output", arguments->values[OUTPUT].text, TC_PAGE_FILE};
    tc_input_file *inputs = TC_NEW(cli->arena, tc_input_file, arguments->operand_count);
    for (size_t i = 0; i < arguments->operand_count; i++)
        inputs[i] = (tc_input_file){"a trace to be read", arguments->operands[i]};
    return tc_outputs_check(cli, &page, 1, inputs, arguments->operand_count);
}

/* "page.html: 2 runs and 1 sweep, with 1 table of marks" */
static void print_line(tc_cli *cli, const char *path, const size_t *kinds) {
    size_t runs = kinds[TC_TRACE_RUN], sweeps = kinds[TC_TRACE_SWEEP], marks = kinds[TC_TRACE_MARKS];
    const char *separator = ": ";
    tc_buffer_puts(&cli->output, path);
    if (runs > 0) {
        tc_buffer_printf(&cli->output, "%s%zu trace%s of runs", separator, runs, tc_plural(runs));
        separator = ", ";
    }
    if (sweeps > 0) {
        tc_buffer_printf(&cli->output, "%s%zu of sweeps", separator, sweeps);
        separator = ", ";
    }
    if (marks > 0)
        tc_buffer_printf(&cli->output, "%s%zu of marks", separator, marks);
    tc_buffer_puts(&cli->output, "\n");
}

static void print_json(tc_cli *cli, const char *path, const size_t *kinds) {
    tc_json json = tc_json_new(&cli->output);
    tc_json_open_object(&json, NULL);
    tc_json_string(&json, "file", path);
    tc_json_count(&json, "runs", kinds[TC_TRACE_RUN]);
    tc_json_count(&json, "sweeps", kinds[TC_TRACE_SWEEP]);
    tc_json_count(&json, "marks", kinds[TC_TRACE_MARKS]);
    tc_json_close_object(&json);
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    size_t count = arguments->operand_count;
    const tc_trace **traces = TC_NEW(cli->arena, const tc_trace *, count);
    size_t kinds[] = {[TC_TRACE_RUN] = 0, [TC_TRACE_SWEEP] = 0, [TC_TRACE_MARKS] = 0};
    (void)yes; /* always yes */
    tc_status status = check_files(cli, arguments);
    if (status != TC_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        tc_progress(&cli->monitor, "reading", (double)i / (double)count);
        tc_trace *trace = NULL;
        status = tc_trace_read(cli->arena, arguments->operands[i], &cli->monitor, &cli->messages, &trace);
        if (status != TC_OK)
            return status;
        traces[i] = trace;
        kinds[trace->kind]++;
    }
    status = tc_report_write(cli->arena, arguments->values[OUTPUT].text, arguments->values[TITLE].text, traces, count,
                             &cli->messages);
    if (status == TC_OK)
        (arguments->values[JSON].flag ? print_json : print_line)(cli, arguments->values[OUTPUT].text, kinds);
    return status;
}

const tc_command tc_command_report = {
    .usage =
        {.name = "report",
         .summary = "plots and tables of runs, one self-contained page",
         .operands = "TRACE...",
         .least_operands = 1,
         .most_operands = SIZE_MAX,
         .description =
             "Writes one HTML page about traces of run and sweep (--trace): errors over rounds on linear and log "
             "axes with bands over seeds, constraint values, multipliers and the objective, what privacy costs, "
             "tables, the guarantee card and the command that repeats each. Several traces are also drawn "
             "side by side. The page needs no network and no script, follows light and dark mode, and prints "
             "well.\n\n"
             "A trace of kind marks holds figures from elsewhere, such as a paper. It belongs to the run before it "
             "on the command line, and its figures stand beside that run's in plots and tables. It is written "
             "by hand; docs/trace.md says how.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
};
