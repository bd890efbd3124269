#include "setup.h"

#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double read_clock(clockid_t clock) {
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_seconds(void) { return read_clock(CLOCK_MONOTONIC); }
double bench_own_seconds(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void bench_fail(const char *what) {
    (void)fprintf(stderr, "%s\n", what);
    exit(3);
}

tc_arena *bench_arena(void) {
    tc_arena *arena = tc_arena_new(0);
    if (arena == NULL)
        bench_fail("no memory");
    return arena;
}

tc_plan_options bench_options(void) {
    return (tc_plan_options){.method = TC_METHOD_PUBLISHED,
                             .adjacency_bound = (double)NAN,
                             .epsilon = (double)NAN,
                             .delta = (double)NAN,
                             .rounds = (double)NAN};
}

static tc_status load(const char *path, const tc_plan_options *options, bench_problem *problem, tc_buffer *messages) {
    tc_arena *arena = problem->arena;
    tc_status status = tc_model_load(arena, path, NULL, messages, &problem->model);
    if (status != TC_OK)
        return status;
    problem->derivatives = tc_derive(arena, problem->model);
    tc_analysis_options public_facts = {.skip_private = true};
    const tc_analysis *analysis = tc_analysis_run(arena, problem->model, problem->derivatives, &public_facts, NULL);
    problem->dual_radius = isnan(analysis->dual_radius.value) ? INFINITY : analysis->dual_radius.value;
    problem->plan = tc_plan_make(arena, problem->model, problem->derivatives, analysis, options, NULL);
    const char *why = NULL;
    if (problem->plan->problem == NULL && options->method == TC_METHOD_TACIT)
        problem->method = tc_tacit_facts_make(arena, problem->plan, problem->model, problem->derivatives,
                                              problem->dual_radius, (tc_margin_wish){0}, &why);
    return TC_OK;
}

bench_problem bench_load(const char *path, const tc_plan_options *options) {
    static bench_problem problem; /* static: changed between setjmp and a jump */
    tc_escape escape;
    problem = (bench_problem){.arena = bench_arena()};
    tc_buffer messages = tc_buffer_new(problem.arena, 1 << 16);
    tc_status status = TC_TRY(problem.arena, &escape);
    if (status == TC_OK)
        status = load(path, options, &problem, &messages);
    tc_escape_end(problem.arena, &escape);
    if (status != TC_OK) {
        (void)fputs(tc_buffer_text(&messages), stderr);
        bench_fail("the problem cannot be loaded");
    }
    if (problem.plan->problem != NULL)
        bench_fail(problem.plan->problem);
    return problem;
}

tc_random *bench_random(tc_arena *arena, const bench_problem *problem, uint64_t seed) {
    tc_random *random = NULL;
    tc_run_identity run = {.run_id = "bench", .run_id_length = 5};
    for (size_t i = 0; i < sizeof run.plan_hash; i++)
        run.plan_hash[i] = problem->plan->hash[i];
    if (tc_random_new_simulation(arena, &run, seed, &random) != TC_OK)
        bench_fail("no random source");
    return random;
}

tc_engine *bench_engine(tc_arena *arena, const bench_problem *problem, uint64_t seed, tc_team *team) {
    tc_engine_settings settings = {.dual_radius = problem->dual_radius, .team = team, .facts = problem->method};
    tc_engine *engine = NULL;
    const char *why = "no engine";
    tc_random *random = bench_random(arena, problem, seed);
    if (tc_engine_new(arena, problem->plan, problem->model, problem->derivatives, random, &settings, &engine, &why) !=
        TC_OK)
        bench_fail(why);
    return engine;
}

double bench_advance(tc_engine *engine, uint64_t rounds, double (*seconds)(void)) {
    tc_engine_outcome outcome = TC_ENGINE_DONE;
    double began = seconds();
    tc_status status = tc_engine_advance(engine, tc_engine_rounds(engine) + rounds, NULL, &outcome);
    double taken = seconds() - began;
    if (status != TC_OK || outcome != TC_ENGINE_DONE)
        bench_fail(status != TC_OK                    ? tc_status_text(status)
                   : tc_engine_reason(engine) != NULL ? tc_engine_reason(engine)
                                                      : "the engine stopped");
    return taken;
}
