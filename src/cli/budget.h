/* The budget that a run must keep: of --budget, and of the file. */
#ifndef TC_CLI_BUDGET_H
#define TC_CLI_BUDGET_H

#include "cli/cli.h"
#include "promise/accountant.h"

#define TC_BUDGET_OPTION                                                                                               \
    {                                                                                                                  \
        .name = "budget", .type = TC_OPTION_STRING, .argument = "E[:D]",                                               \
        .text = "Refuse to run where all runs in the ledger and this one would together cost more than epsilon E at "  \
                "delta D, in the unit of this run and with the largest B of any: 4:1e-6. E is a positive number or "   \
                "ln(X). Where Gaussian noise is or was used, D is needed. A budget in the file must be kept too."      \
    }

typedef struct tc_budgets {
    tc_budget list[2];
    size_t count;
} tc_budgets;

/* value: of --budget, which may not have been given. TC_BAD_USAGE, with a message, where it is none. */
tc_status tc_budgets_read(tc_cli *cli, const char *command, const tc_option_value *value,
                          tc_budgets *budgets) TC_MUST_USE;
/* With the file's. */
void tc_budgets_add_file(tc_budgets *budgets, const tc_model *model);

/* TC_BAD_USAGE, with a message, where a budget lacks the delta that runs of the ledger, or the next one, need. */
tc_status tc_budgets_check(tc_cli *cli, const char *command, const tc_budgets *budgets, const tc_ledger *ledger,
                           const tc_ledger_entry *next) TC_MUST_USE;

#endif
