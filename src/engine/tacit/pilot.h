/* The cloud's half of the method `tacit`: from what the gauge shows to multipliers, step, regularization and prices.
 * Only public numbers go in: facts from the cloud's file, and released data. Constraints are g_j / S_j here, and
 * multipliers mu_j S_j, but for what the two last functions give. */
#ifndef TC_ENGINE_PILOT_H
#define TC_ENGINE_PILOT_H

#include "engine/agents.h"
#include "engine/tacit/gauge.h"
#include "engine/tacit/method_facts.h"

typedef struct tc_pilot tc_pilot;

/* What can be left out, to see what it is worth: for measurements. */
typedef enum tc_without {
    TC_WITHOUT_FILTER = 1 << 0,        /* fast = 1 */
    TC_WITHOUT_LEAD = 1 << 1,          /* theta = 1 */
    TC_WITHOUT_BIAS = 1 << 2,          /* nothing subtracted for the noise */
    TC_WITHOUT_ROW_SCALES = 1 << 3,    /* S_j = 1 */
    TC_WITHOUT_PROXIMAL = 1 << 4,      /* gradient steps */
    TC_WITHOUT_LATE_WEIGHTS = 1 << 5,  /* uniform averages */
    TC_WITHOUT_AVERAGE = 1 << 6,       /* nearly the last iterate */
    TC_WITHOUT_DECAY = 1 << 7,         /* d = 1 */
    TC_WITHOUT_PRIMAL_WEIGHT = 1 << 8, /* omega fixed */
    TC_WITHOUT_TAPER = 1 << 9,         /* regularization 1 / (k + 4) to the end */
} tc_without;

tc_pilot *tc_pilot_new(tc_arena *arena, const tc_method_facts *facts, const tc_plan *plan, const tc_model *model,
                       const tc_derivatives *derivatives, tc_gauge *gauge, unsigned without);

/* Round k = 1, 2, ... begins. */
tc_gains tc_pilot_open(tc_pilot *pilot, uint64_t k);

/* Between the passes: new multipliers, the tariff of the gauge, and what every agent is told besides its p. columns: of
 * the second pass of the round before; in round 1 of a second pass with p NULL, for which tc_pilot_first_tariff fills
 * the tariff. Returns TC_ALL_FINITE, or a row whose measurement is not. */
void tc_pilot_first_tariff(tc_pilot *pilot, const tc_gauged *gauged);
size_t tc_pilot_step(tc_pilot *pilot, const tc_gauged *gauged, tc_columns columns, tc_answer_scalars *scalars);

/* The weight of this round's state in the answer: average += weight (state - average). */
double tc_pilot_average_gain(const tc_pilot *pilot);

const double *tc_pilot_multipliers(const tc_pilot *pilot); /* mu(k+1), m, in the units of the file */
const double *tc_pilot_answer(const tc_pilot *pilot);      /* their average: the answer */

/* What later rounds depend on. After a load, tc_pilot_review takes what the gauge shows again, so that
 * tc_pilot_feasibility speaks of the last round; false where the numbers are none that a pilot can have. */
uint64_t tc_pilot_round(const tc_pilot *pilot); /* the last one that was opened */
void tc_pilot_memory(tc_pilot *pilot, tc_snapshot *memory);
bool tc_pilot_review(tc_pilot *pilot, const tc_gauged *gauged) TC_MUST_USE;

/* After a whole round. NULL where r and the answer are not averages of the same kind (tc_without). */
const tc_feasibility *tc_pilot_feasibility(tc_pilot *pilot);

#endif
