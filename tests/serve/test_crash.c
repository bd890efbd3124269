/* The cloud loses power, or its disk fails, at every single operation of the file system in turn. Agents live on. With
 * noise from one seed the run must end with the bits of an undisturbed one; with other noise in each life, as in a
 * private run, no agent may ever see two answers of a round. */
#include "serve/lives.h"

static world w;

static const half_wish WISHES[] = {
    {TC_METHOD_PUBLISHED, TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, TC_MARGIN_NONE},
    {TC_METHOD_TACIT, TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_STATES, TC_MARGIN_NONE},
};
static const fault_survivors SURVIVORS[] = {FAULT_KEEP_NOTHING, FAULT_KEEP_ALL, FAULT_KEEP_SOME, FAULT_KEEP_SOME};
enum { SEED = 11, SURVIVOR_COUNT = sizeof SURVIVORS / sizeof *SURVIVORS, MOST_LIVES = 8 };

static void begin_disk(uint64_t seed) {
    fault_format(seed);
    world_renew(&w);
}

/* The operations of a run that nothing disturbs; agents are left as it leaves them. */
static uint64_t run_undisturbed(uint64_t seed) {
    begin_disk(1);
    assert_int_equal(life_run(&w, seed, false), TC_RUN_DONE);
    assert_true(world_is_done(&w));
    assert_int_equal(w.repeats, 0);
    return fault.operations;
}

/* Lives without faults until every agent has every answer. */
static void recover(uint64_t seed, uint64_t seed_step) {
    for (unsigned lives = 0; !world_is_done(&w); lives++) {
        assert_true(lives < MOST_LIVES);
        tc_run_end end = life_run(&w, seed += seed_step, false);
        if (end != TC_RUN_DONE && end != TC_RUN_GOES_ON)
            fail_msg("after the fault the cloud %s", tc_run_end_name(end));
    }
}

static void expect_same(const life_agent *undisturbed) {
    for (size_t i = 0; i < LIFE_AGENTS; i++) {
        assert_memory_equal(w.agents[i].x, undisturbed[i].x, sizeof w.agents[i].x);
        for (size_t k = 1; k <= LIFE_ROUNDS; k++)
            if (w.agents[i].has[k]) /* one may have come back when the next round had been answered */
                assert_memory_equal(w.agents[i].book[k], undisturbed[i].book[k], LIFE_BODY);
        assert_true(w.agents[i].has[LIFE_ROUNDS]);
    }
}

/* Power goes at this operation, and perhaps again at one of the next life; what agents had been told before stands. */
static void lose_power_at(uint64_t at, fault_survivors survivors, uint64_t seed_step, bool twice) {
    fault.fail_at = at;
    fault.fail_code = SQLITE_IOERR;
    (void)life_run(&w, SEED, false);
    fault_reboot(survivors);
    if (twice && !world_is_done(&w)) {
        fault.fail_at = fault.operations + 1 + fault_draw() % 12;
        (void)life_run(&w, SEED + 100 * seed_step, false);
        fault_reboot(survivors);
    }
    recover(SEED, seed_step);
}

static void lose_power_everywhere(const half_wish *wish, uint64_t seed_step) {
    life_agent undisturbed[LIFE_AGENTS];
    world_begin(&w, wish, TC_DURABLE_POWER);
    uint64_t operations = run_undisturbed(SEED);
    assert_true(operations > 3 * LIFE_ROUNDS);
    memcpy(undisturbed, w.agents, sizeof undisturbed);
    for (uint64_t at = 1; at <= operations; at++)
        for (size_t s = 0; s < SURVIVOR_COUNT; s++) {
            begin_disk(at * 31 + s);
            lose_power_at(at, SURVIVORS[s], seed_step, s == 3);
            if (seed_step == 0)
                expect_same(undisturbed);
        }
    planned_end(&w.p);
}

static void after_any_loss_of_power_a_run_ends_with_the_same_bits(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++)
        lose_power_everywhere(&WISHES[i], 0);
}

static void after_any_loss_of_power_no_round_has_two_answers_though_noise_is_new(void **state) {
    (void)state;
    lose_power_everywhere(&WISHES[1], 1);
}

/* The tests above see whether an answer leaves before its round is durable: on a disk that leaves out the sync of the
 * log, it does. */
static void answers_that_leave_without_a_sync_are_noticed_after_a_loss_of_power(void **state) {
    (void)state;
    world_begin(&w, &WISHES[1], TC_DURABLE_POWER);
    uint64_t operations = run_undisturbed(SEED);
    unsigned noticed = 0;
    for (uint64_t at = operations / 2; at <= operations; at++) {
        begin_disk(at);
        fault.lazy_from = at;
        w.deaf_to = LIFE_ROUNDS;
        assert_int_equal(life_run(&w, SEED, false), TC_RUN_GOES_ON);
        w.deaf_to = 0;
        fault_reboot(FAULT_KEEP_NOTHING);
        noticed += life_run(&w, SEED + 1, false) == TC_RUN_ROLLED_BACK;
    }
    assert_true(noticed > LIFE_ROUNDS);
    planned_end(&w.p);
}

/* The cloud dies when a and b have had the answer of a round, and c has not; b has died too, and forgotten it. */
static void answers_that_were_not_had_or_are_forgotten_are_sent_again_as_they_were(void **state) {
    (void)state;
    world_begin(&w, &WISHES[1], TC_DURABLE_POWER);
    for (uint64_t round = 1; round <= LIFE_ROUNDS; round++)
        for (size_t s = 0; s < SURVIVOR_COUNT; s++) {
            begin_disk(round * 13 + s);
            w.deaf_to = round;
            assert_int_equal(life_run(&w, SEED, false), TC_RUN_GOES_ON);
            w.deaf_to = 0;
            assert_true(w.agents[0].answered == round && w.agents[2].answered == round - 1);
            world_forget(&w, 1);
            fault_reboot(SURVIVORS[s]);
            recover(SEED, 1);
            assert_int_equal(w.repeats, 1);
            for (size_t i = 0; i < LIFE_AGENTS; i++)
                for (uint64_t k = 1; k <= LIFE_ROUNDS; k++)
                    assert_true(w.agents[i].has[k]);
        }
    planned_end(&w.p);
}

/* The process lives to see the error, once or from then on: it ends, and what it could not write did not leave. */
static void where_the_disk_fails_nothing_of_that_round_leaves(void **state) {
    (void)state;
    static const int codes[] = {SQLITE_IOERR, SQLITE_FULL};
    world_begin(&w, &WISHES[0], TC_DURABLE_POWER);
    uint64_t operations = run_undisturbed(SEED);
    unsigned ended = 0;
    for (uint64_t at = 1; at <= operations; at++)
        for (size_t i = 0; i < 4; i++) {
            begin_disk(at * 7 + i);
            fault.fail_at = at;
            fault.fail_code = codes[i % 2];
            fault.fail_count = i < 2 ? 1 : 0;
            tc_run_end end = life_run(&w, SEED, false);
            ended += end == TC_RUN_FAILED;
            if (end != TC_RUN_FAILED) /* a checkpoint that failed is tried again: all is in the log */
                assert_int_equal(end, TC_RUN_DONE);
            fault.fail_at = fault.fail_count = 0;
            recover(SEED + 1, 1);
        }
    assert_true(ended > operations);
    planned_end(&w.p);
}

/* Faster, and after a loss of power perhaps behind what agents have seen: then it releases nothing until its operator
 * says --after-restore, and goes on behind all of them. */
static void with_process_durability_a_journal_that_is_behind_is_not_gone_on_from_unasked(void **state) {
    (void)state;
    world_begin(&w, &WISHES[1], TC_DURABLE_PROCESS);
    uint64_t operations = run_undisturbed(SEED);
    unsigned behind = 0, over = 0;
    for (uint64_t at = 1; at <= operations + 1; at++)
        for (size_t s = 0; s < SURVIVOR_COUNT; s++) {
            begin_disk(at * 17 + s);
            fault.fail_at = at;
            fault.fail_code = SQLITE_IOERR;
            (void)life_run(&w, SEED, false);
            fault_reboot(SURVIVORS[s]);
            uint64_t most = world_most_answered(&w);
            tc_run_end end = world_is_done(&w) ? TC_RUN_DONE : life_run(&w, SEED + 1, false);
            if (end == TC_RUN_ROLLED_BACK) {
                assert_int_equal(world_most_answered(&w), most);
                behind++;
                end = life_run(&w, SEED + 2, true);
                over += end == TC_RUN_STOPPED;
            }
            if (end != TC_RUN_STOPPED)
                recover(SEED + 3, 1);
        }
    assert_true(behind > 0 && over < behind);
    planned_end(&w.p);
}

static int forget_disk(void **state) {
    (void)state;
    fault_format(0);
    return 0;
}

int main(void) {
    fault_register();
#define FAULTY(test) cmocka_unit_test_teardown(test, forget_disk)
    const struct CMUnitTest tests[] = {
        FAULTY(after_any_loss_of_power_a_run_ends_with_the_same_bits),
        FAULTY(after_any_loss_of_power_no_round_has_two_answers_though_noise_is_new),
        FAULTY(answers_that_leave_without_a_sync_are_noticed_after_a_loss_of_power),
        FAULTY(answers_that_were_not_had_or_are_forgotten_are_sent_again_as_they_were),
        FAULTY(where_the_disk_fails_nothing_of_that_round_leaves),
        FAULTY(with_process_durability_a_journal_that_is_behind_is_not_gone_on_from_unasked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
