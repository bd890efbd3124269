/* A problem with its plan, and F evaluated at points: what tests of plans look at. */
#ifndef TC_TESTS_PLANNED_H
#define TC_TESTS_PLANNED_H

#include "support/cmocka.h"
#include "support/random.h"

#include "analysis/data/data.h"
#include "model/model.h"
#include "plan/plan.h"
#include "release/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct planned {
    tc_arena *arena;
    tc_model *model;
    tc_derivatives *derivatives;
    tc_analysis *analysis;
} planned;

static inline void planned_open(planned *p, const char *path, const char *text) {
    tc_buffer messages = tc_buffer_new(p->arena, 1 << 20);
    tc_status status = text != NULL ? tc_model_parse(p->arena, path, text, strlen(text), NULL, &messages, &p->model)
                                    : tc_model_load(p->arena, path, NULL, &messages, &p->model);
    if (status != TC_OK)
        fail_msg("%s:\n%s\n%s", tc_status_text(status), text != NULL ? text : path, tc_buffer_text(&messages));
    tc_analysis_options options = {.skip_private = true};
    p->derivatives = tc_derive(p->arena, p->model);
    tc_data_certify(p->arena, p->model, p->derivatives);
    p->analysis = tc_analysis_run(p->arena, p->model, p->derivatives, &options, NULL);
}

static inline planned planned_problem(const char *path, const char *text) {
    planned p = {.arena = tc_arena_new(0)};
    tc_escape escape;
    tc_status status = TC_TRY(p.arena, &escape);
    if (status != TC_OK)
        fail_msg("raised: %s", tc_status_text(status));
    planned_open(&p, path, text);
    tc_escape_end(p.arena, &escape);
    return p;
}

/* Nothing is set but the method: published. */
static inline tc_plan_options planned_options(void) {
    return (tc_plan_options){.method = TC_METHOD_PUBLISHED,
                             .adjacency_bound = NAN,
                             .epsilon = NAN,
                             .delta = NAN,
                             .rounds = NAN,
                             .hold_cap = NAN};
}

static inline tc_plan *planned_plan(planned *p, const tc_plan_options *options) {
    tc_escape escape;
    tc_status status = TC_TRY(p->arena, &escape);
    if (status != TC_OK)
        fail_msg("raised: %s", tc_status_text(status));
    tc_plan *plan = tc_plan_make(p->arena, p->model, p->derivatives, p->analysis, options, NULL);
    tc_escape_end(p->arena, &escape);
    return plan;
}

static inline void planned_end(planned *p) { tc_arena_free(p->arena); }

/* ---- F at points ---------------------------------------------------------------------------------------------------
 */

typedef struct shown { /* one released entry */
    double scale, step;
    size_t agent; /* whose block; SIZE_MAX for g */
    bool is_constraint;
    size_t position;
} shown;

typedef struct release_of {
    const tc_plan *plan;
    tc_entries *entries;
    tc_evaluator *evaluator;
    shown *shown;
    size_t count;
    double *jacobian, *sums, *coords;
    bool rounded; /* on the plan's lattices */
} release_of;

static inline size_t planned_agent_at(const tc_entries *entries, size_t position) {
    for (size_t f = 0; f < entries->model->family_count; f++) {
        const tc_family_entries *of = &entries->families[f];
        const tc_family *family = &entries->model->families[f];
        if (position < of->first_single)
            return family->first_agent + (position - of->first) % family->count;
        if (position < of->first_single + of->single_count)
            return family->first_agent + of->singles[position - of->first_single].member;
    }
    return SIZE_MAX;
}

static inline release_of planned_release(planned *p, const tc_plan *plan) {
    release_of r = {.plan = plan};
    bool *every = TC_NEW(p->arena, bool, p->model->family_count + 1);
    for (size_t i = 0; i < plan->channel_count; i++) {
        if (plan->channels[i].kind == TC_CHANNEL_JACOBIAN)
            every[plan->channels[i].family] |= plan->channels[i].every_entry;
    }
    r.entries = tc_entries_new(p->arena, p->model, p->derivatives, every);
    r.evaluator = tc_evaluator_new(p->arena, p->model, p->derivatives, r.entries);
    r.jacobian = TC_NEW(p->arena, double, r.entries->position_count + 1);
    r.sums = TC_NEW(p->arena, double, p->model->sum_count + 1);
    r.coords = TC_NEW(p->arena, double, p->model->state_count + 1);
    r.shown = TC_NEW(p->arena, shown, plan->entry_count + 1);
    uint64_t address = 0;
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        size_t count;
        assert_int_equal(tc_channel_entries(r.entries, channel, NULL, &count), channel->entries);
        assert_int_equal(channel->first_entry, address);
        address += channel->entries;
        tc_segment *segments = TC_NEW(p->arena, tc_segment, count + 1);
        (void)tc_channel_entries(r.entries, channel, segments, &count);
        for (size_t k = 0; k < count; k++) {
            for (size_t e = 0; e < segments[k].count; e++) {
                size_t position = segments[k].position + e;
                bool constraint = segments[k].target == TC_TARGET_CONSTRAINTS;
                r.shown[r.count++] = (shown){.scale = channel->scale,
                                             .step = ldexp(1, channel->step_exponent),
                                             .is_constraint = constraint,
                                             .position = position,
                                             .agent = constraint ? SIZE_MAX : planned_agent_at(r.entries, position)};
            }
        }
    }
    assert_int_equal(r.count, plan->entry_count);
    return r;
}

/* All entries of F at x (n numbers), into f; placement outputs. */
static inline void planned_evaluate(const release_of *r, const double *x, double *f) {
    const tc_model *model = r->plan->model;
    memset(r->sums, 0, model->sum_count * sizeof *r->sums);
    memcpy(r->coords, x, model->state_count * sizeof *x);
    for (size_t k = 0; k < model->family_count; k++) {
        const tc_family *family = &model->families[k];
        const tc_family_derivatives *d = &r->evaluator->derivatives->families[k];
        const double *state[64];
        for (size_t c = 0; c < family->dim; c++)
            state[c] = x + tc_coord_of(family, 0, c);
        if (d->body_count > 0)
            tc_evaluate_terms(r->evaluator, k, 0, family->count, state);
        for (size_t b = 0; b < d->body_count; b++) {
            for (size_t l = 0; l < family->count; l++) {
                double term = r->evaluator->families[k].terms[b][l];
                if (r->rounded) {
                    double step = ldexp(1, r->plan->sum_exponents[d->sums[b]]);
                    term = rint(term / step) * step;
                }
                r->sums[d->sums[b]] += term;
            }
        }
    }
    tc_evaluate_outer(r->evaluator, r->sums, r->coords);
    const double *outer = r->evaluator->outer_values, *slopes = tc_outer_slopes(r->evaluator);
    for (size_t k = 0; k < model->family_count; k++) {
        const tc_family *family = &model->families[k];
        const tc_family_entries *of = &r->entries->families[k];
        const double *state[64];
        for (size_t c = 0; c < family->dim; c++)
            state[c] = x + tc_coord_of(family, 0, c);
        if (r->evaluator->derivatives->families[k].body_first_count > 0)
            tc_evaluate_slopes(r->evaluator, k, 0, family->count, state);
        for (size_t e = 0; e < of->shared_count; e++)
            tc_evaluate_shared(r->evaluator, k, &of->shared[e], family->count,
                               r->jacobian + of->first + e * family->count);
        for (size_t i = 0; i < of->single_count; i++) {
            const tc_single_entry *single = &of->singles[i];
            if (single->shared != UINT32_MAX)
                r->jacobian[of->first + single->shared * family->count + single->member] += slopes[single->outer];
            r->jacobian[of->first_single + i] = slopes[single->outer];
        }
    }
    for (size_t i = 0; i < r->count; i++) {
        f[i] = r->shown[i].is_constraint ? outer[r->shown[i].position] : r->jacobian[r->shown[i].position];
        if (r->rounded)
            f[i] = rint(f[i] / r->shown[i].step) * r->shown[i].step;
    }
}

#endif
