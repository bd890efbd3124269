#include "cli/study/study.h"

#include "base/text.h"
#include "model/split/split.h"
#include "plan/plan.h"

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

static void explain_missing_radius(tc_cli *cli, const tc_analysis *analysis) {
    const char *path = analysis->model->source.path;
    tc_buffer_printf(&cli->messages,
                     "%s: error: the cloud needs a public dual radius, and none follows from the gaps and the declared "
                     "Slater point\n",
                     path);
    for (size_t i = 0; i < analysis->slater.finding_count; i++) {
        const tc_finding *finding = &analysis->slater.findings[i];
        tc_buffer_printf(&cli->messages, "%s: note: %s\n", finding->place != NULL ? finding->place : path,
                         finding->text);
    }
}

/* Checks what no party can check alone: the cloud's numbers rest on promises about private data. */
static bool examine(tc_cli *cli, tc_model *model, const tc_derivatives *derivatives, bool *interrupted) {
    tc_analysis_options wishes = {.rows_limit = 1};
    const tc_analysis *analysis = tc_analysis_run(cli->arena, model, derivatives, &wishes, &cli->monitor);
    *interrupted = analysis->interrupted;
    if (analysis->interrupted)
        return false;
    /* tc_split reports what is missing in the file. */
    if (isnan(analysis->dual_radius.public_value) && tc_radius_is_promised(model)) {
        explain_missing_radius(cli, analysis);
        return false;
    }
    for (size_t i = 0; i < analysis->gap_warnings; i++)
        tc_buffer_printf(&cli->messages, "%s: warning: %s\n", model->source.path, analysis->warnings[i]);
    if (analysis->dual_radius.public_too_small)
        tc_buffer_printf(&cli->messages,
                         "%s: warning: the public dual radius is smaller than the private data call for\n",
                         model->source.path);
    if (!tc_analysis_holds(analysis))
        tc_buffer_printf(&cli->messages, "%s: warning: not all assumptions hold; tacit check says why\n",
                         model->source.path);
    return true;
}

/* The hash of the plan that tacit serve makes of the cloud's file without options, from the same public facts. NULL
 * where the file does not say what to promise, or no plan keeps it. */
static const char *find_plan(tc_cli *cli, tc_model *model, const tc_derivatives *derivatives, bool *interrupted) {
    tc_analysis_options public_facts = {.skip_private = true};
    const tc_plan_options wishes = {
        .adjacency_bound = NAN, .epsilon = NAN, .delta = NAN, .rounds = NAN, .hold_cap = NAN};
    const tc_analysis *analysis = tc_analysis_run(cli->arena, model, derivatives, &public_facts, &cli->monitor);
    *interrupted = analysis->interrupted;
    if (analysis->interrupted)
        return NULL;
    const tc_plan *plan = tc_plan_make(cli->arena, model, derivatives, analysis, &wishes, &cli->monitor);
    *interrupted = tc_interrupted(&cli->monitor);
    return *interrupted || tc_certificate_problem(plan) != NULL
               ? NULL
               : tc_hexadecimal_new(cli->arena, plan->hash, sizeof plan->hash);
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    const char *directory = arguments->values[OUTPUT].text;
    tc_model *model = NULL;
    tc_status status = tc_cli_load(cli, arguments->operands[0], &model);
    if (status != TC_OK)
        return status;
    bool interrupted = false;
    const char *plan = NULL;
    if (model->role == TC_ROLE_WHOLE) {
        tc_progress(&cli->monitor, "differentiating", 0);
        const tc_derivatives *derivatives = tc_derive(cli->arena, model);
        if (!examine(cli, model, derivatives, &interrupted)) {
            *yes = false;
            return interrupted ? TC_INTERRUPTED : TC_OK;
        }
        plan = find_plan(cli, model, derivatives, &interrupted);
        if (interrupted)
            return TC_INTERRUPTED;
    }
    size_t files = 0;
    status = tc_split_planned(cli->arena, model, directory, arguments->values[FORCE].flag, plan, &cli->monitor,
                              &cli->messages, &files);
    if (status != TC_OK)
        return status;
    size_t shared_count = 0;
    const tc_shared_secret *shared = tc_split_shared(cli->arena, model, &shared_count);
    if (arguments->values[JSON].flag) {
        tc_json json = tc_json_new(&cli->output);
        tc_json_open_object(&json, NULL);
        tc_json_string(&json, "directory", directory);
        tc_json_count(&json, "agents", model->agent_count);
        tc_json_count(&json, "files", files);
        tc_json_open_array(&json, "shared_secrets");
        for (size_t i = 0; i < shared_count; i++) {
            tc_json_open_object(&json, NULL);
            tc_json_string(&json, "name", shared[i].name);
            tc_json_count(&json, "agents", shared[i].agents);
            tc_json_close_object(&json);
        }
        tc_json_close_array(&json);
        tc_json_string(&json, "plan", plan);
        tc_json_close_object(&json);
    } else {
        tc_buffer_printf(&cli->output, "%s: the cloud's file and %s of %zu agent%s, %zu files in all\n", directory,
                         model->agent_count == 1 ? "that" : "those", model->agent_count,
                         model->agent_count == 1 ? "" : "s", files);
        for (size_t i = 0; i < shared_count; i++)
            tc_buffer_printf(&cli->output,
                             "  the private '%s' is in the files of %zu agents: a secret that they share\n",
                             shared[i].name, shared[i].agents);
        if (plan != NULL)
            tc_buffer_printf(&cli->output, "plan %s\n", plan);
    }
    return TC_OK;
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
