/* Types for the numbers that must not leave the cloud.
 *
 * Both types below are incomplete outside src/release: no other code can read a member, copy one by value, take its
 * size, or pass it to a function that wants numbers. No printer, encoder, log or JSON function takes them; the only way
 * to turn them into numbers is a release (release.h), which adds the noise of a plan. (A MAC of the states, under a key
 * that never leaves the process, is in release.h.) The files in tests/release/private_types try all this and must not
 * compile. */
#ifndef TC_RELEASE_PRIVATE_H
#define TC_RELEASE_PRIVATE_H

#include "model/model.h"

typedef struct tc_private_states tc_private_states; /* the states of all agents, integers times h */
typedef struct tc_private_values tc_private_values; /* entries of F(x) before noise, integers times zeta */

/* Told to that agent alone. Nothing else may depend on it: prices do not cover it. */
typedef enum tc_taken {
    TC_STATE_TAKEN,
    TC_STATE_CLAMPED, /* lay outside the public box; the nearest lattice point in the box was taken */
    TC_STATE_REFUSED, /* not finite: the sender's fault; the state before is kept */
} tc_taken;

/* One state for each agent of the model on the lattice of step 2^exponent: at first the lattice points of the box that
 * are nearest to zero. NULL where the box of some agent holds no lattice point, or one beyond 2^53 steps. */
tc_private_states *tc_states_new(tc_arena *arena, const tc_model *model, int exponent) TC_MUST_USE;

/* Takes an agent's state x (family->dim numbers): the nearest lattice point, clamped to the public box. */
tc_taken tc_states_from_doubles(tc_private_states *states, size_t family, size_t member, const double *x) TC_MUST_USE;
/* All agents at once, x by coordinate. REFUSED: nothing is taken. */
tc_taken tc_states_take(tc_private_states *states, const double *x) TC_MUST_USE;
/* The same from a message, which carries multiples of h; never refused. */
tc_taken tc_states_from_integers(tc_private_states *states, size_t family, size_t member,
                                 const int64_t *units) TC_MUST_USE;

#endif
