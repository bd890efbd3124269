/* bench_large PROBLEM...: agents of two states under ten coupling constraints, by method tacit. Give the problems in
 * order of size, the largest last. Measures three ratios, each within one run:
 * - a round of the largest against what no round can do without, both on two threads: drawing its noise, and one pass,
 *   in blocks that fit the cache, over the arrays that it must touch;
 * - two threads against one;
 * - the cost of one agent in one round, on one thread, over all sizes. */
#include "setup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REPEATS = 9, LARGE_REPEATS = 25, THREADS = 2, BLOCK = 2048, MOST_PROBLEMS = 8 };

static const double most_passes = 3.0, most_of_floor = 2.0, least_speedup = 1.85, most_uneven = 1.3;

/* ---- What a round cannot do without ---- */

/* A round must read and write the states and their averages, and read the agents' data. With noise on the states the
 * cloud has two filters for each, which it reads and writes. Each of them counts once, wherever an implementation keeps
 * a second copy. */
enum { STATES, AVERAGES, FAST, SLOW, ARRAYS };

typedef struct floor_work {
    tc_random_worker *workers[THREADS];
    tc_noise_law law;
    tc_noise_scale scale;
    size_t entries;         /* that get noise */
    size_t count;           /* states */
    double *arrays[ARRAYS]; /* of states; the filters are NULL without noise on states */
    double *data;
    size_t data_count;
    double sums[THREADS][BLOCK]; /* apart from each other */
    bool failed[THREADS];
} floor_work;

static void draw_block(void *context, size_t worker, size_t i) {
    floor_work *work = context;
    int64_t noise[BLOCK];
    size_t first = i * BLOCK, count = work->entries - first < BLOCK ? work->entries - first : BLOCK;
    if (tc_noise_fill(work->workers[worker], work->law, &work->scale, first, count, noise) != TC_OK)
        work->failed[worker] = true;
    __asm__ volatile("" ::"r"(noise) : "memory");
}

static size_t count_of(size_t all, size_t block) {
    size_t first = block * BLOCK;
    return first >= all ? 0 : all - first < BLOCK ? all - first : BLOCK;
}

static void touch_block(void *context, size_t worker, size_t i) {
    floor_work *work = context;
    size_t first = i * BLOCK, count = count_of(work->count, i);
    for (size_t a = 0; a < ARRAYS; a++) {
        double *x = work->arrays[a] == NULL ? NULL : work->arrays[a] + first;
        for (size_t k = 0; x != NULL && k < count; k++)
            x[k] = 0.5 - x[k];
    }
    for (size_t k = 0; k < count_of(work->data_count, i); k++)
        work->sums[worker][k] += work->data[first + k];
}

static size_t touched_bytes(const floor_work *work) {
    size_t numbers = work->data_count;
    for (size_t a = 0; a < ARRAYS; a++)
        numbers += work->arrays[a] == NULL ? 0 : 2 * work->count;
    return numbers * sizeof(double);
}

typedef struct floor_times {
    double noise, pass;
} floor_times;

static floor_times time_floor(floor_work *work, tc_random *random, uint64_t round, tc_team *team) {
    double began = bench_seconds();
    if (tc_random_open_round(random, round) != TC_OK)
        bench_fail("no random source");
    tc_team_run(team, (work->entries + BLOCK - 1) / BLOCK, draw_block, work);
    double drawn = bench_seconds();
    size_t most = work->count > work->data_count ? work->count : work->data_count;
    tc_team_run(team, (most + BLOCK - 1) / BLOCK, touch_block, work);
    double touched = bench_seconds();
    for (size_t i = 0; i < THREADS; i++)
        if (work->failed[i])
            bench_fail("no random source");
    return (floor_times){drawn - began, touched - drawn};
}

static void new_floor(const bench_problem *problem, tc_arena *arena, tc_random *random, floor_work *work) {
    const tc_plan *plan = problem->plan;
    *work = (floor_work){.law = plan->mechanism == TC_MECHANISM_GAUSSIAN ? TC_GAUSSIAN : TC_LAPLACE,
                         .entries = (size_t)plan->entry_count,
                         .count = problem->model->state_count};
    for (size_t f = 0; f < problem->model->family_count; f++)
        work->data_count += problem->model->families[f].column_count * problem->model->families[f].count;
    work->data = TC_NEW(arena, double, work->data_count);
    for (size_t a = 0; a < (plan->placement == TC_PLACEMENT_STATES ? ARRAYS : FAST); a++)
        work->arrays[a] = TC_NEW(arena, double, work->count);
    for (size_t i = 0; i < THREADS; i++)
        if (tc_random_worker_new(arena, random, &work->workers[i]) != TC_OK)
            bench_fail("no random source");
    if (!tc_noise_scale_from(plan->channels[0].lattice_scale, &work->scale))
        bench_fail("a scale is out of range");
}

/* ---- The largest problem ---- */

static bool bench_largest(const bench_problem *problem) {
    tc_arena *arena = bench_arena();
    tc_team *pair = tc_team_new(arena, THREADS);
    tc_random *random = bench_random(arena, problem, 2);
    tc_engine *one = bench_engine(arena, problem, 1, NULL), *two = bench_engine(arena, problem, 1, pair);
    floor_work work;
    new_floor(problem, arena, random, &work);
    double on_one = INFINITY, on_two = INFINITY, noise = INFINITY, pass = INFINITY;
    for (uint64_t repeat = 0; repeat <= LARGE_REPEATS; repeat++) { /* in turn, so that all meet the same conditions */
        double round_on_two = bench_advance(two, 1, bench_seconds);
        floor_times times = time_floor(&work, random, 1 + repeat, pair);
        double round_on_one = bench_advance(one, 1, bench_seconds);
        if (repeat == 0) /* the first touch of the memory */
            continue;
        on_two = fmin(on_two, round_on_two);
        on_one = fmin(on_one, round_on_one);
        noise = fmin(noise, times.noise);
        pass = fmin(pass, times.pass);
    }
    size_t agents = problem->model->agent_count, bytes = problem->model->state_count * sizeof(double);
    bool same = memcmp(tc_engine_states(one), tc_engine_states(two), bytes) == 0;
    bool on_states = problem->plan->placement == TC_PLACEMENT_STATES;
    double least = on_states ? noise + pass : pass, limit = on_states ? most_of_floor : most_passes;
    double ratio = on_two / least, speedup = on_one / on_two;
    printf("%zu agents, noise on %s\n", agents, on_states ? "the states" : "the constraints");
    printf(
        "%zu agents, %d threads: a round %.2f ms; its noise %.2f ms; one pass over the %.0f MB that it must read and "
        "write %.2f ms; %s %.2f (limit %.2f)\n",
        agents, THREADS, on_two * 1e3, noise * 1e3, (double)touched_bytes(&work) / 1e6, pass * 1e3,
        on_states ? "ratio to both" : "passes", ratio, limit);
    printf("%zu agents, one thread: a round %.2f ms; two threads are %.2f times as fast (goal %.2f); the same bits: "
           "%s\n",
           agents, on_one * 1e3, speedup, least_speedup, same ? "yes" : "NO");
    tc_arena_free(arena);
    return same && ratio <= limit && speedup >= least_speedup;
}

/* ---- Cost per agent over sizes ---- */

typedef struct size_run {
    bench_problem problem;
    tc_arena *arena;
    tc_engine *engine;
    uint64_t rounds; /* in one repeat, for about as many agents in all */
    double best;     /* seconds for one agent in one round */
} size_run;

static bool bench_sizes(size_run *runs, size_t count) {
    size_t largest = runs[count - 1].problem.model->agent_count;
    for (size_t i = 0; i < count; i++) {
        size_t agents = runs[i].problem.model->agent_count;
        uint64_t most = (uint64_t)runs[i].problem.plan->rounds / (REPEATS + 1);
        runs[i].arena = bench_arena();
        runs[i].engine = bench_engine(runs[i].arena, &runs[i].problem, 1, NULL);
        runs[i].rounds = largest / agents < most ? largest / agents : most;
        runs[i].best = INFINITY;
        (void)bench_advance(runs[i].engine, runs[i].rounds, bench_own_seconds);
    }
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (size_t i = 0; i < count; i++) {
            double work = (double)runs[i].rounds * (double)runs[i].problem.model->agent_count;
            runs[i].best = fmin(runs[i].best, bench_advance(runs[i].engine, runs[i].rounds, bench_own_seconds) / work);
        }
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < count; i++) {
        printf("%7zu agents, one thread: %.1f ns for one agent in one round\n", runs[i].problem.model->agent_count,
               runs[i].best * 1e9);
        least = fmin(least, runs[i].best);
        most = fmax(most, runs[i].best);
        tc_arena_free(runs[i].arena);
    }
    printf("dearest size over cheapest: %.2f (limit %.2f)\n", most / least, most_uneven);
    return most <= most_uneven * least;
}

int main(int argc, char **argv) {
    size_run runs[MOST_PROBLEMS];
    if (argc < 2 || argc - 1 > MOST_PROBLEMS)
        return 2;
    size_t count = (size_t)(argc - 1);
    tc_plan_options options = bench_options();
    options.seeded = true;
    options.method = TC_METHOD_TACIT;
    for (size_t i = 0; i < count; i++)
        runs[i].problem = bench_load(argv[1 + i], &options);
    bool good = count == 1 || bench_sizes(runs, count);
    good = bench_largest(&runs[count - 1].problem) && good;
    for (size_t i = 0; i < count; i++)
        tc_arena_free(runs[i].problem.arena);
    return good ? 0 : 1;
}
