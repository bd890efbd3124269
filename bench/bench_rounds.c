/* bench_rounds PROBLEM THREADS PLACE: rounds of a problem, by the method tacit, when told to. Rank r reads the file
 * PLACE.r, a named pipe, line by line: how many rounds to go on. The first rank answers each line with the seconds of
 * one round, after "ready" at the start. The end of the pipe is the end. Between lines a rank sleeps, so that others
 * may take their turn on the same processors; the first round of a turn, which finds its memory out of the caches, is
 * not counted. Started by bench/scale_ranks.py, with mpirun or without. */
#include "setup.h"

#include "base/machine.h"
#include "base/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>

static FILE *orders_of(const char *place) {
    char path[4096];
    FILE *orders = NULL;
    (void)snprintf(path, sizeof path, "%s.%zu", place, tc_ranks_mine());
    orders = fopen(path, "r");
    if (orders == NULL)
        bench_fail("the named pipe cannot be opened");
    return orders;
}

static void answer(const char *text) {
    if (tc_ranks_prints()) {
        (void)puts(text);
        (void)fflush(stdout);
    }
}

static void follow(FILE *orders, tc_engine *engine) {
    char line[64];
    while (fgets(line, sizeof line, orders) != NULL) {
        uint64_t rounds = strtoull(line, NULL, 10);
        if (rounds == 0)
            bench_fail("an order is no number of rounds");
        (void)bench_advance(engine, 1, bench_seconds);
        tc_ranks_barrier();
        double taken = bench_advance(engine, rounds, bench_seconds);
        (void)snprintf(line, sizeof line, "%.9f", taken / (double)rounds);
        answer(line);
    }
}

int main(int argc, char **argv) {
    tc_ranks_begin(&argc, &argv);
    if (argc != 4)
        bench_fail("bench_rounds PROBLEM THREADS PLACE");
    size_t threads = strtoull(argv[2], NULL, 10);
    tc_plan_options options = bench_options();
    options.seeded = true;
    options.method = TC_METHOD_TACIT;
    bench_problem problem = bench_load(argv[1], &options);
    tc_team *team = threads > 1 ? tc_team_new(problem.arena, threads) : NULL;
    tc_engine *engine = bench_engine(problem.arena, &problem, 1, team);
    (void)bench_advance(engine, 2, bench_seconds); /* touches the memory */
    FILE *orders = orders_of(argv[3]);
    answer("ready");
    follow(orders, engine);
    (void)fclose(orders);
    tc_arena_free(problem.arena);
    tc_ranks_end();
    return 0;
}
