/* The plan as JSON, and its hash: SHA-256 of that text. Nothing in it depends on paths, spans or private data. */
#include "base/text.h"
#include "plan/account/calibrate.h"
#include "plan/plan_parts.h"
#include "plan/words.h"

#include <openssl/evp.h>
#include <stdio.h>

static void write_strings(tc_json *json, const char *key, const char *const *list, size_t count) {
    tc_json_open_array(json, key);
    for (size_t i = 0; i < count; i++)
        tc_json_string(json, NULL, list[i]);
    tc_json_close_array(json);
}

static const char *kind_name(const tc_plan *plan, tc_channel_kind kind) {
    static const char *const names[] = {"constraints", "jacobian", "states"};
    return plan->placement == TC_PLACEMENT_FORMS ? "forms" : names[kind];
}

static const char *observer_name(tc_observer_kind kind) {
    static const char *const names[] = {"agent", "coalition", "eavesdropper", "status"};
    return names[kind];
}

static void write_system(const tc_plan *plan, tc_json *json, const tc_channel *channel) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "name", channel->name);
    tc_json_string(json, "kind", kind_name(plan, channel->kind));
    tc_json_number(json, "constant", channel->constant);
    tc_json_number(json, "sensitivity", channel->sensitivity);
    tc_json_number(json, "scale", channel->scale);
    tc_json_number(json, "variance", channel->variance);
    tc_json_count(json, "entries", channel->entries);
    tc_json_count(json, "first_entry", channel->first_entry);
    tc_json_count(json, "first_row", channel->first_row);
    tc_json_count(json, "rows", channel->row_count);
    if (channel->family != UINT32_MAX) {
        tc_json_count(json, "family", channel->family);
        tc_json_count(json, "first_member", channel->first_member);
        tc_json_count(json, "members", channel->member_count);
    }
    tc_json_bool(json, "every_entry", channel->every_entry);
    tc_json_number(json, "step_exponent", channel->step_exponent);
    tc_json_number(json, "lattice_scale", channel->lattice_scale);
    tc_json_close_object(json);
}

static void write_observers(const tc_plan *plan, tc_json *json) {
    tc_json_open_array(json, "observers");
    for (size_t i = 0; i < plan->observer_count; i++) {
        const tc_observer *o = &plan->observers[i];
        tc_json_open_object(json, NULL);
        tc_json_string(json, "who", o->who);
        tc_json_string(json, "kind", observer_name(o->kind));
        tc_json_string(json, "about", o->about);
        tc_json_number(json, "epsilon", o->epsilon);
        tc_json_number(json, "delta", o->delta);
        if (plan->mechanism == TC_MECHANISM_GAUSSIAN) {
            tc_json_number(json, "mu", o->mu);
            tc_json_number(json, "delta_at_asked_epsilon", o->delta_at_asked);
        }
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

static void write_prices(const tc_plan *plan, tc_json *json) {
    tc_json_open_array(json, "prices");
    for (size_t i = 0; i < plan->price_count; i++) {
        tc_json_open_object(json, NULL);
        tc_json_string(json, "what", plan->prices[i].what);
        tc_json_number(json, "distance", plan->prices[i].distance);
        tc_json_number(json, "epsilon", plan->prices[i].epsilon);
        tc_json_number(json, "delta", plan->prices[i].delta);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

static void write_placements(const tc_plan *plan, tc_json *json) {
    tc_json_open_array(json, "placements");
    for (size_t i = 0; i < 3; i++) {
        const tc_placement_facts *facts = &plan->facts[i];
        if (facts->placement == TC_PLACEMENT_AUTO || (!facts->possible && plan->calibration == TC_PUBLISHED))
            continue;
        tc_json_open_object(json, NULL);
        tc_json_string(json, "placement", tc_placement_name(facts->placement));
        tc_json_bool(json, "possible", facts->possible);
        if (plan->method == TC_METHOD_TACIT)
            tc_json_bool(json, "usable", facts->usable);
        if (facts->possible) {
            tc_json_number(json, "predicted_variance", facts->total);
            tc_json_numbers(json, "constraint_variance", facts->constraint_variance, plan->model->constraint_count);
            tc_json_number(json, "price_variance", facts->price_variance);
        }
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

static void write_lattice(const tc_plan *plan, tc_json *json) {
    tc_json_open_object(json, "lattice");
    tc_json_number(json, "state_exponent", plan->state_exponent);
    tc_json_number(json, "state_step", ldexp(1, plan->state_exponent));
    tc_json_open_array(json, "sum_exponents");
    for (size_t r = 0; plan->sum_exponents != NULL && r < plan->model->sum_count; r++)
        tc_json_number(json, NULL, plan->sum_exponents[r]);
    tc_json_close_array(json);
    tc_json_number(json, "overhead", plan->overhead);
    tc_json_close_object(json);
}

/* As on the command line: "one:0.5", "agent". */
static void write_unit(const tc_plan *plan, tc_json *json) {
    char bound[32], unit[64];
    if (plan->mechanism == TC_MECHANISM_NONE || plan->adjacency == TC_ADJACENCY_UNSET) {
        tc_json_null(json, "unit");
        return;
    }
    tc_shortest_number(bound, plan->adjacency_bound);
    (void)snprintf(unit, sizeof unit, "%s%s%s", tc_adjacency_name(plan->adjacency),
                   plan->adjacency == TC_ADJACENCY_AGENT ? "" : ":",
                   plan->adjacency == TC_ADJACENCY_AGENT ? "" : bound);
    tc_json_string(json, "unit", unit);
}

/* A plan without a budget has the hash it always had. */
static void write_budget(const tc_plan *plan, tc_json *json) {
    const tc_budget *budget = &plan->model->budget;
    if (isnan(budget->epsilon))
        return;
    tc_json_open_object(json, "budget");
    tc_json_number(json, "epsilon", budget->epsilon);
    tc_json_number(json, "delta", budget->delta);
    tc_json_close_object(json);
}

/* null: not decided */
static void write_choices(const tc_plan *plan, tc_json *json) {
    bool open = plan->mechanism == TC_MECHANISM_UNSET, anywhere = plan->placement == TC_PLACEMENT_AUTO;
    tc_json_string(json, "mechanism", open ? NULL : tc_mechanism_name(plan->mechanism));
    if (plan->method == TC_METHOD_TACIT)
        tc_json_string(json, "method", tc_method_name(plan->method));
    tc_json_string(json, "calibration", tc_calibration_name(plan->calibration));
    tc_json_string(json, "constants", plan->constants == TC_DECLARED ? "declared" : "certified");
    tc_json_string(json, "placement", anywhere ? NULL : tc_placement_name(plan->placement));
    write_unit(plan, json);
}

/* is_private: as it was hashed since the first plans, or as it is judged. */
static void write_members(const tc_plan *plan, tc_json *json, bool is_private) {
    if (plan->problem != NULL) {
        tc_json_string(json, "problem", plan->problem);
        tc_json_bool(json, "private", false);
        write_choices(plan, json);
        return;
    }
    write_choices(plan, json);
    tc_json_number(json, "adjacency", plan->adjacency_bound);
    tc_json_number(json, "epsilon", plan->epsilon);
    tc_json_number(json, "delta", plan->delta);
    if (plan->calibration == TC_PUBLISHED && plan->mechanism == TC_MECHANISM_GAUSSIAN)
        tc_json_number(json, "kappa", tc_kappa(plan->delta, plan->epsilon)); /* sigma = kappa K_2 B */
    tc_json_string(json, "epsilon_is_for", tc_epsilon_is_for(plan));
    tc_json_number(json, "rounds", plan->rounds);
    tc_json_number(json, "hold_cap", plan->hold_cap);
    tc_json_bool(json, "private", is_private);
    write_strings(json, "void_reasons", plan->void_reasons, plan->void_reason_count);
    tc_json_bool(json, "assumptions_hold", plan->doubt_count == 0);
    write_strings(json, "assumptions_not_proved", plan->doubts, plan->doubt_count);
    tc_json_open_array(json, "systems");
    for (size_t i = 0; i < plan->channel_count; i++)
        write_system(plan, json, &plan->channels[i]);
    tc_json_close_array(json);
    tc_json_count(json, "entries", plan->entry_count);
    write_lattice(plan, json);
    write_observers(plan, json);
    write_prices(plan, json);
    write_placements(plan, json);
    if (plan->row_scale != NULL)
        tc_json_numbers(json, "row_scales", plan->row_scale, plan->model->constraint_count);
    write_budget(plan, json);
    write_strings(json, "warnings", plan->warnings, plan->warning_count);
}

void tc_plan_json(const tc_plan *plan, tc_json *json) {
    char hex[2 * sizeof plan->hash + 1];
    if (plan->method != TC_METHOD_TACIT) /* not in its hash: that of a published plan says what it always said */
        tc_json_string(json, "method", tc_method_name(plan->method));
    write_members(plan, json, tc_plan_deserves_private(plan));
    tc_hexadecimal(hex, plan->hash, sizeof plan->hash);
    tc_json_string(json, "hash", hex);
}

void tc_plan_canonical(const tc_plan *plan, tc_buffer *out) {
    tc_json json = tc_json_new(out);
    tc_json_open_object(&json, NULL);
    write_members(plan, &json, plan->is_private);
    tc_json_close_object(&json);
}

void tc_plan_hash(tc_arena *arena, tc_plan *plan) {
    tc_buffer text = tc_buffer_new(arena, SIZE_MAX / 4);
    tc_plan_canonical(plan, &text);
    unsigned length = 0;
    if (EVP_Digest(text.text, text.length, plan->hash, &length, EVP_sha256(), NULL) != 1 || length != sizeof plan->hash)
        tc_raise(arena, TC_INTERNAL);
}
