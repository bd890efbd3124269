/* The section of a sweep: what privacy costs. */
#include "report/html.h"
#include "report/page/page.h"

#include <math.h>
#include <string.h>

typedef enum column { PENALTY, X_ERROR, MU_ERROR, OBJECTIVE, VIOLATION } column;

typedef struct epsilon_tally { /* one epsilon */
    double epsilon;
    size_t runs;
    double mean;
    tc_quantiles quantiles;
} epsilon_tally;

static double value_of(const tc_trace_point *point, column what) {
    switch (what) {
    case PENALTY:
        return point->penalty;
    case X_ERROR:
        return point->x_error;
    case MU_ERROR:
        return point->mu_error;
    case OBJECTIVE:
        return point->objective;
    case VIOLATION:
    default:
        return point->max_violation;
    }
}

static epsilon_tally *tally_up(tc_arena *arena, const tc_trace *trace, column what, size_t *count) {
    epsilon_tally *tallies = TC_NEW(arena, epsilon_tally, trace->point_count);
    double *values = TC_NEW(arena, double, trace->point_count);
    *count = 0;
    for (size_t begin = 0, end; begin < trace->point_count; begin = end) {
        epsilon_tally *t = &tallies[(*count)++];
        t->epsilon = trace->points[begin].epsilon;
        double sum = 0;
        for (end = begin; end < trace->point_count && trace->points[end].epsilon == t->epsilon; end++) {
            double value = value_of(&trace->points[end], what);
            if (!isfinite(value))
                continue;
            values[t->runs++] = value;
            sum += value;
        }
        t->mean = t->runs > 0 ? sum / (double)t->runs : NAN;
        t->quantiles = tc_quantiles_of(values, t->runs);
    }
    return tallies;
}

static tc_series series_of(tc_arena *arena, const tc_trace *trace, column what, size_t style) {
    size_t count;
    const epsilon_tally *tallies = tally_up(arena, trace, what, &count);
    double *columns[6];
    for (size_t i = 0; i < 6; i++)
        columns[i] = TC_NEW(arena, double, count);
    for (size_t i = 0; i < count; i++) {
        const tc_quantiles *q = &tallies[i].quantiles;
        const double numbers[6] = {
            tallies[i].epsilon, what == PENALTY ? tallies[i].mean : q->median, q->q10, q->q90, q->min, q->max};
        for (size_t c = 0; c < 6; c++)
            columns[c][i] = numbers[c];
    }
    return (tc_series){.kind = TC_SERIES_POINTS,
                       .style = style,
                       .count = count,
                       .x = columns[0],
                       .y = columns[1],
                       .low = columns[2],
                       .high = columns[3],
                       .least = columns[4],
                       .most = columns[5]};
}

/* ---- the trade-off ----------------------------------------------------------------------------------------------- */

/* log10 y = intercept + slope log10 x at the two ends. */
static tc_series straight_line(tc_arena *arena, double slope, double intercept, double from, double to) {
    double *x = TC_NEW(arena, double, 2), *y = TC_NEW(arena, double, 2);
    x[0] = from;
    x[1] = to;
    for (size_t i = 0; i < 2; i++)
        y[i] = pow(10, intercept + slope * log10(x[i]));
    return (tc_series){.kind = TC_SERIES_REFERENCE, .count = 2, .x = x, .y = y};
}

/* Through the mean at the middle epsilon. */
static bool inverse_square(tc_arena *arena, const tc_series *penalty, tc_series *line) {
    size_t middle = penalty->count / 2;
    if (penalty->count < 2 || !(penalty->y[middle] > 0))
        return false;
    double intercept = log10(penalty->y[middle]) + 2 * log10(penalty->x[middle]);
    *line = straight_line(arena, -2, intercept, penalty->x[0], penalty->x[penalty->count - 1]);
    line->style = 1;
    line->label = "proportional to ε"
                  "\xe2\x81\xbb"
                  "²";
    return true;
}

static const char *slope_text(tc_arena *arena, const tc_trace_fit *fit) {
    tc_buffer text = tc_buffer_new(arena, 1 << 10);
    tc_buffer_puts(&text, "fit: slope ");
    tc_put_number(&text, fit->slope, 3);
    if (isfinite(fit->slope_low) && isfinite(fit->slope_high)) {
        tc_buffer_puts(&text, " (");
        tc_put_number(&text, fit->slope_low, 3);
        tc_buffer_puts(&text, " to ");
        tc_put_number(&text, fit->slope_high, 3);
        tc_buffer_puts(&text, ")");
    }
    return text.text;
}

/* Formulas of a trace, which are plain text, as people write them. */
static const char *with_signs(tc_arena *arena, const char *text) {
    static const char *const signs[][2] = {
        {"z_free", "z\xe2\x80\xb2"}, {"|^2", "|\xc2\xb2"}, {" - ", " " TC_MINUS " "}};
    tc_buffer out = tc_buffer_new(arena, 3 * strlen(text) + 1);
    while (*text != '\0') {
        size_t i = 0, count = sizeof signs / sizeof signs[0];
        while (i < count && strncmp(text, signs[i][0], strlen(signs[i][0])) != 0)
            i++;
        tc_buffer_add(&out, i < count ? signs[i][1] : text, i < count ? strlen(signs[i][1]) : 1);
        text += i < count ? strlen(signs[i][0]) : 1;
    }
    return tc_buffer_text(&out);
}

static void put_penalty(tc_report *report, const tc_section *section) {
    const tc_trace *trace = section->trace;
    const tc_trace_fit *fit = &trace->fit;
    tc_series series[3];
    size_t count = 1;
    series[0] = series_of(report->arena, trace, PENALTY, section->style);
    series[0].label = "mean";
    if (isfinite(fit->slope) && isfinite(fit->intercept) && fit->from > 0 && fit->to > fit->from) {
        series[count] = straight_line(report->arena, fit->slope, fit->intercept, fit->from, fit->to);
        series[count++].label = slope_text(report->arena, fit);
    }
    count += inverse_square(report->arena, &series[0], &series[count]);
    tc_plot plot = {.x_title = "epsilon (log scale)",
                    .y_title = "penalty (log scale)",
                    .x_log = true,
                    .y_log = true,
                    .level = NAN,
                    .series = series,
                    .series_count = count};
    const char *what = trace->penalty != NULL
                           ? tc_arena_format(report->arena, "Penalty: %s. ", with_signs(report->arena, trace->penalty))
                           : "";
    const char *interval = isfinite(fit->slope_low) ? "The interval of the slope is of 95\xc2\xa0%."
                           : isfinite(fit->slope)   ? "The slope has no interval: the points are not on a line."
                                                    : "";
    tc_put_figure(report, "What privacy costs",
                  tc_arena_format(report->arena,
                                  "%sBand: 10 to 90" TC_PERCENT " of the runs; thin lines: smallest and largest. %s",
                                  what, interval),
                  plot);
}

static void put_error(tc_report *report, const tc_section *section, column what, double free_error) {
    bool is_x = what == X_ERROR;
    tc_series series = series_of(report->arena, section->trace, what, section->style);
    bool any = false;
    for (size_t i = 0; i < series.count; i++)
        any = any || series.y[i] > 0;
    if (!any)
        return;
    tc_plot plot = {.x_title = "epsilon (log scale)",
                    .y_title =
                        is_x ? "|x " TC_MINUS " x₀| after the last round" : "|μ " TC_MINUS " μ₀| after the last round",
                    .x_log = true,
                    .y_log = true,
                    .level = free_error > 0 ? free_error : NAN,
                    .level_label = "without noise",
                    .series = &series,
                    .series_count = 1};
    tc_put_figure(report, is_x ? "Error of x against epsilon" : "Error of μ against epsilon",
                  "Line: median; band: 10 to 90\xc2\xa0%; thin lines: smallest and largest.", plot);
}

enum { COLUMNS = 5 };

/* A line of the table for what the runs are compared with; none where it is not given. */
static void put_other(tc_report *report, const char *name, double x, double mu, double cost, double violation) {
    const double cells[] = {x, mu, cost, violation};
    if (!isfinite(cost))
        return;
    tc_buffer_printf(report->out, "<tr><th scope=\"row\">%s</th><td></td><td></td><td></td>", name);
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++)
        tc_put_cell(report->out, cells[i]);
    tc_buffer_puts(report->out, "</tr>\n");
}

static void put_table(tc_report *report, const tc_trace *trace) {
    tc_buffer *out = report->out;
    tc_buffer_puts(out,
                   "<div class=\"scroll\" tabindex=\"0\"><table>\n<caption><strong>By epsilon.</strong> After the last "
                   "round; medians, and below them 10 to 90\xc2\xa0%.</caption>\n<thead><tr><th "
                   "scope=\"col\">epsilon</th><th scope=\"col\">runs</th><th scope=\"col\">penalty, mean</th><th "
                   "scope=\"col\">penalty, median</th><th scope=\"col\">error of x</th><th scope=\"col\">error of μ"
                   "</th><th scope=\"col\">cost f(x)</th><th scope=\"col\">largest violation</th></tr></thead>\n"
                   "<tbody>\n");
    static const column columns[] = {PENALTY, X_ERROR, MU_ERROR, OBJECTIVE, VIOLATION};
    epsilon_tally *tallies[COLUMNS];
    size_t count = 0;
    for (size_t c = 0; c < COLUMNS; c++)
        tallies[c] = tally_up(report->arena, trace, columns[c], &count);
    for (size_t i = 0; i < count; i++) {
        tc_buffer_puts(out, "<tr><th scope=\"row\">");
        tc_put_grouped(out, tc_arena_format(report->arena, "%.4g", tallies[0][i].epsilon));
        tc_buffer_printf(out, "</th><td>%zu</td>", tallies[0][i].runs);
        tc_put_cell(out, tallies[0][i].mean);
        for (size_t c = 0; c < COLUMNS; c++) {
            const tc_quantiles *q = &tallies[c][i].quantiles;
            tc_buffer_puts(out, "<td>");
            tc_put_number(out, q->median, 4);
            if (isfinite(q->q10) && tallies[c][i].runs > 1)
                tc_put_span(out, q->q10, q->q90);
            tc_buffer_puts(out, "</td>");
        }
        tc_buffer_puts(out, "</tr>\n");
    }
    put_other(report, "no noise", trace->free_x_error, trace->free_mu_error, trace->free_objective,
              trace->free_max_violation);
    if (isfinite(trace->reference_objective))
        put_other(report, "solution", 0, 0, trace->reference_objective, 0);
    put_other(report, "zero prices", trace->nothing.x_error, NAN, trace->nothing.objective,
              trace->nothing.max_violation);
    put_other(report, "Slater point", trace->slater.x_error, NAN, trace->slater.objective, trace->slater.max_violation);
    tc_buffer_puts(out, "</tbody></table></div>\n");
}

void tc_put_sweep(tc_report *report, const tc_section *section) {
    const tc_trace *trace = section->trace;
    tc_buffer_printf(report->out, "<section id=\"%s\">\n", section->id);
    tc_put_section_head(report, section, "Sweep: ");
    tc_buffer_puts(
        report->out,
        "<p class=\"note\"><strong>Simulation: not released.</strong> Penalties and errors are computed from true "
        "states.</p>\n<div class=\"figures\">\n");
    put_penalty(report, section);
    put_error(report, section, X_ERROR, trace->free_x_error);
    put_error(report, section, MU_ERROR, trace->free_mu_error);
    tc_buffer_puts(report->out, "</div>\n");
    put_table(report, trace);
    tc_put_command(report, section);
    tc_buffer_puts(report->out, "</section>\n");
}

void tc_put_sweep_comparison(tc_report *report, const tc_section_group *group) {
    const tc_section *const *sections = group->sections;
    size_t count = group->count;
    tc_series *series = TC_NEW(report->arena, tc_series, TC_PLOT_STYLES);
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        if (!sections[i]->plotted)
            continue;
        series[shown] = series_of(report->arena, sections[i]->trace, PENALTY, sections[i]->style);
        series[shown].label = sections[i]->label;
        series[shown].least = series[shown].most = NULL;
        shown++;
    }
    tc_plot plot = {.x_title = "epsilon (log scale)",
                    .y_title = "penalty (log scale)",
                    .x_log = true,
                    .y_log = true,
                    .level = NAN,
                    .series = series,
                    .series_count = shown};
    tc_put_group_head(report, group);
    tc_buffer_puts(report->out, "<div class=\"figures\">\n");
    tc_put_figure(report, "What privacy costs", "Means; bands: 10 to 90\xc2\xa0% of the runs.", plot);
    tc_buffer_puts(report->out,
                   "</div>\n<p class=\"note\">The penalty of each sweep is the squared distance from its own run "
                   "without noise, by its own method: it says what noise costs that method, not which method comes "
                   "closer to the solution.</p>\n</section>\n");
}
