#include "api/solution.h"

#include "model/point.h"

#include <math.h>

tc_solution tc_solution_find(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives, double tolerance,
                             const tc_monitor *monitor) {
    static const tc_analysis_options wishes = {.only_assumptions = true};
    const tc_analysis *assumptions = tc_analysis_run(arena, model, derivatives, &wishes, monitor);
    return (tc_solution){.model = model,
                         .assumptions = assumptions->interrupted ? NULL : assumptions,
                         .reference = tc_reference_solve(arena, model, derivatives, tolerance, monitor)};
}

bool tc_solution_is_convex(const tc_solution *solution) {
    const tc_analysis *a = solution->assumptions;
    return a != NULL && a->objectives.verdict == TC_HOLDS && a->constraints.verdict == TC_HOLDS;
}

bool tc_solution_lacks_points(const tc_solution *solution) {
    return solution->assumptions != NULL && solution->assumptions->sets.verdict == TC_FAILS;
}

bool tc_solution_holds(const tc_solution *solution) {
    return solution->reference->outcome == TC_SOLVED && tc_solution_is_convex(solution);
}

const char *tc_outcome_name(tc_reference_outcome outcome) {
    switch (outcome) {
#define X(code, name)                                                                                                  \
    case code:                                                                                                         \
        return name;
        TC_REFERENCE_OUTCOMES(X)
#undef X
    }
    return "unknown";
}

double tc_solution_sum(const tc_solution *solution) {
    double sum = 0;
    for (size_t j = 0; j < solution->model->constraint_count; j++)
        sum += solution->reference->mu[j];
    return sum;
}

double tc_solution_radius(const tc_solution *solution) {
    return solution->assumptions != NULL ? solution->assumptions->dual_radius.public_value
                                         : solution->model->dual_radius;
}

bool tc_solution_outside_radius(const tc_solution *solution) {
    return solution->reference->outcome != TC_INFEASIBLE_SUSPECTED &&
           tc_solution_sum(solution) > tc_solution_radius(solution) + solution->reference->residual;
}

static void json_findings(const tc_assumption *assumption, tc_json *json) {
    for (size_t i = 0; assumption->verdict != TC_HOLDS && i < assumption->finding_count; i++) {
        const tc_finding *finding = &assumption->findings[i];
        tc_json_open_object(json, NULL);
        tc_json_string(json, "place", finding->place);
        tc_json_string(json, "expression", finding->expression);
        tc_json_string(json, "text", finding->text);
        tc_json_close_object(json);
    }
}

static void json_assumptions(const tc_solution *solution, tc_json *json) {
    const tc_analysis *a = solution->assumptions;
    if (a == NULL)
        tc_json_null(json, "assumptions_hold");
    else
        tc_json_bool(json, "assumptions_hold", tc_solution_is_convex(solution) && a->sets.verdict == TC_HOLDS);
    tc_json_open_array(json, "reasons");
    if (a != NULL) {
        json_findings(&a->objectives, json);
        json_findings(&a->sets, json);
        json_findings(&a->constraints, json);
    }
    tc_json_close_array(json);
}

static void json_values(const tc_solution *solution, tc_json *json) {
    const tc_model *model = solution->model;
    const tc_reference *reference = solution->reference;
    tc_json_number(json, "objective", reference->objective);
    tc_json_number(json, "residual", reference->residual);
    tc_json_number(json, "max_violation", reference->max_violation);
    tc_json_number(json, "norm_x", reference->norm_x);
    tc_json_number(json, "norm_mu", reference->norm_mu);
    tc_json_number(json, "least_norm_error", hypot(reference->error_x, reference->error_mu));
    tc_json_number(json, "sum_mu", tc_solution_sum(solution));
    if (reference->outcome == TC_INFEASIBLE_SUSPECTED)
        tc_json_null(json, "outside_dual_radius");
    else
        tc_json_bool(json, "outside_dual_radius", tc_solution_outside_radius(solution));
    tc_json_count(json, "iterations", reference->iterations);
    tc_point_json_states(model, reference->x, json);
    tc_point_json_constraints(model, json);
    tc_json_numbers(json, "mu", reference->mu, model->constraint_count);
}

/* Where no point exists, members that speak of one are null. */
static void json_no_values(tc_json *json) {
    static const char *const names[] = {"objective",        "residual", "max_violation",       "norm_x",     "norm_mu",
                                        "least_norm_error", "sum_mu",   "outside_dual_radius", "iterations", "x",
                                        "constraints",      "mu"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tc_json_null(json, names[i]);
}

void tc_solution_json(const tc_solution *solution, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "status", tc_outcome_name(solution->reference->outcome));
    json_assumptions(solution, json);
    if (tc_solution_lacks_points(solution))
        json_no_values(json);
    else
        json_values(solution, json);
    tc_json_close_object(json);
}
