#include "cli/study/study.h"

#include <math.h>

enum { JSON = TC_PRIVACY_OPTION_COUNT, WITHIN };

static const tc_option options[] = {
    TC_PRIVACY_OPTIONS_WITHOUT_COALITION, /* no observer is shown */
    [JSON] = TC_JSON_OPTION,
    [WITHIN] = {.name = "within",
                .type = TC_OPTION_REAL,
                .argument = "D",
                .least = 0,
                .most = INFINITY,
                .text = "Say with what probability the error is at most D, after T rounds and for ever after; a tenth "
                        "of the diameter unless given."},
};

static const tc_example examples[] = {
    {"tacit bound ev.tacit", "What is proved about a run before it is made: often nothing."},
    {"tacit bound ev.tacit --rounds 1000000000 --mechanism none --json",
     "What longer runs without noise could promise; for a program."},
};

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    const tc_option_value *within = &arguments->values[WITHIN];
    tc_study study;
    tacit_promise promise;
    tacit_result *result = NULL;
    tacit_plan_facts plan = {.size = sizeof plan};
    tc_study_begin(&study, cli, "bound");
    tc_status status = tc_promise_options(cli, "bound", arguments, &promise);
    if (status == TC_OK)
        status = tc_study_load(&study, arguments->operands[0]);
    if (status != TC_OK)
        return status;
    tacit_status made =
        tacit_bound(study.problem, &promise, within->given ? within->real : (double)NAN, &study.options, &result, NULL);
    status = tc_study_end(&study, made, result, arguments->values[JSON].flag, yes);
    if (tacit_result_plan(result, &plan) == TACIT_OK && plan.problem != NULL)
        cli->output.length = 0; /* a failure, which the messages explain */
    return status;
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
