/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
/* Agents that come back: after a pause, without their state file, and to another run after one that is over. */
#include "net/fake_cloud.h"

#include "net/agent/slot.h"

/* ---- What comes just after the agent has looked: links to this file's recv and poll (cmake/tests.cmake) ---- */

static fake *hurried;    /* its part of the handshake arrives whenever the agent has found nothing; NULL: none */
static bool is_not_open; /* the connection opens just after the agent has asked whether it is open */

ssize_t __real_recv(int descriptor, void *bytes, size_t size, int flags);
ssize_t __wrap_recv(int descriptor, void *bytes, size_t size, int flags);
int __real_poll(struct pollfd *watched, nfds_t count, int milliseconds);
int __wrap_poll(struct pollfd *watched, nfds_t count, int milliseconds);

static void shake_now(fake *f, int descriptor) {
    if (f->connection < 0)
        f->connection = accept(f->listener, NULL, NULL);
    assert_true(f->connection >= 0);
    assert_int_equal(fcntl(f->connection, F_SETFL, O_NONBLOCK), 0);
    if (f->ssl == NULL)
        f->ssl = tc_tls_accept(f->tls, f->connection);
    assert_non_null(f->ssl);
    if (SSL_do_handshake(f->ssl) != 1) { /* its flight is out, and is waited for */
        struct pollfd flight = {.fd = descriptor, .events = POLLIN};
        assert_int_equal(__real_poll(&flight, 1, 300000), 1);
    }
}

ssize_t __wrap_recv(int descriptor, void *bytes, size_t size, int flags) {
    fake *f = hurried;
    ssize_t got = __real_recv(descriptor, bytes, size, flags);
    if (got >= 0 || errno != EAGAIN || f == NULL || tc_agent_descriptor(f->agent) != descriptor ||
        (f->ssl != NULL && SSL_is_init_finished(f->ssl)))
        return got;
    hurried = NULL;
    shake_now(f, descriptor);
    hurried = f;
    errno = EAGAIN;
    return got;
}

int __wrap_poll(struct pollfd *watched, nfds_t count, int milliseconds) {
    if (is_not_open) {
        is_not_open = false;
        return 0;
    }
    return __real_poll(watched, count, milliseconds);
}

/* Who has an open connection has said hello, and does not wait for the welcome without end. */
static int expect_hello_said(fake *f) {
    bool is_open = tc_agent_link_is(f->agent->link) == TC_AGENT_LINK_OPEN;
    assert_true(!is_open || f->agent->is_welcome ||
                (f->agent->said_hello && tc_agent_wants(f->agent).milliseconds >= 0));
    return 0;
}

static void who_opens_a_connection_says_hello_at_once_whenever_it_opens(void **state) {
    (void)state;
    for (int tls = 0; tls < 2; tls++) {
        fake f;
        fake_begin(&f, tls, 1);
        assert_int_equal(fake_open(&f), TC_OK);
        f.after = expect_hello_said;
        is_not_open = !tls;
        hurried = tls ? &f : NULL;
        FAKE_UNTIL(&f, tc_agent_link_is(f.agent->link) == TC_AGENT_LINK_OPEN)
        assert_false(is_not_open);
        hurried = NULL;
        if (tls)
            FAKE_UNTIL(&f, SSL_do_handshake(f.ssl) == 1)
        else
            fake_accept(&f);
        (void)fake_receive(&f, TC_MESSAGE_HELLO);
        fake_welcome(&f);
        (void)fake_expect_enrol(&f, 0, 0);
        fake_end(&f);
    }
}

/* The answer of a run that is over is not taken for that of another. */
static void who_is_done_before_the_start_says_of_which_run(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, false);
    const char *run = "11111111111111111111111111111111";
    assert_string_equal(tc_agent_look(f.agent, 0).run, run);
    finish_run(&f, 1);
    assert_false(tc_agent_look(f.agent, 0).was_over);
    assert_string_equal(tc_agent_message(f.agent), "done");
    fake_kill(&f);
    fake_hang_up(&f);
    assert_int_equal(fake_open(&f), TC_OK);
    assert_int_equal(tc_agent_how(f.agent), TC_AGENT_DONE);
    assert_true(tc_agent_look(f.agent, 0).was_over);
    assert_string_equal(tc_agent_look(f.agent, 0).run, run);
    assert_non_null(strstr(tc_agent_message(f.agent), run));
    assert_non_null(strstr(tc_agent_message(f.agent), "the cloud was not asked"));
    fake_kill(&f);
    f.settings.new_run = true; /* the old answer is there while another cloud is waited for */
    f.run = 0x77;
    assert_int_equal(fake_open(&f), TC_OK);
    assert_int_equal(tc_agent_how(f.agent), TC_AGENT_CONNECTING);
    assert_true(tc_agent_look(f.agent, 0).was_over);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    assert_false(tc_agent_look(f.agent, 0).was_over);
    assert_string_equal(tc_agent_look(f.agent, 0).run, "77777777777777777777777777777777");
    fake_end(&f);
}

/* No cloud comes: an agent that asked for another run can give that up, and still has the old result. */
static void a_wish_for_another_run_that_no_cloud_has_can_be_taken_back(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, false);
    finish_run(&f, 1);
    fake_kill(&f);
    fake_hang_up(&f);
    (void)close(f.listener);
    f.settings.new_run = true;
    assert_int_equal(fake_open(&f), TC_OK);
    FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
    tc_agent_leave(f.agent);
    fake_kill(&f);
    f.settings.new_run = false;
    assert_int_equal(fake_open(&f), TC_OK);
    expect_done(&f);
    fake_listen(&f);
    fake_end(&f);
}

/* Only what is left of a pause is known, not when it began. So the longest rest that was seen counts. */
static bool has_paused(const fake *f, int least) {
    if (tc_agent_how(f->agent) != TC_AGENT_PAUSING)
        return false;
    tc_agent_wish wish = tc_agent_wants(f->agent);
    assert_true(!wish.read && !wish.write && wish.milliseconds >= 0 && wish.milliseconds <= 51);
    assert_non_null(strstr(tc_agent_message(f->agent), "refused"));
    return wish.milliseconds >= least;
}

static void pauses_grow_up_to_a_limit_and_are_told(void **state) {
    (void)state;
    fake f;
    fake_begin(&f, false, 1);
    (void)close(f.listener); /* nobody is there */
    f.settings.least_pause = 8;
    f.settings.most_pause = 40;
    assert_int_equal(fake_open(&f), TC_OK);
    FAKE_UNTIL(&f, has_paused(&f, 0))
    assert_true(tc_agent_wants(f.agent).milliseconds <= 11);
    FAKE_UNTIL(&f, has_paused(&f, 25)) /* the limit, a quarter less, and some turns too late */
    fake_listen(&f);
    fake_end(&f);
}

/* A connection that survives for some time after ENROLLED resets the pauses; one that ends at once does not. */
static void pauses_begin_anew_after_a_connection_that_held(void **state) {
    (void)state;
    for (int held = 0; held < 2; held++) {
        fake f;
        fake_begin(&f, false, 1);
        f.settings.settled_milliseconds = held ? 1 : 100000;
        assert_int_equal(fake_open(&f), TC_OK);
        for (unsigned i = 1; i <= 4; i++) {
            fake_greet(&f);
            (void)fake_expect_enrol(&f, 0, 0);
            fake_enrolled(&f, 0, 1);
            fake_expect_state(&f, 0, 1);
            double end = fake_now() + 0.005;
            FAKE_UNTIL(&f, fake_now() > end)
            fake_hang_up(&f);
            FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
            assert_int_equal(f.agent->tries, held ? 1 : i);
        }
        fake_end(&f);
    }
}

static bool start_elsewhere(void *context, double *x) {
    (void)context;
    x[0] = x[1] = -3;
    return true;
}

/* The first state is that of the file which the agent has now: of the wrong one nothing was sent. */
static void who_was_refused_for_its_set_comes_again_with_another_file(void **state) {
    (void)state;
    fake f;
    int64_t units[FAKE_STATES];
    fake_begin(&f, false, 1);
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_refuse(&f, 0, TC_REFUSED_SLATER);
    FAKE_UNTIL(&f, tc_agent_is_over(tc_agent_how(f.agent)))
    assert_int_equal(tc_agent_how(f.agent), TC_AGENT_NO_SLATER);
    assert_non_null(strstr(tc_agent_message(f.agent), "the run waits for it: correct its set and start it again"));
    fake_kill(&f);
    fake_hang_up(&f);
    f.steps[0].start = start_elsewhere;
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_enrolled(&f, 0, 1);
    tc_frame frame = fake_receive(&f, TC_MESSAGE_STATE);
    assert_int_equal(tc_state_decode(&frame, FAKE_STATES, units), TC_NOT_REFUSED);
    assert_true(units[0] == -3 * (1 << 20) && units[1] == units[0]);
    fake_kill(&f); /* from then on it stays as it was sent */
    fake_hang_up(&f);
    f.steps[0].start = fake_start;
    assert_int_equal(fake_open(&f), TC_OK);
    assert_true(tc_agent_look(f.agent, 0).x[0] == -3);
    fake_end(&f);
}

/* ---- Without a memory of the rounds before ---- */

static void step_foretold(double x[FAKE_STATES], uint64_t round) {
    const double p[FAKE_STATES] = {(double)round, -1};
    for (size_t i = 0; i < FAKE_STATES; i++)
        x[i] = x[i] - 0.25 * (p[i] + 0.5 * x[i]);
}

static void begin_at(fake *f, uint64_t next) {
    fake_begin(f, false, 1);
    assert_int_equal(fake_open(f), TC_OK);
    fake_greet(f);
    (void)fake_expect_enrol(f, 0, 0);
    fake_enrolled(f, 0, next);
}

static void expect_round(fake *f, uint64_t round) {
    tc_frame frame = fake_receive(f, TC_MESSAGE_STATE);
    assert_int_equal(frame.round, round);
}

/* The agent's states of rounds 1 to 3 are lost. Its average leaves these rounds out, and does not use the start
 * instead. */
static void who_begins_without_a_memory_averages_its_own_rounds_alone(void **state) {
    (void)state;
    for (int noted = 0; noted < 2; noted++) {
        fake f;
        double x[FAKE_STATES], average[FAKE_STATES];
        begin_at(&f, 3);
        fake_expect_silence(&f);
        assert_int_equal(tc_agent_oddities(f.agent), 1);
        fake_hang_up(&f); /* it has said nothing yet, and the run goes on with another process of this agent */
        fake_greet(&f);
        (void)fake_expect_enrol(&f, 0, 0);
        fake_enrolled(&f, 0, 4);
        (void)fake_start(NULL, x);
        if (noted) {
            fake_note(&f, 0, 3, TC_NOTE_LOST);
        } else {
            fake_answer_flagged(&f, 0, 3, TC_ANSWER_HELD);
            step_foretold(x, 3);
        }
        expect_round(&f, 4);
        assert_int_equal(tc_agent_oddities(f.agent), 1);
        memcpy(average, x, sizeof x);
        fake_answer(&f, 0, 4);
        step_foretold(x, 4);
        expect_round(&f, 5);
        fake_kill(&f); /* from here on it has a memory */
        fake_hang_up(&f);
        assert_int_equal(fake_open(&f), TC_OK);
        fake_greet(&f);
        (void)fake_expect_enrol(&f, 0, 4);
        fake_enrolled(&f, 0, 5);
        expect_round(&f, 5);
        for (size_t i = 0; i < FAKE_STATES; i++)
            average[i] += 3.0 / 4 * (x[i] - average[i]); /* the second of its rounds */
        fake_answer(&f, 0, 5);
        step_foretold(x, 5);
        fake_say_end(&f, 5, TC_END_DONE);
        FAKE_UNTIL(&f, tc_agent_is_over(tc_agent_how(f.agent)))
        tc_agent_view view = tc_agent_look(f.agent, 0);
        assert_int_equal(view.how, TC_AGENT_DONE);
        assert_int_equal(view.first_round, 4);
        assert_int_equal(view.answered, 5);
        assert_int_equal(tc_agent_rounds_answered(&view), 2);
        assert_memory_equal(view.x, x, sizeof x);
        assert_memory_equal(view.result, average, sizeof average);
        fake_end(&f);
    }
}

static void who_comes_without_a_memory_after_the_last_round_has_no_answer(void **state) {
    (void)state;
    fake f;
    begin_at(&f, FAKE_ROUNDS + 1);
    FAKE_UNTIL(&f, tc_agent_is_over(tc_agent_how(f.agent)))
    assert_int_equal(tc_agent_how(f.agent), TC_AGENT_REFUSED);
    assert_non_null(strstr(tc_agent_message(f.agent), "agent a1 has no state file of it"));
    assert_int_equal(tc_agent_look(f.agent, 0).rounds, 0);
    assert_int_equal(fake_receive(&f, TC_MESSAGE_LEAVE).slot, 0);
    fake_end(&f);
}

/* One whose first state was sent knows it, whether the answer came or not. */
static void who_has_said_a_state_has_a_memory(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, false);
    fake_hang_up(&f);
    fake_kill(&f);
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_enrolled(&f, 0, 2);
    finish_run(&f, 1);
    assert_int_equal(tc_agent_look(f.agent, 0).first_round, 1);
    assert_int_equal(tc_agent_oddities(f.agent), 0);
    fake_end(&f);
}

/* ---- Other servers, other keys ---- */

static void a_port_without_tls_is_told_from_a_cloud(void **state) {
    (void)state;
    static const unsigned char page[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    fake f;
    fake_begin(&f, true, 1);
    assert_int_equal(fake_open(&f), TC_OK);
    FAKE_UNTIL(&f, (f.connection = accept(f.listener, NULL, NULL)) >= 0)
    fake_send(&f, page, sizeof page - 1);
    FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
    assert_non_null(strstr(tc_agent_message(f.agent), "it does not speak TLS (is it the port of the status page?)"));
    fake_end(&f);
}

static void a_certificate_that_names_others_is_told_by_their_names(void **state) {
    (void)state;
    for (int several = 0; several < 2; several++) {
        fake f;
        fake_begin(&f, true, 1);
        const char *const names[] = {"elm", "oak", "yew"};
        assert_int_equal(tc_authority_issue(f.k.arena, f.k.folder, "site", names, several ? 3 : 1, NULL, &f.k.messages),
                         TC_OK);
        f.settings.keys = keys_path(&f.k, "agents/site");
        assert_int_equal(fake_open(&f), TC_OK);
        fake_greet(&f);
        (void)fake_expect_enrol(&f, 0, 0);
        fake_refuse(&f, 0, TC_REFUSED_IDENTITY);
        FAKE_UNTIL(&f, tc_agent_is_over(tc_agent_how(f.agent)))
        assert_non_null(
            strstr(tc_agent_message(f.agent),
                   several ? "does not name this agent, but elm and 2 more; tacit keys issue makes a certificate"
                           : "does not name this agent, but elm; tacit keys issue makes a certificate"));
        fake_end(&f);
    }
}

/* The machine's clock is behind: its certificate is not valid yet. It waits and does not give up. */
static void who_has_a_certificate_of_tomorrow_tries_again_until_it_holds(void **state) {
    (void)state;
    fake f;
    fake_begin(&f, true, 1);
    tc_authority_settings tomorrow = {.now = time(NULL) + 86400};
    keys_issue(&f.k, "a2", &tomorrow);
    const char *today = f.settings.keys, *own = keys_path(&f.k, "agents/a2");
    f.settings.keys = own;
    assert_int_equal(fake_open(&f), TC_OK);
    for (unsigned i = 0; i < 3; i++) {
        FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
        assert_non_null(strstr(tc_agent_message(f.agent), "not yet valid"));
        assert_true(tc_agent_wants(f.agent).milliseconds >= 0);
        FAKE_UNTIL(&f, f.agent->tries > i + 1)
    }
    assert_true(accept(f.listener, NULL, NULL) < 0); /* and bothers nobody */
    assert_int_equal(remove(tc_arena_format(f.k.arena, "%s/identity.pem", own)), 0);
    assert_int_equal(rename(tc_arena_format(f.k.arena, "%s/identity.pem", today),
                            tc_arena_format(f.k.arena, "%s/identity.pem", own)),
                     0); /* as if a day had passed */
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_end(&f);
}

/* The same if the cloud's certificate is not valid yet by this agent's clock. */
static void a_cloud_with_a_certificate_of_tomorrow_is_tried_again(void **state) {
    (void)state;
    fake f;
    fake_begin(&f, true, 1);
    tc_authority_settings tomorrow = {.now = time(NULL) + 86400};
    size_t renewed;
    SSL_CTX *early;
    assert_int_equal(tc_authority_renew(f.k.arena, f.k.folder, "cloud", true, &tomorrow, &f.k.messages, &renewed),
                     TC_OK);
    assert_int_equal(tc_tls_cloud(f.k.arena, keys_path(&f.k, "cloud"), &f.k.messages, &early), TC_CANNOT_READ);
    const char *file = keys_path(&f.k, "cloud/identity.pem");
    assert_int_equal(SSL_CTX_use_certificate_file(f.tls, file, SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(f.tls, file, SSL_FILETYPE_PEM), 1);
    assert_int_equal(fake_open(&f), TC_OK);
    for (unsigned i = 0; i < 3; i++) {
        FAKE_UNTIL(&f, (f.connection = accept(f.listener, NULL, NULL)) >= 0)
        assert_int_equal(fcntl(f.connection, F_SETFL, O_NONBLOCK), 0);
        f.ssl = tc_tls_accept(f.tls, f.connection);
        assert_non_null(f.ssl);
        FAKE_UNTIL(&f, SSL_do_handshake(f.ssl) != 1 && tc_agent_how(f.agent) == TC_AGENT_PAUSING)
        assert_non_null(strstr(tc_agent_message(f.agent), "not yet valid"));
        fake_hang_up(&f);
    }
    fake_end(&f);
}

/* A cloud that sends much and says nothing: the agent's turn ends, and so does the connection. */
static void a_flood_of_key_updates_ends_the_connection(void **state) {
    (void)state;
    fake f;
    fake_begin(&f, true, 1);
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    for (unsigned i = 0; i < 5000; i++) { /* all of it is there before the agent looks */
        if (SSL_key_update(f.ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1 || SSL_do_handshake(f.ssl) != 1)
            break;
    }
    FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
    assert_non_null(strstr(tc_agent_message(f.agent), "without data"));
    fake_end(&f);
}

/* Twice it comes back, not before its time; the third time it is over. */
static void who_is_replaced_comes_back_twice(void **state) {
    (void)state;
    fake f;
    fake_begin(&f, false, 1);
    f.settings.replaced_milliseconds = 1000000;
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    for (unsigned time = 1; time <= 3; time++) {
        fake_enrolled(&f, 0, 1);
        fake_expect_state(&f, 0, 1);
        fake_refuse(&f, 0, TC_REFUSED_REPLACED);
        fake_refuse(&f, 0, TC_REFUSED_SLOT); /* of what it sent before it knew */
        FAKE_UNTIL(&f, tc_agent_how(f.agent) != TC_AGENT_RUNNING)
        assert_int_equal(tc_agent_oddities(f.agent), time < 3 ? time : 2);
        if (time == 3)
            break;
        assert_int_equal(tc_agent_how(f.agent), TC_AGENT_PAUSING);
        assert_true(tc_agent_wants(f.agent).milliseconds > 900000);
        f.agent->deadline = f.agent->slots[0].again_at = tc_agent_clock();
        fake_hang_up(&f);
        fake_greet(&f);
        (void)fake_expect_enrol(&f, 0, 0);
    }
    assert_int_equal(tc_agent_how(f.agent), TC_AGENT_REFUSED);
    assert_non_null(strstr(tc_agent_message(f.agent), "for the third time"));
    fake_end(&f);
}

/* The others of a gateway go on meanwhile, on the same connection. */
static void of_a_gateway_the_one_that_is_replaced_waits_alone(void **state) {
    (void)state;
    fake f;
    fake_begin(&f, false, 2);
    f.settings.replaced_milliseconds = 1000000;
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    for (uint32_t slot = 0; slot < 2; slot++)
        (void)fake_expect_enrol(&f, slot, 0);
    for (uint32_t slot = 0; slot < 2; slot++) {
        fake_enrolled(&f, slot, 1);
        fake_expect_state(&f, slot, 1);
    }
    fake_refuse(&f, 1, TC_REFUSED_REPLACED);
    FAKE_UNTIL(&f, tc_agent_oddities(f.agent) == 1)
    fake_answer(&f, 0, 1);
    fake_expect_state(&f, 0, 2);
    int left = tc_agent_wants(f.agent).milliseconds;
    assert_true(left > 900000 && left <= 1000000);
    f.agent->again_at = f.agent->slots[1].again_at = tc_agent_clock();
    (void)fake_expect_enrol(&f, 1, 0);
    assert_int_equal(f.agent->again_at, 0);
    fake_end(&f);
}

static void who_pauses_connects_at_once_with_new_keys(void **state) {
    (void)state;
    char why[TC_AGENT_WHY];
    fake f;
    fake_begin(&f, true, 1);
    f.settings.least_pause = f.settings.most_pause = 1000000;
    assert_int_equal(fake_open(&f), TC_OK);
    fake_greet(&f);
    fake_hang_up(&f);
    FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
    assert_true(tc_agent_renew(f.agent, why));
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    fake_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_replaced_comes_back_twice),
        cmocka_unit_test(of_a_gateway_the_one_that_is_replaced_waits_alone),
        cmocka_unit_test(who_pauses_connects_at_once_with_new_keys),
        cmocka_unit_test(who_opens_a_connection_says_hello_at_once_whenever_it_opens),
        cmocka_unit_test(who_has_a_certificate_of_tomorrow_tries_again_until_it_holds),
        cmocka_unit_test(a_cloud_with_a_certificate_of_tomorrow_is_tried_again),
        cmocka_unit_test(a_flood_of_key_updates_ends_the_connection),
        cmocka_unit_test(who_is_done_before_the_start_says_of_which_run),
        cmocka_unit_test(a_wish_for_another_run_that_no_cloud_has_can_be_taken_back),
        cmocka_unit_test(who_was_refused_for_its_set_comes_again_with_another_file),
        cmocka_unit_test(pauses_grow_up_to_a_limit_and_are_told),
        cmocka_unit_test(pauses_begin_anew_after_a_connection_that_held),
        cmocka_unit_test(who_begins_without_a_memory_averages_its_own_rounds_alone),
        cmocka_unit_test(who_comes_without_a_memory_after_the_last_round_has_no_answer),
        cmocka_unit_test(who_has_said_a_state_has_a_memory),
        cmocka_unit_test(a_port_without_tls_is_told_from_a_cloud),
        cmocka_unit_test(a_certificate_that_names_others_is_told_by_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
