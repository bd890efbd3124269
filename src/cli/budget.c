#include "cli/budget.h"

#include "cli/privacy_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
