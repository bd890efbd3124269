/* An engine inside; for src/engine/{engine,small,large}.c.
 *
 * Two drivers do the same round with the same bits: small goes through whole arrays on the caller's thread, large
 * hands blocks of members to a team. Which one is chosen is a matter of speed and of public structure alone. */
#ifndef TC_ENGINE_ENGINE_PARTS_H
#define TC_ENGINE_ENGINE_PARTS_H

#include "engine/agents.h"
#include "engine/cloud.h"
#include "engine/engine.h"
#include "engine/response.h"

typedef struct tc_small tc_small;
typedef struct tc_large tc_large;

typedef enum tc_driver { TC_DRIVER_AUTO, TC_DRIVER_SMALL, TC_DRIVER_LARGE } tc_driver;

typedef struct tc_failure { /* what ceased to be finite */
    enum { TC_NOTHING_FAILED, TC_FAILED_CONSTRAINT, TC_FAILED_STATE } what;
    size_t row;
    size_t family, member;
} tc_failure;

struct tc_engine {
    tc_arena *arena;
    const tc_plan *plan;
    const tc_model *model;
    tc_release *release;
    tc_released *released;
    tc_agents *agents;
    tc_cloud *cloud;
    tc_response *response; /* placement STATES */
    tc_team *team;
    size_t workers;
    tc_small *small; /* one of the two */
    tc_large *large;
    double *x, *next_x;
    double *mu, *next_mu;
    uint64_t done;
    uint64_t work, unasked; /* of one round; since the monitor was last asked */
    bool is_over;           /* diverged, or the release broke off in the middle of a round */
    tc_status broken;
    const char *reason;
};

/* With a driver of the caller's choice, for tests and measurements. */
tc_status tc_engine_new_driven(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                               const tc_derivatives *derivatives, tc_random *random, const tc_engine_settings *settings,
                               tc_driver driver, tc_engine **engine, const char **why) TC_MUST_USE;

/* x(k+1) and mu(k+1) into next_x and next_mu; x and mu stay as they are. */
tc_small *tc_small_new(tc_engine *engine); /* NULL where the plan's lattice does not fit the box */
tc_status tc_small_round(tc_engine *engine, uint64_t k, tc_answer_scalars scalars, tc_failure *failure) TC_MUST_USE;
tc_large *tc_large_new(tc_engine *engine);
tc_status tc_large_round(tc_engine *engine, uint64_t k, tc_answer_scalars scalars, tc_failure *failure) TC_MUST_USE;

#endif
