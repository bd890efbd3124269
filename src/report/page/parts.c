/* What all sections of a page are made of. */
#include "report/page/page.h"

#include "report/html.h"

#include <math.h>
#include <string.h>

/* ---- a quantity of a run over rounds ---- */

enum { PLACES = 600 }; /* on each kind of axis */

double tc_quantity_in(const tc_row *row, tc_quantity quantity, size_t index) {
    switch (quantity) {
    case TC_QUANTITY_X_ERROR:
        return row->x_error;
    case TC_QUANTITY_MU_ERROR:
        return row->mu_error;
    case TC_QUANTITY_OBJECTIVE:
        return row->objective;
    case TC_QUANTITY_VIOLATION:
        return row->max_violation;
    case TC_QUANTITY_CONSTRAINT:
        return row->constraints[index];
    case TC_QUANTITY_MULTIPLIER:
        return row->multipliers[index];
    default:
        return NAN;
    }
}

uint64_t tc_trace_rounds(const tc_trace *trace) {
    uint64_t rounds = 0;
    for (size_t i = 0; i < trace->record_count; i++)
        rounds = trace->records[i].rounds > rounds ? trace->records[i].rounds : rounds;
    return rounds;
}

size_t tc_trace_finished(const tc_trace *trace) {
    uint64_t rounds = tc_trace_rounds(trace);
    size_t finished = 0;
    for (size_t i = 0; i < trace->record_count; i++)
        finished += trace->records[i].row_count > 0 && trace->records[i].rounds == rounds;
    return finished;
}

tc_quantiles tc_quantity_at(tc_arena *arena, const tc_trace *trace, tc_quantity quantity, size_t index, uint64_t k,
                            double **values, size_t *count) {
    *values = TC_NEW(arena, double, trace->record_count + 1);
    *count = 0;
    for (size_t i = 0; i < trace->record_count; i++) {
        const tc_row *row = tc_record_row(&trace->records[i], k);
        double value = row != NULL ? tc_quantity_in(row, quantity, index) : NAN;
        if (isfinite(value))
            (*values)[(*count)++] = value;
    }
    if (*count == 0)
        return (tc_quantiles){NAN, NAN, NAN, NAN, NAN};
    return tc_quantiles_of(*values, *count);
}

static const tc_record *longest(const tc_trace *trace) {
    const tc_record *best = &trace->records[0];
    for (size_t i = 1; i < trace->record_count; i++)
        best = trace->records[i].row_count > best->row_count ? &trace->records[i] : best;
    return best;
}

/* Where k would stand on either axis; a row is kept where either place is new. */
typedef struct places {
    double linear, log;
} places;

static places places_of(uint64_t k, uint64_t rounds) {
    double part = rounds > 0 ? (double)k / (double)rounds : 0;
    double logs = rounds > 1 && k > 0 ? log((double)k) / log((double)rounds) : -1;
    return (places){floor(part * PLACES), floor(logs * PLACES)};
}

static tc_curve curve_of_one(tc_arena *arena, const tc_record *record, tc_quantity quantity, size_t index) {
    tc_curve curve = {.count = record->row_count, .empty = true};
    curve.k = TC_NEW(arena, double, curve.count);
    curve.median = TC_NEW(arena, double, curve.count);
    for (size_t i = 0; i < curve.count; i++) {
        curve.k[i] = (double)record->rows[i].k;
        curve.median[i] = tc_quantity_in(&record->rows[i], quantity, index);
        curve.empty = curve.empty && !isfinite(curve.median[i]);
    }
    return curve;
}

tc_curve tc_curve_of(tc_arena *arena, const tc_trace *trace, tc_quantity quantity, size_t index) {
    if (trace->record_count == 0)
        return (tc_curve){.empty = true};
    const tc_record *guide = longest(trace);
    if (trace->record_count == 1)
        return curve_of_one(arena, guide, quantity, index);
    size_t most = guide->row_count < 2 * PLACES + 4 ? guide->row_count : 2 * PLACES + 4;
    tc_curve curve = {.empty = true};
    double **const columns[] = {&curve.k, &curve.median, &curve.least, &curve.low, &curve.high, &curve.most};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        *columns[i] = TC_NEW(arena, double, most);
    uint64_t rounds = tc_trace_rounds(trace);
    places last = {-1, -2};
    for (size_t i = 0; i < guide->row_count && curve.count < most; i++) {
        uint64_t k = guide->rows[i].k;
        places here = places_of(k, rounds);
        if (here.linear == last.linear && here.log == last.log && i + 1 < guide->row_count)
            continue;
        last = here;
        tc_mark mark = tc_arena_mark(arena);
        double *values;
        size_t count, at = curve.count++;
        tc_quantiles q = tc_quantity_at(arena, trace, quantity, index, k, &values, &count);
        tc_arena_rewind(arena, mark);
        curve.k[at] = (double)k;
        curve.least[at] = q.min;
        curve.low[at] = q.q10;
        curve.median[at] = q.median;
        curve.high[at] = q.q90;
        curve.most[at] = q.max;
        curve.empty = curve.empty && count == 0;
    }
    return curve;
}

/* ---- figures and cells ---- */

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

/* ---- the head and the foot of a section ---- */

enum { SHOWN_REASONS = 2, CARD_COLUMN = 16, LONGEST_REASONS = 1 << 16 };

const char tc_page_not_released[] =
    "This page is not released data: it shows true states' errors, objective and constraints, which no guarantee "
    "covers. Share it only with those who may see the problem.";

static const char sweep_promise[] =
    "<p class=\"promise no\"><strong>Guarantee:</strong> NOT PRIVATE: these are simulated runs with noise from seeds, "
    "and whoever knows a seed knows the noise. What each epsilon would promise is what <code>tacit plan --epsilon "
    "E</code> says.</p>\n";

/* ---- what is promised -------------------------------------------------------------------------------------------- */

/* The card's headline: the lines from "GUARANTEE: " to the rule below. */
const char *tc_promise_of(tc_arena *arena, const tc_trace *trace) {
    static const char head[] = "GUARANTEE: ";
    for (size_t i = 0; i < trace->card_count; i++) {
        if (strncmp(trace->card[i], head, sizeof head - 1) != 0)
            continue;
        const char *promise = trace->card[i] + sizeof head - 1;
        for (i++; i < trace->card_count && strncmp(trace->card[i], "---", 3) != 0; i++)
            promise = tc_arena_format(arena, "%s %s", promise, trace->card[i] + strspn(trace->card[i], " "));
        return promise;
    }
    return NULL;
}

/* The card's item "NOT PRIVATE": a reason, or a list of reasons that begin with a dash. Returns how many. */
static size_t reasons_of(const tc_trace *trace, tc_buffer *text) {
    static const char title[] = "NOT PRIVATE ";
    size_t i = 0, count = 0;
    while (i < trace->card_count && strncmp(trace->card[i], title, sizeof title - 1) != 0)
        i++;
    for (size_t line = i; line < trace->card_count && (line == i || trace->card[line][0] == ' '); line++) {
        const char *words = trace->card[line];
        words += strnlen(words, CARD_COLUMN);
        bool begins = line == i || strncmp(words, "- ", 2) == 0;
        words += strspn(words, begins ? "- " : " ");
        count += begins;
        if (count <= SHOWN_REASONS)
            tc_buffer_printf(text, "%s%s", !begins ? " " : count == 1 ? ": " : "; ", words);
    }
    if (count > SHOWN_REASONS)
        tc_buffer_printf(text, "; and %zu more reason%s on the card below", count - SHOWN_REASONS,
                         count - SHOWN_REASONS == 1 ? "" : "s");
    return count;
}

/* Whether it is private. */
static bool put_promise(tc_report *report, const tc_trace *trace) {
    const char *promise = tc_promise_of(report->arena, trace);
    if (promise == NULL)
        return false;
    /* Traces of 0.1 say "private, unit ...". */
    bool is_private = strncmp(promise, "private: ", 9) == 0 || strncmp(promise, "private, ", 9) == 0;
    tc_buffer_printf(report->out, "<p class=\"promise%s\"><strong>Guarantee%s:</strong> ", is_private ? "" : " no",
                     is_private ? " of what the run released" : "");
    tc_put_text(report->out, promise);
    tc_buffer reasons = tc_buffer_new(report->arena, LONGEST_REASONS);
    if (!is_private && reasons_of(trace, &reasons) > 0)
        tc_put_text(report->out, tc_buffer_text(&reasons));
    tc_buffer_printf(report->out, "<br>%s</p>\n", tc_page_not_released);
    return is_private;
}

/* ---- facts and notes --------------------------------------------------------------------------------------------- */

/* Rounds are written as in the tables: 5,000. */
static void put_value(tc_buffer *out, const tc_trace_fact *fact) {
    bool is_count = strcmp(fact->name, "rounds") == 0 && fact->value[strspn(fact->value, "0123456789")] == '\0';
    (is_count ? tc_put_grouped : tc_put_text)(out, fact->value);
}

/* Without a guarantee, epsilon and delta are marked as asked for. */
static void put_facts(tc_report *report, const tc_trace *trace, bool is_private) {
    if (trace->fact_count == 0)
        return;
    tc_buffer_puts(report->out, "<dl class=\"facts\">\n");
    for (size_t i = 0; i < trace->fact_count; i++) {
        tc_buffer_puts(report->out, "<div><dt>");
        tc_put_text(report->out, trace->facts[i].name);
        if (!is_private && (strcmp(trace->facts[i].name, "epsilon") == 0 || strcmp(trace->facts[i].name, "delta") == 0))
            tc_buffer_puts(report->out, " asked for");
        tc_buffer_puts(report->out, "</dt><dd>");
        put_value(report->out, &trace->facts[i]);
        tc_buffer_puts(report->out, "</dd></div>\n");
    }
    tc_buffer_puts(report->out, "</dl>\n");
}

static void put_notes(tc_report *report, const tc_trace *trace) {
    if (trace->note_count == 0)
        return;
    tc_buffer_puts(report->out, "<ul>\n");
    for (size_t i = 0; i < trace->note_count; i++) {
        tc_buffer_puts(report->out, "<li>");
        tc_put_text(report->out, trace->notes[i]);
        tc_buffer_puts(report->out, "</li>\n");
    }
    tc_buffer_puts(report->out, "</ul>\n");
}

void tc_put_section_head(tc_report *report, const tc_section *section, const char *what) {
    tc_buffer_printf(report->out, "<h2>%s", what);
    tc_put_text(report->out, section->label);
    tc_buffer_puts(report->out, "</h2>\n");
    bool is_private = section->trace->kind == TC_TRACE_RUN && put_promise(report, section->trace);
    if (section->trace->kind == TC_TRACE_SWEEP)
        tc_buffer_puts(report->out, sweep_promise);
    put_facts(report, section->trace, is_private);
    put_notes(report, section->trace);
}

void tc_put_card(tc_report *report, const tc_section *section) {
    const tc_trace *trace = section->trace;
    if (trace->card_count == 0)
        return;
    tc_buffer_puts(report->out, "<h3>Guarantee card</h3>\n<pre tabindex=\"0\">");
    for (size_t i = 0; i < trace->card_count; i++) {
        tc_put_text(report->out, trace->card[i]);
        tc_buffer_puts(report->out, "\n");
    }
    tc_buffer_puts(report->out, "</pre>\n");
}

static bool has_fresh_noise(const tc_trace *trace) {
    const char *mechanism = tc_trace_fact_of(trace, "mechanism");
    return trace->kind == TC_TRACE_RUN && trace->record_count > 0 && !trace->records[0].seeded &&
           !(mechanism != NULL && strcmp(mechanism, "none") == 0);
}

void tc_put_command(tc_report *report, const tc_section *section) {
    if (section->trace->command == NULL)
        return;
    tc_buffer_puts(report->out, "<h3>To repeat it</h3>\n<pre class=\"command\">");
    tc_put_text(report->out, section->trace->command);
    tc_buffer_puts(report->out, "</pre>\n");
    if (has_fresh_noise(section->trace))
        tc_buffer_puts(report->out, "<p class=\"note\">Noise is fresh each time: the numbers will differ. With "
                                    "<code>--seed S</code> a run can be repeated; it is then a simulation, and not "
                                    "private.</p>\n");
}
