#include "api/solution.h"
#include "calculus/derivatives.h"
#include "cli/cli.h"

enum { JSON, TOLERANCE, FULL };

static const tc_option options[] = {
    [JSON] = {.name = "json", .type = TC_OPTION_FLAG, .text = "Print one JSON object on standard output."},
    [TOLERANCE] = {.name = "tolerance",
                   .type = TC_OPTION_REAL,
                   .argument = "T",
                   .least = 1e-14,
                   .most = 1,
                   .standard = "1e-8",
                   .text = "Stop when the residual of the saddle point conditions is at most T."},
    [FULL] = {.name = "full", .type = TC_OPTION_FLAG, .text = "Print every state and multiplier, however many."},
};

static const tc_example examples[] = {
    {"tacit solve ev.tacit", "The best joint decision, as a table."},
    {"tacit solve ev.tacit --tolerance 1e-10 --json", "More digits, for a program."},
};

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *answer) {
    tc_model *model = NULL;
    tc_status status = tc_cli_load(cli, arguments->operands[0], &model);
    if (status != TC_OK)
        return status;
    if (model->role != TC_ROLE_WHOLE) {
        tc_buffer_printf(&cli->messages, "%s: this file holds one party's part; solve wants the whole problem\n",
                         arguments->operands[0]);
        return TC_BAD_PROBLEM;
    }
    tc_progress(&cli->monitor, "differentiating", 0);
    tc_derivatives *derivatives = tc_derive(cli->arena, model);
    tc_solution solution =
        tc_solution_find(cli->arena, model, derivatives, arguments->values[TOLERANCE].real, &cli->monitor);
    if (arguments->values[JSON].flag) {
        tc_json json = tc_json_new(&cli->output);
        tc_solution_json(&solution, &json);
    } else {
        tc_solution_text(&solution, arguments->values[FULL].flag, &cli->output);
    }
    *answer = tc_solution_holds(&solution);
    return solution.reference->outcome == TC_SOLVE_INTERRUPTED ? TC_INTERRUPTED : TC_OK;
}

const tc_command tc_command_solve = {
    .usage =
        {.name = "solve",
         .summary = "compute the exact solution, without privacy",
         .operands = "FILE",
         .least_operands = 1,
         .most_operands = 1,
         .description =
             "Computes the saddle point of the Lagrangian that has the least norm: the decision that the private "
             "algorithm approaches, and the multipliers of the shared constraints. It sees everybody's data and "
             "is meant for study, and to measure private runs against.\n\n"
             "The exit code is 0 when the tolerance is reached, and 1 when it is not, when the constraints seem to "
             "contradict each other, or when the problem is not proved convex and smooth: then the point is only "
             "stationary. Ctrl-C or SIGTERM prints the best point so far and ends with exit code 3.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
};
