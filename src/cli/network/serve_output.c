#include "cli/network/network.h"

#include "model/model.h"

/* ---- for people ---- */

static void text_multipliers(const tc_serve_output *output, tc_buffer *out) {
    const tc_model *model = output->setup->model;
    const double *mu = output->result->answer_multipliers;
    size_t wanted = 0;
    if (mu == NULL || model->constraint_count == 0)
        return;
    tc_buffer_printf(out, "\nmultipliers%s (released)\n", output->method != NULL ? ", averaged over the rounds" : "");
    for (size_t j = 0; j < model->constraint_count; j++) {
        if (mu[j] == 0 || wanted++ >= TC_POINT_SHOWN)
            continue;
        tc_point_name(out, model->constraints[j].name);
        tc_buffer_printf(out, " %*.6g\n", TC_POINT_CELL_WIDTH - 1, mu[j]);
    }
    if (wanted > TC_POINT_SHOWN)
        tc_point_left_out(out, wanted - TC_POINT_SHOWN);
    if (wanted < model->constraint_count)
        tc_buffer_printf(out, "  %s without a price: %zu\n", wanted == 0 ? "all are" : "the others are",
                         model->constraint_count - wanted);
}

static void text_served(const tc_serve_output *output, tc_buffer *out) {
    const tc_server_result *result = output->result;
    tc_buffer_printf(out, "%s: round %.0f of %.0f", output->outcome, (double)result->rounds,
                     (double)tc_plan_messages(output->plan));
    if (result->seconds > 0)
        tc_buffer_printf(out, ", %.0f of them here in %.3g s, %.4g a second", (double)result->rounds_here,
                         result->seconds, (double)result->rounds_here / result->seconds);
    tc_buffer_puts(out, "\n");
    if (result->run_id == NULL) /* it stood by */
        return;
    tc_buffer_printf(out, "run %s, epoch %.0f\n", result->run_id, (double)result->epoch);
    if (result->was_over)
        tc_options_wrap(out,
                        result->was_told
                            ? "The run was over before, and all agents have had its last answer: nothing was done."
                            : "The run was over before: agents were given its last answer, and nothing was released.",
                        0);
    if (result->held > 0)
        tc_buffer_printf(out, "states used again: %.0f\n", (double)result->held);
    text_multipliers(output, out);
    if (result->feasibility != NULL) {
        tc_buffer_puts(out, "\n");
        tc_options_wrap(out,
                        tc_arena_format(out->arena, "What was released shows: %s.",
                                        tc_feasibility_sentence(out->arena, output->setup->model, result->feasibility)),
                        0);
    }
}

void tc_serve_output_text(const tc_serve_output *output, tc_buffer *out) {
    if (output->result == NULL)
        tc_options_wrap(out, tc_arena_format(out->arena, "Refused, and nothing was served: %s", output->reason), 0);
    else
        text_served(output, out);
    if (output->result != NULL && output->reason != NULL)
        tc_options_wrap(out, output->reason, 0);
    for (size_t i = 0; i < output->insecure_count; i++)
        tc_options_wrap(out, tc_arena_format(out->arena, "INSECURE: %s", output->insecure[i]), 0);
    if (output->ledger != NULL && output->entry != NULL) {
        tc_buffer_puts(out, "\n");
        tc_ledger_text(out->arena, output->ledger, output->recorded ? NULL : output->entry, out);
    }
    if (output->result != NULL)
        tc_result_card(output->card, output->whole_card, out);
}

/* ---- for a program ---- */

static void json_served(const tc_serve_output *output, tc_json *json) {
    const tc_server_result *result = output->result;
    const tc_model *model = output->setup->model;
    size_t m = model->constraint_count;
    tc_json_string(json, "run", result->run_id);
    tc_json_count(json, "epoch", result->epoch);
    tc_json_count(json, "rounds", result->rounds);
    tc_json_count(json, "rounds_here", result->rounds_here);
    tc_json_number(json, "seconds", result->seconds);
    tc_json_bool(json, "was_over", result->was_over);
    tc_json_count(json, "held", result->held);
    tc_json_string(json, "agents", result->names[0] == '\0' ? NULL : result->names);
    tc_point_json_constraints(model, json);
    if (result->multipliers == NULL) {
        tc_json_null(json, "mu");
        tc_json_null(json, "answer");
    } else {
        tc_json_numbers(json, "mu", result->multipliers, m);
        tc_json_numbers(json, "answer", result->answer_multipliers, m);
    }
    tc_feasibility_json(json, model, result->feasibility);
}

void tc_serve_output_json(const tc_serve_output *output, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "outcome", output->outcome);
    tc_json_string(json, "reason", output->reason);
    tc_guarantee_json(output->card, "everything here: the cloud has released it", json);
    tc_json_bool(json, "private", output->card != NULL && output->card->is_private);
    tc_json_open_array(json, "insecure");
    for (size_t i = 0; i < output->insecure_count; i++)
        tc_json_string(json, NULL, output->insecure[i]);
    tc_json_close_array(json);
    tc_json_string(json, "method", tc_method_word(output->plan->method));
    tc_margin_json(output->result != NULL && output->result->method != NULL ? output->result->method : output->method,
                   json);
    if (output->result != NULL)
        json_served(output, json);
    tc_json_open_object(json, "plan");
    tc_plan_json(output->plan, json);
    tc_json_close_object(json);
    if (output->card != NULL)
        tc_card_json(output->card, "card", json);
    if (output->ledger != NULL && output->entry != NULL) {
        tc_json_bool(json, "recorded", output->recorded);
        tc_ledger_json(json->out->arena, output->ledger, output->recorded ? NULL : output->entry, "ledger", json);
    }
    tc_json_close_object(json);
}
