/* The common start of run, sweep, bound and serve: the problem, public facts about it, the dual radius, the plan. */
#ifndef TC_SETUP_SETUP_H
#define TC_SETUP_SETUP_H

#include "analysis/analysis.h"
#include "promise/card.h"
#include "setup/wishes.h"

typedef struct tc_setup {
    tc_model *model;
    const tc_derivatives *derivatives;
    const tc_analysis *analysis; /* public facts */
    uint64_t rounds;
    double dual_radius; /* R; INFINITY without constraints */
    tc_radius_origin radius_origin;
    const char *problem; /* NULL, or why nothing can be run: an outcome, not an error */
    bool sound;          /* the assumptions that were checked hold */
    double load_seconds, analyse_seconds;
} tc_setup;

/* What to say of a setup that is not sound. */
#define TC_UNSOUND                                                                                                     \
    "an assumption of the method is not proved, or no point satisfies all constraints: the warnings say which"

/* A problem that was loaded. */
typedef struct tc_loaded {
    tc_model *model;
    const tc_derivatives *derivatives;
    double seconds; /* that loading took */
} tc_loaded;

/* Public facts of a model: nothing that the cloud could not compute, since nothing private may change a plan.
 * TC_INTERRUPTED after an interrupt. */
tc_status tc_analyse_public(tc_work *work, tc_model *model, const tc_derivatives *derivatives,
                            const tc_analysis **analysis) TC_MUST_USE;

/* TC_BAD_USAGE, with a message, for options that have no effect under the mechanism and the method that were chosen;
 * and where file and options together leave something out. Names everything that is missing. runs: for a run, which
 * needs more than a plan. The model has the schedule of the wishes. */
tc_status tc_check_wishes(tc_work *work, const tc_model *model, const tc_privacy_wishes *wishes, bool runs) TC_MUST_USE;

/* Why the method does not take private objectives with kinks: published follows gradients, and tacit wants them proved
 * convex. NULL where it takes them, and for a cloud's file, which has no objectives: no plan may depend on this. */
const char *tc_kinks_fault(tc_arena *arena, const tc_model *model, const tc_analysis *analysis, tc_method method);

/* TC_BAD_PROBLEM, with a message, for a party's part. */
tc_status tc_want_whole(tc_work *work, const tc_model *model) TC_MUST_USE;

/* Analyses the whole problem, with the schedule of the wishes. Refuses a party's part, and what
 * tc_check_wishes refuses, with a message. Warns of unproved assumptions. setup->model is a copy, and the loaded one
 * stays as it was. */
tc_status tc_setup_whole(tc_work *work, const tc_loaded *loaded, const tc_privacy_wishes *wishes,
                         tc_setup *setup) TC_MUST_USE;

/* The same for the cloud's part. It has nothing private: the dual radius must be public, and only the constraints are
 * judged. Refuses the whole problem and an agent's part, with a message. */
tc_status tc_setup_cloud(tc_work *work, const tc_loaded *loaded, const tc_privacy_wishes *wishes,
                         tc_setup *setup) TC_MUST_USE;

/* Makes a plan. A private dual radius voids it. TC_BAD_USAGE, with a message, where options and file do not say what to
 * promise; where no plan can be made for another reason, plan->problem says why. */
tc_status tc_setup_plan(tc_work *work, tc_setup *setup, const tc_plan_options *options,
                        const tc_plan **plan) TC_MUST_USE;

/* What method tacit takes from the plan; NULL for method published. TC_BAD_USAGE, with a message, where there is no
 * room for the margin. */
tc_status tc_setup_method(tc_work *work, const tc_setup *setup, const tc_plan *plan, tc_margin_wish margin,
                          const tc_tacit_facts **method) TC_MUST_USE;

/* "published", "tacit" */
static inline const char *tc_method_word(tc_method method) { return tc_method_choices[method - TC_METHOD_PUBLISHED]; }

/* "0.1", "auto, for 0.95"; NULL for none. */
const char *tc_margin_text(tc_arena *arena, const tc_tacit_facts *method);
/* "margin": null, or {"kind", "amount", or "probability" and "moves"} */
void tc_margin_json(const tc_tacit_facts *method, tc_json *json);

/* Whether --seed takes and JSON keeps all of the `count` numbers first, first + 1, ... */
static inline bool tc_seeds_fit(uint64_t first, uint64_t count) {
    const uint64_t most = UINT64_C(1) << 53;
    return first <= most && count - 1 <= most - first;
}
#define TC_SEEDS_TOO_LARGE "seeds counts from seed on, and beyond 9007199254740992 there are no seeds: begin lower"

/* "given", "gaps", "private" */
const char *tc_radius_origin_name(tc_radius_origin origin);
/* What every agent must promise for a public radius: "'gap' and 'slater'". */
const char *tc_radius_promises(const tc_model *model);

/* Which rows do not hold at these values of g, and by how much: "feeder[19] over by 33 of 2,020; all others hold". What
 * a row is limited by is said where that is a number above 0. */
const char *tc_rows_sentence(tc_arena *arena, const tc_model *model, const double *constraints);
/* What released data show of the constraints, in the same words: "feeder[19] over by at most 33 of 2,020; all others
 * hold, with probability 0.95"; and "feasibility": null or {sentence, probability, shown, exact, move, bounds}. */
const char *tc_feasibility_sentence(tc_arena *arena, const tc_model *model, const tc_feasibility *found);
void tc_feasibility_json(tc_json *json, const tc_model *model, const tc_feasibility *found);

/* The guarantee card under a result: the whole, or in short. Nothing where card is NULL. */
void tc_result_card(const tc_card *card, bool whole, tc_buffer *out);

#endif
