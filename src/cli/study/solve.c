#include "cli/study/study.h"

#include "api/solution.h"

/* ---- what runs are measured against ---- */

static void judge(tc_cli *cli, tc_setup *setup, tc_run_target *target) {
    const tc_reference *reference = target->reference;
    double sum = 0;
    if (reference->outcome == TC_INFEASIBLE_SUSPECTED) {
        tc_buffer_printf(&cli->messages,
                         "tacit %s: no point seems to satisfy all constraints: there is no solution to compare with\n",
                         setup->command);
        target->reference = NULL;
        setup->sound = false;
        return;
    }
    if (reference->outcome == TC_INACCURATE)
        tc_buffer_printf(&cli->messages,
                         reference->is_solution
                             ? "tacit %s: errors are distances to a solution that may not be the one of least norm\n"
                             : "tacit %s: errors are distances to a point that solves the problem only roughly "
                               "(tacit solve says how)\n",
                         setup->command);
    for (size_t j = 0; j < setup->model->constraint_count; j++)
        sum += reference->mu[j];
    if (!(sum > setup->dual_radius + reference->residual))
        return;
    target->warning = tc_arena_format(cli->arena,
                                      "the solution's multipliers sum to %.6g, more than the dual radius of %.6g: the "
                                      "run cannot reach it",
                                      sum, setup->dual_radius);
    tc_buffer_printf(&cli->messages, "tacit %s: %s\n", setup->command, target->warning);
}

tc_status tc_run_target_find(tc_cli *cli, tc_setup *setup, double tolerance, tc_run_target *target) {
    double began = tc_cli_seconds();
    target->reference = tc_reference_solve(cli->arena, setup->model, setup->derivatives, tolerance, &cli->monitor);
    target->seconds = tc_cli_seconds() - began;
    if (target->reference->outcome == TC_SOLVE_INTERRUPTED)
        return TC_INTERRUPTED;
    judge(cli, setup, target);
    return TC_OK;
}

/* ---- the command ---- */

enum { JSON, TOLERANCE, FULL };

static const tc_option options[] = {
    [JSON] = TC_JSON_OPTION,
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

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    tc_model *model = NULL;
    tc_status status = tc_cli_load(cli, arguments->operands[0], &model);
    if (status != TC_OK)
        return status;
    if (model->role != TC_ROLE_WHOLE) {
        tc_buffer_printf(&cli->messages, "%s: this file holds one party's part; solve wants the whole problem\n",
                         model->source.path);
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
    *yes = tc_solution_holds(&solution);
    return solution.reference->outcome == TC_SOLVE_INTERRUPTED ? TC_INTERRUPTED : TC_OK;
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
    .run = run,
};
