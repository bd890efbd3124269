#include "audit/audit.h"
#include "base/options.h"
#include "plan/account/account.h"

static const char *const limits_of_an_audit =
    "An audit can refute a guarantee, never prove it. It looks at two inputs for each system, and at the noise of the "
    "rounds that it samples; a constant that is too small elsewhere, or noise that fails elsewhere, can pass. "
    "Certified "
    "constants and the proofs are what the guarantee rests on.";

static const char *why_not_private(const tc_audit *audit) {
    if (audit->is_private)
        return tc_name_only_reason(audit->arena, audit->plan);
    return audit->seeded ? "the noise is drawn from a seed, and whoever knows the seed can take it away. This audit is "
                           "a simulation of the release"
                         : "the plan guarantees nothing; tacit plan says why";
}

const char *const tc_audit_verdict_names[] = {
    [TC_NOT_REFUTED] = "not_refuted", [TC_REFUTED] = "refuted", [TC_INCONCLUSIVE] = "inconclusive"};

static const char *headline(const tc_audit *audit) {
    if (audit->verdict == TC_INCONCLUSIVE)
        return tc_arena_format(audit->arena, "INCONCLUSIVE: %s. The audit says nothing about the plan.",
                               audit->inconclusive_because);
    if (audit->verdict == TC_NOT_REFUTED) {
        const char *open = "";
        for (size_t i = 0; i < audit->point_count; i++)
            if (audit->points[i].verdict == TC_INCONCLUSIVE)
                open = tc_arena_format(audit->arena, " Inconclusive on one point: %s.", audit->points[i].name);
        return tc_arena_format(audit->arena, "Not refuted: nothing that was seen contradicts the plan.%s", open);
    }
    return audit->interrupted ? "REFUTED before it was interrupted: the release does not keep what the plan claims."
                              : "REFUTED: the release does not keep what the plan claims.";
}

static void end_to_end_json(const tc_end_to_end *found, tc_json *json) {
    tc_json_open_object(json, "end_to_end");
    if (found->untested != NULL && found->differ_count == 0)
        tc_json_null(json, "equal");
    else
        tc_json_bool(json, "equal", found->equal);
    tc_json_open_array(json, "differs_in");
    for (size_t i = 0; i < found->differ_count; i++)
        tc_json_string(json, NULL, found->differs_in[i]);
    tc_json_close_array(json);
    tc_json_open_array(json, "exceptions");
    for (size_t i = 0; i < found->exception_count; i++)
        tc_json_string(json, NULL, found->exceptions[i]);
    tc_json_close_array(json);
    tc_json_count(json, "bytes", found->bytes);
    tc_json_string(json, "untested", found->untested);
    tc_json_close_object(json);
}

void tc_audit_json(const tc_audit *audit, tc_json *json) {
    tc_json_string(json, "verdict", tc_audit_verdict_names[audit->verdict]);
    tc_json_bool(json, "refuted", audit->refuted);
    tc_json_string(json, "inconclusive_because", audit->inconclusive_because);
    tc_json_bool(json, "interrupted", audit->interrupted);
    tc_json_bool(json, "private", audit->is_private && tc_plan_deserves_private(audit->plan));
    tc_json_string(json, "not_private_because", why_not_private(audit));
    tc_json_number(json, "confidence", audit->confidence);
    tc_json_open_array(json, "systems");
    for (size_t i = 0; i < audit->system_count; i++) {
        const tc_audit_system *s = &audit->systems[i];
        tc_json_open_object(json, NULL);
        tc_json_string(json, "name", s->name);
        tc_json_number(json, "claimed_epsilon", s->claimed_epsilon);
        tc_json_number(json, "claimed_delta", s->claimed_delta);
        tc_json_bool(json, "refuted", s->refuted);
        tc_json_number(json, "lower_bound", s->lower_bound);
        tc_json_number(json, audit->plan->mechanism == TC_MECHANISM_LAPLACE ? "expected_epsilon" : "expected_mu",
                       s->expected);
        tc_json_number(json, "exact_epsilon", s->price);
        if (s->has_bounds) {
            tc_json_number(json, "delta_of_bounds", s->delta_of_bounds);
            tc_json_number(json, "exact_delta_of_bounds", s->exact_delta_of_bounds);
            tc_json_number(json, "delta_seen", s->delta_seen);
        }
        tc_json_string(json, "verdict", tc_audit_verdict_names[s->verdict]);
        tc_json_string(json, "inputs", s->pair);
        tc_json_string(json, "event", s->event);
        tc_json_count(json, "samples", tc_audit_samples(s));
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    tc_json_open_array(json, "points");
    for (size_t i = 0; i < audit->point_count; i++) {
        tc_json_open_object(json, NULL);
        tc_json_string(json, "name", audit->points[i].name);
        tc_json_string(json, "verdict", tc_audit_verdict_names[audit->points[i].verdict]);
        tc_json_string(json, "why", audit->points[i].why);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    tc_json_open_array(json, "faults");
    for (size_t i = 0; i < audit->fault_count; i++) {
        tc_json_open_object(json, NULL);
        tc_json_string(json, "kind", audit->faults[i].kind);
        tc_json_string(json, "text", audit->faults[i].text);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    if (audit->end_to_end != NULL)
        end_to_end_json(audit->end_to_end, json);
    tc_json_open_array(json, "notes");
    for (size_t i = 0; i < audit->note_count; i++)
        tc_json_string(json, NULL, audit->notes[i]);
    tc_json_close_array(json);
    tc_json_string(json, "limits", limits_of_an_audit);
    tc_json_number(json, "seconds", audit->seconds);
}

/* Two spaces in front. */
static void detail(const tc_audit *audit, tc_buffer *out, const char *what, const char *text) {
    tc_options_wrap(out, tc_arena_format(audit->arena, "%s: %s", what, text), 2);
}

static void paragraph(const tc_audit *audit, tc_buffer *out, const char *what, const char *text) {
    tc_buffer_puts(out, "\n");
    tc_options_wrap(out, tc_arena_format(audit->arena, "%s: %s", what, text), 0);
}

static void print_point(const tc_audit *audit, tc_buffer *out, const tc_audit_point *point) {
    static const char *const words[] = {
        [TC_NOT_REFUTED] = "not refuted", [TC_REFUTED] = "refuted", [TC_INCONCLUSIVE] = "inconclusive"};
    tc_buffer_printf(out, "%-16s %s\n", point->name, words[point->verdict]);
    if (point->why != NULL)
        tc_options_wrap(out, tc_arena_format(audit->arena, "%s", point->why), 2);
}

static void print_end_to_end(const tc_audit *audit, tc_buffer *out, const tc_end_to_end *found) {
    if (found->equal)
        paragraph(audit, out, "end to end",
                  tc_arena_format(audit->arena,
                                  "%llu bytes that leave the cloud are the same in two worlds that release "
                                  "the same numbers.",
                                  (unsigned long long)found->bytes));
    for (size_t i = 0; i < found->differ_count; i++)
        paragraph(audit, out, "end to end, two worlds that release the same numbers differ in", found->differs_in[i]);
    if (found->exception_count > 0)
        tc_buffer_puts(out, "\nNot compared:\n");
    for (size_t i = 0; i < found->exception_count; i++)
        tc_options_wrap(out, found->exceptions[i], 2);
}

void tc_audit_text(const tc_audit *audit, tc_buffer *out) {
    bool is_yes = audit->verdict == TC_NOT_REFUTED; /* comes after the warning that nothing is promised */
    if (!is_yes)
        tc_options_wrap(out, headline(audit), 0);
    if (why_not_private(audit) != NULL)
        paragraph(audit, out, audit->is_private ? "private in name only" : "NOT PRIVATE",
                  tc_arena_format(audit->arena, "%s.", why_not_private(audit)));
    if (is_yes)
        tc_options_wrap(out, headline(audit), 0);
    if (audit->system_count > 0)
        tc_buffer_printf(out, "\n%-16s %9s %9s %9s %s\n", "system", "claimed", "computed", "at least",
                         "samples of each input");
    for (size_t i = 0; i < audit->system_count; i++) {
        const tc_audit_system *s = &audit->systems[i];
        tc_buffer_printf(out, "%-16s %9.4f %9.4f %9.4f %llu%s\n", s->name, s->claimed_epsilon, s->price, s->lower_bound,
                         (unsigned long long)tc_audit_samples(s), s->refuted ? "  refuted" : "");
        if (s->claimed_delta > 0)
            tc_buffer_printf(out, "  at delta %.3g\n", s->claimed_delta);
        if (s->pair != NULL)
            detail(audit, out, "inputs", s->pair);
        if (s->has_bounds)
            detail(audit, out, "bounds of noise",
                   tc_arena_format(audit->arena, "cost delta %.3g, and the plan claims %.3g; at least %.3g was seen",
                                   s->exact_delta_of_bounds, s->delta_of_bounds, s->delta_seen));
        if (s->priced_out)
            detail(audit, out, "refuted by its price",
                   tc_arena_format(audit->arena,
                                   "with the plan's own scales these two inputs cost epsilon %.6g%s, and the plan "
                                   "claims %.6g",
                                   s->price, tc_hides_every_round(audit->plan->adjacency) ? " over all rounds" : "",
                                   s->claimed_epsilon));
        if (s->lower_bound > s->claimed_epsilon && s->event != NULL)
            detail(audit, out, "told apart by", s->event);
    }
    if (audit->point_count > 0)
        tc_buffer_puts(out, "\n");
    for (size_t i = 0; i < audit->point_count; i++)
        print_point(audit, out, &audit->points[i]);
    for (size_t i = 0; i < audit->fault_count; i++)
        paragraph(audit, out, audit->faults[i].kind, audit->faults[i].text);
    if (audit->end_to_end != NULL)
        print_end_to_end(audit, out, audit->end_to_end);
    for (size_t i = 0; i < audit->note_count; i++)
        paragraph(audit, out, "note", audit->notes[i]);
    if (audit->system_count > 0)
        tc_buffer_printf(out,
                         "\nAll bounds hold together, and an honest release is not refuted, with\nprobability %.10g.\n",
                         audit->confidence);
    tc_buffer_puts(out, "\n");
    tc_options_wrap(out, limits_of_an_audit, 0);
}
