#include "cli/study/study.h"

#include "plan/plan.h"
#include "plan/account/account.h"
#include "report/report.h"

enum { JSON = TC_PRIVACY_OPTION_COUNT, LEDGER, BUDGET, ROUNDS_PER_DAY, ON_LATE, MOST_HOLDS, CERTIFICATE };

static const tc_option options[] = {
    TC_PRIVACY_OPTIONS,
    [JSON] = TC_JSON_OPTION,
    [LEDGER] = {.name = "ledger",
                .type = TC_OPTION_STRING,
                .argument = "FILE",
                .text = "Show what the runs in this ledger have cost, and what this plan would add. A plan spends "
                        "nothing and enters nothing."},
    [BUDGET] = TC_BUDGET_OPTION,
    [ROUNDS_PER_DAY] = {.name = "rounds-per-day",
                        .type = TC_OPTION_INT,
                        .argument = "N",
                        .least = 1,
                        .most = 0x1p48 - 1,
                        .text = "How many rounds a day has: for the price of hiding a day."},
    [ON_LATE] = TC_LATE_ON_LATE,
    [MOST_HOLDS] = TC_LATE_MOST_HOLDS,
    [CERTIFICATE] = {.name = "certificate",
                     .type = TC_OPTION_STRING,
                     .argument = "FILE.json",
                     .text = "Write what the plan rests on: the public model, boxes, lattices, scales, and what every "
                             "observer pays. examples/verify/verify_plan.py checks such a file without this program. "
                             "Nothing is written if the plan is not private."},
};

static const tc_example examples[] = {
    {"tacit plan ev.tacit", "The noise that the file asks for, what every observer learns, and the guarantee card."},
    {"tacit plan ev.tacit --epsilon 'ln(2)' --adjacency one:1",
     "Another promise for the same problem: hide one agent's messages up to a total change of 1."},
    {"tacit plan ev.tacit --adjacency agent --rounds 2000 --delta 1e-6",
     "Hide everything that one agent could do in 2,000 rounds."},
    {"tacit plan ev.tacit --coalition 'home[1],home[2]' --json", "Also what two agents learn together; for a program."},
    {"tacit plan paper.tacit --calibration published --constants declared",
     "The paper's scheme to the letter; exit code 1 if its constants do not keep the promise."},
    {"tacit plan ev.tacit --method published --rounds 2000", "Where noise would go for the paper's steps."},
    {"tacit plan ev.tacit --on-late hold --most-holds 2", "The price of a cloud that does not wait for late agents."},
    {"tacit plan ev.tacit --ledger spent --budget 4:1e-6",
     "The price of all runs with this one, and whether a budget would allow it."},
    {"tacit plan ev.tacit --certificate ev.json", "A file from which others can check every price."},
};

typedef struct printed {
    const tc_plan *plan;
    const tc_tacit_facts *method; /* NULL: method published, or no plan */
    const tc_card *card;          /* NULL: no plan */
    const tc_ledger *ledger;
    tc_ledger_entry next; /* what the plan would add to it */
    const tc_budgets *budgets;
    const char *over; /* why the budgets would not allow a run; NULL where they would */
} printed;

/* What method tacit derives from public facts before the first round. */
static void method_json(const tc_tacit_facts *method, size_t rows, tc_json *json) {
    tc_json_open_object(json, "method_facts");
    tc_json_number(json, "box_length", method->box_length);
    tc_json_number(json, "radius", method->radius);
    tc_json_numbers(json, "row_scale", method->row_scale, rows);
    tc_json_numbers(json, "weight", method->weight, rows);
    tc_margin_json(method, json);
    tc_json_open_array(json, "warnings");
    for (size_t i = 0; i < method->warning_count; i++)
        tc_json_string(json, NULL, method->warnings[i]);
    tc_json_close_array(json);
    tc_json_close_object(json);
}

/* The plan, with all warnings in one list. */
static tc_plan with_warnings(tc_arena *arena, const tc_plan *plan, const tc_tacit_facts *method) {
    tc_plan all = *plan;
    const char **warnings = TC_NEW(arena, const char *, plan->warning_count + method->warning_count + 1);
    all.warning_count = 0;
    for (size_t i = 0; i < plan->warning_count; i++)
        warnings[all.warning_count++] = plan->warnings[i];
    for (size_t i = 0; i < method->warning_count; i++)
        warnings[all.warning_count++] = method->warnings[i];
    all.warnings = warnings;
    return all;
}

static const tc_ledger no_ledger;
static const tc_ledger *ledger_of(const printed *p) { return p->ledger != NULL ? p->ledger : &no_ledger; }

/* Of a budget that allows a run. */
static void print_budget(tc_cli *cli, const printed *p, const tc_budget *budget) {
    tc_spent spent = tc_spent_with(cli->arena, ledger_of(p), &p->next, budget);
    tc_options_wrap(&cli->output,
                    tc_arena_format(cli->arena,
                                    "A run would be within the budget of %s: %s would come to epsilon %s in the unit "
                                    "%s.",
                                    tc_budget_text(cli->arena, budget),
                                    p->ledger != NULL ? "all together" : "it alone (--ledger FILE counts others)",
                                    tc_text_up(cli->arena, spent.epsilon),
                                    tc_unit_text(cli->arena, spent.unit.kind, spent.unit.bound)),
                    2);
}

static void budgets_json(tc_cli *cli, const printed *p, tc_json *json) {
    tc_json_bool(json, "within_budget", p->over == NULL);
    tc_json_string(json, "over_budget", p->over);
    tc_json_open_array(json, "budgets");
    for (size_t i = 0; i < p->budgets->count; i++) {
        const tc_budget *budget = &p->budgets->list[i];
        tc_spent spent = tc_spent_with(cli->arena, ledger_of(p), &p->next, budget);
        tc_json_open_object(json, NULL);
        tc_json_number(json, "epsilon", budget->epsilon);
        tc_json_number(json, "delta", budget->delta);
        tc_json_number(json, "comes_to", spent.not_converted > 0 ? NAN : spent.epsilon);
        tc_json_string(
            json, "unit",
            spent.unit.kind == TC_ADJACENCY_UNSET ? NULL : tc_unit_text(cli->arena, spent.unit.kind, spent.unit.bound));
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

static void print_json(tc_cli *cli, const printed *p) {
    tc_plan all = p->method == NULL ? *p->plan : with_warnings(cli->arena, p->plan, p->method);
    tc_json json = tc_json_new(&cli->output);
    tc_json_open_object(&json, NULL);
    tc_plan_json(&all, &json);
    if (p->method != NULL)
        method_json(p->method, p->plan->model->constraint_count, &json);
    if (p->card != NULL) {
        tc_card_json(p->card, "card", &json);
        if (p->ledger != NULL)
            tc_ledger_json(cli->arena, p->ledger, &p->next, "ledger", &json);
        if (p->budgets->count > 0)
            budgets_json(cli, p, &json);
    }
    tc_json_close_object(&json);
}

static const char *margin_sentence(tc_arena *arena, const tc_margin_wish *margin) {
    return margin->kind == TC_MARGIN_GIVEN
               ? tc_arena_format(arena, "margin %g, public: solves g + %g <= 0 instead; the promise does not change",
                                 margin->amount, margin->amount)
               : tc_arena_format(arena,
                                 "margin auto, public: made in the run from released numbers, to have all constraints "
                                 "hold with probability %g; the promise does not change",
                                 margin->probability);
}

static void print_text(tc_cli *cli, const printed *p) {
    if (p->plan->problem != NULL) {
        tc_options_wrap(&cli->output, tc_arena_format(cli->arena, "No plan can be made: %s", p->plan->problem), 0);
        return;
    }
    tc_plan_text(p->plan, &cli->output, 80);
    if (p->method != NULL && p->method->margin.kind != TC_MARGIN_NONE) {
        tc_buffer_puts(&cli->output, "\n");
        tc_options_wrap(&cli->output, margin_sentence(cli->arena, &p->method->margin), 2);
    }
    for (size_t i = 0; p->method != NULL && i < p->method->warning_count; i++) {
        tc_buffer_puts(&cli->output, "\n");
        tc_options_wrap(&cli->output, tc_arena_format(cli->arena, "warning: %s", p->method->warnings[i]), 2);
    }
    tc_buffer_puts(&cli->output, "\n");
    if (p->ledger != NULL) {
        tc_ledger_text(cli->arena, p->ledger, &p->next, &cli->output);
    }
    if (p->budgets->count > 0 || p->ledger != NULL) {
        if (p->over != NULL)
            tc_options_wrap(&cli->output, tc_arena_format(cli->arena, "A run would be refused: %s.", p->over), 2);
        for (size_t i = 0; p->over == NULL && i < p->budgets->count; i++)
            print_budget(cli, p, &p->budgets->list[i]);
        tc_buffer_puts(&cli->output, "\n");
    }
    tc_card_text(p->card, &cli->output);
}

/* Checks a run by this plan against the ledger and the budgets. */
static tc_status look_up_cost(tc_cli *cli, printed *p) {
    const tc_ledger *ledger = ledger_of(p); /* without one: this run alone */
    if (p->plan->problem != NULL)
        return TC_OK;
    p->next = tc_ledger_entry_of(cli->arena, p->plan, "plan");
    tc_status status = tc_budgets_check(cli, "plan", p->budgets, ledger, &p->next);
    if (status == TC_OK && p->budgets->count > 0)
        p->over = tc_over_budget(cli->arena, ledger, &p->next, p->budgets->list, p->budgets->count);
    return status;
}

static tc_status find_method(tc_cli *cli, const tc_plan *plan, tc_model *model, const tc_derivatives *derivatives,
                             const tc_analysis *analysis, tc_margin_wish margin, const tc_tacit_facts **method) {
    const char *why = NULL;
    *method = NULL;
    if (plan->problem != NULL || plan->method != TC_METHOD_TACIT)
        return TC_OK;
    *method =
        tc_tacit_facts_make(cli->arena, plan, model, derivatives, tc_public_radius(model, analysis), margin, &why);
    if (*method != NULL)
        return TC_OK;
    tc_buffer_printf(&cli->messages, "tacit plan: %s\n", why);
    return TC_BAD_USAGE;
}

static tc_status check_certificate(tc_cli *cli, const tc_arguments *arguments) {
    const tc_output_file output = {
        "--certificate", arguments->values[CERTIFICATE].text, {.mark = TC_CERTIFICATE_MARK, .name = "a certificate"}};
    const tc_input_file inputs[] = {{"the problem", arguments->operands[0]},
                                    {"the ledger", arguments->values[LEDGER].text}};
    return tc_outputs_check(cli, &output, 1, inputs, sizeof inputs / sizeof *inputs);
}

static tc_status write_certificate(tc_cli *cli, const char *path, const tc_plan *plan,
                                   const tc_derivatives *derivatives) {
    const char *problem = tc_certificate_problem(plan);
    tc_file *file = NULL;
    if (path == NULL)
        return TC_OK;
    if (problem != NULL) {
        tc_buffer_printf(&cli->messages, "tacit plan: '%s' was not written: %s\n", path, problem);
        return TC_OK;
    }
    tc_buffer text = tc_buffer_new(cli->arena, SIZE_MAX / 4);
    tc_certificate_text(cli->arena, plan, derivatives, &text);
    tc_status status = tc_file_open(cli->arena, path, &cli->messages, &file);
    if (status != TC_OK)
        return status;
    (void)fwrite(text.text, 1, text.length, file->stream); /* tc_file_close finds errors */
    return tc_file_close(file, &cli->messages);
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    tc_privacy_wishes wishes;
    tc_model *model = NULL;
    tc_ledger *ledger = NULL;
    tc_status status = tc_privacy_options_read(cli, "plan", arguments, &wishes);
    if (status == TC_OK)
        status = tc_late_options_read(cli, "plan", &arguments->values[ON_LATE], &arguments->values[MOST_HOLDS],
                                      &wishes.plan.hold_cap);
    tc_budgets budgets;
    if (status == TC_OK)
        status = tc_budgets_read(cli, "plan", &arguments->values[BUDGET], &budgets);
    if (status == TC_OK && arguments->values[BUDGET].given && !arguments->values[LEDGER].given) {
        tc_buffer_puts(&cli->messages, "tacit plan: --budget wants --ledger FILE, where what was spent is written\n");
        status = TC_BAD_USAGE;
    }
    if (status == TC_OK)
        status = check_certificate(cli, arguments);
    if (status == TC_OK && arguments->values[LEDGER].given)
        status = tc_ledger_read(cli->arena, arguments->values[LEDGER].text, &cli->messages, &ledger);
    if (status == TC_OK)
        status = tc_cli_load(cli, arguments->operands[0], &model);
    if (status != TC_OK)
        return status;
    tc_privacy_override(model, &wishes);
    tc_budgets_add_file(&budgets, model);
    if (arguments->values[ROUNDS_PER_DAY].given)
        wishes.plan.rounds_per_day = (double)arguments->values[ROUNDS_PER_DAY].integer;
    tc_derivatives *derivatives;
    const tc_analysis *analysis;
    status = tc_analyse_public(cli, model, &derivatives, &analysis);
    if (status != TC_OK)
        return status;
    const tc_plan *plan = tc_plan_make(cli->arena, model, derivatives, analysis, &wishes.plan, &cli->monitor);
    if (tc_interrupted(&cli->monitor))
        return TC_INTERRUPTED;
    if (plan->problem != NULL && plan->refusal_is_usage) {
        tc_buffer_printf(&cli->messages, "tacit plan: %s\n", plan->problem);
        return TC_BAD_USAGE;
    }
    const tc_tacit_facts *method;
    status = find_method(cli, plan, model, derivatives, analysis, wishes.margin, &method);
    if (status != TC_OK)
        return status;
    status = write_certificate(cli, arguments->values[CERTIFICATE].text, plan, derivatives);
    if (status != TC_OK)
        return status;
    bool convex = analysis->constraints.verdict == TC_HOLDS;
    if (!convex)
        tc_buffer_printf(&cli->messages,
                         "tacit plan: the constraints are not proved to be convex and smooth: `tacit check %s` says "
                         "where\n",
                         arguments->operands[0]);
    const char *fault = tc_public_radius_fault(model, analysis);
    if (fault != NULL && plan->problem == NULL)
        tc_buffer_printf(&cli->messages,
                         "tacit plan: no dual radius follows from the gaps and the Slater point, and nothing runs "
                         "without one. %s\n",
                         fault);
    printed p = {.plan = plan, .method = method, .ledger = ledger, .budgets = &budgets};
    if (plan->problem == NULL)
        p.card = tc_card_make(cli->arena, plan, wishes.seeded);
    status = look_up_cost(cli, &p);
    if (status != TC_OK)
        return status;
    *yes = tc_plan_deserves_private(plan) && convex && fault == NULL && p.over == NULL;
    (arguments->values[JSON].flag ? print_json : print_text)(cli, &p);
    return TC_OK;
}

const tc_command tc_command_plan = {
    .usage =
        {.name = "plan",
         .summary = "say how much noise is needed, and what every observer learns",
         .operands = "FILE",
         .least_operands = 1,
         .most_operands = 1,
         .operand_help = TC_FILE_HELP,
         .description =
             "Reads a problem, or the cloud's part of it, and decides which numbers leave the cloud with how much "
             "noise, so that whatever anyone can see keeps the promise. Prints the scales, a comparison of placements, "
             "warnings where the method is not expected to do well, a certified upper bound of what each observer "
             "learns about the others over the whole run, a table of what it costs to hide more, and a card that says "
             "in plain words what is promised and what is not.\n\n"
             "A plan depends only on the cloud's part of the problem and on options: the whole file and the cloud's "
             "file "
             "give the same plan.\n\n"
             "The exit code is 0 when there is a plan and it is private; 1 when it is not (a seed, no mechanism, a "
             "declared constant that is too small, no public dual radius), when it is private in name only, when the "
             "budget does not allow it, when the constraints are not proved to be convex and smooth, "
             "when the declared Slater point violates one of them, or when no plan can be made; 2 when options or file "
             "do not say what to promise.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
};
