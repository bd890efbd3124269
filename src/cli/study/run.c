#include "cli/study/study.h"

#include "api/runs/run.h"
#include "base/ranks/ranks.h"

#include <unistd.h>

enum {
    JSON = TC_PRIVACY_OPTION_COUNT,
    SEEDS,
    THREADS,
    OBJECT,
    TRACE,
    TRACE_ALL,
    REPORT,
    LEDGER,
    BUDGET,
    TOLERANCE,
    NO_REFERENCE,
    CARD,
    FULL,
    STATES
};

enum { TRACED_PER_DECADE = 60 };

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
    [OBJECT] = TC_OBJECT_OPTION,
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
    [STATES] = {.name = "states",
                .type = TC_OPTION_FLAG,
                .text = "Also show states: with --seeds those of every seed in JSON, with --trace those of every round "
                        "that is traced."},
};

static const tc_example examples[] = {
    {"tacit run ev.tacit",
     "One private run with fresh noise: checkpoints as it goes, the verdict, the result, the card."},
    {"tacit run paper.tacit --calibration published --seeds 40 --report page.html",
     "The paper's scheme, 40 simulated runs, and a page of plots."},
    {"tacit run paper.tacit --margin auto --seeds 40", "40 simulated runs with room between results and limits."},
    {"tacit run ev.tacit --mechanism none --rounds 20000 --trace free.csv", "The same algorithm without noise."},
    {"tacit run ev.tacit --ledger spent --budget 4:1e-6",
     "A run that is entered, and refused if all would cost more than 4 at delta 1e-6."},
    {"tacit run paper.tacit --seed 7 --json", "A run that can be repeated, for a program. Not private."},
};

/* What is wrong with options that do not go together; NULL: nothing. */
static const char *fault_of(const tc_option_value *values) {
    if (values[BUDGET].given && !values[LEDGER].given)
        return "--budget wants --ledger FILE, where what was spent is written";
    if (values[TRACE_ALL].flag && !values[TRACE].given && !values[REPORT].given)
        return "--trace-all wants --trace FILE.csv or --report FILE.html";
    if (values[STATES].flag && !values[TRACE].given && !(values[SEEDS].given && values[JSON].flag))
        return "--states goes with --trace FILE.csv, or with --seeds N and --json";
    if (values[NO_REFERENCE].flag && values[TOLERANCE].given)
        return TC_TOLERANCE_IN_VAIN;
    if (values[CARD].flag && values[JSON].flag)
        return "--card would change nothing: with --json the whole card is always there";
    return NULL;
}

static tc_study_files files_of(const tc_option_value *values) {
    return (tc_study_files){values[OBJECT].text, values[TRACE].text, values[REPORT].text};
}

static tc_status read_options(tc_study *study, const tc_arguments *arguments, tacit_promise *promise,
                              tacit_run_options *wishes) {
    const tc_option_value *values = arguments->values;
    const char *fault = fault_of(values);
    tc_status status = tc_promise_options(study->cli, "run", arguments, promise);
    if (status == TC_OK)
        status = tc_budget_option(study->cli, "run", &values[BUDGET], promise);
    if (status != TC_OK)
        return status;
    if (fault != NULL) {
        tc_buffer_printf(&study->cli->messages, "tacit run: %s\n", fault);
        return TC_BAD_USAGE;
    }
    bool traced = values[TRACE].given || values[REPORT].given;
    tacit_run_options_default(wishes, sizeof *wishes);
    promise->ledger = values[LEDGER].given ? values[LEDGER].text : NULL;
    wishes->seeds = values[SEEDS].given ? (size_t)values[SEEDS].integer : 0;
    wishes->no_reference = values[NO_REFERENCE].flag;
    wishes->rows_per_decade = values[TRACE_ALL].flag ? -1 : traced ? TRACED_PER_DECADE : wishes->rows_per_decade;
    wishes->keep_states = values[STATES].flag;
    wishes->keep_row_states = values[STATES].flag && values[TRACE].given;
    study->options.threads = values[THREADS].given ? (size_t)values[THREADS].integer : 0;
    study->options.tolerance = values[TOLERANCE].real;
    study->options.full = values[FULL].flag;
    return tc_study_check_files(study, arguments, files_of(values), promise->ledger);
}

/* ---- text, as it goes ---- */

typedef struct piece {
    tc_cli *cli;
    const tc_run_output *output;
    const tc_row *row; /* NULL: the head */
} piece;

static void print_piece(void *context) {
    const piece *of = context;
    if (of->row == NULL)
        tc_run_output_begin(of->output, &of->cli->output);
    else
        tc_run_output_row(of->row, &of->cli->output);
    tc_cli_flush(of->cli);
}

static void print_head(void *context, const tc_run_output *output) {
    tc_study *study = context;
    tc_study_guard(study, print_piece, &(piece){.cli = study->cli, .output = output});
}

static void print_row(void *context, const tc_run_output *output, const tc_record *record, const tc_row *row) {
    tc_study *study = context;
    if (tc_run_output_shows(output, record, row))
        tc_study_guard(study, print_piece, &(piece){.cli = study->cli, .output = output, .row = row});
}

/* After a run: one that was refused used none of them. */
static void say_ranks(tc_cli *cli, bool was_wished) {
    tc_buffer_printf(&cli->messages, "tacit run: %zu ranks worked%s\n", tc_ranks_count(),
                     was_wished ? ""
                                : "; nothing is compared with the exact solution, which needs the whole problem in one "
                                  "memory: --no-reference is taken");
    tc_cli_tell(cli); /* it is not why something fails later */
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    const tc_option_value *values = arguments->values;
    tc_study study;
    tacit_promise promise;
    tacit_run_options wishes;
    tacit_result *result = NULL;
    tc_hooks hooks = {.context = &study, .judged = tc_study_tell};
    tc_study_begin(&study, cli, "run");
    study.is_apart = values[SEEDS].given;
    study.is_spread = !study.is_apart;
    tc_status status = read_options(&study, arguments, &promise, &wishes);
    if (status == TC_OK)
        status = tc_study_load(&study, arguments->operands[0]);
    wishes.no_reference |= tc_ranks_several();
    if (status != TC_OK)
        return status;
    bool live = !values[JSON].flag &&
                tc_terminal_is_watched(STDOUT_FILENO); /* whoever watches; a file begins with the verdict */
    if (live) {
        hooks.begin = print_head;
        hooks.row = print_row;
    }
    tacit_status made = tc_run_with(study.problem, &promise, &wishes, &hooks, &study.options, &result, NULL);
    if (made == TACIT_OK && tc_ranks_several() && result->of.run->records != NULL)
        say_ranks(cli, values[NO_REFERENCE].flag);
    if (made == TACIT_OK && !values[JSON].flag && tc_ranks_prints()) {
        status = tc_study_keep(&study, result, yes);
        if (live && result->of.run->records != NULL) {
            tc_buffer_puts(&cli->output, "\n");
            tc_run_output_verdict(result->of.run, &cli->output);
        }
        (live ? tc_run_output_end : tc_run_output_text)(result->of.run, result->full, values[CARD].flag, &cli->output);
    } else {
        status = tc_study_end(&study, made, result, true, yes);
    }
    return tc_study_write(&study, status, result, files_of(values));
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
             "value if it is above 0, or the size of an equality's (max violation). Then come the verdict, a "
             "comparison, the result, what released data show of its "
             "constraints, the times, and the guarantee card in short (--card: the whole). Errors, objective, "
             "constraint values and states are true values, which the cloud never shows: they are for whoever holds "
             "the whole problem. Where standard output is no terminal, all of it comes after the run and the verdict "
             "is "
             "its first line.\n\n"
             "The comparison is with the solution, with the same run without noise, which is made after the one that "
             "is timed, and with doing nothing: zero prices, where every agent minimises in its own set and ignores "
             "the constraints, and the Slater point, where the file has one. A run is no better than nothing if one "
             "of these two is as good: the run's distance to the solution and its largest violation are both more "
             "than nine tenths of the other's. Of many runs, half or more decide. A run without noise has converged "
             "when the errors of x and mu are at most 0.1 % of the solution's norms (or of the way from the start, if "
             "that is longer); with --no-reference, when the residual of the saddle point conditions is at most 0.001 "
             "(1 + |z|).\n\n"
             "The plan is made for T rounds, given by the file or by --rounds, and the run has exactly these: the plan "
             "allows no further round. The multipliers are kept within the dual radius, which must be public (in the "
             "file, or from gaps and a Slater point); otherwise it is computed from private data, and the run is not "
             "private.\n\n"
             "The program tacit-mpi, started by mpirun, spreads the agents of a run over ranks, and with --seeds the "
             "runs; "
             "every number is the same. docs/scale.md says more.\n\n"
             "The exit code is 0 when the run came to its end; 1 when it diverged, was refused (no plan, no budget, a "
             "bad "
             "Slater point), convexity is not proved, or the run is not private, or private in name only, without an "
             "option that asks for that (--seed, --seeds, --mechanism none, --constants declared); 2 when options and "
             "file do not say what to do; 3 after Ctrl-C or SIGTERM, with the output so far.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .has_ranks = true,
    .run = run,
};
