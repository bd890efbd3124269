/* tacit report TRACE... -o FILE.html */
#include "cli/study/study.h"

#include "report/report.h"

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

static tc_status check_files(tc_cli *cli, const tc_arguments *arguments) {
    const tc_output_file page = {"--output", arguments->values[OUTPUT].text, TC_PAGE_FILE};
    tc_input_file *inputs = TC_NEW(cli->arena, tc_input_file, arguments->operand_count);
    for (size_t i = 0; i < arguments->operand_count; i++)
        inputs[i] = (tc_input_file){"a trace to be read", arguments->operands[i]};
    return tc_outputs_check(cli->arena, &page, 1, inputs, arguments->operand_count, &cli->messages);
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    tc_study study;
    tacit_result *result = NULL;
    tc_study_begin(&study, cli, "report");
    tc_status status = check_files(cli, arguments);
    if (status != TC_OK)
        return status;
    tacit_status made = tacit_report(arguments->operands, arguments->operand_count, arguments->values[OUTPUT].text,
                                     arguments->values[TITLE].text, &study.options, &result, NULL);
    return tc_study_end(&study, made, result, arguments->values[JSON].flag, yes);
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
