/* The cloud's loop, as agents and their faults see it: with a real cloud half and a real journal. */
/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
#include "serve/everybody.h"

static client other;

static void say_all(uint64_t round) {
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_say_state(&d, &agents[i], i, 0, round, (int64_t)(round + i));
}

static void hear_all(uint64_t round) {
    for (size_t i = 0; i < DESK_AGENTS; i++)
        (void)client_expect_answer(&d, &agents[i], i, 0, round, NULL);
}

static void rounds_to(uint64_t from, uint64_t to) {
    for (uint64_t k = from; k <= to; k++) {
        say_all(k);
        hear_all(k);
    }
}

/* ---- rounds ---- */

/* An engine with all parties together says what states are and what the answers must be. */
static void a_run_over_messages_has_the_bits_of_a_run_in_one_process(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    tc_engine *engine = half_engine(arena, &d.of, 11, TC_DRIVER_SMALL);
    desk_start(&d, (desk_wish){0});
    join_all(0);
    for (uint64_t k = 1; k <= DESK_ROUNDS; k++) {
        for (size_t j = 0; j < DESK_AGENTS; j++) { /* in another order each round */
            size_t i = (j * 2 + k) % DESK_AGENTS;
            const tc_family *family = tc_family_of_agent(d.p.model, i);
            double x[8];
            int64_t units[8];
            unsigned char bytes[256];
            for (size_t c = 0; c < family->dim; c++)
                x[c] = tc_engine_states(engine)[tc_coord_of(family, i - family->first_agent, c)];
            assert_true(tc_to_lattice(x, family->dim, d.of.plan->state_exponent, units));
            tc_state_encode(0, k, units, DESK_STATES[i], bytes);
            client_say(&d, &agents[i], bytes, tc_state_size(DESK_STATES[i]));
        }
        run_to(engine, k);
        for (size_t i = 0; i < DESK_AGENTS; i++) {
            const tc_family *family = tc_family_of_agent(d.p.model, i);
            unsigned char body[256];
            double numbers[10];
            (void)client_expect_answer(&d, &agents[i], i, 0, k, body);
            tc_get_doubles(body, numbers, 2 + family->dim);
            assert_memory_equal(numbers, &engine->scalars, 2 * sizeof(double));
            for (size_t c = 0; c < family->dim; c++)
                assert_true(numbers[2 + c] == engine->p[tc_coord_of(family, i - family->first_agent, c)]);
        }
        assert_memory_equal(tc_cloud_half_multipliers(d.half), tc_engine_multipliers(engine),
                            d.p.model->constraint_count * sizeof(double));
    }
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_expect_end(&d, &agents[i], TC_END_DONE);
    assert_int_equal(tc_journal_finished(d.journal), TC_END_DONE);
    for (size_t i = 0; i < DESK_AGENTS; i++) {
        client_say_leave(&d, &agents[i]);
        client_close(&agents[i]);
    }
    DESK_UNTIL(&d, tc_rounds_end(d.rounds) != TC_RUN_GOES_ON)
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_DONE);
    assert_string_equal(tc_rounds_names(d.rounds, TC_NAME_UNTOLD), "");
    desk_stop(&d);
    tc_arena_free(arena);
}

/* Of all bytes that came, and of the numbers in them. */
static void no_state_stays_where_it_came_in(void **state) {
    (void)state;
    static const unsigned char zeros[TC_LINK_SCRATCH];
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, 3);
    unsigned char bytes[64];
    tc_state_encode(0, 4, (int64_t[]){5, 6}, DESK_STATES[0], bytes);
    client_say(&d, &agents[0], bytes, 30); /* half of one */
    desk_run(&d, 0.02);
    assert_memory_equal(d.links->scratch, zeros, TC_LINK_SCRATCH);
    client_say(&d, &agents[0], bytes + 30, tc_state_size(DESK_STATES[0]) - 30);
    for (size_t i = 1; i < DESK_AGENTS; i++)
        client_say_state(&d, &agents[i], i, 0, 4, 1);
    hear_all(4);
    assert_memory_equal(d.links->scratch, zeros, TC_LINK_SCRATCH);
    assert_memory_equal(d.rounds->lanes->units, zeros,
                        d.rounds->enrolment->most_states * sizeof *d.rounds->lanes->units);
    leave_all();
}

static void nothing_is_answered_where_the_journal_fails(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, 2);
    tc_journal_round ahead = {.round = 3}; /* so that the cloud's own third cannot be written */
    assert_int_equal(tc_journal_commit_start(d.journal, &ahead), TC_OK);
    assert_int_equal(tc_journal_commit_wait(d.journal), TC_OK);
    say_all(3);
    client_expect_silence(&d, &agents[0]);
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_FAILED);
    assert_int_equal(tc_rounds_status(d.rounds), TC_CANNOT_WRITE);
    assert_int_equal(d.figures.phase, TC_PHASE_FAILED);
    client_say_state(&d, &agents[0], 0, 0, 2, 0); /* not even what it had */
    client_expect_silence(&d, &agents[0]);
    leave_all();
}

static void the_first_state_stands_and_an_answered_round_is_answered_again_with_the_same_bytes(void **state) {
    (void)state;
    unsigned char first[256], again[256];
    desk_start(&d, (desk_wish){0});
    join_all(0);
    client_say_state(&d, &agents[0], 0, 0, 1, 1);
    for (int64_t unit = 1; unit <= 2; unit++) { /* the same, or another: nobody learns which */
        client_say_state(&d, &agents[0], 0, 0, 1, unit);
        client_expect_refusal(&d, &agents[0], 0, TC_REFUSED_ROUND);
    }
    for (size_t i = 1; i < DESK_AGENTS; i++)
        client_say_state(&d, &agents[i], i, 0, 1, 1);
    size_t size = client_expect_answer(&d, &agents[0], 0, 0, 1, first);
    client_say_state(&d, &agents[0], 0, 0, 1, 77); /* not looked at */
    assert_int_equal(client_expect_answer(&d, &agents[0], 0, 0, 1, again), size);
    assert_memory_equal(first, again, size);
    client_say_state(&d, &agents[0], 0, 0, 3, 1);
    client_expect_refusal(&d, &agents[0], 0, TC_REFUSED_ROUND);
    for (size_t i = 1; i < DESK_AGENTS; i++)
        (void)client_expect_answer(&d, &agents[i], i, 0, 1, NULL);
    rounds_to(2, 3); /* nobody is the worse for it */
    leave_all();
}

static void a_newer_connection_may_say_its_state_once_and_is_told_nothing_of_the_first(void **state) {
    (void)state;
    static client newer;
    for (int64_t unit = 1; unit <= 2; unit++) { /* the state that the old connection said was 1 */
        desk_start(&d, (desk_wish){0});
        uint64_t k = tc_rounds_first(d.rounds);
        join_all(k - 1);
        client_say_state(&d, &agents[0], 0, 0, k, 1);
        client_join(&d, &newer, 0, k - 1);
        client_say_state(&d, &newer, 0, 0, k, unit);
        client_expect_silence(&d, &newer);
        client_say_state(&d, &newer, 0, 0, k, unit);
        client_expect_refusal(&d, &newer, 0, TC_REFUSED_ROUND);
        for (size_t i = 1; i < DESK_AGENTS; i++)
            client_say_state(&d, &agents[i], i, 0, k, 1);
        (void)client_expect_answer(&d, &newer, 0, 0, k, NULL);
        client_close(&newer);
        leave_all();
    }
}

static void a_state_of_the_wrong_length_or_slot_is_refused_and_the_connection_stays(void **state) {
    (void)state;
    unsigned char bytes[256];
    int64_t units[8] = {0};
    desk_start(&d, (desk_wish){0});
    join_all(0);
    tc_state_encode(0, 1, units, DESK_STATES[0] + 1, bytes);
    client_say(&d, &agents[0], bytes, tc_state_size(DESK_STATES[0] + 1));
    client_expect_refusal(&d, &agents[0], 0, TC_REFUSED_STATES);
    client_say_state(&d, &agents[0], 0, 9, 1, 0);
    client_expect_refusal(&d, &agents[0], 9, TC_REFUSED_SLOT);
    rounds_to(1, 1);
    leave_all();
}

static void a_state_outside_the_box_is_moved_and_its_agent_alone_is_told(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    join_all(0);
    client_say_state(&d, &agents[0], 0, 0, 1, INT64_MAX - 8);
    client_expect_silence(&d, &agents[0]); /* in the header of its answer, whose size is that of any other */
    for (size_t i = 1; i < DESK_AGENTS; i++)
        client_say_state(&d, &agents[i], i, 0, 1, 1);
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_expect_flags(&d, &agents[i], 0, 1, i == 0 ? TC_ANSWER_CLAMPED : 0);
    client_say_state(&d, &agents[0], 0, 0, 1, 1); /* again: the answer is about the state that was used */
    client_expect_flags(&d, &agents[0], 0, 1, TC_ANSWER_CLAMPED);
    say_all(2);
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_expect_flags(&d, &agents[i], 0, 2, 0);
    leave_all();
}

static void an_agent_that_never_stops_being_refused_is_shown_the_door(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    join_all(0);
    unsigned refusals = 0;
    tc_frame frame;
    for (unsigned i = 0; i < 200; i++) {
        unsigned char bytes[256];
        int64_t units[8] = {0};
        tc_state_encode(0, 7, units, DESK_STATES[0], bytes);
        (void)send(agents[0].descriptor, bytes, tc_state_size(DESK_STATES[0]), MSG_NOSIGNAL);
    }
    while ((frame = client_hear(&d, &agents[0])).type == TC_MESSAGE_REFUSAL)
        refusals++;
    assert_true(refusals > 10 && refusals < 100);
    assert_int_equal(frame.type, 0);
    client_close(&agents[0]);
    client_join(&d, &agents[0], 0, 0);
    rounds_to(1, 2);
    leave_all();
}

/* ---- coming and going ---- */

static void messages_out_of_turn_end_the_connection(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    client_open(&d, &other);
    client_say_state(&d, &other, 0, 0, 1, 0); /* no greeting */
    client_expect_refusal(&d, &other, TC_NO_SLOT, TC_REFUSED_TURN);
    assert_int_equal(client_hear(&d, &other).type, 0);
    client_close(&other);
    client_open(&d, &other);
    (void)client_greet(&d, &other);
    unsigned char bytes[TC_END_SIZE];
    tc_end_encode(&(tc_end){.round = 1, .reason = TC_END_DONE}, bytes); /* what only a cloud says */
    client_say(&d, &other, bytes, sizeof bytes);
    client_expect_refusal(&d, &other, TC_NO_SLOT, TC_REFUSED_TURN);
    client_close(&other);
    client_open(&d, &other);
    (void)client_greet(&d, &other);
    (void)tc_frame_begin(bytes, 99, 0, 0, TC_FRAME_HEADER);
    client_say(&d, &other, bytes, TC_FRAME_HEADER);
    client_expect_refusal(&d, &other, TC_NO_SLOT, TC_REFUSED_FRAME);
    client_close(&other);
    desk_stop(&d);
}

static void who_is_not_in_the_file_or_says_it_otherwise_is_refused(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    client_open(&d, &other);
    (void)client_greet(&d, &other);
    tc_enrol enrol = enrol_of(0, 3, 0);
    enrol.name = "h[3]";
    enrol.name_length = 4;
    client_say_enrol(&d, &other, &enrol);
    client_expect_refusal(&d, &other, 3, TC_REFUSED_UNKNOWN);
    enrol = enrol_of(0, 3, 0);
    enrol.states = 5;
    client_say_enrol(&d, &other, &enrol);
    client_expect_refusal(&d, &other, 3, TC_REFUSED_STATES);
    enrol = enrol_of(0, 3, DESK_ROUNDS + 1); /* its own affair: no run has so many */
    client_say_enrol(&d, &other, &enrol);
    client_expect_refusal(&d, &other, 3, TC_REFUSED_ROUND);
    (void)client_enrol(&d, &other, 0, 3, 0);
    enrol = enrol_of(1, 3, 0);
    client_say_enrol(&d, &other, &enrol);
    client_expect_refusal(&d, &other, 3, TC_REFUSED_SLOT);
    enrol = enrol_of(0, 4, 0);
    client_say_enrol(&d, &other, &enrol);
    client_expect_refusal(&d, &other, 4, TC_REFUSED_SLOT);
    assert_int_equal(d.figures.enrolled, 1);
    unsigned char bytes[TC_LEAVE_SIZE];
    tc_leave_encode(3, bytes);
    client_say(&d, &other, bytes, sizeof bytes);
    (void)client_enrol(&d, &other, 1, 3, 0); /* the slot is free again */
    client_close(&other);
    DESK_UNTIL(&d, d.figures.enrolled == 0)
    desk_stop(&d);
}

static void a_newer_connection_takes_over_at_most_once_a_second(void **state) {
    (void)state;
    static client newer, newest;
    desk_start(&d, (desk_wish){0});
    join_all(0);
    client_say_state(&d, &agents[0], 0, 0, 1, 1);
    client_join(&d, &newer, 0, 0);
    client_expect_refusal(&d, &agents[0], 0, TC_REFUSED_REPLACED);
    d.rounds->enrolment->seats[0].replaced_at += 1000; /* however long the rest takes */
    client_open(&d, &newest);
    (void)client_greet(&d, &newest);
    tc_enrol enrol = enrol_of(0, 0, 0);
    client_say_enrol(&d, &newest, &enrol);
    client_expect_refusal(&d, &newest, 0, TC_REFUSED_CROWD);
    for (size_t i = 1; i < DESK_AGENTS; i++) /* the state that the old one sent counts */
        client_say_state(&d, &agents[i], i, 0, 1, 1);
    (void)client_expect_answer(&d, &newer, 0, 0, 1, NULL);
    client_expect_silence(&d, &agents[0]);
    client_close(&newer);
    client_close(&newest);
    leave_all();
}

static void a_gateway_speaks_for_several_and_gets_their_answers_together(void **state) {
    (void)state;
    static const uint32_t slots[DESK_AGENTS] = {7, 65535, 0, 8, 16}; /* some collide in a small table */
    unsigned char bytes[1024];
    desk_start(&d, (desk_wish){0});
    client_open(&d, &other);
    (void)client_greet(&d, &other);
    for (size_t i = 0; i < DESK_AGENTS; i++)
        assert_int_equal(client_enrol(&d, &other, i, slots[i], 0).slot, slots[i]);
    for (uint64_t k = 1; k <= 3; k++) {
        size_t size = 0;
        for (size_t i = 0; i < DESK_AGENTS; i++) {
            int64_t units[8] = {(int64_t)k};
            tc_state_encode(slots[i], k, units, DESK_STATES[i], bytes + size);
            size += tc_state_size(DESK_STATES[i]);
        }
        client_say(&d, &other, bytes, size);
        unsigned seen = 0;
        for (size_t n = 0; n < DESK_AGENTS; n++) {
            tc_frame frame = client_hear(&d, &other);
            assert_int_equal(frame.type, TC_MESSAGE_ANSWER);
            for (size_t i = 0; i < DESK_AGENTS; i++)
                if (frame.slot == slots[i])
                    seen |= 1U << i;
        }
        assert_int_equal(seen, (1U << DESK_AGENTS) - 1);
    }
    client_join(&d, &agents[2], 2, 3); /* one of them goes its own way; the others stay */
    client_expect_refusal(&d, &other, slots[2], TC_REFUSED_REPLACED);
    client_say_state(&d, &agents[2], 2, 0, 4, 1);
    for (size_t i = 0; i < DESK_AGENTS; i++)
        if (i != 2)
            client_say_state(&d, &other, i, slots[i], 4, 1);
    (void)client_expect_answer(&d, &agents[2], 2, 0, 4, NULL);
    client_close(&agents[2]);
    client_close(&other);
    desk_stop(&d);
}

static void who_enrols_nobody_in_time_is_sent_away(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.idle_seconds = 1});
    client_open(&d, &other);
    (void)client_greet(&d, &other);
    desk_run(&d, 1.2);
    tc_rounds_tick(d.rounds);
    client_expect_refusal(&d, &other, TC_NO_SLOT, TC_REFUSED_TURN);
    client_close(&other);
    desk_stop(&d);
}

static void say_of_slater(client *c, size_t agent, tc_slater_answer says, tc_refusal_code code) {
    client_open(&d, c);
    (void)client_greet(&d, c);
    tc_enrol enrol = enrol_of(agent, 0, 0);
    enrol.slater = says;
    client_say_enrol(&d, c, &enrol);
    if (code != TC_NOT_REFUSED)
        client_expect_refusal(&d, c, 0, code);
    else
        (void)client_expect_enrolled(&d, c);
}

/* As for agents that are late. The others hear nothing, and the pages count nothing: who says no depends on private
 * sets. */
static void a_run_waits_before_its_first_round_for_agents_whose_sets_do_not_hold_the_public_point(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.needs_slater = true});
    for (size_t i = 0; i < DESK_AGENTS; i++) {
        say_of_slater(&agents[i], i,
                      i == 1   ? TC_SLATER_NO
                      : i == 2 ? TC_SLATER_UNASKED
                               : TC_SLATER_YES,
                      i == 1 || i == 2 ? TC_REFUSED_SLATER : TC_NOT_REFUSED);
        if (i != 1 && i != 2)
            client_say_state(&d, &agents[i], i, 0, 1, 1);
    }
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_GOES_ON);
    DESK_UNTIL(&d, d.rounds->missing == 2)
    desk_age(&d, 1001);
    assert_int_equal(d.figures.enrolled, DESK_AGENTS - 2);
    assert_string_equal(tc_rounds_names(d.rounds, TC_NAME_REFUSED), "b, c");
    assert_string_equal(tc_rounds_names(d.rounds, TC_NAME_MISSING), "b, c");
    assert_int_equal(d.figures.refusals[TC_REFUSED_SLATER], 0);
    client_expect_silence(&d, &agents[0]);
    for (size_t i = 1; i < 3; i++) { /* with other files */
        assert_int_equal(d.figures.round, 0);
        client_close(&agents[i]);
        say_of_slater(&agents[i], i, TC_SLATER_YES, TC_NOT_REFUSED);
        client_say_state(&d, &agents[i], i, 0, 1, 1);
    }
    for (size_t i = 0; i < DESK_AGENTS; i++)
        (void)client_expect_answer(&d, &agents[i], i, 0, 1, NULL);
    assert_string_equal(tc_rounds_names(d.rounds, TC_NAME_REFUSED), "");
    rounds_to(2, 2);
    leave_all();
}

/* Its state came, and the agent has come again with another set, before the round was complete. */
static void the_state_of_an_agent_that_then_says_no_does_not_count(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.needs_slater = true});
    join_all(0);
    client_say_state(&d, &agents[1], 1, 0, 1, 1);
    DESK_UNTIL(&d, d.rounds->missing == DESK_AGENTS - 1)
    for (unsigned times = 0; times < 2; times++) {
        say_of_slater(&other, 1, TC_SLATER_NO, TC_REFUSED_SLATER);
        client_close(&other);
    }
    client_expect_refusal(&d, &agents[1], 0, TC_REFUSED_REPLACED); /* else it would wait for an answer for ever */
    for (size_t i = 0; i < DESK_AGENTS; i++)
        if (i != 1)
            client_say_state(&d, &agents[i], i, 0, 1, 1);
    DESK_UNTIL(&d, d.rounds->missing <= 1)
    assert_int_equal(d.figures.enrolled, DESK_AGENTS - 1);
    client_expect_silence(&d, &agents[0]);
    client_close(&agents[1]);
    say_of_slater(&agents[1], 1, TC_SLATER_YES, TC_NOT_REFUSED);
    client_say_state(&d, &agents[1], 1, 0, 1, 2);
    for (size_t i = 0; i < DESK_AGENTS; i++)
        (void)client_expect_answer(&d, &agents[i], i, 0, 1, NULL);
    leave_all();
}

/* ---- late ---- */

/* The deadline passes when all but so many states have come. */
static void be_late(size_t missing) {
    DESK_UNTIL(&d, d.rounds->missing == missing)
    desk_age(&d, 1001);
}

static void hold_uses_the_last_state_up_to_its_cap_and_then_waits(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.late = {.holds = true, .deadline = 1000, .most_holds = 2}});
    join_all(0);
    desk_age(&d, 1001); /* before its first state nobody is held */
    assert_int_equal(tc_rounds_last(d.rounds), 0);
    rounds_to(1, 1);
    for (uint64_t k = 2; k <= 3; k++) {
        for (size_t i = 1; i < DESK_AGENTS; i++)
            client_say_state(&d, &agents[i], i, 0, k, 1);
        be_late(1);
        client_expect_flags(&d, &agents[0], 0, k, TC_ANSWER_HELD);
        for (size_t i = 1; i < DESK_AGENTS; i++)
            (void)client_expect_answer(&d, &agents[i], i, 0, k, NULL);
    }
    for (size_t i = 1; i < DESK_AGENTS; i++)
        client_say_state(&d, &agents[i], i, 0, 4, 1);
    be_late(1);
    assert_int_equal(tc_rounds_last(d.rounds), 3);
    client_say_state(&d, &agents[0], 0, 0, 4, 1); /* a new message may be held again */
    hear_all(4);
    for (size_t i = 1; i < DESK_AGENTS; i++)
        client_say_state(&d, &agents[i], i, 0, 5, 1);
    be_late(1);
    client_expect_flags(&d, &agents[0], 0, 5, TC_ANSWER_HELD);
    assert_int_equal(d.figures.held, 3);
    leave_all();
}

/* Its agents cannot have sent a state that depends on an answer which they do not have. */
static void nobody_is_late_while_another_loop_still_answers(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.late = {.holds = true, .deadline = 1000, .most_holds = 2}});
    join_all(0);
    rounds_to(1, 1);
    for (size_t i = 1; i < DESK_AGENTS; i++)
        client_say_state(&d, &agents[i], i, 0, 2, 1);
    DESK_UNTIL(&d, d.rounds->missing == 1)
    atomic_store(&d.rounds->answering, 1);
    desk_age(&d, 1001);
    assert_int_equal(d.rounds->held, 0);
    atomic_store(&d.rounds->answering, 0);
    desk_age(&d, 999); /* the deadline has begun anew */
    assert_int_equal(d.rounds->held, 0);
    desk_age(&d, 2);
    client_expect_flags(&d, &agents[0], 0, 2, TC_ANSWER_HELD);
    for (size_t i = 1; i < DESK_AGENTS; i++)
        (void)client_expect_answer(&d, &agents[i], i, 0, 2, NULL);
    leave_all();
}

static void with_nobody_there_no_round_is_held(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.late = {.holds = true, .deadline = 1000, .most_holds = 5}});
    join_all(0);
    rounds_to(1, 1);
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_close(&agents[i]);
    DESK_UNTIL(&d, d.rounds->enrolment->enrolled == 0)
    desk_age(&d, 1001);
    assert_int_equal(tc_rounds_last(d.rounds), 1);
    client_join(&d, &agents[0], 0, 1); /* for one, rounds go on */
    client_say_state(&d, &agents[0], 0, 0, 2, 1);
    be_late(DESK_AGENTS - 1);
    (void)client_expect_answer(&d, &agents[0], 0, 0, 2, NULL);
    client_close(&agents[0]);
    desk_stop(&d);
}

static void the_deadline_of_an_agent_that_comes_back_begins_anew(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.late = {.holds = true, .deadline = 1000, .most_holds = 5}});
    join_all(0);
    rounds_to(1, 1);
    client_close(&agents[0]);
    for (size_t i = 1; i < DESK_AGENTS; i++)
        client_say_state(&d, &agents[i], i, 0, 2, 1);
    DESK_UNTIL(&d, d.rounds->missing == 1)
    desk_age(&d, 600);
    client_join(&d, &agents[0], 0, 1);
    desk_age(&d, 600); /* its first deadline has passed */
    assert_int_equal(tc_rounds_last(d.rounds), 1);
    client_say_state(&d, &agents[0], 0, 0, 2, 1);
    hear_all(2);
    assert_int_equal(d.figures.held, 0);
    leave_all();
}

static void an_agent_that_does_not_read_costs_the_others_their_deadline_and_no_more(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.late = {.holds = true, .deadline = 1000, .most_holds = 100}, .slow_seconds = 1000});
    join_all(0);
    rounds_to(1, 1);
    tc_seat *deaf = &d.rounds->enrolment->seats[0];
    for (unsigned i = 0; !deaf->is_owed && i < 1000000; i++) /* as much as the system takes, and more */
        tc_answers_again(d.rounds, deaf);
    assert_true(deaf->is_owed);
    for (uint64_t k = 2; k <= 3; k++) {
        for (size_t i = 1; i < DESK_AGENTS; i++)
            client_say_state(&d, &agents[i], i, 0, k, 1);
        be_late(1);
        for (size_t i = 1; i < DESK_AGENTS; i++)
            (void)client_expect_answer(&d, &agents[i], i, 0, k, NULL);
    }
    for (uint64_t last = 0; last < 3;) { /* it reads after all: of what it missed it gets the last */
        tc_frame frame = client_hear(&d, &agents[0]);
        assert_int_equal(frame.type, TC_MESSAGE_ANSWER);
        assert_true(frame.round >= last);
        last = frame.round;
    }
    leave_all();
}

/* While the cloud waits for somebody to take what it has to say, it hears nobody: whoever comes is sent away at once,
 * and does not wait for a welcome that never comes. */
static void who_comes_while_the_cloud_stops_is_sent_away_at_once(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.slow_seconds = 1000});
    join_all(0);
    rounds_to(1, 1);
    tc_seat *deaf = &d.rounds->enrolment->seats[0];
    for (unsigned i = 0; !deaf->is_owed && i < 1000000; i++)
        tc_answers_again(d.rounds, deaf);
    tc_rounds_stop(d.rounds, 100);
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_GOES_ON);
    client_open(&d, &other);
    unsigned char bytes[128];
    tc_hello hello = {.lowest_version = 1, .highest_version = 1, .software = "test", .software_length = 4};
    tc_hello_encode(&hello, bytes);
    client_say(&d, &other, bytes, tc_hello_size(&hello));
    char byte;
    for (double end_at = desk_now() + 300; recv(other.descriptor, &byte, 1, 0) != 0;) {
        assert_true(desk_now() < end_at);
        desk_turn(&d);
    }
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_GOES_ON);
    client_close(&other);
    leave_all();
}

/* The answer of the last round is sent again to an agent that asks, but not without end. */
static void who_asks_again_and_again_is_ended(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, 2);
    uint64_t before = d.figures.answers_again;
    for (unsigned i = 0; i < 1000; i++) {
        unsigned char bytes[256];
        int64_t units[8] = {0};
        tc_state_encode(0, 2, units, DESK_STATES[0], bytes);
        (void)send(agents[0].descriptor, bytes, tc_state_size(DESK_STATES[0]), MSG_NOSIGNAL);
        desk_turn(&d);
    }
    assert_true(d.figures.answers_again > before + 50 && d.figures.answers_again < before + 100);
    assert_int_equal(d.figures.refusals[TC_REFUSED_TURN], 1);
    assert_null(d.rounds->enrolment->seats[0].party);
    client_close(&agents[0]);
    client_join(&d, &agents[0], 0, 2);
    rounds_to(3, 3);
    leave_all();
}

/* docs/protocol.md, "A round": under `hold` rounds go by while a state is on its way. */
static void under_hold_a_state_of_any_round_that_is_answered_gets_the_last_answer(void **state) {
    (void)state;
    for (int holds = 0; holds < 2; holds++) {
        unsigned char first[256], again[256];
        desk_start(&d, (desk_wish){.late = {.holds = holds == 1, .deadline = 60, .most_holds = 5}});
        join_all(0);
        rounds_to(1, 3);
        say_all(4);
        for (size_t i = 0; i < DESK_AGENTS; i++)
            (void)client_expect_answer(&d, &agents[i], i, 0, 4, i == 0 ? first : NULL);
        for (uint64_t k = 0; k <= 6; k++) {
            if (k == 5) /* the open one */
                continue;
            client_say_state(&d, &agents[0], 0, 0, k, 1);
            if (k == 4 || (holds && k > 0 && k < 5)) {
                (void)client_expect_answer(&d, &agents[0], 0, 0, 4, again);
                assert_memory_equal(again, first, 16 + 8 * DESK_STATES[0]);
            } else {
                tc_frame frame = client_hear(&d, &agents[0]);
                tc_refusal refusal;
                assert_int_equal(frame.type, TC_MESSAGE_REFUSAL);
                assert_int_equal(tc_refusal_decode(&frame, &refusal), TC_NOT_REFUSED);
                assert_int_equal(refusal.code, TC_REFUSED_ROUND);
                assert_int_equal(refusal.round, k);
            }
        }
        assert_int_equal(tc_rounds_last(d.rounds), 4);
        rounds_to(5, 6);
        leave_all();
        if (holds == 0) {
            desk_end(&d);
            desk_begin(&d);
        }
    }
}

/* Late every time, under `hold`: each of its states is of a round that has gone by, and each is answered. */
static void an_agent_that_is_always_late_is_none_that_asks_again_and_again(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){.late = {.holds = true, .deadline = 1000, .most_holds = 1000}});
    join_all(0);
    rounds_to(1, 1);
    for (uint64_t k = 2; k < DESK_ROUNDS; k++) {
        for (size_t i = 1; i < DESK_AGENTS; i++)
            client_say_state(&d, &agents[i], i, 0, k, 1);
        be_late(1);
        for (size_t i = 0; i < DESK_AGENTS; i++)
            (void)client_expect_answer(&d, &agents[i], i, 0, k, NULL);
        client_say_state(&d, &agents[0], 0, 0, k, 1);
        (void)client_expect_answer(&d, &agents[0], 0, 0, k, NULL);
    }
    assert_non_null(d.rounds->enrolment->seats[0].party);
    assert_int_equal(d.rounds->enrolment->seats[0].party->strikes, 0);
    leave_all();
}

/* ---- starting again ---- */

static void a_cloud_that_dies_goes_on_and_gives_what_was_missed_as_it_was(void **state) {
    (void)state;
    unsigned char first[DESK_AGENTS][256], again[256];
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, 4);
    say_all(5);
    for (size_t i = 0; i < DESK_AGENTS; i++)
        (void)client_expect_answer(&d, &agents[i], i, 0, 5, first[i]);
    client_say_state(&d, &agents[0], 0, 0, 6, 1); /* of a round that is lost with it */
    uint64_t epoch = d.epoch.number;
    leave_all();
    desk_start(&d, (desk_wish){0});
    assert_true(d.epoch.number > epoch);
    for (size_t i = 0; i < DESK_AGENTS; i++) {
        client_open(&d, &agents[i]);
        assert_int_equal(client_greet(&d, &agents[i]).epoch.number, d.epoch.number);
        assert_int_equal(client_enrol(&d, &agents[i], i, 0, i % 2 == 0 ? 4 : 5).next, 6);
        if (i % 2 != 0)
            continue;
        size_t size = client_expect_answer(&d, &agents[i], i, 0, 5, again);
        assert_memory_equal(again, first[i], size);
    }
    rounds_to(6, DESK_ROUNDS);
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_expect_end(&d, &agents[i], TC_END_DONE);
    leave_all();
}

static void agents_that_have_seen_more_than_the_journal_stop_the_cloud(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, 2);
    leave_all();
    desk_start(&d, (desk_wish){0});
    client_join(&d, &agents[0], 0, 2);
    client_open(&d, &other);
    (void)client_greet(&d, &other);
    tc_enrol enrol = enrol_of(1, 0, 5);
    client_say_enrol(&d, &other, &enrol);
    client_expect_refusal(&d, &other, 0, TC_REFUSED_ROLLBACK);
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_ROLLED_BACK);
    assert_string_equal(tc_rounds_rollback(d.rounds)->agent, "b");
    assert_int_equal(tc_rounds_rollback(d.rounds)->round, 5);
    client_close(&agents[0]);
    client_close(&other);
    desk_stop(&d);
}

/* Once this start has released rounds, its journal is complete: an agent that claims more is refused alone. */
static void a_liar_in_a_run_that_goes_is_refused_alone(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, 2);
    client_close(&agents[0]);
    DESK_UNTIL(&d, d.figures.enrolled == DESK_AGENTS - 1)
    client_open(&d, &agents[0]);
    (void)client_greet(&d, &agents[0]);
    tc_enrol enrol = enrol_of(0, 0, 7);
    client_say_enrol(&d, &agents[0], &enrol);
    client_expect_refusal(&d, &agents[0], 0, TC_REFUSED_ROLLBACK);
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_GOES_ON);
    (void)client_enrol(&d, &agents[0], 0, 0, 2);
    rounds_to(3, 3);
    leave_all();
}

static void after_a_restore_the_run_goes_on_after_all_that_anybody_has_seen(void **state) {
    (void)state;
    static const uint64_t seen[DESK_AGENTS] = {6, 7, 7, 6, 2};
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, 3);
    leave_all();
    desk_start(&d, (desk_wish){.after_restore = true});
    for (size_t i = 0; i < DESK_AGENTS; i++) {
        client_open(&d, &agents[i]);
        (void)client_greet(&d, &agents[i]);
        tc_enrol enrol = enrol_of(i, 0, seen[i]);
        client_say_enrol(&d, &agents[i], &enrol);
        assert_int_equal(tc_rounds_is_surveyed(d.rounds), i + 1 == DESK_AGENTS);
    }
    client_expect_silence(&d, &agents[0]);
    desk_make_half(&d);
    assert_int_equal(tc_rounds_begin(d.rounds, d.half), TC_OK);
    for (size_t i = 0; i < DESK_AGENTS; i++) {
        /* 8 may have been released, and shown to others than agents */
        assert_int_equal(client_expect_enrolled(&d, &agents[i]).next, 9);
        client_expect_note(&d, &agents[i], 0, 8, TC_NOTE_LOST);
    }
    rounds_to(9, DESK_ROUNDS);
    leave_all();
}

/* ---- stopping ---- */

static void stopping_is_told_and_the_run_can_go_on(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, 2);
    client_say_state(&d, &agents[0], 0, 0, 3, 1);
    tc_rounds_stop(d.rounds, 10);
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_expect_end(&d, &agents[i], TC_END_STOPPED);
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_STOPPED);
    assert_int_equal(tc_rounds_last(d.rounds), 2);
    assert_int_equal(tc_journal_finished(d.journal), 0);
    leave_all();
    desk_start(&d, (desk_wish){0});
    join_all(2);
    rounds_to(3, 3);
    leave_all();
}

static void a_run_that_is_over_gives_its_last_answer_to_whoever_missed_it(void **state) {
    (void)state;
    unsigned char first[256], again[256];
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, DESK_ROUNDS - 1);
    say_all(DESK_ROUNDS);
    for (size_t i = 0; i < DESK_AGENTS; i++)
        (void)client_expect_answer(&d, &agents[i], i, 0, DESK_ROUNDS, i == 0 ? first : NULL);
    leave_all();
    desk_open(&d, (desk_wish){0});
    assert_int_equal(tc_journal_finished(d.journal), TC_END_DONE);
    tc_rounds_begin_over(d.rounds, TC_END_DONE);
    client_join(&d, &agents[0], 0, DESK_ROUNDS - 1);
    desk_wait_for_agents(&d);
    size_t size = client_expect_answer(&d, &agents[0], 0, 0, DESK_ROUNDS, again);
    assert_memory_equal(first, again, size);
    client_join(&d, &agents[1], 1, DESK_ROUNDS);
    desk_wait_for_agents(&d);
    client_expect_end(&d, &agents[0], TC_END_DONE);
    client_expect_end(&d, &agents[1], TC_END_DONE);
    client_say_state(&d, &agents[1], 1, 0, DESK_ROUNDS + 1, 0);
    client_expect_refusal(&d, &agents[1], 0, TC_REFUSED_OVER);
    client_say_leave(&d, &agents[0]);
    desk_wait_no_longer(&d); /* the others do not come */
    DESK_UNTIL(&d, tc_rounds_end(d.rounds) != TC_RUN_GOES_ON)
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_DONE);
    assert_string_equal(tc_rounds_names(d.rounds, TC_NAME_UNTOLD), "c, h[1], h[2]");
    client_close(&agents[0]);
    client_close(&agents[1]);
    desk_stop(&d);
}

static void who_comes_again_and_again_after_the_end_does_not_keep_the_cloud(void **state) {
    (void)state;
    client one;
    unsigned char bytes[128];
    tc_hello hello = {.lowest_version = 1, .highest_version = 1, .software = "test", .software_length = 4};
    tc_enrol enrol = enrol_of(0, 0, DESK_ROUNDS - 1);
    tc_hello_encode(&hello, bytes);
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, DESK_ROUNDS - 1);
    say_all(DESK_ROUNDS);
    leave_all();
    desk_open(&d, (desk_wish){.late = {.deadline = 0.4}});
    tc_rounds_begin_over(d.rounds, TC_END_DONE);
    double began = desk_now();
    while (tc_rounds_end(d.rounds) == TC_RUN_GOES_ON) { /* for ever, if each time counted */
        assert_true(desk_now() < began + 300);
        client_open(&d, &one);
        client_say(&d, &one, bytes, tc_hello_size(&hello));
        client_say_enrol(&d, &one, &enrol);
        desk_run(&d, 0.05);
        client_close(&one);
        desk_run(&d, 0.05);
    }
    assert_false(tc_journal_is_told(d.journal));
    desk_stop(&d);
}

static void when_all_have_left_after_the_last_answer_the_journal_knows_that_nobody_is_to_be_told(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, DESK_ROUNDS - 1);
    say_all(DESK_ROUNDS);
    for (size_t i = 0; i < DESK_AGENTS; i++) {
        (void)client_expect_answer(&d, &agents[i], i, 0, DESK_ROUNDS, NULL);
        desk_wait_for_agents(&d);
        client_expect_end(&d, &agents[i], TC_END_DONE);
        assert_false(tc_journal_is_told(d.journal));
        client_say_leave(&d, &agents[i]);
        client_close(&agents[i]);
    }
    DESK_UNTIL(&d, tc_rounds_end(d.rounds) != TC_RUN_GOES_ON)
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_DONE);
    desk_stop(&d);
    desk_open(&d, (desk_wish){0});
    assert_true(tc_journal_is_told(d.journal));
    assert_int_equal(tc_journal_finished(d.journal), TC_END_DONE);
    tc_rounds_end_told(d.rounds, TC_END_DONE);
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_DONE);
    assert_string_equal(tc_rounds_names(d.rounds, TC_NAME_UNTOLD), "");
    desk_stop(&d);
}

static void a_connection_that_ends_without_a_word_is_no_sign_that_the_last_answer_was_heard(void **state) {
    (void)state;
    desk_start(&d, (desk_wish){0});
    join_all(0);
    rounds_to(1, DESK_ROUNDS - 1);
    say_all(DESK_ROUNDS);
    for (size_t i = 0; i < DESK_AGENTS; i++) {
        (void)client_expect_answer(&d, &agents[i], i, 0, DESK_ROUNDS, NULL);
        desk_wait_for_agents(&d);
        if (i > 0)
            client_say_leave(&d, &agents[i]);
        client_close(&agents[i]); /* a network that cuts looks the same */
    }
    DESK_UNTIL(&d, d.rounds->enrolment->enrolled == 0)
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_GOES_ON);
    client_join(&d, &agents[0], 0, DESK_ROUNDS - 1); /* it had not */
    desk_wait_for_agents(&d);
    (void)client_expect_answer(&d, &agents[0], 0, 0, DESK_ROUNDS, NULL);
    client_say_leave(&d, &agents[0]);
    client_close(&agents[0]);
    DESK_UNTIL(&d, tc_rounds_end(d.rounds) != TC_RUN_GOES_ON)
    assert_int_equal(tc_rounds_end(d.rounds), TC_RUN_DONE);
    assert_string_equal(tc_rounds_names(d.rounds, TC_NAME_UNTOLD), "");
    desk_stop(&d);
}

static void a_state_on_its_way_from_a_connection_that_was_replaced_is_no_alarm(void **state) {
    (void)state;
    client newer;
    desk_start(&d, (desk_wish){0});
    client_join(&d, &agents[0], 0, 0);
    client_join(&d, &newer, 0, 0);
    client_expect_refusal(&d, &agents[0], 0, TC_REFUSED_REPLACED);
    client_say_state(&d, &agents[0], 0, 0, 1, 0);
    client_expect_refusal(&d, &agents[0], 0, TC_REFUSED_SLOT);
    assert_int_equal(d.figures.refusals[TC_REFUSED_SLOT], 0);
    client_say_state(&d, &newer, 0, 7, 1, 0);
    client_expect_refusal(&d, &newer, 7, TC_REFUSED_SLOT);
    assert_int_equal(d.figures.refusals[TC_REFUSED_SLOT], 1);
    client_close(&agents[0]);
    client_close(&newer);
    desk_stop(&d);
}

static void who_hears_which_run_it_is_and_leaves_is_counted(void **state) {
    (void)state;
    client c;
    desk_start(&d, (desk_wish){0});
    client_open(&d, &c);
    (void)client_greet(&d, &c);
    client_close(&c);
    DESK_UNTIL(&d, d.figures.turned_away == 1)
    client_join(&d, &c, 0, 0); /* who asks for its seat is not */
    client_close(&c);
    DESK_UNTIL(&d, d.figures.enrolled == 0)
    assert_int_equal(d.figures.turned_away, 1);
    desk_stop(&d);
}

/* SipHash's own example: key 00 .. 0f, message 00 .. 0e. */
static void the_keyed_hash_is_siphash(void **state) {
    (void)state;
    unsigned char bytes[16];
    uint64_t key[2];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    memcpy(key, bytes, sizeof key);
    assert_true(tc_keyed_hash(key, bytes, 15) == UINT64_C(0xa129ca6149be45e5));
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_run_over_messages_has_the_bits_of_a_run_in_one_process),
        T(no_state_stays_where_it_came_in),
        T(nothing_is_answered_where_the_journal_fails),
        T(the_first_state_stands_and_an_answered_round_is_answered_again_with_the_same_bytes),
        T(a_newer_connection_may_say_its_state_once_and_is_told_nothing_of_the_first),
        T(a_state_of_the_wrong_length_or_slot_is_refused_and_the_connection_stays),
        T(a_state_outside_the_box_is_moved_and_its_agent_alone_is_told),
        T(an_agent_that_never_stops_being_refused_is_shown_the_door),
        T(messages_out_of_turn_end_the_connection),
        T(who_is_not_in_the_file_or_says_it_otherwise_is_refused),
        T(a_newer_connection_takes_over_at_most_once_a_second),
        T(a_gateway_speaks_for_several_and_gets_their_answers_together),
        T(who_enrols_nobody_in_time_is_sent_away),
        T(a_run_waits_before_its_first_round_for_agents_whose_sets_do_not_hold_the_public_point),
        T(the_state_of_an_agent_that_then_says_no_does_not_count),
        T(hold_uses_the_last_state_up_to_its_cap_and_then_waits),
        T(nobody_is_late_while_another_loop_still_answers),
        T(with_nobody_there_no_round_is_held),
        T(the_deadline_of_an_agent_that_comes_back_begins_anew),
        T(an_agent_that_does_not_read_costs_the_others_their_deadline_and_no_more),
        T(who_asks_again_and_again_is_ended),
        T(who_comes_while_the_cloud_stops_is_sent_away_at_once),
        T(under_hold_a_state_of_any_round_that_is_answered_gets_the_last_answer),
        T(an_agent_that_is_always_late_is_none_that_asks_again_and_again),
        T(a_cloud_that_dies_goes_on_and_gives_what_was_missed_as_it_was),
        T(agents_that_have_seen_more_than_the_journal_stop_the_cloud),
        T(a_liar_in_a_run_that_goes_is_refused_alone),
        T(after_a_restore_the_run_goes_on_after_all_that_anybody_has_seen),
        T(stopping_is_told_and_the_run_can_go_on),
        T(who_comes_again_and_again_after_the_end_does_not_keep_the_cloud),
        T(a_connection_that_ends_without_a_word_is_no_sign_that_the_last_answer_was_heard),
        T(when_all_have_left_after_the_last_answer_the_journal_knows_that_nobody_is_to_be_told),
        T(a_state_on_its_way_from_a_connection_that_was_replaced_is_no_alarm),
        T(who_hears_which_run_it_is_and_leaves_is_counted),
        T(a_run_that_is_over_gives_its_last_answer_to_whoever_missed_it),
        cmocka_unit_test(the_keyed_hash_is_siphash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
