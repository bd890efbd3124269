#include "cli/shared/plan_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the enumerations. */
const char *const tc_method_choices[] = {"published", "tacit", NULL};
const char *const tc_mechanism_choices[] = {"none", "laplace", "gaussian", NULL};
const char *const tc_placement_choices[] = {"auto", "outputs", "states", "forms", NULL};
const char *const tc_calibration_choices[] = {"tight", "published", NULL};
const char *const tc_constants_choices[] = {"certified", "declared", NULL};

const char *const tc_late_choices[] = {"wait", "hold", NULL};

#define MARGIN_PROBABILITY 0.95

typedef struct option_reader {
    tc_cli *cli;
    const char *command;
    const tc_arguments *arguments;
    bool wrong;
} option_reader;

static void complain(option_reader *r, const char *option, const char *wanted, const char *text) {
    tc_buffer_printf(&r->cli->messages, "tacit %s: --%s wants %s, not '%s'\n", r->command, option, wanted, text);
    r->wrong = true;
}

/* A decimal number and nothing else. */
static bool read_number(const char *text, double *value) {
    char *end = NULL;
    if (text[0] == '\0' || strchr("0123456789.+-", text[0]) == NULL || strpbrk(text, "xXnN") != NULL)
        return false;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

/* A number, or ln(number): the double that the problem language makes of it. */
static bool read_price(tc_arena *arena, const char *text, double *value) {
    size_t length = strlen(text);
    bool logarithm = length > 4 && strncmp(text, "ln(", 3) == 0 && text[length - 1] == ')';
    if (!logarithm)
        return read_number(text, value);
    if (!read_number(tc_arena_copy(arena, text + 3, length - 4), value) || *value <= 0)
        return false;
    *value = log(*value);
    return true;
}

bool tc_privacy_read_price(tc_arena *arena, const char *text, double *value) {
    return read_price(arena, text, value) && *value > 0;
}

/* The positive number (below the limit) of a string option; NAN where it is not given. */
static double positive(option_reader *r, size_t option, const char *name, double limit, const char *wanted) {
    const tc_option_value *given = &r->arguments->values[option];
    double value = NAN;
    if (!given->given)
        return NAN;
    bool read = option == TC_PRIVACY_EPSILON ? read_price(r->cli->arena, given->text, &value)
                                             : read_number(given->text, &value);
    if (read && value > 0 && value < limit)
        return value;
    complain(r, name, wanted, given->text);
    return NAN;
}

static void read_adjacency(option_reader *r, tc_plan_options *plan) {
    static const struct {
        const char *prefix;
        tc_adjacency unit;
    } units[] = {{"ensemble:", TC_ADJACENCY_ENSEMBLE}, {"one:", TC_ADJACENCY_ONE}, {"", TC_ADJACENCY_BARE}};
    const tc_option_value *given = &r->arguments->values[TC_PRIVACY_ADJACENCY];
    if (!given->given)
        return;
    if (strcmp(given->text, "agent") == 0) {
        plan->adjacency = TC_ADJACENCY_AGENT;
        return;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i].prefix);
        if (strncmp(given->text, units[i].prefix, length) != 0)
            continue;
        plan->adjacency = units[i].unit;
        if (read_number(given->text + length, &plan->adjacency_bound) && plan->adjacency_bound > 0)
            return;
        break;
    }
    complain(r, "adjacency", "ensemble:B, one:B, agent or B, where B is a positive number", given->text);
}

/* "a,b", without an empty name. */
static void read_coalitions(option_reader *r, tc_plan_options *plan) {
    const tc_option_value *given = &r->arguments->values[TC_PRIVACY_COALITION];
    for (size_t i = 0; i < given->text_count; i++) {
        const char *text = given->texts[i];
        size_t length = strlen(text);
        if (length == 0 || text[0] == ',' || text[length - 1] == ',' || strstr(text, ",,") != NULL)
            complain(r, "coalition", "names of agents with a comma between", text);
    }
    plan->coalitions = given->texts;
    plan->coalition_count = given->text_count;
}

/* "0.1", "auto", "auto:0.99" */
static void read_margin(option_reader *r, tc_privacy_wishes *wishes) {
    const tc_option_value *given = &r->arguments->values[TC_PRIVACY_MARGIN];
    tc_margin_wish *margin = &wishes->margin;
    double value = MARGIN_PROBABILITY;
    if (!given->given)
        return;
    bool automatic = strncmp(given->text, "auto", 4) == 0;
    bool read = automatic ? given->text[4] == '\0' || (given->text[4] == ':' && read_number(given->text + 5, &value))
                          : read_number(given->text, &value);
    if (!read || (automatic ? !(value > 0.5 && value < 1) : !(value >= 0))) {
        complain(r, "margin", "a number from 0, auto, or auto:P with P above 0.5 and below 1", given->text);
        return;
    }
    if (automatic)
        *margin = (tc_margin_wish){.kind = TC_MARGIN_AUTO, .probability = value};
    else if (value > 0)
        *margin = (tc_margin_wish){.kind = TC_MARGIN_GIVEN, .amount = value};
    if (tc_resolve_method(&wishes->plan) != TC_METHOD_TACIT) {
        tc_buffer_printf(&r->cli->messages, "tacit %s: --margin goes with --method tacit\n", r->command);
        r->wrong = true;
    }
}

tc_status tc_privacy_options_read(tc_cli *cli, const char *command, const tc_arguments *arguments,
                                  tc_privacy_wishes *wishes) {
    const tc_option_value *values = arguments->values;
    option_reader r = {.cli = cli, .command = command, .arguments = arguments};
    const char *number = "a positive number";
    *wishes = (tc_privacy_wishes){
        .plan = {.mechanism = values[TC_PRIVACY_MECHANISM].given
                                  ? (tc_mechanism)(TC_MECHANISM_NONE + values[TC_PRIVACY_MECHANISM].choice)
                                  : TC_MECHANISM_UNSET,
                 .calibration = (tc_calibration)values[TC_PRIVACY_CALIBRATION].choice,
                 .constants = (tc_constants)values[TC_PRIVACY_CONSTANTS].choice,
                 .placement = (tc_placement)values[TC_PRIVACY_PLACEMENT].choice,
                 .method = values[TC_PRIVACY_METHOD].given
                               ? (tc_method)(TC_METHOD_PUBLISHED + values[TC_PRIVACY_METHOD].choice)
                               : TC_METHOD_UNSET,
                 .adjacency = TC_ADJACENCY_UNSET,
                 .adjacency_bound = NAN,
                 .epsilon = positive(&r, TC_PRIVACY_EPSILON, "epsilon", INFINITY,
                                     "a positive number, or ln(X) with X above 1"),
                 .delta = positive(&r, TC_PRIVACY_DELTA, "delta", 1, "a number above 0 and below 1"),
                 .rounds = values[TC_PRIVACY_ROUNDS].given ? (double)values[TC_PRIVACY_ROUNDS].integer : NAN,
                 .seeded = values[TC_PRIVACY_SEED].given},
        .schedule = {.step = positive(&r, TC_PRIVACY_GAMMA_BAR, "gamma-bar", INFINITY, number),
                     .step_decay = values[TC_PRIVACY_C2].given ? values[TC_PRIVACY_C2].real : NAN,
                     .regularization = positive(&r, TC_PRIVACY_ALPHA_BAR, "alpha-bar", INFINITY, number),
                     .regularization_decay = values[TC_PRIVACY_C1].given ? values[TC_PRIVACY_C1].real : NAN},
        .seeded = values[TC_PRIVACY_SEED].given,
        .seed = (uint64_t)values[TC_PRIVACY_SEED].integer,
    };
    wishes->schedule.rounds = wishes->plan.rounds;
    read_adjacency(&r, &wishes->plan);
    read_coalitions(&r, &wishes->plan);
    read_margin(&r, wishes);
    return r.wrong ? TC_BAD_USAGE : TC_OK;
}

tc_status tc_late_options_read(tc_cli *cli, const char *command, const tc_option_value *on_late,
                               const tc_option_value *most_holds, double *hold_cap) {
    bool holds = on_late->choice == 1;
    *hold_cap = holds ? (double)most_holds->integer : 0;
    if (holds || !most_holds->given)
        return TC_OK;
    tc_buffer_printf(&cli->messages, "tacit %s: --most-holds goes with --on-late hold\n", command);
    return TC_BAD_USAGE;
}

static void replace(double *value, double wish) {
    if (!isnan(wish))
        *value = wish;
}

void tc_privacy_override(tc_model *model, const tc_privacy_wishes *wishes) {
    replace(&model->schedule.step, wishes->schedule.step);
    replace(&model->schedule.step_decay, wishes->schedule.step_decay);
    replace(&model->schedule.regularization, wishes->schedule.regularization);
    replace(&model->schedule.regularization_decay, wishes->schedule.regularization_decay);
    replace(&model->schedule.rounds, wishes->schedule.rounds);
}

/* ---- budgets ---- */

static bool read_delta(const char *text, double *delta) {
    char *end;
    *delta = strtod(text, &end);
    return end != text && *end == '\0' && *delta > 0 && *delta < 1;
}

tc_status tc_budgets_read(tc_cli *cli, const char *command, const tc_option_value *value, tc_budgets *budgets) {
    *budgets = (tc_budgets){0};
    if (!value->given)
        return TC_OK;
    tc_budget *budget = &budgets->list[budgets->count++];
    *budget = (tc_budget){.delta = NAN};
    const char *colon = strchr(value->text, ':');
    size_t length = colon == NULL ? strlen(value->text) : (size_t)(colon - value->text);
    if (tc_privacy_read_price(cli->arena, tc_arena_copy(cli->arena, value->text, length), &budget->epsilon) &&
        (colon == NULL || read_delta(colon + 1, &budget->delta)))
        return TC_OK;
    tc_buffer_printf(
        &cli->messages,
        "tacit %s: --budget wants a positive number, or ln(X) with X above 1, and for Gaussian noise a delta "
        "above 0 and below 1 behind a colon, as in 4:1e-6; not '%s'\n",
        command, value->text);
    return TC_BAD_USAGE;
}

void tc_budgets_add_file(tc_budgets *budgets, const tc_model *model) {
    if (!isnan(model->budget.epsilon))
        budgets->list[budgets->count++] = model->budget;
}

tc_status tc_budgets_check(tc_cli *cli, const char *command, const tc_budgets *budgets, const tc_ledger *ledger,
                           const tc_ledger_entry *next) {
    for (size_t i = 0; i < budgets->count; i++) {
        const char *fault = tc_budget_fault(cli->arena, ledger, next, &budgets->list[i]);
        if (fault == NULL)
            continue;
        tc_buffer_printf(&cli->messages, "tacit %s: %s\n", command, fault);
        return TC_BAD_USAGE;
    }
    return TC_OK;
}
