/* The controller of the method `tacit` (docs/method.md): from what the estimator measures to multipliers, steps,
 * regularization and prices. Only public numbers go in: facts from the cloud's file, and released data.
 *
 * Rows are scaled: constraints are g_j / S_j and multipliers mu_j S_j here, but for tc_controller_multipliers and
 * tc_controller_result. */
#ifndef TC_ENGINE_TACIT_CONTROLLER_H
#define TC_ENGINE_TACIT_CONTROLLER_H

#include "engine/agents.h"
#include "engine/tacit/estimator.h"
#include "engine/tacit/facts.h"

typedef struct tc_controller tc_controller;

/* Parts of the method that measurements can leave out, to see what each is worth. */
typedef enum tc_without {
    TC_WITHOUT_FILTER = 1 << 0,        /* beta = 1 */
    TC_WITHOUT_LEAD = 1 << 1,          /* theta = 1 */
    TC_WITHOUT_BIAS = 1 << 2,          /* g^ without its last term */
    TC_WITHOUT_ROW_SCALES = 1 << 3,    /* S_j = 1 */
    TC_WITHOUT_PROXIMAL = 1 << 4,      /* gradient steps */
    TC_WITHOUT_LATE_WEIGHTS = 1 << 5,  /* uniform averages */
    TC_WITHOUT_AVERAGE = 1 << 6,       /* nearly the last iterate */
    TC_WITHOUT_DECAY = 1 << 7,         /* d = 1 */
    TC_WITHOUT_PRIMAL_WEIGHT = 1 << 8, /* omega fixed */
    TC_WITHOUT_TAPER = 1 << 9,         /* the pull is 1 / (k + 4) to the end */
    TC_WITHOUT_AFFINE = 1 << 10,       /* a = 0: both steps are shortened alike */
} tc_without;

tc_controller *tc_controller_new(tc_arena *arena, const tc_tacit_facts *facts, const tc_plan *plan,
                                 const tc_model *model, const tc_derivatives *derivatives, tc_estimator *estimator,
                                 unsigned without);

/* The gains of the filters in round k, once round k - 1 is decided. */
tc_gains tc_controller_gains(const tc_controller *controller, uint64_t k);
/* Round k = 1, 2, ... begins, with these gains. */
void tc_controller_open(tc_controller *controller, uint64_t k);

/* Between the estimator's passes: mu(k+1), the estimator's tariff, and the step and regularization of every agent.
 * columns: of the second pass of the round before; in round 1 of the survey (method.h), for which
 * tc_controller_first_tariff fills the tariff. Returns TC_ALL_FINITE, or a row whose measurement is not. */
void tc_controller_first_tariff(tc_controller *controller, const tc_measurement *measurement);
size_t tc_controller_decide(tc_controller *controller, const tc_measurement *measurement, tc_columns columns,
                            tc_answer_scalars *scalars);

/* After tc_controller_decide: the round is the last one, and its answer is a move. The step is t, 0 <= t <= 1, p_i the
 * Slater point, and the result of an agent tc_moved (agent_half.h) of its average with this round in it. */
bool tc_controller_moves(const tc_controller *controller);

/* The weight of this round's state in the result: average += weight (state - average). */
double tc_controller_average_gain(const tc_controller *controller);

const double *tc_controller_multipliers(const tc_controller *controller); /* mu(k+1), m, in the units of the file */
/* Their average; rows that say the same (facts.h) have the shares of least norm. */
const double *tc_controller_result(tc_controller *controller);

/* What later rounds depend on. After a load, tc_controller_review takes the estimator's measurement again, so that
 * tc_controller_feasibility speaks of the last round; false where no controller can have these numbers. */
uint64_t tc_controller_round(const tc_controller *controller); /* the last one that was opened */
void tc_controller_snapshot(tc_controller *controller, tc_snapshot *snapshot);
bool tc_controller_review(tc_controller *controller, const tc_measurement *measurement) TC_MUST_USE;

/* After a whole round. NULL where r and the result are not averages of the same kind (tc_without). */
const tc_feasibility *tc_controller_feasibility(tc_controller *controller);
/* As method.h's certify. */
const tc_feasibility *tc_controller_certify(tc_controller *controller, const double *upper, const double *allowance);

#endif
