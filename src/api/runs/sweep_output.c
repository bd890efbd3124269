/* Sweeps as JSON and as text. */
#include "api/runs/run.h"
#include "base/options.h"
#include "base/text.h"

#include <math.h>

static const char *const bend_names[] = {"agrees", "flatter", "steeper", "unknown"};

bool tc_sweep_is_whole(const tc_sweep *sweep) {
    bool whole = sweep->without_noise->outcome == TC_ENGINE_DONE;
    for (size_t e = 0; e < sweep->point_count; e++)
        whole = whole && sweep->points[e].runs == sweep->seeds;
    return whole;
}

static const char *outcome_of(const tc_sweep *sweep) {
    return sweep == NULL              ? "refused"
           : sweep->interrupted       ? "interrupted"
           : tc_sweep_is_whole(sweep) ? "done"
                                      : "diverged";
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static void json_slope(tc_json *json, const char *slope_key, const char *interval_key, const tc_slope *slope) {
    tc_json_number(json, slope_key, slope->slope);
    tc_json_numbers(json, interval_key, (double[]){slope->low, slope->high}, 2);
}

static void json_runs(tc_json *json, const tc_sweep_point *point) {
    tc_json_open_array(json, "runs");
    for (size_t s = 0; s < point->record_count; s++) {
        const tc_record *record = &point->records[s];
        const tc_row *last = tc_record_last(record);
        tc_json_open_object(json, NULL);
        tc_json_count(json, "seed", record->seed);
        tc_json_string(json, "outcome", tc_engine_outcome_name(record->outcome));
        tc_json_number(json, "x_error", last == NULL ? NAN : last->x_error);
        tc_json_number(json, "mu_error", last == NULL ? NAN : last->mu_error);
        tc_json_number(json, "penalty", record->moved_x + record->moved_mu);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

static void json_point(tc_json *json, const tc_sweep_point *point) {
    tc_row medians = tc_row_medians(&point->at_end);
    tc_json_open_object(json, NULL);
    tc_json_number(json, "epsilon", point->epsilon);
    tc_json_count(json, "completed", point->runs);
    tc_json_count(json, "diverged", point->diverged);
    tc_json_measures(json, &medians);
    tc_json_number(json, "penalty", point->penalty);
    tc_json_number(json, "penalty_error", point->penalty_error);
    tc_json_number(json, "penalty_x", point->penalty_x);
    tc_json_number(json, "penalty_mu", point->penalty_mu);
    tc_json_number(json, "bias", point->bias);
    tc_json_number(json, "spread", point->spread);
    tc_json_number(json, "excess", point->excess);
    tc_json_number(json, "share_of_box", point->share_of_box);
    tc_json_bool(json, "no_better_than_nothing", point->is_lost);
    tc_json_bool(json, "privacy_is_free", point->is_free);
    tc_json_open_object(json, "quantiles");
    tc_json_measure_quantiles(json, &point->at_end);
    tc_json_quantiles(json, "penalty", &point->moved);
    tc_json_close_object(json);
    json_runs(json, point);
    tc_json_close_object(json);
}

static void json_local(tc_json *json, const tc_sweep *sweep) {
    tc_json_open_array(json, "local_slopes");
    for (size_t e = 0; e + 1 < sweep->point_count; e++) {
        tc_json_open_object(json, NULL);
        tc_json_number(json, "from", sweep->points[e].epsilon);
        tc_json_number(json, "to", sweep->points[e + 1].epsilon);
        json_slope(json, "slope", "interval", &sweep->local[e].slope);
        tc_json_string(json, "verdict", bend_names[sweep->local[e].bend]);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

static void json_sweep(tc_json *json, const tc_sweep *sweep) {
    const tc_row *quiet = tc_record_last(sweep->without_noise);
    tc_json_count(json, "rounds", sweep->rounds);
    tc_json_count(json, "seeds", sweep->seeds);
    tc_json_count(json, "first_seed", sweep->first_seed);
    tc_json_open_object(json, "without_noise");
    tc_json_string(json, "outcome", tc_engine_outcome_name(sweep->without_noise->outcome));
    tc_json_measures(json, quiet);
    tc_json_close_object(json);
    tc_json_open_array(json, "points");
    for (size_t e = 0; e < sweep->point_count; e++)
        json_point(json, &sweep->points[e]);
    tc_json_close_array(json);
    if (sweep->bent) {
        tc_json_number(json, "slope", sweep->slope.slope);
        tc_json_null(json, "slope_interval");
    } else {
        json_slope(json, "slope", "slope_interval", &sweep->slope);
    }
    tc_json_number(json, "intercept", sweep->slope.intercept);
    json_local(json, sweep);
    if (sweep->agreeing_last > sweep->agreeing_first) {
        tc_json_open_object(json, "agreement");
        tc_json_number(json, "from", sweep->points[sweep->agreeing_first].epsilon);
        tc_json_number(json, "to", sweep->points[sweep->agreeing_last].epsilon);
        json_slope(json, "slope", "interval", &sweep->agreeing);
        tc_json_bool(json, "holds", tc_slope_allows(&sweep->agreeing, -2));
        tc_json_close_object(json);
    } else {
        tc_json_null(json, "agreement");
    }
    tc_json_open_array(json, "worth");
    for (size_t i = 0; i < sweep->worth_count; i++)
        tc_json_string(json, NULL, sweep->worth[i]);
    tc_json_close_array(json);
    tc_json_open_array(json, "verdict");
    for (size_t i = 0; i < sweep->verdict_count; i++)
        tc_json_string(json, NULL, sweep->verdict[i]);
    tc_json_close_array(json);
}

void tc_sweep_output_json(const tc_sweep_output *output, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "outcome", outcome_of(output->sweep));
    tc_json_string(json, "reason", output->reason);
    tc_json_bool(json, "private", false);
    tc_json_string(json, "label", TC_NOT_RELEASED);
    tc_json_string(json, "method", tc_method_word(output->method));
    tc_json_open_array(json, "warnings");
    for (size_t i = 0; i < output->warning_count; i++)
        tc_json_string(json, NULL, output->warnings[i]);
    tc_json_close_array(json);
    tc_json_times(json, output->setup, &output->target, output->run_seconds, output->comparison.seconds,
                  output->threads);
    if (output->sweep != NULL) {
        json_sweep(json, output->sweep);
        tc_comparison_json(&output->comparison, output->setup->model, json);
    }
    tc_json_close_object(json);
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

static const char *shown(char text[32], double value, int digits) {
    return isnan(value) ? "-" : tc_shown(text, value, 0, digits);
}

/* A line of the first table; what the rest of it says. */
static void text_result(tc_buffer *out, const char *name, const tc_row *row, bool has_mu, const char *rest) {
    char text[4][32];
    tc_buffer_printf(out, "%12s %11s %11s %13s %13s%s%s\n", name, shown(text[0], row->x_error, 4),
                     has_mu ? shown(text[1], row->mu_error, 4) : "-", shown(text[2], row->objective, 6),
                     shown(text[3], row->max_violation, 4), rest[0] == '\0' ? "" : "  ", rest);
}

static void text_results(const tc_sweep_output *output, tc_buffer *out) {
    const tc_sweep *sweep = output->sweep;
    const tc_comparison *made = &output->comparison;
    const tc_reference *reference = output->target.reference;
    const tc_row *quiet = tc_record_last(sweep->without_noise);
    tc_buffer_printf(out, "%12s %11s %11s %13s %13s\n", "epsilon", "x error", "mu error", "objective", "max violation");
    for (size_t e = 0; e < sweep->point_count; e++) {
        char text[32];
        const tc_sweep_point *point = &sweep->points[e];
        const tc_row medians = tc_row_medians(&point->at_end);
        text_result(out, shown(text, point->epsilon, 4), &medians, true,
                    point->is_lost   ? "worthless"
                    : point->is_free ? "free"
                                     : "");
    }
    if (quiet != NULL)
        text_result(out, "no noise", quiet, true, "");
    if (reference != NULL)
        text_result(out, "solution",
                    &(tc_row){.objective = reference->objective,
                              .max_violation = reference->max_violation < 1e-9 ? 0 : reference->max_violation},
                    true, "");
    if (made->zero != NULL)
        text_result(out, "zero prices", &made->zero->row, false, "");
    if (made->slater != NULL)
        text_result(out, "Slater point", &made->slater->row, false, "");
}

static void text_penalties(const tc_sweep *sweep, tc_buffer *out) {
    char text[5][32];
    tc_buffer_puts(out, "\npenalty: mean |z - z without noise|^2, +- its standard error; bias is estimated:\n"
                        "about 0, and as often below it, where there is none\n");
    tc_buffer_printf(out, "%12s %11s %9s %11s %11s\n", "epsilon", "penalty", "+-", "of it bias", "excess");
    for (size_t e = 0; e < sweep->point_count; e++) {
        const tc_sweep_point *point = &sweep->points[e];
        tc_buffer_printf(out, "%12s %11s %9s %11s %11s\n", shown(text[0], point->epsilon, 4),
                         shown(text[1], point->penalty, 4), shown(text[2], point->penalty_error, 2),
                         shown(text[3], point->bias, 4), shown(text[4], point->excess, 4));
    }
}

static void text_local(const tc_sweep *sweep, tc_buffer *out) {
    tc_buffer_puts(out, "\nslope of log penalty between neighbours, with intervals for all together\n");
    for (size_t e = 0; e + 1 < sweep->point_count; e++) {
        char text[5][32];
        const tc_slope *slope = &sweep->local[e].slope;
        tc_buffer_printf(out, "%10s to %-10s %8s   [%s, %s]  %s\n", shown(text[0], sweep->points[e].epsilon, 4),
                         shown(text[1], sweep->points[e + 1].epsilon, 4), shown(text[2], slope->slope, 4),
                         shown(text[3], slope->low, 4), shown(text[4], slope->high, 4),
                         bend_names[sweep->local[e].bend]);
    }
}

void tc_sweep_output_text(const tc_sweep_output *output, tc_buffer *out) {
    const tc_sweep *sweep = output->sweep;
    if (sweep == NULL) {
        tc_options_wrap(out, tc_arena_format(out->arena, "Refused, and nothing was run: %s", output->reason), 0);
        return;
    }
    tc_buffer_printf(out, "%zu epsilon%s, %zu seed%s each, %.0f rounds (%s; NOT PRIVATE)\nby the %s method\n",
                     sweep->point_count, tc_plural(sweep->point_count), sweep->seeds, tc_plural(sweep->seeds),
                     (double)sweep->rounds, TC_NOT_RELEASED, tc_method_word(output->method));
    for (size_t i = 0; i < output->warning_count; i++)
        tc_options_wrap(out, tc_arena_format(out->arena, "warning: %s", output->warnings[i]), 0);
    tc_buffer_puts(out, "medians of the runs; worthless: no better than doing nothing; free: the error is\n"
                        "the method's own, and more privacy costs nothing\n\n");
    bool any = false;
    for (size_t e = 0; e < sweep->point_count; e++)
        any = any || sweep->points[e].runs > 0;
    if (any) {
        text_results(output, out);
        text_penalties(sweep, out);
    } else {
        tc_buffer_puts(out, "No run was finished.\n");
    }
    if (any && sweep->point_count > 1)
        text_local(sweep, out);
    tc_buffer_puts(out, "\n");
    for (size_t i = 0; i < sweep->worth_count; i++)
        tc_options_wrap(out, sweep->worth[i], 0);
    for (size_t i = 0; i < sweep->verdict_count; i++)
        tc_options_wrap(out, sweep->verdict[i], 0);
    tc_buffer_printf(out,
                     "\n%s in %.3g s on %zu thread%s\nbefore that: load %.3g s, analysis and plans %.3g s, "
                     "reference %.3g s\n",
                     outcome_of(sweep), output->run_seconds, output->threads, tc_plural(output->threads),
                     output->setup->load_seconds, output->setup->analyse_seconds, output->target.seconds);
    if (output->reason != NULL)
        tc_options_wrap(out, tc_arena_format(out->arena, "%s: %s", outcome_of(sweep), output->reason), 0);
}
