#include "cli/study/study.h"

#include "api/runs/run.h"

#include <math.h>
#include <string.h>

enum {
    JSON = TC_PRIVACY_OPTION_COUNT,
    EPSILONS,
    FROM,
    TO,
    POINTS,
    SEEDS,
    THREADS,
    OBJECT,
    TRACE,
    REPORT,
    TOLERANCE,
    NO_REFERENCE
};

enum { MOST_POINTS = 1000 };

static const tc_option options[] = {
    TC_PRIVACY_OPTIONS_WITHOUT_COALITION, /* no observer is shown */
    [JSON] = TC_JSON_OPTION,
    [EPSILONS] = {.name = "epsilons",
                  .type = TC_OPTION_STRING,
                  .argument = "A,B,..",
                  .text = "The epsilons: positive numbers or ln(X), separated by commas."},
    [FROM] = {.name = "from",
              .type = TC_OPTION_STRING,
              .argument = "A",
              .text = "The least epsilon of a grid with equal ratios; an eighth of the file's unless given."},
    [TO] = {.name = "to",
            .type = TC_OPTION_STRING,
            .argument = "B",
            .text = "The largest epsilon of that grid; eight times the file's unless given."},
    [POINTS] = {.name = "points",
                .type = TC_OPTION_INT,
                .argument = "N",
                .least = 2,
                .most = MOST_POINTS,
                .standard = "7",
                .text = "How many epsilons that grid has."},
    [SEEDS] = {.name = "seeds",
               .type = TC_OPTION_INT,
               .argument = "N",
               .least = 1,
               .most = 1e6,
               .standard = "20",
               .text = "How many runs for each epsilon, from seeds 1 to N or from --seed on."},
    [THREADS] = TC_SETUP_THREADS,
    [OBJECT] = TC_OBJECT_OPTION,
    [TRACE] = {.name = "trace",
               .type = TC_OPTION_STRING,
               .argument = "FILE.csv",
               .text = "Write a line for each run: epsilon, seed, errors, penalty. tacit report plots it."},
    [REPORT] = {.name = "report",
                .type = TC_OPTION_STRING,
                .argument = "FILE.html",
                .text = "Write a page with the trade-off plot, tables and the command that repeats it."},
    [TOLERANCE] = TC_SETUP_TOLERANCE,
    [NO_REFERENCE] = TC_SETUP_NO_REFERENCE,
};

static const tc_example examples[] = {
    {"tacit sweep paper.tacit", "Seven epsilons around the file's, 20 runs each."},
    {"tacit sweep paper.tacit --epsilons 'ln(2),1,2,4' --seeds 40", "Four epsilons, 40 runs each."},
    {"tacit sweep ev.tacit --from 0.1 --to 10 --points 5 --report tradeoff.html",
     "Five epsilons from 0.1 to 10, and a page with the plot."},
};

static tc_status refuse(tc_cli *cli, const char *text) {
    tc_buffer_printf(&cli->messages, "tacit sweep: %s\n", text);
    return TC_BAD_USAGE;
}

static tc_status read_list(tc_cli *cli, const char *text, tacit_sweep_options *wishes) {
    double *epsilons = TC_NEW(cli->arena, double, MOST_POINTS);
    wishes->epsilons = epsilons;
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",");
        const char *one = tc_arena_copy(cli->arena, at, length);
        if (wishes->epsilon_count == MOST_POINTS)
            return refuse(cli, "--epsilons takes at most 1000 of them");
        if (!tc_read_price(cli->arena, one, &epsilons[wishes->epsilon_count]))
            return refuse(cli, tc_arena_format(cli->arena,
                                               "--epsilons wants positive numbers, or ln(X) with X above 1, with "
                                               "commas between, not '%s'",
                                               one));
        wishes->epsilon_count++;
        if (at[length] == '\0')
            return TC_OK;
        at += length + 1;
    }
}

static tc_status read_end(tc_cli *cli, const tc_option_value *given, const char *name, double *value) {
    if (!given->given || tc_read_price(cli->arena, given->text, value))
        return TC_OK;
    return refuse(cli, tc_arena_format(cli->arena, "--%s wants a positive number, or ln(X) with X above 1, not '%s'",
                                       name, given->text));
}

static tc_status read_epsilons(tc_cli *cli, const tc_option_value *values, tacit_sweep_options *wishes) {
    bool has_grid = values[FROM].given || values[TO].given || values[POINTS].given;
    if (values[EPSILONS].given && has_grid)
        return refuse(cli, "--epsilons is a list, --from, --to and --points make one: not both");
    if (values[EPSILONS].given)
        return read_list(cli, values[EPSILONS].text, wishes);
    wishes->points = (size_t)values[POINTS].integer;
    tc_status status = read_end(cli, &values[FROM], "from", &wishes->from);
    if (status == TC_OK)
        status = read_end(cli, &values[TO], "to", &wishes->to);
    if (status == TC_OK && wishes->from >= wishes->to)
        status = refuse(cli, tc_arena_format(cli->arena, "--from must be less than --to, and %g is not less than %g",
                                             wishes->from, wishes->to));
    return status;
}

static tc_study_files files_of(const tc_option_value *values) {
    return (tc_study_files){values[OBJECT].text, values[TRACE].text, values[REPORT].text};
}

static tc_status read_options(tc_study *study, const tc_arguments *arguments, tacit_promise *promise,
                              tacit_sweep_options *wishes) {
    const tc_option_value *values = arguments->values;
    tacit_sweep_options_default(wishes, sizeof *wishes);
    tc_status status = tc_promise_options(study->cli, "sweep", arguments, promise);
    if (status == TC_OK)
        status = read_epsilons(study->cli, values, wishes);
    if (status == TC_OK && values[NO_REFERENCE].flag && values[TOLERANCE].given)
        status = refuse(study->cli, TC_TOLERANCE_IN_VAIN);
    if (status != TC_OK)
        return status;
    wishes->seeds = (size_t)values[SEEDS].integer;
    wishes->no_reference = values[NO_REFERENCE].flag;
    study->options.threads = values[THREADS].given ? (size_t)values[THREADS].integer : 0;
    study->options.tolerance = values[TOLERANCE].real;
    return tc_study_check_files(study, arguments, files_of(values), NULL);
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    const tc_option_value *values = arguments->values;
    tc_study study;
    const tc_hooks hooks = {.context = &study, .judged = tc_study_tell};
    tacit_promise promise;
    tacit_sweep_options wishes;
    tacit_result *result = NULL;
    tc_study_begin(&study, cli, "sweep");
    study.is_apart = true;
    tc_status status = read_options(&study, arguments, &promise, &wishes);
    if (status == TC_OK)
        status = tc_study_load(&study, arguments->operands[0]);
    if (status != TC_OK)
        return status;
    tacit_status made = tc_sweep_with(study.problem, &promise, &wishes, &hooks, &study.options, &result, NULL);
    status = tc_study_end(&study, made, result, values[JSON].flag, yes);
    return tc_study_write(&study, status, result, files_of(values));
}

const tc_command tc_command_sweep = {
    .usage =
        {.name = "sweep",
         .summary = "measure what privacy costs: many epsilons, many seeds each",
         .operands = "FILE",
         .least_operands = 1,
         .most_operands = 1,
         .operand_help = TC_FILE_HELP,
         .description =
             "Makes a plan for each epsilon, runs each with many seeds, and shows how far noise moves the result. The "
             "penalty at an epsilon is the mean over seeds of |z - z'|^2 after the last round, where z is the result "
             "of the run, states and multipliers, and z' that of the run without noise, by the same method. It is zero "
             "without noise, and where no set binds it is proportional to the variance of the noise, that is, to "
             "epsilon^-2: the claim of the paper, which is tested this way. (The distance to the solution also "
             "contains what the noise-free run still lacks. It is shown as errors and as excess: the mean squared "
             "distance to "
             "the solution less that of the noise-free run.)\n\n"
             "The slope of log penalty against log epsilon is fitted by least squares, each point weighted by how well "
             "its mean is known, with a 95 % interval from 10,000 bootstrap resamples of the seeds, widened where "
             "seeds are few. Slopes between neighbouring epsilons have intervals that hold for all of them together. "
             "The verdict says where the points follow epsilon^-2 and where they do not: large noise is cut off by "
             "projections onto bounded sets.\n\n"
             "Before the slopes the verdict says what results are worth. At an epsilon they are worthless if half of "
             "the "
             "runs or more are no better than doing nothing (tacit help run says when). More privacy is free where "
             "noise "
             "moves x by less than the run without noise is from the solution: then the error is the method's own.\n\n"
             "All of it is simulation from seeds: nothing here is private, and nothing is released.\n\n"
             "The exit code is 0 when all runs came to their end, whatever the slope; 1 when one diverged, no plan can "
             "be made, the Slater point is bad, convexity is not proved, or the dual radius was computed from private "
             "data without --seed, which asks for a simulation: none of these plans would be private; 3 after Ctrl-C "
             "or SIGTERM, with the output so far.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .has_ranks = true,
    .run = run,
};
