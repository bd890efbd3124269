/* What the benchmarks share: a problem made ready to run, an engine for it, and the clock. */
#ifndef TC_BENCH_SETUP_H
#define TC_BENCH_SETUP_H

#include "engine/engine.h"

typedef struct bench_problem {
    tc_arena *arena;
    tc_model *model;
    tc_derivatives *derivatives;
    tc_plan *plan;
    double dual_radius;
    tc_tacit_facts *method; /* of a plan for the method `tacit` */
} bench_problem;

/* By the wall clock, and of this thread's processor time. What runs on one thread is measured by the latter: other
 * programs disturb it less. */
double bench_seconds(void);
double bench_own_seconds(void);

/* All of these end the program with exit code 3 and a sentence where they fail. */
bench_problem bench_load(const char *path, const tc_plan_options *options);
tc_plan_options bench_options(void); /* what the file says, by the published method */
tc_random *bench_random(tc_arena *arena, const bench_problem *problem, uint64_t seed);
tc_engine *bench_engine(tc_arena *arena, const bench_problem *problem, uint64_t seed, tc_team *team);
/* Runs so many more rounds; returns the seconds. */
double bench_advance(tc_engine *engine, uint64_t rounds, double (*seconds)(void));
tc_arena *bench_arena(void);
void bench_fail(const char *what) TC_NORETURN;

#endif
