/* The published method and the other, run by run: how much smaller errors are, and how much sooner. */
#include "report/html.h"
#include "report/page.h"

#include <math.h>
#include <string.h>

enum { MOST_PAIRS = 12 };

static double median_at_end(tc_report *report, const tc_section *section, tc_quantity quantity) {
    double *values;
    size_t count;
    uint64_t end = tc_trace_rounds(section->trace);
    return tc_quantity_at(report->arena, section->trace, quantity, 0, end, &values, &count).median;
}

/* The first of the rounds shown from which on the median stays at or below a level; NAN where there is none. */
static double stays_below_from(tc_report *report, const tc_section *section, tc_quantity quantity, double level) {
    tc_curve curve = tc_curve_of(report->arena, section->trace, quantity, 0);
    size_t at = curve.count;
    while (at > 0 && curve.median[at - 1] <= level)
        at--;
    return curve.empty || at == curve.count ? NAN : curve.k[at];
}

/* "published: laplace, tight", and below it what was asked for. */
static void put_run_name(tc_report *report, const tc_section *section) {
    tc_buffer *out = report->out;
    const char *epsilon = tc_trace_fact_of(section->trace, "epsilon");
    const char *hides = tc_trace_fact_of(section->trace, "hides");
    tc_buffer_printf(out, "<a href=\"#%s\">", section->id);
    tc_put_text(out, section->label);
    tc_buffer_puts(out, "</a>");
    if (epsilon == NULL || hides == NULL)
        return;
    tc_buffer_puts(out, "<br><small>");
    tc_put_text(out, tc_arena_format(report->arena, "epsilon %s, unit %s", epsilon, hides));
    tc_buffer_puts(out, "</small>");
}

static void put_quantity(tc_report *report, const tc_section *published, const tc_section *other,
                         tc_quantity quantity) {
    tc_buffer *out = report->out;
    double before = median_at_end(report, published, quantity), after = median_at_end(report, other, quantity);
    double from = stays_below_from(report, other, quantity, before);
    tc_buffer_puts(out, "<th scope=\"row\">");
    tc_put_text(out, tc_quantity_words_of(quantity).name);
    tc_buffer_puts(out, "</th>");
    tc_put_cell(out, before);
    tc_put_cell(out, after);
    tc_buffer_puts(out, "<td class=\"key\">");
    tc_put_number(out, after > 0 ? before / after : NAN, 3);
    tc_buffer_puts(out, "</td><td class=\"key\">");
    if (isnan(from))
        tc_buffer_puts(out, "not reached");
    else
        tc_put_number(out, from, 16);
    tc_buffer_puts(out, "</td>");
}

/* Two rows: x and mu. */
static void put_pair(tc_report *report, const tc_section *published, const tc_section *other) {
    tc_buffer *out = report->out;
    tc_buffer_puts(out, "<tr class=\"first\"><th scope=\"rowgroup\" rowspan=\"2\" class=\"pair\">");
    put_run_name(report, other);
    tc_buffer_puts(out, "<br>against ");
    put_run_name(report, published);
    tc_buffer_puts(out, "</th>");
    put_quantity(report, published, other, TC_QUANTITY_X_ERROR);
    tc_buffer_puts(out, "</tr>\n<tr>");
    put_quantity(report, published, other, TC_QUANTITY_MU_ERROR);
    tc_buffer_puts(out, "</tr>\n");
}

/* Those with the same kind of noise, and with errors to compare. */
static bool are_comparable(tc_report *report, const tc_section *a, const tc_section *b) {
    const char *noise = tc_trace_fact_of(a->trace, "mechanism"), *other = tc_trace_fact_of(b->trace, "mechanism");
    return strcmp(noise != NULL ? noise : "", other != NULL ? other : "") == 0 &&
           !isnan(median_at_end(report, a, TC_QUANTITY_X_ERROR)) &&
           !isnan(median_at_end(report, b, TC_QUANTITY_X_ERROR));
}

static const char head[] =
    "<h3>What the method tacit gains</h3>\n<p class=\"note\">Medians over the runs, of runs with the same kind of "
    "noise. "
    "The last column is the first round shown from which on the tacit run stays at or below the error that the "
    "published "
    "run has at its end.</p>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<caption><strong>Errors at the end."
    "</strong></caption>\n<thead><tr><th scope=\"col\">Runs</th><th scope=\"col\"></th><th scope=\"col\">published</th>"
    "<th scope=\"col\">tacit</th><th scope=\"col\">published / tacit</th><th scope=\"col\">reached in round</th></tr>"
    "</thead>\n<tbody>\n";

void tc_put_method_comparison(tc_report *report, const tc_group *group) {
    size_t pairs = 0;
    for (size_t p = 0; p < group->published; p++) {
        for (size_t t = group->published; t < group->count; t++) {
            if (pairs == MOST_PAIRS || !are_comparable(report, group->sections[p], group->sections[t]))
                continue;
            if (pairs++ == 0)
                tc_buffer_puts(report->out, head);
            put_pair(report, group->sections[p], group->sections[t]);
        }
    }
    if (pairs > 0)
        tc_buffer_puts(report->out, "</tbody></table></div>\n");
}
