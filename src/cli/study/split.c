#include "cli/study/study.h"

enum { OUTPUT, FORCE, JSON };

static const tc_option options[] = {
    [OUTPUT] = {.name = "output",
                .letter = 'o',
                .required = true,
                .type = TC_OPTION_STRING,
                .argument = "DIR",
                .text = "Where the files go; it and its parents are created if missing."},
    [FORCE] = {.name = "force",
               .type = TC_OPTION_FLAG,
               .text = "Replace what an earlier split wrote into DIR; other files there stay."},
    [JSON] = TC_JSON_OPTION,
};

static const tc_example examples[] = {
    {"tacit split ev.tacit -o parties", "Writes parties/cloud.tacit and a file in parties/agents for each agent."},
};

/* All messages begin with the file or the folder that they are about. */
static int show_message(void *context, const char *line) {
    const tc_study *study = context;
    tc_buffer_printf(&study->cli->messages, "%s\n", line);
    return 0;
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    tc_study study;
    tacit_result *result = NULL;
    tc_study_begin(&study, cli, "split");
    study.options.warning = show_message;
    tc_status status = tc_study_load(&study, arguments->operands[0]);
    if (status != TC_OK)
        return status;
    tacit_status made = tacit_split(study.problem, arguments->values[OUTPUT].text, arguments->values[FORCE].flag,
                                    &study.options, &result, NULL);
    status = tc_study_end(&study, made, result, arguments->values[JSON].flag, yes);
    if (!*yes)
        cli->output.length = 0; /* a failure, which the messages explain */
    return status;
}

const tc_command tc_command_split = {
    .usage = {.name = "split",
              .summary = "write the cloud's file and one file per agent",
              .operands = "FILE",
              .least_operands = 1,
              .most_operands = 1,
              .operand_help = TC_FILE_HELP,
              .description =
                  "Cuts a whole problem into one file per party. The cloud's file has the public boxes, the "
                  "constraints and what is said about the whole, but no private data; an agent's file has its own "
                  "objective and set, and nothing of the others.\n\n"
                  "The dual radius must be public: either given in the file, or computed from public gaps and a "
                  "public Slater point. If none can be computed, since the point violates a constraint or lies "
                  "outside of an agent's set, nothing is written and the exit code is 1. A promise that private data "
                  "contradict, such as a gap that is too small, causes a warning.\n\n"
                  "If the file says what to promise, plan.hash and the last line of every agent's file have the hash "
                  "of the plan that tacit serve makes of it without options: tacit agent --plan takes part in no "
                  "other. A cloud with other options, also those for late agents, has another plan; tacit plan --json "
                  "with these options prints its hash.\n\n"
                  "Agents' files are readable by their owner only. Either all files are written or none.",
              .options = options,
              .option_count = sizeof options / sizeof options[0],
              .examples = examples,
              .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
};
