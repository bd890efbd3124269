/* A cloud that answers at ticks. Here a tick is a day, and comes when the test says so: nothing depends on time. */
/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
#include "serve/everybody.h"

#include "serve/pages/pages.h"

static const double DAY = 86400;

static void say(size_t from, size_t to, uint64_t round) {
    for (size_t i = from; i < to; i++)
        client_say_state(&d, &agents[i], i, 0, round, (int64_t)(round + i));
    for (int i = 0; i < 20; i++)
        desk_turn(&d);
}

static void hear_all(uint64_t round) {
    for (size_t i = 0; i < DESK_AGENTS; i++)
        (void)client_expect_answer(&d, &agents[i], i, 0, round, NULL);
}

static void expect_silence(void) {
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_expect_silence(&d, &agents[i]);
}

static void tick(void) { tc_ticks_come(d.rounds); }

/* What a reader of the pages sees. */
static const char *pages(void) {
    tc_buffer text = tc_buffer_new(d.arena, 1 << 20);
    tc_status_json(&text, &d.figures, 0);
    tc_metrics_text(&text, &d.figures);
    return tc_buffer_text(&text);
}

static void a_complete_round_shows_nowhere_before_its_tick(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.tick = DAY});
    join_all(0);
    for (uint64_t k = 1; k <= 3; k++) {
        say(0, DESK_AGENTS - 1, k);
        const char *before = pages();
        say(DESK_AGENTS - 1, DESK_AGENTS, k);
        assert_int_equal(d.rounds->missing, 0);
        expect_silence();
        assert_string_equal(pages(), before);
        assert_int_equal(tc_cloud_half_rounds(d.half), k - 1);
        tick();
        hear_all(k);
        assert_int_equal(d.figures.round, k);
        assert_int_equal(tc_cloud_half_rounds(d.half), k);
    }
    leave_all();
}

static void a_round_that_is_not_complete_at_a_tick_is_answered_at_a_later_one(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.tick = DAY});
    join_all(0);
    say(0, 3, 1);
    tick();
    tick();
    expect_silence();
    say(3, DESK_AGENTS, 1);
    expect_silence();
    tick();
    hear_all(1);
    tick(); /* nothing of round 2 is there */
    expect_silence();
    leave_all();
}

/* The deadline decides who is held, the tick when that is answered; who comes in between is not held. */
static void late_agents_are_held_at_the_tick_after_the_deadline(void **state) {
    (void)state;
    tc_late_policy policy = {.holds = true, .deadline = 0.01, .most_holds = 2};
    desk_start(&d, (desk_wish){.tick = DAY, .late = policy});
    join_all(0);
    say(0, DESK_AGENTS, 1);
    tick();
    hear_all(1);
    say(0, 3, 2);
    for (double until = desk_now() + 300; d.rounds->missing > 0 && desk_now() < until;)
        desk_run(&d, 0.02);
    assert_int_equal(d.rounds->missing, 0);
    expect_silence();
    say(3, 4, 2); /* h[1] comes after its deadline, and before the tick */
    tick();
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_expect_flags(&d, &agents[i], 0, 2, i == 4 ? TC_ANSWER_HELD : 0);
    assert_int_equal(d.figures.held, 1);
    leave_all();
}

static void the_last_answer_and_the_end_come_at_a_tick(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.tick = DAY});
    join_all(0);
    for (uint64_t k = 1; k < DESK_ROUNDS; k++) {
        say(0, DESK_AGENTS, k);
        tick();
        hear_all(k);
    }
    say(0, DESK_AGENTS, DESK_ROUNDS);
    expect_silence();
    assert_int_equal(tc_journal_finished(d.journal), 0);
    tick();
    hear_all(DESK_ROUNDS);
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_expect_end(&d, &agents[i], TC_END_DONE);
    assert_false(event_pending(&d.rounds->tick, EV_TIMEOUT, NULL));
    tick(); /* one that was on its way */
    leave_all();
}

/* What was complete and not answered when the cloud died was not released: it is said again. */
static void a_cloud_that_dies_before_the_tick_goes_on(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.tick = DAY});
    join_all(0);
    say(0, DESK_AGENTS, 1);
    tick();
    hear_all(1);
    say(0, DESK_AGENTS, 2);
    leave_all();
    desk_start(&d, (desk_wish){.tick = DAY});
    join_all(1);
    expect_silence();
    say(0, DESK_AGENTS, 2);
    expect_silence();
    tick();
    hear_all(2);
    leave_all();
}

static void who_comes_back_before_the_tick_gets_the_answer_before(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.tick = DAY});
    join_all(0);
    say(0, DESK_AGENTS, 1);
    tick();
    hear_all(1);
    say(0, DESK_AGENTS, 2);
    client_close(&agents[2]);
    for (int i = 0; i < 20; i++)
        desk_turn(&d);
    client_join(&d, &agents[2], 2, 0); /* it has forgotten round 1 */
    (void)client_expect_answer(&d, &agents[2], 2, 0, 1, NULL);
    client_expect_silence(&d, &agents[2]);
    tick();
    hear_all(2);
    leave_all();
}

static void a_cloud_that_stops_answers_no_tick(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.tick = DAY});
    join_all(0);
    say(0, DESK_AGENTS, 1);
    tc_rounds_stop(d.rounds, 100);
    assert_false(event_pending(&d.rounds->tick, EV_TIMEOUT, NULL));
    tick();
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_expect_end(&d, &agents[i], TC_END_STOPPED);
    assert_int_equal(tc_cloud_half_rounds(d.half), 0);
    leave_all();
}

/* The clock's own ticks: they go on, and are whole multiples from the beginning, however late one is seen. */
static void ticks_are_at_fixed_times(void **state) {
    (void)state;
    assert_true(tc_tick_after(100, 0.5, 100) == 100.5);
    assert_true(tc_tick_after(100, 0.5, 100.4) == 100.5);
    assert_true(tc_tick_after(100, 0.5, 100.5) == 101);
    assert_true(tc_tick_after(100, 0.5, 107.2) == 107.5);
    for (int i = 0; i < 1000; i++) {
        double now = 100 + 0.001 * i * i, next = tc_tick_after(100, 0.3, now), whole = (next - 100) / 0.3;
        assert_true(next > now && next <= now + 0.3 + 1e-9);
        assert_true(fabs(whole - rint(whole)) < 1e-9);
    }
    desk_start(&d, (desk_wish){.tick = 0.02});
    join_all(0);
    for (uint64_t k = 1; k <= 4; k++) {
        say(0, DESK_AGENTS, k);
        hear_all(k); /* nobody has called tick */
    }
    leave_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_complete_round_shows_nowhere_before_its_tick, begin, end),
        cmocka_unit_test_setup_teardown(a_round_that_is_not_complete_at_a_tick_is_answered_at_a_later_one, begin, end),
        cmocka_unit_test_setup_teardown(late_agents_are_held_at_the_tick_after_the_deadline, begin, end),
        cmocka_unit_test_setup_teardown(the_last_answer_and_the_end_come_at_a_tick, begin, end),
        cmocka_unit_test_setup_teardown(a_cloud_that_dies_before_the_tick_goes_on, begin, end),
        cmocka_unit_test_setup_teardown(who_comes_back_before_the_tick_gets_the_answer_before, begin, end),
        cmocka_unit_test_setup_teardown(a_cloud_that_stops_answers_no_tick, begin, end),
        cmocka_unit_test_setup_teardown(ticks_are_at_fixed_times, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
