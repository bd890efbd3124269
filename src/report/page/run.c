/* The section of a run: errors, constraints, prices, the objective. */
#include "report/page/page.h"

#include "report/html.h"

#include <math.h>
#include <stdlib.h>

/* ---- tables ---- */

enum { MOST_ROUNDS = 12, MOST_CONSTRAINTS = 60 };

/* ---- errors at a few rounds -------------------------------------------------------------------------------------- */

static void add_round(uint64_t *rounds, size_t *count, uint64_t k) {
    size_t at = 0;
    while (at < *count && rounds[at] < k)
        at++;
    if (*count == MOST_ROUNDS || (at < *count && rounds[at] == k))
        return;
    for (size_t i = (*count)++; i > at; i--)
        rounds[i] = rounds[i - 1];
    rounds[at] = k;
}

/* The start, half-way, the end, and the rounds that marks speak of. */
static size_t choose_rounds(const tc_section *section, uint64_t rounds[MOST_ROUNDS]) {
    size_t count = 0;
    uint64_t end = tc_trace_rounds(section->trace);
    add_round(rounds, &count, 0);
    add_round(rounds, &count, end / 2);
    add_round(rounds, &count, end);
    for (size_t i = 0; i < section->mark_count; i++) {
        for (size_t row = 0; row < section->marks[i]->mark_count; row++)
            add_round(rounds, &count, section->marks[i]->marks[row].k);
    }
    return count;
}

static const tc_row *mark_at(const tc_trace *marks, uint64_t k) {
    for (size_t i = 0; i < marks->mark_count; i++) {
        if (marks->marks[i].k == k)
            return &marks->marks[i];
    }
    return NULL;
}

/* The figure, and where it lies among the runs. */
static void put_mark(tc_report *report, const tc_trace *marks, tc_quantity quantity, uint64_t k, const double *values,
                     size_t count) {
    const tc_row *row = mark_at(marks, k);
    double value = row != NULL ? tc_quantity_in(row, quantity, 0) : NAN;
    tc_buffer *out = report->out;
    size_t below = 0;
    for (size_t i = 0; i < count; i++)
        below += values[i] < value;
    bool judged = isfinite(value) && count > 1 && values[0] < values[count - 1];
    bool outside = judged && (value < values[0] || value > values[count - 1]);
    tc_buffer_puts(out, outside ? "<td class=\"out\">" : "<td class=\"key\">");
    tc_put_number(out, value, 4);
    tc_buffer_puts(out, "</td><td class=\"text\">");
    if (outside)
        tc_buffer_puts(out, value < values[0] ? "below all runs" : "above all runs");
    else if (judged)
        tc_buffer_printf(out, "in the range: above %zu of %zu", below, count);
    tc_buffer_puts(out, "</td>");
}

/* group: how many rows the quantity has, in its first; 0 in the others. */
static void put_error_row(tc_report *report, const tc_section *section, tc_quantity quantity, uint64_t k,
                          size_t group) {
    tc_buffer *out = report->out;
    double *values;
    size_t count;
    tc_quantiles q = tc_quantity_at(report->arena, section->trace, quantity, 0, k, &values, &count);
    tc_buffer_puts(out, group > 0 ? "<tr class=\"first\">" : "<tr>");
    if (group > 0) {
        tc_buffer_printf(out, "<th scope=\"rowgroup\" rowspan=\"%zu\" class=\"group\">", group);
        tc_put_text(out, tc_quantity_words_of(quantity).name);
        tc_buffer_puts(out, "</th>");
    }
    tc_buffer_puts(out, "<th scope=\"row\" class=\"number\">");
    tc_put_number(out, (double)k, 16);
    tc_buffer_puts(out, "</th>");
    if (section->trace->record_count > 1) {
        tc_put_cell(out, q.min);
        tc_put_cell(out, q.q10);
        tc_buffer_puts(out, "<td class=\"key\">");
        tc_put_number(out, q.median, 4);
        tc_buffer_puts(out, "</td>");
        tc_put_cell(out, q.q90);
        tc_put_cell(out, q.max);
        tc_buffer_printf(out, "<td>%zu</td>", count);
    } else {
        tc_put_cell(out, q.median);
    }
    for (size_t i = 0; i < section->mark_count; i++)
        put_mark(report, section->marks[i], quantity, k, values, count);
    tc_buffer_puts(out, "</tr>\n");
}

static void put_heads(tc_buffer *out, const char *const *heads, size_t count) {
    for (size_t i = 0; i < count; i++)
        tc_buffer_printf(out, "<th scope=\"col\">%s</th>", heads[i]);
}

static void put_run_tables(tc_report *report, const tc_section *section) {
    static const char *const many[] = {"Quantity", "Round", "Smallest", "10 %", "Median", "90 %", "Largest", "Runs"};
    static const char *const one[] = {"Quantity", "Round", "Value"};
    static const tc_quantity quantities[] = {TC_QUANTITY_X_ERROR, TC_QUANTITY_MU_ERROR, TC_QUANTITY_VIOLATION,
                                             TC_QUANTITY_OBJECTIVE};
    tc_buffer *out = report->out;
    bool several = section->trace->record_count > 1;
    tc_buffer_puts(out, "<div class=\"scroll\" tabindex=\"0\"><table>\n<caption><strong>At the start, half-way and at "
                        "the end.</strong>");
    tc_buffer_puts(out, "</caption>\n<thead><tr>");
    put_heads(out, several ? many : one, several ? sizeof many / sizeof many[0] : sizeof one / sizeof one[0]);
    for (size_t i = 0; i < section->mark_count; i++) {
        const char *label = section->marks[i]->label;
        tc_buffer_puts(out, "<th scope=\"col\">");
        tc_put_text(out, label != NULL ? label : "published");
        tc_buffer_puts(out, "</th><th scope=\"col\" class=\"text\">among the runs</th>");
    }
    tc_buffer_puts(out, "</tr></thead>\n");
    uint64_t rounds[MOST_ROUNDS];
    size_t count = choose_rounds(section, rounds);
    for (size_t q = 0; q < sizeof quantities / sizeof quantities[0]; q++) {
        tc_buffer_puts(out, "<tbody>\n");
        for (size_t i = 0; i < count; i++)
            put_error_row(report, section, quantities[q], rounds[i], i == 0 ? count : 0);
        tc_buffer_puts(out, "</tbody>\n");
    }
    tc_buffer_puts(out, "</table></div>\n");
}

/* ---- constraints at the end -------------------------------------------------------------------------------------- */

static void put_constraint_row(tc_report *report, const tc_trace *trace, size_t j, uint64_t end) {
    tc_buffer *out = report->out;
    double *values;
    size_t count, violated = 0;
    bool is_equality = tc_trace_is_equality(trace, j);
    tc_quantiles g = tc_quantity_at(report->arena, trace, TC_QUANTITY_CONSTRAINT, j, end, &values, &count);
    for (size_t i = 0; i < count; i++)
        violated += values[i] > 0;
    tc_buffer_puts(out, "<tr><th scope=\"row\">");
    tc_put_text(out, trace->constraints[j]);
    tc_buffer_puts(out, "</th>");
    size_t runs = count;
    tc_quantiles mu = tc_quantity_at(report->arena, trace, TC_QUANTITY_MULTIPLIER, j, end, &values, &count);
    if (trace->record_count > 1) {
        const double cells[] = {g.min, g.q10, g.median, g.q90, g.max};
        for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++)
            tc_put_cell(out, cells[i]);
        if (is_equality)
            tc_buffer_puts(out, "<td>an equality</td>");
        else
            tc_buffer_printf(out, "<td>%zu of %zu</td>", violated, runs);
        const double prices[] = {mu.q10, mu.median, mu.q90};
        for (size_t i = 0; i < sizeof prices / sizeof prices[0]; i++)
            tc_put_cell(out, prices[i]);
    } else {
        tc_put_cell(out, g.median);
        tc_buffer_printf(out, "<td class=\"text\">%s</td>",
                         is_equality    ? "an equality"
                         : violated > 0 ? "violated"
                                        : "holds");
        tc_put_cell(out, mu.median);
    }
    tc_buffer_puts(out, "</tr>\n");
}

static void put_constraint_table(tc_report *report, const tc_section *section) {
    const tc_trace *trace = section->trace;
    tc_buffer *out = report->out;
    if (trace->constraint_count == 0)
        return;
    uint64_t end = tc_trace_rounds(trace);
    size_t shown = trace->constraint_count < MOST_CONSTRAINTS ? trace->constraint_count : MOST_CONSTRAINTS;
    tc_buffer_puts(out, "<div class=\"scroll\" tabindex=\"0\"><table>\n<caption><strong>Constraints after round ");
    tc_put_number(out, (double)end, 16);
    tc_buffer_printf(out, ".</strong> Values of gⱼ(x), which hold at or below zero%s, and multipliers.",
                     trace->equality_count > 0 ? ", of equalities at zero" : "");
    if (shown < trace->constraint_count)
        tc_buffer_printf(out, " The first %zu of %zu; the trace has all.", shown, trace->constraint_count);
    if (trace->record_count > 1)
        tc_buffer_puts(out, "</caption>\n<thead><tr><th scope=\"col\">Constraint</th><th scope=\"col\">g smallest</th>"
                            "<th scope=\"col\">10 %</th><th scope=\"col\">median</th><th scope=\"col\">90 %</th>"
                            "<th scope=\"col\">largest</th><th scope=\"col\">violated in</th><th scope=\"col\">μ 10 %"
                            "</th><th scope=\"col\">median</th><th scope=\"col\">90 %</th></tr></thead>\n<tbody>\n");
    else
        tc_buffer_puts(out, "</caption>\n<thead><tr><th scope=\"col\">Constraint</th><th scope=\"col\">g</th><th "
                            "scope=\"col\" class=\"text\"></th><th scope=\"col\">μ</th></tr></thead>\n<tbody>\n");
    for (size_t j = 0; j < shown; j++)
        put_constraint_row(report, trace, j, end);
    tc_buffer_puts(out, "</tbody></table></div>\n");
}

/* ---- plots and the whole ---- */

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
    put_run_tables(report, section);
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
        all[j] = (ranked){j, !isfinite(median) ? -INFINITY : tc_trace_is_equality(trace, j) ? fabs(median) : median};
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
        put_by_constraint(report, section, TC_QUANTITY_CONSTRAINT,
                          section->trace->equality_count > 0 ? "At or below the limit they hold; equalities at it."
                                                             : "At or below the limit they hold.");
        put_by_constraint(report, section, TC_QUANTITY_MULTIPLIER, "The prices that the cloud works with.");
        put_quantity(report, section, TC_QUANTITY_VIOLATION,
                     section->trace->equality_count > 0
                         ? "Zero where all constraints hold; an equality counts with its size."
                         : "Zero where all constraints hold.");
    }
    put_quantity(report, section, TC_QUANTITY_OBJECTIVE,
                 isfinite(section->trace->reference_objective)
                     ? "The sum of all agents' objectives; dashed: at the solution."
                     : "The sum of all agents' objectives.");
    tc_buffer_puts(report->out, "</div>\n");
    put_constraint_table(report, section);
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
