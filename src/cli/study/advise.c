#include "cli/study/study.h"

enum { JSON = TC_PRIVACY_OPTION_COUNT, DOUBT, CONSTRAINT };

static const tc_option options[] = {
    TC_PROMISE_OPTIONS,
    TC_FEASIBLE_OPTION,
    [JSON] = TC_JSON_OPTION,
    [DOUBT] = {.name = "doubt",
               .type = TC_OPTION_STRING,
               .argument = "D",
               .standard = "5%",
               .text =
                   "The tolerable doubt, one standard deviation: a number in the constraints' units, as 50, or a "
                   "part of each limit, as 5%. Where a limit is 0 or not a number, the part is of the range over the "
                   "public boxes."},
    [CONSTRAINT] = {.name = "constraint",
                    .type = TC_OPTION_STRING,
                    .argument = "NAME",
                    .text = "Ask about this constraint alone, or about all of this name: feeder[3], feeder."},
};

static const tc_example examples[] = {
    {"tacit advise ev.tacit", "The epsilon that leaves a doubt of 5 % of each limit, in the unit of the file."},
    {"tacit advise ev.tacit --doubt 50 --constraint 'feeder[9]'", "50 kW of doubt in one hour."},
    {"tacit advise ev.tacit --doubt 10% --epsilon 1", "Whether epsilon 1 is enough for 10 %; exit code 1 if not."},
    {"tacit advise ev.tacit --adjacency one:7.4 --rounds 2000 --json",
     "To hide one state of one agent by its whole range; for a program."},
};

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    const tc_option_value *values = arguments->values;
    tc_study study;
    tacit_promise promise;
    tacit_advise_options wishes;
    tacit_result *result = NULL;
    tc_study_begin(&study, cli, "advise");
    tacit_advise_options_default(&wishes, sizeof wishes);
    wishes.doubt = values[DOUBT].text;
    wishes.constraint = values[CONSTRAINT].given ? values[CONSTRAINT].text : NULL;
    tc_status status = tc_promise_options(cli, "advise", arguments, &promise);
    if (status == TC_OK)
        status = tc_study_load(&study, arguments->operands[0]);
    if (status != TC_OK)
        return status;
    tacit_status made = tacit_advise(study.problem, &promise, &wishes, &study.options, &result, NULL);
    return tc_study_end(&study, made, result, values[JSON].flag, yes);
}

const tc_command tc_command_advise = {
    .usage =
        {.name = "advise",
         .summary = "say which promise leaves a tolerable doubt in the constraints",
         .operands = "FILE",
         .least_operands = 1,
         .most_operands = 1,
         .operand_help = TC_FILE_HELP,
         .description =
             "Reads a problem, or the cloud's part of it, and answers how accurate a private run can be. The doubt of "
             "a "
             "constraint is one standard deviation of the noise that is left in it at the result, in the constraint's "
             "own units. From the doubt that is tolerable follows the least epsilon that leaves no more, for what the "
             "file or --adjacency hides; from an epsilon follows the doubt.\n\n"
             "Prints a recommendation; a table of doubts for five epsilons, Laplace and Gaussian noise, and other "
             "units of privacy beside the one that is asked for: one agent's messages (one:B) and one agent entirely "
             "(agent). The B of one:B and ensemble:B is a total with Laplace noise and a root-sum-square with Gaussian "
             "noise: two promises, which are not compared. If --mechanism or the file names the noise, its promise "
             "alone is looked at; otherwise each has a recommendation. Prints also "
             "which noise is better, how many rounds are enough, how many agents there would have to be, and what it "
             "would cost if nobody trusted the cloud.\n\n"
             "All of it comes from public facts: the whole file and the cloud's file give the same advice. It is about "
             "method tacit. How far states and multipliers end from the best ones depends on private objectives; tacit "
             "run --seeds and tacit sweep simulate that.\n\n"
             "The exit code is 0 when something can be recommended; 1 when no epsilon up to 10, or up to --epsilon, "
             "leaves a tolerable doubt and more than the name of privacy, or when no plan can be made; 2 when options "
             "or "
             "file do not say what to hide.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
};
