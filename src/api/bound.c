/* tacit_bound. */
#include "api/planned.h"
#include "api/solution.h"
#include "base/sized.h"
#include "theory/bound.h"

#include <math.h>

/* ---- JSON and text ---- */

static void problem_json(const tacit_result *result, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "problem", result->of.plan->plan->problem);
    tc_json_close_object(json);
}

/* A warning has said it. */
static void problem_text(const tacit_result *result, tc_buffer *out) {
    (void)result;
    (void)out;
}

static void bound_json(const tacit_result *result, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_bound_json(result->of.bound, json);
    tc_json_close_object(json);
}

static void bound_text(const tacit_result *result, tc_buffer *out) { tc_bound_text(result->of.bound, out, 80); }

/* ---- making one ---- */

/* xi_T solves the problem with multipliers in M. It is of use only if a solution exists with its multipliers in M. */
static tc_status compare_with_solution(tc_api_call *call, const tc_setup *setup, tc_bound_wishes *asked) {
    asked->problem = setup->problem;
    if (setup->problem != NULL || !setup->sound || setup->model->constraint_count == 0)
        return TC_OK;
    const tc_reference *reference =
        tc_reference_solve(call->work.arena, setup->model, setup->derivatives, call->options.tolerance,
                           call->options.threads, call->work.monitor);
    double sum = 0;
    if (reference->outcome == TC_SOLVE_INTERRUPTED)
        return TC_INTERRUPTED;
    if (reference->outcome == TC_INFEASIBLE_SUSPECTED) {
        const char *conflict = tc_conflict_sentence(call->work.arena, setup->model, reference);
        asked->problem = conflict != NULL ? conflict : "no point seems to satisfy all constraints";
        return TC_OK;
    }
    for (size_t j = 0; j < setup->model->constraint_count; j++)
        sum += fabs(reference->mu[j]);
    asked->outside_radius = sum > setup->dual_radius + reference->residual;
    if (asked->outside_radius)
        tc_work_say(&call->work,
                    "the solution's multipliers sum to %.6g, more than the dual radius of %.6g: no run can reach it",
                    sum, setup->dual_radius);
    return TC_OK;
}

/* Theorem 3 is about the paper's steps, even if runs use another method by default, and about rounds of fresh states.
 */
static tc_status take_published(tc_api_call *call) {
    tc_privacy_wishes *wishes = &call->wishes;
    if (wishes->plan.method == TC_METHOD_TACIT || wishes->margin.kind != TC_MARGIN_NONE || wishes->plan.certain)
        return tc_work_refuse(&call->work,
                              "the theorem is about the published method, and what is proved about the method tacit is "
                              "no bound of its error, since its steps follow what is released (docs/proofs/method.md, "
                              "section 6): leave out the method tacit, the margin and --feasible");
    tc_adjacency unit = wishes->plan.adjacency;
    if (unit == TC_ADJACENCY_UNSET)
        unit = call->problem->loaded.model->privacy.adjacency;
    if (unit == TC_ADJACENCY_DATA)
        return tc_work_refuse(&call->work,
                              "the theorem is about the published method, which cannot promise the unit data, so "
                              "there is no bound for this promise: choose another unit, such as --adjacency agent");
    if (wishes->plan.placement == TC_PLACEMENT_STATES || wishes->plan.placement == TC_PLACEMENT_FORMS)
        return tc_work_refuse(&call->work, "the theorem is about the published method, and its noise is on outputs: "
                                           "leave out --placement");
    if (wishes->plan.hold_cap > 0)
        return tc_work_refuse(&call->work, "the theorem is about rounds that wait for every agent: leave out holds");
    wishes->plan.method = TC_METHOD_PUBLISHED;
    return tc_planned_refuse_costs(call);
}

static tc_status make_bound(tc_api_call *call) {
    tc_work *work = &call->work;
    tacit_result *result = call->result;
    tc_planned *p = TC_NEW(work->arena, tc_planned, 1);
    tc_setup setup;
    tc_bound_wishes asked = {.within = *(const double *)call->own};
    if (asked.within < 0)
        return tc_work_refuse(work, "the distance is negative");
    tc_status status = take_published(call);
    if (status == TC_OK)
        status = tc_setup_whole(work, &call->problem->loaded, &call->wishes, &setup);
    if (status == TC_OK)
        status = tc_setup_plan(work, &setup, &call->wishes.plan, &p->plan);
    if (status != TC_OK)
        return status;
    p->derivatives = setup.derivatives;
    result->model = setup.model;
    result->of.plan = p;
    if (p->plan->problem != NULL) {
        tc_work_say(work, "no plan can be made: %s", p->plan->problem);
        result->reason = p->plan->problem;
        result->write_json = problem_json;
        result->write_text = problem_text;
        return TC_OK;
    }
    p->card = tc_card_make(work->arena, p->plan, call->wishes.seeded);
    tc_planned_finish(work->arena, p);
    status = compare_with_solution(call, &setup, &asked);
    if (status != TC_OK)
        return status;
    result->of.bound = tc_bound_make(work->arena, setup.model, setup.derivatives, setup.analysis, p->plan,
                                     setup.dual_radius, &asked, work->monitor);
    result->holds = tc_bound_says_something(result->of.bound);
    result->reason = result->of.bound->constants.problem != NULL ? result->of.bound->constants.problem
                                                                 : result->of.bound->tight.because;
    result->write_json = bound_json;
    result->write_text = bound_text;
    return tc_interrupted(work->monitor) ? TC_INTERRUPTED : TC_OK;
}

tacit_status tacit_bound(tacit_problem *problem, const tacit_promise *promise, double within,
                         const tacit_options *options, tacit_result **result, char **message) {
    tc_api_call call = {.command = "bound",
                        .needs_problem = true,
                        .has_promise = true,
                        .problem = problem,
                        .promise = promise,
                        .own = &within};
    return tc_call_make(&call, options, make_bound, result, message);
}

/* ---- facts ---- */

tacit_status tacit_result_bound(const tacit_result *result, tacit_bound_facts *facts) {
    const tc_bound *bound = result == NULL ? NULL : result->of.bound;
    if (bound == NULL || facts == NULL)
        return TACIT_BAD_USAGE;
    const tacit_bound_facts all = {.says_something = tc_bound_says_something(bound),
                                   .because = bound->tight.because,
                                   .error = bound->tight.error,
                                   .published_error = bound->published.error,
                                   .radius = bound->tight.radius,
                                   .within = bound->tight.within,
                                   .probability = bound->tight.probability,
                                   .diameter = bound->constants.diameter,
                                   .valid_from = bound->tight.valid_from};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}
