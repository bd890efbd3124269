#include "cli/study/study.h"

#include "base/ranks/ranks.h"
#include "plan/plan.h"
#include "report/report.h"

#include <stdio.h>

enum { JSON = TC_PRIVACY_OPTION_COUNT, LEDGER, BUDGET, ROUNDS_PER_DAY, ON_LATE, MOST_HOLDS, CERTIFICATE };

static const tc_option options[] = {
    TC_PRIVACY_OPTIONS,
    [JSON] = TC_JSON_OPTION,
    [LEDGER] = {.name = "ledger",
                .type = TC_OPTION_STRING,
                .argument = "FILE",
                .text = "Show what the runs in this ledger have cost, and what this plan would add. A plan spends "
                        "nothing and enters nothing."},
    [BUDGET] = TC_BUDGET_OPTION,
    [ROUNDS_PER_DAY] = {.name = "rounds-per-day",
                        .type = TC_OPTION_INT,
                        .argument = "N",
                        .least = 1,
                        .most = 0x1p48 - 1,
                        .text = "How many rounds a day has: for the price of hiding a day."},
    [ON_LATE] = TC_LATE_ON_LATE,
    [MOST_HOLDS] = TC_LATE_MOST_HOLDS,
    [CERTIFICATE] = {.name = "certificate",
                     .type = TC_OPTION_STRING,
                     .argument = "FILE.json",
                     .text = "Write what the plan rests on: the public model, boxes, lattices, scales, and what every "
                             "observer pays. examples/verify/verify_plan.py checks such a file without this program. "
                             "Nothing is written if the plan is not private."},
};

static const tc_example examples[] = {
    {"tacit plan ev.tacit", "The noise that the file asks for, what every observer learns, and the guarantee card."},
    {"tacit plan ev.tacit --epsilon 'ln(2)' --adjacency one:1",
     "Another promise for the same problem: hide one agent's messages up to a total change of 1."},
    {"tacit plan ev.tacit --adjacency agent --rounds 2000 --delta 1e-6",
     "Hide everything that one agent could do in 2,000 rounds."},
    {"tacit plan ev.tacit --coalition 'home[1],home[2]' --json", "Also what two agents learn together; for a program."},
    {"tacit plan paper.tacit --calibration published --constants declared",
     "The paper's scheme to the letter; exit code 1 if its constants do not keep the promise."},
    {"tacit plan ev.tacit --method published --rounds 2000", "Where noise would go for the paper's steps."},
    {"tacit plan ev.tacit --on-late hold --most-holds 2", "The price of a cloud that does not wait for late agents."},
    {"tacit plan ev.tacit --ledger spent --budget 4:1e-6",
     "The price of all runs with this one, and whether a budget would allow it."},
    {"tacit plan ev.tacit --certificate ev.json", "A file from which others can check every price."},
};

static tc_status check_certificate(tc_cli *cli, const tc_arguments *arguments) {
    const tc_output_file output = {
        "--certificate",
        arguments->values[CERTIFICATE].text,
        {.mark = TC_CERTIFICATE_MARK, .other_mark = TC_CERTIFICATE_MARK_LAST, .name = "a certificate"}};
    const tc_input_file inputs[] = {{"the problem", arguments->operands[0]},
                                    {"the ledger", arguments->values[LEDGER].text}};
    return tc_outputs_check(cli->arena, &output, 1, inputs, sizeof inputs / sizeof *inputs, &cli->messages);
}

static tc_status write_certificate(tc_cli *cli, const char *path, tacit_result *plan) {
    char *problem = NULL;
    tc_file *file = NULL;
    if (path == NULL)
        return TC_OK;
    const char *text = tacit_plan_certificate(plan, &problem);
    if (text == NULL) {
        tc_buffer_printf(&cli->messages, "tacit plan: '%s' was not written: %s", path,
                         problem == NULL ? "out of memory\n" : problem);
        tacit_text_free(problem);
        return TC_OK;
    }
    tc_status status = tc_file_open(cli->arena, path, &cli->messages, &file);
    if (status != TC_OK)
        return status;
    (void)fputs(text, file->stream); /* tc_file_close finds errors */
    return tc_file_close(file, &cli->messages);
}

static tc_status read_options(tc_cli *cli, const tc_arguments *arguments, tacit_promise *promise) {
    const tc_option_value *values = arguments->values;
    tc_status status = tc_promise_options(cli, "plan", arguments, promise);
    if (status == TC_OK)
        status = tc_late_options(cli, "plan", &values[ON_LATE], &values[MOST_HOLDS], promise);
    if (status == TC_OK)
        status = tc_budget_option(cli, "plan", &values[BUDGET], promise);
    if (status == TC_OK && values[BUDGET].given && !values[LEDGER].given) {
        tc_buffer_puts(&cli->messages, "tacit plan: --budget wants --ledger FILE, where what was spent is written\n");
        status = TC_BAD_USAGE;
    }
    promise->ledger = values[LEDGER].given ? values[LEDGER].text : NULL;
    if (values[ROUNDS_PER_DAY].given)
        promise->rounds_per_day = (double)values[ROUNDS_PER_DAY].integer;
    if (status != TC_OK)
        return status;
    return tc_cli_agree(cli, tc_ranks_prints() ? check_certificate(cli, arguments) : TC_OK);
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    tc_study study;
    tacit_promise promise;
    tacit_result *result = NULL;
    tc_study_begin(&study, cli, "plan");
    tc_status status = read_options(cli, arguments, &promise);
    study.is_spread = true;
    study.needs_all = arguments->values[CERTIFICATE].given ? "--certificate writes down what every member does" : NULL;
    if (status == TC_OK)
        status = tc_study_load(&study, arguments->operands[0]);
    if (status != TC_OK)
        return status;
    tacit_status made = tacit_plan(study.problem, &promise, &study.options, &result, NULL);
    status = tc_study_end(&study, made, result, arguments->values[JSON].flag, yes);
    if (status == TC_OK && tc_ranks_prints())
        status = write_certificate(cli, arguments->values[CERTIFICATE].text, result);
    if (status != TC_OK)
        cli->output.length = 0;
    return status;
}

const tc_command tc_command_plan = {
    .usage =
        {.name = "plan",
         .summary = "say how much noise is needed, and what every observer learns",
         .operands = "FILE",
         .least_operands = 1,
         .most_operands = 1,
         .operand_help = TC_FILE_HELP,
         .description =
             "Reads a problem, or the cloud's part of it, and decides which numbers leave the cloud with how much "
             "noise, so that whatever anyone can see keeps the promise. Prints the scales, a comparison of placements, "
             "warnings where the method is not expected to do well, a certified upper bound of what each observer "
             "learns about the others over the whole run, a table of what it costs to hide more, and a card that says "
             "in plain words what is promised and what is not.\n\n"
             "A plan depends only on the cloud's part of the problem and on options: the whole file and the cloud's "
             "file "
             "give the same plan.\n\n"
             "The exit code is 0 when there is a plan and it is private; 1 when it is not (a seed, no mechanism, a "
             "declared constant that is too small, no public dual radius), when it is private in name only, when the "
             "budget does not allow it, when the constraints are not proved to be convex and smooth, "
             "when the declared Slater point violates one of them, or when no plan can be made; 2 when options or file "
             "do not say what to promise.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
    .has_ranks = true,
};
