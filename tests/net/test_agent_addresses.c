/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
/* Agents whose cloud has several addresses: which one is tried when, and clouds that have seen less than the agent. */
#include "net/fake_cloud.h"

#include "net/agent/slot.h"

#include <netinet/tcp.h>

/* Where the pause is so long, a test that waited for one would not come to its end. */
enum { NEVER = 100000000 };

typedef struct pair { /* two places of one cloud; both drive the agent of the first */
    fake a, b;
    char both[80];
} pair;

static void pair_begin(pair *p, size_t agents) {
    fake_begin(&p->a, false, agents);
    fake_begin(&p->b, false, agents);
    (void)snprintf(p->both, sizeof p->both, "%s,%s", p->a.address, p->b.address);
    p->a.settings.cloud = p->both;
    p->a.settings.least_pause = p->a.settings.most_pause = NEVER;
}

static void pair_open(pair *p) {
    assert_int_equal(fake_open(&p->a), TC_OK);
    p->b.agent = p->a.agent;
}

static void pair_kill(pair *p) {
    fake_kill(&p->a);
    fake_hang_up(&p->a);
    fake_hang_up(&p->b);
}

static void pair_end(pair *p) {
    fake_end(&p->a);
    fake_end(&p->b);
}

static void leave_the_port(fake *f) {
    (void)close(f->listener);
    f->listener = -1;
}

/* The first round at one of the two, in this epoch. */
static void first_round(fake *f, uint64_t epoch) {
    f->epoch.number = epoch;
    fake_greet(f);
    (void)fake_expect_enrol(f, 0, 0);
    fake_enrolled(f, 0, 1);
    fake_expect_state(f, 0, 1);
    fake_rounds(f, 1, 1);
}

static void expect_no_caller(const fake *f) { assert_int_equal(accept(f->listener, NULL, NULL), -1); }

static bool pauses_because(const fake *f, const char *why, const char *of) {
    const char *text = tc_agent_message(f->agent);
    return tc_agent_how(f->agent) == TC_AGENT_PAUSING && strstr(text, why) != NULL && strstr(text, of) != NULL;
}

static void the_second_address_is_tried_at_once_when_the_first_refuses(void **state) {
    (void)state;
    pair p;
    pair_begin(&p, 1);
    leave_the_port(&p.a);
    pair_open(&p);
    FAKE_UNTIL(&p.a, tc_agent_how(p.a.agent) == TC_AGENT_PAUSING)
    assert_true(pauses_because(&p.a, "refused", p.a.address));
    assert_int_equal(tc_agent_wants(p.a.agent).milliseconds, 0);
    assert_int_equal(tc_agent_last_attempt(p.a.agent).cloud, 0);
    assert_string_equal(tc_agent_last_attempt(p.a.agent).next, p.b.address);
    first_round(&p.b, 1);
    finish_run(&p.b, 2);
    pair_end(&p);
}

static void the_pause_comes_and_grows_when_all_were_tried(void **state) {
    (void)state;
    pair p;
    pair_begin(&p, 1);
    leave_the_port(&p.a);
    leave_the_port(&p.b);
    p.a.settings.least_pause = p.a.settings.most_pause = 1;
    pair_open(&p);
    for (unsigned pass = 0; pass < 3; pass++) {
        FAKE_UNTIL(&p.a, pauses_because(&p.a, "refused", p.a.address))
        assert_int_equal(p.a.agent->tries, pass);
        FAKE_UNTIL(&p.a, pauses_because(&p.a, "refused", p.b.address))
        assert_int_equal(p.a.agent->tries, pass + 1);
        assert_string_equal(tc_agent_last_attempt(p.a.agent).next, p.a.address);
    }
    pair_end(&p);
}

static void the_address_that_last_worked_is_tried_first(void **state) {
    (void)state;
    pair p;
    pair_begin(&p, 1);
    pair_open(&p);
    fake_accept(&p.a); /* lost before it said anything */
    fake_hang_up(&p.a);
    first_round(&p.b, 1);
    p.a.agent->settings.least_pause = p.a.agent->settings.most_pause = 1;
    for (unsigned i = 0; i < 3; i++) {
        fake_hang_up(&p.b);
        FAKE_UNTIL(&p.b, tc_agent_how(p.a.agent) == TC_AGENT_PAUSING)
        assert_true(pauses_because(&p.a, "the", p.b.address)); /* the message says which connection was lost */
        assert_null(tc_agent_last_attempt(p.a.agent).next);
        assert_int_equal(p.a.agent->tries, 1);
        fake_greet(&p.b);
        (void)fake_expect_enrol(&p.b, 0, 1 + i);
        expect_no_caller(&p.a);
        fake_enrolled(&p.b, 0, 2 + i);
        fake_expect_state(&p.b, 0, 2 + i);
        fake_rounds(&p.b, 2 + i, 2 + i);
    }
    pair_end(&p);
}

static void a_cloud_that_moves_back_is_found(void **state) {
    (void)state;
    pair p;
    pair_begin(&p, 1);
    pair_open(&p);
    fake_accept(&p.a); /* lost before it said anything */
    fake_hang_up(&p.a);
    first_round(&p.b, 1);
    p.a.agent->settings.least_pause = p.a.agent->settings.most_pause = 1;
    fake_hang_up(&p.b);
    leave_the_port(&p.b);
    p.a.epoch.number = 2;
    fake_greet(&p.a);
    (void)fake_expect_enrol(&p.a, 0, 1);
    fake_enrolled(&p.a, 0, 2);
    fake_expect_state(&p.a, 0, 2);
    finish_run(&p.a, 2);
    pair_end(&p);
}

/* A cloud that enrols and falls at once does not keep the agent from the other. */
static void an_enrolment_that_does_not_last_is_no_success(void **state) {
    (void)state;
    pair p;
    pair_begin(&p, 1);
    p.a.settings.settled_milliseconds = NEVER;
    pair_open(&p);
    fake_greet(&p.a);
    (void)fake_expect_enrol(&p.a, 0, 0);
    fake_enrolled(&p.a, 0, 1);
    fake_expect_state(&p.a, 0, 1);
    fake_hang_up(&p.a);
    first_round(&p.b, 2);
    pair_end(&p);
}

/* Codes after which an agent comes back, and one of a later version: perhaps that it stands by. */
static void a_cloud_that_sends_agents_away_is_left_for_the_next(void **state) {
    (void)state;
    static const unsigned codes[] = {TC_REFUSED_CROWD, 99};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        pair p;
        pair_begin(&p, 1);
        pair_open(&p);
        fake_accept(&p.a);
        (void)fake_receive(&p.a, TC_MESSAGE_HELLO);
        fake_refuse(&p.a, TC_NO_SLOT, codes[i]);
        first_round(&p.b, 1);
        expect_no_caller(&p.a);
        pair_end(&p);
    }
}

/* A machine that drops packets: a listener whose queue is full does the same. */
static void a_machine_that_is_gone_costs_the_time_to_connect(void **state) {
    (void)state;
    for (int limit = 0; limit < 2; limit++) {
        int fillers[8];
        pair p;
        pair_begin(&p, 1);
        struct sockaddr_in at;
        socklen_t size = sizeof at;
        assert_int_equal(getsockname(p.a.listener, (struct sockaddr *)&at, &size), 0);
        assert_int_equal(listen(p.a.listener, 0), 0);
        for (size_t i = 0; i < 8; i++) {
            fillers[i] = socket(AF_INET, SOCK_STREAM, 0);
            assert_int_equal(fcntl(fillers[i], F_SETFL, O_NONBLOCK), 0);
            (void)connect(fillers[i], (struct sockaddr *)&at, sizeof at);
        }
        p.a.settings.open_milliseconds = limit == 0 ? 30 : 0;
        pair_open(&p);
        if (limit == 0) {
            FAKE_UNTIL(&p.a, pauses_because(&p.a, "no answer", p.a.address))
            p.a.agent->settings.open_milliseconds = p.a.agent->link->settings.open_milliseconds = 10000;
            first_round(&p.b, 1);
        } else {
            (void)tc_agent_advance(p.a.agent);
            assert_int_equal(tc_agent_how(p.a.agent), TC_AGENT_CONNECTING);
            assert_true(tc_agent_wants(p.a.agent).milliseconds <= TC_AGENT_CONNECT);
            int timeout = 0;
            size = sizeof timeout;
            int descriptor = tc_agent_descriptor(p.a.agent);
            assert_int_equal(getsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, &size), 0);
            assert_int_equal(timeout, 1000 * TC_AGENT_PATIENCE);
        }
        for (size_t i = 0; i < 8; i++)
            (void)close(fillers[i]);
        pair_end(&p);
    }
}

/* ---- Clouds that have seen less than the agent ---- */

/* How a cloud shows that it is stale, or is found out. */
static void be_stale(fake *f, unsigned way, uint64_t answered) {
    fake_greet(f);
    assert_int_equal(fake_expect_enrol(f, 0, answered).epoch.number, 5); /* it is told what this agent has seen */
    if (way == 0)
        fake_refuse(f, 0, TC_REFUSED_ROLLBACK);
    else if (way == 1)
        fake_refuse(f, TC_NO_SLOT, TC_REFUSED_ROLLBACK);
    else
        fake_enrolled(f, 0, answered + 1);
}

/* No state was sent; the connection ends. */
static void expect_nothing_but_an_end(fake *f) {
    tc_frame frame;
    size_t wanted;
    fake_drop_taken(f);
    while (fake_read(f))
        ;
    if (tc_frame_cut(f->in, f->in_size, FAKE_ROOM, &frame, &f->in_taken, &wanted) == TC_CUT_FRAME)
        assert_string_equal(tc_message_name(frame.type), "leave");
    fake_hang_up(f);
}

static void a_stale_cloud_does_not_keep_an_agent_from_the_other(void **state) {
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        pair p;
        pair_begin(&p, 1);
        pair_open(&p);
        first_round(&p.a, 5);
        pair_kill(&p);
        pair_open(&p);
        p.a.epoch.number = 4;
        p.b.epoch.number = 6;
        be_stale(&p.a, way, 1);
        fake_greet(&p.b);
        expect_nothing_but_an_end(&p.a);
        (void)fake_expect_enrol(&p.b, 0, 1);
        fake_enrolled(&p.b, 0, 2);
        fake_expect_state(&p.b, 0, 2);
        assert_int_equal(tc_agent_lost(p.a.agent), 0);
        finish_run(&p.b, 2);
        pair_end(&p);
    }
}

static void an_agent_ends_when_all_clouds_are_stale(void **state) {
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        pair p;
        pair_begin(&p, 1);
        pair_open(&p);
        first_round(&p.a, 5);
        pair_kill(&p);
        pair_open(&p);
        p.a.epoch.number = p.b.epoch.number = 4;
        be_stale(&p.a, way, 1);
        be_stale(&p.b, way, 1);
        FAKE_UNTIL(&p.b, tc_agent_is_over(tc_agent_how(p.a.agent)))
        assert_int_equal(tc_agent_how(p.a.agent), TC_AGENT_REFUSED);
        assert_non_null(strstr(tc_agent_message(p.a.agent), "--after-restore"));
        assert_non_null(strstr(tc_agent_message(p.a.agent), p.b.address));
        expect_nothing_but_an_end(&p.a);
        expect_nothing_but_an_end(&p.b);
        pair_end(&p);
    }
}

/* The other may come back, or the stale one be restored: the agent waits for either. */
static void a_stale_cloud_and_one_that_is_gone_are_tried_again(void **state) {
    (void)state;
    pair p;
    pair_begin(&p, 1);
    p.a.settings.least_pause = p.a.settings.most_pause = 1;
    pair_open(&p);
    first_round(&p.a, 5);
    fake_hang_up(&p.a);
    leave_the_port(&p.b);
    p.a.epoch.number = 4;
    for (unsigned i = 0; i < 3; i++) {
        be_stale(&p.a, i, 1);
        FAKE_UNTIL(&p.a, pauses_because(&p.a, "epoch", p.a.address))
        FAKE_UNTIL(&p.a, pauses_because(&p.a, "refused", p.b.address))
        fake_hang_up(&p.a);
    }
    p.a.epoch.number = 6;
    fake_greet(&p.a);
    (void)fake_expect_enrol(&p.a, 0, 1);
    fake_enrolled(&p.a, 0, 2);
    fake_expect_state(&p.a, 0, 2);
    finish_run(&p.a, 2);
    pair_end(&p);
}

/* One agent of a gateway knows better: none of them stays, not even one that was answered. */
static void a_gateway_goes_on_as_a_whole(void **state) {
    (void)state;
    for (unsigned is_whole = 0; is_whole < 2; is_whole++) {
        pair p;
        pair_begin(&p, 1);
        pair_open(&p);
        first_round(&p.a, 5);
        pair_kill(&p);
        p.a.settings.count = 2; /* the second has seen nothing */
        pair_open(&p);
        p.a.epoch.number = 4;
        p.b.epoch.number = 6;
        fake_greet(&p.a);
        (void)fake_expect_enrol(&p.a, 0, 1);
        (void)fake_expect_enrol(&p.a, 1, 0);
        if (!is_whole) {
            fake_enrolled(&p.a, 1, 1);
            fake_expect_state(&p.a, 1, 1);
            fake_answer(&p.a, 1, 1);
            fake_expect_state(&p.a, 1, 2);
        }
        fake_refuse(&p.a, is_whole ? TC_NO_SLOT : 0, TC_REFUSED_ROLLBACK);
        fake_greet(&p.b);
        expect_nothing_but_an_end(&p.a);
        (void)fake_expect_enrol(&p.b, 0, 1);
        (void)fake_expect_enrol(&p.b, 1, is_whole ? 0 : 1);
        assert_int_equal(tc_agent_lost(p.a.agent), 0);
        pair_end(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_address_is_tried_at_once_when_the_first_refuses),
        cmocka_unit_test(the_pause_comes_and_grows_when_all_were_tried),
        cmocka_unit_test(the_address_that_last_worked_is_tried_first),
        cmocka_unit_test(a_cloud_that_moves_back_is_found),
        cmocka_unit_test(an_enrolment_that_does_not_last_is_no_success),
        cmocka_unit_test(a_cloud_that_sends_agents_away_is_left_for_the_next),
        cmocka_unit_test(a_machine_that_is_gone_costs_the_time_to_connect),
        cmocka_unit_test(a_stale_cloud_does_not_keep_an_agent_from_the_other),
        cmocka_unit_test(an_agent_ends_when_all_clouds_are_stale),
        cmocka_unit_test(a_stale_cloud_and_one_that_is_gone_are_tried_again),
        cmocka_unit_test(a_gateway_goes_on_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
