#include "api/runs/compare.h"

#include "base/machine.h"
#include "base/text.h"

#include <math.h>

/* ---- what to compare with ---- */

void tc_compare_baselines(tc_work *work, const tc_setup *setup, const tc_reference *reference, double tolerance,
                          size_t threads, tc_comparison *made) {
    double began = tc_seconds();
    if (setup->model->constraint_count > 0) {
        made->zero = tc_baseline_of_zero_prices(work->arena, setup->model, setup->derivatives, reference, tolerance,
                                                threads, work->monitor);
        made->slater = tc_baseline_of_slater(work->arena, setup->model, reference);
    }
    made->seconds += tc_seconds() - began;
    made->interrupted = made->interrupted || tc_interrupted(work->monitor);
}

/* States times rounds. Beyond that a second run is left out: it would take as long as the first, which is minutes. */
static const double MOST_WORK = 1e10;

static const char *too_large(tc_arena *arena, const tc_compared *what) {
    double states = (double)what->setup->model->state_count, rounds = (double)what->setup->rounds;
    if (states * rounds <= MOST_WORK)
        return NULL;
    return tc_arena_format(arena,
                           "%.0f rounds of %.0f states take too long to be made a second time without being asked for: "
                           "--mechanism none makes them without noise",
                           rounds, states);
}

/* The plan without noise, by the same options. What it says stays unsaid: the plan with noise has said it. */
static tc_status plan_without_noise(tc_work *work, const tc_compared *what, const tc_plan **plan,
                                    const tc_tacit_facts **method) {
    tc_buffer unsaid = tc_buffer_new(work->arena, 1 << 16);
    tc_work quiet = *work;
    tc_plan_options wanted = *what->options;
    double analysed = what->setup->analyse_seconds;
    quiet.messages = &unsaid;
    quiet.hear = NULL;
    wanted.mechanism = TC_MECHANISM_NONE;
    wanted.certain = false; /* its last round is for runs with noise */
    wanted.seeded = true;
    tc_status status = tc_setup_plan(&quiet, what->setup, &wanted, plan);
    if (status == TC_OK && (*plan)->problem == NULL)
        status = tc_setup_method(&quiet, what->setup, *plan, what->margin, method);
    what->setup->analyse_seconds = analysed;
    return status;
}

static tc_experiment experiment_of(const tc_compared *what) {
    return (tc_experiment){.model = what->setup->model,
                           .derivatives = what->setup->derivatives,
                           .reference = what->reference,
                           .dual_radius = what->setup->dual_radius,
                           .rounds = what->setup->rounds,
                           .threads = what->threads};
}

/* *record: NULL where made->missing says why. TC_INTERRUPTED after an interrupt. */
static tc_status run_without_noise(tc_work *work, const tc_compared *what, tc_comparison *made, tc_record **record) {
    tc_experiment experiment = experiment_of(what);
    const uint64_t ends[] = {0, what->setup->rounds};
    const char *why = NULL;
    tc_status status = plan_without_noise(work, what, &experiment.plan, &experiment.method);
    if (status == TC_BAD_USAGE || (status == TC_OK && experiment.plan->problem != NULL)) {
        made->missing = "there is no plan without noise for these options";
        return TC_OK;
    }
    experiment.what = "without noise";
    experiment.grid = ends;
    experiment.grid_count = what->setup->rounds > 0 ? 2 : 1;
    if (status == TC_OK)
        status = tc_lab_run(work->arena, &experiment, &(uint64_t){0}, work->monitor, record, &why);
    return status == TC_OK && (*record)->outcome == TC_ENGINE_INTERRUPTED ? TC_INTERRUPTED : status;
}

/* ---- the verdict ---- */

/* Medians of what the runs end with; of one run its values. */
static tc_row ends_of(tc_arena *arena, const tc_compared *what) {
    double *x = TC_NEW(arena, double, what->count + 1), *violation = TC_NEW(arena, double, what->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < what->count; i++) {
        const tc_row *last = tc_record_last(&what->records[i]);
        if (last == NULL)
            continue;
        x[count] = last->x_error;
        violation[count++] = last->max_violation;
    }
    return (tc_row){.x_error = tc_quantiles_of(x, count).median,
                    .max_violation = tc_quantiles_of(violation, count).median};
}

static const char *how_many(tc_arena *arena, tc_tally tally) {
    return tally.runs < 2 ? "" : tc_arena_format(arena, " (%zu of %zu runs; medians)", tally.dominated, tally.runs);
}

static const char *lost_words(tc_arena *arena, const tc_compared *what, const tc_comparison *made, const tc_row *end) {
    bool by_zero = tc_tally_is_lost(made->by_zero);
    const tc_baseline *best = by_zero ? made->zero : made->slater;
    if (by_zero && best->worst == what->setup->model->constraint_count)
        return "NO BETTER THAN DOING NOTHING: with zero prices every constraint already holds.";
    return tc_arena_format(arena,
                           "NO BETTER THAN DOING NOTHING%s: %s ends %.4g from the solution with a largest violation of "
                           "%.4g; %s, %.4g and %.4g.",
                           how_many(arena, by_zero ? made->by_zero : made->by_slater),
                           what->has_noise ? "the private answer" : "the run", end->x_error, end->max_violation,
                           by_zero ? "zero prices" : "the Slater point", best->row.x_error, best->row.max_violation);
}

static void judge(tc_arena *arena, const tc_compared *what, tc_comparison *made) {
    const tc_model *model = what->setup->model;
    tc_row end = ends_of(arena, what);
    made->judged = made->zero != NULL && what->reference != NULL && !isnan(end.x_error);
    if (!made->judged)
        return;
    made->by_zero = tc_baseline_tally(made->zero, model, what->records, what->count);
    if (made->slater != NULL)
        made->by_slater = tc_baseline_tally(made->slater, model, what->records, what->count);
    made->lost = tc_tally_is_lost(made->by_zero) || tc_tally_is_lost(made->by_slater);
    if (made->lost) {
        made->verdict = lost_words(arena, what, made, &end);
        return;
    }
    const tc_row *nothing = &made->zero->row;
    bool nearer = end.x_error < nothing->x_error, holds_better = end.max_violation < nothing->max_violation;
    made->verdict = tc_arena_format(
        arena, "%s: %.4g from the solution (zero prices: %.4g), largest violation %.4g (zero prices: %.4g)%s.",
        nearer && holds_better ? "Better than doing nothing"
        : nearer               ? "Closer to the solution than doing nothing, but violates more"
                               : "Violates less than doing nothing, but is farther from the solution",
        end.x_error, nothing->x_error, end.max_violation, nothing->max_violation,
        made->by_zero.runs > 1 ? ", medians" : "");
}

/* ---- which part is noise ---- */

static void part_error(tc_arena *arena, const tc_compared *what, tc_comparison *made) {
    double x = ends_of(arena, what).x_error, own;
    const tc_row *free = made->noise_free == NULL ? NULL : tc_record_last(made->noise_free);
    if (!what->has_noise || free == NULL || isnan(x) || isnan(free->x_error))
        return;
    own = free->x_error;
    made->parts =
        own <= 0.5 * x
            ? tc_arena_format(arena,
                              "The x error is mostly noise: the same run without noise ends at %.4g instead of %.4g.",
                              own, x)
            : tc_arena_format(arena,
                              "The x error is mostly the method's own: the same run without noise ends at %.4g, with "
                              "noise at %.4g. More rounds may help; less privacy hardly does.",
                              own, x);
}

static void advise(tc_arena *arena, const tc_compared *what, tc_comparison *made) {
    const tc_arrival *arrival = &made->arrival;
    if (what->has_noise || arrival->arrived) /* with noise made->parts says what the error is made of */
        return;
    uint64_t rounds = what->setup->rounds;
    if (made->noise_free->outcome == TC_ENGINE_DIVERGED)
        made->advice = tc_arena_format(arena, "NOT CONVERGED: the run diverged (%s). What helps: smaller steps.",
                                       made->noise_free->reason);
    else if (isnan(arrival->x))
        made->advice = tc_arena_format(arena,
                                       "NOT CONVERGED: the saddle point conditions are off by %.2g of 1 + |z| at round "
                                       "%.0f, more than the tolerance of %g. What helps: more rounds (--rounds).",
                                       arrival->residual, (double)rounds, TC_ARRIVED);
    else
        made->advice = tc_arena_format(arena,
                                       "NOT CONVERGED: x is %.3g %% and mu %.3g %% of its size from the solution at "
                                       "round %.0f, more than the tolerance of %g %%. What helps: more rounds "
                                       "(--rounds).",
                                       100 * arrival->x, 100 * arrival->mu, (double)rounds, 100 * TC_ARRIVED);
}

void tc_compare_noise_free(tc_work *work, const tc_compared *what, const tc_record *record, tc_comparison *made) {
    const tc_experiment experiment = experiment_of(what);
    if (record == NULL || tc_record_last(record) == NULL)
        return;
    made->noise_free = record;
    made->is_own = !what->has_noise;
    made->arrival = tc_arrival_of(work->arena, &experiment, record);
    advise(work->arena, what, made);
}

tc_status tc_compare(tc_work *work, const tc_compared *what, tc_comparison *made) {
    double began = tc_seconds();
    tc_status status = TC_OK;
    tc_record *quiet = NULL;
    if (!what->no_reference)
        tc_compare_baselines(work, what->setup, what->reference, what->tolerance, what->threads, made);
    judge(work->arena, what, made);
    if (!what->has_noise) {
        tc_compare_noise_free(work, what, what->count == 0 ? NULL : what->records, made);
    } else if (!what->no_reference && !made->interrupted) {
        made->missing = too_large(work->arena, what);
        if (made->missing == NULL)
            status = run_without_noise(work, what, made, &quiet);
        if (status == TC_OK)
            tc_compare_noise_free(work, what, quiet, made);
    }
    made->interrupted = made->interrupted || status == TC_INTERRUPTED;
    if (made->interrupted)
        made->missing = "stopped on request";
    part_error(work->arena, what, made);
    made->seconds = tc_seconds() - began;
    return status == TC_INTERRUPTED ? TC_OK : status;
}

/* ---- JSON and text ---- */

const char *tc_baseline_worst(const tc_baseline *baseline, const tc_model *model) {
    return baseline->worst == model->constraint_count ? NULL : model->constraints[baseline->worst].name;
}

static void json_baseline(tc_json *json, const char *key, const tc_baseline *baseline, const tc_model *model) {
    if (baseline == NULL) {
        tc_json_null(json, key);
        return;
    }
    tc_json_open_object(json, key);
    tc_json_number(json, "x_error", baseline->row.x_error);
    tc_json_number(json, "objective", baseline->row.objective);
    tc_json_number(json, "max_violation", baseline->row.max_violation);
    tc_json_string(json, "worst", tc_baseline_worst(baseline, model));
    tc_json_close_object(json);
}

static void json_noise_free(tc_json *json, const tc_comparison *made) {
    const tc_row *last = made->noise_free == NULL ? NULL : tc_record_last(made->noise_free);
    if (last == NULL) {
        tc_json_null(json, "noise_free");
        return;
    }
    tc_json_open_object(json, "noise_free");
    tc_json_string(json, "outcome", tc_engine_outcome_name(made->noise_free->outcome));
    tc_json_count(json, "rounds", made->noise_free->rounds);
    tc_json_number(json, "x_error", last->x_error);
    tc_json_number(json, "mu_error", last->mu_error);
    tc_json_number(json, "objective", last->objective);
    tc_json_number(json, "max_violation", last->max_violation);
    tc_json_bool(json, "converged", made->arrival.arrived);
    tc_json_number(json, "tolerance", TC_ARRIVED);
    tc_json_number(json, "relative_x_error", made->arrival.x);
    tc_json_number(json, "relative_mu_error", made->arrival.mu);
    tc_json_number(json, "relative_residual", made->arrival.residual);
    tc_json_close_object(json);
}

void tc_comparison_json(const tc_comparison *made, const tc_model *model, tc_json *json) {
    json_baseline(json, "baseline", made->zero, model);
    json_baseline(json, "slater_baseline", made->slater, model);
    json_noise_free(json, made);
    tc_json_string(json, "noise_free_missing", made->missing);
    tc_json_string(json, "error_parts", made->parts);
}

static void text_line(tc_buffer *out, const char *name, const tc_row *row, const char *worst) {
    char text[3][32];
    tc_buffer_printf(out, "  %-16s %13s %13s %13s%s%s\n", name, tc_shown(text[0], row->objective, 0, 6),
                     isnan(row->x_error) ? "-" : tc_shown(text[1], row->x_error, 0, 4),
                     tc_shown(text[2], row->max_violation, 0, 4), worst == NULL ? "" : "  ",
                     worst == NULL ? "" : worst);
}

void tc_comparison_text(const tc_comparison *made, const tc_model *model, const tc_reference *reference,
                        const tc_row *result, const char *name, tc_buffer *out) {
    const tc_row *free = made->noise_free == NULL || made->is_own ? NULL : tc_record_last(made->noise_free);
    tc_buffer_printf(out, "  %-16s %13s %13s %13s  %s\n", "", "objective", "x error", "max violation", "of");
    size_t worst = result->constraints == NULL ? model->constraint_count : tc_worst_row(model, result->constraints);
    text_line(out, name, result, worst == model->constraint_count ? NULL : model->constraints[worst].name);
    if (free != NULL) {
        worst = tc_worst_row(model, free->constraints);
        text_line(out, "without noise", free, worst == model->constraint_count ? NULL : model->constraints[worst].name);
    }
    if (reference != NULL) {
        double rest = reference->max_violation < 1e-9 ? 0 : reference->max_violation;
        text_line(out, "solution", &(tc_row){.objective = reference->objective, .max_violation = rest}, NULL);
    }
    if (made->zero != NULL)
        text_line(out, "zero prices", &made->zero->row, tc_baseline_worst(made->zero, model));
    if (made->slater != NULL)
        text_line(out, "Slater point", &made->slater->row, tc_baseline_worst(made->slater, model));
}
