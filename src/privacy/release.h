/* The one door: private states go in, released numbers come out, once for each round.
 *
 * A release needs a plan and obeys it to the letter: it refuses one that leaves an entry that varies without noise. It
 * goes through the rounds 1, 2, ..., T in order, and never twice through one. What comes out are integers on public
 * lattices, F(x) rounded plus exact integer noise, as doubles. docs/proofs/release.md says why that has exactly the
 * price that the plan states. */
#ifndef TC_PRIVACY_RELEASE_H
#define TC_PRIVACY_RELEASE_H

#include "privacy/noise.h"
#include "privacy/plan.h"
#include "privacy/private.h"
#include "privacy/release_entries.h"

typedef struct tc_release tc_release;

/* What everybody may see. */
typedef struct tc_released {
    uint64_t round;
    bool is_private;          /* false: simulation, or a plan that guarantees nothing */
    const tc_entries *layout; /* of the Jacobian */
    double *constraints;      /* m: g-hat */
    double *jacobian;         /* layout->position_count: J-hat; constants as they are */
    double *states;           /* placement STATES: x-hat, NAN where a coordinate is not released; NULL otherwise */
} tc_released;

typedef struct tc_release_settings {
    uint64_t first_round; /* 0: 1. After a restart: the round after the last one that anybody can have seen */
    size_t block;         /* members evaluated together, 0 for the usual; no result depends on it */
} tc_release_settings;

/* TC_BAD_USAGE, and a sentence in *why, where the plan is not one to release by, or the random source has served
 * another release: its rounds are opened here. settings may be NULL. Raises on its arena. */
tc_status tc_release_new(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                         tc_random *random, const tc_release_settings *settings, tc_release **release,
                         const char **why) TC_MUST_USE;

/* Room for what a round releases, with the constants in place. */
tc_released *tc_released_new(tc_arena *arena, tc_release *release);

bool tc_release_is_private(const tc_release *release);
uint64_t tc_release_next_round(const tc_release *release);

/* Draws the noise of the next round, before its states arrive. TC_BAD_USAGE for any other round. */
tc_status tc_release_prepare(tc_release *release, uint64_t round) TC_MUST_USE;

/* Releases the next round. TC_BAD_USAGE for a round that is past, too far ahead or beyond the plan's horizon; nothing
 * is written then. For placement STATES only x-hat is written: see tc_released_evaluate. */
tc_status tc_release_round(tc_release *release, uint64_t round, const tc_private_states *states,
                           tc_released *released) TC_MUST_USE;

/* g and its Jacobian at a point x (n numbers) that anybody may know, into released. For placement STATES, x is made
 * from x-hat: post-processing, at no price. Whether that is x-hat itself or x-hat moved into the box is the caller's
 * choice; outside the box functions may be undefined. For placement OUTPUTS, what a release would be but for the last
 * rounding and the noise: for an auditor, who knows x because it is the auditor's own. */
void tc_released_evaluate(tc_release *release, const double *x, tc_released *released);

#endif
