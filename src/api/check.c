/* tacit_check and tacit_solve. */
#include "api/result.h"
#include "api/solution.h"
#include "base/machine.h"
#include "base/sized.h"

#include <string.h>

/* ---- check ---- */

static void check_json(const tacit_result *result, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_analysis_json(result->of.check, json);
    tc_json_close_object(json);
}

static void check_text(const tacit_result *result, tc_buffer *out) { tc_analysis_text(result->of.check, out, 80); }

/* What is wrong with the first assumption that does not hold. */
static const char *reason_of(const tc_analysis *analysis) {
    const tc_assumption *all[] = {&analysis->objectives, &analysis->sets, &analysis->constraints, &analysis->slater};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i]->verdict == TC_HOLDS || all[i]->verdict == TC_ELSEWHERE)
            continue;
        return all[i]->finding_count > 0 ? all[i]->findings[0].text : all[i]->summary;
    }
    return analysis->interrupted ? "interrupted" : NULL;
}

static tc_status check(tc_api_call *call) {
    tacit_result *result = call->result;
    const tc_loaded *loaded = &call->problem->loaded;
    const char *method = call->options.method;
    if (method != NULL && strcmp(method, "tacit") != 0 && strcmp(method, "published") != 0)
        return tc_work_refuse(&call->work,
                              tc_arena_format(call->work.arena, "method wants tacit or published, not '%s'", method));
    tc_analysis_options wishes = {.rows_limit = result->full ? SIZE_MAX : 0,
                                  .print_all_points = result->full,
                                  .threads = call->options.threads > 0 ? call->options.threads : tc_processors(),
                                  .needs_smooth = method != NULL && strcmp(method, "published") == 0};
    const tc_analysis *analysis =
        tc_analysis_run(call->work.arena, loaded->model, loaded->derivatives, &wishes, call->work.monitor);
    result->model = loaded->model;
    result->of.check = analysis;
    result->holds = tc_analysis_holds(analysis);
    result->reason = reason_of(analysis);
    result->is_interrupted = analysis->interrupted;
    tc_result_remark_all(result, analysis->warnings, analysis->warning_count);
    result->write_json = check_json;
    result->write_text = check_text;
    return TC_OK;
}

tacit_status tacit_check(tacit_problem *problem, const tacit_options *options, tacit_result **result, char **message) {
    tc_api_call call = {.command = "check", .needs_problem = true, .to_owner = true, .problem = problem};
    return tc_call_make(&call, options, check, result, message);
}

static const char *verdict_name(tc_verdict verdict) {
    static const char *const names[] = {
        [TC_HOLDS] = "holds", [TC_FAILS] = "fails", [TC_UNPROVED] = "unproved", [TC_ELSEWHERE] = "elsewhere"};
    return names[verdict];
}

static tacit_bracket bracket_of(const tc_bracket *from) {
    return (tacit_bracket){.lower = from->lower, .upper = from->upper, .declared = from->declared};
}

tacit_status tacit_result_check(const tacit_result *result, tacit_check_facts *facts) {
    if (result == NULL || facts == NULL || result->of.check == NULL)
        return TACIT_BAD_USAGE;
    const tc_analysis *from = result->of.check;
    const tacit_check_facts all = {.objectives = verdict_name(from->objectives.verdict),
                                   .sets = verdict_name(from->sets.verdict),
                                   .constraints = verdict_name(from->constraints.verdict),
                                   .slater = verdict_name(from->slater.verdict),
                                   .constraint_1 = bracket_of(&from->g[0]),
                                   .constraint_2 = bracket_of(&from->g[1]),
                                   .slater_margin = from->slater_facts.margin,
                                   .dual_radius = from->dual_radius.value,
                                   .dual_radius_origin = tc_radius_origin_name(from->dual_radius.origin),
                                   .agents = from->agent_rows,
                                   .convex = verdict_name(from->convexity),
                                   .smooth = verdict_name(from->smoothness.verdict)};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

tacit_status tacit_result_check_agent(const tacit_result *result, size_t row, tacit_check_agent *facts) {
    if (result == NULL || facts == NULL || result->of.check == NULL || row >= result->of.check->agent_rows)
        return TACIT_BAD_USAGE;
    const tc_agent_constants *from = &result->of.check->agents[row];
    const tacit_check_agent all = {.family = (size_t)(from->family - result->model->families),
                                   .member = from->member,
                                   .agents = from->agents,
                                   .objective = bracket_of(&from->objective),
                                   .jacobian_1 = bracket_of(&from->jacobian[0]),
                                   .jacobian_2 = bracket_of(&from->jacobian[1])};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

/* ---- solve ---- */

static void solve_json(const tacit_result *result, tc_json *json) { tc_solution_json(result->of.solve, json); }

static void solve_text(const tacit_result *result, tc_buffer *out) {
    tc_solution_text(result->of.solve, result->full, out);
}

static tc_status solve(tc_api_call *call) {
    tacit_result *result = call->result;
    const tc_loaded *loaded = &call->problem->loaded;
    tc_status status = tc_want_whole(&call->work, loaded->model);
    if (status != TC_OK)
        return status;
    tc_solution *solution = TC_NEW(call->work.arena, tc_solution, 1);
    *solution = tc_solution_find(call->work.arena, loaded->model, loaded->derivatives, call->options.tolerance,
                                 call->options.threads, call->work.monitor);
    result->model = loaded->model;
    result->of.solve = solution;
    result->holds = tc_solution_holds(solution);
    result->reason = tc_solution_reason(call->work.arena, solution);
    result->is_interrupted = solution->reference->outcome == TC_SOLVE_INTERRUPTED;
    result->write_json = solve_json;
    result->write_text = solve_text;
    return TC_OK;
}

tacit_status tacit_solve(tacit_problem *problem, const tacit_options *options, tacit_result **result, char **message) {
    tc_api_call call = {.command = "solve", .needs_problem = true, .problem = problem};
    return tc_call_make(&call, options, solve, result, message);
}

tacit_status tacit_result_solution(const tacit_result *result, tacit_solution *facts) {
    if (result == NULL || facts == NULL || result->of.solve == NULL)
        return TACIT_BAD_USAGE;
    const tc_reference *reference = result->of.solve->reference;
    const tacit_solution all = {.outcome = tc_outcome_name(reference->outcome),
                                .objective = reference->objective,
                                .residual = reference->residual,
                                .max_violation = reference->max_violation,
                                .norm_x = reference->norm_x,
                                .norm_mu = reference->norm_mu,
                                .mu = reference->mu,
                                .constraints = result->model->constraint_count,
                                .is_convex = tc_solution_is_convex(result->of.solve)};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}
