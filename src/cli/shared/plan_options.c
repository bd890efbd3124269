#include "cli/shared/plan_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const tc_late_choices[] = {"wait", "hold", NULL};

typedef struct option_reader {
    tc_cli *cli;
    const char *command;
    const tc_option_value *values;
    bool wrong;
} option_reader;

static void complain(option_reader *r, const char *option, const char *wanted, const char *text) {
    tc_buffer_printf(&r->cli->messages, "tacit %s: --%s wants %s, not '%s'\n", r->command, option, wanted, text);
    r->wrong = true;
}

/* A number, or ln(number): the double that the problem language makes of it. */
static bool read_price(tc_arena *arena, const char *text, double *value) {
    size_t length = strlen(text);
    bool logarithm = length > 4 && strncmp(text, "ln(", 3) == 0 && text[length - 1] == ')';
    if (!logarithm)
        return tc_read_number(text, value);
    if (!tc_read_number(tc_arena_copy(arena, text + 3, length - 4), value) || *value <= 0)
        return false;
    *value = log(*value);
    return true;
}

bool tc_read_price(tc_arena *arena, const char *text, double *value) {
    return read_price(arena, text, value) && *value > 0;
}

/* The positive number (below the limit) of a string option; NAN where it is not given. */
static double positive(option_reader *r, size_t option, const char *name, double limit, const char *wanted) {
    const tc_option_value *given = &r->values[option];
    double value = NAN;
    if (!given->given)
        return NAN;
    bool read = option == TC_PRIVACY_EPSILON ? read_price(r->cli->arena, given->text, &value)
                                             : tc_read_number(given->text, &value);
    if (read && value > 0 && value < limit)
        return value;
    complain(r, name, wanted, given->text);
    return NAN;
}

static const char *word(const option_reader *r, size_t option) {
    return r->values[option].given ? r->values[option].text : NULL;
}

tc_status tc_promise_options(tc_cli *cli, const char *command, const tc_arguments *arguments, tacit_promise *promise) {
    const tc_option_value *values = arguments->values;
    option_reader r = {.cli = cli, .command = command, .values = values};
    const char *number = "a positive number";
    tacit_promise_default(promise, sizeof *promise);
    promise->mechanism = word(&r, TC_PRIVACY_MECHANISM);
    promise->adjacency = word(&r, TC_PRIVACY_ADJACENCY);
    promise->epsilon =
        positive(&r, TC_PRIVACY_EPSILON, "epsilon", INFINITY, "a positive number, or ln(X) with X above 1");
    promise->delta = positive(&r, TC_PRIVACY_DELTA, "delta", 1, "a number above 0 and below 1");
    promise->rounds = values[TC_PRIVACY_ROUNDS].given ? (double)values[TC_PRIVACY_ROUNDS].integer : NAN;
    promise->method = word(&r, TC_PRIVACY_METHOD);
    promise->placement = word(&r, TC_PRIVACY_PLACEMENT);
    promise->calibration = word(&r, TC_PRIVACY_CALIBRATION);
    promise->constants = word(&r, TC_PRIVACY_CONSTANTS);
    promise->margin = word(&r, TC_PRIVACY_MARGIN);
    promise->feasible = word(&r, TC_PRIVACY_FEASIBLE);
    promise->alpha_bar = positive(&r, TC_PRIVACY_ALPHA_BAR, "alpha-bar", INFINITY, number);
    promise->gamma_bar = positive(&r, TC_PRIVACY_GAMMA_BAR, "gamma-bar", INFINITY, number);
    promise->c1 = values[TC_PRIVACY_C1].given ? values[TC_PRIVACY_C1].real : NAN;
    promise->c2 = values[TC_PRIVACY_C2].given ? values[TC_PRIVACY_C2].real : NAN;
    promise->coalitions = values[TC_PRIVACY_COALITION].texts;
    promise->coalition_count = values[TC_PRIVACY_COALITION].text_count;
    promise->simulate = values[TC_PRIVACY_SEED].given;
    promise->seed = (uint64_t)values[TC_PRIVACY_SEED].integer;
    return r.wrong ? TC_BAD_USAGE : TC_OK;
}

tc_status tc_late_options(tc_cli *cli, const char *command, const tc_option_value *on_late,
                          const tc_option_value *most_holds, tacit_promise *promise) {
    bool holds = on_late->choice == 1;
    promise->most_holds = holds ? (unsigned)most_holds->integer : 0;
    if (holds || !most_holds->given)
        return TC_OK;
    tc_buffer_printf(&cli->messages, "tacit %s: --most-holds goes with --on-late hold\n", command);
    return TC_BAD_USAGE;
}

static bool read_delta(const char *text, double *delta) {
    char *end;
    *delta = strtod(text, &end);
    return end != text && *end == '\0' && *delta > 0 && *delta < 1;
}

tc_status tc_budget_option(tc_cli *cli, const char *command, const tc_option_value *value, tacit_promise *promise) {
    if (!value->given)
        return TC_OK;
    const char *colon = strchr(value->text, ':');
    size_t length = colon == NULL ? strlen(value->text) : (size_t)(colon - value->text);
    if (tc_read_price(cli->arena, tc_arena_copy(cli->arena, value->text, length), &promise->budget_epsilon) &&
        (colon == NULL || read_delta(colon + 1, &promise->budget_delta)))
        return TC_OK;
    tc_buffer_printf(
        &cli->messages,
        "tacit %s: --budget wants a positive number, or ln(X) with X above 1, and for Gaussian noise a delta "
        "above 0 and below 1 behind a colon, as in 4:1e-6; not '%s'\n",
        command, value->text);
    return TC_BAD_USAGE;
}

tc_work tc_cli_work(tc_cli *cli, const char *command) {
    return (tc_work){.arena = cli->arena,
                     .messages = &cli->messages,
                     .monitor = &cli->monitor,
                     .command = command,
                     .prefix = tc_arena_format(cli->arena, "tacit %s: ", command)};
}
