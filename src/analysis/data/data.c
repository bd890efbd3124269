/* Distances of protected data, family by family: which rule holds, or why none does. */
#include "analysis/data/data.h"

#include "analysis/convexity/curvature.h"
#include "analysis/data/inside.h"
#include "model/spread.h"

/* ---- the box ----------------------------------------------------------------------------------------------------- */

double tc_box_diameter(const tc_family *family, int norm) {
    double most = 0;
    bool varies = !tc_same_boxes(family);
    for (size_t k = tc_first_known(family, varies); k < tc_end_known(family, varies); k++) {
        double sum = 0;
        for (size_t c = 0; c < family->dim; c++) {
            tc_interval range = tc_public_range(family, k, c);
            double width = tc_add_up(range.hi, -range.lo);
            sum = tc_add_up(sum, norm == 1 ? width : tc_mul_up(width, width));
        }
        most = fmax(most, norm == 1 ? sum : tc_sqrt_up(sum));
    }
    return varies ? tc_largest_of(family, most) : most;
}

bool tc_data_needs_steps(const tc_family *family) {
    double sums[2] = {0, 0};
    bool any = false;
    for (size_t d = 0; d < family->datum_count; d++) {
        if (family->data[d].by == NULL)
            continue;
        any = true;
        for (int norm = 0; norm < 2; norm++)
            sums[norm] = tc_add_up(sums[norm], family->data[d].distances[norm]);
    }
    return any && !(sums[0] >= tc_box_diameter(family, 1) && sums[1] >= tc_box_diameter(family, 2));
}

/* ---- one family -------------------------------------------------------------------------------------------------- */

/* For all data in the ranges, not only for those that agents happen to have. */
static bool is_convex(tc_ranged *r) {
    tc_prover_at_batch(r->prover, r->batch);
    r->prover->hessians = NULL; /* of other families' objectives */
    tc_cone cone = tc_cone_of(r->prover, r->family->objective);
    tc_prover_enclose(r->prover, &cone);
    return tc_is_convex(tc_prover_judge(r->prover, &cone, TC_CONVEX));
}

/* What no rule is needed for: the agent's steps can be proved accurate. */
static const char *step_fault(tc_ranged *r, const tc_set_form *form) {
    if (r->derivatives->lift != NULL)
        return "the objective has kinks, and steps with kinks are not proved";
    if (form->has_curved)
        return "the agent's set has a ball or an ellipsoid, and steps there are not proved";
    if (form->rows > 0 && !form->one_direction)
        return "the agent's set has relations of different directions, and steps there are not proved";
    if (form->rows > 0 && !tc_objective_is_separable(r))
        return "the objective couples states beside a relation of several states, and steps there are not proved";
    return NULL;
}

static const char *datum_distances(tc_ranged *r, const tc_set_form *form, double distances[2]) {
    bool in_objective = tc_ranged_moves(r, r->family->objective), in_sets = tc_sets_move(r);
    distances[0] = distances[1] = 0;
    for (size_t c = 0; r->family->start != NULL && c < r->family->dim; c++) {
        if (tc_ranged_start_moves(r, c))
            return "the agent's start depends on it";
    }
    if (!in_objective && !in_sets)
        return NULL;
    if (r->is_computed)
        return "a maximum, an exponent or a choice among numbers is computed beforehand from it";
    const char *fault = step_fault(r, form);
    if (fault != NULL)
        return fault;
    double part[2];
    if (in_objective) {
        fault = tc_objective_distances(r, form, part);
        if (fault != NULL)
            return fault;
        distances[0] = part[0];
        distances[1] = part[1];
    }
    if (in_sets) { /* moved one after the other */
        fault = tc_set_distances(r, form, part);
        if (fault != NULL)
            return fault;
        distances[0] = tc_add_up(distances[0], part[0]);
        distances[1] = tc_add_up(distances[1], part[1]);
    }
    return NULL;
}

static void certify_family(tc_ranged *r) {
    tc_family *family = r->family;
    tc_set_form form = tc_set_form_of(r);
    bool convex = is_convex(r), declared = r->model->role == TC_ROLE_AGENT, protects = false;
    double diameter[2] = {tc_box_diameter(family, 1), tc_box_diameter(family, 2)};
    for (size_t i = 0; i < family->datum_count; i++)
        protects = protects || family->data[i].by != NULL;
    double gap = family->has_slater && convex ? tc_ranged_gap(r) : (double)INFINITY;
    if (!family->has_gap && isfinite(gap)) {
        family->has_gap = true;
        family->gap = (tc_coef){.value = gap};
    }
    if (!protects)
        return;
    family->data_fault = tc_slater_fault(r, &form);
    for (size_t i = 0; i < family->datum_count && family->data_fault == NULL; i++) {
        tc_ranged_move(r, &family->data[i]);
        family->data_fault = tc_reading_fault(r, family->data[i].name, convex);
    }
    if (family->data_fault != NULL)
        return;
    for (size_t i = 0; i < family->datum_count; i++) {
        tc_datum *datum = &family->data[i];
        if (datum->by == NULL)
            continue;
        double found[2];
        tc_ranged_move(r, datum);
        datum->note = datum_distances(r, &form, found);
        if (datum->note == NULL && found[0] >= diameter[0] && found[1] >= diameter[1])
            datum->note = "the distance that is proved is no smaller";
        for (int norm = 0; norm < 2; norm++) {
            found[norm] = datum->note == NULL ? fmin(found[norm], diameter[norm]) : diameter[norm];
            if (declared && !(datum->distances[norm] >= found[norm]))
                family->data_fault =
                    tc_arena_format(r->arena, "the distance of %s in this file, %g, is not proved: %g is", datum->name,
                                    datum->distances[norm], found[norm]);
            else if (!declared)
                datum->distances[norm] = found[norm];
        }
    }
}

void tc_data_certify(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives) {
    tc_ranged *r = tc_ranged_new(arena, model);
    for (size_t f = 0; model->role != TC_ROLE_CLOUD && f < model->family_count; f++) {
        tc_family *family = &model->families[f];
        if (family->datum_count == 0 || family->objective == TC_NO_EXPR)
            continue;
        tc_ranged_take(r, family, &derivatives->families[f]);
        certify_family(r);
    }
}
