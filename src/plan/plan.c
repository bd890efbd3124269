#include "plan/planner.h"

#include "model/spread.h"

double tc_public_radius(const tc_model *model, const tc_analysis *analysis) {
    double gaps = 0;
    if (!isnan(model->dual_radius))
        return model->dual_radius;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        tc_fold_begin(family, &gaps, sizeof gaps);
        for (size_t k = family->known_first; k < family->known_end; k++)
            gaps = tc_add_up(gaps, family->has_gap ? tc_coef_at(family->gap, k) : HUGE_VAL);
        tc_fold_end(family, &gaps, sizeof gaps);
    }
    const tc_slater_facts *facts = &analysis->slater_facts;
    return facts->declared_fault == NULL && facts->declared_margin > 0 ? tc_div_up(gaps, facts->declared_margin)
                                                                       : HUGE_VAL;
}

bool tc_radius_is_promised(const tc_model *model) {
    bool promised = isnan(model->dual_radius) && model->constraint_count > 0;
    for (size_t f = 0; f < model->family_count; f++)
        promised = promised && model->families[f].has_gap && model->families[f].has_slater;
    return promised;
}

const char *tc_public_radius_fault(const tc_model *model, const tc_analysis *analysis) {
    return tc_radius_is_promised(model) ? analysis->slater_facts.declared_fault : NULL;
}

/* A cloud needs a public radius. tacit run holds the whole problem, and can compute one from private data. */
static void warn_of_radius(tc_planner *p) {
    const char *fault = tc_public_radius_fault(p->model, p->analysis);
    if (isfinite(tc_public_radius(p->model, p->analysis)))
        return;
    if (fault != NULL)
        tc_plan_warn(p, "no dual radius follows from the gaps and the Slater point, and nothing runs without one. %s",
                     fault);
    else
        tc_plan_warn(p, "no public dual radius is known, and a cloud cannot run without one; tacit run would look for "
                        "one in private data, and not be private: add 'dual radius R', or 'gap' and 'slater' to every "
                        "agent");
}

/* The hash covers the warnings: their texts must not change, but for TC_HASHED_LARGE_DELTA. */
static void warn(tc_planner *p) {
    const tc_plan *plan = p->plan;
    double everything = plan->calibration == TC_TIGHT ? plan->epsilon : tc_price_of_run(plan).epsilon;
    if ((plan->mechanism == TC_MECHANISM_GAUSSIAN || plan->last != NULL) && plan->delta > 1e-5) {
        tc_plan_warn(p,
                     "delta %.3g is large: any event may be as much more probable, beyond the factor e^epsilon; 1e-6 "
                     "or less is usual",
                     plan->delta);
        p->plan->tells_large_delta = p->plan->warning_count;
    }
    if (tc_delta_is_large(plan))
        tc_plan_warn(p, "delta %.3g is no smaller than one over the number of agents", plan->delta);
    if (everything >= TC_WEAK_EPSILON)
        tc_plan_warn(p, "epsilon %s%s promises next to nothing", tc_text_up(p->arena, everything),
                     plan->calibration == TC_PUBLISHED ? " for whoever sees all" : "");
    if (plan->mechanism != TC_MECHANISM_NONE && p->model->constraint_count > 0)
        warn_of_radius(p);
    if (plan->overhead > 1e-3)
        tc_plan_warn(p, "rounding to the lattice costs %.2g %% of noise", 100 * plan->overhead);
}

/* An observer whose price has no bound voids the plan, for any reason. */
static void void_without_bound(tc_planner *p) {
    const tc_plan *plan = p->plan;
    for (size_t i = 0; plan->problem == NULL && plan->is_private && i < plan->observer_count; i++) {
        if (!isfinite(plan->observers[i].epsilon))
            tc_plan_void(p, "what '%s' could learn has no bound: some entry that varies carries no noise",
                         plan->observers[i].who);
    }
}

/* Everybody sees mu, which is projected onto M, so a radius made of private data would reveal something about them.
 * Added after the plan is hashed; no cloud runs with such a plan. */
static void void_without_radius(tc_planner *p) {
    if (p->plan->problem == NULL && p->plan->mechanism != TC_MECHANISM_NONE && p->model->constraint_count > 0 &&
        !isfinite(tc_public_radius(p->model, p->analysis)))
        tc_plan_void(p, "no public dual radius is known: multipliers that stop at one made of private data tell of "
                        "them");
}

/* Without noise the lattice is as for a unit of 1. */
static void place_nothing(tc_planner *p) {
    p->plan->adjacency = TC_ADJACENCY_AGENT; /* there is no B to compare steps with */
    p->plan->state_exponent = tc_first_state_exponent(p);
    p->plan->adjacency = TC_ADJACENCY_UNSET;
    if (p->plan->method == TC_METHOD_TACIT)
        tc_place_nothing_tacit(p);
}

tc_plan *tc_plan_make(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives, const tc_analysis *analysis,
                      const tc_plan_options *options, const tc_monitor *monitor) {
    tc_plan *plan = TC_NEW(arena, tc_plan, 1);
    *plan = (tc_plan){.model = model,
                      .measured = model,
                      .measured_derivatives = derivatives,
                      .method = TC_METHOD_PUBLISHED,
                      .epsilon = NAN,
                      .delta = NAN,
                      .rounds = NAN,
                      .adjacency_bound = NAN};
    tc_planner p = {.arena = arena,
                    .model = model,
                    .derivatives = derivatives,
                    .analysis = analysis,
                    .options = options,
                    .monitor = monitor,
                    .plan = plan,
                    .multiplier = NAN,
                    .target = NAN};
    if (!tc_plan_resolve(&p))
        return plan;
    plan->ranges = tc_public_ranges_find(arena, model);
    if (analysis->constraints.verdict != TC_HOLDS)
        tc_plan_doubt(&p, "convexity not proved: the promise holds, but convergence is not promised");
    tc_progress(monitor, "plan", 0);
    p.streams = tc_streams_new(arena, model, derivatives, monitor);
    p.sensitivity = tc_sensitivity_new(arena, p.streams);
    const tc_planner whole = p;
    if (!tc_sensitivity_sees_all(p.sensitivity))
        tc_refuse(&p, false, "some constraint reads a state that cancels out, as in (x + 1) - x: write it without");
    else if (plan->mechanism == TC_MECHANISM_NONE)
        place_nothing(&p);
    else if (plan->method == TC_METHOD_TACIT)
        tc_place_tacit(&p);
    else
        tc_place_published(&p);
    if (plan->problem == NULL) {
        tc_progress(monitor, "plan", 0.5);
        p.reach = tc_reaches(arena, plan, ldexp(1, plan->state_exponent));
        for (size_t f = 0; p.reach != NULL && f < model->family_count; f++)
            plan->distances[f].reach = p.reach[f];
        if (plan->last != NULL)
            tc_plan_last(&p, &whole);
    }
    if (plan->problem == NULL) {
        tc_account_observers(&p);
        void_without_bound(&p);
    }
    if (plan->problem == NULL) {
        tc_account_prices(&p);
        tc_account_families(&p);
        warn(&p);
    }
    if (plan->problem == NULL && tc_interrupted(monitor))
        tc_refuse(&p, false, "interrupted");
    tc_plan_hash(arena, plan);
    void_without_radius(&p);
    tc_progress(monitor, "plan", 1);
    return plan;
}
