#include "advise/advise.h"

#include "base/text.h"
#include "plan/account/account.h"

#include <string.h>

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void point_json(const tc_advice *advice, const tc_way *way, double epsilon, tc_json *json) {
    const tc_advised_cell cell = tc_advised_at(advice, way, epsilon);
    tc_json_open_object(json, NULL);
    tc_promised_json(&way->promised, json);
    tc_json_string(json, "mechanism", tc_mechanism_name(way->mechanism));
    tc_json_number(json, "epsilon", epsilon);
    tc_json_string(json, "constraint", cell.row->name);
    tc_json_number(json, "limit", cell.row->limit);
    tc_json_number(json, "doubt", cell.doubt);
    tc_json_number(json, "missing", cell.missing);
    tc_json_bool(json, "reached", !cell.is_unreached);
    tc_json_bool(json, "reaches", cell.is_tolerable);
    tc_json_bool(json, "useless", cell.is_useless);
    tc_json_close_object(json);
}

static void table_json(const tc_advice *advice, tc_json *json) {
    tc_json_open_array(json, "table");
    for (size_t i = 0; i < advice->way_count; i++)
        for (size_t e = 0; advice->ways[i].problem == NULL && e < TC_TABLE_EPSILONS; e++)
            point_json(advice, &advice->ways[i], tc_table_epsilons[e], json);
    tc_json_close_array(json);
}

static void ways_json(const tc_advice *advice, tc_json *json) {
    tc_json_open_array(json, "units");
    for (size_t i = 0; i < advice->way_count; i++) {
        const tc_way *way = &advice->ways[i];
        tc_json_open_object(json, NULL);
        tc_promised_json(&way->promised, json);
        tc_json_string(json, "mechanism", tc_mechanism_name(way->mechanism));
        tc_json_bool(json, "asked", way->is_asked);
        tc_json_string(json, "problem", way->problem);
        tc_json_number(json, "epsilon_needed", way->needed);
        tc_json_number(json, "epsilon_needed_without_trust", way->at_home);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

static void recommended_json(const tc_advice *advice, const char *key, tc_json *json) {
    const tc_way *best = advice->best;
    tc_json_open_object(json, key);
    tc_json_string(json, "mechanism", tc_mechanism_name(best->mechanism));
    tc_promised_json(&best->promised, json);
    tc_json_number(json, "epsilon", advice->epsilon);
    tc_json_number(json, "delta", tc_has_delta(advice, best->mechanism) ? advice->delta : 0);
    tc_json_number(json, "rounds", advice->rounds.now);
    tc_json_string(json, "constraint", advice->told.name);
    tc_json_number(json, "doubt", advice->told.doubt);
    tc_json_number(json, "missing", advice->told.missing);
    tc_json_number(json, "rounds_needed", advice->told.rounds_needed);
    tc_json_bool(json, "reached", !advice->told.is_unreached);
    if (advice->wish.plan.certain) {
        tc_json_number(json, "last_share", advice->plan->last->share);
        tc_json_number(json, "most_move", advice->most_move);
        tc_json_number(json, "usual_move", advice->usual_move);
    }
    tc_json_close_object(json);
}

static void rounds_json(const tc_advice *advice, tc_json *json) {
    tc_json_open_object(json, "rounds_advice");
    tc_json_number(json, "now", advice->rounds.now);
    tc_json_number(json, "enough", advice->rounds.enough);
    tc_json_number(json, "needed", advice->rounds.needed);
    tc_json_number(json, "power", advice->rounds.power);
    tc_json_string(json, "why", tc_rounds_sentence(json->out->arena, advice));
    tc_json_close_object(json);
    tc_json_open_object(json, "agents_advice");
    tc_json_number(json, "now", advice->agents.now);
    tc_json_number(json, "needed", advice->agents.needed);
    tc_json_number(json, "power", advice->agents.power);
    tc_json_string(json, "why", tc_agents_sentence(json->out->arena, advice));
    tc_json_close_object(json);
}

void tc_advice_json(const tc_advice *advice, tc_json *json) {
    tc_arena *arena = json->out->arena;
    const tc_way *shown = advice->shown;
    tc_json_string(json, "recommendation", advice->recommendation);
    tc_json_bool(json, "reaches", advice->reaches);
    if (advice->reaches)
        recommended_json(advice, "recommended", json);
    else
        tc_json_null(json, "recommended");
    tc_json_open_array(json, "recommendations"); /* one for each promise that the unit names */
    for (const tc_advice *one = advice; one != NULL; one = one->other)
        if (one->reaches)
            recommended_json(one, NULL, json);
    tc_json_close_array(json);
    tc_promised_json(&shown->promised, json);
    tc_json_string(json, "mechanism", tc_mechanism_name(shown->mechanism));
    tc_json_number(json, "epsilon", advice->reference);
    tc_json_number(json, "delta", tc_has_delta(advice, shown->mechanism) ? advice->delta : 0);
    tc_json_number(json, "rounds", advice->rounds.now);
    tc_json_number(json, "tolerable_doubt", advice->wish.is_share ? (double)NAN : advice->wish.tolerance);
    tc_json_number(json, "tolerable_share", advice->wish.is_share ? advice->wish.tolerance : (double)NAN);
    tc_json_string(json, "constraint", advice->wish.constraint);
    tc_accuracy_json(shown->accuracy, json);
    ways_json(advice, json);
    table_json(advice, json);
    rounds_json(advice, json);
    tc_json_string(json, "noise_advice", tc_noise_sentence(arena, advice));
    tc_json_string(json, "trust_advice", tc_home_sentence(arena, advice));
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

#define RED "\033[31m"
#define PLAIN "\033[0m"

static void put_paragraph(tc_buffer *out, unsigned indent, const char *text) {
    tc_text_layout layout = {.out = out, .width = 80};
    if (text != NULL)
        tc_layout_paragraph(&layout, indent, text);
}

/* A doubt in its column, with a mark. */
static void put_cell(const tc_advice *advice, const tc_way *way, double epsilon, tc_buffer *out, bool has_colours) {
    if (way->problem != NULL) {
        tc_buffer_printf(out, "%11s", "-");
        return;
    }
    const tc_advised_cell cell = tc_advised_at(advice, way, epsilon);
    const char *colour = has_colours && cell.is_useless ? RED : "";
    tc_buffer_printf(out, "%s%10s%s%s", colour, tc_digits(out->arena, cell.doubt, 3),
                     cell.is_useless     ? "!"
                     : cell.is_tolerable ? "*"
                     : cell.is_unreached ? "~"
                                         : " ",
                     colour[0] == '\0' ? "" : PLAIN);
}

/* A promise has a heading, and a row for each law of noise that keeps it. */
static void put_table(const tc_advice *advice, tc_buffer *out, bool has_colours) {
    const tc_way *best = advice->best;
    const tc_row_accuracy *row = &best->accuracy->rows[best->worst];
    tc_buffer_printf(out, "\n  the doubt in %s, limit %s\n", row->name,
                     isnan(row->limit) ? "none" : tc_digits(out->arena, row->limit, 6));
    tc_buffer_printf(out, "  %-12s", "epsilon");
    for (size_t e = 0; e < TC_TABLE_EPSILONS; e++)
        tc_buffer_printf(out, "%10g%s", tc_table_epsilons[e], e + 1 < TC_TABLE_EPSILONS ? " " : "");
    tc_buffer_puts(out, "\n");
    for (size_t i = 0; i < advice->way_count; i++) {
        const tc_way *way = &advice->ways[i];
        const char *text = way->promised.text;
        if (i == 0 || strcmp(text, advice->ways[i - 1].promised.text) != 0)
            put_paragraph(out, 2,
                          way->promised.norm == NULL || way->plan->distances != NULL
                              ? tc_arena_format(out->arena, "to hide %s", text)
                              : tc_arena_format(out->arena, "to hide %s (%s a round of a change in all %.0f)", text,
                                                tc_digits(out->arena, way->promised.every_round, 3),
                                                way->plan->rounds));
        tc_buffer_printf(out, "    %-10s", tc_mechanism_name(way->mechanism));
        for (size_t e = 0; e < TC_TABLE_EPSILONS; e++)
            put_cell(advice, way, tc_table_epsilons[e], out, has_colours);
        tc_buffer_puts(out, "\n");
    }
    put_paragraph(out, 2,
                  "* is tolerable; ! is useless: more than all that the constraint can be; ~ is not reached in so many "
                  "rounds, and more is missing");
}

/* Bars on a logarithmic scale; the column of the tolerable doubt is marked. */
static void put_plot(const tc_advice *advice, tc_buffer *out) {
    enum { CELLS = 50 };
    const tc_way *best = advice->best;
    const tc_row_accuracy *row = &best->accuracy->rows[best->worst];
    double tolerable = tc_tolerable(&advice->wish, row);
    double first = tc_doubt_at(advice, best, best->worst, tc_table_epsilons[0]);
    double last = tc_doubt_at(advice, best, best->worst, tc_table_epsilons[TC_TABLE_EPSILONS - 1]);
    double least = log(fmin(last, tolerable) / 2), most = log(fmax(first, tolerable));
    int mark = (int)(CELLS * (log(tolerable) - least) / (most - least));
    mark = mark >= CELLS ? CELLS - 1 : mark;
    tc_buffer_puts(out, "\n");
    put_paragraph(out, 2,
                  tc_arena_format(out->arena, "%s noise, hiding %s (log scale); the line is tolerable",
                                  tc_mechanism_name(best->mechanism), best->promised.text));
    for (size_t e = 0; e < TC_TABLE_EPSILONS; e++) {
        double doubt = tc_doubt_at(advice, best, best->worst, tc_table_epsilons[e]);
        double cells = CELLS * (log(doubt) - least) / (most - least);
        tc_buffer_printf(out, "  %-8g", tc_table_epsilons[e]);
        for (int i = 0; i < CELLS; i++)
            tc_buffer_puts(out, i == mark ? "|" : i + 0.5 < cells ? "#" : " ");
        tc_buffer_printf(out, " %s\n", tc_digits(out->arena, doubt, 3));
    }
}

void tc_advice_text(const tc_advice *advice, tc_buffer *out, bool has_colours) {
    tc_arena *arena = out->arena;
    tc_buffer_puts(out, "Advice\n");
    put_paragraph(out, 2, advice->recommendation);
    put_table(advice, out, has_colours);
    put_plot(advice, out);
    tc_buffer_puts(out, "\n");
    put_paragraph(out, 2, tc_noise_sentence(arena, advice));
    put_paragraph(out, 2, tc_rounds_sentence(arena, advice));
    put_paragraph(out, 2, tc_agents_sentence(arena, advice));
    put_paragraph(out, 2, tc_home_sentence(arena, advice));
    tc_accuracy_text(advice->shown->accuracy, out, false, has_colours);
}
