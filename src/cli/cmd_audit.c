#include "audit/audit.h"
#include "cli/cli.h"
#include "cli/end_to_end.h"
#include "cli/privacy_options.h"

enum { JSON = TC_PRIVACY_OPTION_COUNT, SAMPLES, SECONDS, CONFIDENCE, END_TO_END };

static const tc_option options[] = {
    TC_PRIVACY_OPTIONS_WITHOUT_COALITION, /* what is sampled is all that leaves the cloud */
    [JSON] = {.name = "json", .type = TC_OPTION_FLAG, .text = "Print one JSON object on standard output."},
    [SAMPLES] = {.name = "samples",
                 .type = TC_OPTION_INT,
                 .argument = "N",
                 .least = 10,
                 .most = 1e9,
                 .standard = "20000",
                 .text = "Releases of each of the two inputs, for each system. How many it takes to notice half the "
                         "noise depends on the problem: mostly some hundreds to some thousands, but hundreds of "
                         "thousands where what is claimed for a system is little or far from what the inputs show; "
                         "the answer says how many. A constant that is 5 % too small takes millions."},
    [SECONDS] = {.name = "seconds",
                 .type = TC_OPTION_REAL,
                 .argument = "S",
                 .least = 0.1,
                 .most = 1e7,
                 .text = "Stop sampling after about S seconds, and judge what there is."},
    [CONFIDENCE] = {.name = "confidence",
                    .type = TC_OPTION_REAL,
                    .argument = "C",
                    .least = 0.5,
                    .most = 1 - 1e-12,
                    .standard = "0.999999",
                    .text = "The probability with which all bounds hold together, and an honest release passes."},
    [END_TO_END] = {.name = "end-to-end",
                    .type = TC_OPTION_FLAG,
                    .text = "Also run two worlds that differ in what one agent says and release the same numbers, "
                            "through the cloud's half of the engine and through sockets on loopback: answers, pages, "
                            "journal, log and sizes must be the same, byte for byte, but for what is listed. It takes "
                            "some seconds, and a folder in TMPDIR."},
};

static const tc_example examples[] = {
    {"tacit audit paper.tacit", "Tries to refute the plan that tacit plan paper.tacit shows."},
    {"tacit audit paper.tacit --end-to-end", "Also compares all that leaves the cloud in two worlds."},
    {"tacit audit paper.tacit --calibration published --constants declared",
     "The paper's scheme with the constants that the file declares."},
};

static void print_problem(tc_cli *cli, const char *problem) {
    tc_json json = tc_json_new(&cli->output);
    tc_json_open_object(&json, NULL);
    tc_json_string(&json, "verdict", "inconclusive");
    tc_json_bool(&json, "refuted", false);
    tc_json_bool(&json, "private", false);
    tc_json_string(&json, "problem", problem);
    tc_json_close_object(&json);
}

static tc_status run_audit(tc_cli *cli, const tc_arguments *arguments, const tc_privacy_wishes *wishes, tc_model *model,
                           bool *answer) {
    tc_progress(&cli->monitor, "differentiating", 0);
    tc_derivatives *derivatives = tc_derive(cli->arena, model);
    tc_analysis_options facts = {.skip_private = true};
    tc_analysis *analysis = tc_analysis_run(cli->arena, model, derivatives, &facts, &cli->monitor);
    if (analysis->interrupted)
        return TC_INTERRUPTED;
    tc_plan *plan = tc_plan_make(cli->arena, model, derivatives, analysis, &wishes->plan, &cli->monitor);
    if (tc_interrupted(&cli->monitor))
        return TC_INTERRUPTED;
    if (plan->problem != NULL) {
        tc_buffer_printf(&cli->messages, "tacit audit: %s\n", plan->problem);
        if (!plan->refusal_is_usage && arguments->values[JSON].flag)
            print_problem(cli, plan->problem);
        *answer = false;
        return plan->refusal_is_usage ? TC_BAD_USAGE : TC_OK;
    }
    tc_audit_options how = {.samples = (uint64_t)arguments->values[SAMPLES].integer,
                            .seconds = arguments->values[SECONDS].given ? arguments->values[SECONDS].real : 0,
                            .confidence = arguments->values[CONFIDENCE].real,
                            .seeded = wishes->seeded,
                            .seed = wishes->seed};
    tc_audit *audit = NULL;
    tc_status status = tc_audit_run(cli->arena, plan, analysis, &how, &cli->monitor, &audit);
    if (status != TC_OK)
        return status;
    if (arguments->values[END_TO_END].flag && !audit->interrupted) {
        static const tc_end_to_end nothing = {.untested = "the plan was judged before anything was released"};
        tc_audit_take_end_to_end(audit, audit->point_count > 0 ? tc_end_to_end_run(cli) : &nothing);
        audit->interrupted = tc_interrupted(&cli->monitor);
    }
    if (arguments->values[JSON].flag) {
        tc_json json = tc_json_new(&cli->output);
        tc_json_open_object(&json, NULL);
        tc_audit_json(audit, &json);
        tc_json_close_object(&json);
    } else {
        tc_audit_text(audit, &cli->output);
    }
    if (audit->verdict == TC_INCONCLUSIVE)
        tc_buffer_printf(&cli->messages, "tacit audit: inconclusive: %s\n", audit->inconclusive_because);
    *answer = audit->verdict == TC_NOT_REFUTED && (plan->is_private || wishes->seeded);
    return audit->interrupted ? TC_INTERRUPTED : TC_OK;
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *answer) {
    tc_privacy_wishes wishes;
    tc_status status = tc_privacy_options_read(cli, "audit", arguments, &wishes);
    if (status != TC_OK)
        return status;
    tc_model *model = NULL;
    status = tc_cli_load(cli, arguments->operands[0], &model);
    if (status != TC_OK)
        return status;
    tc_privacy_override(model, &wishes);
    return run_audit(cli, arguments, &wishes, model, answer);
}

const tc_command tc_command_audit = {
    .usage =
        {.name = "audit",
         .summary = "try to refute a plan's guarantee from samples of the release",
         .operands = "FILE",
         .least_operands = 1,
         .most_operands = 1,
         .description =
             "Makes the plan that tacit plan would show, and chooses two adjacent inputs that should be hardest to "
             "hide. What they cost with the plan's own scales is computed, over all rounds where the unit is an agent: "
             "more than is claimed refutes the plan at once. Then each is released many times by the code that a real "
             "run uses. Events that are likelier under one of them than the plan allows give a lower bound on epsilon "
             "that holds with the stated confidence; and the noise itself is tested: its lattice, its sign, its tails, "
             "its scale, and that no draw tells of another, of other entries, agents or rounds, nor in the first round "
             "of many releases with fresh keys. No agent's data are used. What is sampled is all that leaves the "
             "cloud, which is more than any coalition of agents sees.\n\n"
             "Each of these points has a verdict of its own: one that could not have shown half the noise is "
             "inconclusive, and never passes for not refuted.\n\n"
             "An audit can refute a guarantee, never prove it: a constant that is too small by a few per cent can "
             "pass. The proofs are what the guarantee rests on.\n\n"
             "The exit code is 0 when nothing was refuted; 1 when something was, or when too little was sampled to "
             "notice even half the noise (inconclusive; the answer says which --samples that takes, and some problems "
             "take many more than the "
             "standard); 3 after an "
             "interrupt.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
};
