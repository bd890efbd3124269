#include "theory/bound.h"

#include "calculus/interval/interval.h"
#include "theory/bound_hessians.h"
#include "theory/bound_noise.h"
#include "solver/project/set.h"

typedef struct extent { /* of a box around X: sums of squares */
    double widths, reaches;
} extent;

static void add_range(extent *e, double low, double high) {
    double width = tc_add_up(high, -low), reach = fmax(fabs(low), fabs(high));
    e->widths = tc_add_up(e->widths, tc_mul_up(width, width));
    e->reaches = tc_add_up(e->reaches, tc_mul_up(reach, reach));
}

/* X_i lies in the public box, and in the box around its private set. */
static void add_family(tc_arena *arena, const tc_family *family, extent *e) {
    tc_set *set = family->piece_count > 0 ? tc_set_new(arena, family) : NULL;
    double *low = TC_NEW(arena, double, family->dim + 1), *high = TC_NEW(arena, double, family->dim + 1);
    for (size_t k = 0; k < family->count; k++) {
        bool inner = false;
        if (set != NULL) {
            tc_set_load(set, k);
            inner = !set->is_empty;
            if (inner)
                tc_set_bounds(set, low, high);
        }
        for (size_t c = 0; c < family->dim; c++) {
            double lower = tc_coef_at(family->lower[c], k), upper = tc_coef_at(family->upper[c], k);
            add_range(e, inner ? fmax(lower, low[c]) : lower, inner ? fmin(upper, high[c]) : upper);
        }
    }
}

/* M = {mu >= 0, |mu|_1 <= R}: no longer than R from 0, and two vertices R e_i, R e_j are sqrt(2) R apart. */
static void measure_sets(tc_arena *arena, const tc_model *model, tc_bound_constants *c) {
    extent e = {0, 0};
    for (size_t f = 0; f < model->family_count; f++)
        add_family(arena, &model->families[f], &e);
    double square = tc_mul_up(c->dual_radius, c->dual_radius);
    size_t m = model->constraint_count;
    c->reach = tc_sqrt_up(tc_add_up(e.reaches, square));
    c->diameter = tc_sqrt_up(tc_add_up(e.widths, m > 1 ? tc_mul_up(2, square) : square));
}

/* The norm of [h s; s 0]: G's derivative [H J'; -J 0] has blocks no longer than that. */
static double joint_norm(double h, double s) {
    double root = tc_sqrt_up(tc_add_up(tc_mul_up(h, h), tc_mul_up(4, tc_mul_up(s, s))));
    return tc_mul_up(0.5, tc_add_up(h, root));
}

/* Where the theorem's own assumptions are missing, the first of them. */
static const char *missing(const tc_analysis *analysis, const tc_bound_constants *c) {
    if (analysis->constraints.verdict != TC_HOLDS)
        return "the constraints are not proved to be convex and smooth (`tacit check` says where)";
    if (analysis->objectives.verdict != TC_HOLDS)
        return "the objectives are not proved to be convex and smooth (`tacit check` says where)";
    if (analysis->sets.verdict != TC_HOLDS)
        return "some agent's set is not proved to be non-empty, compact and convex (`tacit check` says which)";
    if (!isfinite(c->dual_radius))
        return "there is no dual radius (`tacit check` says why)";
    return NULL;
}

tc_bound_constants tc_bound_measure(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                    const tc_analysis *analysis, const tc_plan *plan, double dual_radius,
                                    const tc_monitor *monitor) {
    bool alone = model->constraint_count == 0;
    tc_bound_constants c = {.dual_radius = alone ? 0 : dual_radius, .slope = alone ? 0 : analysis->g[1].upper};
    if (isnan(c.dual_radius))
        c.dual_radius = HUGE_VAL;
    for (size_t i = 0; i < analysis->agent_rows; i++)
        c.objective_curvature = fmax(c.objective_curvature, analysis->agents[i].objective.upper);
    tc_streams *streams = tc_streams_new(arena, model, derivatives, monitor);
    tc_streams_outer_box(streams);
    bool states = plan->placement == TC_PLACEMENT_STATES && plan->mechanism != TC_MECHANISM_NONE;
    const tc_bound_hessian *hessians =
        tc_bound_hessians(streams, states ? tc_bound_state_variance : (tc_bound_variance)NULL, plan);
    for (size_t j = 0; j < model->constraint_count; j++)
        c.constraint_curvature = fmax(c.constraint_curvature, hessians[j].norm);
    double pulled = c.constraint_curvature == 0 ? 0 : tc_mul_up(c.dual_radius, c.constraint_curvature);
    c.curvature = tc_add_up(c.objective_curvature, pulled);
    c.lipschitz = joint_norm(c.curvature, c.slope);
    measure_sets(arena, model, &c);
    tc_bound_measure_noise(arena, plan, streams, hessians, &c);
    const char *lacking = missing(analysis, &c);
    if (lacking != NULL)
        c.problem = lacking;
    return c;
}
