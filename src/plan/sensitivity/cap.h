/* Public sets on the lattice: what the cloud enforces, and how far an agent can move within it.
 *
 * A `public set a.x <= b` of an agent becomes one relation of whole numbers, w.y <= C: y_c >= 0 counts steps of the
 * states' lattice from the corner of the box where a.x is least, and C is wide enough that no honest agent is moved.
 * For the unit `agent` the cloud moves every state into it before anything is computed, and sensitivities are those of
 * two states in it (docs/proofs/publicset.md). For other units neither happens. */
#ifndef TC_PLAN_SENSITIVITY_CAP_H
#define TC_PLAN_SENSITIVITY_CAP_H

#include "plan/plan.h"

typedef struct tc_cap { /* of one family; by member, or one for all */
    size_t members, dim;
    int64_t *weight; /* [member * dim + c]: w_c >= 0; w.y stays below 2^62 in the box */
    int64_t *corner; /* the same: the lattice point of the box where a.x is least */
    bool *falls;     /* the same: y_c is corner - n, not n - corner */
    int64_t *bound;  /* [member]: C >= 0 */
} tc_cap;

typedef struct tc_caps {
    tc_cap **families; /* NULL: the family has no public set */
    double step;       /* h */
} tc_caps;

/* NULL where no family has a public set. The box of every agent must hold a lattice point. */
tc_caps *tc_caps_new(tc_arena *arena, const tc_model *model, int state_exponent);
/* Those that the plan's prices rely on: NULL for other units than `agent`. */
tc_caps *tc_caps_of_plan(tc_arena *arena, const tc_model *model, const tc_plan *plan);

/* Whether prices of this plan rely on a public set. */
bool tc_relies_on_caps(const tc_plan *plan);

/* ---- enforcement ------------------------------------------------------------------------------------------------- */

/* w_c y_c of a lattice point of the box. */
static inline int64_t tc_cap_use(const tc_cap *cap, size_t member, size_t c, int64_t units) {
    size_t at = (cap->members == 1 ? 0 : member) * cap->dim + c;
    return cap->weight[at] * (cap->falls[at] ? cap->corner[at] - units : units - cap->corner[at]);
}

/* Moves one coordinate towards the corner until *excess is used up, or it is there. */
int64_t tc_cap_moved(const tc_cap *cap, size_t member, size_t c, int64_t units, int64_t *excess);

static inline int64_t tc_cap_bound(const tc_cap *cap, size_t member) {
    return cap->bound[cap->members == 1 ? 0 : member];
}

/* A member's lattice point of the box, component c at units[c * stride]: moved into the set, first components first.
 * Whether it had to be moved. */
bool tc_cap_keep(const tc_cap *cap, size_t member, int64_t *units, size_t stride);

/* ---- sensitivities ----------------------------------------------------------------------------------------------- */

typedef struct tc_gain {
    size_t component;
    double gain;  /* >= 0, for each unit that the state moves */
    double ratio; /* scratch */
} tc_gain;

/* At least the largest sum of gain_c t_c with 0 <= t_c <= the width of the box and w.t <= times C h. Changes the order
 * of gains; each component at most once. Infinite where a gain is not finite. */
double tc_cap_most(const tc_caps *caps, const tc_family *family, size_t number, size_t member, tc_gain *gains,
                   size_t count, int times);

/* How far two states of the set can be apart, in l1 or l2; rounded up. */
double tc_cap_reach(tc_arena *arena, const tc_caps *caps, const tc_family *family, size_t number, size_t member,
                    bool euclidean);

#endif
