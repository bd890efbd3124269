#include "setup/setup.h"

#include <math.h>
#include <stdio.h>

const char *tc_margin_text(tc_arena *arena, const tc_tacit_facts *method) {
    if (method == NULL || method->margin.kind == TC_MARGIN_NONE)
        return NULL;
    return method->margin.kind == TC_MARGIN_AUTO ? tc_arena_format(arena, "auto, for %g", method->margin.probability)
                                                 : tc_arena_format(arena, "%g", method->margin.amount);
}

void tc_margin_json(const tc_tacit_facts *method, tc_json *json) {
    if (method == NULL || method->margin.kind == TC_MARGIN_NONE) {
        tc_json_null(json, "margin");
        return;
    }
    bool given = method->margin.kind == TC_MARGIN_GIVEN;
    tc_json_open_object(json, "margin");
    tc_json_string(json, "kind", given ? "given" : "auto");
    tc_json_number(json, given ? "amount" : "probability", given ? method->margin.amount : method->margin.probability);
    if (!given)
        tc_json_bool(json, "moves", method->moves);
    tc_json_close_object(json);
}

const char *tc_radius_origin_name(tc_radius_origin origin) {
    switch (origin) {
    case TC_RADIUS_GIVEN:
        return "given";
    case TC_RADIUS_GAPS:
        return "gaps";
    case TC_RADIUS_PRIVATE:
        return "private";
    case TC_RADIUS_NONE:
        break;
    }
    return "none";
}

const char *tc_radius_promises(const tc_model *model) {
    return tc_equality_count(model) > 0 ? "'gap' and 'slater ... within r'" : "'gap' and 'slater'";
}

/* ---- which constraints hold ---- */

enum { NAMED_ROWS = 3 };

/* "2,020"; "0.0314" */
static const char *number_words(tc_arena *arena, double value, int digits) {
    char text[32];
    if (!(fabs(value) >= 1000 && fabs(value) < 1e15))
        return tc_arena_format(arena, "%.*g", digits, value);
    int length = snprintf(text, sizeof text, "%.0f", fabs(value));
    tc_buffer out = tc_buffer_new(arena, 64);
    tc_buffer_puts(&out, value < 0 ? "-" : "");
    for (int i = 0; i < length; i++)
        tc_buffer_printf(&out, i > 0 && (length - i) % 3 == 0 ? ",%c" : "%c", text[i]);
    return tc_buffer_text(&out);
}

/* What a row is compared with where that is a number: E <= L is E - L, and E >= L is L - E. */
typedef struct row_limit {
    double value; /* NAN where there is none */
    bool is_least;
} row_limit;

static row_limit limit_of(const tc_model *model, const tc_constraint *constraint) {
    const tc_node *outer = tc_node_of(model->dag, constraint->outer);
    if (outer->op != TC_SUB)
        return (row_limit){.value = NAN};
    const tc_node *a = tc_node_of(model->dag, outer->a), *b = tc_node_of(model->dag, outer->b);
    if (b->op == TC_CONST)
        return (row_limit){.value = b->u.value};
    return a->op == TC_CONST ? (row_limit){.value = a->u.value, .is_least = true} : (row_limit){.value = NAN};
}

/* How far a row is from holding; 0 where it does, up to rounding. */
static double excess_of(const tc_model *model, size_t j, const double *values) {
    const tc_constraint *row = &model->constraints[j];
    double amount = row->is_equality ? fabs(values[j]) : values[j], limit = limit_of(model, row).value;
    double dust = 1e-9 * (isnan(limit) ? 1 : fmax(1, fabs(limit)));
    return amount <= dust ? 0 : isnan(amount) ? INFINITY : amount;
}

/* "feeder[19] over by 33 of 2,020" */
static void say_row(tc_buffer *out, const tc_model *model, size_t j, double amount, const char *at_most) {
    const tc_constraint *row = &model->constraints[j];
    row_limit limit = limit_of(model, row);
    tc_buffer_printf(out, "%s %s by %s%s", row->name,
                     row->is_equality ? "off"
                     : limit.is_least ? "short"
                                      : "over",
                     at_most, number_words(out->arena, amount, 3));
    if (limit.value > 0)
        tc_buffer_printf(out, " of %s", number_words(out->arena, limit.value, 6));
}

/* The row with the largest excess among those not yet said; constraint_count where all others hold. */
static size_t next_worst(const tc_model *model, const double *values, const size_t *said, size_t count) {
    size_t worst = model->constraint_count;
    double most = 0;
    for (size_t j = 0; j < model->constraint_count; j++) {
        double excess = excess_of(model, j, values);
        bool is_new = true;
        for (size_t i = 0; i < count; i++)
            is_new = is_new && said[i] != j;
        if (is_new && excess > most) {
            most = excess;
            worst = j;
        }
    }
    return worst;
}

static void say_rows(tc_buffer *out, const tc_model *model, const double *values, const char *at_most) {
    size_t m = model->constraint_count, broken = 0, said[NAMED_ROWS];
    for (size_t j = 0; j < m; j++)
        broken += excess_of(model, j, values) != 0;
    if (broken == 0) {
        if (m == 1)
            tc_buffer_printf(out, "%s holds", model->constraints[0].name);
        else
            tc_buffer_printf(out, "all %zu constraints hold", m);
        return;
    }
    size_t named = broken < NAMED_ROWS ? broken : NAMED_ROWS;
    for (size_t i = 0; i < named; i++) {
        said[i] = next_worst(model, values, said, i);
        tc_buffer_puts(out, i == 0 ? "" : i + 1 == broken ? " and " : ", ");
        say_row(out, model, said[i], excess_of(model, said[i], values), at_most);
    }
    if (broken > named)
        tc_buffer_printf(out, " and %zu other%s by less", broken - named, broken - named == 1 ? "" : "s");
    if (m > broken)
        tc_buffer_printf(out, "; %s", m - broken == 1 ? "the other one holds" : "all others hold");
}

enum { LONGEST_ROWS = 1 << 16 };

const char *tc_rows_sentence(tc_arena *arena, const tc_model *model, const double *constraints) {
    tc_buffer out = tc_buffer_new(arena, LONGEST_ROWS);
    say_rows(&out, model, constraints, "");
    return tc_buffer_text(&out);
}

const char *tc_feasibility_sentence(tc_arena *arena, const tc_model *model, const tc_feasibility *found) {
    tc_buffer out = tc_buffer_new(arena, LONGEST_ROWS);
    say_rows(&out, model, found->bounds, "at most ");
    if (found->is_certain)
        tc_buffer_puts(&out, ", with certainty");
    else
        tc_buffer_printf(&out, ", with probability %g%s", found->probability,
                         found->is_exact ? "" : " (to second order in the averaged noise)");
    if (found->move > 0)
        tc_buffer_printf(&out, "; for that the result was moved %.3g %% of the way to the declared Slater point",
                         100 * found->move);
    return tc_buffer_text(&out);
}

void tc_feasibility_json(tc_json *json, const tc_model *model, const tc_feasibility *found) {
    if (found == NULL || !(found->probability > 0)) {
        tc_json_null(json, "feasibility");
        return;
    }
    tc_json_open_object(json, "feasibility");
    tc_json_string(json, "sentence", tc_feasibility_sentence(json->out->arena, model, found));
    tc_json_number(json, "probability", found->probability);
    tc_json_bool(json, "shown", found->shown);
    tc_json_bool(json, "exact", found->is_exact);
    tc_json_bool(json, "certain", found->is_certain);
    tc_json_number(json, "move", found->move);
    tc_json_numbers(json, "bounds", found->bounds, model->constraint_count);
    tc_json_close_object(json);
}

void tc_result_card(const tc_card *card, bool whole, tc_buffer *out) {
    if (card == NULL)
        return;
    tc_buffer_puts(out, "\n");
    if (whole)
        tc_card_text(card, out);
    else
        tc_card_short(card, "In short; the whole card: tacit plan, or --card.", out);
}
