/* What the plan's own scales make of two inputs: known exactly, without a sample and without chance. */
#ifndef TC_AUDIT_PRICE_H
#define TC_AUDIT_PRICE_H

#include "audit/audit.h"
#include "audit/worst.h"

/* Sets amount and price of the system, and priced_out where they refute its claim. `rounds`: how often the two inputs
 * may differ: 1, or in the unit `agent` all rounds of the plan. */
void tc_judge_price(const tc_audit_view *view, const tc_worst_case *pair, size_t first, size_t end, double rounds,
                    tc_audit_system *system);

/* Whether the price would refute the claim of a plan with half the noise. */
bool tc_price_would_show_half(const tc_plan *plan, const tc_audit_system *system);

#endif
