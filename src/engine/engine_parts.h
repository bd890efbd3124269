/* An engine inside; for src/engine/{engine,hub,method,small,large}*.c.
 *
 * Two drivers do the same round with the same bits: small goes through whole arrays on the caller's thread, large
 * hands blocks of members to a team. Which one is chosen is a matter of speed and of public structure alone.
 *
 * A hub (hub.h) is an engine whose agents are elsewhere: agents is NULL, there are no x, the states are what was taken
 * from messages, and a round ends with p. */
#ifndef TC_ENGINE_ENGINE_PARTS_H
#define TC_ENGINE_ENGINE_PARTS_H

#include "engine/agents.h"
#include "engine/published/cloud.h"
#include "engine/engine.h"
#include "engine/tacit/controller.h"
#include "engine/proximal/proximal.h"
#include "engine/published/response.h"

typedef struct tc_small tc_small;
typedef struct tc_large tc_large;

typedef enum tc_driver { TC_DRIVER_AUTO, TC_DRIVER_SMALL, TC_DRIVER_LARGE } tc_driver;

typedef struct tc_failure { /* what ceased to be finite */
    enum { TC_NOTHING_FAILED, TC_FAILED_CONSTRAINT, TC_FAILED_STATE, TC_FAILED_ANSWER } what;
    size_t row;
    size_t family, member;
} tc_failure;

typedef struct tc_method_run { /* the method `tacit` */
    tc_estimator *gauge;
    tc_controller *pilot;
    tc_proximal *proximal;          /* NULL: gradient steps, or agents elsewhere */
    bool takes_states;              /* placement STATES */
    tc_columns columns;             /* of the last second pass */
    double gain;                    /* of this round's states in the averages */
    double *average, *next_average; /* of the states, by coordinate; not of agents elsewhere */
    double *answer;                 /* of the multipliers */
} tc_method_run;

struct tc_engine {
    tc_arena *arena;
    const tc_plan *plan;
    const tc_model *model;
    tc_release *release;
    tc_released *released;
    tc_agents *agents;         /* NULL: elsewhere */
    tc_private_states *states; /* small driver, and agents elsewhere */
    tc_cloud *cloud;           /* the published method */
    tc_response *response;     /* the published method, placement STATES */
    tc_method_run *method;     /* the method `tacit`; NULL otherwise */
    tc_team *team;
    size_t workers;
    tc_small *small; /* one of the two */
    tc_large *large;
    double *x, *next_x;
    double *p; /* by coordinate: small driver, and agents elsewhere */
    double *mu, *next_mu;
    tc_answer_scalars scalars; /* of the last round */
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

typedef struct tc_engine_kind {
    tc_driver driver;
    bool has_agents;
    uint64_t first_round;
} tc_engine_kind;
tc_status tc_engine_new_of_kind(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                                const tc_derivatives *derivatives, tc_random *random,
                                const tc_engine_settings *settings, tc_engine_kind kind, tc_engine **engine,
                                const char **why) TC_MUST_USE;
/* One round more; what ceased to be finite is then in reason. */
tc_status tc_engine_round(tc_engine *engine) TC_MUST_USE;

/* The method `tacit`, what both drivers share. */
tc_method_run *tc_method_run_new(tc_engine *engine, const tc_derivatives *derivatives,
                                 const tc_engine_settings *settings);
void tc_method_open(tc_engine *engine, uint64_t k);
/* What was taken is complete: what the gauge shows. */
const tc_measurement *tc_method_close(tc_engine *engine);
/* Once x-hat is known: mu(k+1), the tariff and what agents are told. False, and what failed, where a row did. */
bool tc_method_turn(tc_engine *engine, const tc_measurement *gauged, tc_failure *failure);
/* next = average + gain (x - average), count numbers from a coordinate on. */
void tc_method_average(const tc_engine *engine, size_t first, size_t count);
/* The round is whole. */
void tc_method_settle(tc_engine *engine);

/* x(k+1) and mu(k+1) into next_x and next_mu; x and mu stay as they are. The published method takes the scalars from
 * the engine, the other leaves them there. */
tc_small *tc_small_new(tc_engine *engine);
tc_status tc_small_round(tc_engine *engine, uint64_t k, tc_failure *failure) TC_MUST_USE;
tc_status tc_small_method_round(tc_engine *engine, uint64_t k, tc_failure *failure) TC_MUST_USE;
tc_large *tc_large_new(tc_engine *engine);
tc_status tc_large_round(tc_engine *engine, uint64_t k, tc_failure *failure) TC_MUST_USE;
tc_status tc_large_method_round(tc_engine *engine, uint64_t k, tc_failure *failure) TC_MUST_USE;

#endif
