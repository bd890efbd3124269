/* The analysis as JSON for programs and as text for people. */
#include "analysis/analysis.h"

#include "analysis/data/data.h"
#include "analysis/steps.h"
#include "base/text.h"
#include "analysis/region.h"
#include "model/spread.h"

#include <stdio.h>
#include <string.h>

/* ---- JSON ---- */

enum { FEW_AGENTS = 1000, FEW_STATES = 2000, FEW_WITNESS_STATES = 200 };

static const char *verdict_name(tc_verdict verdict) {
    switch (verdict) {
    case TC_HOLDS:
        return "holds";
    case TC_FAILS:
        return "fails";
    case TC_UNPROVED:
        return "unproved";
    case TC_ELSEWHERE:
        return "held_elsewhere";
    }
    return "unproved";
}

static void json_verdict(tc_json *json, const char *key, tc_verdict verdict) {
    if (verdict == TC_ELSEWHERE)
        tc_json_null(json, key);
    else
        tc_json_bool(json, key, verdict == TC_HOLDS);
}

/* of: the objectives' own analysis, whose verdict has two parts; NULL for another assumption. */
static void json_assumption(tc_json *json, const char *key, const tc_assumption *a, const tc_analysis *of) {
    tc_json_open_object(json, key);
    json_verdict(json, "holds", a->verdict);
    if (of != NULL) {
        json_verdict(json, "convex", of->convexity);
        json_verdict(json, "smooth", of->smoothness.verdict);
    }
    tc_json_string(json, "verdict", verdict_name(a->verdict));
    tc_json_string(json, "summary", a->summary);
    tc_json_open_array(json, "reasons");
    for (size_t i = 0; i < a->finding_count; i++) {
        const tc_finding *finding = &a->findings[i];
        tc_json_open_object(json, NULL);
        tc_json_string(json, "verdict", verdict_name(finding->verdict));
        tc_json_string(json, "place", finding->place);
        tc_json_string(json, "expression", finding->expression);
        tc_json_string(json, "text", finding->text);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    if (a->findings_left_out > 0)
        tc_json_count(json, "reasons_left_out", a->findings_left_out);
    tc_json_close_object(json);
}

static const char *agent_name(tc_json *json, const tc_family *family, size_t member) {
    tc_buffer name = tc_buffer_new(json->out->arena, 4096);
    tc_agent_name(&name, family, member);
    return tc_buffer_text(&name);
}

/* agent name -> its states, for all agents or those of one family's member. */
static void json_agent_point(tc_json *json, const tc_family *family, size_t member, const double *x) {
    double *states = TC_NEW(json->out->arena, double, family->dim + 1);
    for (size_t c = 0; c < family->dim; c++)
        states[c] = x[tc_coord_of(family, member, c)];
    tc_json_numbers(json, agent_name(json, family, member), states, family->dim);
}

static void json_point(tc_json *json, const char *key, const tc_model *model, const double *x) {
    tc_json_open_object(json, key);
    for (size_t f = 0; f < model->family_count; f++) {
        for (size_t k = 0; k < model->families[f].count; k++)
            json_agent_point(json, &model->families[f], k, x);
    }
    tc_json_close_object(json);
}

static void json_witness(tc_json *json, const tc_analysis *a, const tc_witness *witness, size_t most_states) {
    const tc_model *model = a->model;
    if (witness->count == 0)
        return;
    if (witness->coords == NULL) {
        if (a->print_all_points || model->state_count <= most_states)
            json_point(json, "attained_at", model, witness->values);
        return;
    }
    const tc_family *family = tc_family_of_coord(model, witness->coords[0]);
    tc_json_open_object(json, "attained_at");
    tc_json_numbers(json, agent_name(json, family, (witness->coords[0] - family->first_coord) % family->count),
                    witness->values, witness->count);
    tc_json_close_object(json);
}

static void json_bracket(tc_json *json, const char *key, const tc_analysis *a, const tc_bracket *b,
                         size_t witness_states) {
    tc_json_open_object(json, key);
    tc_json_number(json, "lower", b->lower);
    tc_json_number(json, "upper", b->upper);
    if (tc_declared(b)) {
        tc_json_number(json, "declared", b->declared);
        tc_json_bool(json, "declared_too_small", tc_declared_too_small(b));
        tc_json_bool(json, "declared_certified", b->declared >= b->upper);
    }
    json_witness(json, a, &b->witness, witness_states);
    tc_json_close_object(json);
}

static void json_row_head(tc_json *json, const tc_analysis *a, const tc_agent_constants *row, bool worst) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "agent", tc_row_name(json->out->arena, a, row));
    if (a->by_family) {
        tc_json_count(json, "agents", row->agents);
        if (worst)
            tc_json_string(json, "worst", agent_name(json, row->family, row->member));
    }
}

static void json_lipschitz(tc_json *json, const tc_analysis *a) {
    bool few = a->print_all_points || a->agent_rows <= FEW_AGENTS;
    tc_json_open_object(json, "lipschitz");
    tc_json_open_object(json, "g");
    json_bracket(json, "l1", a, &a->g[0], FEW_STATES);
    json_bracket(json, "l2", a, &a->g[1], FEW_STATES);
    tc_json_close_object(json);
    tc_json_open_array(json, "jacobian");
    for (size_t r = 0; r < a->agent_rows; r++) {
        json_row_head(json, a, &a->agents[r], true);
        json_bracket(json, "l1", a, &a->agents[r].jacobian[0], few ? FEW_WITNESS_STATES : 0);
        json_bracket(json, "l2", a, &a->agents[r].jacobian[1], few ? FEW_WITNESS_STATES : 0);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    tc_json_open_array(json, "objective");
    for (size_t r = 0; a->model->role != TC_ROLE_CLOUD && r < a->agent_rows; r++) {
        json_row_head(json, a, &a->agents[r], false); /* the point names the member */
        json_bracket(json, "gradient", a, &a->agents[r].objective, FEW_WITNESS_STATES);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    tc_json_close_object(json);
}

static void json_counts(tc_json *json, const tc_constancy *c) {
    tc_json_count(json, "zeros", c->zeros);
    tc_json_count(json, "constants", c->constants);
    tc_json_count(json, "varying", c->varying);
}

static void json_constancy(tc_json *json, const tc_analysis *a) {
    tc_json_open_object(json, "jacobian_entries");
    json_counts(json, &a->total);
    tc_json_open_array(json, "by_constraint");
    for (size_t j = 0; j < a->model->constraint_count && (j < FEW_AGENTS || a->print_all_points); j++) {
        tc_json_open_object(json, NULL);
        tc_json_string(json, "constraint", a->model->constraints[j].name);
        json_counts(json, &a->rows[j]);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    tc_json_close_object(json);
}

static void json_slater(tc_json *json, const tc_analysis *a) {
    const tc_slater_facts *s = &a->slater_facts;
    tc_json_open_object(json, "slater");
    if (s->point == NULL)
        tc_json_null(json, "point");
    else if (a->print_all_points || a->model->agent_count <= FEW_AGENTS)
        json_point(json, "point", a->model, s->point);
    else {
        tc_json_open_object(json, "point"); /* one member of each family; all with --full */
        for (size_t f = 0; f < a->model->family_count; f++)
            json_agent_point(json, &a->model->families[f], 0, s->point);
        tc_json_close_object(json);
        tc_json_bool(json, "point_is_sample", true);
    }
    tc_json_number(json, "margin", s->margin);
    tc_json_string(json, "origin",
                   s->origin == TC_POINT_DECLARED ? "declared"
                   : s->origin == TC_POINT_FOUND  ? "found"
                                                  : NULL);
    if (s->origin != TC_POINT_NONE && s->margin < INFINITY)
        tc_json_string(json, "deciding_constraint", a->model->constraints[s->worst].name);
    if (s->declared)
        tc_json_number(json, "declared_margin", s->declared_margin);
    if (s->equalities > 0) {
        tc_json_count(json, "independent_equalities", s->independent);
        tc_json_number(json, "largest_equality_error", s->point == NULL ? NAN : s->missed);
    }
    if (s->has_room || s->equalities > 0)
        tc_json_bool(json, "has_room", s->has_room);
    tc_json_close_object(json);
}

static void json_dual(tc_json *json, const tc_analysis *a) {
    static const char *const origins[] = {[TC_RADIUS_NONE] = NULL,
                                          [TC_RADIUS_GIVEN] = "given",
                                          [TC_RADIUS_GAPS] = "gaps",
                                          [TC_RADIUS_PRIVATE] = "private_data"};
    const tc_dual_radius *r = &a->dual_radius;
    tc_json_number(json, "dual_radius", r->value);
    tc_json_open_object(json, "dual_radius_sources");
    tc_json_string(json, "origin", origins[r->origin]);
    tc_json_bool(json, "is_public", r->origin == TC_RADIUS_GIVEN || r->origin == TC_RADIUS_GAPS);
    tc_json_number(json, "given", a->model->dual_radius);
    tc_json_number(json, "from_gaps", r->from_gaps);
    tc_json_number(json, "from_private_data", r->from_data);
    tc_json_close_object(json);
    tc_json_open_object(json, "minimum");
    tc_json_number(json, "lower", a->minimum_lower);
    tc_json_number(json, "upper", a->minimum_upper);
    tc_json_close_object(json);
}

/* ---- public sets ---- */

static bool has_public_set(const tc_model *model) {
    bool found = false;
    for (size_t f = 0; f < model->family_count; f++)
        found = found || tc_public_set(&model->families[f]) != NULL;
    return found;
}

/* "sum(p) <= 45" of "public set sum(p) <= 45" */
static const char *public_set_text(tc_arena *arena, const tc_model *model, const tc_set_piece *set) {
    tc_buffer text = tc_buffer_new(arena, 1 << 12);
    tc_span_text(&text, &model->source, set->span);
    const char *whole = tc_buffer_text(&text), *relation = strstr(whole, "set ");
    return relation != NULL ? relation + strlen("set ") : whole;
}

static void json_public_sets(tc_json *json, const tc_model *model) {
    if (!has_public_set(model))
        return;
    tc_json_open_object(json, "public_sets");
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_set_piece *set = tc_public_set(&model->families[f]);
        if (set != NULL)
            tc_json_string(json, model->families[f].name, public_set_text(json->out->arena, model, set));
    }
    tc_json_close_object(json);
}

void tc_analysis_json(const tc_analysis *a, tc_json *json) {
    static const char *const roles[] = {
        [TC_ROLE_WHOLE] = "whole", [TC_ROLE_CLOUD] = "cloud", [TC_ROLE_AGENT] = "agent"};
    tc_json_string(json, "role", roles[a->model->role]);
    tc_json_count(json, "agents", a->model->agent_count);
    tc_json_count(json, "states", a->model->state_count);
    tc_json_count(json, "constraints", a->model->constraint_count);
    if (tc_equality_count(a->model) > 0)
        tc_json_count(json, "equalities", tc_equality_count(a->model));
    tc_json_bool(json, "holds", tc_analysis_holds(a));
    tc_json_open_object(json, "assumptions");
    json_assumption(json, "objectives", &a->objectives, a);
    json_assumption(json, "sets", &a->sets, NULL);
    json_assumption(json, "constraints", &a->constraints, NULL);
    json_assumption(json, "slater", &a->slater, NULL);
    tc_json_close_object(json);
    json_public_sets(json, a->model);
    tc_data_json(a->model, json);
    json_lipschitz(json, a);
    json_constancy(json, a);
    json_slater(json, a);
    json_dual(json, a);
    tc_json_open_array(json, "warnings");
    for (size_t i = 0; i < a->warning_count; i++)
        tc_json_string(json, NULL, a->warnings[i]);
    tc_json_close_array(json);
    if (a->interrupted)
        tc_json_bool(json, "interrupted", true);
}

/* ---- text ---- */

enum { SHOWN_ROWS = 24, SHOWN_AGENTS = TC_FIRST_MEMBERS, SHOWN_STATES = 8, FINDING_INDENT = 6, DIGITS = 7 };

typedef struct analysis_text {
    tc_text_layout layout;
    tc_buffer *out;
    const tc_analysis *analysis;
} analysis_text;

static void paragraph(analysis_text *p, size_t indent, const char *text) {
    tc_layout_paragraph(&p->layout, indent, text);
}

/* JSON is not cut where there are few agents. */
static const char *how_to_see_all(const analysis_text *p) {
    return p->analysis->by_family ? "--full shows all" : "--full or --json shows all";
}

static void text_head(analysis_text *p) {
    const tc_model *m = p->analysis->model;
    static const char *const roles[] = {
        [TC_ROLE_WHOLE] = "", [TC_ROLE_CLOUD] = " (the cloud's file)", [TC_ROLE_AGENT] = " (an agent's file)"};
    tc_buffer_printf(p->out, "%s%s: %zu agent%s, %zu state%s, %zu constraint%s",
                     m->source.path != NULL ? m->source.path : "problem", roles[m->role], m->agent_count,
                     tc_plural(m->agent_count), m->state_count, tc_plural(m->state_count), m->constraint_count,
                     tc_plural(m->constraint_count));
    size_t equalities = tc_equality_count(m);
    if (equalities > 0)
        tc_buffer_printf(p->out, " (%zu equalit%s)", equalities, equalities == 1 ? "y" : "ies");
    tc_buffer_puts(p->out, "\n\n");
}

static void text_assumption(analysis_text *p, int number, const char *name, const tc_assumption *a) {
    static const char *const words[] = {
        [TC_HOLDS] = "yes", [TC_FAILS] = "NO", [TC_UNPROVED] = "NOT PROVED", [TC_ELSEWHERE] = "--"};
    tc_buffer_printf(p->out, "  %d  %-12s %-4s ", number, name, words[a->verdict]);
    size_t length = strlen(words[a->verdict]), indent = 5 + 13 + (length > 4 ? length : 4) + 1;
    tc_layout_wrap(&p->layout, a->summary, indent, indent);
    for (size_t i = 0; i < a->finding_count; i++) {
        const tc_finding *f = &a->findings[i];
        if (f->place != NULL) {
            tc_buffer_printf(p->out, "%*s", FINDING_INDENT, "");
            tc_layout_wrap(&p->layout, tc_arena_format(p->out->arena, "%s: %s", f->place, f->expression),
                           FINDING_INDENT + 4, FINDING_INDENT);
        }
        paragraph(p, f->place != NULL ? FINDING_INDENT + 2 : FINDING_INDENT, f->text);
    }
    if (a->findings_left_out > 0)
        tc_buffer_printf(p->out, "%*s... and %zu more\n", FINDING_INDENT, "", a->findings_left_out);
}

static void table_line(analysis_text *p, const char *name, const char *one, const char *two, const char *three) {
    tc_layout_line(&p->layout, name, (const char *const[]){one, two, three});
}

/* [lower, upper], rounded outward, or the one number that it is, in as many digits as a cell has room for. */
static void shown_bracket(char text[80], const tc_bracket *b) {
    char lower[32], upper[32];
    bool one = b->upper <= b->lower * (1 + 1e-9) || b->upper == b->lower;
    for (int digits = DIGITS; digits > 0; digits--) {
        if (one)
            (void)snprintf(text, 80, "%s", tc_shown(upper, b->upper, 0, digits));
        else
            (void)snprintf(text, 80, "[%s, %s]", tc_shown(lower, b->lower, -1, digits),
                           tc_shown(upper, b->upper, 1, digits));
        if (strlen(text) <= TC_CELL_WIDTH)
            break;
    }
}

/* "2.5 ok", or what is wrong with a declared constant; "" where there is none. */
static void shown_declared(char text[80], const tc_bracket *b) {
    char number[32];
    text[0] = '\0';
    for (int digits = DIGITS; tc_declared(b) && digits > 2; digits--) {
        (void)snprintf(text, 80, "%s %s", tc_shown(number, b->declared, 0, digits),
                       tc_declared_too_small(b)     ? "TOO SMALL"
                       : tc_declared_uncertified(b) ? "uncertified"
                                                    : "ok");
        if (strlen(text) <= TC_CELL_WIDTH)
            break;
    }
}

/* Brackets that are NULL take no column. */
static void table_row(analysis_text *p, const char *name, const tc_bracket *one, const tc_bracket *two,
                      const tc_bracket *three) {
    char text[3][80] = {"", "", ""}, declared[3][80] = {"", "", ""};
    const tc_bracket *brackets[] = {one, two, three};
    bool any = false;
    for (int i = 0, cell = 0; i < 3; i++) {
        if (brackets[i] == NULL)
            continue;
        shown_bracket(text[cell], brackets[i]);
        shown_declared(declared[cell], brackets[i]);
        any = any || declared[cell][0] != '\0';
        cell++;
    }
    if (tc_text_width(name, strlen(name)) > TC_NAME_WIDTH) {
        table_line(p, name, "", "", "");
        name = "";
    }
    table_line(p, name, text[0], text[1], text[2]);
    if (any)
        table_line(p, "  declared", declared[0], declared[1], declared[2]);
}

static bool same_bracket(const tc_bracket *x, const tc_bracket *y) {
    return x->lower == y->lower && x->upper == y->upper &&
           (x->declared == y->declared || (!tc_declared(x) && !tc_declared(y)));
}

static bool same_row(const tc_agent_constants *x, const tc_agent_constants *y) {
    return x->family == y->family && same_bracket(&x->jacobian[0], &y->jacobian[0]) &&
           same_bracket(&x->jacobian[1], &y->jacobian[1]) && same_bracket(&x->objective, &y->objective);
}

/* "bo .. kit"; on two lines where it is long. */
static const char *range_name(analysis_text *p, const tc_agent_constants *from, const tc_agent_constants *to) {
    tc_arena *arena = p->out->arena;
    const char *first = tc_row_name(arena, p->analysis, from), *last = tc_row_name(arena, p->analysis, to);
    if (tc_text_width(first, strlen(first)) + tc_text_width(last, strlen(last)) + 4 <= TC_NAME_WIDTH)
        return tc_arena_format(arena, "%s .. %s", first, last);
    table_line(p, tc_arena_format(arena, "%s ..", first), "", "", "");
    return tc_arena_format(arena, "  %s", last);
}

static void text_rows(analysis_text *p) {
    const tc_analysis *a = p->analysis;
    bool objectives = a->model->role != TC_ROLE_CLOUD, blocks = a->model->constraint_count > 0;
    size_t lines = 0;
    for (size_t r = 0; r < a->agent_rows;) {
        size_t end = r + 1;
        while (end < a->agent_rows && same_row(&a->agents[r], &a->agents[end]))
            end++;
        if (lines++ == SHOWN_ROWS && !a->print_all_points) {
            size_t left = a->agent_rows - r;
            tc_buffer_printf(p->out, "  ... and %zu more %s%s (%s)\n", left, a->by_family ? "row" : "agent",
                             tc_plural(left), how_to_see_all(p));
            return;
        }
        const tc_agent_constants *row = &a->agents[r];
        const char *name = tc_row_name(p->out->arena, a, row);
        if (end - r > 1)
            name = range_name(p, row, &a->agents[end - 1]);
        table_row(p, name, blocks ? &row->jacobian[0] : NULL, blocks ? &row->jacobian[1] : NULL,
                  objectives ? &row->objective : NULL);
        r = end;
    }
}

static void text_entries(analysis_text *p) {
    const tc_constancy *c = &p->analysis->total;
    paragraph(p, 2,
              tc_arena_format(
                  p->out->arena, "The Jacobian has %llu %s, %llu that %s constant and %llu that %s zero by structure.",
                  (unsigned long long)c->varying, c->varying == 1 ? "entry that varies" : "entries that vary",
                  (unsigned long long)c->constants, c->constants == 1 ? "is" : "are", (unsigned long long)c->zeros,
                  c->zeros == 1 ? "is" : "are"));
}

static void text_constants(analysis_text *p) {
    const tc_analysis *a = p->analysis;
    bool objectives = a->model->role != TC_ROLE_CLOUD, blocks = a->model->constraint_count > 0;
    if (!objectives && !blocks)
        return;
    tc_buffer_puts(p->out, "\nLipschitz constants over the public box, proved\n");
    if (blocks) {
        table_line(p, "g", "K^g_1 (l1)", "K^g_2 (l2)", "");
        table_row(p, "", &a->g[0], &a->g[1], NULL);
        table_line(p, "each agent", "K^i_1 of g_{x_i}", "K^i_2 of g_{x_i}", objectives ? "L_i of grad f_i" : "");
    } else {
        table_line(p, "each agent", "L_i of grad f_i", "", "");
    }
    text_rows(p);
    if (blocks)
        text_entries(p);
}

/* Shows rounding of the search, below 1e-9 of the box, as zero. */
static double shown_state(const tc_slater_facts *facts, const tc_family *family, size_t member, size_t component) {
    size_t coord = tc_coord_of(family, member, component);
    double value = facts->point[coord];
    if (tc_is_known(family, member)) {
        tc_interval range = tc_public_range(family, member, component);
        return fabs(value) <= 1e-9 * (range.hi - range.lo) ? 0 : value;
    }
    return fabs(value) <= 1e-9 * facts->widths[coord] ? 0 : value;
}

static void text_point(analysis_text *p) {
    const tc_analysis *a = p->analysis;
    char number[32];
    size_t most = a->print_all_points ? SIZE_MAX : SHOWN_AGENTS, states = a->print_all_points ? SIZE_MAX : SHOWN_STATES;
    size_t done = 0;
    bool cut = false;
    for (size_t f = 0; f < a->model->family_count && done < most; f++) {
        const tc_family *family = &a->model->families[f];
        for (size_t k = 0; k < family->count && done < most; k++, done++) {
            tc_buffer line = tc_buffer_new(p->out->arena, SIZE_MAX / 4);
            tc_agent_name(&line, family, k);
            tc_buffer_puts(&line, " =");
            for (size_t c = 0; c < family->dim && c < states; c++)
                tc_buffer_printf(&line, " %s", tc_short_number(number, shown_state(&a->slater_facts, family, k, c)));
            cut = cut || family->dim > states;
            tc_buffer_puts(&line, family->dim > states ? " ..." : "");
            paragraph(p, 4, tc_buffer_text(&line));
        }
    }
    size_t left = a->model->agent_count - done;
    if (left > 0)
        tc_buffer_printf(p->out, "    ... and %zu more agent%s (%s)\n", left, tc_plural(left), how_to_see_all(p));
    else if (cut)
        tc_buffer_printf(p->out, "    (%s)\n", how_to_see_all(p));
}

static void text_equalities(analysis_text *p, bool strict) {
    const tc_slater_facts *s = &p->analysis->slater_facts;
    char number[32];
    const char *which = s->origin == TC_POINT_DECLARED ? "The declared point" : "A point that was found";
    if (s->missed > 0 || !strict)
        paragraph(p, 2,
                  tc_arena_format(p->out->arena, "%s satisfies the equalities to within %s.", which,
                                  tc_shown(number, s->missed, 1, 2)));
    else
        paragraph(p, 2, tc_arena_format(p->out->arena, "%s satisfies the equalities exactly.", which));
    if (s->independent < s->equalities)
        paragraph(p, 2,
                  tc_arena_format(p->out->arena,
                                  "%zu of %zu equalities follow%s from the others: multipliers are those "
                                  "of least norm.",
                                  s->equalities - s->independent, s->equalities,
                                  s->equalities - s->independent == 1 ? "s" : ""));
}

static void text_slater(analysis_text *p) {
    const tc_analysis *a = p->analysis;
    const tc_slater_facts *s = &a->slater_facts;
    char number[32];
    if (s->point == NULL || (!(s->margin < INFINITY) && s->equalities == 0)) /* nothing to satisfy */
        return;
    bool strict = s->margin > 0;
    tc_buffer_puts(p->out, strict ? "\nSlater point\n" : "\nBest point found\n");
    if (s->equalities > 0)
        text_equalities(p, strict);
    if (isfinite(s->margin) || s->equalities == 0)
        paragraph(p, 2,
                  tc_arena_format(p->out->arena, "%s margin %s%s, decided by constraint %s.",
                                  !strict                          ? "It is not strictly feasible:"
                                  : s->origin == TC_POINT_DECLARED ? "The declared point with"
                                                                   : "A point with",
                                  tc_shown(number, s->margin, 0, DIGITS), strict ? " (proved)" : "",
                                  a->model->constraints[s->worst].name));
    if (s->declared && s->origin != TC_POINT_DECLARED && !(isinf(s->declared_margin) && s->equalities > 0))
        paragraph(p, 2,
                  tc_arena_format(p->out->arena, "The declared public point has margin %s.",
                                  tc_shown(number, s->declared_margin, 0, DIGITS)));
    text_point(p);
}

static void text_radius(analysis_text *p) {
    const tc_dual_radius *r = &p->analysis->dual_radius;
    char number[32], other[32];
    const tc_slater_facts *s = &p->analysis->slater_facts;
    bool lacks_room = s->equalities > 0 && isnan(r->public_value) && s->declared && s->declared_fault != NULL &&
                      p->analysis->slater.verdict == TC_HOLDS;
    if (r->origin == TC_RADIUS_NONE && !lacks_room)
        return;
    tc_buffer_puts(p->out, "\nDual radius\n");
    if (lacks_room)
        paragraph(p, 2, tc_arena_format(p->out->arena, "There is no public one. %s", s->declared_fault));
    if (r->origin == TC_RADIUS_NONE)
        return;
    if (r->origin == TC_RADIUS_PRIVATE) {
        paragraph(p, 2,
                  tc_arena_format(p->out->arena,
                                  "R = %s from private data, for study only: neither it nor a number made of it may be "
                                  "published. To run privately, give every agent a `slater` point%s and a `gap`, or "
                                  "the file a `dual radius`, chosen from what everybody may know: what any agent could "
                                  "have at stake, not what these ones have.",
                                  tc_shown(number, r->value, 0, DIGITS), s->equalities > 0 ? " with room" : ""));
        return;
    }
    paragraph(p, 2,
              tc_arena_format(p->out->arena, "R = %s, %s.", tc_shown(number, r->value, 0, DIGITS),
                              r->origin == TC_RADIUS_GIVEN ? "as the file gives it"
                              : p->analysis->slater_facts.equalities > 0
                                  ? "from the public gaps and the room around the public Slater point"
                                  : "from the public gaps and the public Slater point"));
    if (!isnan(r->from_data))
        paragraph(p, 2,
                  tc_arena_format(p->out->arena, "Private data would allow R = %s.",
                                  tc_shown(other, r->from_data, 0, DIGITS)));
}

static void text_public_sets(analysis_text *p) {
    const tc_model *model = p->analysis->model;
    if (!has_public_set(model))
        return;
    tc_buffer_puts(p->out, "\nPublic sets: kept by the agents; for the unit agent enforced by the cloud\n");
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_set_piece *set = tc_public_set(&model->families[f]);
        if (set != NULL)
            tc_buffer_printf(p->out, "  %s: %s\n", model->families[f].name, public_set_text(p->out->arena, model, set));
    }
}

void tc_analysis_text(const tc_analysis *a, tc_buffer *out, unsigned width) {
    analysis_text p = {.layout = {.out = out, .width = width != 0 ? width : 80}, .out = out, .analysis = a};
    text_head(&p);
    tc_buffer_puts(out, "Assumptions\n");
    text_assumption(&p, 1, "objectives", &a->objectives);
    text_assumption(&p, 2, "sets", &a->sets);
    text_assumption(&p, 3, "constraints", &a->constraints);
    text_assumption(&p, 4, "Slater", &a->slater);
    text_public_sets(&p);
    tc_data_text(a->model, &p.layout);
    text_constants(&p);
    text_slater(&p);
    text_radius(&p);
    if (a->warning_count > 0)
        tc_buffer_puts(out, "\nWarnings\n");
    for (size_t i = 0; i < a->warning_count; i++) {
        tc_buffer_puts(out, "  ! ");
        tc_layout_wrap(&p.layout, a->warnings[i], 4, 4);
    }
    tc_buffer_printf(out, "\n%s%s.\n", tc_analysis_holds(a) ? "All assumptions hold" : "Not all assumptions hold",
                     !tc_analysis_holds(a) || a->warning_count == 0 ? ""
                     : a->warning_count == 1                        ? ", but see the warning"
                                                                    : ", but see the warnings");
}
