/* What all sections are made of: figures and cells. */
#include "report/page/html.h"
#include "report/page/page.h"

#include <math.h>

enum { LONGEST_DESCRIPTION = 1 << 16 };

tc_quantity_words tc_quantity_words_of(tc_quantity quantity) {
    static const tc_quantity_words words[] = {
        [TC_QUANTITY_X_ERROR] = {"Error of x", "|x(k) " TC_MINUS " x₀|, Euclidean distance to the solution", true},
        [TC_QUANTITY_MU_ERROR] = {"Error of μ", "|μ(k) " TC_MINUS " μ₀|, Euclidean distance to the solution", true},
        [TC_QUANTITY_OBJECTIVE] = {"Objective", "f(x(k))", false},
        [TC_QUANTITY_VIOLATION] = {"Largest violation", "max(0, maxⱼ gⱼ(x(k)))", true},
        [TC_QUANTITY_CONSTRAINT] = {"Constraints", "gⱼ(x(k))", false},
        [TC_QUANTITY_MULTIPLIER] = {"Multipliers", "μⱼ(k)", true},
    };
    return words[quantity];
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

static void describe_series(tc_buffer *text, const tc_series *s) {
    size_t first = 0, last = s->count;
    while (first < s->count && !isfinite(s->y[first]))
        first++;
    while (last > first && !isfinite(s->y[last - 1]))
        last--;
    if (s->label != NULL)
        tc_buffer_printf(text, "%s: ", s->label);
    if (first == last) {
        tc_buffer_puts(text, "no numbers. ");
        return;
    }
    tc_put_number(text, s->y[first], 4);
    tc_buffer_puts(text, " at ");
    tc_put_number(text, s->x[first], 4);
    if (last - first > 1) {
        tc_buffer_puts(text, ", ");
        tc_put_number(text, s->y[last - 1], 4);
        tc_buffer_puts(text, " at ");
        tc_put_number(text, s->x[last - 1], 4);
    }
    tc_buffer_puts(text, ". ");
}

static const char *description_of(tc_arena *arena, const tc_plot *plot) {
    tc_buffer text = tc_buffer_new(arena, LONGEST_DESCRIPTION);
    tc_buffer_printf(&text, "%s against %s. ", plot->y_title, plot->x_title);
    for (size_t i = 0; i < plot->series_count; i++) {
        if (plot->series[i].kind != TC_SERIES_REFERENCE)
            describe_series(&text, &plot->series[i]);
    }
    return text.text;
}

void tc_put_figure(tc_report *report, const char *title, const char *text, tc_plot plot) {
    tc_buffer *out = report->out;
    plot.id = tc_arena_format(report->arena, "figure-%zu", ++report->figures);
    plot.title = title;
    plot.description = description_of(report->arena, &plot);
    tc_buffer_puts(out, "<figure>\n<figcaption><strong>");
    tc_put_text(out, title);
    tc_buffer_puts(out, ".</strong> ");
    tc_put_text(out, text);
    tc_buffer_puts(out, "</figcaption>\n");
    tc_plot_svg(&plot, out);
    tc_buffer_puts(out, "</figure>\n");
}

static bool marks_series(tc_report *report, const tc_section *section, const tc_trace *marks, tc_quantity quantity,
                         const char *label, tc_series *series) {
    double *k = TC_NEW(report->arena, double, marks->mark_count),
           *value = TC_NEW(report->arena, double, marks->mark_count);
    bool any = false;
    for (size_t i = 0; i < marks->mark_count; i++) {
        k[i] = (double)marks->marks[i].k;
        value[i] = tc_quantity_in(&marks->marks[i], quantity, 0);
        any = any || isfinite(value[i]);
    }
    *series =
        (tc_series){.kind = TC_SERIES_MARKS, .style = section->style, .count = marks->mark_count, .x = k, .y = value};
    series->label = marks->label != NULL ? marks->label
                    : label != NULL      ? tc_arena_format(report->arena, "%s: published", label)
                                         : "published";
    return any;
}

size_t tc_section_series(tc_report *report, const tc_section *section, tc_quantity quantity, const char *label,
                         bool extremes, tc_series *series) {
    tc_curve curve = tc_curve_of(report->arena, section->trace, quantity, 0);
    if (curve.empty)
        return 0;
    series[0] = (tc_series){.kind = TC_SERIES_LINE,
                            .label = label,
                            .style = section->style,
                            .count = curve.count,
                            .x = curve.k,
                            .y = curve.median,
                            .low = curve.low,
                            .high = curve.high,
                            .least = extremes ? curve.least : NULL,
                            .most = extremes ? curve.most : NULL};
    size_t count = 1;
    for (size_t i = 0; i < section->mark_count && count < TC_SECTION_SERIES; i++)
        count += marks_series(report, section, section->marks[i], quantity, label, &series[count]);
    return count;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

void tc_put_cell(tc_buffer *out, double value) {
    tc_buffer_puts(out, "<td>");
    tc_put_number(out, value, 4);
    tc_buffer_puts(out, "</td>");
}

void tc_put_span(tc_buffer *out, double low, double high) {
    tc_buffer_puts(out, "<br><small>");
    tc_put_number(out, low, 3);
    tc_buffer_puts(out, " to ");
    tc_put_number(out, high, 3);
    tc_buffer_puts(out, "</small>");
}
