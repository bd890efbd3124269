/* The cloud's half of the rounds, for a cloud whose agents are elsewhere: states come in as messages, answers go out.
 * With the same random source its bits are those of an engine (engine.h) in which all parties are together.
 *
 * Private states stay inside; what comes out of a round is made of released numbers alone, and so is the memory that
 * is saved between rounds. No clock, no files, no sockets. */
#ifndef TC_ENGINE_HUB_H
#define TC_ENGINE_HUB_H

#include "engine/agents.h"
#include "engine/engine.h"
#include "noise/random.h"

typedef struct tc_cloud_half tc_cloud_half;

enum { TC_STATES_MAC = TC_MAC_BYTES }; /* the keyed MAC of a round's states (release/release_mac.h) */

typedef struct tc_cloud_half_settings {
    double dual_radius;          /* R, public; INFINITY for none */
    tc_team *team;               /* NULL: the caller's thread alone */
    const tc_tacit_facts *facts; /* of a plan for the method tacit; NULL otherwise */
    uint64_t first_round;        /* 1, or after a restart the round after the last one that anybody can have seen */
    bool draws_ahead;            /* noise comes from a thread of its own (tc_release_draw_ahead) */
} tc_cloud_half_settings;

/* model: the cloud's file, or the whole problem. TC_BAD_USAGE and a sentence in *why where the plan cannot be released
 * by. Raises on its arena. */
tc_status tc_cloud_half_new(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                            const tc_derivatives *derivatives, tc_random *random,
                            const tc_cloud_half_settings *settings, tc_cloud_half **half, const char **why) TC_MUST_USE;

/* An agent's state, as its message carries it: it stays until the next one of this agent. CLAMPED is for the agent's
 * own eyes; REFUSED: there is no such agent. */
tc_taken tc_cloud_half_take(tc_cloud_half *half, size_t family, size_t member, const int64_t *units) TC_MUST_USE;

/* Draws the noise of round k before its states arrive; where that is another thread's work, looks whether it failed. */
tc_status tc_cloud_half_prepare(tc_cloud_half *half, uint64_t k) TC_MUST_USE;

/* Round k, the one after the last, with the states as they stand: the answers p by coordinate, the two scalars that
 * every agent is told, and what identifies the input. DIVERGED: nothing may be sent; tc_cloud_half_reason says what
 * ceased to be finite. After anything but TC_OK the half is of no more use. */
tc_status tc_cloud_half_round(tc_cloud_half *half, uint64_t k, tc_answer_scalars *scalars, double *p,
                              unsigned char input[TC_STATES_MAC], tc_engine_outcome *outcome) TC_MUST_USE;
const char *tc_cloud_half_reason(const tc_cloud_half *half);

uint64_t tc_cloud_half_rounds(const tc_cloud_half *half);           /* done so far, those before a restart among them */
const double *tc_cloud_half_multipliers(const tc_cloud_half *half); /* mu(rounds + 1), m */
const double *tc_cloud_half_result_multipliers(const tc_cloud_half *half); /* what the run is for: mu, or its average */
const tc_feasibility *
tc_cloud_half_feasibility(const tc_cloud_half *half); /* as tc_engine_feasibility; the first takes some ms */

/* What later rounds depend on besides states and noise, after a whole round: released values only. The size is the same
 * in all rounds of a plan.
 *
 * Load: into a new half, before its first round. That is the one after the saved one; where it is a later one, since
 * rounds that agents have seen are missing in the memory (a restored back-up), the rest goes on without them, and
 * nothing is said of feasibility any more. False where these bytes are no memory of this plan, from before the first
 * round; the half is of no use then. A half that does not begin with round 1 has to be loaded. */
size_t tc_cloud_half_snapshot_size(const tc_cloud_half *half);
void tc_cloud_half_save(const tc_cloud_half *half, unsigned char *memory);
bool tc_cloud_half_load(tc_cloud_half *half, const unsigned char *memory, size_t size) TC_MUST_USE;

#endif
