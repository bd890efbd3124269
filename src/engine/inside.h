/* An engine inside; for src/engine alone.
 *
 * Two drivers do the same round with the same bits: small goes through whole arrays on the caller's thread, large hands
 * blocks of members to a team. Speed and public structure alone decide which one is used. Both call the method through
 * its table (method.h).
 *
 * A cloud half (cloud_half.h) is an engine whose agents are elsewhere: agents is NULL, there are no x, the states are
 * those that the agents sent, and a round ends with p. */
#ifndef TC_ENGINE_INSIDE_H
#define TC_ENGINE_INSIDE_H

#include "engine/method.h"

#include <stdatomic.h>

typedef struct tc_small tc_small;
typedef struct tc_large tc_large;
typedef struct tc_last tc_last;

typedef enum tc_driver { TC_DRIVER_AUTO, TC_DRIVER_SMALL, TC_DRIVER_LARGE } tc_driver;

typedef struct tc_not_finite { /* what ceased to be finite */
    enum { TC_ALL_IS_FINITE, TC_CONSTRAINT_NOT_FINITE, TC_STATE_NOT_FINITE, TC_ANSWER_NOT_FINITE } what;
    size_t row;
    size_t family, member;
} tc_not_finite;

struct tc_engine {
    tc_arena *arena;
    const tc_plan *plan;
    const tc_model *model;
    tc_release *release;
    tc_released *released;
    tc_agents *agents;         /* NULL: elsewhere */
    tc_private_states *states; /* small driver, and agents elsewhere */
    const tc_method_table *method;
    void *of_method; /* the method's own */
    tc_team *team;
    size_t workers;
    bool is_large;
    tc_small *small; /* one of the two */
    tc_large *large;
    tc_last *last; /* NULL: the plan has no last round */
    double *x, *next_x;
    double *p; /* by coordinate: small driver, and agents elsewhere */
    double *mu, *next_mu;
    tc_answer_scalars scalars; /* of the last round */
    uint64_t done;
    uint64_t work, unasked;  /* of one round; since the monitor was last asked */
    tc_status broken;        /* the release broke off in the middle of a round */
    const char *reason;      /* what ceased to be finite, or was not proved */
    atomic_bool is_unproved; /* a step is finite, but not proved to be accurate, which the promise rests on */
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
/* One more round. If something ceases to be finite, reason says what. */
tc_status tc_engine_round(tc_engine *engine) TC_MUST_USE;

/* x(k+1) and mu(k+1) into next_x and next_mu; x and mu stay as they are. */
tc_small *tc_small_new(tc_engine *engine);
tc_status tc_small_round(tc_engine *engine, uint64_t k, tc_not_finite *failure) TC_MUST_USE;
tc_large *tc_large_new(tc_engine *engine);
tc_status tc_large_round(tc_engine *engine, uint64_t k, tc_not_finite *failure) TC_MUST_USE;

/* last.c: the round after all others. random: for its noise alone. */
tc_status tc_last_new(tc_engine *engine, tc_random *random, const char **why) TC_MUST_USE;
tc_release *tc_last_release(const tc_last *last);
/* average: of all agents, by coordinate; NULL: agents elsewhere have sent theirs. The result of the agents here goes
 * into next_x; otherwise engine->p is the point that the result is moved to, and engine->scalars.step how far. */
tc_status tc_last_round_now(tc_engine *engine, const double *average) TC_MUST_USE;
/* NULL before it. */
const tc_feasibility *tc_last_found(const tc_last *last);
void tc_last_snapshot(tc_engine *engine, bool is_over, tc_snapshot *snapshot);

/* Rows of TC_RELEASE_BLOCK numbers. */
double **tc_block_rows(tc_arena *arena, size_t rows);

#endif
