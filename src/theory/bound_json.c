#include "theory/bound.h"

static void put_estimate(tc_json *json, const char *key, const tc_bound_estimate *e) {
    tc_json_open_object(json, key);
    tc_json_number(json, "expected_squared_error", e->error);
    tc_json_number(json, "expected_error", sqrt(e->error));
    tc_json_number(json, "tail", e->tail);
    tc_json_number(json, "confidence", TC_BOUND_CONFIDENCE);
    tc_json_number(json, "radius", e->radius);
    tc_json_number(json, "radius_forever", e->radius_forever);
    tc_json_number(json, "within", e->within);
    tc_json_number(json, "probability", e->probability);
    tc_json_number(json, "probability_forever", e->probability_forever);
    tc_json_close_object(json);
}

/* A round may be far beyond what is counted in integers: its power of ten stands beside it. */
static void put_round(tc_json *json, const char *key, const char *power_key, double k) {
    tc_json_number(json, key, k);
    tc_json_number(json, power_key, log10(k));
}

static void put_result(tc_json *json, const tc_bound_estimate *e) {
    put_estimate(json, "estimate", e);
    put_round(json, "valid_from", "valid_from_log10", e->valid_from);
    put_round(json, "informative_from", "informative_from_log10", e->informative_from);
    tc_json_bool(json, "vacuous", e->vacuous);
    tc_json_string(json, "because", e->because);
}

static void put_constants(tc_json *json, const tc_bound_constants *c) {
    tc_json_open_object(json, "constants");
    tc_json_number(json, "L_G", c->lipschitz);
    tc_json_number(json, "L_H", c->curvature);
    tc_json_number(json, "L_J", c->slope);
    tc_json_number(json, "L_f", c->objective_curvature);
    tc_json_number(json, "L_g", c->constraint_curvature);
    tc_json_number(json, "R", c->dual_radius);
    tc_json_number(json, "M_xi", c->reach);
    tc_json_number(json, "D_z", c->diameter);
    tc_json_number(json, "K_w", c->noise);
    tc_json_number(json, "K_w_prices", c->price_noise);
    tc_json_number(json, "K_w_constraints", c->constraint_noise);
    tc_json_close_object(json);
}

static void put_schedule(tc_json *json, const tc_schedule *s) {
    tc_json_open_object(json, "schedule");
    tc_json_number(json, "alpha_bar", s->regularization);
    tc_json_number(json, "gamma_bar", s->step);
    tc_json_number(json, "c1", s->regularization_decay);
    tc_json_number(json, "c2", s->step_decay);
    tc_json_close_object(json);
}

static void put_suggestion(tc_json *json, const tc_bound_suggestion *s) {
    if (!s->made) {
        tc_json_null(json, "suggestion");
        return;
    }
    tc_json_open_object(json, "suggestion");
    put_schedule(json, &s->schedule);
    put_result(json, &s->estimate);
    tc_json_number(json, "possible_from", s->possible_from);
    tc_json_number(json, "useful_from", s->useful_from);
    tc_json_close_object(json);
}

void tc_bound_json(const tc_bound *bound, tc_json *json) {
    tc_json_number(json, "rounds", bound->rounds);
    put_schedule(json, &bound->schedule);
    tc_json_open_array(json, "conditions");
    for (size_t i = 0; i < TC_BOUND_CONDITIONS; i++) {
        tc_json_open_object(json, NULL);
        tc_json_string(json, "name", bound->conditions[i].name);
        tc_json_string(json, "inequality", bound->conditions[i].inequality);
        tc_json_bool(json, "holds", bound->conditions[i].holds);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    tc_json_bool(json, "conditions_hold", bound->conditions_hold);
    tc_json_bool(json, "summable", bound->summable);
    tc_json_bool(json, "applies", bound->constants.problem == NULL);
    tc_json_string(json, "problem", bound->constants.problem);
    put_constants(json, &bound->constants);
    tc_json_number(json, "regularization", bound->regularization);
    tc_json_number(json, "gap", bound->gap);
    tc_json_bool(json, "outside_dual_radius", bound->outside_radius);
    put_result(json, &bound->tight);
    tc_json_open_object(json, "published");
    put_result(json, &bound->published);
    tc_json_close_object(json);
    if (bound->suggested)
        put_suggestion(json, &bound->suggestion);
}
