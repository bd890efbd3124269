/* The cloud half: the cloud's side of the rounds, for a cloud whose agents are other programs. States come in as
 * messages, answers go out. With the same random source its bits are those of an engine (engine.h) that has all parties
 * together.
 *
 * Private states stay inside. A round and a snapshot contain released numbers only. No clock, no files, no sockets. */
#ifndef TC_ENGINE_CLOUD_HALF_H
#define TC_ENGINE_CLOUD_HALF_H

#include "engine/agents.h"
#include "engine/engine.h"
#include "noise/random.h"

typedef struct tc_cloud_half tc_cloud_half;

enum { TC_STATES_MAC = TC_MAC_BYTES }; /* the keyed MAC of a round's states (release/release.h) */

typedef struct tc_cloud_half_settings {
    double dual_radius;          /* R, public; INFINITY for none */
    tc_team *team;               /* NULL: the caller's thread alone */
    tc_random *last_random;      /* as in engine.h */
    const tc_tacit_facts *facts; /* of a plan for the method tacit; NULL otherwise */
    uint64_t first_round;        /* 1, or after a restart the round after the last one that anybody can have seen */
    bool draws_ahead;            /* noise comes from a thread of its own (tc_release_draw_ahead) */
} tc_cloud_half_settings;

/* model: the cloud's file, or the whole problem. TC_BAD_USAGE and a sentence in *why where this plan cannot be
 * released. Raises on its arena. */
tc_status tc_cloud_half_new(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                            const tc_derivatives *derivatives, tc_random *random,
                            const tc_cloud_half_settings *settings, tc_cloud_half **half, const char **why) TC_MUST_USE;

/* An agent's state, as its message carries it. It is used until the agent's next one. Tell CLAMPED to that agent only;
 * REFUSED: there is no such agent. */
tc_taken tc_cloud_half_take(tc_cloud_half *half, size_t family, size_t member, const int64_t *units) TC_MUST_USE;

/* Draws the noise of round k before its states arrive. If a thread of its own draws, reports whether that failed. */
tc_status tc_cloud_half_prepare(tc_cloud_half *half, uint64_t k) TC_MUST_USE;

/* Round k, the one after the last, with the states taken last. Gives the answers p by coordinate, the two scalars that
 * every agent is told, and the keyed MAC of the states. DIVERGED: nothing may be sent; tc_cloud_half_reason says what
 * ceased to be finite. After any status but TC_OK the cloud half is unusable. */
tc_status tc_cloud_half_round(tc_cloud_half *half, uint64_t k, tc_answer_scalars *scalars, double *p,
                              unsigned char input[TC_STATES_MAC], tc_engine_outcome *outcome) TC_MUST_USE;
const char *tc_cloud_half_reason(const tc_cloud_half *half);

uint64_t tc_cloud_half_rounds(const tc_cloud_half *half);           /* done so far, those before a restart among them */
const double *tc_cloud_half_multipliers(const tc_cloud_half *half); /* mu(rounds + 1), m */
const double *tc_cloud_half_result_multipliers(const tc_cloud_half *half); /* the result: mu, or its average */
const tc_feasibility *
tc_cloud_half_feasibility(const tc_cloud_half *half); /* as tc_engine_feasibility; the first call takes some ms */

/* A snapshot holds what later rounds depend on besides states and noise, after a whole round: released values only. Its
 * size is the same in all rounds of a plan.
 *
 * Load it into a new cloud half, before its first round; one that does not begin with round 1 must be loaded. The first
 * round is the one after the snapshot's. It may be a later one where agents have seen rounds that the snapshot lacks (a
 * restored back-up): then the run goes on without those rounds and reports no feasibility. False unless the snapshot is
 * of this plan and predates first_round; the cloud half is unusable then. */
size_t tc_cloud_half_snapshot_size(const tc_cloud_half *half);
void tc_cloud_half_save(const tc_cloud_half *half, unsigned char *bytes);
bool tc_cloud_half_load(tc_cloud_half *half, const unsigned char *bytes, size_t size) TC_MUST_USE;

#endif
