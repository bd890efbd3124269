#include "cli/study.h"

#include "lab/lab.h"

#include <math.h>
#include <string.h>

static tc_status refuse(tc_cli *cli, const tc_study *study, const char *text) {
    tc_buffer_printf(&cli->messages, "tacit %s: %s\n", study->command, text);
    return TC_BAD_USAGE;
}

/* The steps of the method tacit set themselves. */
static tc_status check_schedule(tc_cli *cli, tc_study *study, tc_method method) {
    const tc_schedule *schedule = &study->model->schedule;
    const struct {
        double value;
        const char *name, *file, *option;
    } needed[] = {{schedule->step, "step", "gamma", "gamma-bar"},
                  {schedule->step_decay, "decay of the step", "gamma", "c2"},
                  {schedule->regularization, "regularization", "alpha", "alpha-bar"},
                  {schedule->regularization_decay, "decay of the regularization", "alpha", "c1"},
                  {schedule->rounds, "number of rounds", "rounds", "rounds"}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        bool is_step = method == TC_METHOD_TACIT && i + 1 < sizeof needed / sizeof needed[0];
        if (!is_step && isnan(needed[i].value))
            return refuse(cli, study,
                          tc_arena_format(cli->arena,
                                          "the %s is not known: add '%s' to the schedule in the file, or --%s%s",
                                          needed[i].name, needed[i].file, needed[i].option,
                                          i < 4 && strcmp(study->command, "bound") == 0
                                              ? "; the theorem is about the published method, which takes its steps "
                                                "from there"
                                              : ""));
    }
    study->rounds = (uint64_t)schedule->rounds;
    return TC_OK;
}

/* Why no radius follows from the gaps and the Slater point that every agent has; NULL where one does, or is not to. */
static const char *find_fault(const tc_study *study) {
    const tc_assumption *slater = &study->analysis->slater;
    const char *fault = tc_public_radius_fault(study->model, study->analysis);
    if (fault != NULL || !tc_radius_is_promised(study->model) || !isnan(study->analysis->dual_radius.public_value))
        return fault;
    for (size_t i = 0; i < slater->finding_count && fault == NULL; i++)
        fault = slater->findings[i].verdict == TC_FAILS ? slater->findings[i].text : NULL;
    return fault;
}

/* The public radius; where there is none, that of private data: a run is a simulation, and may look. A Slater point
 * that will not do is to be put right first: with it there is no run on a network either. */
static tc_status find_radius(tc_cli *cli, tc_study *study) {
    const tc_dual_radius *radius = &study->analysis->dual_radius;
    study->dual_radius = INFINITY;
    study->radius_origin = TC_RADIUS_GIVEN;
    if (study->model->constraint_count == 0)
        return TC_OK;
    const char *fault = find_fault(study);
    if (fault != NULL) {
        study->problem = tc_arena_format(
            cli->arena, "no dual radius follows from the gaps and the Slater point, and nothing runs without one. %s",
            fault);
        return TC_OK;
    }
    if (isnan(radius->value) && study->model->role == TC_ROLE_WHOLE) {
        tc_progress(&cli->monitor, "looking for a dual radius", 0);
        const tc_analysis *all = tc_analysis_run(cli->arena, study->model, study->derivatives, NULL, &cli->monitor);
        if (all->interrupted)
            return TC_INTERRUPTED;
        radius = &all->dual_radius;
    }
    if (!isfinite(radius->value))
        return refuse(cli, study,
                      "there is no dual radius, which keeps the multipliers bounded, and none could be computed: add "
                      "'dual radius R' to the file, or 'gap' and 'slater' to every agent; tacit check says more");
    study->dual_radius = radius->value;
    study->radius_origin = radius->origin;
    if (radius->origin == TC_RADIUS_PRIVATE)
        tc_buffer_printf(&cli->messages,
                         "tacit %s: the dual radius %.6g was computed from private data, which no cloud could do: add "
                         "'dual radius R' to the file, or 'gap' and 'slater' to every agent\n",
                         study->command, radius->value);
    return TC_OK;
}

static void judge(tc_cli *cli, tc_study *study, const char *path) {
    const tc_assumption *sets = &study->analysis->sets;
    bool objectives = study->model->role == TC_ROLE_CLOUD || study->analysis->objectives.verdict == TC_HOLDS;
    if (sets->verdict == TC_FAILS)
        study->problem = sets->finding_count > 0 ? sets->findings[0].text : "some agent's set is empty";
    study->sound = objectives && study->analysis->constraints.verdict == TC_HOLDS;
    if (!study->sound)
        tc_buffer_printf(&cli->messages,
                         "tacit %s: the %s are not proved to be convex and smooth: `tacit check %s` says where\n",
                         study->command, objectives ? "constraints" : "objectives", path);
}

static tc_status check_role(tc_cli *cli, const char *path, tc_role wanted, const tc_study *study) {
    if (study->model->role == wanted)
        return TC_OK;
    if (wanted == TC_ROLE_WHOLE)
        tc_buffer_printf(&cli->messages, "%s: this file holds one party's part; %s wants the whole problem\n", path,
                         study->command);
    else if (study->model->role == TC_ROLE_WHOLE)
        tc_buffer_printf(&cli->messages,
                         "%s: this file holds the whole problem, private parts included, which no cloud may have: "
                         "`tacit split %s -o DIR` makes the cloud's file and one for each agent\n",
                         path, path);
    else
        tc_buffer_printf(&cli->messages, "%s: this is an agent's file; %s wants the cloud's, which tacit split made\n",
                         path, study->command);
    return TC_BAD_PROBLEM;
}

static tc_status load(tc_cli *cli, const char *path, tc_role role, const tc_privacy_wishes *wishes, tc_study *study) {
    double began = tc_lab_seconds();
    tc_status status = tc_cli_load(cli, path, &study->model);
    if (status != TC_OK)
        return status;
    status = check_role(cli, path, role, study);
    if (status != TC_OK)
        return status;
    tc_privacy_override(study->model, wishes);
    status = check_schedule(cli, study, tc_resolve_method(&wishes->plan));
    study->load_seconds = tc_lab_seconds() - began;
    return status;
}

static void judge_steps(tc_cli *cli, const tc_study *study, const tc_privacy_wishes *wishes) {
    const tc_schedule *given = &wishes->schedule;
    bool any = !isnan(given->step) || !isnan(given->step_decay) || !isnan(given->regularization) ||
               !isnan(given->regularization_decay);
    if (any && tc_resolve_method(&wishes->plan) == TC_METHOD_TACIT)
        tc_buffer_printf(&cli->messages,
                         "tacit %s: --gamma-bar, --alpha-bar, --c1 and --c2 are of the published method: they change "
                         "nothing in the method tacit\n",
                         study->command);
}

static tc_status begin(tc_cli *cli, const char *command, const char *path, tc_role role,
                       const tc_privacy_wishes *wishes, tc_study *study) {
    *study = (tc_study){.command = command};
    tc_status status = load(cli, path, role, wishes, study);
    if (status != TC_OK)
        return status;
    double began = tc_lab_seconds();
    /* Nothing private may change a plan: what the cloud could not compute is not looked at. */
    tc_analysis_options public_facts = {.skip_private = true};
    tc_progress(&cli->monitor, "differentiating", 0);
    study->derivatives = tc_derive(cli->arena, study->model);
    study->analysis = tc_analysis_run(cli->arena, study->model, study->derivatives, &public_facts, &cli->monitor);
    if (study->analysis->interrupted)
        return TC_INTERRUPTED;
    judge(cli, study, path);
    judge_steps(cli, study, wishes);
    if (study->problem == NULL)
        status = find_radius(cli, study);
    study->analyse_seconds = tc_lab_seconds() - began;
    return status;
}

tc_status tc_study_begin(tc_cli *cli, const char *command, const char *path, const tc_privacy_wishes *wishes,
                         tc_study *study) {
    return begin(cli, command, path, TC_ROLE_WHOLE, wishes, study);
}

tc_status tc_study_begin_cloud(tc_cli *cli, const char *command, const char *path, const tc_privacy_wishes *wishes,
                               tc_study *study) {
    return begin(cli, command, path, TC_ROLE_CLOUD, wishes, study);
}

tc_status tc_study_plan(tc_cli *cli, tc_study *study, const tc_plan_options *options, const tc_plan **plan) {
    double began = tc_lab_seconds();
    *plan = tc_plan_make(cli->arena, study->model, study->derivatives, study->analysis, options, &cli->monitor);
    study->analyse_seconds += tc_lab_seconds() - began;
    if (tc_interrupted(&cli->monitor))
        return TC_INTERRUPTED;
    if ((*plan)->problem != NULL)
        return (*plan)->refusal_is_usage ? refuse(cli, study, (*plan)->problem) : TC_OK;
    return TC_OK;
}

tc_status tc_study_method(tc_cli *cli, const tc_study *study, const tc_plan *plan, tc_margin_wish margin,
                          const tc_method_facts **method) {
    const char *why = NULL;
    *method = NULL;
    if (plan->method != TC_METHOD_TACIT)
        return TC_OK;
    *method =
        tc_method_facts_make(cli->arena, plan, study->model, study->derivatives, study->dual_radius, margin, &why);
    return *method != NULL ? TC_OK : refuse(cli, study, why);
}

const char *tc_margin_text(tc_arena *arena, const tc_method_facts *method) {
    if (method == NULL || method->margin.kind == TC_MARGIN_NONE)
        return NULL;
    return method->margin.kind == TC_MARGIN_AUTO ? tc_arena_format(arena, "auto, for %g", method->margin.probability)
                                                 : tc_arena_format(arena, "%g", method->margin.amount);
}

void tc_margin_json(const tc_method_facts *method, tc_json *json) {
    if (method == NULL || method->margin.kind == TC_MARGIN_NONE) {
        tc_json_null(json, "margin");
        return;
    }
    bool given = method->margin.kind == TC_MARGIN_GIVEN;
    tc_json_open_object(json, "margin");
    tc_json_string(json, "kind", given ? "given" : "auto");
    tc_json_number(json, given ? "amount" : "probability", given ? method->margin.amount : method->margin.probability);
    tc_json_close_object(json);
}

static void judge_reference(tc_cli *cli, tc_study *study) {
    const tc_reference *reference = study->reference;
    double sum = 0;
    if (reference->outcome == TC_INFEASIBLE_SUSPECTED) {
        tc_buffer_printf(&cli->messages,
                         "tacit %s: no point seems to satisfy all constraints: there is no solution to compare with\n",
                         study->command);
        study->reference = NULL;
        study->sound = false;
        return;
    }
    if (reference->outcome == TC_INACCURATE)
        tc_buffer_printf(&cli->messages,
                         reference->is_solution
                             ? "tacit %s: errors are distances to a solution that may not be the one of least norm\n"
                             : "tacit %s: errors are distances to a point that solves the problem only roughly "
                               "(tacit solve says how)\n",
                         study->command);
    for (size_t j = 0; j < study->model->constraint_count; j++)
        sum += reference->mu[j];
    if (!(sum > study->dual_radius + reference->residual))
        return;
    study->warning = tc_arena_format(cli->arena,
                                     "the solution's multipliers sum to %.6g, more than the dual radius of %.6g: the "
                                     "run cannot reach it",
                                     sum, study->dual_radius);
    tc_buffer_printf(&cli->messages, "tacit %s: %s\n", study->command, study->warning);
}

tc_status tc_study_solve(tc_cli *cli, tc_study *study, double tolerance) {
    double began = tc_lab_seconds();
    study->reference = tc_reference_solve(cli->arena, study->model, study->derivatives, tolerance, &cli->monitor);
    study->solve_seconds = tc_lab_seconds() - began;
    if (study->reference->outcome == TC_SOLVE_INTERRUPTED)
        return TC_INTERRUPTED;
    judge_reference(cli, study);
    return TC_OK;
}

const char *tc_radius_origin_name(tc_radius_origin origin) {
    switch (origin) {
    case TC_RADIUS_GIVEN:
        return "given";
    case TC_RADIUS_GAPS:
        return "gaps";
    case TC_RADIUS_PRIVATE:
        return "private";
    case TC_RADIUS_NONE:
        break;
    }
    return "none";
}
