/* What would keep an agent from taking part for some values of a protected datum, and not for others: whether it is
 * there would tell of the datum. All that is checked when a problem is read has to hold for all data in the ranges. */
#include "analysis/data/inside.h"

static bool is_met(tc_interval value, tc_demand_kind kind) {
    switch (kind) {
    case TC_MUST_BE_POSITIVE:
        return value.lo > 0;
    case TC_MUST_NOT_BE_NEGATIVE:
        return value.lo >= 0;
    case TC_MUST_NOT_BE_ZERO:
        return tc_mignitude(value) > 0;
    case TC_MUST_BE_FINITE:
        return tc_is_finite(value);
    case TC_MUST_BE_A_PLACE:
        break; /* the places of a range that has more than one number are not all whole */
    }
    return false;
}

/* Numbers are checked as they are computed. */
static tc_interval computed(tc_ranged *r, tc_expr e) {
    static const double any = 0;
    return tc_ranged_coef(r, (tc_coef){.column = &any, .made_of = e + 1});
}

static const char *demand_fault(tc_ranged *r) {
    static const char *const wanted[] = {[TC_MUST_BE_POSITIVE] = "positive",
                                         [TC_MUST_NOT_BE_NEGATIVE] = "not negative",
                                         [TC_MUST_NOT_BE_ZERO] = "not zero",
                                         [TC_MUST_BE_FINITE] = "finite",
                                         [TC_MUST_BE_A_PLACE] = "a place in a vector"};
    for (size_t i = 0; i < r->family->demand_count; i++) {
        const tc_demand *demand = &r->family->demands[i];
        if (!tc_ranged_moves(r, demand->of) || is_met(computed(r, demand->of), demand->kind))
            continue;
        tc_buffer text = tc_buffer_new(r->arena, 4096);
        tc_span_text(&text, &r->model->source, demand->span);
        return tc_arena_format(r->arena, "'%s' is not proved to be %s for all data in the ranges",
                               tc_buffer_text(&text), wanted[demand->kind]);
    }
    return NULL;
}

/* A start outside of the box, a relation without coefficients and a matrix that is not definite are refused. */
static const char *shape_fault(tc_ranged *r) {
    const tc_family *family = r->family;
    for (size_t c = 0; family->start != NULL && c < family->dim; c++) {
        tc_interval at = tc_ranged_coef(r, family->start[c]);
        if (tc_ranged_start_moves(r, c) &&
            !(at.lo >= tc_ranged_coef(r, family->lower[c]).hi && at.hi <= tc_ranged_coef(r, family->upper[c]).lo))
            return "the start is not proved to lie in the box for all data in the ranges";
    }
    for (size_t p = 0; p < family->piece_count; p++) {
        const tc_set_piece *piece = &family->pieces[p];
        bool moves = false, has_normal = piece->kind != TC_SET_HALFSPACE && piece->kind != TC_SET_HYPERPLANE;
        for (size_t c = 0; !has_normal && c < piece->count; c++) {
            moves = moves || tc_ranged_coef_moves(r, piece->center[c]);
            has_normal = tc_mignitude(tc_ranged_coef(r, piece->center[c])) > 0;
        }
        if (moves && !has_normal)
            return "the coefficients of a relation may all be zero for some data in the ranges";
        for (size_t i = 0; piece->matrix != NULL && i < piece->count * piece->count; i++) {
            if (tc_ranged_coef_moves(r, piece->matrix[i]))
                return "the matrix of an ellipsoid is not proved to be definite for all data in the ranges";
        }
    }
    return NULL;
}

const char *tc_reading_fault(tc_ranged *r, const char *datum, bool convex) {
    const char *fault = demand_fault(r);
    fault = fault != NULL ? fault : shape_fault(r);
    if (fault == NULL && !convex && tc_ranged_moves(r, r->family->objective))
        fault = "the objective is not proved to be convex for all data in the ranges";
    return fault == NULL ? NULL
                         : tc_arena_format(r->arena,
                                           "%s, and whether an agent takes part would tell something of %s: narrow the "
                                           "ranges, or give every private number there a range",
                                           fault, datum);
}
