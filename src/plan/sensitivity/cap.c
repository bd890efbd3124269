#include "plan/sensitivity/cap.h"

#include "analysis/region.h"
#include "calculus/interval/interval.h"
#include "model/spread.h"

#include <stdlib.h>

enum { BITS = 61 }; /* of w.y, at most */

/* ---- from a.x <= b to w.y <= C ----------------------------------------------------------------------------------- */

typedef struct lattice_side { /* the lattice points of one side of the box, as the release has them */
    double least, most;
} lattice_side;

static lattice_side side_of(const tc_family *family, size_t member, size_t c, int exponent) {
    return (lattice_side){ceil(ldexp(tc_coef_at(family->lower[c], member), -exponent)),
                          floor(ldexp(tc_coef_at(family->upper[c], member), -exponent))};
}

static double coefficient(const tc_set_piece *set, size_t member, size_t c) {
    return c >= set->first && c - set->first < set->count ? tc_coef_at(set->center[c - set->first], member) : 0;
}

/* docs/proofs/publicset.md, section 1: weights are rounded down, the bound up. */
static void set_member(const tc_family *family, const tc_set_piece *set, size_t member, int exponent, tc_cap *cap) {
    double all = 0, room = tc_coef_at(set->radius, member), widen = 0, h = ldexp(1, exponent);
    int64_t used = 0;
    int power = 0;
    size_t first = member * cap->dim;
    for (size_t c = 0; c < cap->dim; c++) {
        double a = coefficient(set, member, c);
        lattice_side side = side_of(family, member, c, exponent);
        double corner = a < 0 ? side.most : side.least;
        cap->falls[first + c] = a < 0;
        cap->corner[first + c] = (int64_t)corner;
        all = tc_add_up(all, tc_mul_up(fabs(a), side.most - side.least));
        room = tc_add_up(room, tc_mul_up(-a, corner * h));
        widen = tc_add_up(widen, fabs(a));
    }
    room = tc_add_up(room, tc_mul_up(widen, 2 * h));
    if (!isfinite(all) || !isfinite(room))
        return; /* no weights: nothing is relied on */
    (void)frexp(all, &power);
    for (size_t c = 0; c < cap->dim; c++) {
        lattice_side side = side_of(family, member, c, exponent);
        double width = side.most - side.least;
        cap->weight[first + c] = width > 0 ? (int64_t)floor(ldexp(fabs(coefficient(set, member, c)), BITS - power)) : 0;
        used += cap->weight[first + c] * (int64_t)width;
    }
    double bound = floor(ldexp(room, BITS - power - exponent));
    cap->bound[member] = !(bound > 0) ? 0 : bound < (double)used ? (int64_t)bound : used;
}

tc_caps *tc_caps_new(tc_arena *arena, const tc_model *model, int exponent) {
    tc_caps *caps = NULL;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        const tc_set_piece *set = tc_public_set(family);
        if (set == NULL)
            continue;
        if (caps == NULL) {
            caps = TC_NEW(arena, tc_caps, 1);
            *caps = (tc_caps){TC_NEW(arena, tc_cap *, model->family_count), ldexp(1, exponent)};
        }
        tc_cap *cap = caps->families[f] = TC_NEW(arena, tc_cap, 1);
        bool varies = !tc_same_public(family);
        size_t members = varies ? family->count : 1;
        *cap = (tc_cap){.members = members,
                        .dim = family->dim,
                        .weight = TC_NEW(arena, int64_t, members * family->dim),
                        .corner = TC_NEW(arena, int64_t, members * family->dim),
                        .falls = TC_NEW(arena, bool, members * family->dim),
                        .bound = TC_NEW(arena, int64_t, members)};
        for (size_t k = tc_first_known(family, varies); k < tc_end_known(family, varies); k++)
            set_member(family, set, k, exponent, cap);
    }
    return caps;
}

bool tc_relies_on_caps(const tc_plan *plan) {
    bool found = false;
    for (size_t f = 0; plan->adjacency == TC_ADJACENCY_AGENT && f < plan->model->family_count; f++)
        found = found || tc_public_set(&plan->model->families[f]) != NULL;
    return found;
}

tc_caps *tc_caps_of_plan(tc_arena *arena, const tc_model *model, const tc_plan *plan) {
    return plan->adjacency == TC_ADJACENCY_AGENT ? tc_caps_new(arena, model, plan->state_exponent) : NULL;
}

/* ---- enforcement ------------------------------------------------------------------------------------------------- */

int64_t tc_cap_moved(const tc_cap *cap, size_t member, size_t c, int64_t units, int64_t *excess) {
    size_t at = (cap->members == 1 ? 0 : member) * cap->dim + c;
    int64_t weight = cap->weight[at], away = cap->falls[at] ? cap->corner[at] - units : units - cap->corner[at];
    if (weight == 0 || *excess <= 0)
        return units;
    int64_t steps = *excess / weight + (*excess % weight != 0);
    steps = steps < away ? steps : away;
    *excess -= steps * weight;
    return cap->falls[at] ? units + steps : units - steps;
}

bool tc_cap_keep(const tc_cap *cap, size_t member, int64_t *units, size_t stride) {
    int64_t excess = -tc_cap_bound(cap, member);
    for (size_t c = 0; c < cap->dim; c++)
        excess += tc_cap_use(cap, member, c, units[c * stride]);
    if (excess <= 0)
        return false;
    for (size_t c = 0; c < cap->dim; c++)
        units[c * stride] = tc_cap_moved(cap, member, c, units[c * stride], &excess);
    return true;
}

/* ---- sensitivities ----------------------------------------------------------------------------------------------- */

static double width_of(const tc_family *family, size_t member, size_t c) {
    tc_interval range = tc_public_range(family, member, c);
    return tc_add_up(range.hi, -range.lo);
}

static int compare_gains(const void *x, const void *y) {
    const tc_gain *a = x, *b = y;
    if (a->ratio != b->ratio)
        return a->ratio > b->ratio ? -1 : 1;
    return a->component < b->component ? -1 : a->component > b->component;
}

/* The linear program of a knapsack: any price l >= 0 of a unit of weight proves the bound
 * l room + sum over c of width_c (gain_c - l w_c)^+, and the ratio of the item that no longer fits the least one. */
double tc_cap_most(const tc_caps *caps, const tc_family *family, size_t number, size_t member, tc_gain *gains,
                   size_t count, int times) {
    const tc_cap *cap = caps->families[number];
    size_t one = cap->members == 1 ? 0 : member;
    const int64_t *weight = cap->weight + one * cap->dim;
    double room = tc_mul_up(tc_mul_up(times, tc_above((double)cap->bound[one])), caps->step), used = 0, price = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(gains[i].gain))
            return INFINITY;
        gains[i].ratio = gains[i].gain / (double)weight[gains[i].component]; /* infinite, or 0 / 0, where it is free */
        gains[i].ratio = isnan(gains[i].ratio) ? 0 : gains[i].ratio;
    }
    qsort(gains, count, sizeof *gains, compare_gains);
    for (size_t i = 0; i < count && used <= room; i++) {
        used += (double)weight[gains[i].component] * width_of(family, member, gains[i].component);
        price = used > room ? gains[i].ratio : 0;
    }
    double total = tc_mul_up(price, room);
    for (size_t i = 0; i < count; i++) {
        double left = tc_add_up(gains[i].gain, tc_mul_up(-price, (double)weight[gains[i].component]));
        if (left > 0)
            total = tc_add_up(total, tc_mul_up(left, width_of(family, member, gains[i].component)));
    }
    return isnan(total) ? (double)INFINITY : total;
}

double tc_cap_reach(tc_arena *arena, const tc_caps *caps, const tc_family *family, size_t number, size_t member,
                    bool euclidean) {
    tc_mark mark = tc_arena_mark(arena);
    tc_gain *gains = TC_NEW(arena, tc_gain, family->dim + 1);
    for (size_t c = 0; c < family->dim;
         c++) { /* l2: |x - x'|^2 <= sum over c of (the most of |x_c - x_c'|) |x_c - x_c'| */
        tc_gain alone = {.component = c, .gain = 1};
        gains[c] =
            (tc_gain){.component = c, .gain = euclidean ? tc_cap_most(caps, family, number, member, &alone, 1, 1) : 1};
    }
    double most = tc_cap_most(caps, family, number, member, gains, family->dim, 2);
    tc_arena_rewind(arena, mark);
    return euclidean ? tc_sqrt_up(most) : most;
}
