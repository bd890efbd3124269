/* Runs side by side. */
#include "report/page/html.h"
#include "report/page/page.h"

#include <math.h>

void tc_put_group_head(tc_report *report, const tc_group *group) {
    tc_buffer_printf(report->out, "<section id=\"%s\">\n<h2>", group->id);
    tc_put_text(report->out, group->title);
    tc_buffer_puts(report->out, "</h2>\n");
}

static void put_overlay(tc_report *report, const tc_section *const *sections, size_t count, tc_quantity quantity,
                        bool y_log) {
    tc_series *series = TC_NEW(report->arena, tc_series, TC_PLOT_STYLES * TC_SECTION_SERIES);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (sections[i]->plotted)
            used += tc_section_series(report, sections[i], quantity, sections[i]->label, false, &series[used]);
    }
    if (used == 0)
        return;
    tc_quantity_words words = tc_quantity_words_of(quantity);
    tc_plot plot = {.x_title = "round k (log scale)",
                    .y_title = words.sign,
                    .x_log = true,
                    .y_log = y_log,
                    .from_zero = words.from_zero,
                    .level = NAN,
                    .series = series,
                    .series_count = used};
    tc_put_figure(report, words.name, "Lines: medians; bands: 10 to 90\xc2\xa0%.", plot);
}

static void put_range(tc_report *report, const tc_section *section, tc_quantity quantity, uint64_t k) {
    double *values;
    size_t count;
    tc_quantiles q = tc_quantity_at(report->arena, section->trace, quantity, 0, k, &values, &count);
    tc_buffer *out = report->out;
    tc_buffer_puts(out, "<td>");
    tc_put_number(out, q.median, 4);
    if (count > 1) {
        tc_put_span(out, q.q10, q.q90);
    }
    tc_buffer_puts(out, "</td>");
}

static void put_row(tc_report *report, const tc_section *section) {
    tc_buffer *out = report->out;
    uint64_t end = tc_trace_rounds(section->trace);
    tc_buffer_printf(out, "<tr><th scope=\"row\" class=\"run\"><a href=\"#%s\">", section->id);
    tc_put_text(out, section->label);
    size_t runs = section->trace->record_count, finished = tc_trace_finished(section->trace);
    tc_buffer_printf(out, "</a></th><td>%zu", finished);
    if (finished < runs)
        tc_buffer_printf(out, " of %zu", runs);
    tc_buffer_puts(out, "</td><td>");
    tc_put_number(out, (double)end, 16);
    tc_buffer_puts(out, "</td>");
    put_range(report, section, TC_QUANTITY_X_ERROR, end / 2);
    put_range(report, section, TC_QUANTITY_X_ERROR, end);
    put_range(report, section, TC_QUANTITY_MU_ERROR, end / 2);
    put_range(report, section, TC_QUANTITY_MU_ERROR, end);
    put_range(report, section, TC_QUANTITY_VIOLATION, end);
    put_range(report, section, TC_QUANTITY_OBJECTIVE, end);
    tc_buffer_puts(out, "</tr>\n");
}

enum { COLUMNS = 9 };

static void put_table(tc_report *report, const tc_group *group) {
    tc_buffer *out = report->out;
    bool mixed = group->published > 0 && group->published < group->count;
    tc_buffer_puts(
        out, "<div class=\"scroll\" tabindex=\"0\"><table>\n<caption><strong>Medians; below them 10 to 90\xc2\xa0%."
             "</strong></caption>\n<thead><tr><th scope=\"col\">Run</th><th scope=\"col\">runs</th><th "
             "scope=\"col\">rounds</th><th scope=\"col\">error of x half\xe2\x80\x91way</th><th scope=\"col\">at the "
             "end</th><th scope=\"col\">error of μ half\xe2\x80\x91way</th><th scope=\"col\">at the end</th><th "
             "scope=\"col\">largest violation at the end</th><th scope=\"col\">objective at the end</th></tr>"
             "</thead>\n<tbody>\n");
    for (size_t i = 0; i < group->count; i++) {
        if (mixed && i == group->published)
            tc_buffer_puts(out, "</tbody>\n<tbody>\n");
        if (mixed && (i == 0 || i == group->published))
            tc_buffer_printf(out,
                             "<tr class=\"first\"><th scope=\"rowgroup\" colspan=\"%d\" class=\"group\">Method %s</th>"
                             "</tr>\n",
                             COLUMNS, i == 0 ? "published" : "tacit");
        put_row(report, group->sections[i]);
    }
    tc_buffer_puts(out, "</tbody></table></div>\n");
}

void tc_put_run_comparison(tc_report *report, const tc_group *group) {
    const tc_section *const *sections = group->sections;
    size_t count = group->count, shown = 0;
    for (size_t i = 0; i < count; i++)
        shown += sections[i]->plotted;
    tc_put_group_head(report, group);
    tc_buffer_puts(report->out, "<p class=\"note\"><strong>Simulation: not released.</strong> All of this is computed "
                                "from true states.</p>\n");
    put_table(report, group);
    tc_put_method_comparison(report, group);
    if (shown < count)
        tc_buffer_printf(report->out,
                         "<p>The plots show %zu of %zu runs, the first of each method as the traces were given.</p>\n",
                         shown, count);
    tc_buffer_puts(report->out, "<div class=\"figures\">\n");
    put_overlay(report, sections, count, TC_QUANTITY_X_ERROR, true);
    put_overlay(report, sections, count, TC_QUANTITY_MU_ERROR, true);
    put_overlay(report, sections, count, TC_QUANTITY_VIOLATION, false);
    put_overlay(report, sections, count, TC_QUANTITY_OBJECTIVE, false);
    tc_buffer_puts(report->out, "</div>\n</section>\n");
}
