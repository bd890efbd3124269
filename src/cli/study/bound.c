#include "cli/study/study.h"

#include "theory/bound.h"

enum { JSON = TC_PRIVACY_OPTION_COUNT, WITHIN };

static const tc_option options[] = {
    TC_PRIVACY_OPTIONS,
    [JSON] = TC_JSON_OPTION,
    [WITHIN] = {.name = "within",
                .type = TC_OPTION_REAL,
                .argument = "D",
                .least = 0,
                .most = INFINITY,
                .text = "Say with what probability the error is at most D, after T rounds and for ever after; a tenth "
                        "of the diameter unless given."},
};

#define TOLERANCE 1e-8 /* of the solution whose multipliers R is compared with */

static const tc_example examples[] = {
    {"tacit bound ev.tacit", "What is proved about a run before it is made: often nothing."},
    {"tacit bound ev.tacit --rounds 1000000000 --mechanism none --json",
     "What longer runs without noise could promise; for a program."},
};

static void print(tc_cli *cli, const tc_bound *bound, bool as_json) {
    if (!as_json) {
        tc_bound_text(bound, &cli->output, 80);
        return;
    }
    tc_json json = tc_json_new(&cli->output);
    tc_json_open_object(&json, NULL);
    tc_bound_json(bound, &json);
    tc_json_close_object(&json);
}

/* xi_T is about the problem with multipliers in M: of use only where a solution exists and its multipliers are in M. */
static tc_status compare_with_solution(tc_cli *cli, const tc_setup *setup, tc_bound_wishes *asked) {
    asked->problem = setup->problem;
    if (setup->problem != NULL || !setup->sound || setup->model->constraint_count == 0)
        return TC_OK;
    const tc_reference *reference =
        tc_reference_solve(cli->arena, setup->model, setup->derivatives, TOLERANCE, &cli->monitor);
    double sum = 0;
    if (reference->outcome == TC_SOLVE_INTERRUPTED)
        return TC_INTERRUPTED;
    if (reference->outcome == TC_INFEASIBLE_SUSPECTED) {
        asked->problem = "no point seems to satisfy all constraints";
        return TC_OK;
    }
    for (size_t j = 0; j < setup->model->constraint_count; j++)
        sum += reference->mu[j];
    asked->outside_radius = sum > setup->dual_radius + reference->residual;
    if (asked->outside_radius)
        tc_buffer_printf(&cli->messages,
                         "tacit bound: the solution's multipliers sum to %.6g, more than the dual radius of %.6g: no "
                         "run can reach it\n",
                         sum, setup->dual_radius);
    return TC_OK;
}

/* Theorem 3 is about the paper's steps, even if runs use another method by default. */
static tc_status take_published(tc_cli *cli, tc_privacy_wishes *wishes) {
    if (wishes->plan.method == TC_METHOD_TACIT || wishes->margin.kind != TC_MARGIN_NONE) {
        tc_buffer_puts(&cli->messages,
                       "tacit bound: the theorem is about the published method, and what is proved about "
                       "the method tacit is no bound of its error: leave out --method tacit and "
                       "--margin\n");
        return TC_BAD_USAGE;
    }
    wishes->plan.method = TC_METHOD_PUBLISHED;
    return TC_OK;
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    tc_privacy_wishes wishes;
    tc_setup setup;
    const tc_plan *plan = NULL;
    tc_status status = tc_privacy_options_read(cli, "bound", arguments, &wishes);
    if (status == TC_OK)
        status = take_published(cli, &wishes);
    if (status == TC_OK)
        status = tc_setup_whole(cli, "bound", arguments->operands[0], &wishes, &setup);
    if (status == TC_OK)
        status = tc_setup_plan(cli, &setup, &wishes.plan, &plan);
    if (status != TC_OK)
        return status;
    if (plan->problem != NULL) {
        tc_buffer_printf(&cli->messages, "tacit bound: no plan can be made: %s\n", plan->problem);
        *yes = false;
        return TC_OK;
    }
    const tc_option_value *within = &arguments->values[WITHIN];
    tc_bound_wishes asked = {.within = within->given ? within->real : (double)NAN};
    status = compare_with_solution(cli, &setup, &asked);
    if (status != TC_OK)
        return status;
    const tc_bound *bound = tc_bound_make(cli->arena, setup.model, setup.derivatives, setup.analysis, plan,
                                          setup.dual_radius, &asked, &cli->monitor);
    if (tc_interrupted(&cli->monitor))
        return TC_INTERRUPTED;
    *yes = tc_bound_says_something(bound);
    print(cli, bound, arguments->values[JSON].flag);
    return TC_OK;
}

const tc_command tc_command_bound = {
    .usage =
        {.name = "bound",
         .summary = "say what is proved about the error of a run before it is made",
         .operands = "FILE",
         .least_operands = 1,
         .most_operands = 1,
         .operand_help = TC_FILE_HELP,
         .description =
             "Checks the four conditions under which the private algorithm converges, and bounds its mean squared "
             "error after T rounds from certified constants of the problem and the variances of the plan: once with "
             "the published recursion and once with a tighter one. Says from which round on the bound is valid. Calls "
             "it \"vacuous\" if it says nothing, that is, if it is not below 99 % of the squared diameter of all "
             "possible states and multipliers, which no error exceeds. Most bounds are vacuous; runs do far better "
             "than can be proved beforehand.\n\n"
             "The error is the distance to the solution of the problem as it is regularised in round T. All of this is "
             "about method published, which is the default here; --method tacit is refused, since nothing is proved "
             "beforehand about its error.\n\n"
             "The exit code is 0 when every condition holds and the (tight) bound says something, and 1 when a "
             "condition fails, the theorem does not apply, or the bound is vacuous.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
};
