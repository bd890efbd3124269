/* What a caller wishes: a tacit_promise, checked and read; and the budgets that a run must keep. */
#ifndef TC_SETUP_WISHES_H
#define TC_SETUP_WISHES_H

#include "engine/tacit/facts.h"
#include "plan/plan.h"
#include "promise/ledger.h"
#include "setup/work.h"

#include <tacit/tacit.h>

/* In the order of the enumerations; NULL at the end. */
extern const char *const tc_method_choices[], *const tc_mechanism_choices[], *const tc_adjacency_pairs[],
                                                                                 *const tc_placement_choices[],
                                                                                     *const tc_calibration_choices[],
                                                                                         *const tc_constants_choices[];

/* The budgets that a run must keep: that of the promise, and the file's. */
typedef struct tc_budgets {
    tc_budget list[2];
    size_t count;
} tc_budgets;

typedef struct tc_privacy_wishes {
    tc_plan_options plan;
    tc_margin_wish margin;
    tc_schedule schedule; /* numbers are NAN where not given */
    tc_budgets budgets;
    const char *ledger; /* NULL for none */
    bool has_epsilons;  /* a sweep, which brings its own */
    bool seeded;        /* noise from a seed */
    uint64_t seed;
} tc_privacy_wishes;

/* promise may be NULL. TC_BAD_USAGE, with a message, for a word or number that is wrong by itself, whatever the file
 * says. Names everything that is wrong. */
tc_status tc_wishes_read(tc_work *work, const tacit_promise *promise, tc_privacy_wishes *wishes) TC_MUST_USE;

/* A decimal number and nothing else. */
bool tc_read_number(const char *text, double *value);

/* The model with the schedule of the wishes in the place of the file's. A copy: the problem may be used again. */
tc_model *tc_wishes_apply(tc_arena *arena, const tc_model *model, const tc_privacy_wishes *wishes);

/* Adds the file's budget. */
void tc_budgets_add_file(tc_budgets *budgets, const tc_model *model);

/* TC_BAD_USAGE, with a message, where a budget lacks the delta that a run of the ledger or the next one needs. */
tc_status tc_budgets_check(tc_work *work, const tc_budgets *budgets, const tc_ledger *ledger,
                           const tc_ledger_entry *next) TC_MUST_USE;

#endif
