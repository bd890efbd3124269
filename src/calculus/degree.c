#include "calculus/degree.h"

static bool varies(const tc_model *model, tc_expr e) { return model->dag->nodes[e].has_state; }

/* Whether each input of Phi is affine in the states; false where one is not even quadratic. */
static bool find_degrees(const tc_model *model, const tc_derivatives *d, bool *affine) {
    for (size_t i = 0; i < d->input_count; i++)
        affine[i] = true;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_derivatives *of = &d->families[f];
        for (size_t i = 0; i < of->body_second_count; i++) {
            if (varies(model, of->body_second[i].value))
                return false;
            affine[of->sums[of->body_second[i].row]] = false;
        }
        for (size_t i = 0; i < of->body_first_count; i++)
            if (varies(model, of->body_first[i].value))
                affine[of->sums[of->body_first[i].row]] = false;
    }
    return true;
}

/* g_j = Phi_j(u): d^2 g_j = sum_{r,s} Phi_{j,rs} du_r du_s + sum_r Phi_{j,r} d^2 u_r. */
bool tc_constraints_are_quadratic(tc_arena *arena, const tc_model *model, const tc_derivatives *d) {
    bool *affine = TC_NEW(arena, bool, d->input_count);
    if (!find_degrees(model, d, affine))
        return false;
    for (size_t i = 0; i < d->outer_second_count; i++)
        if (varies(model, d->outer_second[i].value) || !affine[d->outer_second[i].column] ||
            !affine[d->outer_second[i].other])
            return false;
    for (size_t i = 0; i < d->outer_first_count; i++)
        if (varies(model, d->outer_first[i].value) && !affine[d->outer_first[i].column])
            return false;
    return true;
}
