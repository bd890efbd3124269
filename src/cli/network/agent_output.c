#include "cli/network/network.h"

#include "model/model.h"
#include "net/files.h"

static const char *outcome_of(const tc_agent_output *output, tc_agent_condition how) {
    return tc_agent_is_over(how) || !output->stopped ? tc_agent_condition_name(how) : "stopped";
}

const char *tc_agent_output_outcome(const tc_agent_output *output) {
    return outcome_of(output, tc_agent_how(output->agent));
}

static const char *method_name(unsigned method) {
    return tc_wire_averages(method) ? "tacit" : method == TC_WIRE_PUBLISHED ? "published" : NULL;
}

/* ---- for people ---- */

static void text_of_rounds(const tc_agent_view *view, tc_buffer *out) {
    if (view->rounds == 0)
        tc_buffer_puts(out, "before the first round");
    else
        tc_buffer_printf(out, "%llu of %llu rounds answered", (unsigned long long)tc_agent_rounds_answered(view),
                         (unsigned long long)view->rounds);
    if (view->held > 0)
        tc_buffer_printf(out, ", late in %llu", (unsigned long long)view->held);
    if (view->was_over)
        tc_buffer_puts(out, ", all before this start");
}

/* Warns if the cloud's figures are not about this result. */
static void text_of_oddities(const tc_agent_view *view, tc_buffer *out) {
    if (view->first_round > 1)
        tc_options_wrap(
            out,
            tc_arena_format(out->arena,
                            "It began with round %llu, without its state file: the result is %s, and not the "
                            "one that the cloud's figures are about.",
                            (unsigned long long)view->first_round,
                            tc_wire_averages(view->method) ? "an average of the rounds from there on alone"
                                                           : "of a path that began there"),
            2);
    if (view->clamped > 0)
        tc_options_wrap(out,
                        tc_arena_format(out->arena,
                                        "%llu of its states lay outside the public box of the cloud's file or outside "
                                        "its public set, and so does this result, or what it was made of. The cloud's "
                                        "figures are about states that were moved inside, not about this result.",
                                        (unsigned long long)view->clamped),
                        2);
}

static void text_of_place(const tc_agent_output *output, tc_buffer *out) {
    if (!tc_agent_output_has_result(output))
        tc_buffer_puts(out, "there is no result yet\n");
    else if (output->file != NULL)
        tc_buffer_printf(out, "the result is in '%s'\n", output->file);
    else
        tc_buffer_puts(out, "the result is private, and not printed into the system's log: --answer FILE writes it\n");
}

bool tc_agent_output_has_result(const tc_agent_output *output) {
    bool has = false;
    for (size_t i = 0; i < output->count; i++) {
        tc_agent_view view = tc_agent_look(output->agent, i);
        has = has || (view.how == TC_AGENT_DONE && tc_agent_rounds_answered(&view) > 0);
    }
    return has;
}

void tc_agent_output_text(const tc_agent_output *output, tc_buffer *out) {
    for (size_t i = 0; i < output->count; i++) {
        tc_agent_view view = tc_agent_look(output->agent, i);
        tc_buffer_printf(out, "%s: %s, ", view.name, outcome_of(output, view.how));
        text_of_rounds(&view, out);
        tc_buffer_puts(out, "\n");
        /* The message of the whole is printed below. */
        if (view.message[0] != 0 && (output->count > 1 || output->stopped))
            tc_options_wrap(out, view.message, 2);
        if (tc_agent_rounds_answered(&view) > 0 && !output->is_withheld) {
            tc_point_name(out, view.method == TC_WIRE_TACIT ? "result (average)" : "result");
            tc_point_numbers(out, view.result, view.states, true);
            text_of_oddities(&view, out);
        }
    }
    if (output->is_withheld)
        text_of_place(output, out);
    if (output->reason != NULL && !output->is_told) {
        tc_buffer_puts(out, "\n");
        tc_options_wrap(out, output->reason, 0);
    }
    if (output->is_plain)
        tc_buffer_puts(out, "\nINSECURE: nothing was encrypted.\n");
}

/* ---- for programs ---- */

static void json_of_agent(const tc_agent_output *output, const tc_agent_view *view, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "name", view->name);
    tc_json_string(json, "outcome", outcome_of(output, view->how));
    tc_json_string(json, "reason", view->message[0] == 0 ? NULL : view->message);
    tc_json_string(json, "run", view->run);
    tc_json_bool(json, "was_over", view->was_over);
    tc_json_bool(json, "file_changed", view->is_changed);
    tc_json_count(json, "answered", view->answered);
    tc_json_count(json, "rounds", view->rounds);
    tc_json_count(json, "first_round", view->first_round);
    tc_json_string(json, "method", method_name(view->method));
    tc_json_bool(json, "certain", view->certain);
    tc_json_count(json, "held", view->held);
    if (!output->is_withheld) {
        tc_json_count(json, "clamped", view->clamped);
        tc_json_numbers(json, "x", view->result, view->states);
        tc_json_numbers(json, "last", view->x, view->states);
    }
    tc_json_string(json, "state_file", view->path);
    tc_json_close_object(json);
}

static void json_of_all(const tc_agent_output *output, tc_json *json) {
    tc_json_string(json, "outcome", tc_agent_output_outcome(output));
    tc_json_string(json, "reason", output->reason);
    tc_json_bool(json, "encrypted", !output->is_plain);
    if (output->is_withheld) {
        tc_json_string(json, "answer_file", tc_agent_output_has_result(output) ? output->file : NULL);
    } else {
        tc_json_open_object(json, "x");
        for (size_t i = 0; i < output->count; i++) {
            tc_agent_view view = tc_agent_look(output->agent, i);
            tc_json_numbers(json, view.name, view.result, view.states);
        }
        tc_json_close_object(json);
    }
    tc_json_open_array(json, "agents");
    for (size_t i = 0; i < output->count; i++) {
        tc_agent_view view = tc_agent_look(output->agent, i);
        json_of_agent(output, &view, json);
    }
    tc_json_close_array(json);
}

void tc_agent_output_json(const tc_agent_output *output, tc_json *json) {
    tc_json_open_object(json, NULL);
    json_of_all(output, json);
    tc_json_close_object(json);
}

tc_status tc_agent_output_write(tc_arena *arena, const tc_agent_output *output, tc_buffer *messages) {
    tc_agent_output whole = *output;
    tc_buffer text = tc_buffer_new(arena, (size_t)1 << 36);
    tc_json json = tc_json_new(&text);
    whole.is_withheld = false;
    tc_json_open_object(&json, NULL);
    tc_json_count(&json, "tacit_answer", 1); /* TC_AGENT_RESULT_MARK */
    json_of_all(&whole, &json);
    tc_json_close_object(&json);
    return tc_private_file_write(arena, output->file, text.text, text.length, messages);
}
