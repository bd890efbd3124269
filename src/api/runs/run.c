/* tacit_run. */
#include "api/runs/run.h"

#include "api/solution.h"
#include "base/machine.h"
#include "base/ranks/ranks.h"
#include "base/sized.h"

#include <math.h>
#include <string.h>

enum { SHOWN_PER_DECADE = 3, MOST_SEEDS = 1000000, MOST_PER_DECADE = 1000000 };

static const double MOST_NUMBERS = 0x1p28;   /* of states */
static const double MOST_ROW_BYTES = 0x1p33; /* where every round has one */

void tacit_run_options_default(tacit_run_options *options, size_t size) {
    const tacit_run_options standard = {.rows_per_decade = SHOWN_PER_DECADE};
    tc_default_sized(options, size, &standard, sizeof standard);
}

/* ---- what runs are measured against ---- */

static void judge_target(tc_work *work, tc_setup *setup, tc_run_target *target) {
    const tc_reference *reference = target->reference;
    double sum = 0;
    if (reference->outcome == TC_INFEASIBLE_SUSPECTED) {
        const char *conflict = tc_conflict_sentence(work->arena, setup->model, reference);
        tc_work_say(work, "no point seems to satisfy all constraints: there is no solution to compare with.%s%s",
                    conflict == NULL ? "" : " ", conflict == NULL ? "" : conflict);
        target->reference = NULL;
        setup->sound = false;
        return;
    }
    if (reference->outcome == TC_INACCURATE)
        tc_work_say(work, reference->is_solution
                              ? "errors are distances to a solution that may not be the one of least norm"
                              : "errors are distances to a point that solves the problem only roughly (tacit solve "
                                "says how)");
    for (size_t j = 0; j < setup->model->constraint_count; j++)
        sum += fabs(reference->mu[j]);
    if (!(sum > setup->dual_radius + reference->residual))
        return;
    target->warning = tc_arena_format(work->arena,
                                      "the solution's multipliers sum to %.6g, more than the dual radius of %.6g: the "
                                      "run cannot reach it",
                                      sum, setup->dual_radius);
    tc_work_say(work, "%s", target->warning);
}

tc_status tc_run_target_find(tc_work *work, tc_setup *setup, double tolerance, size_t threads, tc_run_target *target) {
    double began = tc_seconds();
    target->reference =
        tc_reference_solve(work->arena, setup->model, setup->derivatives, tolerance, threads, work->monitor);
    target->seconds = tc_seconds() - began;
    if (target->reference->outcome == TC_SOLVE_INTERRUPTED)
        return TC_INTERRUPTED;
    judge_target(work, setup, target);
    return TC_OK;
}

/* ---- options ---- */

typedef struct run_job {
    tc_api_call *call;
    tacit_run_options options;
    const tc_hooks *hooks; /* NULL */
    tc_run_output *output;
    tc_setup *setup;
    tc_budgets *budgets;
    uint64_t first_seed;
    const uint64_t *grid; /* rounds whose rows are kept */
    size_t grid_count;
} run_job;

static const char *fault_of(const run_job *job) {
    const tacit_run_options *run = &job->options;
    const tc_privacy_wishes *wishes = &job->call->wishes;
    if (run->seeds > MOST_SEEDS)
        return "there are at most 1,000,000 seeds";
    if (run->seeds > 0 && !tc_seeds_fit(job->first_seed, run->seeds))
        return TC_SEEDS_TOO_LARGE;
    if (run->seeds > 0 && run->row != NULL)
        return "rows are told of a single run, and not where there is a number of seeds";
    if (run->rows_per_decade < -1 || run->rows_per_decade > MOST_PER_DECADE)
        return "rows_per_decade is a number up to 1,000,000, or -1 for every round";
    if (wishes->budgets.count > 0 && wishes->ledger == NULL)
        return "a budget wants a ledger: the file where what was spent is written";
    return NULL;
}

static tc_status read_run_options(run_job *job) {
    tc_api_call *call = job->call;
    tacit_run_options_default(&job->options, sizeof job->options);
    if (call->own != NULL && !tc_copy_sized(&job->options, sizeof job->options, sizeof job->options, call->own))
        return tc_wrong_size(call, "tacit_run_options");
    job->first_seed = call->wishes.seeded ? call->wishes.seed : 1;
    call->wishes.seeded = call->wishes.plan.seeded = call->wishes.seeded || job->options.seeds > 0;
    const char *fault = fault_of(job);
    return fault == NULL ? TC_OK : tc_work_refuse(&call->work, fault);
}

/* ---- the ledger: of several ranks the first alone looks at it ---- */

/* What the first rank found. */
static tc_status of_first_rank(tc_status status, const char **refusal) {
    struct {
        tc_status status;
        bool is_refused;
    } found = {status, *refusal != NULL};
    tc_ranks_broadcast(&found, sizeof found, 0);
    if (*refusal == NULL && found.is_refused)
        *refusal = "the first rank refused it";
    return found.status;
}

static tc_status read_ledger(run_job *job, tc_ledger **ledger) {
    const tc_work *work = &job->call->work;
    const char *path = job->call->wishes.ledger, *none = NULL;
    tc_status status = TC_OK;
    if (tc_ranks_prints())
        status = tc_ledger_read(work->arena, path, work->messages, ledger);
    else
        *ledger = TC_NEW(work->arena, tc_ledger, 1);
    return of_first_rank(status, &none);
}

/* The price of the run; output->reason where the budget does not allow it. */
static tc_status look_up_cost(run_job *job) {
    tc_run_output *output = job->output;
    tc_arena *arena = job->call->work.arena;
    tc_ledger_entry *entry = TC_NEW(arena, tc_ledger_entry, 1);
    *entry = tc_ledger_entry_of(arena, output->plan, tc_lab_run_id(arena));
    output->entry = entry;
    if (output->simulated)
        return TC_OK;
    tc_status status = TC_OK;
    if (tc_ranks_prints())
        status = tc_budgets_check(&job->call->work, job->budgets, output->ledger, entry);
    if (tc_ranks_prints() && status == TC_OK)
        output->reason = tc_over_budget(arena, output->ledger, entry, job->budgets->list, job->budgets->count);
    return of_first_rank(status, &output->reason);
}

static tc_status record_here(run_job *job) {
    tc_run_output *output = job->output;
    tc_work *work = &job->call->work;
    tc_ledger *after = NULL;
    if (output->simulated) {
        tc_work_say(work, "noise from a seed: nothing is entered in the ledger");
        return TC_OK;
    }
    if (!output->entry->is_priced)
        tc_work_say(work, "this run has no guarantee, and is entered so: no sum of this ledger holds after it");
    tc_status status = tc_ledger_record_within(work->arena, output->ledger->path, output->entry, job->budgets->list,
                                               job->budgets->count, work->messages, &output->reason);
    if (status != TC_OK)
        return status;
    status = tc_ledger_read(work->arena, output->ledger->path, work->messages, &after);
    output->ledger = after;
    if (output->reason != NULL) /* another run was entered meanwhile */
        output->card = NULL;
    else
        output->recorded = status == TC_OK;
    return status;
}

static tc_status record_cost(run_job *job) {
    if (job->output->ledger == NULL)
        return TC_OK;
    return of_first_rank(tc_ranks_prints() ? record_here(job) : TC_OK, &job->output->reason);
}

/* ---- running ---- */

static void part_records(tc_arena *arena, tc_run_output *output) {
    output->finished = TC_NEW(arena, tc_record, output->record_count + 1);
    for (size_t i = 0; i < output->record_count; i++) {
        if (output->records[i].outcome != TC_ENGINE_INTERRUPTED)
            output->finished[output->finished_count++] = output->records[i];
    }
}

/* A run that noise keeps away from the solution ends like any other: warn of it. */
static void judge_progress(tc_arena *arena, tc_run_output *output) {
    if (output->plan->mechanism == TC_MECHANISM_NONE)
        return;
    tc_row_quantiles start = tc_rows_summarise(arena, output->finished, output->finished_count, 0);
    tc_row_quantiles end = tc_rows_summarise(arena, output->finished, output->finished_count, output->setup->rounds);
    double x = start.x_error.median, x_after = end.x_error.median;
    double mu = start.mu_error.median, mu_after = end.mu_error.median;
    bool far = x_after >= 0.9 * x || (x_after >= 0.5 * x && mu > 0 && mu_after >= mu); /* a NAN is not far */
    if (!far)
        return;
    output->warning =
        tc_arena_format(arena,
                        "The run%s hardly approached the solution, if at all: the x error was %.4g at the "
                        "start and is %.4g at the end%s. The noise is too large for this problem, or the "
                        "steps or the rounds do not suit it.",
                        output->many ? "s" : "", x, x_after, output->many ? " (medians)" : "");
}

/* Sentences for whoever asks for them one by one. */
static void put_in_words(tc_arena *arena, tc_run_output *output) {
    const tc_model *model = output->setup->model;
    output->released_words = TC_NEW(arena, const char *, output->record_count + 1);
    output->true_words = TC_NEW(arena, const char *, output->record_count + 1);
    for (size_t i = 0; i < output->record_count && model->constraint_count > 0; i++) {
        const tc_record *record = &output->records[i];
        if (record->feasibility.probability > 0)
            output->released_words[i] = tc_feasibility_sentence(arena, model, &record->feasibility);
        if (tc_record_last(record) != NULL)
            output->true_words[i] = tc_rows_sentence(arena, model, tc_record_last(record)->constraints);
    }
}

/* One outcome for all runs: the worst, with its reason. */
static void sum_up(tc_arena *arena, tc_run_output *output) {
    size_t diverged = 0, stopped = output->wanted - output->record_count;
    for (size_t i = 0; i < output->record_count; i++) {
        diverged += output->records[i].outcome == TC_ENGINE_DIVERGED;
        stopped += output->records[i].outcome == TC_ENGINE_INTERRUPTED;
    }
    part_records(arena, output);
    judge_progress(arena, output);
    tc_engine_outcome worst = stopped > 0 ? TC_ENGINE_INTERRUPTED : diverged > 0 ? TC_ENGINE_DIVERGED : TC_ENGINE_DONE;
    output->outcome = tc_engine_outcome_name(worst);
    output->reason = NULL;
    if (worst == TC_ENGINE_DONE)
        return;
    if (!output->many)
        output->reason = output->records->reason;
    else if (stopped > 0)
        output->reason = tc_arena_format(arena, "%zu of %zu runs were done", output->finished_count, output->wanted);
    else
        output->reason = tc_arena_format(arena, "%zu of %zu runs diverged", diverged, output->wanted);
}

static void on_row(void *context, const tc_record *record, const tc_row *row) {
    const run_job *job = context;
    if (job->hooks != NULL && job->hooks->row != NULL)
        job->hooks->row(job->hooks->context, job->output, record, row);
    if (job->options.row == NULL)
        return;
    const tacit_row facts = tc_row_facts(job->setup->model, row);
    (void)tc_call_row(job->call, job->options.row, &facts); /* a failure stops the run by its monitor */
}

static tc_experiment experiment_of(run_job *job) {
    const tc_run_output *output = job->output;
    const tc_setup *setup = job->setup;
    return (tc_experiment){.plan = output->plan,
                           .model = setup->model,
                           .derivatives = setup->derivatives,
                           .reference = output->target.reference,
                           .dual_radius = setup->dual_radius,
                           .method = output->method,
                           .run_id = output->entry == NULL ? NULL : output->entry->run,
                           .keep_states = output->keep_states,
                           .keep_row_states = output->keep_row_states,
                           .rounds = setup->rounds,
                           .grid = job->grid,
                           .grid_count = job->grid_count,
                           .threads = output->threads,
                           .on_row = on_row,
                           .context = job};
}

static tc_status run_rounds(run_job *job) {
    tc_run_output *output = job->output;
    tc_work *work = &job->call->work;
    const tc_experiment experiment = experiment_of(job);
    tc_status status;
    const char *why = NULL;
    if (job->hooks != NULL && job->hooks->begin != NULL)
        job->hooks->begin(job->hooks->context, output);
    double began = tc_seconds();
    if (output->many) {
        output->wanted = job->options.seeds;
        status = tc_lab_run_many(work->arena, &experiment, job->first_seed, output->wanted, work->monitor,
                                 &output->records, &output->record_count, &why);
        output->run_seconds = tc_seconds() - began;
    } else {
        output->wanted = output->record_count = 1;
        status = tc_lab_run(work->arena, &experiment, output->simulated ? &job->first_seed : NULL, work->monitor,
                            &output->records, &why);
        output->run_seconds = status == TC_OK ? output->records->seconds : 0;
    }
    if (status != TC_OK && why != NULL)
        tc_work_say(work, "%s", why);
    if (status == TC_OK) {
        sum_up(work->arena, output);
        put_in_words(work->arena, output);
    }
    return status;
}

/* Is it better than doing nothing, and which part of the error is noise? After the runs, and not in their time. */
static tc_status compare(run_job *job) {
    tc_run_output *output = job->output;
    const tc_privacy_wishes *wishes = &job->call->wishes;
    const tc_compared what = {.setup = job->setup,
                              .reference = output->target.reference,
                              .records = output->finished,
                              .count = output->finished_count,
                              .has_noise = output->plan->mechanism != TC_MECHANISM_NONE,
                              .no_reference = job->options.no_reference,
                              .tolerance = job->call->options.tolerance,
                              .options = &wishes->plan,
                              .margin = wishes->margin,
                              .threads = output->threads};
    if (strcmp(output->outcome, "interrupted") == 0) {
        output->comparison.missing = "the run was interrupted";
        return TC_OK;
    }
    return tc_compare(&job->call->work, &what, &output->comparison);
}

/* ---- all of it ---- */

/* Everything before the first round; output->reason where there will be none. */
static tc_status prepare(run_job *job) {
    tc_api_call *call = job->call;
    tc_run_output *output = job->output;
    tc_status status = tc_setup_plan(&call->work, job->setup, &call->wishes.plan, &output->plan);
    if (status != TC_OK)
        return status;
    output->reason = job->setup->problem != NULL ? job->setup->problem : output->plan->problem;
    if (output->reason != NULL)
        return TC_OK;
    status = tc_setup_method(&call->work, job->setup, output->plan, call->wishes.margin, &output->method);
    if (status != TC_OK)
        return status;
    output->card = tc_card_make(call->work.arena, output->plan, output->simulated);
    if (output->ledger != NULL)
        status = look_up_cost(job);
    if (status != TC_OK)
        return status;
    if (output->reason != NULL) {
        output->card = NULL; /* nothing is run, and nothing promised */
        return TC_OK;
    }
    if (!job->options.no_reference)
        status = tc_run_target_find(&call->work, job->setup, call->options.tolerance, output->threads, &output->target);
    return status == TC_OK ? record_cost(job) : status;
}

/* The run has no guarantee, although nobody asked for a run without one. */
static bool is_unasked(const tc_run_output *output) {
    const tc_plan *plan = output->plan;
    bool asked = output->simulated || plan->mechanism == TC_MECHANISM_NONE || plan->constants == TC_DECLARED;
    return !asked && !tc_plan_deserves_private(plan);
}

static tc_status refuse_states(run_job *job, double runs, double rows, double numbers) {
    tc_work *work = &job->call->work;
    return tc_work_refuse(work, tc_arena_format(work->arena,
                                                "the states of %.0f run%s with %.0f rows each would take %.3g GiB, and "
                                                "at most 2 are kept: fewer seeds or rounds, or no states",
                                                runs, runs == 1 ? "" : "s", rows, numbers * sizeof(double) / 0x1p30));
}

/* Which rows are kept. TC_BAD_USAGE, with a message, where they or their states would take too much memory. */
static tc_status choose_rows(run_job *job) {
    tc_run_output *output = job->output;
    tc_arena *arena = job->call->work.arena;
    const tc_model *model = job->setup->model;
    int wanted = job->options.rows_per_decade;
    output->checkpoints = tc_grid(arena, job->setup->rounds, SHOWN_PER_DECADE, &output->checkpoint_count);
    job->grid = output->checkpoints;
    job->grid_count = output->checkpoint_count;
    if (wanted > 0 && wanted != SHOWN_PER_DECADE)
        job->grid = tc_grid(arena, job->setup->rounds, (unsigned)wanted, &job->grid_count);
    double runs = output->many ? (double)job->options.seeds : 1;
    double rows = wanted < 0 ? (double)job->setup->rounds + 1 : (double)job->grid_count;
    double with_states = output->keep_row_states ? rows : 0;
    double states = runs * (with_states + output->keep_states) * (double)model->state_count;
    double row_bytes = sizeof(tc_row) + sizeof *job->grid + 2 * (double)model->constraint_count * sizeof(double);
    if (states > MOST_NUMBERS)
        return refuse_states(job, runs, with_states, states);
    if (wanted < 0 && runs * rows * row_bytes > MOST_ROW_BYTES)
        return tc_work_refuse(&job->call->work,
                              tc_arena_format(arena,
                                              "the rows of every round would take %.3g GiB, and at most 8 are kept: "
                                              "fewer seeds or rounds, or not every round",
                                              runs * rows * row_bytes / 0x1p30));
    if (wanted < 0)
        job->grid = tc_grid(arena, job->setup->rounds, 0, &job->grid_count);
    return TC_OK;
}

/* Several ranks: each must hold something. */
static tc_status check_ranks(run_job *job) {
    tc_work *work = &job->call->work;
    const tc_model *model = job->setup->model;
    size_t ranks = tc_ranks_count(), idle = 0, blocks = 0;
    for (size_t r = 0; ranks > 1 && r < ranks; r++) {
        size_t held = 0;
        for (size_t f = 0; f < model->family_count; f++) {
            size_t first = 0, end = 0;
            tc_family_held_by(&model->families[f], f, r, ranks, &first, &end);
            held += (end - first + TC_MEMBER_BLOCK - 1) / TC_MEMBER_BLOCK;
        }
        idle += held == 0;
        blocks += held;
    }
    if (idle == 0)
        return TC_OK;
    return tc_work_refuse(work, tc_arena_format(work->arena,
                                                "%zu of %zu ranks would have nothing to do: agents are spread in "
                                                "blocks of %d of a family, and this problem has %zu; start fewer ranks",
                                                idle, ranks, TC_MEMBER_BLOCK, blocks));
}

/* The rounds of one run of a small problem are done by one thread, whatever was asked for: say so. */
static void choose_threads(const run_job *job) {
    tc_run_output *output = job->output;
    if (output->many || tc_ranks_several() || tc_engine_uses_threads(job->setup->model))
        return;
    output->threads = 1;
    if (job->call->options.threads > 1)
        tc_work_say(&job->call->work,
                    "note: the rounds use one thread: this problem is so small, or its families are, that %zu threads "
                    "would be slower",
                    job->call->options.threads);
}

static tc_status begin(run_job *job) {
    tc_api_call *call = job->call;
    tc_work *work = &call->work;
    tc_run_output *output = job->output;
    tc_ledger *ledger = NULL;
    tc_status status = read_run_options(job);
    if (status == TC_OK && call->wishes.ledger != NULL)
        status = read_ledger(job, &ledger);
    if (status == TC_OK)
        status = tc_setup_whole(work, &call->problem->loaded, &call->wishes, job->setup);
    if (status == TC_OK)
        status = check_ranks(job);
    if (status != TC_OK)
        return status;
    *job->budgets = call->wishes.budgets;
    tc_budgets_add_file(job->budgets, job->setup->model);
    if (!isnan(job->setup->model->budget.epsilon) && ledger == NULL && !call->wishes.seeded)
        return tc_work_refuse(work, "the file has a budget, and a ledger must say what was spent (--ledger FILE); a "
                                    "simulation from seeds needs none");
    output->ledger = ledger;
    output->simulated = call->wishes.seeded;
    output->many = job->options.seeds > 0;
    output->keep_states = output->many && job->options.keep_states;
    output->keep_row_states = job->options.keep_row_states != 0;
    output->threads = call->options.threads > 0 ? call->options.threads : tc_processors();
    choose_threads(job);
    status = choose_rows(job);
    if (status != TC_OK)
        return status;
    tc_work_tell(work);
    if (job->hooks != NULL && job->hooks->judged != NULL)
        job->hooks->judged(job->hooks->context);
    return TC_OK;
}

static void run_json(const tacit_result *result, tc_json *json) { tc_run_output_json(result->of.run, json); }

static void run_text(const tacit_result *result, tc_buffer *out) {
    tc_run_output_text(result->of.run, result->full, false, out);
}

static tc_planned *planned_of(const run_job *job) {
    const tc_run_output *output = job->output;
    tc_planned *planned = TC_NEW(job->call->work.arena, tc_planned, 1);
    *planned = (tc_planned){.plan = output->plan,
                            .derivatives = job->setup->derivatives,
                            .method = output->method,
                            .card = output->card,
                            .ledger = output->ledger,
                            .budgets = job->budgets};
    if (output->entry != NULL)
        planned->next = *output->entry;
    if (output->entry != NULL && output->records == NULL)
        planned->over = output->reason;
    tc_planned_finish(job->call->work.arena, planned);
    return planned;
}

static tc_status make_run(tc_api_call *call) {
    tc_arena *arena = call->work.arena;
    tacit_result *result = call->result;
    run_job job = {.call = call,
                   .hooks = call->hooks,
                   .output = TC_NEW(arena, tc_run_output, 1),
                   .setup = TC_NEW(arena, tc_setup, 1),
                   .budgets = TC_NEW(arena, tc_budgets, 1)};
    tc_run_output *output = job.output;
    output->setup = job.setup;
    output->outcome = "refused";
    tc_status status = begin(&job);
    if (status == TC_OK)
        status = prepare(&job);
    if (status == TC_OK && output->reason == NULL)
        status = run_rounds(&job);
    if (status == TC_OK && output->records != NULL)
        status = compare(&job);
    if (status != TC_OK)
        return status;
    result->model = job.setup->model;
    result->of.run = output;
    result->of.plan = planned_of(&job);
    result->is_interrupted = strcmp(output->outcome, "interrupted") == 0 || output->comparison.interrupted;
    result->holds = strcmp(output->outcome, "done") == 0 && job.setup->sound && !is_unasked(output);
    result->reason = output->reason != NULL ? output->reason
                     : !job.setup->sound    ? TC_UNSOUND
                                            : tc_planned_reason(arena, result->of.plan);
    if (output->method != NULL)
        tc_result_remark_all(result, output->method->warnings, output->method->warning_count);
    tc_result_remark(result, output->warning);
    tc_result_remark(result, output->comparison.lost ? output->comparison.verdict : NULL);
    tc_result_remark(result, output->comparison.advice);
    result->write_json = run_json;
    result->write_text = run_text;
    return TC_OK;
}

tacit_status tc_run_with(tacit_problem *problem, const tacit_promise *promise, const tacit_run_options *run,
                         const tc_hooks *hooks, const tacit_options *options, tacit_result **result, char **message) {
    tc_api_call call = {.command = "run",
                        .needs_problem = true,
                        .has_promise = true,
                        .problem = problem,
                        .promise = promise,
                        .own = run,
                        .hooks = hooks};
    return tc_call_make(&call, options, make_run, result, message);
}

tacit_status tacit_run(tacit_problem *problem, const tacit_promise *promise, const tacit_run_options *run,
                       const tacit_options *options, tacit_result **result, char **message) {
    return tc_run_with(problem, promise, run, NULL, options, result, message);
}
