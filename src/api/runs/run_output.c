/* Runs as JSON and as text. */
#include "api/runs/run.h"
#include "api/solution.h"
#include "base/options.h"
#include "base/text.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* ---- JSON ---- */

void tc_json_quantiles(tc_json *json, const char *key, const tc_quantiles *quantiles) {
    tc_json_open_object(json, key);
    tc_json_number(json, "min", quantiles->min);
    tc_json_number(json, "q10", quantiles->q10);
    tc_json_number(json, "median", quantiles->median);
    tc_json_number(json, "q90", quantiles->q90);
    tc_json_number(json, "max", quantiles->max);
    tc_json_close_object(json);
}

void tc_json_measures(tc_json *json, const tc_row *row) {
    tc_json_number(json, "x_error", row == NULL ? NAN : row->x_error);
    tc_json_number(json, "mu_error", row == NULL ? NAN : row->mu_error);
    tc_json_number(json, "objective", row == NULL ? NAN : row->objective);
    tc_json_number(json, "max_violation", row == NULL ? NAN : row->max_violation);
}

void tc_json_measure_quantiles(tc_json *json, const tc_row_quantiles *rows) {
    tc_json_quantiles(json, "x_error", &rows->x_error);
    tc_json_quantiles(json, "mu_error", &rows->mu_error);
    tc_json_quantiles(json, "objective", &rows->objective);
    tc_json_quantiles(json, "max_violation", &rows->max_violation);
}

tc_row tc_row_medians(const tc_row_quantiles *rows) {
    return (tc_row){.k = rows->k,
                    .x_error = rows->x_error.median,
                    .mu_error = rows->mu_error.median,
                    .objective = rows->objective.median,
                    .max_violation = rows->max_violation.median};
}

/* of: "medians" where the numbers are not those of one run; else NULL. */
static void json_row_of(tc_json *json, const char *key, const tc_row *row, const char *of) {
    if (row == NULL) {
        tc_json_null(json, key);
        return;
    }
    tc_json_open_object(json, key);
    if (of != NULL)
        tc_json_string(json, "of", of);
    tc_json_count(json, "k", row->k);
    tc_json_measures(json, row);
    tc_json_close_object(json);
}

static void json_row(tc_json *json, const char *key, const tc_row *row) { json_row_of(json, key, row, NULL); }

static void json_checkpoints(tc_json *json, const tc_run_output *output, const tc_record *record) {
    tc_json_open_array(json, "checkpoints");
    for (size_t i = 0; i < output->checkpoint_count; i++) {
        const tc_row *row = tc_record_row(record, output->checkpoints[i]);
        if (row != NULL)
            json_row(json, NULL, row);
    }
    tc_json_close_array(json);
}

/* What is not released. */
static void json_values(tc_json *json, const tc_model *model, const tc_record *record) {
    tc_point_json_states(model, record->x, json);
    tc_json_numbers(json, "g", tc_record_last(record)->constraints, model->constraint_count);
}

static void json_state(tc_json *json, const tc_model *model, const tc_record *record) {
    tc_point_json_states(model, record->x, json);
    tc_point_json_constraints(model, json);
    tc_json_numbers(json, "mu", record->mu, model->constraint_count);
    tc_json_numbers(json, "g", tc_record_last(record)->constraints, model->constraint_count);
}

static void json_single(tc_json *json, const tc_run_output *output) {
    const tc_record *record = output->records;
    json_row(json, "final", tc_record_last(record));
    json_checkpoints(json, output, record);
    json_state(json, output->setup->model, record);
    tc_feasibility_json(json, output->setup->model, &record->feasibility);
    tc_json_string(json, "true_feasibility", output->true_words[0]);
}

static void json_summary(tc_json *json, const tc_row_quantiles *summary) {
    tc_json_count(json, "k", summary->k);
    tc_json_count(json, "runs", summary->runs);
    tc_json_measure_quantiles(json, summary);
}

static void json_medians(tc_json *json, const char *key, const tc_row_quantiles *summary) {
    tc_row medians = tc_row_medians(summary);
    json_row_of(json, key, summary->runs == 0 ? NULL : &medians, "medians");
}

static void json_runs(tc_json *json, const tc_run_output *output) {
    tc_json_open_array(json, "runs");
    for (size_t i = 0; i < output->record_count; i++) {
        const tc_record *record = &output->records[i];
        tc_json_open_object(json, NULL);
        tc_json_count(json, "seed", record->seed);
        tc_json_string(json, "outcome", tc_engine_outcome_name(record->outcome));
        tc_json_string(json, "reason", record->reason);
        tc_json_count(json, "rounds", record->rounds);
        tc_json_number(json, "seconds", record->seconds);
        json_row(json, "final", tc_record_last(record));
        json_checkpoints(json, output, record);
        tc_json_numbers(json, "mu", record->mu, output->setup->model->constraint_count);
        if (output->keep_states && tc_record_last(record) != NULL)
            json_values(json, output->setup->model, record);
        tc_feasibility_json(json, output->setup->model, &record->feasibility);
        tc_json_string(json, "true_feasibility", output->true_words[i]);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

/* Shows the last state of the first run: medians of states mean nothing. */
static void json_many(tc_json *json, const tc_run_output *output) {
    tc_arena *arena = json->out->arena;
    uint64_t rounds = output->setup->rounds;
    tc_row_quantiles end = tc_rows_summarise(arena, output->finished, output->finished_count, rounds);
    tc_row_quantiles half = tc_rows_summarise(arena, output->finished, output->finished_count, rounds / 2);
    tc_json_count(json, "seeds", output->wanted);
    tc_json_count(json, "not_begun", output->wanted - output->record_count);
    json_medians(json, "final", &end);
    tc_json_open_array(json, "checkpoints");
    for (size_t i = 0; i < output->checkpoint_count; i++) {
        tc_row_quantiles here =
            tc_rows_summarise(arena, output->finished, output->finished_count, output->checkpoints[i]);
        if (here.runs > 0)
            json_medians(json, NULL, &here);
    }
    tc_json_close_array(json);
    tc_json_open_object(json, "summary");
    json_summary(json, &end);
    tc_json_open_object(json, "half");
    json_summary(json, &half);
    tc_json_close_object(json);
    tc_json_close_object(json);
    json_runs(json, output);
    if (output->record_count > 0 && output->records[0].x != NULL && output->records[0].row_count > 0) {
        tc_json_count(json, "state_of_seed", output->records[0].seed);
        json_state(json, output->setup->model, &output->records[0]);
    }
}

void tc_json_times(tc_json *json, const tc_setup *setup, const tc_run_target *target, double run_seconds,
                   double compare_seconds, size_t threads) {
    tc_json_number(json, "seconds", run_seconds);
    tc_json_open_object(json, "times");
    tc_json_number(json, "load", setup->load_seconds);
    tc_json_number(json, "analyse", setup->analyse_seconds);
    tc_json_number(json, "solve", target->seconds);
    tc_json_number(json, "run", run_seconds);
    tc_json_number(json, "compare", compare_seconds);
    tc_json_close_object(json);
    tc_json_count(json, "threads", threads);
}

static void json_setting(tc_json *json, const tc_setup *setup, const tc_reference *reference) {
    tc_json_open_object(json, "dual_radius");
    tc_json_number(json, "value", setup->dual_radius);
    tc_json_string(json, "origin",
                   setup->model->constraint_count == 0 ? "none" : tc_radius_origin_name(setup->radius_origin));
    tc_json_close_object(json);
    if (reference == NULL) {
        tc_json_null(json, "reference");
        return;
    }
    tc_json_open_object(json, "reference");
    tc_json_string(json, "status", tc_outcome_name(reference->outcome));
    tc_json_number(json, "objective", reference->objective);
    tc_json_number(json, "residual", reference->residual);
    tc_json_number(json, "norm_x", reference->norm_x);
    tc_json_number(json, "norm_mu", reference->norm_mu);
    tc_json_close_object(json);
}

static void json_plan(tc_json *json, const tc_run_output *output) {
    tc_json_open_object(json, "plan");
    tc_plan_json(output->plan, json);
    tc_json_close_object(json);
    if (output->card != NULL)
        tc_card_json(output->card, "card", json);
    if (output->entry == NULL)
        return;
    tc_json_bool(json, "recorded", output->recorded);
    tc_ledger_json(json->out->arena, output->ledger, output->simulated ? NULL : output->entry, "ledger", json);
}

static void json_comparison(tc_json *json, const tc_run_output *output) {
    const tc_comparison *made = &output->comparison;
    tc_json_string(json, "verdict", made->verdict);
    if (made->judged)
        tc_json_bool(json, "no_better_than_nothing", made->lost);
    else
        tc_json_null(json, "no_better_than_nothing");
    if (made->noise_free == NULL)
        tc_json_null(json, "converged");
    else
        tc_json_bool(json, "converged", made->arrival.arrived);
    tc_comparison_json(made, output->setup->model, json);
}

void tc_run_output_json(const tc_run_output *output, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "outcome", output->outcome);
    tc_json_string(json, "reason", output->reason);
    tc_json_string(json, "label", TC_NOT_RELEASED);
    tc_guarantee_json(
        output->card,
        "what the cloud releases: mu and feasibility. x, g, final, checkpoints, runs, summary, verdict, baselines, "
        "noise_free and true_feasibility are true values or come from them, and are not released and not private",
        json);
    tc_json_open_array(json, "warnings");
    for (size_t i = 0; output->method != NULL && i < output->method->warning_count; i++)
        tc_json_string(json, NULL, output->method->warnings[i]);
    if (output->target.warning != NULL)
        tc_json_string(json, NULL, output->target.warning);
    if (output->warning != NULL)
        tc_json_string(json, NULL, output->warning);
    if (output->comparison.lost)
        tc_json_string(json, NULL, output->comparison.verdict);
    if (output->comparison.advice != NULL)
        tc_json_string(json, NULL, output->comparison.advice);
    tc_json_close_array(json);
    tc_json_string(json, "method", tc_method_word(output->plan->method));
    tc_margin_json(output->method, json);
    tc_json_count(json, "rounds",
                  output->records == NULL ? 0
                  : output->many          ? output->setup->rounds
                                          : output->records->rounds);
    tc_json_times(json, output->setup, &output->target, output->run_seconds, output->comparison.seconds,
                  output->threads);
    json_comparison(json, output);
    if (output->records == NULL) {
        tc_json_null(json, "final");
        tc_json_open_array(json, "checkpoints");
        tc_json_close_array(json);
    } else {
        (output->many ? json_many : json_single)(json, output);
    }
    json_setting(json, output->setup, output->target.reference);
    json_plan(json, output);
    tc_json_close_object(json);
}

/* ---- text ---- */

static const char *const mechanism_names[] = {"", "no noise", "laplace noise", "gaussian noise"};

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* "laplace noise, published method, tight calibration"; "laplace noise, tacit method, margin 0.1" */
static const char *manner_of(tc_arena *arena, const tc_run_output *output) {
    const tc_plan *plan = output->plan;
    const char *noise = mechanism_names[plan->mechanism], *margin = tc_margin_text(arena, output->method);
    if (plan->method == TC_METHOD_PUBLISHED)
        return tc_arena_format(arena, "%s, published method, %s calibration", noise,
                               plan->calibration == TC_PUBLISHED ? "published" : "tight");
    return tc_arena_format(arena, "%s, tacit method%s%s", noise, margin != NULL ? ", margin " : "",
                           margin != NULL ? margin : "");
}

static void text_method_warnings(const tc_tacit_facts *method, tc_buffer *out) {
    for (size_t i = 0; method != NULL && i < method->warning_count; i++)
        tc_options_wrap(out, tc_arena_format(out->arena, "warning: %s", method->warnings[i]), 0);
}

/* A run without noise that has not converged says that first: then it is no measure of anything else. */
void tc_run_output_verdict(const tc_run_output *output, tc_buffer *out) {
    const tc_comparison *made = &output->comparison;
    if (made->advice != NULL)
        tc_options_wrap(out, made->advice, 0);
    if (made->verdict != NULL)
        tc_options_wrap(out, made->verdict, 0);
}

void tc_run_output_begin(const tc_run_output *output, tc_buffer *out) {
    const tc_model *model = output->setup->model;
    tc_options_wrap(out,
                    tc_arena_format(out->arena, "%s: %zu agent%s with %zu state%s, %zu constraint%s; %s; %.0f round%s.",
                                    base_name(model->source.path), model->agent_count, tc_plural(model->agent_count),
                                    model->state_count, tc_plural(model->state_count), model->constraint_count,
                                    tc_plural(model->constraint_count), manner_of(out->arena, output),
                                    (double)output->setup->rounds, tc_plural(output->setup->rounds)),
                    0);
    tc_options_wrap(
        out, tc_arena_format(out->arena, "Guarantee of what is released: %s.", tc_card_line(out->arena, output->card)),
        0);
    text_method_warnings(output->method, out);
    if (output->many)
        return;
    tc_buffer_printf(out, "\ncheckpoints (%s)\n", TC_NOT_RELEASED);
    tc_buffer_printf(out, "%12s %12s %12s %15s %15s\n", "round", "x error", "mu error", "objective", "max violation");
}

bool tc_run_output_shows(const tc_run_output *output, const tc_record *record, const tc_row *row) {
    bool is_shown = record->outcome != TC_ENGINE_DONE && row == tc_record_last(record); /* where it stopped */
    for (size_t i = 0; i < output->checkpoint_count && !is_shown; i++)
        is_shown = output->checkpoints[i] == row->k;
    return is_shown;
}

static const char *shown(char text[32], double value, int digits) {
    if (value != value)
        return "-";
    return tc_shown(text, value, 0, digits);
}

void tc_run_output_row(const tc_row *row, tc_buffer *out) {
    char x[32], mu[32], objective[32], violation[32];
    tc_buffer_printf(out, "%12.0f %12s %12s %15s %15s\n", (double)row->k, shown(x, row->x_error, 4),
                     shown(mu, row->mu_error, 4), shown(objective, row->objective, 6),
                     shown(violation, row->max_violation, 4));
}

/* ---- the end of a single run ------------------------------------------------------------------------------------ */

/* Inequalities that have a price or are violated, and equalities; all if full. */
static void text_constraints(const tc_model *model, const tc_row *row, bool full, tc_buffer *out) {
    size_t wanted = 0, printed = 0;
    tc_buffer_printf(out, "\nconstraints: multipliers, and values g <= 0%s (%s)\n",
                     tc_equality_count(model) > 0 ? " or g == 0" : "", TC_NOT_RELEASED);
    tc_point_name(out, "");
    tc_buffer_printf(out, " %*s %*s\n", TC_POINT_CELL_WIDTH - 1, "mu", TC_POINT_CELL_WIDTH - 1, "g");
    for (size_t j = 0; j < model->constraint_count; j++) {
        bool is_equality = model->constraints[j].is_equality;
        if (!full && !is_equality && !(row->multipliers[j] > 0) && !(row->constraints[j] > 0))
            continue;
        if (wanted++ >= TC_POINT_SHOWN && !full)
            continue;
        tc_point_name(out, model->constraints[j].name);
        tc_buffer_printf(out, " %*.4g %*.4g%s\n", TC_POINT_CELL_WIDTH - 1, row->multipliers[j], TC_POINT_CELL_WIDTH - 1,
                         row->constraints[j],
                         is_equality               ? "  == 0"
                         : row->constraints[j] > 0 ? "  violated"
                                                   : "");
        printed++;
    }
    tc_point_left_out(out, wanted - printed);
    size_t rest = model->constraint_count - wanted;
    if (rest == 1)
        tc_buffer_printf(out, "  the %s one holds without a price\n", wanted == 0 ? "only" : "other");
    else if (rest > 1)
        tc_buffer_printf(out, "  %s %zu hold without a price\n", wanted == 0 ? "all" : "the other", rest);
}

static void text_comparison(const tc_run_output *output, const tc_row *result, tc_buffer *out);

static void text_single(const tc_run_output *output, bool full, tc_buffer *out) {
    const tc_model *model = output->setup->model;
    const tc_record *record = output->records;
    if (tc_record_last(record) != NULL)
        text_comparison(output, tc_record_last(record), out);
    const char *how = output->method == NULL         ? ""
                      : record->feasibility.move > 0 ? ", averaged and moved"
                                                     : ", averaged over them";
    tc_buffer_printf(out, "\nstates after %.0f round%s%s (%s)\n", (double)record->rounds, tc_plural(record->rounds),
                     how, TC_NOT_RELEASED);
    tc_point_states(model, record->x, full, out);
    if (model->constraint_count > 0)
        text_constraints(model, tc_record_last(record), full, out);
    if (record->feasibility.probability > 0)
        tc_options_wrap(out, tc_arena_format(out->arena, "What was released shows: %s.", output->released_words[0]), 0);
    if (output->true_words[0] != NULL)
        tc_options_wrap(out, tc_arena_format(out->arena, "In truth (%s): %s.", TC_NOT_RELEASED, output->true_words[0]),
                        0);
}

/* ---- is it better than doing nothing, and which part of the error is noise? ---- */

static void text_comparison(const tc_run_output *output, const tc_row *result, tc_buffer *out) {
    const tc_comparison *made = &output->comparison;
    const tc_reference *reference = output->target.reference;
    if (made->zero == NULL && made->slater == NULL && made->missing == NULL && made->parts == NULL)
        return;
    tc_buffer_printf(out, "\ncompared%s (%s)\n", output->many ? ", medians of the runs" : "", TC_NOT_RELEASED);
    tc_comparison_text(made, output->setup->model, reference, result,
                       output->plan->mechanism == TC_MECHANISM_NONE ? "this run" : "private answer", out);
    if (made->parts != NULL)
        tc_options_wrap(out, made->parts, 0);
    if (made->missing != NULL)
        tc_options_wrap(out, tc_arena_format(out->arena, "Not compared with the run without noise: %s.", made->missing),
                        0);
}

/* Inequalities at or below zero, equalities within their tolerances. */
static bool holds(const tc_model *model, const tc_record *record, const tc_row *row, bool of_equalities) {
    bool all = true;
    for (size_t j = 0; j < model->constraint_count; j++) {
        bool is_equality = model->constraints[j].is_equality;
        if (is_equality == of_equalities)
            all = all &&
                  (is_equality ? fabs(row->constraints[j]) <= record->feasibility.bounds[j] : row->constraints[j] <= 0);
    }
    return all;
}

/* Of runs that released data show to be feasible, how many are? */
static void text_feasible_runs(const tc_run_output *output, tc_buffer *out) {
    const tc_model *model = output->setup->model;
    size_t judged = 0, shown = 0, held = 0, kept = 0, within = 0, equalities = tc_equality_count(model);
    const tc_feasibility *said = NULL;
    for (size_t i = 0; i < output->finished_count; i++) {
        const tc_record *record = &output->finished[i];
        const tc_row *last = tc_record_last(record);
        if (!(record->feasibility.probability > 0) || last == NULL)
            continue;
        bool all = holds(model, record, last, false);
        said = &record->feasibility;
        judged++;
        held += all;
        shown += record->feasibility.shown;
        kept += record->feasibility.shown && all;
        within += holds(model, record, last, true);
    }
    if (said == NULL)
        return;
    const char *surely =
        said->is_certain ? "with certainty" : tc_arena_format(out->arena, "with probability %g", said->probability);
    tc_buffer_puts(out, "\n");
    if (equalities < model->constraint_count)
        tc_options_wrap(out,
                        tc_arena_format(out->arena,
                                        "%zu of %zu results satisfy all %s. What was released shows it, %s, of %zu; "
                                        "of these %zu do.",
                                        held, judged, equalities > 0 ? "inequalities" : "constraints", surely, shown,
                                        kept),
                        0);
    if (equalities > 0)
        tc_options_wrap(out,
                        tc_arena_format(out->arena,
                                        "%zu of %zu results keep every equality to within the tolerance that what was "
                                        "released gives it, %s.",
                                        within, judged, surely),
                        0);
}

/* ---- many runs -------------------------------------------------------------------------------------------------- */

static void text_quantiles(const char *name, const tc_quantiles *q, tc_buffer *out) {
    char text[5][32];
    tc_buffer_printf(out, "  %-14s %11s %11s %11s %11s %11s\n", name, shown(text[0], q->min, 4),
                     shown(text[1], q->q10, 4), shown(text[2], q->median, 4), shown(text[3], q->q90, 4),
                     shown(text[4], q->max, 4));
}

static void text_summary(const tc_row_quantiles *summary, tc_buffer *out) {
    tc_buffer_printf(out, "\nafter %.0f round%s, over %zu run%s (%s)\n", (double)summary->k, tc_plural(summary->k),
                     summary->runs, tc_plural(summary->runs), TC_NOT_RELEASED);
    tc_buffer_printf(out, "  %-14s %11s %11s %11s %11s %11s\n", "", "least", "10 %", "median", "90 %", "largest");
    text_quantiles("x error", &summary->x_error, out);
    text_quantiles("mu error", &summary->mu_error, out);
    text_quantiles("objective", &summary->objective, out);
    text_quantiles("max violation", &summary->max_violation, out);
}

static void text_bands(const tc_run_output *output, tc_buffer *out) {
    tc_buffer_printf(out, "\ncheckpoints: median, and 10 %% to 90 %% of the runs (%s)\n", TC_NOT_RELEASED);
    tc_buffer_printf(out, "%12s %32s %32s\n", "round", "x error", "mu error");
    for (size_t i = 0; i < output->checkpoint_count; i++) {
        char text[6][32];
        tc_row_quantiles here =
            tc_rows_summarise(out->arena, output->finished, output->finished_count, output->checkpoints[i]);
        if (here.runs == 0)
            break;
        const tc_quantiles *x = &here.x_error, *mu = &here.mu_error;
        tc_buffer_printf(out, "%12.0f %10s %10s %10s %10s %10s %10s\n", (double)here.k, shown(text[0], x->median, 4),
                         shown(text[1], x->q10, 4), shown(text[2], x->q90, 4), shown(text[3], mu->median, 4),
                         shown(text[4], mu->q10, 4), shown(text[5], mu->q90, 4));
    }
}

static void text_many(const tc_run_output *output, tc_buffer *out) {
    uint64_t rounds = output->setup->rounds;
    size_t failed = 0;
    tc_row_quantiles end = tc_rows_summarise(out->arena, output->finished, output->finished_count, rounds);
    tc_row_quantiles half = tc_rows_summarise(out->arena, output->finished, output->finished_count, rounds / 2);
    if (output->finished_count > 0)
        text_bands(output, out);
    if (half.runs > 0)
        text_summary(&half, out);
    tc_row medians = tc_row_medians(&end);
    if (end.runs > 0) {
        text_summary(&end, out);
        text_comparison(output, &medians, out);
    } else {
        tc_buffer_puts(out, "\nNo run was finished.\n");
    }
    text_feasible_runs(output, out);
    for (size_t i = 0; i < output->record_count; i++) {
        const tc_record *record = &output->records[i];
        if (record->outcome != TC_ENGINE_DIVERGED)
            continue;
        if (failed++ < TC_POINT_SHOWN)
            tc_buffer_printf(out, "%s  seed %.0f diverged: %s\n", failed == 1 ? "\n" : "", (double)record->seed,
                             record->reason);
    }
    if (failed > TC_POINT_SHOWN)
        tc_buffer_printf(out, "  ... and %zu more\n", failed - TC_POINT_SHOWN);
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

static void text_times(const tc_run_output *output, tc_buffer *out) {
    double rounds = 0;
    for (size_t i = 0; i < output->record_count; i++)
        rounds += (double)output->records[i].rounds;
    if (rounds > 0 && output->run_seconds > 0)
        tc_buffer_printf(out, "\n%s: %.0f round%s in %.3g s, %.3g rounds/s on %zu thread%s\n", output->outcome, rounds,
                         rounds == 1 ? "" : "s", output->run_seconds, rounds / output->run_seconds, output->threads,
                         tc_plural(output->threads));
    else
        tc_buffer_printf(out, "\n%s before the first round\n", output->outcome);
    tc_buffer_printf(out, "before that: load %.3g s, analysis and plan %.3g s, reference %.3g s\n",
                     output->setup->load_seconds, output->setup->analyse_seconds, output->target.seconds);
}

void tc_run_output_end(const tc_run_output *output, bool full, bool whole_card, tc_buffer *out) {
    if (output->records == NULL) {
        tc_options_wrap(out, tc_arena_format(out->arena, "Refused, and nothing was run: %s", output->reason), 0);
    } else {
        if (output->many)
            text_many(output, out);
        else
            text_single(output, full, out);
        text_times(output, out);
        if (output->reason != NULL)
            tc_options_wrap(out, tc_arena_format(out->arena, "%s: %s", output->outcome, output->reason), 0);
        if (output->warning != NULL) {
            tc_buffer_puts(out, "\n");
            tc_options_wrap(out, output->warning, 0);
        }
    }
    if (output->entry != NULL) {
        tc_buffer_puts(out, "\n");
        tc_ledger_text(out->arena, output->ledger, output->recorded || output->simulated ? NULL : output->entry, out);
        if (output->simulated)
            tc_buffer_puts(out, "  simulated runs are not entered\n");
    }
    tc_result_card(output->card, whole_card, out);
}

void tc_run_output_text(const tc_run_output *output, bool full, bool whole_card, tc_buffer *out) {
    if (output->records != NULL) {
        tc_run_output_verdict(output, out);
        tc_run_output_begin(output, out);
    }
    for (size_t i = 0; output->records != NULL && !output->many && i < output->records->row_count; i++) {
        const tc_row *row = &output->records->rows[i];
        if (tc_run_output_shows(output, output->records, row))
            tc_run_output_row(row, out);
    }
    tc_run_output_end(output, full, whole_card, out);
}
