#include "api/point.h"
#include "api/solution.h"
#include "cli/run_answer.h"

void tc_json_quantiles(tc_json *json, const char *key, const tc_quantiles *quantiles) {
    tc_json_open_object(json, key);
    tc_json_number(json, "min", quantiles->min);
    tc_json_number(json, "q10", quantiles->q10);
    tc_json_number(json, "median", quantiles->median);
    tc_json_number(json, "q90", quantiles->q90);
    tc_json_number(json, "max", quantiles->max);
    tc_json_close_object(json);
}

/* of: "medians" where the numbers are no run's own; NULL. */
static void json_row_of(tc_json *json, const char *key, const tc_row *row, const char *of) {
    if (row == NULL) {
        tc_json_null(json, key);
        return;
    }
    tc_json_open_object(json, key);
    if (of != NULL)
        tc_json_string(json, "of", of);
    tc_json_count(json, "k", row->k);
    tc_json_number(json, "x_error", row->x_error);
    tc_json_number(json, "mu_error", row->mu_error);
    tc_json_number(json, "objective", row->objective);
    tc_json_number(json, "max_violation", row->max_violation);
    tc_json_close_object(json);
}

static void json_row(tc_json *json, const char *key, const tc_row *row) { json_row_of(json, key, row, NULL); }

static void json_checkpoints(tc_json *json, const tc_run_answer *answer, const tc_record *record) {
    tc_json_open_array(json, "checkpoints");
    for (size_t i = 0; i < answer->checkpoint_count; i++) {
        const tc_row *row = tc_record_row(record, answer->checkpoints[i]);
        if (row != NULL)
            json_row(json, NULL, row);
    }
    tc_json_close_array(json);
}

static void json_state(tc_json *json, const tc_model *model, const tc_record *record) {
    tc_point_json_states(model, record->x, json);
    tc_point_json_constraints(model, json);
    tc_json_numbers(json, "mu", record->mu, model->constraint_count);
    tc_json_numbers(json, "g", tc_record_last(record)->constraints, model->constraint_count);
}

/* From released data, and so for everybody. */
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

static void json_single(tc_json *json, const tc_run_answer *answer) {
    const tc_record *record = answer->records;
    json_row(json, "final", tc_record_last(record));
    json_checkpoints(json, answer, record);
    json_state(json, answer->study->model, record);
    tc_feasibility_json(json, &record->feasibility, answer->study->model->constraint_count);
}

static void json_summary(tc_json *json, const tc_row_quantiles *summary) {
    tc_json_count(json, "k", summary->k);
    tc_json_count(json, "runs", summary->runs);
    tc_json_quantiles(json, "x_error", &summary->x_error);
    tc_json_quantiles(json, "mu_error", &summary->mu_error);
    tc_json_quantiles(json, "objective", &summary->objective);
    tc_json_quantiles(json, "max_violation", &summary->max_violation);
}

static void json_medians(tc_json *json, const char *key, const tc_row_quantiles *summary) {
    tc_row medians = {.k = summary->k,
                      .x_error = summary->x_error.median,
                      .mu_error = summary->mu_error.median,
                      .objective = summary->objective.median,
                      .max_violation = summary->max_violation.median};
    json_row_of(json, key, summary->runs == 0 ? NULL : &medians, "medians");
}

static void json_runs(tc_json *json, const tc_run_answer *answer) {
    tc_json_open_array(json, "runs");
    for (size_t i = 0; i < answer->record_count; i++) {
        const tc_record *record = &answer->records[i];
        tc_json_open_object(json, NULL);
        tc_json_count(json, "seed", record->seed);
        tc_json_string(json, "outcome", tc_engine_outcome_name(record->outcome));
        tc_json_string(json, "reason", record->reason);
        tc_json_count(json, "rounds", record->rounds);
        tc_json_number(json, "seconds", record->seconds);
        json_row(json, "final", tc_record_last(record));
        json_checkpoints(json, answer, record);
        tc_json_numbers(json, "mu", record->mu, answer->study->model->constraint_count);
        tc_feasibility_json(json, &record->feasibility, answer->study->model->constraint_count);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

/* The last state of the first run stands for all: medians of states mean nothing. */
static void json_many(tc_json *json, const tc_run_answer *answer) {
    tc_arena *arena = json->out->arena;
    uint64_t rounds = answer->study->rounds;
    tc_row_quantiles end = tc_rows_summarise(arena, answer->finished, answer->finished_count, rounds);
    tc_row_quantiles half = tc_rows_summarise(arena, answer->finished, answer->finished_count, rounds / 2);
    tc_json_count(json, "seeds", answer->wanted);
    tc_json_count(json, "not_begun", answer->wanted - answer->record_count);
    json_medians(json, "final", &end);
    tc_json_open_array(json, "checkpoints");
    for (size_t i = 0; i < answer->checkpoint_count; i++) {
        tc_row_quantiles here =
            tc_rows_summarise(arena, answer->finished, answer->finished_count, answer->checkpoints[i]);
        if (here.runs > 0)
            json_medians(json, NULL, &here);
    }
    tc_json_close_array(json);
    tc_json_open_object(json, "summary");
    json_summary(json, &end);
    tc_json_open_object(json, "half");
    json_summary(json, &half);
    tc_json_close_object(json);
    tc_json_close_object(json);
    json_runs(json, answer);
    if (answer->record_count > 0 && answer->records[0].x != NULL && answer->records[0].row_count > 0) {
        tc_json_count(json, "state_of_seed", answer->records[0].seed);
        json_state(json, answer->study->model, &answer->records[0]);
    }
}

static void json_times(tc_json *json, const tc_run_answer *answer) {
    tc_json_number(json, "seconds", answer->run_seconds);
    tc_json_open_object(json, "times");
    tc_json_number(json, "load", answer->study->load_seconds);
    tc_json_number(json, "analyse", answer->study->analyse_seconds);
    tc_json_number(json, "solve", answer->study->solve_seconds);
    tc_json_number(json, "run", answer->run_seconds);
    tc_json_close_object(json);
    tc_json_count(json, "threads", answer->threads);
}

static void json_setting(tc_json *json, const tc_study *study) {
    const tc_reference *reference = study->reference;
    tc_json_open_object(json, "dual_radius");
    tc_json_number(json, "value", study->dual_radius);
    tc_json_string(json, "origin",
                   study->model->constraint_count == 0 ? "none" : tc_radius_origin_name(study->radius_origin));
    tc_json_close_object(json);
    if (reference == NULL) {
        tc_json_null(json, "reference");
        return;
    }
    tc_json_open_object(json, "reference");
    tc_json_string(json, "status", tc_outcome_name(reference->outcome));
    tc_json_number(json, "objective", reference->objective);
    tc_json_number(json, "residual", reference->residual);
    tc_json_number(json, "norm_x", reference->norm_x);
    tc_json_number(json, "norm_mu", reference->norm_mu);
    tc_json_close_object(json);
}

static void json_plan(tc_json *json, const tc_run_answer *answer) {
    tc_json_open_object(json, "plan");
    tc_plan_json(answer->plan, json);
    tc_json_close_object(json);
    if (answer->card != NULL)
        tc_card_json(answer->card, "card", json);
    if (answer->entry == NULL)
        return;
    tc_json_bool(json, "recorded", answer->recorded);
    tc_ledger_json(json->out->arena, answer->ledger, answer->simulated ? NULL : answer->entry, "ledger", json);
}

void tc_run_answer_json(const tc_run_answer *answer, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "outcome", answer->outcome);
    tc_json_string(json, "reason", answer->reason);
    tc_json_string(json, "label", TC_NOT_RELEASED);
    tc_guarantee_json(
        answer->card,
        "what the cloud releases: mu and feasibility. x, g, final, checkpoints, runs and summary are true "
        "values, which are not released and not private",
        json);
    tc_json_open_array(json, "warnings");
    for (size_t i = 0; answer->method != NULL && i < answer->method->warning_count; i++)
        tc_json_string(json, NULL, answer->method->warnings[i]);
    if (answer->study->warning != NULL)
        tc_json_string(json, NULL, answer->study->warning);
    if (answer->warning != NULL)
        tc_json_string(json, NULL, answer->warning);
    tc_json_close_array(json);
    tc_json_string(json, "method", tc_method_word(answer->plan->method));
    tc_margin_json(answer->method, json);
    tc_json_count(json, "rounds",
                  answer->records == NULL ? 0
                  : answer->many          ? answer->study->rounds
                                          : answer->records->rounds);
    json_times(json, answer);
    if (answer->records == NULL) {
        tc_json_null(json, "final");
        tc_json_open_array(json, "checkpoints");
        tc_json_close_array(json);
    } else {
        (answer->many ? json_many : json_single)(json, answer);
    }
    json_setting(json, answer->study);
    json_plan(json, answer);
    tc_json_close_object(json);
}
