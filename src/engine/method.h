/* A method: how cloud and agents use the released numbers. There are two, engine/published and engine/tacit. The
 * drivers call a method only through this table.
 *
 * One round k, in the order of the calls:
 *
 *     open           the round's number is known
 *     measure        every block: its states go into the release
 *     gather         every block is measured. True: the method needs a survey, a pass of `answer` without p, to decide
 *     decide         the multipliers mu(k+1), and the step and regularization that every agent is told
 *     answer         every block: p_i for its members. In a family whose answers are early, right after measure
 *     average        every block, where the agents are in this process: x_i(k-1) goes into the result. It is where
 *                    x_i(k+1) will be
 *     next_states    every block: x_i(k+1)
 *     settle         the round is whole: what it changed is kept
 *
 * A method that measures ahead has its open and measure of round k+1 called before settle of round k, for each block
 * right after next_states, while its states are in the cache. They must leave alone what is asked for between rounds.
 *
 * A function that is NULL has nothing to do. Functions that take a worker's number may be called by several threads at
 * once, each with its own number and block. */
#ifndef TC_ENGINE_METHOD_H
#define TC_ENGINE_METHOD_H

#include "engine/agents.h"
#include "engine/engine.h"
#include "engine/snapshot.h"

typedef struct tc_block_work { /* a block in the hands of a worker (release.h) */
    tc_engine *engine;
    size_t worker;
    tc_release_worker *release;
    size_t family, block;
    size_t first, count;    /* members */
    const double *const *x; /* [component][k]; NULL where the agents are elsewhere */
} tc_block_work;

/* The block's states go into the release, from x or from what the agents sent. */
tc_status tc_block_take(const tc_block_work *work) TC_MUST_USE;

typedef struct tc_method_table {
    void *(*make)(tc_engine *engine, const tc_derivatives *derivatives, const tc_engine_settings *settings);
    size_t bite;         /* `answer` and `next_states` get at most so many members at a time */
    bool measures_ahead; /* after `decide`, a round needs nothing more of the release */
    void (*start)(void *self, const double *x, double *mu); /* mu(1). x(1) is NULL where the agents are elsewhere */

    void (*open)(void *self, uint64_t k, tc_answer_scalars *scalars);
    tc_status (*measure)(void *self, const tc_block_work *work);
    void (*measure_whole)(void *self); /* small driver: all blocks at once, after tc_release_round */
    bool (*gather)(void *self);
    /* Returns TC_ALL_FINITE, or a constraint whose released value is not. */
    size_t (*decide)(void *self, const double *mu, double *next_mu, tc_answer_scalars *scalars);

    bool (*answers_early)(void *self, size_t family); /* p depends on nothing that this round releases */
    /* Members at .. at + count - 1 of the block; p[component][0] is that of member at; p NULL: a survey. */
    tc_status (*answer)(void *self, const tc_block_work *work, size_t at, size_t count, double *const *p);
    void (*answer_whole)(void *self, double *p); /* small driver: by coordinate */

    /* x_i(k+1) into next, as tc_agents_next and tc_agents_next_singles. */
    size_t (*next_states)(void *self, size_t worker, size_t family, size_t first, size_t count, const double *const *p,
                          tc_answer_scalars scalars, const double *const *x, double *const *next);
    size_t (*next_singles)(void *self, const double *p, tc_answer_scalars scalars, const double *x, double *next);
    void (*average)(void *self, const double *x, size_t first, size_t count); /* x(k-1), by coordinate */
    void (*settle)(void *self);

    /* The result of the run. Without these: x and mu after the last round, and no statement on feasibility. */
    const double *(*result_states)(void *self);
    const double *(*result_multipliers)(void *self);
    const tc_feasibility *(*feasibility)(void *self);
    /* After the last round (last.c): constraints at the average are certainly at most upper, and those at a result that
     * is moved in doubles are allowance further off at most. How far the result is moved, and what holds there. */
    const tc_feasibility *(*certify)(void *self, const double *upper, const double *allowance);

    /* What later rounds depend on besides mu. */
    void (*snapshot)(void *self, tc_snapshot *snapshot);
    bool (*resume)(void *self, uint64_t round,
                   const double *mu); /* after a load; false where the numbers are unsound */
} tc_method_table;

extern const tc_method_table tc_published_method, tc_tacit_method;

#endif
