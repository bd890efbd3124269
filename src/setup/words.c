#include "setup/setup.h"

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

/* The row with the largest bound, among the equalities or among the others; constraint_count where there is none. */
static size_t largest_bound(const tc_model *model, const tc_feasibility *found, bool of_equalities) {
    size_t worst = model->constraint_count;
    for (size_t j = 0; j < model->constraint_count; j++) {
        if (model->constraints[j].is_equality != of_equalities)
            continue;
        if (worst == model->constraint_count || found->bounds[j] > found->bounds[worst])
            worst = j;
    }
    return worst;
}

/* "inequalities" where there are equalities too. */
static const char *inequalities_sentence(tc_arena *arena, const tc_model *model, const tc_feasibility *found,
                                         size_t worst, const char *how) {
    const char *what = tc_equality_count(model) > 0 ? "inequalities" : "constraints";
    return found->shown
               ? tc_arena_format(arena,
                                 "What was released shows that the result satisfies all %s, with "
                                 "probability %g%s.",
                                 what, found->probability, how)
               : tc_arena_format(arena,
                                 "What was released does not show that the result satisfies all %s: "
                                 "with probability %g%s each is at most its bound, and that of %s is %.4g.",
                                 what, found->probability, how, model->constraints[worst].name, found->bounds[worst]);
}

const char *tc_feasibility_sentence(tc_arena *arena, const tc_model *model, const tc_feasibility *found) {
    const char *how = found->is_exact ? "" : " (to second order in the averaged noise)";
    size_t m = model->constraint_count, worst = largest_bound(model, found, false);
    size_t widest = largest_bound(model, found, true);
    const char *first = worst < m ? inequalities_sentence(arena, model, found, worst, how) : "";
    if (widest == m)
        return first;
    const char *name = model->constraints[widest].name;
    return worst < m
               ? tc_arena_format(arena,
                                 "%s With the same probability, both together, every equality holds to within its "
                                 "tolerance, and that of %s, the widest, is %.4g.",
                                 first, name, found->bounds[widest])
               : tc_arena_format(arena,
                                 "What was released shows that the result keeps every equality to within its "
                                 "tolerance, with probability %g; that of %s%s is %.4g.",
                                 found->probability, name, m > 1 ? ", the widest," : "", found->bounds[widest]);
}

void tc_feasibility_json(tc_json *json, const tc_feasibility *found, size_t m) {
    if (found == NULL || !(found->probability > 0)) {
        tc_json_null(json, "feasibility");
        return;
    }
    tc_json_open_object(json, "feasibility");
    tc_json_number(json, "probability", found->probability);
    tc_json_bool(json, "shown", found->shown);
    tc_json_bool(json, "exact", found->is_exact);
    tc_json_numbers(json, "bounds", found->bounds, m);
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
