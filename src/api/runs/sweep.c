/* tacit_sweep. */
#include "api/runs/run.h"
#include "base/machine.h"
#include "base/sized.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 1000, POINTS = 7, SEEDS = 20, MOST_SEEDS = 1000000, MOST_RUNS = 10000000 };

void tacit_sweep_options_default(tacit_sweep_options *options, size_t size) {
    const tacit_sweep_options standard = {.from = NAN, .to = NAN};
    tc_default_sized(options, size, &standard, sizeof standard);
}

typedef struct sweep_job {
    tc_api_call *call;
    tacit_sweep_options options;
    tc_setup *setup;
    tc_sweep_output *output;
    double *epsilons; /* increasing */
    size_t count;
} sweep_job;

/* ---- options ---- */

static bool is_price(double value) { return value > 0 && isfinite(value); }

static tc_status check_sweep_options(sweep_job *job) {
    tc_work *work = &job->call->work;
    const tc_privacy_wishes *wishes = &job->call->wishes;
    tacit_sweep_options *o = &job->options;
    bool has_list = o->epsilons != NULL, has_grid = !isnan(o->from) || !isnan(o->to) || o->points != 0;
    if (wishes->ledger != NULL || wishes->budgets.count > 0)
        return tc_work_refuse(work, "a sweep is a simulation from seeds: it has no ledger and no budget");
    if (has_list && has_grid)
        return tc_work_refuse(work, "epsilons is a list; from, to and points make one: not both");
    if (!has_list && o->epsilon_count > 0)
        return tc_work_refuse(work, "there are no epsilons where epsilon_count says so");
    if (has_list && (o->epsilon_count == 0 || o->epsilon_count > MOST_POINTS))
        return tc_work_refuse(work, "epsilons takes 1 to 1000 of them");
    for (size_t i = 0; has_list && i < o->epsilon_count; i++)
        if (!is_price(o->epsilons[i]))
            return tc_work_refuse(
                work, tc_arena_format(work->arena, "epsilons wants positive numbers, not %g", o->epsilons[i]));
    if ((!isnan(o->from) && !is_price(o->from)) || (!isnan(o->to) && !is_price(o->to)))
        return tc_work_refuse(work, "from and to want positive numbers");
    o->points = o->points == 0 ? POINTS : o->points;
    o->seeds = o->seeds == 0 ? SEEDS : o->seeds;
    if (o->points < 2 || o->points > MOST_POINTS)
        return tc_work_refuse(work, "points is a number from 2 to 1000");
    if (o->seeds > MOST_SEEDS)
        return tc_work_refuse(work, "there are at most 1,000,000 seeds");
    if (wishes->seeded && !tc_seeds_fit(wishes->seed, o->seeds))
        return tc_work_refuse(work, TC_SEEDS_TOO_LARGE);
    if (wishes->plan.coalition_count > 0)
        return tc_work_refuse(work,
                              "--coalition would change nothing: a sweep shows no observers; it goes with plan and "
                              "run");
    job->call->wishes.has_epsilons = has_list || (!isnan(o->from) && !isnan(o->to));
    if (wishes->has_epsilons && !isnan(wishes->plan.epsilon))
        return tc_work_refuse(work, "--epsilon would change nothing: it is the middle of a grid, and all epsilons are "
                                    "given; leave it out, or give it alone");
    return TC_OK;
}

static tc_status read_sweep_options(sweep_job *job) {
    tacit_sweep_options_default(&job->options, sizeof job->options);
    if (job->call->own != NULL &&
        !tc_copy_sized(&job->options, sizeof job->options, sizeof job->options, job->call->own))
        return tc_wrong_size(job->call, "tacit_sweep_options");
    return check_sweep_options(job);
}

/* ---- which epsilons ---- */

/* Increasing, each once. */
static void take_list(sweep_job *job) {
    job->count = job->options.epsilon_count;
    memcpy(job->epsilons, job->options.epsilons, job->count * sizeof *job->epsilons);
    tc_sort_numbers(job->epsilons, job->count);
    size_t kept = 0;
    for (size_t i = 0; i < job->count; i++) {
        if (kept == 0 || job->epsilons[kept - 1] != job->epsilons[i])
            job->epsilons[kept++] = job->epsilons[i];
    }
    if (kept < job->count)
        tc_work_say(&job->call->work, "epsilons names a number more than once: each is run once");
    job->count = kept;
}

/* from * 2^t, where t is a share of log2(to / from): so powers of two are exact. A value next to a short decimal
 * becomes that decimal. */
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

static tc_status choose_epsilons(sweep_job *job) {
    tc_work *work = &job->call->work;
    double wished = job->call->wishes.plan.epsilon;
    double middle = isnan(wished) ? job->setup->model->privacy.epsilon : wished;
    double from = isnan(job->options.from) ? middle / 8 : job->options.from;
    double to = isnan(job->options.to) ? middle * 8 : job->options.to;
    job->epsilons = TC_NEW(work->arena, double, MOST_POINTS);
    if (job->options.epsilons != NULL) {
        take_list(job);
    } else {
        if (isnan(from) || isnan(to))
            return tc_work_refuse(work, "around which epsilon? Neither the promise nor the file says: give epsilons, "
                                        "or from and to");
        if (!(from < to))
            return tc_work_refuse(
                work, tc_arena_format(work->arena, "from must be less than to, and %g is not less than %g", from, to));
        job->count = job->options.points;
        for (size_t i = 0; i < job->count; i++)
            job->epsilons[i] = grid_point(from, to, i, job->count - 1);
    }
    if (job->count * job->options.seeds > MOST_RUNS)
        return tc_work_refuse(work, "epsilons times seeds must not be more than 10,000,000 runs");
    return TC_OK;
}

/* ---- plans ---- */

typedef struct sweep_plan { /* for one epsilon, or without noise */
    const tc_plan *plan;
    const tc_tacit_facts *method;
} sweep_plan;

/* made->method is NULL where there is no plan. */
static tc_status make_plan(sweep_job *job, const tc_plan_options *wanted, sweep_plan *made) {
    tc_work *work = &job->call->work;
    *made = (sweep_plan){0};
    tc_status status = tc_setup_plan(work, job->setup, wanted, &made->plan);
    if (status == TC_OK && made->plan->problem == NULL && job->setup->problem == NULL)
        status = tc_setup_method(work, job->setup, made->plan, job->call->wishes.margin, &made->method);
    return status;
}

/* A plan for each epsilon, and one without noise. *problem says why one cannot be made. */
static tc_status make_plans(sweep_job *job, const tc_plan **plans, const tc_tacit_facts **methods,
                            sweep_plan *noise_free, const char **problem) {
    tc_work *work = &job->call->work;
    tc_plan_options wanted = job->call->wishes.plan;
    wanted.seeded = true;
    for (size_t e = 0; e < job->count && *problem == NULL; e++) {
        wanted.epsilon = job->epsilons[e];
        tc_progress(work->monitor, "planning", (double)e / (double)job->count);
        sweep_plan made;
        tc_status status = make_plan(job, &wanted, &made);
        if (status != TC_OK)
            return status;
        plans[e] = made.plan;
        methods[e] = made.method;
        if (plans[e]->problem != NULL)
            *problem = tc_arena_format(work->arena, "epsilon %g: %s", job->epsilons[e], plans[e]->problem);
        else if (plans[e]->mechanism == TC_MECHANISM_NONE)
            return tc_work_refuse(work, "without noise there is nothing to sweep: mechanism laplace or gaussian");
    }
    if (*problem != NULL)
        return TC_OK;
    wanted = job->call->wishes.plan;
    wanted.mechanism = TC_MECHANISM_NONE;
    wanted.certain = false;
    wanted.seeded = true;
    tc_status status = make_plan(job, &wanted, noise_free);
    if (status == TC_OK)
        *problem = noise_free->plan->problem;
    return status;
}

static bool is_known(const tc_sweep_output *output, const char *warning) {
    for (size_t i = 0; i < output->warning_count; i++) {
        if (strcmp(output->warnings[i], warning) == 0)
            return true;
    }
    return false;
}

static void collect_warnings(tc_arena *arena, const tc_tacit_facts *const *methods, size_t count,
                             tc_sweep_output *output) {
    for (size_t e = 0; e < count; e++) {
        for (size_t i = 0; methods[e] != NULL && i < methods[e]->warning_count; i++) {
            if (is_known(output, methods[e]->warnings[i]))
                continue;
            output->warnings = tc_arena_grow(arena, output->warnings, output->warning_count, output->warning_count + 1,
                                             sizeof *output->warnings);
            output->warnings[output->warning_count++] = methods[e]->warnings[i];
        }
    }
}

/* ---- the work ---- */

/* NULL where all runs came to their end. */
static const char *why_not_whole(tc_arena *arena, const tc_sweep *sweep) {
    size_t done = 0, wanted = sweep->point_count * sweep->seeds;
    const tc_record *quiet = sweep->without_noise;
    for (size_t e = 0; e < sweep->point_count; e++)
        done += sweep->points[e].runs;
    if (quiet->outcome == TC_ENGINE_DIVERGED)
        return tc_arena_format(arena, "the run without noise diverged: %s", quiet->reason);
    return done == wanted ? NULL : tc_arena_format(arena, "%zu of %zu runs were done", done, wanted);
}

/* What the sweep is compared with, and what its runs are worth. */
static void weigh(sweep_job *job, tc_sweep *sweep) {
    tc_work *work = &job->call->work;
    tc_sweep_output *output = job->output;
    const tc_compared what = {
        .setup = job->setup, .reference = output->target.reference, .has_noise = true, .threads = output->threads};
    if (!job->options.no_reference && !sweep->interrupted)
        tc_compare_baselines(work, job->setup, output->target.reference, job->call->options.tolerance, output->threads,
                             &output->comparison);
    if (sweep->without_noise->outcome != TC_ENGINE_INTERRUPTED)
        tc_compare_noise_free(work, &what, sweep->without_noise, &output->comparison);
    tc_sweep_weigh(work->arena, sweep, output->comparison.zero, output->comparison.slater);
}

static tc_status run_all(sweep_job *job, const tc_plan *const *plans, const tc_tacit_facts *const *methods,
                         const sweep_plan *noise_free) {
    tc_work *work = &job->call->work;
    const tc_privacy_wishes *wishes = &job->call->wishes;
    tc_sweep_output *output = job->output;
    tc_sweep *sweep = NULL;
    const char *why = NULL;
    tc_experiment base = {.model = job->setup->model,
                          .derivatives = job->setup->derivatives,
                          .reference = output->target.reference,
                          .dual_radius = job->setup->dual_radius,
                          .method = noise_free->method,
                          .rounds = job->setup->rounds,
                          .grid = &job->setup->rounds,
                          .grid_count = 1,
                          .threads = output->threads};
    double began = tc_seconds();
    tc_status status = tc_sweep_run(work->arena, &base, noise_free->plan, plans, methods, job->epsilons, job->count,
                                    wishes->seeded ? wishes->seed : 1, job->options.seeds, work->monitor, &sweep, &why);
    output->run_seconds = tc_seconds() - began;
    if (status != TC_OK && why != NULL)
        tc_work_say(work, "%s", why);
    if (status == TC_OK) {
        weigh(job, sweep);
        output->sweep = sweep;
        output->reason = why_not_whole(work->arena, sweep);
    }
    return status;
}

static tc_status sweep_all(sweep_job *job) {
    tc_work *work = &job->call->work;
    tc_sweep_output *output = job->output;
    const tc_plan **plans = TC_NEW(work->arena, const tc_plan *, job->count + 1);
    const tc_tacit_facts **methods = TC_NEW(work->arena, const tc_tacit_facts *, job->count + 1);
    sweep_plan noise_free = {0};
    output->reason = job->setup->problem;
    tc_status status = make_plans(job, plans, methods, &noise_free, &output->reason);
    if (status == TC_OK && output->reason == NULL && !job->options.no_reference)
        status = tc_run_target_find(work, job->setup, job->call->options.tolerance, output->threads, &output->target);
    if (status != TC_OK || output->reason != NULL)
        return status;
    collect_warnings(work->arena, methods, job->count, output);
    output->margin = tc_margin_text(work->arena, noise_free.method);
    return run_all(job, plans, methods, &noise_free);
}

static void sweep_json(const tacit_result *result, tc_json *json) { tc_sweep_output_json(result->of.sweep, json); }
static void sweep_text(const tacit_result *result, tc_buffer *out) { tc_sweep_output_text(result->of.sweep, out); }

static tc_status make_sweep(tc_api_call *call) {
    tc_work *work = &call->work;
    tacit_result *result = call->result;
    const tc_hooks *hooks = call->hooks;
    sweep_job job = {
        .call = call, .setup = TC_NEW(work->arena, tc_setup, 1), .output = TC_NEW(work->arena, tc_sweep_output, 1)};
    tc_status status = read_sweep_options(&job);
    if (status == TC_OK)
        status = tc_setup_whole(work, &call->problem->loaded, &call->wishes, job.setup);
    if (status != TC_OK)
        return status;
    tc_work_tell(work);
    if (hooks != NULL && hooks->judged != NULL)
        hooks->judged(hooks->context);
    job.output->setup = job.setup;
    job.output->method = tc_resolve_method(&call->wishes.plan);
    job.output->threads = call->options.threads > 0 ? call->options.threads : tc_processors();
    status = choose_epsilons(&job);
    if (status == TC_OK)
        status = sweep_all(&job);
    if (status != TC_OK)
        return status;
    const tc_sweep *sweep = job.output->sweep;
    bool unasked = job.setup->radius_origin == TC_RADIUS_PRIVATE && !call->wishes.seeded;
    result->model = job.setup->model;
    result->of.sweep = job.output;
    result->is_interrupted = sweep != NULL && (sweep->interrupted || job.output->comparison.interrupted);
    result->holds = sweep != NULL && tc_sweep_is_whole(sweep) && job.setup->sound && !unasked;
    result->reason = job.output->reason != NULL ? job.output->reason
                     : unasked                  ? "the dual radius was computed from private data"
                                                : TC_UNSOUND;
    tc_result_remark_all(result, job.output->warnings, job.output->warning_count);
    result->write_json = sweep_json;
    result->write_text = sweep_text;
    return TC_OK;
}

tacit_status tc_sweep_with(tacit_problem *problem, const tacit_promise *promise, const tacit_sweep_options *sweep,
                           const tc_hooks *hooks, const tacit_options *options, tacit_result **result, char **message) {
    tc_api_call call = {.command = "sweep",
                        .needs_problem = true,
                        .has_promise = true,
                        .problem = problem,
                        .promise = promise,
                        .own = sweep,
                        .hooks = hooks};
    return tc_call_make(&call, options, make_sweep, result, message);
}

tacit_status tacit_sweep(tacit_problem *problem, const tacit_promise *promise, const tacit_sweep_options *sweep,
                         const tacit_options *options, tacit_result **result, char **message) {
    return tc_sweep_with(problem, promise, sweep, NULL, options, result, message);
}
