#include "cli/shared/setup.h"

#include <math.h>
#include <string.h>

static tc_status refuse(tc_cli *cli, const tc_setup *setup, const char *text) {
    tc_buffer_printf(&cli->messages, "tacit %s: %s\n", setup->command, text);
    return TC_BAD_USAGE;
}

/* Method tacit sets its steps itself. */
static tc_status check_schedule(tc_cli *cli, tc_setup *setup, tc_method method) {
    const tc_schedule *schedule = &setup->model->schedule;
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
            return refuse(cli, setup,
                          tc_arena_format(cli->arena,
                                          "the %s is not known: add '%s' to the schedule in the file, or --%s%s",
                                          needed[i].name, needed[i].file, needed[i].option,
                                          i < 4 && strcmp(setup->command, "bound") == 0
                                              ? "; the theorem is about the published method, which takes its steps "
                                                "from there"
                                              : ""));
    }
    setup->rounds = (uint64_t)schedule->rounds;
    return TC_OK;
}

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

/* The public radius. Where there is none, that of private data: a run in one process is a simulation, and may look at
 * them. A bad Slater point must be corrected first, since no run on a network works with it either. */
static tc_status find_radius(tc_cli *cli, tc_setup *setup) {
    const tc_dual_radius *radius = &setup->analysis->dual_radius;
    setup->dual_radius = INFINITY;
    setup->radius_origin = TC_RADIUS_GIVEN;
    if (setup->model->constraint_count == 0)
        return TC_OK;
    const char *fault = find_fault(setup);
    if (fault != NULL) {
        setup->problem = tc_arena_format(
            cli->arena, "no dual radius follows from the gaps and the Slater point, and nothing runs without one. %s",
            fault);
        return TC_OK;
    }
    if (isnan(radius->value) && setup->model->role == TC_ROLE_WHOLE) {
        tc_progress(&cli->monitor, "looking for a dual radius", 0);
        const tc_analysis *all = tc_analysis_run(cli->arena, setup->model, setup->derivatives, NULL, &cli->monitor);
        if (all->interrupted)
            return TC_INTERRUPTED;
        radius = &all->dual_radius;
    }
    if (!isfinite(radius->value))
        return refuse(cli, setup,
                      "there is no dual radius, which keeps the multipliers bounded, and none could be computed: add "
                      "'dual radius R' to the file, or 'gap' and 'slater' to every agent; tacit check says more");
    setup->dual_radius = radius->value;
    setup->radius_origin = radius->origin;
    if (radius->origin == TC_RADIUS_PRIVATE)
        tc_buffer_printf(&cli->messages,
                         "tacit %s: the dual radius %.6g was computed from private data, which no cloud could do: add "
                         "'dual radius R' to the file, or 'gap' and 'slater' to every agent\n",
                         setup->command, radius->value);
    return TC_OK;
}

static void judge(tc_cli *cli, tc_setup *setup, const char *path) {
    const tc_assumption *sets = &setup->analysis->sets;
    bool objectives = setup->model->role == TC_ROLE_CLOUD || setup->analysis->objectives.verdict == TC_HOLDS;
    if (sets->verdict == TC_FAILS)
        setup->problem = sets->finding_count > 0 ? sets->findings[0].text : "some agent's set is empty";
    setup->sound = objectives && setup->analysis->constraints.verdict == TC_HOLDS;
    if (!setup->sound)
        tc_buffer_printf(&cli->messages,
                         "tacit %s: the %s are not proved to be convex and smooth: `tacit check %s` says where\n",
                         setup->command, objectives ? "constraints" : "objectives", path);
}

static tc_status check_role(tc_cli *cli, tc_role wanted, const tc_setup *setup) {
    const char *path = setup->model->source.path;
    if (setup->model->role == wanted)
        return TC_OK;
    if (wanted == TC_ROLE_WHOLE)
        tc_buffer_printf(&cli->messages, "%s: this file holds one party's part; %s wants the whole problem\n", path,
                         setup->command);
    else if (setup->model->role == TC_ROLE_WHOLE)
        tc_buffer_printf(&cli->messages,
                         "%s: this file holds the whole problem, private parts included, which no cloud may have: "
                         "`tacit split %s -o DIR` makes the cloud's file and one for each agent\n",
                         path, path);
    else
        tc_buffer_printf(&cli->messages, "%s: this is an agent's file; %s wants the cloud's, which tacit split made\n",
                         path, setup->command);
    return TC_BAD_PROBLEM;
}

static tc_status load(tc_cli *cli, const char *path, tc_role role, const tc_privacy_wishes *wishes, tc_setup *setup) {
    double began = tc_cli_seconds();
    tc_status status = tc_cli_load(cli, path, &setup->model);
    if (status != TC_OK)
        return status;
    status = check_role(cli, role, setup);
    if (status != TC_OK)
        return status;
    tc_privacy_override(setup->model, wishes);
    status = check_schedule(cli, setup, tc_resolve_method(&wishes->plan));
    setup->load_seconds = tc_cli_seconds() - began;
    return status;
}

static void judge_steps(tc_cli *cli, const tc_setup *setup, const tc_privacy_wishes *wishes) {
    const tc_schedule *given = &wishes->schedule;
    bool any = !isnan(given->step) || !isnan(given->step_decay) || !isnan(given->regularization) ||
               !isnan(given->regularization_decay);
    if (any && tc_resolve_method(&wishes->plan) == TC_METHOD_TACIT)
        tc_buffer_printf(&cli->messages,
                         "tacit %s: --gamma-bar, --alpha-bar, --c1 and --c2 belong to method published: they change "
                         "nothing in method tacit\n",
                         setup->command);
}

tc_status tc_analyse_public(tc_cli *cli, tc_model *model, tc_derivatives **derivatives, const tc_analysis **analysis) {
    tc_analysis_options public_facts = {.skip_private = true};
    tc_progress(&cli->monitor, "differentiating", 0);
    *derivatives = tc_derive(cli->arena, model);
    *analysis = tc_analysis_run(cli->arena, model, *derivatives, &public_facts, &cli->monitor);
    return (*analysis)->interrupted ? TC_INTERRUPTED : TC_OK;
}

static tc_status begin(tc_cli *cli, const char *command, const char *path, tc_role role,
                       const tc_privacy_wishes *wishes, tc_setup *setup) {
    *setup = (tc_setup){.command = command};
    tc_status status = load(cli, path, role, wishes, setup);
    if (status != TC_OK)
        return status;
    double began = tc_cli_seconds();
    status = tc_analyse_public(cli, setup->model, &setup->derivatives, &setup->analysis);
    if (status != TC_OK)
        return status;
    judge(cli, setup, path);
    judge_steps(cli, setup, wishes);
    if (setup->problem == NULL)
        status = find_radius(cli, setup);
    setup->analyse_seconds = tc_cli_seconds() - began;
    return status;
}

tc_status tc_setup_whole(tc_cli *cli, const char *command, const char *path, const tc_privacy_wishes *wishes,
                         tc_setup *setup) {
    return begin(cli, command, path, TC_ROLE_WHOLE, wishes, setup);
}

tc_status tc_setup_cloud(tc_cli *cli, const char *command, const char *path, const tc_privacy_wishes *wishes,
                         tc_setup *setup) {
    return begin(cli, command, path, TC_ROLE_CLOUD, wishes, setup);
}

tc_status tc_setup_plan(tc_cli *cli, tc_setup *setup, const tc_plan_options *options, const tc_plan **plan) {
    double began = tc_cli_seconds();
    *plan = tc_plan_make(cli->arena, setup->model, setup->derivatives, setup->analysis, options, &cli->monitor);
    setup->analyse_seconds += tc_cli_seconds() - began;
    if (tc_interrupted(&cli->monitor))
        return TC_INTERRUPTED;
    if ((*plan)->problem != NULL)
        return (*plan)->refusal_is_usage ? refuse(cli, setup, (*plan)->problem) : TC_OK;
    return TC_OK;
}

tc_status tc_setup_method(tc_cli *cli, const tc_setup *setup, const tc_plan *plan, tc_margin_wish margin,
                          const tc_tacit_facts **method) {
    const char *why = NULL;
    *method = NULL;
    if (plan->method != TC_METHOD_TACIT)
        return TC_OK;
    *method = tc_tacit_facts_make(cli->arena, plan, setup->model, setup->derivatives, setup->dual_radius, margin, &why);
    return *method != NULL ? TC_OK : refuse(cli, setup, why);
}

const char *tc_margin_text(tc_arena *arena, const tc_tacit_facts *method) {
    if (method == NULL || method->margin.kind == TC_MARGIN_NONE)
        return NULL;
    return method->margin.kind == TC_MARGIN_AUTO ? tc_arena_format(arena, "auto, for %g", method->margin.probability)
                                                 : tc_arena_format(arena, "%g", method->margin.amount);
}

void tc_margin_json(const tc_tacit_facts *method, tc_json *json) {
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

const char *tc_feasibility_sentence(tc_arena *arena, const tc_model *model, const tc_feasibility *found) {
    size_t worst = 0;
    for (size_t j = 1; j < model->constraint_count; j++)
        worst = found->bounds[j] > found->bounds[worst] ? j : worst;
    const char *how = found->is_exact ? "" : " (to second order in the averaged noise)";
    return found->shown
               ? tc_arena_format(arena,
                                 "What was released shows that the result satisfies all constraints, with "
                                 "probability %g%s.",
                                 found->probability, how)
               : tc_arena_format(arena,
                                 "What was released does not show that the result satisfies all constraints: "
                                 "with probability %g%s each is at most its bound, and that of %s is %.4g.",
                                 found->probability, how, model->constraints[worst].name, found->bounds[worst]);
}

void tc_feasibility_json(tc_json *json, const tc_feasibility *found, size_t m) {
    if (found == NULL || !(found->probability > 0)) {
        tc_json_null(json, "feasibility");
        return;
    }
    tc_json_open_object(json, "feasibility");
    tc_json_number(json, "probability", found->probability);
    tc_json_bool(json, "shown", found->shown);
    tc_json_bool(json, "exact", found->is_exact);
    tc_json_numbers(json, "bounds", found->bounds, m);
    tc_json_close_object(json);
}

void tc_result_card(const tc_card *card, bool whole, tc_buffer *out) {
    if (card == NULL)
        return;
    tc_buffer_puts(out, "\n");
    if (whole)
        tc_card_text(card, out);
    else
        tc_card_short(card, "In short; the whole card: tacit plan, or --card.", out);
}
