/* The head of a page: what was asked, what is hidden, and whether the answer is worth it; for somebody with two
 * minutes. */
#include "report/html.h"
#include "report/page/page.h"

#include <math.h>
#include <string.h>

/* ---- what results there are ---- */

typedef struct result_line {
    const char *name, *explained;
    double cost, violation, distance;
    const char *worst;
    bool is_answer;
} result_line;

enum { MOST_LINES = 5 };

/* The constraint that is violated most at the end of a single run; NULL for none. */
static const char *worst_of(const tc_trace *trace) {
    const tc_row *last = trace->record_count == 1 ? tc_record_last(&trace->records[0]) : NULL;
    const char *worst = NULL;
    double most = 0;
    for (size_t j = 0; last != NULL && j < trace->constraint_count; j++) {
        double value = tc_trace_is_equality(trace, j) ? fabs(last->constraints[j]) : last->constraints[j];
        if (value > most) {
            most = value;
            worst = trace->constraints[j];
        }
    }
    return worst;
}

static double at_end(tc_arena *arena, const tc_trace *trace, tc_quantity quantity) {
    double *values;
    size_t count;
    return tc_quantity_at(arena, trace, quantity, 0, tc_trace_rounds(trace), &values, &count).median;
}

static bool has_noise(const tc_trace *trace) {
    const char *mechanism = tc_trace_fact_of(trace, "mechanism");
    return mechanism == NULL || strcmp(mechanism, "none") != 0;
}

static size_t lines_of(tc_arena *arena, const tc_trace *trace, result_line lines[MOST_LINES]) {
    size_t count = 0;
    lines[count++] = (result_line){.name = has_noise(trace) ? "Private answer" : "This run",
                                   .explained = trace->record_count > 1 ? "medians of the runs" : NULL,
                                   .cost = at_end(arena, trace, TC_QUANTITY_OBJECTIVE),
                                   .violation = at_end(arena, trace, TC_QUANTITY_VIOLATION),
                                   .distance = at_end(arena, trace, TC_QUANTITY_X_ERROR),
                                   .worst = worst_of(trace),
                                   .is_answer = true};
    if (isfinite(trace->free_objective))
        lines[count++] = (result_line){.name = "Without noise",
                                       .explained = "the same run",
                                       .cost = trace->free_objective,
                                       .violation = trace->free_max_violation,
                                       .distance = trace->free_x_error};
    if (isfinite(trace->reference_objective))
        lines[count++] =
            (result_line){.name = "Solution", .explained = "nobody hides anything", .cost = trace->reference_objective};
    const tc_trace_result *others[] = {&trace->nothing, &trace->slater};
    static const char *const names[][2] = {{"Doing nothing", "zero prices: everybody ignores the constraints"},
                                           {"Slater point", "everybody where the file says it is safe"}};
    for (size_t i = 0; i < 2; i++) {
        if (isfinite(others[i]->objective))
            lines[count++] = (result_line){.name = names[i][0],
                                           .explained = names[i][1],
                                           .cost = others[i]->objective,
                                           .violation = others[i]->max_violation,
                                           .distance = others[i]->x_error,
                                           .worst = others[i]->worst};
    }
    return count;
}

/* ---- as a table with bars ---- */

static double largest(const result_line *lines, size_t count, double (*of)(const result_line *)) {
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = of(&lines[i]) > most ? of(&lines[i]) : most;
    return most;
}

static double cost_of(const result_line *line) { return line->cost; }
static double violation_of(const result_line *line) { return line->violation; }
static double distance_of(const result_line *line) { return line->distance; }

/* Bars begin at zero, so there are none where a value is below it. */
static bool can_be_bars(const result_line *lines, size_t count, double (*of)(const result_line *)) {
    bool can = largest(lines, count, of) > 0;
    for (size_t i = 0; i < count; i++)
        can = can && !(of(&lines[i]) < 0);
    return can;
}

static void put_bar_cell(tc_report *report, const result_line *line, double value, double most, const char *below) {
    tc_buffer *out = report->out;
    double shown = fabs(value) < 1e-9 ? 0 : value;
    tc_buffer_puts(out, "<td class=\"bar\">");
    tc_put_number(out, shown, 4);
    if (most > 0 && value >= 0) {
        tc_buffer_puts(out, "<span class=\"track\" aria-hidden=\"true\">");
        if (shown > 0)
            tc_buffer_printf(out, "<span class=\"%s\" style=\"width:%.1f%%\"></span>",
                             line->is_answer ? "own" : "other", 100 * shown / most);
        tc_buffer_puts(out, "</span>");
    }
    if (below != NULL) {
        tc_buffer_puts(out, "<small>");
        tc_put_short_text(out, below, 24);
        tc_buffer_puts(out, "</small>");
    }
    tc_buffer_puts(out, "</td>");
}

static void put_results(tc_report *report, const tc_trace *trace) {
    tc_buffer *out = report->out;
    result_line lines[MOST_LINES];
    size_t count = lines_of(report->arena, trace, lines);
    double costs = can_be_bars(lines, count, cost_of) ? largest(lines, count, cost_of) : 0;
    double violations = largest(lines, count, violation_of), distances = largest(lines, count, distance_of);
    tc_buffer_puts(out, "<div class=\"scroll\" tabindex=\"0\"><table class=\"results\">\n<caption><strong>Cost, "
                        "violation and distance.</strong> Simulation: not released.</caption>\n<thead><tr><th "
                        "scope=\"col\">Result</th><th scope=\"col\">Cost f(x)</th><th scope=\"col\">Largest violation"
                        "</th><th scope=\"col\">Distance to the solution</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < count; i++) {
        tc_buffer_printf(out, "<tr%s><th scope=\"row\">%s", lines[i].is_answer ? " class=\"answer\"" : "",
                         lines[i].name);
        if (lines[i].explained != NULL)
            tc_buffer_printf(out, "<br><small>%s</small>", lines[i].explained);
        tc_buffer_puts(out, "</th>");
        put_bar_cell(report, &lines[i], lines[i].cost, costs, NULL);
        put_bar_cell(report, &lines[i], lines[i].violation, violations, lines[i].worst);
        put_bar_cell(report, &lines[i], lines[i].distance, distances, NULL);
        tc_buffer_puts(out, "</tr>\n");
    }
    tc_buffer_puts(out, "</tbody></table></div>\n");
}

/* ---- what was asked and what is hidden ---- */

/* The first point of an item of the card, or all of them, in one line; NULL where there is none. */
static const char *card_points(tc_arena *arena, const tc_trace *trace, const char *title, bool all) {
    enum { COLUMN = 16, LONGEST = 1 << 12 };
    size_t length = strlen(title);
    for (size_t i = 0; i < trace->card_count; i++) {
        const char *line = trace->card[i];
        if (strncmp(line, title, length) != 0 || line[length] != ' ')
            continue;
        tc_buffer text = tc_buffer_new(arena, LONGEST);
        for (size_t next = i; next < trace->card_count; next++) {
            const char *words = trace->card[next] + strnlen(trace->card[next], COLUMN);
            bool begins = strncmp(words, "- ", 2) == 0;
            if (next > i && ((begins && !all) || trace->card[next][0] != ' '))
                break;
            words += strspn(words, begins ? "- " : " ");
            if (text.length + strlen(words) + 3 < LONGEST)
                tc_buffer_printf(&text, "%s%s", next == i ? "" : begins ? "; " : " ", words);
        }
        return tc_buffer_text(&text);
    }
    return NULL;
}

static void put_pair(tc_buffer *out, const char *name, const char *value) {
    if (value == NULL || value[0] == '\0')
        return;
    tc_buffer_printf(out, "<div><dt>%s</dt><dd>", name);
    tc_put_text(out, value);
    tc_buffer_puts(out, "</dd></div>\n");
}

/* "8 agents, 16 states, 8 constraints; 20,000 rounds; gaussian noise; method tacit" */
static void put_asked(tc_buffer *out, const tc_trace *trace) {
    const char *problem = tc_trace_fact_of(trace, "problem"), *rounds = tc_trace_fact_of(trace, "rounds");
    const char *mechanism = tc_trace_fact_of(trace, "mechanism"), *method = tc_trace_fact_of(trace, "method");
    if (problem == NULL)
        return;
    tc_buffer_puts(out, "<div><dt>Asked</dt><dd>");
    tc_put_text(out, problem);
    if (rounds != NULL) {
        tc_buffer_puts(out, "; ");
        (rounds[strspn(rounds, "0123456789")] == '\0' ? tc_put_grouped : tc_put_text)(out, rounds);
        tc_buffer_puts(out, " rounds");
    }
    if (mechanism != NULL) {
        tc_buffer_puts(out, has_noise(trace) ? "; " : "; no noise");
        tc_put_text(out, has_noise(trace) ? mechanism : "");
        tc_buffer_puts(out, has_noise(trace) ? " noise" : "");
    }
    if (method != NULL) {
        tc_buffer_puts(out, "; method ");
        tc_put_text(out, method);
    }
    tc_buffer_puts(out, "</dd></div>\n");
}

static const char *first_sentence(tc_arena *arena, const char *text) {
    const char *end = text == NULL ? NULL : strstr(text, ". ");
    return end == NULL ? text : tc_arena_copy(arena, text, (size_t)(end - text) + 1);
}

static void put_words(tc_report *report, const tc_trace *trace) {
    tc_buffer *out = report->out;
    const char *promise = tc_promise_of(report->arena, trace);
    bool is_private = promise != NULL && strncmp(promise, "private", 7) == 0;
    tc_buffer_puts(out, "<dl class=\"words\">\n");
    put_asked(out, trace);
    put_pair(out, "Guarantee", promise);
    put_pair(out, is_private ? "Hidden" : "Would be hidden, with fresh noise",
             card_points(report->arena, trace, "Hides", true));
    put_pair(out, "Not hidden",
             first_sentence(report->arena, card_points(report->arena, trace, "Does not hide", false)));
    put_pair(out, "Constraints, as released data show", trace->feasibility);
    put_pair(out, "Constraints, in truth (not released)", trace->true_feasibility);
    put_pair(out, "What the error is", trace->error_parts);
    tc_buffer_puts(out, "</dl>\n");
}

void tc_put_summary(tc_report *report, const tc_section *section, bool is_titled) {
    const tc_trace *trace = section->trace;
    tc_buffer *out = report->out;
    if (is_titled) {
        tc_buffer_puts(out, "<h3>");
        tc_put_text(out, section->label);
        tc_buffer_puts(out, "</h3>\n");
    }
    if (trace->verdict != NULL) {
        tc_buffer_printf(out, "<p class=\"verdict%s\">", trace->is_lost ? " no" : "");
        tc_put_text(out, trace->verdict);
        tc_buffer_puts(out, "</p>\n");
    }
    tc_buffer_puts(out, "<div class=\"overview\">\n");
    put_results(report, trace);
    put_words(report, trace);
    tc_buffer_puts(out, "</div>\n");
}
