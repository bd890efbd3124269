/* The head of a section (what is promised, facts, notes), and its foot: the card and the command. */
#include "report/page/html.h"
#include "report/page/page.h"

#include <string.h>

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
static const char *promise_of(tc_arena *arena, const tc_trace *trace) {
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
    const char *promise = promise_of(report->arena, trace);
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

/* Rounds as in the tables: 5,000. */
static void put_value(tc_buffer *out, const tc_trace_fact *fact) {
    bool is_count = strcmp(fact->name, "rounds") == 0 && fact->value[strspn(fact->value, "0123456789")] == '\0';
    (is_count ? tc_put_grouped : tc_put_text)(out, fact->value);
}

/* An epsilon that nothing promises was only asked for. */
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
