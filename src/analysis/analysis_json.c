/* The analysis as JSON: the keys that docs and scripts rely on, and more. */
#include "analysis/analysis.h"
#include "analysis/warnings.h"

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

static void write_assumption(tc_json *json, const char *key, const tc_assumption *a) {
    tc_json_open_object(json, key);
    if (a->verdict == TC_ELSEWHERE)
        tc_json_null(json, "holds");
    else
        tc_json_bool(json, "holds", a->verdict == TC_HOLDS);
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
static void write_agent_point(tc_json *json, const tc_family *family, size_t member, const double *x) {
    double *states = TC_NEW(json->out->arena, double, family->dim + 1);
    for (size_t c = 0; c < family->dim; c++)
        states[c] = x[tc_coord_of(family, member, c)];
    tc_json_numbers(json, agent_name(json, family, member), states, family->dim);
}

static void write_point(tc_json *json, const char *key, const tc_model *model, const double *x) {
    tc_json_open_object(json, key);
    for (size_t f = 0; f < model->family_count; f++) {
        for (size_t k = 0; k < model->families[f].count; k++)
            write_agent_point(json, &model->families[f], k, x);
    }
    tc_json_close_object(json);
}

static void write_witness(tc_json *json, const tc_analysis *a, const tc_witness *witness, size_t most_states) {
    const tc_model *model = a->model;
    if (witness->count == 0)
        return;
    if (witness->coords == NULL) {
        if (a->print_all_points || model->state_count <= most_states)
            write_point(json, "attained_at", model, witness->values);
        return;
    }
    const tc_family *family = tc_family_of_coord(model, witness->coords[0]);
    tc_json_open_object(json, "attained_at");
    tc_json_numbers(json, agent_name(json, family, (witness->coords[0] - family->first_coord) % family->count),
                    witness->values, witness->count);
    tc_json_close_object(json);
}

static void write_bracket(tc_json *json, const char *key, const tc_analysis *a, const tc_bracket *b,
                          size_t witness_states) {
    tc_json_open_object(json, key);
    tc_json_number(json, "lower", b->lower);
    tc_json_number(json, "upper", b->upper);
    if (tc_declared(b)) {
        tc_json_number(json, "declared", b->declared);
        tc_json_bool(json, "declared_too_small", tc_declared_too_small(b));
        tc_json_bool(json, "declared_certified", b->declared >= b->upper);
    }
    write_witness(json, a, &b->witness, witness_states);
    tc_json_close_object(json);
}

static void write_row_head(tc_json *json, const tc_analysis *a, const tc_agent_constants *row, bool worst) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "agent", tc_row_name(json->out->arena, a, row));
    if (a->by_family) {
        tc_json_count(json, "agents", row->agents);
        if (worst)
            tc_json_string(json, "worst", agent_name(json, row->family, row->member));
    }
}

static void write_lipschitz(tc_json *json, const tc_analysis *a) {
    bool few = a->print_all_points || a->agent_rows <= FEW_AGENTS;
    tc_json_open_object(json, "lipschitz");
    tc_json_open_object(json, "g");
    write_bracket(json, "l1", a, &a->g[0], FEW_STATES);
    write_bracket(json, "l2", a, &a->g[1], FEW_STATES);
    tc_json_close_object(json);
    tc_json_open_array(json, "jacobian");
    for (size_t r = 0; r < a->agent_rows; r++) {
        write_row_head(json, a, &a->agents[r], true);
        write_bracket(json, "l1", a, &a->agents[r].jacobian[0], few ? FEW_WITNESS_STATES : 0);
        write_bracket(json, "l2", a, &a->agents[r].jacobian[1], few ? FEW_WITNESS_STATES : 0);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    tc_json_open_array(json, "objective");
    for (size_t r = 0; a->model->role != TC_ROLE_CLOUD && r < a->agent_rows; r++) {
        write_row_head(json, a, &a->agents[r], false); /* the point names the member */
        write_bracket(json, "gradient", a, &a->agents[r].objective, FEW_WITNESS_STATES);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    tc_json_close_object(json);
}

static void write_counts(tc_json *json, const tc_constancy *c) {
    tc_json_count(json, "zeros", c->zeros);
    tc_json_count(json, "constants", c->constants);
    tc_json_count(json, "varying", c->varying);
}

static void write_constancy(tc_json *json, const tc_analysis *a) {
    tc_json_open_object(json, "jacobian_entries");
    write_counts(json, &a->total);
    tc_json_open_array(json, "by_constraint");
    for (size_t j = 0; j < a->model->constraint_count && (j < FEW_AGENTS || a->print_all_points); j++) {
        tc_json_open_object(json, NULL);
        tc_json_string(json, "constraint", a->model->constraints[j].name);
        write_counts(json, &a->rows[j]);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    tc_json_close_object(json);
}

static void write_slater(tc_json *json, const tc_analysis *a) {
    const tc_slater_facts *s = &a->slater_facts;
    tc_json_open_object(json, "slater");
    if (s->point == NULL)
        tc_json_null(json, "point");
    else if (a->print_all_points || a->model->agent_count <= FEW_AGENTS)
        write_point(json, "point", a->model, s->point);
    else {
        tc_json_open_object(json, "point"); /* one member of each family; all with --full */
        for (size_t f = 0; f < a->model->family_count; f++)
            write_agent_point(json, &a->model->families[f], 0, s->point);
        tc_json_close_object(json);
        tc_json_bool(json, "point_is_sample", true);
    }
    tc_json_number(json, "margin", s->margin);
    tc_json_string(json, "origin",
                   s->origin == TC_POINT_DECLARED ? "declared"
                   : s->origin == TC_POINT_FOUND  ? "found"
                                                  : NULL);
    if (s->origin != TC_POINT_NONE && a->model->constraint_count > 0)
        tc_json_string(json, "deciding_constraint", a->model->constraints[s->worst].name);
    if (s->declared)
        tc_json_number(json, "declared_margin", s->declared_margin);
    tc_json_close_object(json);
}

static void write_dual(tc_json *json, const tc_analysis *a) {
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

void tc_analysis_json(const tc_analysis *a, tc_json *json) {
    static const char *const roles[] = {
        [TC_ROLE_WHOLE] = "whole", [TC_ROLE_CLOUD] = "cloud", [TC_ROLE_AGENT] = "agent"};
    tc_json_string(json, "role", roles[a->model->role]);
    tc_json_count(json, "agents", a->model->agent_count);
    tc_json_count(json, "states", a->model->state_count);
    tc_json_count(json, "constraints", a->model->constraint_count);
    tc_json_bool(json, "holds", tc_analysis_holds(a));
    tc_json_open_object(json, "assumptions");
    write_assumption(json, "objectives", &a->objectives);
    write_assumption(json, "sets", &a->sets);
    write_assumption(json, "constraints", &a->constraints);
    write_assumption(json, "slater", &a->slater);
    tc_json_close_object(json);
    write_lipschitz(json, a);
    write_constancy(json, a);
    write_slater(json, a);
    write_dual(json, a);
    tc_json_open_array(json, "warnings");
    for (size_t i = 0; i < a->warning_count; i++)
        tc_json_string(json, NULL, a->warnings[i]);
    tc_json_close_array(json);
    if (a->interrupted)
        tc_json_bool(json, "interrupted", true);
}
