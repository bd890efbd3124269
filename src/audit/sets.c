/* Public sets that a plan relies on: an agent that breaks its promise must not gain by it. The auditor reads
 * docs/proofs/publicset.md by itself, and asks the release what it makes of a state outside. */
#include "audit/inside.h"

#include "analysis/region.h"

#include <stdlib.h>
#include <string.h>

void tc_audit_keep(const tc_caps *caps, const tc_family *family, size_t number, size_t member, bool backward,
                   double *x) {
    const tc_cap *cap = caps != NULL ? caps->families[number] : NULL;
    if (cap == NULL)
        return;
    const size_t first = (cap->members == 1 ? 0 : member) * cap->dim;
    int64_t excess = -cap->bound[cap->members == 1 ? 0 : member];
    for (size_t c = 0; c < cap->dim; c++) {
        int64_t units = (int64_t)(x[tc_coord_of(family, member, c)] / caps->step);
        excess += cap->weight[first + c] * llabs(units - cap->corner[first + c]);
    }
    for (size_t i = 0; excess > 0 && i < cap->dim; i++) {
        size_t c = backward ? cap->dim - 1 - i : i;
        double *at = &x[tc_coord_of(family, member, c)];
        int64_t corner = cap->corner[first + c], away = llabs((int64_t)(*at / caps->step) - corner);
        int64_t weight = cap->weight[first + c], steps = weight > 0 ? (excess + weight - 1) / weight : 0;
        steps = steps < away ? steps : away;
        excess -= steps * weight;
        *at = (double)(cap->falls[first + c] ? corner - (away - steps) : corner + (away - steps)) * caps->step;
    }
}

/* ---- what the release makes of a state --------------------------------------------------------------------------- */

typedef struct set_trial {
    const tc_audit_view *view;
    const tc_caps *caps;
    size_t family, member;
    double *x[2];      /* the member's: outside, and where it is to be moved */
    double *values[2]; /* what is released of either, under the same noise */
} set_trial;

static tc_status release_state(tc_arena *arena, const set_trial *t, size_t which) {
    const tc_plan *plan = t->view->plan;
    tc_run_identity run = {.run_id = "audit of public sets", .run_id_length = 20};
    tc_random *random = NULL;
    tc_release *release = NULL;
    const char *why = NULL;
    tc_status status = tc_random_new_simulation(arena, &run, 1, &random); /* the path of data is asked for, not noise */
    if (status == TC_OK)
        status = tc_release_new(arena, plan, plan->measured, plan->measured_derivatives, random, NULL, &release, &why);
    if (status != TC_OK)
        return status;
    tc_released *released = tc_released_new(arena, release);
    tc_private_states *states = tc_states_of_plan(arena, t->view->model, plan);
    tc_taken taken =
        states != NULL ? tc_states_from_doubles(states, t->family, t->member, t->x[which]) : TC_STATE_TAKEN;
    (void)taken;
    status = states != NULL ? tc_release_round(release, 1, states, released) : TC_BAD_USAGE;
    if (status == TC_OK)
        tc_audit_read(t->view, released, t->values[which]);
    return status;
}

static tc_status release_apart(const set_trial *t, size_t which) {
    tc_arena *arena = tc_arena_new(0);
    tc_escape escape;
    if (arena == NULL)
        return TC_NO_MEMORY;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = release_state(arena, t, which);
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return status;
}

/* Whether the point lies in the set as the file has it, widened by two steps of every state. */
static bool is_inside(const set_trial *t, const double *x) {
    const tc_set_piece *set = tc_public_set(&t->view->model->families[t->family]);
    double sum = 0, wide = 0;
    for (size_t c = 0; set != NULL && c < set->count; c++) {
        double a = tc_coef_at(set->center[c], t->member);
        sum += a * x[set->first + c];
        wide += fabs(a) * (2 * t->caps->step + 1e-6 * fabs(x[set->first + c]));
    }
    return set == NULL || sum <= tc_coef_at(set->radius, t->member) + wide;
}

static void judge(tc_arena *arena, const set_trial *t, tc_audit *audit) {
    const tc_family *family = &t->view->model->families[t->family];
    tc_buffer name = tc_buffer_new(arena, 4096);
    tc_agent_name(&name, family, t->member);
    if (!is_inside(t, t->x[1]))
        tc_audit_add_fault(audit, "public set",
                           tc_arena_format(arena, "%s: the set that is enforced is larger than the public one",
                                           tc_buffer_text(&name)));
    else if (memcmp(t->values[0], t->values[1], t->view->count * sizeof(double)) != 0)
        tc_audit_add_fault(
            audit, "public set",
            tc_arena_format(arena,
                            "%s: a state outside of its public set is not moved into it, and prices rely "
                            "on that",
                            tc_buffer_text(&name)));
}

/* The corner of the box that is furthest outside; whether it is outside at all. */
static bool choose_state(tc_arena *arena, set_trial *t) {
    const tc_family *family = &t->view->model->families[t->family];
    const tc_cap *cap = t->caps->families[t->family];
    double *all = TC_NEW(arena, double, t->view->model->state_count);
    for (size_t c = 0; c < family->dim; c++) {
        size_t at = (cap->members == 1 ? 0 : t->member) * cap->dim + c;
        tc_interval range = tc_public_range(family, t->member, c);
        double step = t->caps->step;
        t->x[0][c] = cap->falls[at] ? ceil(range.lo / step) * step : floor(range.hi / step) * step;
        all[tc_coord_of(family, t->member, c)] = t->x[0][c];
    }
    tc_audit_keep(t->caps, family, t->family, t->member, false, all);
    for (size_t c = 0; c < family->dim; c++)
        t->x[1][c] = all[tc_coord_of(family, t->member, c)];
    return memcmp(t->x[0], t->x[1], family->dim * sizeof(double)) != 0;
}

static tc_status try_member(tc_arena *arena, const tc_audit_view *view, const tc_caps *caps, size_t family,
                            size_t member, tc_audit *audit) {
    set_trial t = {.view = view, .caps = caps, .family = family, .member = member};
    for (size_t w = 0; w < 2; w++) {
        t.x[w] = TC_NEW(arena, double, view->model->families[family].dim);
        t.values[w] = TC_NEW(arena, double, view->count);
    }
    if (!choose_state(arena, &t))
        return TC_OK;
    tc_status status = release_apart(&t, 0);
    if (status == TC_OK)
        status = release_apart(&t, 1);
    if (status == TC_OK)
        judge(arena, &t, audit);
    return status;
}

tc_status tc_audit_sets(tc_arena *arena, const tc_audit_view *view, tc_audit *audit) {
    const tc_caps *caps = tc_caps_of_plan(arena, view->model, view->plan);
    tc_status status = TC_OK;
    for (size_t f = 0; caps != NULL && f < view->model->family_count; f++) {
        size_t count = view->model->families[f].count;
        const size_t some[] = {0, count / 2, count - 1};
        for (size_t i = 0; caps->families[f] != NULL && i < 3 && status == TC_OK; i++) {
            if (i == 0 || some[i] != some[i - 1])
                status = try_member(arena, view, caps, f, some[i], audit);
        }
    }
    return status;
}
