#include "setup/setup.h"

#include "base/machine.h"

#include <math.h>

/* Why no radius follows from the gaps and the Slater points of all agents; NULL where one does, or none is promised. */
static const char *find_fault(const tc_setup *setup) {
    const tc_assumption *slater = &setup->analysis->slater;
    const char *fault = tc_public_radius_fault(setup->model, setup->analysis);
    if (fault != NULL || !tc_radius_is_promised(setup->model) || !isnan(setup->analysis->dual_radius.public_value))
        return fault;
    for (size_t i = 0; i < slater->finding_count && fault == NULL; i++)
        fault = slater->findings[i].verdict == TC_FAILS ? slater->findings[i].text : NULL;
    return fault;
}

/* The public radius. Where there is none, that of private data: a run in one process is a simulation, which may look
 * at them. A bad Slater point must be corrected first, since a run on a network would fail with it too. */
static tc_status find_radius(tc_work *work, tc_setup *setup) {
    const tc_dual_radius *radius = &setup->analysis->dual_radius;
    setup->dual_radius = INFINITY;
    setup->radius_origin = TC_RADIUS_GIVEN;
    if (setup->model->constraint_count == 0)
        return TC_OK;
    const char *fault = find_fault(setup);
    const tc_analysis *all = NULL;
    if ((fault != NULL || isnan(radius->value)) && setup->model->role == TC_ROLE_WHOLE) {
        tc_progress(work->monitor, "looking for a dual radius", 0);
        all = tc_analysis_run(work->arena, setup->model, setup->derivatives, NULL, work->monitor);
        if (all->interrupted)
            return TC_INTERRUPTED;
    }
    const char *conflict = all != NULL ? all->slater_facts.conflict : NULL;
    if (conflict != NULL)
        conflict = tc_arena_format(work->arena, "%s So there is no dual radius, and nothing can run", conflict);
    if (fault != NULL) {
        setup->problem = conflict != NULL
                             ? conflict
                             : tc_arena_format(work->arena,
                                               "no dual radius follows from the gaps and the Slater point, and nothing "
                                               "runs without one. %s",
                                               fault);
        return TC_OK;
    }
    if (conflict != NULL)
        return tc_work_refuse(work, conflict);
    if (isnan(radius->value) && all != NULL)
        radius = &all->dual_radius;
    if (!isfinite(radius->value))
        return tc_work_refuse(
            work,
            tc_arena_format(work->arena,
                            "there is no dual radius, which keeps the multipliers bounded, and none could be "
                            "computed: add 'dual radius R' to the file, or %s to every agent; tacit check says more",
                            tc_radius_promises(setup->model)));
    setup->dual_radius = radius->value;
    setup->radius_origin = radius->origin;
    if (radius->origin == TC_RADIUS_PRIVATE)
        tc_work_say(work,
                    "the dual radius was computed from private data, which no cloud could do: add 'dual radius R' to "
                    "the file, or %s to every agent",
                    tc_radius_promises(setup->model));
    return TC_OK;
}

static void judge(tc_work *work, tc_setup *setup) {
    const tc_assumption *sets = &setup->analysis->sets;
    bool objectives = setup->model->role == TC_ROLE_CLOUD || setup->analysis->objectives.verdict == TC_HOLDS;
    if (sets->verdict == TC_FAILS)
        setup->problem = sets->finding_count > 0 ? sets->findings[0].text : "some agent's set is empty";
    setup->sound = objectives && setup->analysis->constraints.verdict == TC_HOLDS;
    if (!setup->sound)
        tc_work_say(work, "the %s are not proved to be convex and smooth: `tacit check %s` says where",
                    objectives ? "constraints" : "objectives", setup->model->source.path);
}

const char *tc_kinks_fault(tc_arena *arena, const tc_model *model, const tc_analysis *analysis, tc_method method) {
    const tc_assumption *smoothness = &analysis->smoothness;
    if (smoothness->verdict == TC_HOLDS || smoothness->verdict == TC_ELSEWHERE)
        return NULL;
    const tc_finding *kink = &smoothness->findings[0];
    if (method == TC_METHOD_PUBLISHED)
        return tc_arena_format(arena, "%s: %s: %s", kink->place, kink->expression, kink->text);
    if (analysis->objectives.verdict == TC_HOLDS)
        return NULL;
    return tc_arena_format(arena,
                           "%s: %s: objectives with kinks must be proved convex: `tacit check %s` says what is missing",
                           kink->place, kink->expression, model->source.path);
}

static tc_status check_role(tc_work *work, tc_role wanted, const tc_model *model) {
    const char *path = model->source.path;
    if (model->role == wanted)
        return TC_OK;
    if (wanted == TC_ROLE_WHOLE)
        tc_buffer_printf(work->messages, "%s: this file holds one party's part; %s wants the whole problem\n", path,
                         work->command);
    else if (model->role == TC_ROLE_WHOLE)
        tc_buffer_printf(work->messages,
                         "%s: this file holds the whole problem, private parts included, which no cloud may have: "
                         "`tacit split %s -o DIR` makes the cloud's file and one for each agent\n",
                         path, path);
    else
        tc_buffer_printf(work->messages, "%s: this is an agent's file; %s wants the cloud's, which tacit split made\n",
                         path, work->command);
    return TC_BAD_PROBLEM;
}

tc_status tc_want_whole(tc_work *work, const tc_model *model) { return check_role(work, TC_ROLE_WHOLE, model); }

tc_status tc_analyse_public(tc_work *work, tc_model *model, const tc_derivatives *derivatives,
                            const tc_analysis **analysis) {
    tc_analysis_options public_facts = {.skip_private = true};
    *analysis = tc_analysis_run(work->arena, model, derivatives, &public_facts, work->monitor);
    return (*analysis)->interrupted ? TC_INTERRUPTED : TC_OK;
}

static tc_status begin(tc_work *work, const tc_loaded *loaded, tc_role role, const tc_privacy_wishes *wishes,
                       tc_setup *setup) {
    double began = tc_seconds();
    *setup = (tc_setup){.derivatives = loaded->derivatives, .load_seconds = loaded->seconds};
    tc_status status = check_role(work, role, loaded->model);
    if (status != TC_OK)
        return status;
    setup->model = tc_wishes_apply(work->arena, loaded->model, wishes);
    status = tc_check_wishes(work, setup->model, wishes, true);
    if (status != TC_OK)
        return status;
    setup->rounds = (uint64_t)setup->model->schedule.rounds;
    status = tc_analyse_public(work, setup->model, setup->derivatives, &setup->analysis);
    if (status != TC_OK)
        return status;
    const char *fault = tc_kinks_fault(work->arena, setup->model, setup->analysis, tc_resolve_method(&wishes->plan));
    if (fault != NULL)
        return tc_work_refuse(work, fault);
    judge(work, setup);
    if (setup->problem == NULL)
        status = find_radius(work, setup);
    setup->analyse_seconds = tc_seconds() - began;
    return status;
}

tc_status tc_setup_whole(tc_work *work, const tc_loaded *loaded, const tc_privacy_wishes *wishes, tc_setup *setup) {
    return begin(work, loaded, TC_ROLE_WHOLE, wishes, setup);
}

tc_status tc_setup_cloud(tc_work *work, const tc_loaded *loaded, const tc_privacy_wishes *wishes, tc_setup *setup) {
    return begin(work, loaded, TC_ROLE_CLOUD, wishes, setup);
}

tc_status tc_setup_plan(tc_work *work, tc_setup *setup, const tc_plan_options *options, const tc_plan **plan) {
    double began = tc_seconds();
    *plan = tc_plan_make(work->arena, setup->model, setup->derivatives, setup->analysis, options, work->monitor);
    setup->analyse_seconds += tc_seconds() - began;
    if (tc_interrupted(work->monitor))
        return TC_INTERRUPTED;
    return (*plan)->problem != NULL && (*plan)->refusal_is_usage ? tc_work_refuse(work, (*plan)->problem) : TC_OK;
}

tc_status tc_setup_method(tc_work *work, const tc_setup *setup, const tc_plan *plan, tc_margin_wish margin,
                          const tc_tacit_facts **method) {
    const char *why = NULL;
    *method = NULL;
    if (plan->method != TC_METHOD_TACIT)
        return TC_OK;
    *method =
        tc_tacit_facts_make(work->arena, plan, setup->model, setup->derivatives, setup->dual_radius, margin, &why);
    return *method != NULL ? TC_OK : tc_work_refuse(work, why);
}
