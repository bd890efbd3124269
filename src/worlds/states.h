/* What the agents of two worlds say. */
#ifndef TC_WORLDS_STATES_H
#define TC_WORLDS_STATES_H

#include "model/model.h"

#define TC_WORLDS_ALL SIZE_MAX /* instead of an agent: all of them differ */

/* What an agent says in a round: a whole number of steps of the lattice for each of its states. Worlds differ in what
 * `other` says: in some rounds from one bound of the box to the opposite, in some from a point inside to one outside of
 * it. Nothing of the agents' own data is in it. */
void tc_worlds_state(const tc_model *model, int exponent, unsigned world, size_t other, size_t agent, uint64_t round,
                     int64_t *units);

#endif
