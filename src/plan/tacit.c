/* Where method tacit puts its noise: whichever of states, forms and (affine g) outputs disturbs the constraints least,
 * for the unit that was asked for (docs/proofs/placement.md, section 6). It cannot use noise on a Jacobian: it needs
 * measurements of states or of linear forms of them. */
#include "plan/planner.h"

#define AS_GOOD 1.02   /* within this factor of the best, outputs are preferred, then states */
#define FAR_BETTER 0.1 /* noise on outputs that is this much smaller is worth a warning, if it cannot be used */

typedef struct candidates {
    tc_planner *p, forms_planner;
    const bool *curved; /* by constraint */
    size_t curved_count;
    tc_layout layouts[3]; /* as plan->facts: outputs, states, forms */
} candidates;

static const tc_placement placements[] = {TC_PLACEMENT_OUTPUTS, TC_PLACEMENT_STATES, TC_PLACEMENT_FORMS};

/* Makes the planner work on the forms, or on some constraints, as constraints of a model of their own. */
static void look_at(tc_planner *p, const tc_forms *forms) {
    p->model = forms->model;
    p->derivatives = forms->derivatives;
    p->names_forms = true;
    p->streams = tc_streams_new(p->arena, forms->model, forms->derivatives, p->monitor);
    p->sensitivity = tc_sensitivity_new(p->arena, p->streams);
}

static void measure(tc_planner *p, const tc_planner *forms) {
    *p = *forms;
    p->plan->measured = p->model;
    p->plan->measured_derivatives = p->derivatives;
}

/* A unit of the noise of form r counts as 1 / c_r, c_r = sum_j mean (dPhi_j/du_r)^2 / S_j^2. Where no effect of a form
 * was found, it gets the least c_r of the others. */
static double *form_scales(tc_arena *arena, const tc_derivatives *d, const double *squares, const double *row_scale) {
    double *scale = TC_NEW(arena, double, d->input_count + 1), least = INFINITY;
    for (size_t o = 0; o < d->outer_first_count; o++) {
        double of_row = row_scale[d->outer_first[o].row];
        scale[d->outer_first[o].column] += squares[o] / (of_row * of_row);
    }
    for (size_t r = 0; r < d->input_count; r++)
        least = scale[r] > 0 ? fmin(least, scale[r]) : least;
    least = isfinite(least) ? least : 1;
    for (size_t r = 0; r < d->input_count; r++)
        scale[r] = 1 / sqrt(scale[r] > 0 && isfinite(scale[r]) ? scale[r] : least);
    return scale;
}

static void try_forms(candidates *c) {
    tc_planner *p = c->p, *forms = &c->forms_planner;
    tc_layout *layout = &c->layouts[2];
    *forms = *p;
    layout->problem = tc_forms_problem(p->arena, p->model, p->derivatives);
    if (layout->problem != NULL)
        return;
    double *squares = tc_outer_squares(p->arena, p->streams);
    look_at(forms, tc_forms_new(p->arena, p->model, p->derivatives));
    forms->row_scale = form_scales(p->arena, p->derivatives, squares, p->plan->row_scale);
    tc_scale_outputs(forms, layout);
    if (layout->problem == NULL)
        tc_predict_rows_of_forms(p->arena, p->streams, squares, layout->channels, layout->count, p->plan->row_scale,
                                 &p->plan->facts[2]);
}

static void try_states(candidates *c) {
    tc_planner *p = c->p;
    tc_layout *layout = &c->layouts[1];
    tc_scale_states(p, layout);
    if (layout->problem != NULL)
        return;
    double *variance = TC_NEW(p->arena, double, p->model->family_count + 1);
    for (size_t i = 0; i < layout->count; i++) {
        const tc_channel *channel = &layout->channels[i];
        variance[channel->family] = fmax(variance[channel->family], channel->variance);
    }
    tc_predict_rows_of_states(p->arena, p->streams, variance, p->plan->row_scale, &p->plan->facts[1]);
}

/* Also where g is curved, for comparison. */
static void try_outputs(candidates *c) {
    tc_planner *p = c->p;
    tc_layout *layout = &c->layouts[0];
    tc_scale_outputs(p, layout);
    if (layout->problem == NULL)
        tc_predict_outputs(p->arena, p->model, p->derivatives, layout->channels, layout->count, p->plan->row_scale,
                           p->box_length, &p->plan->facts[0]);
}

/* The number of the placement that is taken; 3 for none. */
static size_t choose(const tc_plan *plan, tc_placement asked) {
    double best = INFINITY;
    for (size_t i = 0; i < 3; i++) {
        if (placements[i] == asked)
            return i;
        if (plan->facts[i].possible && plan->facts[i].usable)
            best = fmin(best, plan->facts[i].total);
    }
    for (size_t i = 0; i < 3; i++) {
        if (plan->facts[i].possible && plan->facts[i].usable && plan->facts[i].total <= AS_GOOD * best)
            return i;
    }
    return 3;
}

static bool refuse_what_cannot_be(tc_planner *p, bool is_affine) {
    tc_placement asked = p->options->placement;
    const char *no_forms = asked == TC_PLACEMENT_FORMS ? tc_forms_problem(p->arena, p->model, p->derivatives) : NULL;
    if (asked == TC_PLACEMENT_OUTPUTS && !is_affine)
        tc_refuse(p, true,
                  "--method tacit measures states or linear forms of them, and some constraint is not affine: leave "
                  "--placement to it, choose states or forms, or take noise on outputs with --method published");
    else if (no_forms != NULL)
        tc_refuse(p, true, "placement forms: %s", no_forms);
    return p->plan->problem != NULL;
}

static void warn_of_outputs(tc_planner *p, const tc_placement_facts *taken) {
    const tc_placement_facts *outputs = &p->plan->facts[0];
    if (outputs->possible && !outputs->usable && taken->possible && outputs->total < FAR_BETTER * taken->total)
        tc_plan_warn(p,
                     "noise on constraints and their Jacobian would disturb constraints %.2g times less (variance) "
                     "than the noise on %s that --method tacit can use: compare with --method published",
                     taken->total / outputs->total, tc_placement_name(taken->placement));
}

/* How many times the noise (deviation) an affine row gets that it would get with no curved row beside it, at most; 0
 * where there is nothing to compare. */
static double cost_of_curved(candidates *c, const tc_placement_facts *taken) {
    tc_planner *p = c->p, some = *p;
    const bool *constant = tc_constant_rows(p->arena, p->model, p->derivatives);
    size_t m = p->model->constraint_count;
    bool *left_out = TC_NEW(p->arena, bool, m + 1);
    uint32_t *rows = TC_NEW(p->arena, uint32_t, m + 1);
    double *scale = TC_NEW(p->arena, double, m + 1);
    tc_plan plan = *p->plan;
    double most = 0;
    for (size_t j = 0; j < m; j++)
        left_out[j] = c->curved[j] || constant[j];
    look_at(&some, tc_some_rows(p->arena, p->model, p->derivatives, left_out, rows));
    size_t count = some.model->constraint_count;
    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        scale[i] = p->row_scale[rows[i]];
    plan.facts[0] = plan.facts[1] = plan.facts[2] = (tc_placement_facts){.usable = true};
    some.row_scale = plan.row_scale = scale;
    some.plan = &plan;
    candidates alone = {.p = &some};
    try_forms(&alone);
    try_outputs(&alone);
    size_t best = choose(&plan, TC_PLACEMENT_AUTO);
    for (size_t i = 0; best < 3 && i < count; i++)
        most = fmax(most, sqrt(taken->constraint_variance[rows[i]] / plan.facts[best].constraint_variance[i]));
    return most;
}

/* Why noise is on states where `auto` put it there: the row that is curved, and what that costs the others. */
static void explain_states(candidates *c) {
    tc_plan *plan = c->p->plan;
    const tc_model *model = c->p->model;
    tc_arena *arena = c->p->arena;
    uint32_t first = 0;
    if (plan->placement != TC_PLACEMENT_STATES || c->p->options->placement == TC_PLACEMENT_STATES ||
        c->curved_count == 0)
        return;
    while (!c->curved[first])
        first++;
    double times = cost_of_curved(c, &plan->facts[1]);
    const char *cost =
        times > 1 ? tc_arena_format(
                        arena, ". Affine constraints get up to %.3g times the noise that they would get alone", times)
                  : "";
    plan->why_states = tc_arena_format(
        arena, "Noise is on states: %s%s%s curved%s%s.", model->constraints[first].name,
        c->curved_count == 1 ? "" : tc_arena_format(arena, " and %zu more", c->curved_count - 1),
        c->curved_count == 1 ? " is" : " are",
        plan->facts[2].possible ? ", and noise on linear forms would disturb constraints no less" : "", cost);
}

/* A placement with final scales is also refused if the effect of its noise on the constraints has no bound. */
static const char *why_not(tc_arena *arena, const candidates *c, size_t i) {
    return c->layouts[i].problem != NULL
               ? c->layouts[i].problem
               : tc_arena_format(arena,
                                 "no bound is proved on what noise there does to constraints; --placement %s takes it "
                                 "all the same",
                                 tc_placement_name(placements[i]));
}

void tc_place_tacit(tc_planner *p) {
    tc_plan *plan = p->plan;
    candidates c = {.p = p};
    c.curved_count = tc_curved_rows(p->arena, p->model, p->derivatives, &c.curved);
    if (refuse_what_cannot_be(p, c.curved_count == 0))
        return;
    p->row_scale = plan->row_scale = tc_row_scales(p->arena, p->streams, NULL);
    p->box_length = tc_box_length(p->model, NULL);
    for (size_t i = 0; i < 3; i++)
        plan->facts[i] = (tc_placement_facts){.placement = placements[i], .usable = i > 0 || c.curved_count == 0};
    try_states(&c);
    try_forms(&c);
    try_outputs(&c); /* last: its lattice is the one that stays with the planner */
    size_t taken = choose(plan, p->options->placement);
    if (taken == 3) {
        tc_refuse(p, false, "no placement can be had. States: %s. Forms: %s.%s%s", why_not(p->arena, &c, 1),
                  why_not(p->arena, &c, 2), c.curved_count == 0 ? " Outputs: " : "",
                  c.curved_count == 0 ? why_not(p->arena, &c, 0) : "");
        return;
    }
    tc_take_layout(plan, placements[taken], &c.layouts[taken]);
    if (c.layouts[taken].problem != NULL) {
        tc_refuse(p, false, "placement %s: %s", tc_placement_name(plan->placement), c.layouts[taken].problem);
        return;
    }
    warn_of_outputs(p, &plan->facts[taken]);
    explain_states(&c);
    if (plan->placement == TC_PLACEMENT_FORMS)
        measure(p, &c.forms_planner);
}

void tc_place_nothing_tacit(tc_planner *p) {
    tc_plan *plan = p->plan;
    tc_placement asked = p->options->placement;
    bool is_affine = tc_curved_rows(p->arena, p->model, p->derivatives, NULL) == 0;
    if (refuse_what_cannot_be(p, is_affine))
        return;
    plan->row_scale = tc_row_scales(p->arena, p->streams, NULL);
    plan->placement = asked != TC_PLACEMENT_AUTO ? asked : is_affine ? TC_PLACEMENT_OUTPUTS : TC_PLACEMENT_STATES;
    tc_planner forms = *p;
    if (plan->placement == TC_PLACEMENT_FORMS) {
        look_at(&forms, tc_forms_new(p->arena, p->model, p->derivatives));
        measure(p, &forms);
    }
}
