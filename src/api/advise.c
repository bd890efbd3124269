/* tacit_advise, and the facts of advice. */
#include "advise/advise.h"
#include "api/planned.h"
#include "base/options.h"
#include "base/sized.h"
#include "plan/account/account.h"

#include <string.h>

static const char USUAL_DOUBT[] = "5%";

void tacit_advise_options_default(tacit_advise_options *options, size_t size) {
    const tacit_advise_options standard = {.doubt = USUAL_DOUBT};
    tc_default_sized(options, size, &standard, sizeof standard);
}

/* ---- JSON and text ---- */

static void problem_json(const tacit_result *result, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "problem", result->of.advice->problem);
    tc_json_null(json, "recommendation");
    tc_json_bool(json, "reaches", false);
    tc_json_close_object(json);
}

static void problem_text(const tacit_result *result, tc_buffer *out) {
    tc_options_wrap(out, tc_arena_format(out->arena, "There is no advice: %s", result->of.advice->problem), 0);
}

static void advice_json(const tacit_result *result, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_advice_json(result->of.advice, json);
    tc_json_close_object(json);
}

static void advice_text(const tacit_result *result, tc_buffer *out) {
    tc_advice_text(result->of.advice, out, result->has_colours);
}

/* ---- making it ---- */

/* "50", or "5%" of each limit. */
static bool read_doubt(tc_arena *arena, const char *text, tc_advice_wish *wish) {
    size_t length = strlen(text);
    wish->is_share = length > 1 && text[length - 1] == '%';
    if (!tc_read_number(tc_arena_copy(arena, text, wish->is_share ? length - 1 : length), &wish->tolerance))
        return false;
    wish->tolerance /= wish->is_share ? 100 : 1;
    return wish->tolerance > 0 && isfinite(wish->tolerance);
}

static tc_status read_wish(tc_api_call *call, tc_advice_wish *wish) {
    tc_work *work = &call->work;
    tacit_advise_options own;
    tacit_advise_options_default(&own, sizeof own);
    if (call->own != NULL && !tc_copy_sized(&own, sizeof own, sizeof own, call->own))
        return tc_wrong_size(call, "tacit_advise_options");
    if (!read_doubt(work->arena, own.doubt == NULL ? USUAL_DOUBT : own.doubt, wish))
        return tc_work_refuse(work,
                              tc_arena_format(work->arena,
                                              "the tolerable doubt is a positive number, as 50, or a part of each "
                                              "limit, as 5%%; not '%.200s'",
                                              own.doubt));
    wish->constraint =
        own.constraint == NULL ? NULL : tc_arena_copy(work->arena, own.constraint, strlen(own.constraint));
    wish->plan = call->wishes.plan;
    if (tc_resolve_method(&wish->plan) != TC_METHOD_TACIT || call->wishes.margin.kind != TC_MARGIN_NONE)
        return tc_work_refuse(work, "advice is about method tacit without a margin: leave out --margin, and the "
                                    "published method and calibration");
    return tc_planned_refuse_costs(call);
}

static tc_status check_promise(tc_api_call *call, const tc_model *model) {
    tc_work *work = &call->work;
    call->wishes.has_epsilons = true; /* as in a sweep: epsilon is what is asked for */
    tc_status status = tc_check_wishes(work, model, &call->wishes, true);
    if (status == TC_OK && tc_resolve_mechanism(model, &call->wishes.plan) == TC_MECHANISM_NONE)
        return tc_work_refuse(work,
                              "without noise there is no doubt and nothing to advise: choose laplace or gaussian, "
                              "or leave the mechanism out");
    return status;
}

static tc_planned *shown_plan(tc_arena *arena, const tc_advice *advice, const tc_derivatives *derivatives) {
    tc_planned *p = TC_NEW(arena, tc_planned, 1);
    *p = (tc_planned){.plan = advice->shown->plan,
                      .derivatives = derivatives,
                      .accuracy = advice->shown->accuracy,
                      .card = tc_card_make(arena, advice->shown->plan, advice->wish.plan.seeded)};
    tc_planned_finish(arena, p);
    return p;
}

/* What the last round of a recommended plan moves, as `plan` says it. */
static tc_status add_move(tc_api_call *call, tc_model *model, const tc_analysis *analysis, tc_advice *advice) {
    const char *why = NULL;
    if (!advice->reaches || !advice->wish.plan.certain)
        return TC_OK;
    const tc_tacit_facts *method =
        tc_tacit_facts_make(call->work.arena, advice->plan, model, call->problem->loaded.derivatives,
                            tc_public_radius(model, analysis), call->wishes.margin, &why);
    if (method == NULL)
        return tc_work_refuse(&call->work, why);
    advice->most_move = method->most_move;
    advice->usual_move = method->usual_move;
    return TC_OK;
}

static tc_status make_advice(tc_api_call *call) {
    tc_work *work = &call->work;
    tacit_result *result = call->result;
    const tc_derivatives *derivatives = call->problem->loaded.derivatives;
    tc_advice_wish wish = {0};
    const tc_analysis *analysis;
    tc_status status = read_wish(call, &wish);
    if (status != TC_OK)
        return status;
    tc_model *model = tc_wishes_apply(work->arena, call->problem->loaded.model, &call->wishes);
    if (model->role == TC_ROLE_AGENT)
        return tc_work_refuse(work,
                              "this is one agent's file: advice is about the cloud's, or about the whole problem");
    status = check_promise(call, model);
    if (status == TC_OK)
        status = tc_analyse_public(work, model, derivatives, &analysis);
    if (status != TC_OK)
        return status;
    wish.dual_radius = tc_public_radius(model, analysis);
    tc_advice *advice = tc_advise(work->arena, model, derivatives, analysis, &wish, work->monitor);
    if (tc_interrupted(work->monitor))
        return TC_INTERRUPTED;
    if (advice->problem != NULL && advice->is_usage)
        return tc_work_refuse(work, advice->problem);
    for (tc_advice *one = advice; one != NULL && advice->problem == NULL && status == TC_OK; one = one->other)
        status = add_move(call, model, analysis, one);
    if (status != TC_OK)
        return status;
    if (advice->problem == NULL)
        advice->recommendation = tc_recommend(work->arena, advice);
    result->model = model;
    result->of.advice = advice;
    result->holds = advice->reaches;
    result->reason = advice->problem != NULL ? advice->problem : advice->recommendation;
    result->write_json = advice->problem != NULL ? problem_json : advice_json;
    result->write_text = advice->problem != NULL ? problem_text : advice_text;
    if (advice->problem == NULL)
        result->of.plan = shown_plan(work->arena, advice, derivatives);
    return TC_OK;
}

tacit_status tacit_advise(tacit_problem *problem, const tacit_promise *promise, const tacit_advise_options *advise,
                          const tacit_options *options, tacit_result **result, char **message) {
    tc_api_call call = {.command = "advise",
                        .needs_problem = true,
                        .has_promise = true,
                        .problem = problem,
                        .promise = promise,
                        .own = advise};
    return tc_call_make(&call, options, make_advice, result, message);
}

/* ---- facts ---- */

static size_t points_of(const tc_advice *advice) {
    size_t count = 0;
    for (size_t i = 0; i < advice->way_count; i++)
        count += advice->ways[i].problem == NULL ? TC_TABLE_EPSILONS : 0;
    return count;
}

tacit_status tacit_result_advice(const tacit_result *result, tacit_advice *facts) {
    const tc_advice *advice = result == NULL ? NULL : result->of.advice;
    if (advice == NULL || facts == NULL)
        return TACIT_BAD_USAGE;
    tacit_advice all = {.problem = advice->problem,
                        .epsilon = NAN,
                        .delta = NAN,
                        .doubt = NAN,
                        .agents_needed = NAN,
                        .hidden_every_round = NAN,
                        .missing = NAN,
                        .rounds_needed = NAN};
    if (advice->problem == NULL) {
        const tc_way *best = advice->best;
        all.reaches = advice->reaches;
        all.recommendation = advice->recommendation;
        all.constraint = best->accuracy->rows[best->worst].name;
        all.rounds = advice->rounds.now;
        all.enough_rounds = advice->rounds.enough;
        all.agents_needed = advice->agents.needed;
        all.points = points_of(advice);
    }
    if (advice->reaches) {
        all.mechanism = tc_mechanism_name(advice->best->mechanism);
        all.adjacency = advice->best->promised.unit;
        all.norm = advice->best->promised.norm;
        all.hidden_every_round = advice->best->promised.every_round;
        all.epsilon = advice->epsilon;
        all.delta = tc_has_delta(advice, advice->best->mechanism) ? advice->delta : 0;
        all.doubt = advice->told.doubt;
        all.missing = advice->told.missing;
        all.rounds_needed = advice->told.rounds_needed;
        all.is_unreached = advice->told.is_unreached;
    }
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

tacit_status tacit_result_advice_point(const tacit_result *result, size_t point, tacit_advice_point *facts) {
    const tc_advice *advice = result == NULL ? NULL : result->of.advice;
    if (advice == NULL || facts == NULL)
        return TACIT_BAD_USAGE;
    for (size_t i = 0; i < advice->way_count; i++) {
        const tc_way *way = &advice->ways[i];
        if (way->problem != NULL)
            continue;
        if (point >= TC_TABLE_EPSILONS) {
            point -= TC_TABLE_EPSILONS;
            continue;
        }
        const tc_advised_cell cell = tc_advised_at(advice, way, tc_table_epsilons[point]);
        const tacit_advice_point all = {.adjacency = way->promised.unit,
                                        .norm = way->promised.norm,
                                        .mechanism = tc_mechanism_name(way->mechanism),
                                        .epsilon = tc_table_epsilons[point],
                                        .constraint = cell.row->name,
                                        .limit = cell.row->limit,
                                        .doubt = cell.doubt,
                                        .reaches = cell.is_tolerable,
                                        .is_useless = cell.is_useless,
                                        .missing = cell.missing,
                                        .is_unreached = cell.is_unreached};
        return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
    }
    return TACIT_BAD_USAGE;
}
