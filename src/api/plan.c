/* tacit_plan, and the facts of plans. */
#include "api/handle.h"
#include "api/planned.h"
#include "base/options.h"
#include "base/sized.h"
#include "base/text.h"
#include "engine/tacit/settling.h"

/* ---- JSON and text ---- */

static const tc_ledger no_ledger;
static const tc_ledger *ledger_of(const tc_planned *p) { return p->ledger != NULL ? p->ledger : &no_ledger; }

/* What method tacit derives from public facts before the first round. */
/* By agent or family, one number for each state; null: all are 1. */
static void scales_json(const tc_tacit_facts *method, const tc_model *model, tc_json *json) {
    if (method->scales == NULL) {
        tc_json_null(json, "scales");
        return;
    }
    tc_json_open_object(json, "scales");
    for (size_t f = 0; f < model->family_count; f++)
        tc_json_numbers(json, model->families[f].name, method->scales[f], model->families[f].dim);
    tc_json_close_object(json);
}

static void method_json(const tc_tacit_facts *method, const tc_model *model, tc_json *json) {
    size_t rows = model->constraint_count;
    tc_json_open_object(json, "method_facts");
    tc_json_number(json, "box_length", method->box_length);
    tc_json_number(json, "radius", method->radius);
    scales_json(method, model, json);
    tc_json_numbers(json, "row_scale", method->row_scale, rows);
    tc_json_numbers(json, "weight", method->weight, rows);
    tc_margin_json(method, json);
    if (method->certain) {
        tc_json_number(json, "most_move", method->most_move);
        tc_json_number(json, "usual_move", method->usual_move);
    }
    tc_json_open_array(json, "warnings");
    for (size_t i = 0; i < method->warning_count; i++)
        tc_json_string(json, NULL, method->warnings[i]);
    tc_json_close_array(json);
    tc_json_close_object(json);
}

/* The plan, with all warnings in one list. */
static tc_plan with_warnings(tc_arena *arena, const tc_plan *plan, const tc_tacit_facts *method) {
    tc_plan all = *plan;
    const char **warnings = TC_NEW(arena, const char *, plan->warning_count + method->warning_count + 1);
    all.warning_count = 0;
    for (size_t i = 0; i < plan->warning_count; i++)
        warnings[all.warning_count++] = plan->warnings[i];
    for (size_t i = 0; i < method->warning_count; i++)
        warnings[all.warning_count++] = method->warnings[i];
    all.warnings = warnings;
    return all;
}

static void budgets_json(const tc_planned *p, tc_json *json) {
    tc_arena *arena = json->out->arena;
    tc_json_bool(json, "within_budget", p->over == NULL);
    tc_json_string(json, "over_budget", p->over);
    tc_json_open_array(json, "budgets");
    for (size_t i = 0; i < p->budgets->count; i++) {
        const tc_budget *budget = &p->budgets->list[i];
        tc_spent spent = tc_spent_with(arena, ledger_of(p), &p->next, budget);
        tc_json_open_object(json, NULL);
        tc_json_number(json, "epsilon", budget->epsilon);
        tc_json_number(json, "delta", budget->delta);
        tc_json_number(json, "comes_to", spent.not_converted > 0 ? NAN : spent.epsilon);
        tc_json_string(json, "unit",
                       spent.unit.kind == TC_ADJACENCY_UNSET ? NULL
                                                             : tc_unit_text(arena, spent.unit.kind, spent.unit.bound));
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

static void plan_json(const tacit_result *result, tc_json *json) {
    const tc_planned *p = result->of.plan;
    tc_plan all = p->method == NULL ? *p->plan : with_warnings(result->arena, p->plan, p->method);
    tc_json_open_object(json, NULL);
    tc_plan_json(&all, json);
    if (p->method != NULL)
        method_json(p->method, p->plan->model, json);
    if (p->accuracy != NULL)
        tc_accuracy_json(p->accuracy, json);
    if (p->card != NULL) {
        tc_card_json(p->card, "card", json);
        if (p->ledger != NULL)
            tc_ledger_json(result->arena, p->ledger, &p->next, "ledger", json);
        if (p->budgets->count > 0)
            budgets_json(p, json);
    }
    tc_json_close_object(json);
}

static const char *move_sentence(tc_arena *arena, const tc_tacit_facts *method) {
    return tc_arena_format(
        arena,
        "the move: results that satisfy all inequalities are moved by at most %s %% of the way to the "
        "Slater point, whatever the noise is; by about %.3g %% where a constraint is at its limit",
        tc_text_up(arena, 100 * method->most_move), 100 * method->usual_move);
}

static const char *margin_sentence(tc_arena *arena, const tc_tacit_facts *method) {
    const tc_margin_wish *margin = &method->margin;
    return margin->kind == TC_MARGIN_GIVEN
               ? tc_arena_format(arena, "margin %g, public: solves g + %g <= 0 instead; the promise does not change",
                                 margin->amount, margin->amount)
               : tc_arena_format(arena,
                                 "margin auto, public: made in the run from released numbers, to have all constraints "
                                 "hold with probability %g%s; the promise does not change",
                                 margin->probability,
                                 method->moves ? ", and where they leave too little room, the last answer moves every "
                                                 "agent towards the declared Slater point"
                                               : "");
}

/* Of a budget that allows a run. */
static void budget_text(const tc_planned *p, const tc_budget *budget, tc_buffer *out) {
    tc_arena *arena = out->arena;
    tc_spent spent = tc_spent_with(arena, ledger_of(p), &p->next, budget);
    tc_options_wrap(out,
                    tc_arena_format(arena,
                                    "A run would be within the budget of %s: %s would come to epsilon %s in the unit "
                                    "%s.",
                                    tc_budget_text(arena, budget),
                                    p->ledger != NULL ? "all together" : "it alone (--ledger FILE counts others)",
                                    tc_text_up(arena, spent.epsilon),
                                    tc_unit_text(arena, spent.unit.kind, spent.unit.bound)),
                    2);
}

static void plan_text(const tacit_result *result, tc_buffer *out) {
    const tc_planned *p = result->of.plan;
    tc_arena *arena = out->arena;
    if (p->plan->problem != NULL) {
        tc_options_wrap(out, tc_arena_format(arena, "No plan can be made: %s", p->plan->problem), 0);
        return;
    }
    tc_plan_text(p->plan, out, 80);
    if (p->accuracy != NULL)
        tc_accuracy_text(p->accuracy, out, result->full, result->has_colours);
    if (p->method != NULL && p->method->margin.kind != TC_MARGIN_NONE) {
        tc_buffer_puts(out, "\n");
        tc_options_wrap(out, margin_sentence(arena, p->method), 2);
    }
    if (p->method != NULL && p->method->certain) {
        tc_buffer_puts(out, "\n");
        tc_options_wrap(out, move_sentence(arena, p->method), 2);
    }
    for (size_t i = 0; p->method != NULL && i < p->method->warning_count; i++) {
        tc_buffer_puts(out, "\n");
        tc_options_wrap(out, tc_arena_format(arena, "warning: %s", p->method->warnings[i]), 2);
    }
    tc_buffer_puts(out, "\n");
    if (p->ledger != NULL)
        tc_ledger_text(arena, p->ledger, &p->next, out);
    if (p->budgets->count > 0 || p->ledger != NULL) {
        if (p->over != NULL)
            tc_options_wrap(out, tc_arena_format(arena, "A run would be refused: %s.", p->over), 2);
        for (size_t i = 0; p->over == NULL && i < p->budgets->count; i++)
            budget_text(p, &p->budgets->list[i], out);
        tc_buffer_puts(out, "\n");
    }
    tc_card_text(p->card, out);
}

/* ---- making one ---- */

void tc_planned_finish(tc_arena *arena, tc_planned *planned) {
    const tc_plan *plan = planned->plan;
    if (plan == NULL || plan->problem != NULL)
        return;
    planned->hash = tc_hexadecimal_new(arena, plan->hash, sizeof plan->hash);
    planned->headline = planned->card == NULL ? NULL : tc_card_line(arena, planned->card);
    planned->promised = tc_promised(arena, plan);
}

tc_status tc_planned_refuse_costs(tc_api_call *call) {
    if (call->wishes.ledger == NULL && call->wishes.budgets.count == 0)
        return TC_OK;
    return tc_work_refuse(&call->work, tc_arena_format(call->work.arena,
                                                       "%s spends nothing: a ledger and a budget go with plan and run",
                                                       call->command));
}

const char *tc_planned_reason(tc_arena *arena, const tc_planned *planned) {
    const tc_plan *plan = planned->plan;
    if (plan->problem != NULL)
        return plan->problem;
    tc_buffer reasons = tc_buffer_new(arena, 1 << 16);
    for (size_t i = 0; i < plan->void_reason_count; i++)
        tc_buffer_printf(&reasons, "%s%s", i == 0 ? "the plan is not private: " : "; ", plan->void_reasons[i]);
    if (plan->void_reason_count > 0)
        return tc_buffer_text(&reasons);
    const char *weak = tc_name_only_reason(arena, plan);
    return weak != NULL ? weak : planned->over;
}

/* Checks a run by this plan against the ledger and the budgets. */
static tc_status look_up_cost(tc_api_call *call, tc_planned *p) {
    const tc_ledger *ledger = ledger_of(p); /* without one: this run alone */
    if (p->plan->problem != NULL)
        return TC_OK;
    p->next = tc_ledger_entry_of(call->work.arena, p->plan, "plan");
    tc_status status = tc_budgets_check(&call->work, p->budgets, ledger, &p->next);
    if (status == TC_OK && p->budgets->count > 0)
        p->over = tc_over_budget(call->work.arena, ledger, &p->next, p->budgets->list, p->budgets->count);
    return status;
}

static tc_status find_method(tc_api_call *call, tc_model *model, const tc_analysis *analysis, tc_planned *p) {
    const char *why = NULL;
    if (p->plan->problem != NULL || p->plan->method != TC_METHOD_TACIT)
        return TC_OK;
    p->method = tc_tacit_facts_make(call->work.arena, p->plan, model, p->derivatives, tc_public_radius(model, analysis),
                                    call->wishes.margin, &why);
    return p->method != NULL ? TC_OK : tc_work_refuse(&call->work, why);
}

static tc_status warn_and_judge(tc_api_call *call, const tc_model *model, const tc_analysis *analysis, tc_planned *p) {
    tc_work *work = &call->work;
    bool convex = analysis->constraints.verdict == TC_HOLDS;
    if (!convex)
        tc_work_say(work, "the constraints are not proved to be convex and smooth: `tacit check %s` says where",
                    model->source.path);
    const char *fault = tc_public_radius_fault(model, analysis);
    if (fault != NULL && p->plan->problem == NULL)
        tc_work_say(work, "no dual radius follows from the gaps and the Slater point, and nothing runs without one. %s",
                    fault);
    const char *kinks = tc_kinks_fault(work->arena, model, analysis, tc_resolve_method(&call->wishes.plan));
    if (kinks != NULL && p->plan->problem == NULL)
        tc_work_say(work, "this plan promises what it says, but nothing runs by it. %s", kinks);
    if (p->plan->problem == NULL)
        p->card = tc_card_make(work->arena, p->plan, call->wishes.seeded);
    tc_status status = look_up_cost(call, p);
    const char *reason = tc_planned_reason(work->arena, p);
    call->result->reason = reason != NULL  ? reason
                           : fault != NULL ? fault
                           : kinks != NULL ? kinks
                                           : "the constraints are not proved to be convex and smooth";
    call->result->holds =
        tc_plan_deserves_private(p->plan) && convex && fault == NULL && kinks == NULL && p->over == NULL;
    return status;
}

static tc_status make_plan(tc_api_call *call) {
    tc_work *work = &call->work;
    tacit_result *result = call->result;
    tc_planned *p = TC_NEW(work->arena, tc_planned, 1);
    tc_budgets *budgets = TC_NEW(work->arena, tc_budgets, 1);
    tc_ledger *ledger = NULL;
    const tc_analysis *analysis;
    tc_accuracy *accuracy = NULL;
    tc_status status =
        call->wishes.ledger == NULL ? TC_OK : tc_ledger_read(work->arena, call->wishes.ledger, work->messages, &ledger);
    if (status != TC_OK)
        return status;
    tc_model *model = tc_wishes_apply(work->arena, call->problem->loaded.model, &call->wishes);
    status = tc_check_wishes(work, model, &call->wishes, false);
    if (status == TC_OK)
        status = tc_analyse_public(work, model, call->problem->loaded.derivatives, &analysis);
    if (status != TC_OK)
        return status;
    *budgets = call->wishes.budgets;
    tc_budgets_add_file(budgets, model);
    p->derivatives = call->problem->loaded.derivatives;
    p->plan = tc_plan_make(work->arena, model, p->derivatives, analysis, &call->wishes.plan, work->monitor);
    p->ledger = ledger;
    p->budgets = budgets;
    if (tc_interrupted(work->monitor))
        return TC_INTERRUPTED;
    if (p->plan->problem != NULL && p->plan->refusal_is_usage)
        return tc_work_refuse(work, p->plan->problem);
    if (p->plan->problem == NULL)
        accuracy = tc_accuracy_make(work->arena, p->plan, p->derivatives, work->monitor);
    p->accuracy = accuracy;
    status = find_method(call, model, analysis, p);
    if (status == TC_OK && p->method != NULL)
        tc_settling_judge(tc_settling_new(work->arena, p->plan, model, p->derivatives, p->method), accuracy);
    if (status == TC_OK)
        status = warn_and_judge(call, model, analysis, p);
    if (status != TC_OK)
        return status;
    tc_planned_finish(work->arena, p);
    result->model = model;
    result->of.plan = p;
    tc_result_remark_all(result, p->plan->warnings, p->plan->warning_count);
    if (p->method != NULL)
        tc_result_remark_all(result, p->method->warnings, p->method->warning_count);
    result->write_json = plan_json;
    result->write_text = plan_text;
    return TC_OK;
}

tacit_status tacit_plan(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                        tacit_result **result, char **message) {
    tc_api_call call = {
        .command = "plan", .needs_problem = true, .has_promise = true, .problem = problem, .promise = promise};
    return tc_call_make(&call, options, make_plan, result, message);
}

/* ---- facts ---- */

static const tc_planned *planned_of(const tacit_result *result) { return result == NULL ? NULL : result->of.plan; }

tacit_status tacit_result_plan(const tacit_result *result, tacit_plan_facts *facts) {
    const tc_planned *p = planned_of(result);
    if (p == NULL || facts == NULL)
        return TACIT_BAD_USAGE;
    const tc_plan *plan = p->plan;
    tacit_plan_facts all = {
        .problem = plan->problem, .epsilon = NAN, .delta = NAN, .rounds = NAN, .hidden_every_round = NAN};
    if (plan->problem == NULL)
        all = (tacit_plan_facts){.is_private = p->card != NULL && p->card->is_private,
                                 .headline = p->headline,
                                 .mechanism = tc_mechanism_name(plan->mechanism),
                                 .method = tc_method_name(plan->method),
                                 .placement = tc_placement_name(plan->placement),
                                 .calibration = tc_calibration_name(plan->calibration),
                                 .adjacency = p->promised.unit,
                                 .norm = p->promised.norm,
                                 .hidden_every_round = p->promised.every_round,
                                 .epsilon = plan->epsilon,
                                 .delta = plan->delta,
                                 .rounds = plan->rounds,
                                 .observers = plan->observer_count,
                                 .channels = plan->channel_count,
                                 .entries = plan->entry_count,
                                 .hash = p->hash,
                                 .over_budget = p->over,
                                 .doubt_unknown = p->accuracy == NULL ? NULL : p->accuracy->reason};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

tacit_status tacit_result_observer(const tacit_result *result, size_t observer, tacit_observer *facts) {
    const tc_planned *p = planned_of(result);
    if (p == NULL || facts == NULL || observer >= p->plan->observer_count)
        return TACIT_BAD_USAGE;
    const tc_observer *from = &p->plan->observers[observer];
    const tacit_observer all = {.who = from->who, .about = from->about, .epsilon = from->epsilon, .delta = from->delta};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

tacit_status tacit_result_channel(const tacit_result *result, size_t channel, tacit_channel *facts) {
    const tc_planned *p = planned_of(result);
    if (p == NULL || facts == NULL || channel >= p->plan->channel_count)
        return TACIT_BAD_USAGE;
    const tc_channel *from = &p->plan->channels[channel];
    const tacit_channel all = {.name = from->name,
                               .entries = from->entries,
                               .constant = from->constant,
                               .sensitivity = from->sensitivity,
                               .scale = from->scale,
                               .variance = from->variance};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

tacit_status tacit_result_doubt(const tacit_result *result, size_t constraint, tacit_doubt *facts) {
    const tc_planned *p = planned_of(result);
    if (p == NULL || facts == NULL || p->accuracy == NULL || constraint >= p->accuracy->count)
        return TACIT_BAD_USAGE;
    const tc_row_accuracy *from = &p->accuracy->rows[constraint];
    const tacit_doubt all = {.name = from->name,
                             .limit = from->limit,
                             .doubt = from->doubt,
                             .most_doubt = from->most_doubt,
                             .round_doubt = from->round_doubt,
                             .local_doubt = from->local_doubt,
                             .range = from->range,
                             .room = from->room,
                             .is_exact = from->is_exact,
                             .is_useless = from->is_useless,
                             .is_unreached = from->is_unreached,
                             .missing = from->missing,
                             .rounds_needed = from->rounds_needed};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

static tc_status write_certificate(tacit_result *result, void *context, tc_buffer *messages) {
    const tc_planned *p = result->of.plan;
    const char *problem = tc_certificate_problem(p->plan);
    (void)context;
    if (problem != NULL) {
        tc_buffer_printf(messages, "%s\n", problem);
        return TC_BAD_PROBLEM;
    }
    tc_buffer text = tc_buffer_new(result->arena, SIZE_MAX / 4);
    tc_certificate_text(result->arena, p->plan, p->derivatives, &text);
    result->certificate = tc_buffer_text(&text);
    return TC_OK;
}

const char *tacit_plan_certificate(tacit_result *plan, char **message) {
    if (message != NULL)
        *message = planned_of(plan) == NULL ? tc_own_lines("only a plan has a certificate") : NULL;
    if (planned_of(plan) == NULL)
        return NULL;
    if (plan->certificate == NULL)
        (void)tc_result_work(plan, write_certificate, NULL, message);
    return plan->certificate;
}
