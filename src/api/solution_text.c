#include "base/text.h"
#include "model/point.h"
#include "api/solution.h"

#include <math.h>

enum { WIDTH = 80, SHOWN_CONSTRAINTS = 10 };
static const double DUST = 1e-12; /* of a number's natural size: not worth printing */

/* What is zero but for rounding has no price. Of a point that is no solution the residual says nothing. */
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
        active += mu[j] > least;
    tc_buffer_printf(out, "\nmultipliers: %zu of %zu constraint%s %s a price\n", active, model->constraint_count,
                     tc_plural(model->constraint_count), active == 1 || model->constraint_count == 1 ? "has" : "have");
    for (size_t j = 0; j < model->constraint_count && (full || shown < SHOWN_CONSTRAINTS); j++) {
        if (!(mu[j] > least) && !full)
            continue;
        tc_point_name(out, model->constraints[j].name);
        tc_point_numbers(out, &(double){mu[j] > least ? mu[j] : 0}, 1, true);
        shown++;
    }
    if (!full)
        tc_point_left_out(out, active - shown);
}

static void text_facts(const tc_reference *reference, tc_buffer *out) {
    tc_buffer_printf(out, "  objective           %.10g\n", reference->objective);
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
    text_facts(solution->reference, out);
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
