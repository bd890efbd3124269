/* pthread_setattr_default_np, to make threads impossible. */
/* labels: threads */
#define _GNU_SOURCE
#include "base/team.h"
#include "support/cmocka.h"
#include "base/machine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 5000, MOST_WORKERS = 16 };

typedef struct tally {
    atomic_int done[MOST];
    atomic_bool busy[MOST_WORKERS];
    atomic_int collisions, strangers;
    size_t size;
    pthread_t caller;
    unsigned pause; /* nanoseconds */
} tally;

static void wait_for(long nanoseconds) {
    struct timespec time = {.tv_nsec = nanoseconds};
    (void)nanosleep(&time, NULL);
}

static void count(void *context, size_t worker, size_t i) {
    tally *t = context;
    if (worker >= t->size || (worker == 0) != (pthread_equal(pthread_self(), t->caller) != 0)) {
        (void)atomic_fetch_add(&t->strangers, 1);
        return;
    }
    if (atomic_exchange(&t->busy[worker], true))
        (void)atomic_fetch_add(&t->collisions, 1);
    (void)atomic_fetch_add(&t->done[i], 1);
    if (t->pause > 0)
        wait_for(t->pause);
    atomic_store(&t->busy[worker], false);
}

static void expect_each_once(tc_team *team, tally *t, size_t parts) {
    for (size_t i = 0; i < MOST; i++)
        atomic_store(&t->done[i], 0);
    t->size = tc_team_size(team);
    t->caller = pthread_self();
    tc_team_run(team, parts, count, t);
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(atomic_load(&t->done[i]), i < parts);
    assert_int_equal(atomic_load(&t->collisions), 0);
    assert_int_equal(atomic_load(&t->strangers), 0);
}

static void every_part_is_done_once_by_one_worker_at_a_time(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 7, MOST_WORKERS}, parts[] = {0, 1, 2, 3, 100, MOST};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        tc_arena *arena = tc_arena_new(0);
        tc_team *team = tc_team_new(arena, sizes[s]);
        assert_int_equal(tc_team_size(team), sizes[s]);
        static tally t;
        for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
            expect_each_once(team, &t, parts[p]);
        tc_arena_free(arena);
    }
}

typedef struct sums {
    uint64_t of[MOST_WORKERS];
} sums;

static void add(void *context, size_t worker, size_t i) { ((sums *)context)->of[worker] += i; }

/* Plain memory of a worker is seen by the caller afterwards, and by the next run: the sanitizer watches. */
static void thousands_of_short_runs_follow_each_other(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    tc_team *team = tc_team_new(arena, 4);
    sums s = {{0}};
    uint64_t expected = 0;
    for (size_t run = 0; run < 20000; run++) {
        size_t parts = run % 9;
        tc_team_run(team, parts, add, &s);
        expected += parts == 0 ? 0 : parts * (parts - 1) / 2;
    }
    uint64_t total = 0;
    for (size_t w = 0; w < MOST_WORKERS; w++)
        total += s.of[w];
    assert_int_equal(total, expected);
    tc_arena_free(arena);
}

static void threads_that_fell_asleep_come_back(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    tc_team *team = tc_team_new(arena, 3);
    static tally t;
    for (int i = 0; i < 20; i++) {
        wait_for(3000000);
        t.pause = i % 2 == 0 ? 0 : 100000; /* long parts: the caller falls asleep over the last ones */
        expect_each_once(team, &t, 12);
    }
    tc_arena_free(arena);
}

static void meet(void *context, size_t worker, size_t i) {
    (void)worker;
    (void)i;
    atomic_int *here = context;
    (void)atomic_fetch_add(here, 1);
    while (atomic_load(here) < 3)
        wait_for(100000);
}

/* Each part waits for the others: with fewer threads this would not end. */
static void parts_run_at_the_same_time(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    tc_team *team = tc_team_new(arena, 3);
    atomic_int here = 0;
    tc_team_run(team, 3, meet, &here);
    assert_int_equal(atomic_load(&here), 3);
    tc_arena_free(arena);
}

static void a_team_without_work_ends(void **state) {
    (void)state;
    for (size_t i = 0; i < 50; i++) {
        tc_arena *arena = tc_arena_new(0);
        (void)tc_team_new(arena, i % 5);
        if (i % 3 == 0)
            wait_for(1000000);
        tc_arena_free(arena);
    }
}

static void there_is_a_processor_and_zero_means_all_of_them(void **state) {
    (void)state;
    assert_true(tc_processors() >= 1);
    tc_arena *arena = tc_arena_new(0);
    assert_int_equal(tc_team_size(tc_team_new(arena, 0)), tc_processors());
    tc_arena_free(arena);
}

static void where_the_system_gives_no_thread_the_caller_does_all(void **state) {
    (void)state;
    pthread_attr_t usual, impossible;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_attr_init(&impossible), 0);
    assert_int_equal(pthread_attr_setstacksize(&impossible, (size_t)1 << 60), 0); /* no address space has that */
    if (pthread_setattr_default_np(&impossible) != 0)
        skip();
    tc_arena *arena = tc_arena_new(0);
    tc_team *team = tc_team_new(arena, 4);
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    assert_int_equal(tc_team_size(team), 1);
    static tally t;
    expect_each_once(team, &t, 100);
    tc_arena_free(arena);
    assert_int_equal(pthread_attr_destroy(&impossible), 0);
    assert_int_equal(pthread_attr_destroy(&usual), 0);
}

static void a_forked_child_may_free_the_arena(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    tc_team *team = tc_team_new(arena, 3);
    wait_for(3000000);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tc_arena_free(arena);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    static tally t;
    expect_each_once(team, &t, 100);
    tc_arena_free(arena);
}

typedef struct patience {
    atomic_bool other_works, looked;
    pthread_t caller;
    atomic_int strangers;
} patience;

static void look(void *context) {
    patience *p = context;
    if (!pthread_equal(pthread_self(), p->caller))
        (void)atomic_fetch_add(&p->strangers, 1);
    atomic_store(&p->looked, true);
}

/* The caller's part ends when another thread has the other one, which lasts until the caller has looked. */
static void wait_for_a_look(void *context, size_t worker, size_t i) {
    patience *p = context;
    (void)i;
    if (worker != 0)
        atomic_store(&p->other_works, true);
    while (!atomic_load(worker == 0 ? &p->other_works : &p->looked))
        wait_for(100000);
}

static void the_caller_looks_around_while_it_waits(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    tc_team *team = tc_team_new(arena, 2);
    patience p = {.caller = pthread_self()};
    assert_int_equal(tc_team_size(team), 2);
    tc_team_look(team, look, &p);
    tc_team_run(team, 2, wait_for_a_look, &p);
    assert_true(atomic_load(&p.looked));
    assert_int_equal(atomic_load(&p.strangers), 0);
    tc_arena_free(arena);
}

static void raise_within(void *context, tc_team *team) {
    tc_arena *arena = context;
    assert_true(tc_team_size(team) >= 1);
    tc_raise(arena, TC_TOO_LARGE);
}

static void what_a_job_raises_goes_on_when_its_team_has_ended(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        tc_team_with(arena, 3, raise_within, arena);
    tc_escape_end(arena, &escape);
    assert_int_equal(status, TC_TOO_LARGE);
    tc_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_job_raises_goes_on_when_its_team_has_ended),
        cmocka_unit_test(the_caller_looks_around_while_it_waits),
        cmocka_unit_test(every_part_is_done_once_by_one_worker_at_a_time),
        cmocka_unit_test(thousands_of_short_runs_follow_each_other),
        cmocka_unit_test(threads_that_fell_asleep_come_back),
        cmocka_unit_test(parts_run_at_the_same_time),
        cmocka_unit_test(a_team_without_work_ends),
        cmocka_unit_test(there_is_a_processor_and_zero_means_all_of_them),
        cmocka_unit_test(where_the_system_gives_no_thread_the_caller_does_all),
        cmocka_unit_test(a_forked_child_may_free_the_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
