/* Claims of agents to have seen more than the journal: in a run that this process has begun itself, where nobody can
 * have seen more, and where a person has overruled them. */
/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
#include "serve/everybody.h"

static client other;

static void rounds_to(uint64_t from, uint64_t to) {
    for (uint64_t k = from; k <= to; k++) {
        for (size_t i = 0; i < DESK_AGENTS; i++)
            client_say_state(&d, &agents[i], i, 0, k, (int64_t)(k + i));
        for (size_t i = 0; i < DESK_AGENTS; i++)
            (void)client_expect_answer(&d, &agents[i], i, 0, k, NULL);
    }
}

static void say_claim(client *c, size_t agent, uint64_t answered, tc_epoch epoch) {
    client_open(&d, c);
    (void)client_greet(&d, c);
    tc_enrol enrol = enrol_of(agent, 0, answered);
    enrol.epoch = epoch;
    client_say_enrol(&d, c, &enrol);
}

static const struct {
    uint64_t answered, epoch; /* 0: none; 1: the number of the cloud's, with another id */
} LIES[] = {{5, 0}, {DESK_ROUNDS, 0}, {5, 99}, {0, 99}, {0, 1}};
enum { LIE_COUNT = sizeof LIES / sizeof LIES[0] };

static void say_lie(size_t i) {
    tc_epoch epoch = {.number = LIES[i].epoch == 1 ? d.epoch.number : LIES[i].epoch, .id = {LIES[i].epoch > 0}};
    say_claim(&other, 1, LIES[i].answered, epoch);
    client_expect_refusal(&d, &other, 0, TC_REFUSED_ROLLBACK);
}

/* Its id is new, so no agent has been told it before this process was there. */
static void a_run_that_this_process_began_refuses_who_claims_to_have_seen_more_and_goes_on(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    for (size_t i = 0; i < LIE_COUNT; i++) {
        say_lie(i);
        assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_GOES_ON);
        client_expect_silence(&d, &other); /* it is not enrolled */
        client_close(&other);
    }
    join_all(0);
    rounds_to(1, DESK_ROUNDS);
    leave_all();
}

/* What it began in is the journal of an earlier process, which may be an old copy of it, though it has no round. */
static void a_run_that_goes_on_stops_at_a_claim_even_before_its_first_round(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    desk_stop(&d);
    for (size_t i = 0; i < LIE_COUNT; i++) {
        desk_start(&d, (desk_wish){0});
        say_lie(i);
        assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_ROLLED_BACK);
        client_close(&other);
        desk_stop(&d);
    }
}

/* The refusal of the claim is also the end of the connection, and of what the cloud knows of it. */
static void a_claim_on_a_connection_that_was_refused_too_often_stops_the_cloud_too(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    desk_stop(&d);
    desk_start(&d, (desk_wish){0});
    client_open(&d, &other);
    (void)client_greet(&d, &other);
    tc_enrol enrol = enrol_of(1, 0, 0);
    enrol.name = "nobody";
    enrol.name_length = strlen(enrol.name);
    for (unsigned i = 0; i < 64; i++) {
        client_say_enrol(&d, &other, &enrol);
        client_expect_refusal(&d, &other, 0, TC_REFUSED_UNKNOWN);
    }
    enrol = enrol_of(1, 0, 5);
    client_say_enrol(&d, &other, &enrol);
    client_expect_refusal(&d, &other, TC_NO_SLOT, TC_REFUSED_ROLLBACK);
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_ROLLED_BACK);
    client_close(&other);
    desk_stop(&d);
}

static void a_claim_that_was_overruled_does_not_stop_the_cloud_and_others_do(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, 2);
    leave_all();
    const struct {
        uint64_t answered, epochs;
    } claims[] = {{5, 0}, {DESK_ROUNDS, 0}, {DESK_ROUNDS + 7, 0}, {2, 1000}, {DESK_ROUNDS + 7, 1000}};
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        desk_start(&d, (desk_wish){.disbelieved = "b"});
        tc_epoch epoch = {.number = claims[i].epochs};
        say_claim(&agents[1], 1, claims[i].answered, epoch);
        assert_int_equal(client_expect_enrolled(&d, &agents[1]).next, 3);
        assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_GOES_ON);
        say_claim(&other, 0, 5, (tc_epoch){0}); /* another's counts as ever */
        client_expect_refusal(&d, &other, 0, TC_REFUSED_ROLLBACK);
        assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_ROLLED_BACK);
        assert_string_equal(tc_rounds_rollback(d.rounds)->agent, "a");
        client_close(&agents[1]);
        client_close(&other);
        desk_stop(&d);
    }
    desk_start(&d, (desk_wish){.disbelieved = "b"});
    say_claim(&agents[1], 1, DESK_ROUNDS, (tc_epoch){0});
    assert_int_equal(client_expect_enrolled(&d, &agents[1]).next, 3);
    for (size_t i = 0; i < DESK_AGENTS; i++)
        if (i != 1)
            client_join(&d, &agents[i], i, 2);
    rounds_to(3, DESK_ROUNDS);
    leave_all();
}

static void after_a_restore_an_overruled_claim_skips_no_round(void **state) {
    (void)state;
    static const uint64_t seen[DESK_AGENTS] = {4, DESK_ROUNDS, 3, 4, 2};
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, 3);
    leave_all();
    desk_start(&d, (desk_wish){.after_restore = true, .disbelieved = "b"});
    for (size_t i = 0; i < DESK_AGENTS; i++)
        say_claim(&agents[i], i, seen[i], i == 1 ? (tc_epoch){.number = UINT64_MAX} : (tc_epoch){0});
    DESK_UNTIL(&d, tc_rounds_is_surveyed(d.rounds))
    desk_make_half(&d);
    assert_int_equal(tc_rounds_begin(d.rounds, d.half), TC_OK);
    for (size_t i = 0; i < DESK_AGENTS; i++) {
        assert_int_equal(client_expect_enrolled(&d, &agents[i]).next, 6); /* 4 was seen, 5 may have been */
        client_expect_note(&d, &agents[i], 0, 5, TC_NOTE_LOST);
    }
    rounds_to(6, DESK_ROUNDS);
    leave_all();
}

static void only_agents_of_the_file_can_be_disbelieved(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    assert_true(tc_rounds_disbelieve(d.rounds, "h[2]"));
    assert_false(tc_rounds_disbelieve(d.rounds, "h[3]"));
    assert_false(tc_rounds_disbelieve(d.rounds, ""));
    desk_stop(&d);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(a_run_that_this_process_began_refuses_who_claims_to_have_seen_more_and_goes_on),
        T(a_run_that_goes_on_stops_at_a_claim_even_before_its_first_round),
        T(a_claim_on_a_connection_that_was_refused_too_often_stops_the_cloud_too),
        T(a_claim_that_was_overruled_does_not_stop_the_cloud_and_others_do),
        T(after_a_restore_an_overruled_claim_skips_no_round),
        T(only_agents_of_the_file_can_be_disbelieved),
    };
    return cmocka_run_group_tests_name("serve/claims", tests, NULL, NULL);
}
