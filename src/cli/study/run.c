#include "cli/study/study.h"

#include "base/machine.h"

#include <math.h>
#include <string.h>

enum {
    JSON = TC_PRIVACY_OPTION_COUNT,
    SEEDS,
    THREADS,
    TRACE,
    TRACE_ALL,
    REPORT,
    LEDGER,
    BUDGET,
    TOLERANCE,
    NO_REFERENCE,
    CARD,
    FULL
};

enum { SHOWN_PER_DECADE = 3, TRACED_PER_DECADE = 60 };

static const tc_option options[] = {
    TC_PRIVACY_OPTIONS,
    [JSON] = TC_JSON_OPTION,
    [SEEDS] = {.name = "seeds",
               .type = TC_OPTION_INT,
               .argument = "N",
               .least = 1,
               .most = 1e6,
               .text =
                   "Simulate N independent runs, from seeds 1 to N or from --seed on, as many at a time as there are "
                   "threads, and print quantiles. NOT PRIVATE, as with any seed."},
    [THREADS] = TC_SETUP_THREADS,
    [TRACE] = {.name = "trace",
               .type = TC_OPTION_STRING,
               .argument = "FILE.csv",
               .text = "Write true values after some 60 rounds in every power of ten: errors, objective, "
                       "constraints, multipliers. tacit report plots it. Simulation: not released. Overwrites an "
                       "existing trace, never another file."},
    [TRACE_ALL] = {.name = "trace-all", .type = TC_OPTION_FLAG, .text = "Trace every round."},
    [REPORT] = {.name = "report",
                .type = TC_OPTION_STRING,
                .argument = "FILE.html",
                .text = "Write a page with plots, tables, the guarantee card and the command that repeats it. "
                        "Overwrites an existing page, never another file."},
    [LEDGER] = {.name = "ledger",
                .type = TC_OPTION_STRING,
                .argument = "FILE",
                .text = "Enter the price of this run before its first round, and show what the same agents' data have "
                        "cost in all. Nothing is entered for simulated runs (--seed, --seeds)."},
    [BUDGET] = TC_BUDGET_OPTION,
    [TOLERANCE] = TC_SETUP_TOLERANCE,
    [NO_REFERENCE] = TC_SETUP_NO_REFERENCE,
    [CARD] = TC_CARD_OPTION,
    [FULL] = {.name = "full", .type = TC_OPTION_FLAG, .text = "Print every state and constraint, however many."},
};

static const tc_example examples[] = {
    {"tacit run ev.tacit", "One private run with fresh noise: checkpoints as it goes, the result, the card."},
    {"tacit run paper.tacit --calibration published --seeds 40 --report page.html",
     "The paper's scheme, 40 simulated runs, and a page of plots."},
    {"tacit run paper.tacit --margin auto --seeds 40", "40 simulated runs with room between results and limits."},
    {"tacit run ev.tacit --mechanism none --rounds 20000 --trace free.csv", "The same algorithm without noise."},
    {"tacit run ev.tacit --ledger spent --budget 4:1e-6",
     "A run that is entered, and refused if all would cost more than 4 at delta 1e-6."},
    {"tacit run paper.tacit --seed 7 --json", "A run that can be repeated, for a program. Not private."},
};

/* ---- options that belong together ------------------------------------------------------------------------------- */

typedef struct run_wishes {
    tc_privacy_wishes privacy;
    const tc_option_value *values;
    bool simulated; /* noise from seeds */
    uint64_t first_seed;
    tc_budgets budgets;
} run_wishes;

static tc_status check_files(tc_cli *cli, const tc_arguments *arguments) {
    const tc_option_value *values = arguments->values;
    const tc_output_file outputs[] = {{"--trace", values[TRACE].text, TC_TRACE_FILE},
                                      {"--report", values[REPORT].text, TC_PAGE_FILE}};
    const tc_input_file inputs[] = {{"the problem", arguments->operands[0]}, {"the ledger", values[LEDGER].text}};
    return tc_outputs_check(cli, outputs, 2, inputs, 2);
}

static tc_status read_wishes(tc_cli *cli, const tc_arguments *arguments, run_wishes *w) {
    const tc_option_value *values = arguments->values;
    tc_status status = tc_privacy_options_read(cli, "run", arguments, &w->privacy);
    if (status != TC_OK)
        return status;
    w->values = values;
    w->simulated = w->privacy.seeded || values[SEEDS].given;
    w->privacy.plan.seeded = w->simulated;
    w->first_seed = w->privacy.seeded ? w->privacy.seed : 1;
    status = tc_budgets_read(cli, "run", &values[BUDGET], &w->budgets);
    if (status != TC_OK)
        return status;
    const char *wrong = NULL;
    if (values[BUDGET].given && !values[LEDGER].given)
        wrong = "--budget wants --ledger FILE, where what was spent is written";
    else if (values[SEEDS].given && !tc_seeds_fit(w->first_seed, (uint64_t)values[SEEDS].integer))
        wrong = TC_SEEDS_TOO_LARGE;
    else if (values[TRACE_ALL].flag && !values[TRACE].given && !values[REPORT].given)
        wrong = "--trace-all wants --trace FILE.csv or --report FILE.html";
    if (wrong != NULL) {
        tc_buffer_printf(&cli->messages, "tacit run: %s\n", wrong);
        return TC_BAD_USAGE;
    }
    return check_files(cli, arguments);
}

/* ---- the ledger ------------------------------------------------------------------------------------------------- */

static tc_status record_cost(tc_cli *cli, const run_wishes *w, tc_run_output *output) {
    if (output->ledger == NULL)
        return TC_OK;
    if (w->simulated) {
        tc_buffer_puts(&cli->messages, "tacit run: noise from a seed: nothing is entered in the ledger\n");
        return TC_OK;
    }
    if (!output->entry->is_priced)
        tc_buffer_puts(&cli->messages, "tacit run: this run has no guarantee, and is entered so: no sum of this ledger "
                                       "holds after it\n");
    tc_ledger *after = NULL;
    tc_status status = tc_ledger_record_within(cli->arena, output->ledger->path, output->entry, w->budgets.list,
                                               w->budgets.count, &cli->messages, &output->reason);
    if (status != TC_OK)
        return status;
    if (output->reason != NULL) { /* another run was entered meanwhile */
        output->card = NULL;
        status = tc_ledger_read(cli->arena, output->ledger->path, &cli->messages, &after);
        output->ledger = after;
        return status;
    }
    status = tc_ledger_read(cli->arena, output->ledger->path, &cli->messages, &after);
    output->ledger = after;
    output->recorded = status == TC_OK;
    return status;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

typedef struct listener {
    tc_cli *cli;
    const tc_run_output *output;
} listener;

static void on_row(void *context, const tc_record *record, const tc_row *row) {
    const listener *to = context;
    const tc_run_output *output = to->output;
    bool is_shown = record->outcome != TC_ENGINE_DONE; /* where it stopped */
    for (size_t i = 0; i < output->checkpoint_count && !is_shown; i++)
        is_shown = output->checkpoints[i] == row->k;
    if (!is_shown)
        return;
    tc_run_output_row(row, &to->cli->output);
    tc_cli_flush(to->cli);
}

static tc_experiment experiment_of(tc_cli *cli, const run_wishes *w, const tc_run_output *output) {
    const tc_setup *setup = output->setup;
    bool traced = w->values[TRACE].given || w->values[REPORT].given;
    tc_experiment experiment = {.plan = output->plan,
                                .model = setup->model,
                                .derivatives = setup->derivatives,
                                .reference = output->target.reference,
                                .dual_radius = setup->dual_radius,
                                .method = output->method,
                                .rounds = setup->rounds,
                                .grid = output->checkpoints,
                                .grid_count = output->checkpoint_count,
                                .threads = output->threads};
    if (traced)
        experiment.grid = tc_grid(cli->arena, setup->rounds, w->values[TRACE_ALL].flag ? 0 : TRACED_PER_DECADE,
                                  &experiment.grid_count);
    return experiment;
}

static void part_records(tc_cli *cli, tc_run_output *output) {
    output->finished = TC_NEW(cli->arena, tc_record, output->record_count + 1);
    for (size_t i = 0; i < output->record_count; i++) {
        if (output->records[i].outcome != TC_ENGINE_INTERRUPTED)
            output->finished[output->finished_count++] = output->records[i];
    }
}

/* A run that noise keeps away from the solution ends like any other: warn of it. */
static void judge_progress(tc_cli *cli, tc_run_output *output) {
    if (output->plan->mechanism == TC_MECHANISM_NONE)
        return;
    tc_row_quantiles start = tc_rows_summarise(cli->arena, output->finished, output->finished_count, 0);
    tc_row_quantiles end =
        tc_rows_summarise(cli->arena, output->finished, output->finished_count, output->setup->rounds);
    double x = start.x_error.median, x_after = end.x_error.median;
    double mu = start.mu_error.median, mu_after = end.mu_error.median;
    bool far = x_after >= 0.9 * x || (x_after >= 0.5 * x && mu > 0 && mu_after >= mu); /* a NAN is not far */
    if (!far)
        return;
    output->warning =
        tc_arena_format(cli->arena,
                        "The run%s hardly approached the solution, if at all: the x error was %.4g at the "
                        "start and is %.4g at the end%s. The noise is too large for this problem, or the "
                        "steps or the rounds do not suit it.",
                        output->many ? "s" : "", x, x_after, output->many ? " (medians)" : "");
}

/* One outcome for all runs: the worst, with its reason. */
static void sum_up(tc_cli *cli, tc_run_output *output) {
    size_t diverged = 0, stopped = output->wanted - output->record_count;
    for (size_t i = 0; i < output->record_count; i++) {
        diverged += output->records[i].outcome == TC_ENGINE_DIVERGED;
        stopped += output->records[i].outcome == TC_ENGINE_INTERRUPTED;
    }
    part_records(cli, output);
    judge_progress(cli, output);
    tc_engine_outcome worst = stopped > 0 ? TC_ENGINE_INTERRUPTED : diverged > 0 ? TC_ENGINE_DIVERGED : TC_ENGINE_DONE;
    output->outcome = tc_engine_outcome_name(worst);
    output->reason = NULL;
    if (worst == TC_ENGINE_DONE)
        return;
    if (!output->many)
        output->reason = output->records->reason;
    else if (stopped > 0)
        output->reason =
            tc_arena_format(cli->arena, "%zu of %zu runs were done", output->finished_count, output->wanted);
    else
        output->reason = tc_arena_format(cli->arena, "%zu of %zu runs diverged", diverged, output->wanted);
}

static tc_status run_rounds(tc_cli *cli, const run_wishes *w, tc_run_output *output) {
    tc_experiment experiment = experiment_of(cli, w, output);
    listener to = {.cli = cli, .output = output};
    const char *why = NULL;
    tc_status status;
    if (!w->values[JSON].flag) {
        tc_run_output_begin(output, &cli->output);
        tc_cli_flush(cli);
        experiment.on_row = on_row; /* for a single run */
        experiment.context = &to;
    }
    experiment.run_id = output->entry == NULL ? NULL : output->entry->run;
    double began = tc_lab_seconds();
    if (output->many) {
        output->wanted = (size_t)w->values[SEEDS].integer;
        status = tc_lab_run_many(cli->arena, &experiment, w->first_seed, output->wanted, &cli->monitor,
                                 &output->records, &output->record_count, &why);
        output->run_seconds = tc_lab_seconds() - began;
    } else {
        output->wanted = output->record_count = 1;
        status = tc_lab_run(cli->arena, &experiment, w->simulated ? &w->first_seed : NULL, &cli->monitor,
                            &output->records, &why);
        output->run_seconds = status == TC_OK ? output->records->seconds : 0;
    }
    if (status != TC_OK && why != NULL)
        tc_buffer_printf(&cli->messages, "tacit run: %s\n", why);
    if (status == TC_OK)
        sum_up(cli, output);
    return status;
}

/* ---- what remains ----------------------------------------------------------------------------------------------- */

static tc_status write_files(tc_cli *cli, const run_wishes *w, const tc_run_output *output) {
    if (output->records == NULL || !(w->values[TRACE].given || w->values[REPORT].given))
        return TC_OK;
    if (output->record_count == 0) {
        tc_buffer_puts(&cli->messages, "tacit run: no run was begun: no trace and no report is written\n");
        return TC_OK;
    }
    tc_trace *trace = tc_trace_new(cli->arena, TC_TRACE_RUN, output->plan, w->simulated, cli->command);
    tc_trace_set_records(cli->arena, trace, output->records, output->record_count);
    if (output->record_count < output->wanted)
        tc_trace_note_add(cli->arena, trace,
                          tc_arena_format(cli->arena, "%zu of %zu runs were not begun",
                                          output->wanted - output->record_count, output->wanted));
    trace->reference_objective = output->target.reference == NULL ? NAN : output->target.reference->objective;
    tc_trace_fact_add(cli->arena, trace, "dual radius",
                      tc_arena_format(cli->arena, "%.6g (%s)", output->setup->dual_radius,
                                      tc_radius_origin_name(output->setup->radius_origin)));
    const char *margin = tc_margin_text(cli->arena, output->method);
    if (margin != NULL)
        tc_trace_fact_add(cli->arena, trace, "margin", margin);
    tc_trace_fact_add(cli->arena, trace, "seconds", tc_arena_format(cli->arena, "%.3g", output->run_seconds));
    return tc_trace_write_both(cli, trace, w->values[TRACE].text, w->values[REPORT].text);
}

static void print(tc_cli *cli, const run_wishes *w, const tc_run_output *output) {
    if (!w->values[JSON].flag) {
        tc_run_output_end(output, w->values[FULL].flag, &cli->output);
        return;
    }
    tc_json json = tc_json_new(&cli->output);
    tc_run_output_json(output, &json);
}

/* The price of the run; output->reason where the budget does not allow it. */
static tc_status look_up_cost(tc_cli *cli, const run_wishes *w, tc_run_output *output) {
    tc_ledger_entry *entry = TC_NEW(cli->arena, tc_ledger_entry, 1);
    *entry = tc_ledger_entry_of(cli->arena, output->plan, tc_lab_run_id(cli->arena));
    output->entry = entry;
    if (w->simulated)
        return TC_OK;
    tc_status status = tc_budgets_check(cli, "run", &w->budgets, output->ledger, entry);
    if (status == TC_OK)
        output->reason = tc_over_budget(cli->arena, output->ledger, entry, w->budgets.list, w->budgets.count);
    return status;
}

/* The run has no guarantee, and no option asked to do without one. */
static bool is_unasked(const run_wishes *w, const tc_plan *plan) {
    bool asked = w->simulated || plan->mechanism == TC_MECHANISM_NONE || plan->constants == TC_DECLARED;
    return !asked && !tc_plan_deserves_private(plan);
}

/* Everything before the first round; output->reason where there will be none. */
static tc_status prepare(tc_cli *cli, const run_wishes *w, tc_setup *setup, tc_run_output *output) {
    tc_status status = tc_setup_plan(cli, setup, &w->privacy.plan, &output->plan);
    if (status != TC_OK)
        return status;
    output->reason = setup->problem != NULL ? setup->problem : output->plan->problem;
    if (output->reason != NULL)
        return TC_OK;
    status = tc_setup_method(cli, setup, output->plan, w->privacy.margin, &output->method);
    if (status != TC_OK)
        return status;
    output->card = tc_card_make(cli->arena, output->plan, w->simulated);
    if (output->ledger != NULL)
        status = look_up_cost(cli, w, output);
    if (status != TC_OK)
        return status;
    if (output->reason != NULL) {
        output->card = NULL; /* nothing is run, and nothing promised */
        return TC_OK;
    }
    if (!w->values[NO_REFERENCE].flag)
        status = tc_run_target_find(cli, setup, w->values[TOLERANCE].real, &output->target);
    return status == TC_OK ? record_cost(cli, w, output) : status;
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    run_wishes w;
    tc_setup setup;
    tc_run_output output = {.setup = &setup, .outcome = "refused", .many = arguments->values[SEEDS].given};
    tc_ledger *ledger = NULL;
    tc_status status = read_wishes(cli, arguments, &w);
    if (status == TC_OK && w.values[LEDGER].given)
        status = tc_ledger_read(cli->arena, w.values[LEDGER].text, &cli->messages, &ledger);
    if (status == TC_OK)
        status = tc_setup_whole(cli, "run", arguments->operands[0], &w.privacy, &setup);
    if (status != TC_OK)
        return status;
    tc_budgets_add_file(&w.budgets, setup.model);
    if (!isnan(setup.model->budget.epsilon) && ledger == NULL && !w.simulated) {
        tc_buffer_puts(&cli->messages, "tacit run: the file has a budget, and --ledger FILE must say where what was "
                                       "spent is written; a simulation (--seed, --seeds) needs none\n");
        return TC_BAD_USAGE;
    }
    tc_cli_tell(cli);
    output.ledger = ledger;
    output.whole_card = w.values[CARD].flag;
    output.simulated = w.simulated;
    output.threads = w.values[THREADS].given ? (size_t)w.values[THREADS].integer : tc_processors();
    output.checkpoints = tc_grid(cli->arena, setup.rounds, SHOWN_PER_DECADE, &output.checkpoint_count);
    status = prepare(cli, &w, &setup, &output);
    if (status == TC_OK && output.reason == NULL)
        status = run_rounds(cli, &w, &output);
    if (status != TC_OK)
        return status;
    print(cli, &w, &output);
    *yes = strcmp(output.outcome, "done") == 0 && setup.sound && !is_unasked(&w, output.plan);
    status = write_files(cli, &w, &output);
    bool stopped = strcmp(output.outcome, "interrupted") == 0;
    if (stopped)
        tc_buffer_puts(&cli->messages, "tacit run: interrupted: this is how far it came\n");
    return status == TC_OK && stopped ? TC_INTERRUPTED : status;
}

const tc_command tc_command_run = {
    .usage =
        {.name = "run",
         .summary = "run the private algorithm, all parties in one process",
         .operands = "FILE",
         .least_operands = 1,
         .most_operands = 1,
         .operand_help = TC_FILE_HELP,
         .description =
             "Makes the plan that tacit plan shows, and runs the algorithm by it: each round the agents send their "
             "states, the cloud releases noisy numbers of them and nothing else, and all step. Noise is fresh and its "
             "key is gone afterwards, unless --seed or --seeds asks for a simulation. In method tacit the cloud "
             "filters "
             "what was released and sets steps and regularization from it, and each agent solves a small problem of "
             "its "
             "own; the result is an average over the rounds, and everything shown is of that average. In method "
             "published the steps are the paper's, and the result is where they end.\n\n"
             "Meanwhile a table shows, at rounds 0, 1, 2, 5, 10, 20, 50, ..., T/2 and T: the distance of x from the "
             "exact solution (x error), that of the multipliers (mu error), the objective, and the largest constraint "
             "value if it is above 0 (max violation). Then come the result, what released data show of its "
             "constraints, the times, and the guarantee card in short (--card: the whole). Errors, objective, "
             "constraint values and states are true values, which the cloud never shows: they are for whoever holds "
             "the whole problem.\n\n"
             "The plan is made for T rounds, given by the file or by --rounds, and the run has exactly these: the plan "
             "allows no further round. The multipliers are kept within the dual radius, which must be public (in the "
             "file, or from gaps and a Slater point); otherwise it is computed from private data, and the run is not "
             "private.\n\n"
             "The exit code is 0 when the run came to its end; 1 when it diverged, was refused (no plan, no budget, a "
             "bad "
             "Slater point), convexity is not proved, or the run is not private, or private in name only, without an "
             "option that asks for that (--seed, --seeds, --mechanism none, --constants declared); 2 when options and "
             "file do not say what to do; 3 after Ctrl-C or SIGTERM, with the output so far.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
};
