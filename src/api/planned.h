/* A plan with what belongs to it: the card, the ledger, the budgets. Of plan, run, bound and audit. */
#ifndef TC_API_PLANNED_H
#define TC_API_PLANNED_H

#include "api/result.h"
#include "plan/accuracy.h"

typedef struct tc_planned {
    const tc_plan *plan;
    const tc_derivatives *derivatives;
    const tc_tacit_facts *method; /* NULL: method published, or no plan */
    const tc_accuracy *accuracy;  /* of plan alone, where there is one */
    const tc_card *card;          /* NULL: no plan */
    const tc_ledger *ledger;      /* NULL for none */
    tc_ledger_entry next;         /* what the plan would add to it */
    const tc_budgets *budgets;
    const char *over;            /* why the budgets would not allow a run; NULL where they would */
    const char *hash, *headline; /* for tacit_plan_facts */
    tc_promised_unit promised;
} tc_planned;

/* A sentence: why a plan is not private, or why the budgets do not allow a run. NULL where all is well. */
const char *tc_planned_reason(tc_arena *arena, const tc_planned *planned);

/* Fills what tacit_plan_facts needs beyond the plan and the card. */
void tc_planned_finish(tc_arena *arena, tc_planned *planned);

/* TC_BAD_USAGE, with a message, for a ledger or a budget in the promise of a function that spends nothing. */
tc_status tc_planned_refuse_costs(tc_api_call *call) TC_MUST_USE;

#endif
