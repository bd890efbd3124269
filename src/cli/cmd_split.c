#include "base/json.h"
#include "cli/cli.h"
#include "model/split.h"

enum { OUTPUT, FORCE, JSON };

static const tc_option options[] = {
    [OUTPUT] = {.name = "output",
                .letter = 'o',
                .required = true,
                .type = TC_OPTION_STRING,
                .argument = "DIR",
                .text = "Where the files go; the directory is made where it is missing."},
    [FORCE] = {.name = "force", .type = TC_OPTION_FLAG, .text = "Write into DIR even if it is not empty."},
    [JSON] = {.name = "json", .type = TC_OPTION_FLAG, .text = "Print one JSON object on standard output."},
};

static const tc_example examples[] = {
    {"tacit split ev.tacit -o parties", "Writes parties/cloud.tacit and a file in parties/agents for each agent."},
};

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *answer) {
    (void)answer;
    const char *directory = arguments->values[OUTPUT].text;
    tc_model *model = NULL;
    tc_status status = tc_cli_load(cli, arguments->operands[0], &model);
    if (status != TC_OK)
        return status;
    size_t files = 0;
    status =
        tc_split(cli->arena, model, directory, arguments->values[FORCE].flag, &cli->monitor, &cli->messages, &files);
    if (status != TC_OK)
        return status;
    if (arguments->values[JSON].flag) {
        tc_json json = tc_json_new(&cli->output);
        tc_json_open_object(&json, NULL);
        tc_json_string(&json, "directory", directory);
        tc_json_count(&json, "agents", model->agent_count);
        tc_json_count(&json, "files", files);
        tc_json_close_object(&json);
    } else {
        tc_buffer_printf(&cli->output, "%s: the cloud's file and those of %zu agents, %zu files in all\n", directory,
                         model->agent_count, files);
    }
    return TC_OK;
}

const tc_command tc_command_split = {
    .usage = {.name = "split",
              .summary = "write the cloud's file and one file per agent",
              .operands = "FILE",
              .least_operands = 1,
              .most_operands = 1,
              .description =
                  "Cuts a whole problem into what each party really holds. The cloud's file has the public "
                  "boxes, the constraints and what is said about the whole, and no private datum; an agent's "
                  "file has its own objective and set, and nothing of the others.\n\n"
                  "The dual radius must be public: either given in the file, or computed from public gaps "
                  "and a public Slater point. Agents' files are readable by their owner alone.",
              .options = options,
              .option_count = sizeof options / sizeof options[0],
              .examples = examples,
              .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
};
