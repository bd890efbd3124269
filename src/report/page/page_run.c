/* The section of a run: errors, constraints, prices, the objective. */
#include "report/page/html.h"
#include "report/page/page.h"

#include <math.h>
#include <stdlib.h>

static const char not_released[] =
    "<p class=\"note\"><strong>Simulation: not released.</strong> Errors, constraint values and the objective are "
    "computed from true states, which only whoever holds the whole problem can do. They are no part of what the "
    "guarantee covers.</p>\n";

static void put_error(tc_report *report, const tc_section *section, tc_quantity quantity, bool logs) {
    tc_series series[TC_SECTION_SERIES];
    size_t count = tc_section_series(report, section, quantity, NULL, true, series);
    tc_quantity_words words = tc_quantity_words_of(quantity);
    tc_plot plot = {.x_title = logs ? "round k (log scale)" : "round k",
                    .y_title = words.sign,
                    .x_log = logs,
                    .y_log = logs,
                    .from_zero = true,
                    .level = NAN,
                    .series = series,
                    .series_count = count};
    tc_put_figure(report, tc_arena_format(report->arena, "%s, %s axes", words.name, logs ? "log" : "linear"), "", plot);
}

static void put_errors(tc_report *report, const tc_section *section) {
    tc_buffer_puts(report->out, "<h3>Errors</h3>\n");
    tc_buffer_puts(report->out, not_released);
    tc_series series[TC_SECTION_SERIES];
    if (tc_section_series(report, section, TC_QUANTITY_X_ERROR, NULL, false, series) == 0) {
        tc_buffer_puts(report->out, "<p>There is no reference solution to compare with.</p>\n");
    } else {
        tc_buffer_puts(report->out, "<div class=\"figures\">\n");
        put_error(report, section, TC_QUANTITY_X_ERROR, false);
        put_error(report, section, TC_QUANTITY_X_ERROR, true);
        put_error(report, section, TC_QUANTITY_MU_ERROR, false);
        put_error(report, section, TC_QUANTITY_MU_ERROR, true);
        tc_buffer_puts(report->out, "</div>\n");
    }
    tc_put_run_tables(report, section);
}

/* ---- constraints ------------------------------------------------------------------------------------------------- */

typedef struct ranked {
    size_t index;
    double value;
} ranked;

static int by_value_falling(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    return a->value != b->value ? (a->value < b->value) - (a->value > b->value)
                                : (a->index > b->index) - (a->index < b->index);
}

static int by_index(const void *left, const void *right) {
    size_t a = ((const ranked *)left)->index, b = ((const ranked *)right)->index;
    return (a > b) - (a < b);
}

/* Those with the largest median at the end, in the problem's order. */
static ranked *choose(tc_report *report, const tc_trace *trace, tc_quantity quantity, size_t *count) {
    size_t m = trace->constraint_count;
    uint64_t end = tc_trace_rounds(trace);
    ranked *all = TC_NEW(report->arena, ranked, m);
    for (size_t j = 0; j < m; j++) {
        tc_mark mark = tc_arena_mark(report->arena);
        double *values;
        size_t runs;
        double median = tc_quantity_at(report->arena, trace, quantity, j, end, &values, &runs).median;
        tc_arena_rewind(report->arena, mark);
        all[j] = (ranked){j, isfinite(median) ? median : -INFINITY};
    }
    *count = m < TC_PLOT_STYLES ? m : TC_PLOT_STYLES;
    qsort(all, m, sizeof *all, by_value_falling);
    qsort(all, *count, sizeof *all, by_index);
    return all;
}

static void put_by_constraint(tc_report *report, const tc_section *section, tc_quantity quantity, const char *text) {
    const tc_trace *trace = section->trace;
    size_t count;
    const ranked *chosen = choose(report, trace, quantity, &count);
    tc_series series[TC_PLOT_STYLES];
    for (size_t i = 0; i < count; i++) {
        tc_curve curve = tc_curve_of(report->arena, trace, quantity, chosen[i].index);
        series[i] = (tc_series){.kind = TC_SERIES_LINE,
                                .label = trace->constraints[chosen[i].index],
                                .style = i,
                                .count = curve.count,
                                .x = curve.k,
                                .y = curve.median};
    }
    tc_quantity_words words = tc_quantity_words_of(quantity);
    bool is_limit = quantity == TC_QUANTITY_CONSTRAINT;
    tc_plot plot = {.x_title = "round k (log scale)",
                    .y_title = words.sign,
                    .x_log = true,
                    .from_zero = true,
                    .level = is_limit ? 0 : NAN,
                    .level_label = is_limit ? "limit" : NULL,
                    .series = series,
                    .series_count = count};
    const char *which =
        trace->constraint_count > count
            ? tc_arena_format(report->arena, "%zu of %zu: those largest at the end. ", count, trace->constraint_count)
            : "";
    const char *medians =
        trace->record_count > 1 ? tc_arena_format(report->arena, "Medians of %zu runs. ", trace->record_count) : "";
    tc_put_figure(report, words.name, tc_arena_format(report->arena, "%s%s%s", which, medians, text), plot);
}

static void put_quantity(tc_report *report, const tc_section *section, tc_quantity quantity, const char *text) {
    tc_series series[TC_SECTION_SERIES];
    size_t count = tc_section_series(report, section, quantity, NULL, true, series);
    if (count == 0)
        return;
    tc_quantity_words words = tc_quantity_words_of(quantity);
    double solution = quantity == TC_QUANTITY_OBJECTIVE ? section->trace->reference_objective : NAN;
    tc_plot plot = {.x_title = "round k (log scale)",
                    .y_title = words.sign,
                    .x_log = true,
                    .from_zero = words.from_zero,
                    .level = solution,
                    .level_label = isfinite(solution) ? "f(x₀)" : NULL,
                    .series = series,
                    .series_count = count};
    tc_put_figure(report, words.name, text, plot);
}

static void put_constraints(tc_report *report, const tc_section *section) {
    bool has_constraints = section->trace->constraint_count > 0;
    tc_buffer_printf(report->out, "<h3>%s</h3>\n",
                     has_constraints ? "Constraints, multipliers and the objective" : "Objective");
    tc_buffer_puts(report->out, "<div class=\"figures\">\n");
    if (has_constraints) {
        put_by_constraint(report, section, TC_QUANTITY_CONSTRAINT, "At or below the limit they hold.");
        put_by_constraint(report, section, TC_QUANTITY_MULTIPLIER, "The prices that the cloud works with.");
        put_quantity(report, section, TC_QUANTITY_VIOLATION, "Zero where all constraints hold.");
    }
    put_quantity(report, section, TC_QUANTITY_OBJECTIVE,
                 isfinite(section->trace->reference_objective)
                     ? "The sum of all agents' objectives; dashed: at the solution."
                     : "The sum of all agents' objectives.");
    tc_buffer_puts(report->out, "</div>\n");
    tc_put_constraint_table(report, section);
}

static void put_how_many(tc_report *report, const tc_trace *trace) {
    size_t finished = tc_trace_finished(trace);
    if (trace->record_count < 2)
        return;
    tc_buffer_printf(report->out, "<p>%zu runs, each with its own noise", trace->record_count);
    if (finished < trace->record_count) {
        tc_buffer_printf(report->out, "; %zu of them came to round ", finished);
        tc_put_number(report->out, (double)tc_trace_rounds(trace), 16);
    }
    tc_buffer_printf(report->out, ". In the plots a line is the median of the runs, a band holds them from 10 to "
                                  "90" TC_PERCENT ", and thin lines are the smallest and the largest.</p>\n");
}

void tc_put_run(tc_report *report, const tc_section *section) {
    tc_buffer_printf(report->out, "<section id=\"%s\">\n", section->id);
    tc_put_section_head(report, section, "Run: ");
    put_how_many(report, section->trace);
    put_errors(report, section);
    put_constraints(report, section);
    tc_put_card(report, section);
    tc_put_command(report, section);
    tc_buffer_puts(report->out, "</section>\n");
}
