#include "cli/study/study.h"

enum { JSON, TOLERANCE, THREADS, FULL };

static const tc_option options[] = {
    [JSON] = TC_JSON_OPTION,
    [TOLERANCE] = {.name = "tolerance",
                   .type = TC_OPTION_REAL,
                   .argument = "T",
                   .least = 1e-14,
                   .most = 1,
                   .standard = "1e-8",
                   .text = "Stop when the residual of the saddle point conditions is at most T."},
    [THREADS] = TC_SETUP_THREADS,
    [FULL] = {.name = "full", .type = TC_OPTION_FLAG, .text = "Print every state and multiplier, however many."},
};

static const tc_example examples[] = {
    {"tacit solve ev.tacit", "The best joint decision, as a table."},
    {"tacit solve ev.tacit --tolerance 1e-10 --json", "More digits, for a program."},
};

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    tc_study study;
    tacit_result *result = NULL;
    tc_study_begin(&study, cli, "solve");
    study.options.full = arguments->values[FULL].flag;
    study.options.tolerance = arguments->values[TOLERANCE].real;
    study.options.threads = arguments->values[THREADS].given ? (size_t)arguments->values[THREADS].integer : 0;
    tc_status status = tc_study_load(&study, arguments->operands[0]);
    if (status != TC_OK)
        return status;
    tacit_status made = tacit_solve(study.problem, &study.options, &result, NULL);
    return tc_study_end(&study, made, result, arguments->values[JSON].flag, yes);
}

const tc_command tc_command_solve = {
    .usage =
        {.name = "solve",
         .summary = "compute the exact solution, without privacy",
         .operands = "FILE",
         .least_operands = 1,
         .most_operands = 1,
         .operand_help = TC_FILE_HELP,
         .description =
             "Computes the saddle point of the Lagrangian that has the least norm: the decision that the private "
             "algorithm approaches, and the multipliers of the shared constraints. It sees everybody's data, and is "
             "meant for study and to measure private runs against.\n\n"
             "The exit code is 0 when the tolerance is reached, and 1 when it is not, when the constraints seem to "
             "contradict each other, or when the problem is not proved convex and smooth: then the point is only "
             "stationary. Ctrl-C or SIGTERM prints the best point so far and ends with exit code 3.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .wants_one_rank = "the exact solution needs the whole problem in one memory",
    .run = run,
};
