/* Runs side by side. */
#include "report/page/page.h"

#include "report/html.h"

#include <math.h>
#include <string.h>

void tc_put_group_head(tc_report *report, const tc_section_group *group) {
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

static void put_table(tc_report *report, const tc_section_group *group) {
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

/* ---- the two methods, run by run: how much smaller errors are, and how much sooner ---- */

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
    else if (from == 0)
        tc_buffer_puts(out, "from the start");
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

/* ---- which runs are compared ------------------------------------------------------------------------------------- */

static const char *fact_or_nothing(const tc_section *section, const char *name) {
    const char *value = tc_trace_fact_of(section->trace, name);
    return value != NULL ? value : "";
}

static bool same_fact(const tc_section *a, const tc_section *b, const char *name) {
    return strcmp(fact_or_nothing(a, name), fact_or_nothing(b, name)) == 0;
}

/* "1 for each system" of the published calibration is compared with "1 for all that anyone can see", which promises no
 * less. */
static bool same_epsilon(const tc_section *published, const tc_section *other) {
    const char *before = fact_or_nothing(published, "epsilon"), *after = fact_or_nothing(other, "epsilon");
    size_t length = strcspn(before, " ");
    return strcmp(before, after) == 0 || (strcmp(before + length, " for each system") == 0 &&
                                          length == strcspn(after, " ") && strncmp(before, after, length) == 0);
}

/* Otherwise errors differ for other reasons than the method. */
static bool promise_the_same(const tc_section *published, const tc_section *other) {
    return same_fact(published, other, "mechanism") && same_epsilon(published, other) &&
           same_fact(published, other, "delta") && same_fact(published, other, "hides");
}

static bool has_errors(tc_report *report, const tc_section *section) {
    return !isnan(median_at_end(report, section, TC_QUANTITY_X_ERROR));
}

/* A margin keeps results away from the solution on purpose. */
static bool has_margin(const tc_section *section) { return tc_trace_fact_of(section->trace, "margin") != NULL; }

typedef struct pair {
    const tc_section *published, *other;
} pair;

typedef struct selection {
    pair pairs[MOST_PAIRS];
    size_t count;
    bool per_system;      /* a pair's published run promises epsilon for each system, the other for everything */
    bool with_errors;     /* there are two runs with errors */
    bool without_margins; /* and two of these without margins */
} selection;

static void consider(tc_report *report, selection *chosen, pair candidate) {
    if (!has_errors(report, candidate.published) || !has_errors(report, candidate.other))
        return;
    chosen->with_errors = true;
    if (has_margin(candidate.published) || has_margin(candidate.other))
        return;
    chosen->without_margins = true;
    if (chosen->count == MOST_PAIRS || !promise_the_same(candidate.published, candidate.other))
        return;
    chosen->per_system = chosen->per_system || !same_fact(candidate.published, candidate.other, "epsilon");
    chosen->pairs[chosen->count++] = candidate;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const char promises[] = "<h3>What the method tacit gains</h3>\n<p class=\"note\">Medians over the runs, of runs "
                               "with the same mechanism, epsilon, delta and unit, and without a margin. ";

static const char per_system[] =
    "The published calibration promises its epsilon for each system; the tacit run beside it promises the same epsilon "
    "for all that anyone can see. ";

static const char head[] =
    "The last column is the first round shown from which on the tacit run stays at or below the error that the "
    "published run has at its end.</p>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<caption><strong>Errors at the "
    "end.</strong></caption>\n<thead><tr><th scope=\"col\">Runs</th><th scope=\"col\"></th><th scope=\"col\">published"
    "</th><th scope=\"col\">tacit</th><th scope=\"col\">published / tacit</th><th scope=\"col\">reached in round</th>"
    "</tr></thead>\n<tbody>\n";

static const char *why_none(const selection *chosen) {
    if (!chosen->with_errors)
        return "errors are not known of runs by both";
    return chosen->without_margins ? "no two runs without a margin have the same mechanism, epsilon, delta and unit"
                                   : "runs with a margin keep away from the solution on purpose";
}

/* What method tacit gains on method published, for runs that promise the same and have no margin. A sentence if there
 * are none; nothing if the group lacks one of the methods. */
static void put_method_comparison(tc_report *report, const tc_section_group *group) {
    selection chosen = {.count = 0};
    if (group->published == 0 || group->published == group->count)
        return;
    for (size_t p = 0; p < group->published; p++) {
        for (size_t t = group->published; t < group->count; t++)
            consider(report, &chosen, (pair){group->sections[p], group->sections[t]});
    }
    if (chosen.count == 0) {
        tc_buffer_printf(report->out, "<p class=\"note\">The methods are not compared in numbers: %s.</p>\n",
                         why_none(&chosen));
        return;
    }
    tc_buffer_puts(report->out, promises);
    tc_buffer_puts(report->out, chosen.per_system ? per_system : "");
    tc_buffer_puts(report->out, head);
    for (size_t i = 0; i < chosen.count; i++)
        put_pair(report, chosen.pairs[i].published, chosen.pairs[i].other);
    tc_buffer_puts(report->out, "</tbody></table></div>\n");
}

/* ---- the whole ---- */

void tc_put_run_comparison(tc_report *report, const tc_section_group *group) {
    const tc_section *const *sections = group->sections;
    size_t count = group->count, shown = 0;
    for (size_t i = 0; i < count; i++)
        shown += sections[i]->plotted;
    tc_put_group_head(report, group);
    tc_buffer_puts(report->out, "<p class=\"note\"><strong>Simulation: not released.</strong> All of this is computed "
                                "from true states.</p>\n");
    put_table(report, group);
    put_method_comparison(report, group);
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
