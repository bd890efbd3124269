/* Noise at addresses: known draws, and independence of order, cut and thread. */
/* labels: threads */
#include "noise/noise.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <string.h>

enum { COUNT = 5000 };

typedef struct fixture {
    tc_arena *arena;
    tc_random *random;
    tc_random_worker *workers[4];
} fixture;

static fixture seeded(uint64_t round) {
    fixture made = {.arena = tc_arena_new(0)};
    tc_run_identity run = {.run_id = "run 7", .run_id_length = 5};
    for (unsigned i = 0; i < 32; i++)
        run.plan_hash[i] = (unsigned char)i;
    assert_int_equal(tc_random_new_simulation(made.arena, &run, 42, &made.random), TC_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(tc_random_worker_new(made.arena, made.random, &made.workers[i]), TC_OK);
    assert_int_equal(tc_random_open_round(made.random, round), TC_OK);
    return made;
}

static tc_noise_scale scale_of(double s) {
    tc_noise_scale scale;
    assert_true(tc_noise_scale_from(s, &scale));
    return scale;
}

/* Computed apart with mpmath, from AES by the openssl command. */
static void the_first_draws_are_the_same_on_every_build(void **state) {
    (void)state;
    static const struct {
        double s;
        tc_noise_law law;
        int64_t draws[6];
    } known[] = {
        {1, TC_LAPLACE, {-1, -3, 0, 1, 0, 1}},
        {1, TC_GAUSSIAN, {-1, -2, 0, 1, 0, 1}},
        {5, TC_LAPLACE, {-5, -16, 1, 6, 1, 3}},
        {5, TC_GAUSSIAN, {-4, -10, 1, 5, 1, 3}},
        {0x1.3p35, TC_LAPLACE, {-37813467304, -132302234355, 9399579225, 47760596254, 7425305718, 27192398755}},
        {0x1.3p35, TC_GAUSSIAN, {-34644253574, -84195372387, 10641563003, 41406215532, 8571187628, 26658080053}},
    };
    fixture f = seeded(5);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        tc_noise_scale scale = scale_of(known[i].s);
        int64_t draws[6];
        assert_int_equal(tc_noise_fill(f.workers[0], known[i].law, &scale, 0, 6, draws), TC_OK);
        assert_memory_equal(draws, known[i].draws, sizeof draws);
    }
    tc_arena_free(f.arena);
}

/* At the largest scale one draw in some hundreds takes the slow path, so both are covered. */
static void noise_does_not_depend_on_the_cut(void **state) {
    (void)state;
    static int64_t whole[COUNT], parts[COUNT];
    fixture f = seeded(1);
    tc_noise_scale scale = scale_of(TC_MOST_NOISE_SCALE);
    for (int law = TC_LAPLACE; law <= TC_GAUSSIAN; law++) {
        assert_int_equal(tc_noise_fill(f.workers[0], (tc_noise_law)law, &scale, 0, COUNT, whole), TC_OK);
        for (size_t step = 1; step < COUNT; step = 3 * step + 4) {
            memset(parts, 0, sizeof parts);
            for (size_t last = COUNT; last > 0;) { /* backwards */
                size_t count = last < step ? last : step;
                last -= count;
                tc_status status =
                    tc_noise_fill(f.workers[last % 4], (tc_noise_law)law, &scale, last, count, parts + last);
                assert_int_equal(status, TC_OK);
            }
            assert_memory_equal(parts, whole, sizeof whole);
        }
    }
    tc_arena_free(f.arena);
}

typedef struct task {
    tc_random_worker *worker;
    const tc_noise_scale *scale;
    uint64_t first;
    size_t count;
    int64_t *noise;
    tc_status status;
} task;

static void *run_task(void *context) {
    task *t = context;
    t->status = tc_noise_fill(t->worker, TC_GAUSSIAN, t->scale, t->first, t->count, t->noise);
    return NULL;
}

static void threads_fill_a_round_together(void **state) {
    (void)state;
    static int64_t whole[COUNT], parts[COUNT];
    fixture f = seeded(1);
    tc_noise_scale scale = scale_of(TC_MOST_NOISE_SCALE);
    for (uint64_t round = 2; round < 5; round++) {
        assert_int_equal(tc_random_open_round(f.random, round), TC_OK);
        pthread_t threads[4];
        task tasks[4];
        for (size_t i = 0; i < 4; i++) {
            size_t first = i * COUNT / 4;
            tasks[i] = (task){f.workers[i], &scale, first, (i + 1) * COUNT / 4 - first, parts + first, TC_OK};
            assert_int_equal(pthread_create(&threads[i], NULL, run_task, &tasks[i]), 0);
        }
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(tasks[i].status, TC_OK);
        }
        assert_int_equal(tc_noise_fill(f.workers[0], TC_GAUSSIAN, &scale, 0, COUNT, whole), TC_OK);
        assert_memory_equal(parts, whole, sizeof whole);
    }
    tc_arena_free(f.arena);
}

static void each_entry_may_have_its_own_scale(void **state) {
    (void)state;
    static int64_t noise[COUNT];
    static tc_noise_scale scales[COUNT];
    fixture f = seeded(1);
    for (int i = 0; i < COUNT; i++)
        scales[i] = scale_of(0.02 + 5e6 * i * i);
    for (int law = TC_LAPLACE; law <= TC_GAUSSIAN; law++) {
        assert_int_equal(tc_noise_fill_each(f.workers[0], (tc_noise_law)law, scales, 0, COUNT, noise), TC_OK);
        for (size_t i = 0; i < COUNT; i++) {
            int64_t one = 0;
            assert_int_equal(tc_noise_fill(f.workers[1], (tc_noise_law)law, &scales[i], i, 1, &one), TC_OK);
            assert_true(one == noise[i]);
        }
    }
    tc_arena_free(f.arena);
}

/* Round k + 1 can be drawn before round k is used, and is what it would have been later. */
static void noise_can_be_drawn_ahead(void **state) {
    (void)state;
    static int64_t ahead[COUNT], later[COUNT];
    tc_noise_scale scale = scale_of(100);
    fixture f = seeded(1);
    assert_int_equal(tc_random_open_round(f.random, 2), TC_OK);
    assert_int_equal(tc_noise_fill(f.workers[0], TC_LAPLACE, &scale, 0, COUNT, ahead), TC_OK);
    fixture g = seeded(1);
    assert_int_equal(tc_noise_fill(g.workers[0], TC_LAPLACE, &scale, 0, COUNT, later), TC_OK);
    assert_memory_not_equal(ahead, later, sizeof later);
    assert_int_equal(tc_random_open_round(g.random, 2), TC_OK);
    assert_int_equal(tc_noise_fill(g.workers[0], TC_LAPLACE, &scale, 0, COUNT, later), TC_OK);
    assert_memory_equal(ahead, later, sizeof later);
    tc_arena_free(f.arena);
    tc_arena_free(g.arena);
}

static void a_refused_fill_leaves_nothing(void **state) {
    (void)state;
    int64_t noise[3] = {1, 2, 3};
    tc_noise_scale scale = scale_of(100);
    fixture f = seeded(1);
    assert_int_equal(tc_noise_fill(f.workers[0], TC_LAPLACE, &scale, UINT64_MAX - 1, 3, noise), TC_NO_RANDOM);
    for (int i = 0; i < 3; i++)
        assert_true(noise[i] == 0);
    tc_arena_free(f.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_draws_are_the_same_on_every_build),
        cmocka_unit_test(noise_does_not_depend_on_the_cut),
        cmocka_unit_test(threads_fill_a_round_together),
        cmocka_unit_test(each_entry_may_have_its_own_scale),
        cmocka_unit_test(noise_can_be_drawn_ahead),
        cmocka_unit_test(a_refused_fill_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
