#include "cli/study/study.h"

enum { METHOD, JSON, THREADS, FULL };

static const tc_option options[] = {
    [METHOD] = {.name = "method",
                .type = TC_OPTION_CHOICE,
                .argument = "M",
                .choices = tc_method_choices,
                .text =
                    "The method that will run: tacit, which takes objectives with kinks and is meant where nothing is "
                    "said, or published."},
    [JSON] = TC_JSON_OPTION,
    [THREADS] = TC_SETUP_THREADS,
    [FULL] = {.name = "full",
              .type = TC_OPTION_FLAG,
              .text = "Report every agent by itself and points in full, however many agents there are."},
};

static const tc_example examples[] = {
    {"tacit check ev.tacit", "Which assumptions hold, and the constants that the noise is scaled by."},
    {"tacit check ev.tacit --json", "The same for a program."},
};

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    tc_study study;
    tacit_result *result = NULL;
    tc_study_begin(&study, cli, "check");
    study.options.full = arguments->values[FULL].flag;
    study.is_spread = true;
    study.needs_all = study.options.full ? "--full prints the constants of every member" : NULL;
    study.options.threads = arguments->values[THREADS].given ? (size_t)arguments->values[THREADS].integer : 0;
    if (arguments->values[METHOD].given)
        study.options.method = arguments->values[METHOD].text;
    tc_status status = tc_study_load(&study, arguments->operands[0]);
    if (status != TC_OK)
        return status;
    tacit_status made = tacit_check(study.problem, &study.options, &result, NULL);
    return tc_study_end(&study, made, result, arguments->values[JSON].flag, yes);
}

const tc_command tc_command_check = {
    .usage = {.name = "check",
              .summary = "verify a problem's assumptions and print its certified constants",
              .operands = "FILE",
              .least_operands = 1,
              .most_operands = 1,
              .operand_help = TC_FILE_HELP,
              .description =
                  "Reads a problem file and proves, or fails to prove, that the objectives are convex (and smooth, for "
                  "--method published), that "
                  "every agent's set is a non-empty compact convex set, that the constraints are convex and smooth, "
                  "and that a point satisfies all of them strictly (Slater's condition). A failure names the smallest "
                  "expression at fault.\n\n"
                  "Prints Lipschitz constants as brackets: the upper bound is proved over the public box, the lower "
                  "one is attained at a point. Constants declared in the file are compared with them.\n\n"
                  "The exit code is 0 when every assumption is proved and 1 when one is not.",
              .options = options,
              .option_count = sizeof options / sizeof options[0],
              .examples = examples,
              .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
    .has_ranks = true,
};
