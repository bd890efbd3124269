#include "api/solution.h"

#include "base/text.h"
#include "model/model.h"

#include <math.h>

tc_solution tc_solution_find(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives, double tolerance,
                             size_t threads, const tc_monitor *monitor) {
    static const tc_analysis_options wishes = {.only_assumptions = true};
    const tc_analysis *assumptions = tc_analysis_run(arena, model, derivatives, &wishes, monitor);
    return (tc_solution){.model = model,
                         .assumptions = assumptions->interrupted ? NULL : assumptions,
                         .reference = tc_reference_solve(arena, model, derivatives, tolerance, threads, monitor)};
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
        sum += fabs(solution->reference->mu[j]);
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

enum { LISTED = 20 };

/* "a", "a and b", "a, b and c"; "..., t and 4 others". */
static void add_to_list(tc_buffer *out, size_t said, size_t count, const char *name) {
    if (said >= LISTED)
        return;
    tc_buffer_printf(out, "%s%s", said == 0 ? "" : said + 1 == count ? " and " : ", ", name);
    if (said + 1 == LISTED && count > LISTED)
        tc_buffer_printf(out, " and %zu others", count - LISTED);
}

static size_t count_of(const bool *marks, size_t count) {
    size_t marked = 0;
    for (size_t i = 0; i < count; i++)
        marked += marks[i];
    return marked;
}

static const char *name_of_agent(tc_arena *arena, const tc_model *model, size_t agent) {
    tc_buffer name = tc_buffer_new(arena, 4096);
    const tc_family *family = tc_family_of_agent(model, agent);
    tc_agent_name(&name, family, agent - family->first_agent);
    return tc_buffer_text(&name);
}

const char *tc_conflict_sentence(tc_arena *arena, const tc_model *model, const tc_reference *reference) {
    const bool *rows = reference->conflict, *held = reference->held;
    size_t count = rows == NULL ? 0 : count_of(rows, model->constraint_count), said = 0;
    if (count == 0)
        return NULL;
    tc_buffer out = tc_buffer_new(arena, 1 << 16);
    tc_buffer_printf(&out, "No point of the sets satisfies constraint%s ", tc_plural(count));
    for (size_t j = 0; j < model->constraint_count; j++)
        if (rows[j])
            add_to_list(&out, said++, count, model->constraints[j].name);
    tc_buffer_puts(&out, count > 1 ? " together" : "");
    count = count_of(held, model->agent_count);
    if (count == 0) {
        tc_buffer_puts(&out, ".");
        return tc_buffer_text(&out);
    }
    tc_buffer_printf(&out, ", as the set%s of ", tc_plural(count));
    said = 0;
    for (size_t i = 0; i < model->agent_count && said < LISTED; i++)
        if (held[i])
            add_to_list(&out, said++, count, name_of_agent(arena, model, i));
    tc_buffer_printf(&out, " leave%s no room.", count > 1 ? "" : "s");
    return tc_buffer_text(&out);
}

/* Which constraints exclude each other, or which one is missed most; NULL where that is not known. */
static const char *conflict_of(tc_arena *arena, const tc_solution *solution) {
    const tc_analysis *a = solution->assumptions;
    char most[32];
    if (a != NULL && a->slater_facts.contradiction != NULL)
        return a->slater_facts.contradiction;
    const char *sentence = tc_conflict_sentence(arena, solution->model, solution->reference);
    if (sentence != NULL || solution->reference->outcome != TC_INFEASIBLE_SUSPECTED ||
        solution->model->constraint_count == 0 || tc_solution_lacks_points(solution))
        return sentence;
    return tc_arena_format(arena, "At this point constraint %s is missed most, by %s.",
                           solution->model->constraints[solution->reference->worst].name,
                           tc_shown(most, solution->reference->max_violation, 0, 3));
}

const char *tc_solution_reason(tc_arena *arena, const tc_solution *solution) {
    if (!tc_solution_is_convex(solution) && !tc_solution_lacks_points(solution))
        return "the problem is not proved convex and smooth: tacit check says where";
    if (tc_solution_lacks_points(solution) && solution->assumptions->sets.finding_count > 0)
        return solution->assumptions->sets.findings[0].text;
    const char *conflict = conflict_of(arena, solution);
    return conflict != NULL ? conflict : tc_outcome_name(solution->reference->outcome);
}

/* "conflict": null, or {"constraints", "sets_of"}: all names. */
static void json_conflict(const tc_solution *solution, tc_json *json) {
    const tc_model *model = solution->model;
    const tc_reference *reference = solution->reference;
    if (reference->conflict == NULL || count_of(reference->conflict, model->constraint_count) == 0) {
        tc_json_null(json, "conflict");
        return;
    }
    tc_json_open_object(json, "conflict");
    tc_json_open_array(json, "constraints");
    for (size_t j = 0; j < model->constraint_count; j++)
        if (reference->conflict[j])
            tc_json_string(json, NULL, model->constraints[j].name);
    tc_json_close_array(json);
    tc_json_open_array(json, "sets_of");
    for (size_t i = 0; i < model->agent_count; i++)
        if (reference->held[i])
            tc_json_string(json, NULL, name_of_agent(json->out->arena, model, i));
    tc_json_close_array(json);
    tc_json_close_object(json);
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
    if (conflict_of(json->out->arena, solution) != NULL) {
        tc_json_open_object(json, NULL);
        tc_json_null(json, "place");
        tc_json_null(json, "expression");
        tc_json_string(json, "text", conflict_of(json->out->arena, solution));
        tc_json_close_object(json);
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

/* If no point exists, members about it are null. */
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
    json_conflict(solution, json);
    if (tc_solution_lacks_points(solution))
        json_no_values(json);
    else
        json_values(solution, json);
    tc_json_close_object(json);
}

/* ---- for people ---- */

enum { WIDTH = 80, SHOWN_CONSTRAINTS = 10 };
static const double DUST = 1e-12; /* of a number's natural size: not worth printing */

/* A multiplier that is zero up to rounding has no price. The residual says nothing about a point that is no
 * solution. */
static double least_price(const tc_reference *reference) {
    double dust = DUST * reference->norm_mu;
    return reference->outcome == TC_SOLVED ? fmax(dust, reference->residual) : dust;
}

static void text_findings(const tc_assumption *assumption, const tc_text_layout *layout) {
    for (size_t i = 0; assumption->verdict != TC_HOLDS && i < assumption->finding_count; i++) {
        const tc_finding *finding = &assumption->findings[i];
        if (finding->place != NULL) {
            tc_buffer_puts(layout->out, "  ");
            tc_layout_wrap(layout, tc_arena_format(layout->out->arena, "%s: %s", finding->place, finding->expression),
                           6, 2);
        }
        tc_layout_paragraph(layout, finding->place == NULL ? 2 : 4, finding->text);
    }
    if (assumption->verdict != TC_HOLDS && assumption->findings_left_out > 0)
        tc_buffer_printf(layout->out, "  ... and %zu more\n", assumption->findings_left_out);
}

static void text_assumptions(const tc_solution *solution, const tc_text_layout *layout) {
    const tc_analysis *a = solution->assumptions;
    if (a == NULL || tc_solution_is_convex(solution))
        return;
    tc_layout_paragraph(
        layout, 0,
        "Warning: the problem is not proved convex and smooth. This point is only a stationary point; a "
        "better one may exist.");
    text_findings(&a->objectives, layout);
    text_findings(&a->constraints, layout);
    tc_buffer_puts(layout->out, "\n");
}

static const char *heading(const tc_solution *solution) {
    const tc_reference *reference = solution->reference;
    switch (reference->outcome) {
    case TC_SOLVED:
        return tc_solution_is_convex(solution) ? "Solved: the saddle point conditions hold within the tolerance."
                                               : "Stationary: the first-order conditions hold within the tolerance.";
    case TC_INACCURATE:
        return reference->is_solution ? "Not least norm: this is a solution, but another one may have a smaller norm."
                                      : "Not accurate: the iteration stopped before the tolerance was reached.";
    case TC_INFEASIBLE_SUSPECTED:
        return "No solution: no point seems to satisfy all constraints. This is the best found.";
    case TC_SOLVE_INTERRUPTED:
        return "Interrupted: this is the best point so far.";
    }
    return "";
}

static void text_multipliers(const tc_solution *solution, bool full, tc_buffer *out) {
    const tc_model *model = solution->model;
    const double *mu = solution->reference->mu, least = least_price(solution->reference);
    size_t active = 0, shown = 0;
    for (size_t j = 0; j < model->constraint_count; j++)
        active += fabs(mu[j]) > least;
    tc_buffer_printf(out, "\nmultipliers: %zu of %zu constraint%s %s a price\n", active, model->constraint_count,
                     tc_plural(model->constraint_count), active == 1 || model->constraint_count == 1 ? "has" : "have");
    for (size_t j = 0; j < model->constraint_count && (full || shown < SHOWN_CONSTRAINTS); j++) {
        if (!(fabs(mu[j]) > least) && !full)
            continue;
        tc_point_name(out, model->constraints[j].name);
        tc_point_numbers(out, &(double){fabs(mu[j]) > least ? mu[j] : 0}, 1, true);
        shown++;
    }
    if (!full)
        tc_point_left_out(out, active - shown);
}

static bool somebody_maximizes(const tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++) {
        if (model->families[f].maximizes)
            return true;
    }
    return false;
}

static void text_facts(const tc_solution *solution, tc_buffer *out) {
    const tc_reference *reference = solution->reference;
    tc_buffer_printf(out, "  objective           %.10g%s\n", reference->objective,
                     somebody_maximizes(solution->model) ? " (what is maximized counts negative)" : "");
    tc_buffer_printf(out, "  residual            %.1e after %zu iteration%s\n", reference->residual,
                     reference->iterations, tc_plural(reference->iterations));
    tc_buffer_printf(out, "  largest violation   %.1e\n", reference->max_violation);
    tc_buffer_printf(out, "  norm of x           %.6g\n", reference->norm_x);
    tc_buffer_printf(out, "  norm of mu          %.6g\n",
                     reference->norm_mu > least_price(reference) ? reference->norm_mu : 0);
    if (isfinite(reference->error_x) && isfinite(reference->error_mu))
        tc_buffer_printf(out, "  off the least norm  by about %.1e in x and %.1e in mu\n", reference->error_x,
                         reference->error_mu);
}

void tc_solution_text(const tc_solution *solution, bool full, tc_buffer *out) {
    tc_text_layout layout = {.out = out, .width = WIDTH};
    if (tc_solution_lacks_points(solution)) {
        tc_buffer_puts(out, "No solution: a private set is empty.\n\n");
        text_findings(&solution->assumptions->sets, &layout);
        return;
    }
    text_assumptions(solution, &layout);
    tc_buffer_printf(out, "%s\n\n", heading(solution));
    if (conflict_of(out->arena, solution) != NULL) {
        tc_buffer_puts(out, "  ");
        tc_layout_wrap(&layout, conflict_of(out->arena, solution), 2, 2);
        tc_buffer_puts(out, "\n");
    }
    text_facts(solution, out);
    tc_buffer_puts(out, "\nstates\n");
    tc_point_states(solution->model, solution->reference->x, full, out);
    if (solution->model->constraint_count > 0)
        text_multipliers(solution, full, out);
    if (!tc_solution_outside_radius(solution))
        return;
    bool given = !isnan(solution->model->dual_radius);
    tc_buffer_puts(out, "\n");
    tc_layout_paragraph(&layout, 0,
                        tc_arena_format(out->arena,
                                        "Warning: the multipliers sum to %.6g, more than the %s dual radius of %.6g%s. "
                                        "A private run, which keeps them within it, cannot reach this solution.",
                                        tc_solution_sum(solution), given ? "file's" : "public",
                                        tc_solution_radius(solution), given ? "" : " (from gaps and Slater point)"));
}
