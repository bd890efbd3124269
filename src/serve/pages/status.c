#include "serve/pages/http.h"

#include "base/json.h"

unsigned tc_health(const tc_figures *figures, const char **line) {
    *line = tc_phase_name(figures->phase);
    return figures->phase == TC_PHASE_FAILED ? 503 : 200;
}

static void add_time(tc_json *json, const char *key, double value) { /* seconds since 1970, and 0 for never */
    if (value > 0)
        tc_json_number(json, key, value);
    else
        tc_json_null(json, key);
}

static void add_numbers(tc_json *json, const char *key, const double *values, size_t count) {
    if (values != NULL)
        tc_json_numbers(json, key, values, count);
    else
        tc_json_null(json, key);
}

static void add_run(tc_json *json, const tc_figures *figures) {
    tc_json_string(json, "run", figures->run_id);
    tc_json_string(json, "plan", figures->plan_hash);
    tc_json_string(json, "method", figures->method);
    tc_json_bool(json, "private", figures->is_private);
    tc_json_bool(json, "insecure", figures->is_insecure);
    if (figures->is_priced) {
        tc_json_string(json, "mechanism", figures->mechanism);
        tc_json_number(json, "epsilon", figures->epsilon);
        tc_json_number(json, "delta", figures->delta);
    }
}

static void add_progress(tc_json *json, const tc_figures *figures, double now) {
    tc_json_count(json, "epoch", figures->epoch);
    tc_json_count(json, "round", figures->round);
    tc_json_count(json, "rounds", figures->rounds);
    if (figures->last_round > 0)
        tc_json_number(json, "rounds_per_second", figures->rounds_per_second);
    else
        tc_json_null(json, "rounds_per_second");
    tc_json_count(json, "agents", figures->agents);
    tc_json_count(json, "enrolled", figures->enrolled);
    add_time(json, "now", now);
    add_time(json, "started", figures->started);
    add_time(json, "last_round", figures->last_round);
    add_time(json, "certificate_expires", figures->certificate_expiry);
}

static void add_released(tc_json *json, const tc_figures *figures) {
    if (figures->constraint_names != NULL) {
        tc_json_open_array(json, "constraints");
        for (size_t i = 0; i < figures->multiplier_count; i++)
            tc_json_string(json, NULL, figures->constraint_names[i]);
        tc_json_close_array(json);
    }
    add_numbers(json, "multipliers", figures->multipliers, figures->multiplier_count);
    add_numbers(json, "answer_multipliers", figures->answer_multipliers, figures->multiplier_count);
    if (figures->feasibility != NULL) {
        tc_json_open_object(json, "feasibility");
        tc_json_number(json, "probability", figures->feasibility->probability);
        tc_json_bool(json, "shown", figures->feasibility->shown);
        tc_json_bool(json, "exact", figures->feasibility->is_exact);
        add_numbers(json, "bounds", figures->feasibility->bounds, figures->multiplier_count);
        tc_json_close_object(json);
    }
}

static void add_traffic(tc_json *json, const tc_figures *figures) {
    uint64_t refusals = 0;
    for (size_t i = 0; i < TC_REFUSAL_KINDS; i++)
        refusals += figures->refusals[i];
    tc_json_open_object(json, "connections");
    tc_json_count(json, "silent", figures->links.silent);
    tc_json_count(json, "shaking", figures->links.shaking);
    tc_json_count(json, "open", figures->links.open);
    tc_json_close_object(json);
    tc_json_count(json, "answers", figures->answers);
    tc_json_count(json, "answers_again", figures->answers_again);
    tc_json_count(json, "held", figures->held);
    tc_json_count(json, "refusals", refusals);
}

void tc_status_json(tc_buffer *out, const tc_figures *figures, double now) {
    tc_json json = tc_json_new(out);
    tc_json_open_object(&json, NULL);
    tc_json_string(&json, "version", figures->version);
    tc_json_string(&json, "phase", tc_phase_name(figures->phase));
    add_run(&json, figures);
    add_progress(&json, figures, now);
    add_released(&json, figures);
    add_traffic(&json, figures);
    tc_json_close_object(&json);
}
