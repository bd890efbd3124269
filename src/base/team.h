/* A team of threads that share one piece of work after another.
 *
 * Work comes in numbered parts; which thread does which part is not fixed, so a part's result must not depend on it.
 * Threads may not allocate from an arena that another thread uses, nor raise: a part keeps its status where the caller
 * finds it. */
#ifndef TC_BASE_TEAM_H
#define TC_BASE_TEAM_H

#include "base/arena.h"

typedef struct tc_team tc_team;

/* size threads, the caller's included; 0 means as many as there are processors. Fewer where the system gives no more.
 * The threads end when the arena is freed. */
tc_team *tc_team_new(tc_arena *arena, size_t size);
size_t tc_team_size(const tc_team *team);

/* Calls part(context, worker, i) for i = 0 .. parts - 1, worker below tc_team_size, and returns when all are done. No
 * two calls have the same worker at the same time; the caller's thread is worker 0. With a team of one it is a loop. */
void tc_team_run(tc_team *team, size_t parts, void (*part)(void *context, size_t worker, size_t i), void *context);

/* Calls job with a team that ends with it. What is raised on the caller's arena meanwhile goes on from here. */
void tc_team_with(tc_arena *arena, size_t size, void (*job)(void *context, tc_team *team), void *context);

/* From now on the caller's thread calls look(context) about thirty times a second while it waits for the others: a host
 * may learn of Ctrl-C in that thread alone, and wants to see progress. */
void tc_team_look(tc_team *team, void (*look)(void *context), void *context);

#endif
