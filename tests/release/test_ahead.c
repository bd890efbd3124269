/* Noise that is drawn ahead, on a thread of its own: the same bits, none of them drawn by the thread that releases, and
 * nothing left of what was used. */
/* labels: threads */
#include "noise/drawing.h"
#include "plan/plan_by_hand.h"
#include "noise/secret.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const TEXT = "agents home[i in 1..100] { state p[2] in [0, 8]; private minimize p[1] }\n"
                                "agent boss { state x in [-2, 2]; private minimize x^2 }\n"
                                "constraint a: sum(home: p[1]^2 + 0.3 * p[2]) <= 50\n"
                                "constraint b: sum(home: p[1])^2 / 100 + home[3].p[1]^2 * boss.x <= 5\n";

static const hand USUAL = {.placement = TC_PLACEMENT_OUTPUTS,
                           .mechanism = TC_MECHANISM_GAUSSIAN,
                           .state_exponent = -16,
                           .step_exponent = -28,
                           .sum_exponent = -30,
                           .scale = 0x1.8p27,
                           .rounds = 50};

/* ---- the secret memory, as the release was given it ---- */

static tc_secret_memory ring;
tc_secret_memory __real_tc_secret_sized(tc_arena *arena, size_t size);
tc_secret_memory __wrap_tc_secret_sized(tc_arena *arena, size_t size);
tc_secret_memory __wrap_tc_secret_sized(tc_arena *arena, size_t size) {
    return ring = __real_tc_secret_sized(arena, size);
}

static size_t left_in_ring(void) {
    size_t left = 0;
    for (size_t i = 0; i < ring.size; i++)
        left += ring.bytes[i] != 0;
    return left;
}

/* ---- two releases of the same ---- */

static void move(const problem *p, gate *g, uint64_t round) {
    uint64_t seed = round;
    double *x = TC_NEW(p->arena, double, p->model->state_count);
    for (size_t i = 0; i < p->model->state_count; i++)
        x[i] = uniform(&seed, 0, 2);
    assert_int_not_equal(tc_states_take(g->states, x), TC_STATE_REFUSED);
}

static void expect_same(const problem *p, const gate *a, const gate *b) {
    assert_memory_equal(a->out->constraints, b->out->constraints, p->model->constraint_count * sizeof(double));
    assert_memory_equal(a->out->jacobian, b->out->jacobian, a->out->layout->position_count * sizeof(double));
    if (a->out->states != NULL)
        assert_memory_equal(a->out->states, b->out->states, p->model->state_count * sizeof(double));
}

static gate gate_ahead(const problem *p, const hand *by, size_t bytes, const tc_release_settings *settings) {
    gate g = gate_of(p, plan_by_hand(p, by), 7, settings);
    assert_int_equal(tc_release_draw_ahead(p->arena, g.release, bytes), TC_OK);
    return g;
}

static void bits_are_those_of_noise_drawn_in_time(void **state) {
    (void)state;
    static const tc_placement placements[] = {TC_PLACEMENT_OUTPUTS, TC_PLACEMENT_STATES};
    static const size_t sizes[] = {0, 1, 9000};
    for (size_t i = 0; i < 2; i++)
        for (size_t s = 0; s < 3; s++) {
            problem p = problem_of(TEXT);
            hand by = USUAL;
            by.placement = placements[i];
            by.mechanism = s == 1 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN;
            tc_release_settings settings = {.first_round = s == 2 ? 17 : 1};
            gate plain = gate_of(&p, plan_by_hand(&p, &by), 7, &settings);
            gate ahead = gate_ahead(&p, &by, sizes[s], &settings);
            for (uint64_t round = settings.first_round; round <= 50; round++) {
                move(&p, &plain, round);
                move(&p, &ahead, round);
                if (round % 3 == 0)
                    assert_int_equal(tc_release_prepare(ahead.release, round), TC_OK);
                assert_int_equal(tc_release_round(plain.release, round, plain.states, plain.out), TC_OK);
                assert_int_equal(tc_release_round(ahead.release, round, ahead.states, ahead.out), TC_OK);
                expect_same(&p, &plain, &ahead);
            }
            assert_int_equal(tc_release_round(ahead.release, 51, ahead.states, ahead.out), TC_BAD_USAGE);
            assert_int_equal(left_in_ring(), 0); /* all rounds are used */
            problem_free(&p);
        }
}

static void the_thread_that_releases_draws_nothing(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    begin_drawing();
    gate plain = gate_of(&p, plan_by_hand(&p, &USUAL), 7, NULL);
    for (uint64_t round = 1; round <= 20; round++)
        assert_int_equal(tc_release_round(plain.release, round, plain.states, plain.out), TC_OK);
    assert_true(atomic_load(&drawn.by_loop) >= 20); /* the measure works */
    begin_drawing();
    gate ahead = gate_ahead(&p, &USUAL, 0, NULL);
    for (uint64_t round = 1; round <= 20; round++) {
        assert_int_equal(tc_release_prepare(ahead.release, round), TC_OK);
        assert_int_equal(tc_release_round(ahead.release, round, ahead.states, ahead.out), TC_OK);
    }
    assert_int_equal(atomic_load(&drawn.by_loop), 0);
    assert_true(atomic_load(&drawn.others) > 20);
    problem_free(&p);
}

/* In parts, with two workers: neither draws. */
static void blocks_take_what_was_drawn(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    begin_drawing();
    gate plain = gate_of(&p, plan_by_hand(&p, &USUAL), 7, NULL), ahead = gate_of(&p, plan_by_hand(&p, &USUAL), 7, NULL);
    assert_int_equal(tc_release_hire(p.arena, ahead.release, 2), TC_OK);
    assert_int_equal(tc_release_draw_ahead(p.arena, ahead.release, 0), TC_OK);
    assert_int_equal(tc_release_hire(p.arena, ahead.release, 3), TC_BAD_USAGE);
    assert_int_equal(tc_release_draw_ahead(p.arena, ahead.release, 0), TC_BAD_USAGE);
    for (uint64_t round = 1; round <= 5; round++) {
        move(&p, &plain, round);
        move(&p, &ahead, round);
        assert_int_equal(tc_release_round(plain.release, round, plain.states, plain.out), TC_OK);
        atomic_store(&drawn.by_loop, 0);
        assert_int_equal(tc_release_open(ahead.release, round), TC_OK);
        for (size_t f = 0; f < 2; f++) {
            tc_release_worker *worker = tc_release_worker_at(ahead.release, f);
            assert_int_equal(tc_release_take_stored(worker, f, 0, ahead.states), TC_OK);
            assert_int_equal(tc_release_sum(worker), TC_OK);
        }
        assert_int_equal(tc_release_close_sums(ahead.release, ahead.out), TC_OK);
        tc_release_close(ahead.release);
        assert_int_equal(atomic_load(&drawn.by_loop), 0);
        assert_memory_equal(plain.out->constraints, ahead.out->constraints, p.model->constraint_count * sizeof(double));
    }
    problem_free(&p);
}

static void a_release_waits_for_slow_draws(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    begin_drawing();
    atomic_store(&drawn.pause, 2000000);
    gate plain = gate_of(&p, plan_by_hand(&p, &USUAL), 7, NULL), ahead = gate_ahead(&p, &USUAL, 1, NULL);
    for (uint64_t round = 1; round <= 10; round++) {
        assert_int_equal(tc_release_round(plain.release, round, plain.states, plain.out), TC_OK);
        assert_int_equal(tc_release_round(ahead.release, round, ahead.states, ahead.out), TC_OK);
        expect_same(&p, &plain, &ahead);
    }
    problem_free(&p); /* in the middle of a draw, perhaps */
}

static void draws_that_fail_are_found_in_their_round(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    begin_drawing();
    atomic_store(&drawn.fails_after, 31);
    gate g = gate_ahead(&p, &USUAL, 0, NULL);
    uint64_t round = 1;
    tc_status status = TC_OK;
    while (round <= 50) {
        memset(g.out->constraints, 0x55, p.model->constraint_count * sizeof(double));
        if ((status = tc_release_round(g.release, round, g.states, g.out)) != TC_OK)
            break;
        round++;
    }
    assert_int_equal(status, TC_NO_RANDOM);
    assert_in_range(round, 2, 31);
    assert_int_equal(((unsigned char *)g.out->constraints)[0], 0x55); /* nothing was written */
    assert_int_equal(tc_release_prepare(g.release, round), TC_NO_RANDOM);
    assert_int_equal(tc_release_round(g.release, round, g.states, g.out), TC_NO_RANDOM);
    assert_int_equal(left_in_ring(), 0); /* half a round is no noise */
    problem_free(&p);
}

/* Where a key may be half moved, nothing is released any more, drawn or not. */
static void a_chain_that_breaks_ends_all_releases(void **state) {
    (void)state;
    struct timespec pause = {.tv_nsec = 1000000};
    problem p = problem_of(TEXT);
    begin_drawing();
    drawn.ratchet_fails = true;
    atomic_store(&drawn.fails_after, 1);
    gate g = gate_ahead(&p, &USUAL, 0, NULL);
    while (atomic_load(&drawn.others) < 2)
        (void)nanosleep(&pause, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tc_release_round(g.release, 1, g.states, g.out), TC_NO_RANDOM);
    problem_free(&p);
}

static void a_forked_child_is_refused(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    begin_drawing();
    gate g = gate_ahead(&p, &USUAL, 0, NULL);
    assert_int_equal(tc_release_round(g.release, 1, g.states, g.out), TC_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool refused = tc_release_round(g.release, 2, g.states, g.out) == TC_NO_RANDOM &&
                       tc_release_prepare(g.release, 2) == TC_NO_RANDOM;
        bool is_empty = !ring.wiped_in_child || left_in_ring() == 0;
        problem_free(&p); /* there is no thread to wait for */
        _exit(refused && is_empty ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(tc_release_round(g.release, 2, g.states, g.out), TC_OK);
    problem_free(&p);
}

static void what_lies_ahead_is_bounded(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    hand by = USUAL;
    by.rounds = 1e6;
    size_t a_round = (size_t)plan_by_hand(&p, &by)->entry_count * sizeof(int64_t);
    gate least = gate_ahead(&p, &by, 1, NULL);
    assert_int_equal(tc_release_rounds_ahead(least.release), 2);
    assert_int_equal(ring.size, 2 * a_round);
    gate some = gate_ahead(&p, &by, 7 * a_round + 5, NULL);
    assert_int_equal(tc_release_rounds_ahead(some.release), 7);
    gate most = gate_ahead(&p, &by, 0, NULL);
    assert_in_range(tc_release_rounds_ahead(most.release), 8, TC_MOST_AHEAD);
    by.rounds = 3;
    gate few = gate_ahead(&p, &by, 0, NULL);
    assert_int_equal(tc_release_rounds_ahead(few.release), 3);
    by.mechanism = TC_MECHANISM_NONE;
    gate none = gate_ahead(&p, &by, 0, NULL);
    assert_int_equal(tc_release_rounds_ahead(none.release), 0);
    problem_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_those_of_noise_drawn_in_time),
        cmocka_unit_test(the_thread_that_releases_draws_nothing),
        cmocka_unit_test(blocks_take_what_was_drawn),
        cmocka_unit_test(a_release_waits_for_slow_draws),
        cmocka_unit_test(draws_that_fail_are_found_in_their_round),
        cmocka_unit_test(a_chain_that_breaks_ends_all_releases),
        cmocka_unit_test(a_forked_child_is_refused),
        cmocka_unit_test(what_lies_ahead_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
