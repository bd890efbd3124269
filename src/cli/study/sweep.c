#include "cli/study/study.h"

#include "base/machine.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    JSON = TC_PRIVACY_OPTION_COUNT,
    EPSILONS,
    FROM,
    TO,
    POINTS,
    SEEDS,
    THREADS,
    TRACE,
    REPORT,
    TOLERANCE,
    NO_REFERENCE
};

enum { MOST_POINTS = 1000, MOST_RUNS = 10000000 };

static const tc_option options[] = {
    TC_PRIVACY_OPTIONS,
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

/* ---- which epsilons --------------------------------------------------------------------------------------------- */

static tc_status refuse(tc_cli *cli, const char *text) {
    tc_buffer_printf(&cli->messages, "tacit sweep: %s\n", text);
    return TC_BAD_USAGE;
}

static tc_status read_list(tc_cli *cli, const char *text, double *epsilons, size_t *count) {
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",");
        const char *one = tc_arena_copy(cli->arena, at, length);
        if (*count == MOST_POINTS)
            return refuse(cli, "--epsilons takes at most 1000 of them");
        if (!tc_privacy_read_price(cli->arena, one, &epsilons[*count]))
            return refuse(cli, tc_arena_format(cli->arena,
                                               "--epsilons wants positive numbers, or ln(X) with X above 1, with "
                                               "commas between, not '%s'",
                                               one));
        (*count)++;
        if (at[length] == '\0')
            return TC_OK;
        at += length + 1;
    }
}

/* Increasing, each once. */
static void sort_apart(tc_cli *cli, double *epsilons, size_t *count) {
    size_t kept = 0;
    tc_sort_numbers(epsilons, *count);
    for (size_t i = 0; i < *count; i++) {
        if (kept == 0 || epsilons[kept - 1] != epsilons[i])
            epsilons[kept++] = epsilons[i];
    }
    if (kept < *count)
        tc_buffer_puts(&cli->messages, "tacit sweep: --epsilons names a number more than once: each is run once\n");
    *count = kept;
}

static tc_status read_end(tc_cli *cli, const tc_option_value *given, const char *name, double standard, double *value) {
    if (given->given && !tc_privacy_read_price(cli->arena, given->text, value))
        return refuse(cli,
                      tc_arena_format(cli->arena, "--%s wants a positive number, or ln(X) with X above 1, not '%s'",
                                      name, given->text));
    if (!given->given)
        *value = standard;
    if (isnan(*value))
        return refuse(cli, "around which epsilon? Neither --epsilon nor the file says: --epsilons A,B,.. or --from A "
                           "--to B");
    return TC_OK;
}

/* from 2^t with t a share of log2(to / from), so that powers of two are exact. A value next to a short decimal becomes
 * that decimal. */
static double grid_point(double from, double to, size_t i, size_t last) {
    if (i == 0 || i == last)
        return i == 0 ? from : to;
    double exponent = log2(to / from) * (double)i / (double)last, value = from * exp2(exponent);
    if (exponent == floor(exponent))
        return value;
    char text[32];
    (void)snprintf(text, sizeof text, "%.10g", value);
    double decimal = strtod(text, NULL);
    return fabs(decimal - value) <= 8 * DBL_EPSILON * value ? decimal : value;
}

static tc_status read_grid(tc_cli *cli, const tc_option_value *values, double middle, double *epsilons, size_t *count) {
    double from = NAN, to = NAN;
    tc_status status = read_end(cli, &values[FROM], "from", middle / 8, &from);
    if (status == TC_OK)
        status = read_end(cli, &values[TO], "to", middle * 8, &to);
    if (status != TC_OK)
        return status;
    if (!(from < to))
        return refuse(
            cli, tc_arena_format(cli->arena, "--from must be less than --to, and %g is not less than %g", from, to));
    *count = (size_t)values[POINTS].integer;
    for (size_t i = 0; i < *count; i++)
        epsilons[i] = grid_point(from, to, i, *count - 1);
    return TC_OK;
}

static tc_status choose_epsilons(tc_cli *cli, const tc_option_value *values, double middle, double **epsilons,
                                 size_t *count) {
    bool grid = values[FROM].given || values[TO].given || values[POINTS].given;
    *epsilons = TC_NEW(cli->arena, double, MOST_POINTS);
    *count = 0;
    if (!values[EPSILONS].given)
        return read_grid(cli, values, middle, *epsilons, count);
    if (grid)
        return refuse(cli, "--epsilons is a list, --from, --to and --points make one: not both");
    tc_status status = read_list(cli, values[EPSILONS].text, *epsilons, count);
    if (status == TC_OK)
        sort_apart(cli, *epsilons, count);
    return status;
}

/* ---- the work --------------------------------------------------------------------------------------------------- */

typedef struct sweep_wishes {
    tc_privacy_wishes privacy;
    const tc_option_value *values;
    double *epsilons;
    size_t count;
} sweep_wishes;

typedef struct planned { /* for one epsilon, or without noise */
    const tc_plan *plan;
    const tc_tacit_facts *method;
} planned;

/* made->method is NULL where there is no plan. */
static tc_status make_plan(tc_cli *cli, const sweep_wishes *w, tc_setup *setup, const tc_plan_options *wanted,
                           planned *made) {
    *made = (planned){0};
    tc_status status = tc_setup_plan(cli, setup, wanted, &made->plan);
    if (status == TC_OK && made->plan->problem == NULL && setup->problem == NULL)
        status = tc_setup_method(cli, setup, made->plan, w->privacy.margin, &made->method);
    return status;
}

/* A plan for each epsilon, and one without noise. *problem says why one cannot be made. */
static tc_status make_plans(tc_cli *cli, const sweep_wishes *w, tc_setup *setup, const tc_plan **plans,
                            const tc_tacit_facts **methods, planned *noise_free, const char **problem) {
    tc_plan_options wanted = w->privacy.plan;
    wanted.seeded = true;
    for (size_t e = 0; e < w->count && *problem == NULL; e++) {
        wanted.epsilon = w->epsilons[e];
        tc_progress(&cli->monitor, "planning", (double)e / (double)w->count);
        planned made;
        tc_status status = make_plan(cli, w, setup, &wanted, &made);
        if (status != TC_OK)
            return status;
        plans[e] = made.plan;
        methods[e] = made.method;
        if (plans[e]->problem != NULL)
            *problem = tc_arena_format(cli->arena, "epsilon %g: %s", w->epsilons[e], plans[e]->problem);
        else if (plans[e]->mechanism == TC_MECHANISM_NONE)
            return refuse(cli, "without noise there is nothing to sweep: --mechanism laplace or gaussian");
    }
    if (*problem != NULL)
        return TC_OK;
    wanted = w->privacy.plan;
    wanted.mechanism = TC_MECHANISM_NONE;
    wanted.seeded = true;
    tc_status status = make_plan(cli, w, setup, &wanted, noise_free);
    if (status == TC_OK)
        *problem = noise_free->plan->problem;
    return status;
}

static tc_status write_files(tc_cli *cli, const sweep_wishes *w, const tc_sweep_output *output) {
    if (output->sweep == NULL || !(w->values[TRACE].given || w->values[REPORT].given))
        return TC_OK;
    tc_trace *trace = tc_trace_new(cli->arena, TC_TRACE_SWEEP, output->sweep->points[0].plan, true, cli->command);
    tc_trace_set_sweep(cli->arena, trace, output->sweep);
    if (output->margin != NULL)
        tc_trace_fact_add(cli->arena, trace, "margin", output->margin);
    if (trace->point_count == 0) {
        tc_buffer_puts(&cli->messages, "tacit sweep: no run was finished: no trace and no report is written\n");
        return TC_OK;
    }
    return tc_trace_write_both(cli, trace, w->values[TRACE].text, w->values[REPORT].text);
}

/* NULL where all runs came to their end. */
static const char *why_not_whole(tc_cli *cli, const tc_sweep *sweep) {
    size_t done = 0, wanted = sweep->point_count * sweep->seeds;
    const tc_record *quiet = sweep->without_noise;
    for (size_t e = 0; e < sweep->point_count; e++)
        done += sweep->points[e].runs;
    if (quiet->outcome == TC_ENGINE_DIVERGED)
        return tc_arena_format(cli->arena, "the run without noise diverged: %s", quiet->reason);
    return done == wanted ? NULL : tc_arena_format(cli->arena, "%zu of %zu runs were done", done, wanted);
}

static bool is_known(const tc_sweep_output *output, const char *warning) {
    for (size_t i = 0; i < output->warning_count; i++) {
        if (strcmp(output->warnings[i], warning) == 0)
            return true;
    }
    return false;
}

static void collect_warnings(tc_cli *cli, const tc_tacit_facts *const *methods, size_t count, tc_sweep_output *output) {
    for (size_t e = 0; e < count; e++) {
        for (size_t i = 0; methods[e] != NULL && i < methods[e]->warning_count; i++) {
            if (is_known(output, methods[e]->warnings[i]))
                continue;
            output->warnings = tc_arena_grow(cli->arena, output->warnings, output->warning_count,
                                             output->warning_count + 1, sizeof *output->warnings);
            output->warnings[output->warning_count++] = methods[e]->warnings[i];
        }
    }
}

static tc_status sweep_all(tc_cli *cli, const sweep_wishes *w, tc_setup *setup, tc_sweep_output *output) {
    const tc_plan **plans = TC_NEW(cli->arena, const tc_plan *, w->count + 1);
    const tc_tacit_facts **methods = TC_NEW(cli->arena, const tc_tacit_facts *, w->count + 1);
    planned noise_free = {0};
    tc_sweep *sweep = NULL;
    const char *why = NULL;
    output->reason = setup->problem;
    tc_status status = make_plans(cli, w, setup, plans, methods, &noise_free, &output->reason);
    if (status == TC_OK && output->reason == NULL && !w->values[NO_REFERENCE].flag)
        status = tc_run_target_find(cli, setup, w->values[TOLERANCE].real, &output->target);
    if (status != TC_OK || output->reason != NULL)
        return status;
    collect_warnings(cli, methods, w->count, output);
    output->margin = tc_margin_text(cli->arena, noise_free.method);
    tc_experiment base = {.model = setup->model,
                          .derivatives = setup->derivatives,
                          .reference = output->target.reference,
                          .dual_radius = setup->dual_radius,
                          .method = noise_free.method,
                          .rounds = setup->rounds,
                          .grid = &setup->rounds,
                          .grid_count = 1,
                          .threads = output->threads};
    double began = tc_lab_seconds();
    status = tc_sweep_run(cli->arena, &base, noise_free.plan, plans, methods, w->epsilons, w->count,
                          w->privacy.seeded ? w->privacy.seed : 1, (size_t)w->values[SEEDS].integer, &cli->monitor,
                          &sweep, &why);
    output->run_seconds = tc_lab_seconds() - began;
    if (status != TC_OK && why != NULL)
        tc_buffer_printf(&cli->messages, "tacit sweep: %s\n", why);
    if (status == TC_OK) {
        output->sweep = sweep;
        output->reason = why_not_whole(cli, sweep);
    }
    return status;
}

static tc_status check_files(tc_cli *cli, const tc_arguments *arguments) {
    const tc_output_file outputs[] = {{"--trace", arguments->values[TRACE].text, TC_TRACE_FILE},
                                      {"--report", arguments->values[REPORT].text, TC_PAGE_FILE}};
    return tc_outputs_check(cli, outputs, 2, &(tc_input_file){"the problem", arguments->operands[0]}, 1);
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    sweep_wishes w = {.values = arguments->values};
    tc_setup setup;
    tc_sweep_output output = {.setup = &setup};
    tc_status status = tc_privacy_options_read(cli, "sweep", arguments, &w.privacy);
    if (status == TC_OK && w.privacy.seeded && !tc_seeds_fit(w.privacy.seed, (uint64_t)w.values[SEEDS].integer))
        status = refuse(cli, TC_SEEDS_TOO_LARGE);
    if (status == TC_OK)
        status = check_files(cli, arguments);
    if (status == TC_OK)
        status = tc_setup_whole(cli, "sweep", arguments->operands[0], &w.privacy, &setup);
    if (status != TC_OK)
        return status;
    tc_cli_tell(cli);
    output.method = tc_resolve_method(&w.privacy.plan);
    double middle = isnan(w.privacy.plan.epsilon) ? setup.model->privacy.epsilon : w.privacy.plan.epsilon;
    status = choose_epsilons(cli, w.values, middle, &w.epsilons, &w.count);
    if (status == TC_OK && w.count * (size_t)w.values[SEEDS].integer > MOST_RUNS)
        status = refuse(cli, "epsilons times seeds must not be more than 10,000,000 runs");
    output.threads = w.values[THREADS].given ? (size_t)w.values[THREADS].integer : tc_processors();
    if (status == TC_OK)
        status = sweep_all(cli, &w, &setup, &output);
    if (status != TC_OK)
        return status;
    if (w.values[JSON].flag) {
        tc_json json = tc_json_new(&cli->output);
        tc_sweep_output_json(&output, &json);
    } else {
        tc_sweep_output_text(&output, &cli->output);
    }
    bool unasked = setup.radius_origin == TC_RADIUS_PRIVATE && !w.privacy.seeded;
    *yes = output.sweep != NULL && tc_sweep_is_whole(output.sweep) && setup.sound && !unasked;
    status = write_files(cli, &w, &output);
    if (output.sweep == NULL || !output.sweep->interrupted)
        return status;
    tc_buffer_puts(&cli->messages, "tacit sweep: interrupted: this is how far it came\n");
    return status == TC_OK ? TC_INTERRUPTED : status;
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
             "All of it is simulation from seeds: nothing here is private, and nothing is released.\n\n"
             "The exit code is 0 when all runs came to their end, whatever the slope; 1 when one diverged, no plan can "
             "be made, the Slater point is bad, convexity is not proved, or the dual radius was computed from private "
             "data without --seed, which asks for a simulation: none of these plans would be private; 3 after Ctrl-C "
             "or SIGTERM, with the output so far.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
};
