/* The accountant: what several runs on the same agents' data have cost together, in one unit and at one delta, and
 * whether a budget allows one more. Sums are never below the truth (docs/proofs/composition.md, section 6). */
#ifndef TC_PROMISE_ACCOUNTANT_H
#define TC_PROMISE_ACCOUNTANT_H

#include "promise/ledger.h"

static inline tc_unit tc_unit_of(const tc_ledger_entry *entry) { return (tc_unit){entry->unit, entry->bound}; }
bool tc_same_unit(tc_unit a, tc_unit b);

/* All runs of a ledger together, in one unit. */
typedef struct tc_spent {
    tc_unit unit;
    double delta;         /* that epsilon is taken at; 0: of Laplace runs alone */
    size_t own;           /* runs that were promised in this unit */
    size_t converted;     /* runs of other units, converted into it */
    size_t not_converted; /* runs for which no conversion is sound: they are in no sum */
    const char *why_not;  /* of the first of those: a sentence; NULL for none */
    double laplace;       /* the sum of the Laplace prices */
    double mu;            /* of the Gaussian ones together */
    double epsilon;       /* of own and converted runs; infinite if one has no price */
    bool is_priced;       /* every run has a price */
} tc_spent;

tc_spent tc_spent_in(tc_arena *arena, const tc_ledger_entry *entries, size_t count, tc_unit unit, double delta);
/* The same without a budget: at the least delta of any Gaussian run, 0 for none. Laplace prices are added without using
 * that delta, so that one more run can only raise the sum. */
tc_spent tc_spent_so_far(tc_arena *arena, const tc_ledger_entry *entries, size_t count, tc_unit unit);

/* ---- budgets ---- */

/* A budget for Gaussian runs must give the delta at which they are added up. NULL, or a sentence that says what to
 * write. next may be NULL. */
const char *tc_budget_fault(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next,
                            const tc_budget *budget);

/* Why the budgets do not allow this run after the ledger's; NULL if all do. Judged in the unit of this run and in that
 * of its file, with the largest B of these and of the ledger. So a run with another unit cannot evade the file's
 * promise, nor a run with a smaller B a promise for a larger one. */
const char *tc_over_budget(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next,
                           const tc_budget *budgets, size_t count);

/* The price of all runs together with this one, in the unit (of those two) in which it is larger. */
tc_spent tc_spent_with(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, const tc_budget *budget);

/* "epsilon 4", "epsilon 4, delta 1e-06" */
const char *tc_budget_text(tc_arena *arena, const tc_budget *budget);

#endif
