/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
/* The agents' side against a cloud that follows a script: what is said, what is not, and when it is over. */
#include "net/fake_cloud.h"

#include "net/agent/link.h"
#include "net/agent/slot.h"
#include "support/random.h"

#include <dirent.h>
#include <openssl/err.h>

static void a_whole_run(bool tls, bool in_pieces) {
    fake f;
    fake_begin(&f, tls, 1);
    f.in_pieces = in_pieces;
    assert_int_equal(fake_open(&f), TC_OK);
    assert_int_equal(tc_agent_descriptor(f.agent), -1);
    fake_greet(&f);
    tc_enrol enrol = fake_expect_enrol(&f, 0, 0);
    assert_int_equal(enrol.slater, TC_SLATER_YES);
    assert_int_equal(enrol.epoch.number, 0);
    assert_memory_equal(enrol.name, "a1", 2);
    fake_enrolled(&f, 0, 1);
    fake_expect_state(&f, 0, 1);
    assert_int_equal(f.moved, 1);
    finish_run(&f, 1);
    assert_int_equal(f.moved, FAKE_ROUNDS + 1);
    assert_int_equal(tc_agent_descriptor(f.agent), -1);
    fake_end(&f);
}

static void a_run_from_hello_to_its_end(void **state) {
    (void)state;
    a_whole_run(false, false);
}

static void the_same_over_tls(void **state) {
    (void)state;
    a_whole_run(true, false);
}

static void the_same_in_one_byte_pieces(void **state) {
    (void)state;
    a_whole_run(false, true);
    a_whole_run(true, true);
}

static void an_answer_that_comes_again_is_ignored(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, false);
    fake_rounds(&f, 1, 2);
    fake_answer(&f, 0, 2);
    fake_answer(&f, 0, 1);
    fake_expect_silence(&f);
    finish_run(&f, 3);
    fake_end(&f);
}

/* ---- Connections that are lost ---- */

static void a_lost_connection_is_made_again_and_the_run_goes_on(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, true);
    fake_rounds(&f, 1, 2);
    fake_hang_up(&f); /* state 3 was sent, and is lost */
    fake_greet(&f);
    tc_enrol enrol = fake_expect_enrol(&f, 0, 2);
    assert_int_equal(enrol.epoch.number, 1);
    fake_enrolled(&f, 0, 3);
    fake_expect_state(&f, 0, 3);
    fake_hang_up(&f); /* the cloud had it, and its answer was lost */
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 2);
    fake_enrolled(&f, 0, 4);
    fake_expect_silence(&f);
    finish_run(&f, 3);
    fake_end(&f);
}

/* OpenSSL keeps one list of errors for a thread, and the agent may share its thread with others. */
static void errors_of_others_do_not_end_a_connection(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, true);
    fake_rounds(&f, 1, 2);
    ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
    fake_expect_silence(&f);
    assert_int_equal(tc_agent_how(f.agent), TC_AGENT_RUNNING);
    finish_run(&f, 3);
    fake_end(&f);
}

static void a_killed_agent_goes_on_where_it_was(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, false);
    for (uint64_t round = 1; round < FAKE_ROUNDS; round++) {
        fake_rounds(&f, round, round);
        fake_kill(&f);
        fake_hang_up(&f);
        assert_int_equal(fake_open(&f), TC_OK);
        fake_greet(&f);
        (void)fake_expect_enrol(&f, 0, round);
        fake_enrolled(&f, 0, round + 1);
        fake_expect_state(&f, 0, round + 1); /* the same bytes again */
    }
    finish_run(&f, FAKE_ROUNDS);
    fake_kill(&f);
    assert_int_equal(fake_open(&f), TC_OK); /* over is over, without any cloud */
    assert_int_equal(tc_agent_how(f.agent), TC_AGENT_DONE);
    expect_done(&f);
    fake_end(&f);
}

static void whoever_has_all_answers_needs_no_end(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, false);
    fake_rounds(&f, 1, FAKE_ROUNDS);
    fake_expect_silence(&f);
    fake_hang_up(&f);
    expect_done(&f);
    fake_end(&f);
}

static void a_cloud_that_takes_connections_and_says_nothing_is_left(void **state) {
    (void)state;
    for (int tls = 0; tls < 2; tls++) {
        fake f;
        fake_begin(&f, tls == 1, 1);
        f.settings.open_milliseconds = 30;
        assert_int_equal(fake_open(&f), TC_OK);
        FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
        assert_non_null(strstr(tc_agent_message(f.agent), tls ? "in time" : "does not answer"));
        fake_end(&f);
    }
}

/* ---- Clouds that were restored, copied or exchanged ---- */

static void expect_refused(fake *f, const char *text) {
    FAKE_UNTIL(f, tc_agent_is_over(tc_agent_how(f->agent)))
    assert_string_equal(tc_agent_condition_name(tc_agent_how(f->agent)), "refused");
    if (strstr(tc_agent_message(f->agent), text) == NULL)
        print_message("%s\n", tc_agent_message(f->agent));
    assert_non_null(strstr(tc_agent_message(f->agent), text));
}

static void reconnect(fake *f) {
    fake_hang_up(f);
    fake_greet(f);
}

static void a_cloud_of_an_earlier_epoch_gets_no_state(void **state) {
    (void)state;
    for (int copy = 0; copy < 2; copy++) {
        fake f;
        fake_begin(&f, false, 1);
        f.epoch.number = 5;
        assert_int_equal(fake_open(&f), TC_OK);
        fake_greet(&f);
        (void)fake_expect_enrol(&f, 0, 0);
        fake_enrolled(&f, 0, 1);
        fake_expect_state(&f, 0, 1);
        fake_rounds(&f, 1, 1);
        if (copy)
            f.epoch.id[3] ^= 1; /* another start with the same number */
        else
            f.epoch.number = 4;
        reconnect(&f);
        tc_enrol enrol = fake_expect_enrol(&f, 0, 1); /* it is told what this agent has seen */
        assert_int_equal(enrol.epoch.number, 5);
        fake_enrolled(&f, 0, 2);
        expect_refused(&f, "if it is a copy, stop the copy; if it was restored");
        assert_non_null(strstr(tc_agent_message(f.agent), "--after-restore"));
        assert_int_equal(fake_receive(&f, TC_MESSAGE_LEAVE).slot, 0);
        fake_end(&f);
    }
}

static void after_a_restoration_a_later_epoch_is_served(void **state) {
    (void)state;
    fake f;
    fake_begin(&f, false, 1);
    f.epoch.number = 5;
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_enrolled(&f, 0, 1);
    fake_expect_state(&f, 0, 1);
    f.epoch.number = 3; /* restored; it hears of epoch 5 and comes back with a sixth */
    reconnect(&f);
    assert_int_equal(fake_expect_enrol(&f, 0, 0).epoch.number, 5);
    fake_say_end(&f, 0, TC_END_STOPPED);
    f.epoch.number = 6;
    reconnect(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_enrolled(&f, 0, 1);
    fake_expect_state(&f, 0, 1);
    fake_end(&f);
}

static void a_cloud_that_asks_for_an_answered_round_gets_no_state(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, false);
    fake_rounds(&f, 1, 3);
    f.epoch.number = 2;
    reconnect(&f);
    (void)fake_expect_enrol(&f, 0, 3);
    fake_enrolled(&f, 0, 3);
    expect_refused(&f, "asks agent a1 for state 3");
    fake_end(&f);
}

static void another_run_is_refused_unless_it_is_wished(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, false);
    fake_rounds(&f, 1, 3);
    f.run = 0x77;
    reconnect(&f);
    expect_refused(&f, "--new-run");
    fake_kill(&f);
    fake_hang_up(&f);
    f.settings.new_run = true;
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    assert_int_equal(fake_expect_enrol(&f, 0, 0).epoch.number, 0);
    fake_enrolled(&f, 0, 1);
    fake_expect_state(&f, 0, 1);
    fake_rounds(&f, 1, 2);
    reconnect(&f); /* the wish does not begin a run anew that is going on */
    (void)fake_expect_enrol(&f, 0, 2);
    fake_enrolled(&f, 0, 3);
    fake_expect_state(&f, 0, 3);
    f.run = 0x78; /* and is for one run: a third is another wish */
    reconnect(&f);
    expect_refused(&f, "--new-run");
    fake_kill(&f);
    fake_hang_up(&f);
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_end(&f);
}

/* The plan that was agreed on is told before the first state leaves: another gets none. */
static void another_plan_than_the_agreed_one_gets_no_state(void **state) {
    (void)state;
    unsigned char agreed[TC_HASH];
    fake f;
    fake_begin(&f, false, 1);
    memset(agreed, f.run + 1, sizeof agreed);
    f.settings.plan = agreed;
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_enrolled(&f, 0, 1);
    fake_expect_state(&f, 0, 1);
    fake_rounds(&f, 1, 2);
    fake_kill(&f);
    fake_hang_up(&f);
    agreed[TC_HASH - 1] ^= 1;
    f.settings.new_run = true;
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    expect_refused(&f, "is not the one that agent a1 agreed to: its hash is ");
    fake_kill(&f);
    f.settings.new_run = false; /* what it remembers is of another plan */
    assert_int_equal(fake_open(&f), TC_BAD_USAGE);
    fake_end(&f);
}

/* ---- Refusals and ends ---- */

static void refusals_are_final_or_not_as_the_protocol_says(void **state) {
    (void)state;
    for (unsigned code = 1; code <= 16; code++) /* 16: of a later version */
        for (int whole = 0; whole < 2; whole++) {
            fake f;
            fake_begin_enrolled(&f, false);
            fake_refuse(&f, whole ? TC_NO_SLOT : 0, code);
            FAKE_UNTIL(&f, tc_agent_how(f.agent) != TC_AGENT_RUNNING)
            bool over = tc_agent_is_over(tc_agent_how(f.agent));
            bool expected = !tc_refusal_may_retry(code) && code != TC_REFUSED_REPLACED;
            assert_int_equal(over, expected);
            if (over)
                assert_int_equal(tc_agent_how(f.agent),
                                 code == TC_REFUSED_SLATER ? TC_AGENT_NO_SLATER : TC_AGENT_REFUSED);
            if (code == TC_REFUSED_OVER) /* what the cloud says: the run may have been given up */
                assert_non_null(strstr(tc_agent_message(f.agent), ": so"));
            assert_non_null(strstr(tc_agent_message(f.agent), "refused"));
            fake_end(&f);
        }
}

static void a_newcomer_that_comes_too_soon_tries_again(void **state) {
    (void)state;
    fake f;
    fake_begin(&f, false, 1);
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_refuse(&f, 0, TC_REFUSED_REPLACED);
    reconnect(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_end(&f);
}

static void ends_are_done_diverged_or_a_pause(void **state) {
    (void)state;
    for (int reason = 1; reason <= 3; reason++) {
        fake f;
        fake_begin_enrolled(&f, false);
        fake_rounds(&f, 1, 2);
        fake_say_end(&f, 2, reason == 1 ? TC_END_DONE : reason == 2 ? TC_END_STOPPED : TC_END_DIVERGED);
        FAKE_UNTIL(&f, tc_agent_how(f.agent) != TC_AGENT_RUNNING)
        if (reason == 1) { /* done without this agent */
            expect_refused(&f, "only up to round 2");
        } else if (reason == 2) {
            assert_int_equal(tc_agent_how(f.agent), TC_AGENT_PAUSING);
            assert_non_null(strstr(tc_agent_message(f.agent), "may come back"));
            reconnect(&f);
            (void)fake_expect_enrol(&f, 0, 2);
        } else {
            assert_int_equal(tc_agent_how(f.agent), TC_AGENT_DIVERGED);
        }
        fake_end(&f);
    }
}

static void a_step_that_fails_is_the_agents_end_and_the_cloud_is_told(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, false);
    f.steps_fail = true;
    fake_answer(&f, 0, 1);
    assert_int_equal(fake_receive(&f, TC_MESSAGE_LEAVE).slot, 0);
    assert_int_equal(tc_agent_how(f.agent), TC_AGENT_DIVERGED);
    assert_int_equal(tc_agent_look(f.agent, 0).answered, 0);
    assert_non_null(strstr(tc_agent_message(f.agent), "a function of agent a1 failed in round 1"));
    assert_int_equal(tc_agent_lost(f.agent), 1);
    fake_end(&f);
}

static void rounds_that_passed_without_the_agent_count_with_its_last_state(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, false);
    fake_answer_flagged(&f, 0, 3, TC_ANSWER_CLAMPED | TC_ANSWER_HELD | 0x8000); /* of rounds 1 and 2 no answer came */
    tc_frame frame = fake_receive(&f, TC_MESSAGE_STATE);
    assert_int_equal(frame.round, 4);
    tc_agent_view view = tc_agent_look(f.agent, 0);
    assert_int_equal(view.clamped, 1);
    assert_int_equal(tc_agent_oddities(f.agent), 1); /* once for an agent, which the next state shows */
    assert_int_equal(view.held, 1);
    assert_int_equal(view.answered, 3);
    assert_true(view.result[0] == 1 && view.result[1] == 2); /* x(1), three times */
    assert_true(view.x[0] == 1 - 0.25 * (3 + 0.5));
    assert_int_equal(view.first_round, 1);
    fake_answer_flagged(&f, 0, 4, TC_ANSWER_CLAMPED);
    (void)fake_receive(&f, TC_MESSAGE_STATE);
    assert_int_equal(tc_agent_oddities(f.agent), 1);
    fake_end(&f);
}

/* As the cloud weighs them: a state that came too late for its round was not in it, the last one that came was. */
static void a_round_that_was_held_counts_with_the_state_that_the_cloud_had(void **state) {
    (void)state;
    static const struct {
        unsigned flags;
        uint64_t used; /* the round whose state the cloud had */
    } rounds[FAKE_ROUNDS] = {{0, 1}, {TC_ANSWER_HELD, 1}, {0, 3}, {TC_ANSWER_HELD, 3}, {TC_ANSWER_HELD, 3}};
    double expected[FAKE_STATES] = {0, 0}, x[FAKE_STATES], unheld[FAKE_STATES];
    fake f;
    fake_begin_enrolled(&f, false);
    for (uint64_t k = 1; k <= FAKE_ROUNDS; k++) {
        fake_state_of(rounds[k - 1].used, x, unheld);
        for (size_t i = 0; i < FAKE_STATES; i++)
            expected[i] += 3 / ((double)k + 2) * (x[i] - expected[i]);
        fake_answer_flagged(&f, 0, k, rounds[k - 1].flags);
        if (k < FAKE_ROUNDS)
            fake_expect_state(&f, 0, k + 1); /* x goes on from the state that was said, held or not */
        else
            FAKE_UNTIL(&f, tc_agent_look(f.agent, 0).answered == k)
        for (size_t i = 0; i < FAKE_STATES; i++)
            assert_true(tc_agent_look(f.agent, 0).result[i] == expected[i]);
    }
    assert_int_equal(tc_agent_look(f.agent, 0).held, 3);
    fake_end(&f);
}

/* ---- the move ---- */

static void send_move(fake *f, double t, double regularization, double first) {
    unsigned char bytes[TC_FRAME_HEADER + 16 + 8 * FAKE_STATES];
    tc_answer answer = {.round = FAKE_ROUNDS, .step = t, .regularization = regularization, .states = FAKE_STATES};
    const double p[FAKE_STATES] = {first, -8};
    tc_answer_encode(&answer, p, bytes);
    fake_send(f, bytes, sizeof bytes);
}

static void begin_moved(fake *f) {
    fake_begin(f, false, 1);
    f->method = TC_WIRE_MOVED;
    assert_int_equal(fake_open(f), TC_OK);
    fake_greet(f);
    (void)fake_expect_enrol(f, 0, 0);
    fake_enrolled(f, 0, 1);
    fake_expect_state(f, 0, 1);
    fake_rounds(f, 1, FAKE_ROUNDS - 1);
}

static void the_last_answer_may_be_a_move(void **state) {
    (void)state;
    static const double moves[] = {0, 0.375, 1};
    for (size_t i = 0; i < 3; i++) {
        double x[FAKE_STATES], average[FAKE_STATES], t = moves[i];
        fake f;
        begin_moved(&f);
        send_move(&f, t, 0, 4);
        FAKE_UNTIL(&f, tc_agent_look(f.agent, 0).answered == FAKE_ROUNDS)
        fake_state_of(FAKE_ROUNDS + 1, x, average);
        for (size_t again = 0; again < 2; again++) { /* then from its state file */
            tc_agent_view view = tc_agent_look(f.agent, 0);
            for (size_t c = 0; c < FAKE_STATES; c++) {
                double p = c == 0 ? 4 : -8, moved = t < 1 ? average[c] + t * (p - average[c]) : p;
                assert_true(view.result[c] == moved && view.x[c] == moved);
            }
            tc_arena_free(f.arena);
            assert_int_equal(fake_open(&f), TC_OK);
            FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_DONE)
        }
        fake_end(&f);
    }
}

static void a_move_that_is_none_is_refused(void **state) {
    (void)state;
    static const double wrong[][2] = {{-0.1, 0}, {1.1, 0}, {0.5, 0.1}};
    fake f;
    for (size_t i = 0; i < 3; i++) {
        begin_moved(&f);
        send_move(&f, wrong[i][0], wrong[i][1], 4);
        FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
        assert_non_null(strstr(tc_agent_message(f.agent), "out of range"));
        fake_end(&f);
    }
    begin_moved(&f);
    send_move(&f, 0.5, 0, 5); /* not its Slater point */
    FAKE_UNTIL(&f, tc_agent_is_over(tc_agent_how(f.agent)))
    assert_int_equal(tc_agent_how(f.agent), TC_AGENT_NO_SLATER);
    assert_int_equal(tc_agent_look(f.agent, 0).answered, FAKE_ROUNDS - 1);
    fake_end(&f);
    fake_begin(&f, false, 1); /* version 1 knows no such method */
    f.method = TC_WIRE_MOVED;
    f.version = 1;
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_enrolled(&f, 0, 1);
    FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
    assert_non_null(strstr(tc_agent_message(f.agent), "method"));
    fake_end(&f);
}

/* 0.55 / 2^-20 = 576716.8 and 0.1 / 2^-20 = 104857.6: the nearest lattice points lie outside of this box. */
static void what_is_said_lies_within_the_public_box(void **state) {
    (void)state;
    static const double lower[FAKE_STATES] = {0, 2 + 0.1}, upper[FAKE_STATES] = {0.55, 4};
    int64_t units[FAKE_STATES];
    fake f;
    fake_begin(&f, false, 1);
    f.steps[0].lower = lower;
    f.steps[0].upper = upper;
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_enrolled(&f, 0, 1);
    tc_frame frame = fake_receive(&f, TC_MESSAGE_STATE); /* of (1, 2) */
    assert_int_equal(tc_state_decode(&frame, FAKE_STATES, units), TC_NOT_REFUSED);
    assert_int_equal(units[0], 576716);
    assert_int_equal(units[1], (2 << 20) + 104858);
    assert_true(tc_agent_look(f.agent, 0).x[0] == 0.55); /* x is the nearest point of the box, and not on the lattice */
    fake_end(&f);
}

static void no_state_stays_where_it_went_out(void **state) {
    (void)state;
    static const unsigned char zeros[1 << 16];
    fake f;
    fake_begin_enrolled(&f, false);
    fake_rounds(&f, 1, 2);
    const tc_agent_link *link = f.agent->link;
    assert_true(link->settings.most_out < sizeof zeros);
    assert_memory_equal(link->out, zeros, link->settings.most_out);
    assert_memory_equal(f.agent->units, zeros, FAKE_STATES * sizeof *f.agent->units);
    assert_memory_equal(f.agent->next, zeros, FAKE_STATES * sizeof(double));
    assert_memory_equal(f.agent->next_average, zeros, FAKE_STATES * sizeof(double));
    fake_end(&f);
}

static void leaving_is_said(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, true);
    tc_agent_leave(f.agent);
    fake_kill(&f);
    size_t wanted;
    tc_frame frame;
    fake_drop_taken(&f);
    (void)fake_read(&f);
    assert_int_equal(tc_frame_cut(f.in, f.in_size, FAKE_ROOM, &frame, &f.in_taken, &wanted), TC_CUT_FRAME);
    assert_int_equal(frame.type, TC_MESSAGE_LEAVE);
    fake_end(&f);
}

/* ---- Gateways ---- */

static void several_agents_on_one_connection(void **state) {
    (void)state;
    fake f;
    fake_begin(&f, false, 3);
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    for (uint32_t slot = 0; slot < 3; slot++)
        (void)fake_expect_enrol(&f, slot, 0);
    fake_refuse(&f, 1, TC_REFUSED_UNKNOWN); /* the others go on */
    for (uint32_t slot = 3; slot-- > 0;)
        if (slot != 1) {
            fake_enrolled(&f, slot, 1);
            fake_expect_state(&f, slot, 1);
        }
    for (uint64_t round = 1; round <= FAKE_ROUNDS; round++)
        for (uint32_t slot = 0; slot < 3; slot += 2) {
            fake_answer(&f, slot, round);
            if (round < FAKE_ROUNDS)
                fake_expect_state(&f, slot, round + 1);
        }
    fake_say_end(&f, FAKE_ROUNDS, TC_END_DONE);
    FAKE_UNTIL(&f, tc_agent_is_over(tc_agent_how(f.agent)))
    assert_int_equal(tc_agent_how(f.agent), TC_AGENT_REFUSED); /* as who fared worst */
    assert_int_equal(tc_agent_look(f.agent, 0).how, TC_AGENT_DONE);
    assert_int_equal(tc_agent_look(f.agent, 1).how, TC_AGENT_REFUSED);
    assert_int_equal(tc_agent_look(f.agent, 2).how, TC_AGENT_DONE);
    assert_non_null(strstr(tc_agent_look(f.agent, 1).message, "tacit split"));
    fake_end(&f);
}

/* ---- Nonsense from the cloud ---- */

static void frames_out_of_turn_or_range_end_the_connection_and_nothing_else(void **state) {
    (void)state;
    enum { KINDS = 9 };
    for (int kind = 0; kind < KINDS; kind++) {
        fake f;
        unsigned char bytes[128] = {0};
        static const double nonsense[FAKE_STATES] = {0};
        fake_begin_enrolled(&f, false);
        tc_answer answer = {.slot = 0, .round = 1, .step = 1, .regularization = 0, .states = FAKE_STATES};
        size_t size = tc_answer_size(FAKE_STATES);
        switch (kind) {
        case 0:
            memset(bytes, 0xee, sizeof bytes);
            size = sizeof bytes;
            break;
        case 1:
            (void)tc_frame_begin(bytes, 99, TC_NO_SLOT, 0, TC_FRAME_HEADER);
            size = TC_FRAME_HEADER;
            break;
        case 2:
            answer.slot = 7;
            tc_answer_encode(&answer, nonsense, bytes);
            break;
        case 3:
            answer.round = FAKE_ROUNDS + 1;
            tc_answer_encode(&answer, nonsense, bytes);
            break;
        case 4:
            answer.step = -1;
            tc_answer_encode(&answer, nonsense, bytes);
            break;
        case 5:
            answer.states = 1;
            tc_answer_encode(&answer, nonsense, bytes);
            size = tc_answer_size(1);
            break;
        case 6:
            (void)tc_frame_begin(bytes, TC_MESSAGE_STATE, 0, 2, TC_FRAME_HEADER + 16); /* an agent's word */
            size = TC_FRAME_HEADER + 16;
            break;
        case 7:
            tc_put_u32(bytes, 1 << 24);
            size = TC_FRAME_HEADER;
            break;
        default: /* a second enrolment */
            tc_enrolled_encode(
                &(tc_enrolled){
                    .slot = 0, .next = 1, .states = FAKE_STATES, .method = TC_WIRE_TACIT, .rounds = FAKE_ROUNDS},
                bytes);
            size = TC_FRAME_HEADER + 24;
        }
        fake_send(&f, bytes, size);
        FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
        assert_non_null(strstr(tc_agent_message(f.agent), "broke the protocol"));
        reconnect(&f);
        (void)fake_expect_enrol(&f, 0, 0);
        fake_enrolled(&f, 0, 1);
        fake_expect_state(&f, 0, 1);
        fake_end(&f);
    }
}

static void any_bytes_from_the_cloud_are_survived(void **state) {
    (void)state;
    uint64_t seed = 3;
    fake f;
    fake_begin(&f, false, 1);
    assert_int_equal(fake_open(&f), TC_OK);
    for (int i = 0; i < 60; i++) {
        unsigned char bytes[200] = {0};
        fake_accept(&f);
        (void)fake_receive(&f, TC_MESSAGE_HELLO);
        if (i % 2 == 0)
            fake_welcome(&f);
        for (size_t at = 0; at < sizeof bytes; at++)
            bytes[at] = (unsigned char)random_word(&seed);
        if (i % 3 == 0) { /* a header that passes */
            static const unsigned char types[] = {17, 18, 19, 20, 21, 22};
            (void)tc_frame_begin(bytes, types[i / 3 % 6], i % 2 == 0 ? 0 : TC_NO_SLOT, (uint64_t)i % 7, 24 + 40);
        }
        (void)send(f.connection, bytes, sizeof bytes, MSG_NOSIGNAL);
        FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
        fake_hang_up(&f);
    }
    fake_end(&f);
}

static void a_cloud_that_is_not_the_authoritys_gets_not_a_word(void **state) {
    (void)state;
    fake f, stranger;
    fake_begin(&f, true, 1);
    fake_begin(&stranger, true, 1);
    SSL_CTX *own = f.tls;
    f.tls = stranger.tls; /* answers with a certificate of another authority */
    assert_int_equal(fake_open(&f), TC_OK);
    FAKE_UNTIL(&f, (f.connection = accept(f.listener, NULL, NULL)) >= 0)
    assert_int_equal(fcntl(f.connection, F_SETFL, O_NONBLOCK), 0);
    f.ssl = tc_tls_accept(f.tls, f.connection);
    while (tc_agent_how(f.agent) != TC_AGENT_PAUSING) {
        (void)SSL_do_handshake(f.ssl);
        fake_turn(&f);
    }
    assert_non_null(strstr(tc_agent_message(f.agent), "of another authority than"));
    assert_non_null(strstr(tc_agent_message(f.agent), "a1/authority.pem"));
    f.tls = own;
    stranger.arena = NULL;
    fake_end(&f);
    fake_end(&stranger);
}

static void plain_text_goes_to_loopback_alone(void **state) {
    (void)state;
    fake f;
    fake_begin(&f, false, 1);
    f.settings.cloud = "192.0.2.1:9"; /* an address for documentation: nothing is sent */
    assert_int_equal(fake_open(&f), TC_OK);
    FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
    assert_non_null(strstr(tc_agent_message(f.agent), "loopback"));
    fake_end(&f);
}

static void what_is_wrong_is_said_before_anything_is_sent(void **state) {
    (void)state;
    static const char *const addresses[] = {"nowhere", "host:", ":1", "::1:7575", "[::1]", "host:x", "host:123456", ""};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        fake f;
        fake_begin(&f, false, 1);
        f.settings.cloud = addresses[i];
        assert_int_equal(fake_open(&f), TC_BAD_USAGE);
        assert_non_null(strstr(tc_buffer_text(&f.messages), "HOST:PORT"));
        fake_end(&f);
    }
    fake f;
    fake_begin(&f, false, 2);
    f.steps[1].name = "a1";
    assert_int_equal(fake_open(&f), TC_BAD_USAGE);
    assert_non_null(strstr(tc_buffer_text(&f.messages), "twice"));
    fake_end(&f);
    fake_begin(&f, true, 1);
    f.settings.keys = "/nonexistent";
    assert_int_equal(fake_open(&f), TC_CANNOT_READ);
    fake_end(&f);
}

/* ---- Memory that is out ---- */

static long countdown = -1; /* OpenSSL's allocations in the agent's turn that still succeed; -1: all */
static bool in_turn, has_failed;

static bool fails(void) {
    if (!in_turn || countdown < 0)
        return false;
    if (countdown-- > 0)
        return false;
    has_failed = true;
    return true; /* once */
}

static void *failing_malloc(size_t size, const char *file, int line) {
    (void)file;
    (void)line;
    return fails() ? NULL : malloc(size);
}

static void *failing_realloc(void *old, size_t size, const char *file, int line) {
    (void)file;
    (void)line;
    return fails() ? NULL : realloc(old, size);
}

static void plain_free(void *memory, const char *file, int line) {
    (void)file;
    (void)line;
    free(memory);
}

static int turn_begins(fake *f) {
    (void)f;
    in_turn = true;
    return 0;
}

static int turn_ends(fake *f) {
    (void)f;
    in_turn = false;
    return 0;
}

/* The cloud without a script: it serves whoever comes until the run is done. */
static void serve_until_done(fake *f) {
    uint64_t answered = 0;
    double end = fake_now() + 300;
    while (!tc_agent_is_over(tc_agent_how(f->agent))) {
        tc_frame frame;
        size_t wanted;
        assert_true(fake_now() < end);
        fake_turn(f);
        int arrived = accept(f->listener, NULL, NULL);
        if (arrived >= 0) {
            fake_hang_up(f);
            f->connection = arrived;
            assert_int_equal(fcntl(arrived, F_SETFL, O_NONBLOCK), 0);
            f->ssl = tc_tls_accept(f->tls, arrived);
        }
        if (f->ssl == NULL || SSL_do_handshake(f->ssl) != 1)
            continue;
        fake_drop_taken(f);
        (void)fake_read(f);
        if (tc_frame_cut(f->in, f->in_size, FAKE_ROOM, &frame, &f->in_taken, &wanted) != TC_CUT_FRAME)
            continue;
        if (frame.type == TC_MESSAGE_HELLO)
            fake_welcome(f);
        if (frame.type == TC_MESSAGE_ENROL) {
            fake_enrolled(f, 0, answered + 1);
            if (frame.round < answered)
                fake_answer(f, 0, answered);
        }
        if (frame.type == TC_MESSAGE_STATE) {
            answered = frame.round;
            fake_answer(f, 0, answered);
        }
        if (answered == FAKE_ROUNDS && f->ssl != NULL)
            fake_say_end(f, answered, TC_END_DONE);
    }
}

static void an_allocation_that_fails_costs_a_connection_or_ends_with_a_message(void **state) {
    (void)state;
    unsigned done = 0, over = 0;
    fake f;
    fake_begin(&f, true, 1);
    f.before = turn_begins;
    f.after = turn_ends;
    for (long n = 0; n < 4000; n += n < 12 ? 1 : 5 + n / 4) {
        f.settings.state = tc_arena_format(f.k.arena, "%s/state%ld", f.k.folder, n);
        assert_int_equal(fake_open(&f), TC_OK);
        countdown = n;
        has_failed = false;
        serve_until_done(&f);
        if (tc_agent_how(f.agent) == TC_AGENT_DONE) {
            expect_done(&f);
            done++;
        } else {
            assert_int_equal(tc_agent_how(f.agent), TC_AGENT_FAILED); /* the state file could not be written */
            assert_true(strlen(tc_agent_message(f.agent)) > 0);
            over++;
        }
        countdown = -1;
        fake_kill(&f);
        fake_hang_up(&f);
    }
    assert_true(done > over);
    fake_end(&f);
}

static size_t open_descriptors(void) {
    size_t count = 0;
    for (int i = 0; i < 256; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static tc_status open_within(fake *f, size_t limit) {
    tc_escape escape;
    f->arena = tc_arena_new(limit);
    assert_non_null(f->arena);
    tc_status status = TC_TRY(f->arena, &escape);
    if (status == TC_OK) {
        f->messages = tc_buffer_new(f->arena, 1 << 16);
        status = tc_agent_new(f->arena, &f->settings, &f->messages, &f->agent);
    }
    tc_escape_end(f->arena, &escape);
    fake_kill(f);
    return status;
}

static void an_agent_that_cannot_be_made_leaves_nothing_open(void **state) {
    (void)state;
    fake f;
    fake_begin(&f, true, 3);
    f.settings.cloud = "127.0.0.1:1,[::1]:2";
    assert_int_equal(open_within(&f, 0), TC_OK);
    size_t before = open_descriptors(), limit = 16384;
    while (open_within(&f, limit) != TC_OK) {
        assert_int_equal(open_descriptors(), before);
        limit += 2048;
        assert_true(limit < 1 << 20);
    }
    assert_int_equal(open_descriptors(), before);
    fake_end(&f);
}

static void send_scaled(fake *f, int8_t second) {
    unsigned char bytes[TC_FRAME_HEADER + 24 + FAKE_STATES];
    const int8_t scales[FAKE_STATES] = {0, second};
    tc_enrolled_encode(&(tc_enrolled){.next = 1,
                                      .states = FAKE_STATES,
                                      .exponent = FAKE_EXPONENT,
                                      .method = TC_WIRE_TACIT,
                                      .rounds = FAKE_ROUNDS,
                                      .scales = scales},
                       bytes);
    fake_send(f, bytes, sizeof bytes);
}

static void scales_reach_the_steps_or_end_the_agent(void **state) {
    (void)state;
    for (int refuses = 0; refuses < 2; refuses++) {
        fake f;
        fake_begin(&f, false, 1);
        f.refuses_scales = refuses == 1;
        assert_int_equal(fake_open(&f), TC_OK);
        fake_greet(&f);
        (void)fake_expect_enrol(&f, 0, 0);
        send_scaled(&f, -3);
        if (refuses == 0) {
            fake_expect_state(&f, 0, 1);
            assert_true(f.is_scaled);
        } else {
            FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_REFUSED)
            assert_non_null(
                strstr(tc_agent_message(f.agent), "scales the states of agent a1, and they are not wanted"));
        }
        fake_end(&f);
    }
}

int main(void) {
    if (CRYPTO_set_mem_functions(failing_malloc, failing_realloc, plain_free) != 1)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_from_hello_to_its_end),
        cmocka_unit_test(scales_reach_the_steps_or_end_the_agent),
        cmocka_unit_test(the_same_over_tls),
        cmocka_unit_test(the_same_in_one_byte_pieces),
        cmocka_unit_test(an_answer_that_comes_again_is_ignored),
        cmocka_unit_test(a_lost_connection_is_made_again_and_the_run_goes_on),
        cmocka_unit_test(errors_of_others_do_not_end_a_connection),
        cmocka_unit_test(a_killed_agent_goes_on_where_it_was),
        cmocka_unit_test(whoever_has_all_answers_needs_no_end),
        cmocka_unit_test(a_cloud_that_takes_connections_and_says_nothing_is_left),
        cmocka_unit_test(a_cloud_of_an_earlier_epoch_gets_no_state),
        cmocka_unit_test(after_a_restoration_a_later_epoch_is_served),
        cmocka_unit_test(a_cloud_that_asks_for_an_answered_round_gets_no_state),
        cmocka_unit_test(another_run_is_refused_unless_it_is_wished),
        cmocka_unit_test(another_plan_than_the_agreed_one_gets_no_state),
        cmocka_unit_test(refusals_are_final_or_not_as_the_protocol_says),
        cmocka_unit_test(a_newcomer_that_comes_too_soon_tries_again),
        cmocka_unit_test(ends_are_done_diverged_or_a_pause),
        cmocka_unit_test(a_step_that_fails_is_the_agents_end_and_the_cloud_is_told),
        cmocka_unit_test(rounds_that_passed_without_the_agent_count_with_its_last_state),
        cmocka_unit_test(a_round_that_was_held_counts_with_the_state_that_the_cloud_had),
        cmocka_unit_test(the_last_answer_may_be_a_move),
        cmocka_unit_test(a_move_that_is_none_is_refused),
        cmocka_unit_test(what_is_said_lies_within_the_public_box),
        cmocka_unit_test(no_state_stays_where_it_went_out),
        cmocka_unit_test(leaving_is_said),
        cmocka_unit_test(several_agents_on_one_connection),
        cmocka_unit_test(frames_out_of_turn_or_range_end_the_connection_and_nothing_else),
        cmocka_unit_test(any_bytes_from_the_cloud_are_survived),
        cmocka_unit_test(a_cloud_that_is_not_the_authoritys_gets_not_a_word),
        cmocka_unit_test(plain_text_goes_to_loopback_alone),
        cmocka_unit_test(what_is_wrong_is_said_before_anything_is_sent),
        cmocka_unit_test(an_allocation_that_fails_costs_a_connection_or_ends_with_a_message),
        cmocka_unit_test(an_agent_that_cannot_be_made_leaves_nothing_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
