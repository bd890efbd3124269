/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
#include "serve/client.h"

#include "serve/link/links.h"

#include <sys/ioctl.h>

static cloud c;

enum { SEALED_ROOM = 1 << 20 };

static int begin(void **state) {
    (void)state;
    cloud_begin(&c, (tc_links_settings){0});
    return 0;
}

static int end(void **state) {
    (void)state;
    cloud_end(&c);
    return 0;
}

static size_t make_state(unsigned char *bytes, uint32_t slot, uint64_t round, uint32_t states) {
    int64_t *units = calloc(states, sizeof *units);
    assert_non_null(units);
    for (uint32_t i = 0; i < states; i++)
        units[i] = (int64_t)(round * 1000 + i);
    tc_state_encode(slot, round, units, states, bytes);
    free(units);
    return tc_state_size(states);
}

static void a_frame_is_answered_and_its_sender_known(void **state) {
    (void)state;
    SSL_CTX *context = client_context(&c);
    SSL *client = client_open(&c, context);
    unsigned char bytes[256], answer[256];
    size_t size = make_state(bytes, 0, 1, 3);
    client_send(&c, client, bytes, size);
    tc_frame frame = client_frame(&c, client, answer, sizeof answer);
    assert_int_equal(frame.type, TC_MESSAGE_ANSWER);
    assert_memory_equal(frame.body, bytes + TC_FRAME_HEADER, size - TC_FRAME_HEADER);
    assert_true(tc_identity_has(tc_link_identity(c.last), "a", 1));
    client_close(client);
    cloud_run_until(&c, &c.closed, 1);
    SSL_CTX_free(context);
}

static void frames_arrive_whole_however_they_are_cut(void **state) {
    (void)state;
    enum { FRAMES = 20, STATES = 5 };
    SSL_CTX *context = client_context(&c);
    SSL *client = client_open(&c, context);
    unsigned char bytes[FRAMES * (TC_FRAME_HEADER + 8 * STATES)], answer[256];
    size_t size = 0;
    for (uint32_t i = 0; i < FRAMES; i++)
        size += make_state(bytes + size, i, i + 1, STATES);
    static const size_t pieces[] = {1, 7, 24, 25, 63, 64, sizeof bytes};
    for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
        for (size_t at = 0; at < size; at += pieces[p])
            client_send(&c, client, bytes + at, size - at < pieces[p] ? size - at : pieces[p]);
        for (uint32_t i = 0; i < FRAMES; i++) {
            tc_frame frame = client_frame(&c, client, answer, sizeof answer);
            assert_int_equal(frame.slot, i);
            assert_int_equal(frame.round, i + 1);
            assert_memory_equal(frame.body, bytes + i * tc_state_size(STATES) + TC_FRAME_HEADER, 8 * STATES);
        }
    }
    client_close(client);
    SSL_CTX_free(context);
}

static void a_frame_longer_than_the_shared_buffer_arrives(void **state) {
    (void)state;
    enum { STATES = 100000 };
    SSL_CTX *context = client_context(&c);
    SSL *client = client_open(&c, context);
    size_t room = tc_state_size(STATES);
    unsigned char *bytes = malloc(2 * room), *answer = malloc(room);
    assert_true(bytes != NULL && answer != NULL);
    size_t size = make_state(bytes, 0, 1, STATES);
    size += make_state(bytes + size, 0, 2, STATES);
    c.echo = 8;
    client_send(&c, client, bytes, size);
    assert_int_equal(client_frame(&c, client, answer, room).round, 1);
    assert_int_equal(client_frame(&c, client, answer, room).round, 2);
    free(bytes);
    free(answer);
    client_close(client);
    SSL_CTX_free(context);
}

static void expect_refused(const unsigned char *bytes, size_t size, tc_refusal_code code) {
    SSL_CTX *context = client_context(&c);
    SSL *client = client_open(&c, context), *other = client_open(&c, context);
    unsigned char answer[512];
    tc_refusal refusal;
    unsigned closed = c.closed;
    client_send(&c, client, bytes, size);
    tc_frame frame = client_frame(&c, client, answer, sizeof answer);
    assert_int_equal(frame.type, TC_MESSAGE_REFUSAL);
    assert_int_equal(tc_refusal_decode(&frame, &refusal), TC_NOT_REFUSED);
    assert_int_equal(refusal.code, code);
    assert_true(refusal.reason_length > 0);
    assert_false(client_receive(&c, client, answer, 1)); /* and then it ends */
    assert_int_equal(c.closed, closed + 1);
    assert_int_equal(c.ends[closed % SEEN], TC_LINK_REFUSED);
    size = make_state(answer, 0, 1, 3); /* the others are not disturbed */
    client_send(&c, other, answer, size);
    assert_int_equal(client_frame(&c, other, answer, sizeof answer).type, TC_MESSAGE_ANSWER);
    client_close(client);
    client_close(other);
    SSL_CTX_free(context);
}

static void broken_frames_are_refused_with_a_reason_and_nobody_else_notices(void **state) {
    (void)state;
    unsigned char bytes[TC_FRAME_HEADER];
    (void)tc_frame_begin(bytes, TC_MESSAGE_STATE, 0, 1, (size_t)TC_FRAME_HEADER + (1 << 20) + 1);
    expect_refused(bytes, sizeof bytes, TC_REFUSED_FRAME);
    (void)tc_frame_begin(bytes, TC_MESSAGE_STATE, 0, TC_FRAME_MOST_ROUND + 1, TC_FRAME_HEADER);
    expect_refused(bytes, sizeof bytes, TC_REFUSED_FRAME);
    memset(bytes, 'x', sizeof bytes);
    expect_refused(bytes, sizeof bytes, TC_REFUSED_FRAME);
}

static void a_connection_cut_in_the_middle_of_a_frame_is_noticed(void **state) {
    (void)state;
    SSL_CTX *context = client_context(&c);
    SSL *client = client_open(&c, context);
    unsigned char bytes[256];
    size_t size = make_state(bytes, 0, 1, 3);
    client_send(&c, client, bytes, size - 5);
    (void)SSL_shutdown(client);
    client_close(client);
    cloud_run_until(&c, &c.closed, 1);
    assert_int_equal(c.ends[0], TC_LINK_LEFT);
    assert_non_null(strstr(c.why[0], "middle"));
    assert_int_equal(c.frames, 0);
    SSL_CTX_free(context);
}

static void plain_http_and_garbage_cost_no_handshake(void **state) {
    (void)state;
    static const char *const texts[] = {"GET / HTTP/1.1\r\n\r\n", "\x80\x01garbage", "SSH-2.0-x\r\n"};
    for (unsigned i = 0; i < 3; i++) {
        int descriptor = client_connect(&c);
        assert_true(write(descriptor, texts[i], strlen(texts[i])) > 0);
        cloud_run_until(&c, &c.closed, i + 1);
        assert_int_equal(c.ends[i], TC_LINK_REFUSED);
        char answer[512] = {0};
        assert_true(read(descriptor, answer, sizeof answer - 1) > 0);
        assert_non_null(strstr(answer, "400"));
        (void)close(descriptor);
    }
    /* a record that begins like a handshake and is none */
    int descriptor = client_connect(&c);
    assert_int_equal(write(descriptor, "\x16\x03\x01\x00\x05hello", 10), 10);
    cloud_run_until(&c, &c.closed, 4);
    assert_int_equal(c.ends[3], TC_LINK_BROKEN);
    (void)close(descriptor);
    assert_int_equal(tc_links_count(c.links).opened, 0);
    assert_int_equal(tc_links_count(c.links).failed, 4);
}

/* It sends states and never takes an answer: it is not read any more, and in the end it is closed. */
static void who_does_not_read_is_not_read(void **state) {
    (void)state;
    SSL_CTX *context = client_context(&c);
    SSL *deaf = client_open(&c, context), *other = client_open(&c, context);
    unsigned char bytes[256], answer[256];
    size_t size = make_state(bytes, 0, 1, 3), sent;
    c.echo = 100000;
    unsigned before = 0;
    double stop = seconds_now() + 300;
    for (unsigned still = 0; still < 2000; still++) { /* until no more is read */
        (void)SSL_write_ex(deaf, bytes, size, &sent);
        cloud_turn(&c);
        if (c.frames == before && before > 0)
            continue;
        still = 0;
        before = c.frames;
        assert_true(seconds_now() < stop);
    }
    assert_true(before < 200); /* what the sockets' buffers took, and no more */
    for (unsigned i = 0; i < 1000; i++) {
        (void)SSL_write_ex(deaf, bytes, size, &sent);
        cloud_turn(&c);
    }
    assert_int_equal(c.frames, before);
    c.echo = 0;
    client_send(&c, other, bytes, size);
    assert_int_equal(client_frame(&c, other, answer, sizeof answer).type, TC_MESSAGE_ANSWER);
    /* it reads after all, and everything comes, in order */
    unsigned char *long_answer = malloc(TC_FRAME_HEADER + 100000);
    assert_non_null(long_answer);
    for (unsigned i = 0; i < before; i++)
        assert_int_equal(client_frame(&c, deaf, long_answer, TC_FRAME_HEADER + 100000).length, 100000);
    assert_true(c.drained >= 1);
    free(long_answer);
    client_close(deaf);
    client_close(other);
    SSL_CTX_free(context);
}

static void answer_of(unsigned char *bytes, uint64_t round, size_t size) {
    memset(bytes, 0, size);
    (void)tc_frame_begin(bytes, TC_MESSAGE_ANSWER, 0, round, size);
}

static void seal(tc_link *link, tc_sealed *sealed, unsigned char *bytes, uint64_t round, size_t size) {
    answer_of(bytes, round, size);
    assert_true(tc_link_may_seal(size, sealed));
    tc_link_seal(link, bytes, size, sealed);
}

static bool is_readable(SSL *client) {
    int bytes = 0;
    assert_int_equal(ioctl(SSL_get_fd(client), FIONREAD, &bytes), 0);
    return bytes > 0;
}

static void what_is_sealed_leaves_when_it_is_sent(void **state) {
    (void)state;
    SSL_CTX *context = client_context(&c);
    SSL *one = client_open(&c, context);
    tc_link *first = c.last;
    SSL *two = client_open(&c, context);
    tc_link *second = c.last;
    unsigned char bytes[256];
    tc_sealed sealed = {.bytes = malloc(SEALED_ROOM), .room = SEALED_ROOM};
    assert_non_null(sealed.bytes);
    for (uint64_t round = 1; round <= 3; round++) {
        seal(first, &sealed, bytes, round, sizeof bytes);
        seal(second, &sealed, bytes, round + 10, 100);
        cloud_run(&c, 0.02);
        assert_false(is_readable(one) || is_readable(two));
        tc_sealed_send(&sealed);
        assert_int_equal(sealed.size, 0);
        assert_int_equal(client_frame(&c, one, bytes, sizeof bytes).round, round);
        assert_int_equal(client_frame(&c, two, bytes, sizeof bytes).round, round + 10);
        answer_of(bytes, round + 20, sizeof bytes); /* others follow */
        tc_link_send(first, bytes, sizeof bytes);
        assert_int_equal(client_frame(&c, one, bytes, sizeof bytes).round, round + 20);
    }
    free(sealed.bytes);
    client_close(one);
    client_close(two);
    SSL_CTX_free(context);
}

/* What the network does not take is kept, and goes before what is sent later. */
static void what_is_sealed_waits_for_a_slow_reader(void **state) {
    (void)state;
    enum { SIZE = 200000 };
    cloud_end(&c);
    cloud_begin(&c, (tc_links_settings){.most_kept = 8 << 20});
    SSL_CTX *context = client_context(&c);
    SSL *client = client_open(&c, context);
    unsigned char *bytes = malloc(SIZE);
    tc_sealed sealed = {.bytes = malloc(SEALED_ROOM), .room = SEALED_ROOM};
    assert_true(bytes != NULL && sealed.bytes != NULL);
    uint64_t round = 0;
    while (tc_link_is_drained(c.last)) {
        assert_true(round < 1000);
        seal(c.last, &sealed, bytes, ++round, SIZE);
        tc_sealed_send(&sealed);
    }
    answer_of(bytes, ++round, SIZE);
    tc_link_send(c.last, bytes, SIZE);
    for (uint64_t k = 1; k <= round; k++)
        assert_int_equal(client_frame(&c, client, bytes, SIZE).round, k);
    cloud_run_until(&c, &c.drained, 1);
    seal(c.last, &sealed, bytes, ++round, SIZE);
    tc_sealed_send(&sealed);
    assert_int_equal(client_frame(&c, client, bytes, SIZE).round, round);
    free(bytes);
    free(sealed.bytes);
    client_close(client);
    SSL_CTX_free(context);
}

/* More than one call of the system takes; some have left meanwhile. */
static void of_many_sealed_links_each_gets_its_own(void **state) {
    (void)state;
    enum { MANY = 45 };
    SSL_CTX *context = client_context(&c);
    SSL *clients[MANY];
    tc_link *links[MANY];
    unsigned char bytes[256];
    tc_sealed sealed = {.bytes = malloc(SEALED_ROOM), .room = SEALED_ROOM};
    assert_non_null(sealed.bytes);
    for (size_t i = 0; i < MANY; i++) {
        clients[i] = client_open(&c, context);
        links[i] = c.last;
    }
    for (uint64_t round = 1; round <= 2; round++) {
        for (size_t i = 0; i < MANY; i++)
            seal(links[i], &sealed, bytes, 100 * round + i, 60 + i);
        assert_int_equal(sealed.count, MANY);
        if (round == 2) {
            tc_link_kill(links[3], TC_LINK_BROKEN, "by the test");
            tc_link_kill(links[20], TC_LINK_BROKEN, "by the test");
        }
        tc_sealed_send(&sealed);
        assert_int_equal(sealed.size + sealed.count, 0);
        for (size_t i = 0; i < MANY; i++)
            if (round == 1 || (i != 3 && i != 20))
                assert_int_equal(client_frame(&c, clients[i], bytes, sizeof bytes).round, 100 * round + i);
    }
    assert_int_equal(c.closed, 2);
    for (size_t i = 0; i < MANY; i++)
        client_close(clients[i]);
    free(sealed.bytes);
    SSL_CTX_free(context);
}

static void what_is_discarded_never_leaves_and_its_link_only_ends(void **state) {
    (void)state;
    SSL_CTX *context = client_context(&c);
    SSL *client = client_open(&c, context);
    unsigned char bytes[256], byte;
    tc_sealed sealed = {.bytes = malloc(SEALED_ROOM), .room = SEALED_ROOM};
    assert_non_null(sealed.bytes);
    seal(c.last, &sealed, bytes, 1, sizeof bytes);
    tc_sealed_discard(&sealed);
    assert_int_equal(sealed.size, 0);
    tc_link_close(c.last);
    cloud_run(&c, 0.02);
    assert_false(is_readable(client)); /* not even TLS's own farewell, which could not be read any more */
    assert_false(client_receive(&c, client, &byte, 1));
    free(sealed.bytes);
    client_close(client);
    SSL_CTX_free(context);
}

static void only_so_much_can_be_sealed(void **state) {
    (void)state;
    tc_sealed sealed = {.room = SEALED_ROOM};
    assert_true(tc_link_may_seal(900000, &sealed));
    assert_false(tc_link_may_seal(SEALED_ROOM, &sealed));
    assert_false(tc_link_may_seal(SIZE_MAX, &sealed));
    sealed.size = SEALED_ROOM - 256;
    assert_false(tc_link_may_seal(1, &sealed));
}

static void kept_output_has_a_limit_and_a_time(void **state) {
    (void)state;
    cloud_end(&c);
    cloud_begin(&c, (tc_links_settings){.slow_seconds = 1});
    SSL_CTX *context = client_context(&c);
    SSL *deaf = client_open(&c, context);
    unsigned char *much = calloc(1, 8 << 20);
    assert_non_null(much);
    for (unsigned i = 0; c.closed == 0 && i < 40; i++) /* the kernel takes some */
        tc_link_send(c.last, much, 900000);
    assert_int_equal(c.closed, 1);
    assert_int_equal(c.ends[0], TC_LINK_SLOW);
    SSL *slow = client_open(&c, context);
    for (unsigned i = 0; tc_link_is_drained(c.last) && i < 40; i++)
        tc_link_send(c.last, much, 500000);
    assert_false(tc_link_is_drained(c.last));
    cloud_run_until(&c, &c.closed, 2);
    assert_int_equal(c.ends[1], TC_LINK_SLOW);
    free(much);
    client_close(deaf);
    client_close(slow);
    SSL_CTX_free(context);
}

static void the_oldest_of_too_many_silent_ones_gives_way_and_agents_get_in(void **state) {
    (void)state;
    enum { SILENT = 300, MOST = 100 };
    int descriptors[SILENT];
    cloud_end(&c);
    cloud_begin(&c, (tc_links_settings){.most_silent = MOST});
    for (unsigned i = 0; i < SILENT; i++) {
        descriptors[i] = client_connect(&c);
        cloud_turn(&c);
    }
    cloud_run_until(&c, &c.closed, SILENT - MOST);
    assert_int_equal(tc_links_count(c.links).silent, MOST);
    assert_int_equal(c.ends[0], TC_LINK_CROWDED_OUT);
    char byte;
    assert_int_equal(read(descriptors[0], &byte, 1), 0);                         /* the first is gone */
    assert_true(read(descriptors[SILENT - 1], &byte, 1) < 0 && errno == EAGAIN); /* the last is not */
    SSL_CTX *context = client_context(&c);
    SSL *agent = client_open(&c, context);
    assert_int_equal(tc_links_count(c.links).open, 1);
    client_close(agent);
    SSL_CTX_free(context);
    for (unsigned i = 0; i < SILENT; i++)
        (void)close(descriptors[i]);
}

static void half_open_handshakes_are_capped(void **state) {
    (void)state;
    enum { HALF = 40, MOST = 10 };
    int descriptors[HALF];
    cloud_end(&c);
    cloud_begin(&c, (tc_links_settings){.most_shaking = MOST});
    for (unsigned i = 0; i < HALF; i++) { /* a record of 512 bytes is announced and does not come */
        descriptors[i] = client_connect(&c);
        assert_int_equal(write(descriptors[i], "\x16\x03\x01\x02\x00\x01", 6), 6);
        cloud_turn(&c);
    }
    cloud_run_until(&c, &c.closed, HALF - MOST);
    assert_int_equal(tc_links_count(c.links).shaking, MOST);
    SSL_CTX *context = client_context(&c);
    SSL *agent = client_open(&c, context);
    assert_int_equal(tc_links_count(c.links).open, 1);
    client_close(agent);
    SSL_CTX_free(context);
    for (unsigned i = 0; i < HALF; i++)
        (void)close(descriptors[i]);
}

static void who_takes_too_long_to_shake_hands_is_dropped(void **state) {
    (void)state;
    cloud_end(&c);
    cloud_begin(&c, (tc_links_settings){.open_seconds = 1});
    int silent = client_connect(&c), slow = client_connect(&c);
    double began = seconds_now();
    while (c.closed < 2) { /* a byte now and then does not help */
        (void)!write(slow, "\x16", 1);
        cloud_run(&c, 0.05);
        assert_true(seconds_now() < began + 300);
    }
    assert_true(seconds_now() > began + 0.5);
    assert_true(c.ends[0] == TC_LINK_SLOW || c.ends[1] == TC_LINK_SLOW);
    (void)close(silent);
    (void)close(slow);
}

/* Until the other end's system has all that was written, whether it was read or not. */
static void await_arrival(SSL *client) {
    struct timespec pause = {.tv_nsec = 1000000};
    int on_its_way = 1;
    for (unsigned i = 0; i < 10000 && on_its_way > 0; i++) {
        assert_int_equal(ioctl(SSL_get_fd(client), TIOCOUTQ, &on_its_way), 0);
        (void)nanosleep(&pause, NULL);
    }
    assert_int_equal(on_its_way, 0);
}

static void a_busy_connection_does_not_starve_the_others(void **state) {
    (void)state;
    SSL_CTX *context = client_context(&c);
    SSL *busy = client_open(&c, context), *other = client_open(&c, context);
    unsigned char bytes[256];
    size_t size = make_state(bytes, 0, 1, 3), sent;
    for (unsigned i = 0; i < 2000; i++)
        if (SSL_write_ex(busy, bytes, size, &sent) != 1)
            break;
    size = make_state(bytes, 7, 1, 3);
    assert_int_equal(SSL_write_ex(other, bytes, size, &sent), 1);
    await_arrival(other);
    cloud_run_until(&c, &c.marked, 1);
    assert_true(c.marked < 200);
    client_close(busy);
    client_close(other);
    SSL_CTX_free(context);
}

static void new_keys_serve_new_connections_and_old_ones_live_on(void **state) {
    (void)state;
    SSL_CTX *context = client_context(&c), *tls;
    SSL *old = client_open(&c, context);
    size_t renewed;
    assert_int_equal(tc_authority_renew(c.k.arena, c.k.folder, NULL, true, NULL, &c.k.messages, &renewed), TC_OK);
    assert_int_equal(tc_tls_cloud(c.k.arena, keys_path(&c.k, "cloud"), &c.k.messages, &tls), TC_OK);
    tc_links_set_tls(c.links, tls);
    SSL *new = client_open(&c, context);
    assert_int_not_equal(X509_cmp(SSL_get0_peer_certificate(old), SSL_get0_peer_certificate(new)), 0);
    unsigned char bytes[256];
    SSL *both[] = {old, new};
    for (unsigned i = 0; i < 2; i++) {
        client_send(&c, both[i], bytes, make_state(bytes, 0, 1, 3));
        assert_int_equal(client_frame(&c, both[i], bytes, sizeof bytes).type, TC_MESSAGE_ANSWER);
        client_close(both[i]);
    }
    SSL_CTX_free(tls);
    SSL_CTX_free(context);
}

static void addresses_are_checked(void **state) {
    (void)state;
    static const char *const wrong[] = {"",       "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000",
                                        "::1:80", "0.0.0.0:0", ":0"};
    tc_listener *listener;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(tc_listener_new(c.links, c.base, wrong[i], true, &c.k.messages, &listener), TC_BAD_USAGE);
        assert_null(listener);
    }
    assert_int_equal(tc_listener_new(c.links, c.base, "0.0.0.0:0", false, &c.k.messages, &listener), TC_OK);
    assert_true(tc_listener_port(listener) > 0);
    tc_listener_free(listener);
    char taken[32];
    (void)snprintf(taken, sizeof taken, "127.0.0.1:%u", tc_listener_port(c.listener));
    assert_int_equal(tc_listener_new(c.links, c.base, taken, true, &c.k.messages, &listener), TC_CANNOT_READ);
}

int main(void) {
#define LINK(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        LINK(a_frame_is_answered_and_its_sender_known),
        LINK(frames_arrive_whole_however_they_are_cut),
        LINK(a_frame_longer_than_the_shared_buffer_arrives),
        LINK(broken_frames_are_refused_with_a_reason_and_nobody_else_notices),
        LINK(a_connection_cut_in_the_middle_of_a_frame_is_noticed),
        LINK(plain_http_and_garbage_cost_no_handshake),
        LINK(who_does_not_read_is_not_read),
        LINK(what_is_sealed_leaves_when_it_is_sent),
        LINK(what_is_sealed_waits_for_a_slow_reader),
        LINK(of_many_sealed_links_each_gets_its_own),
        LINK(what_is_discarded_never_leaves_and_its_link_only_ends),
        LINK(only_so_much_can_be_sealed),
        LINK(kept_output_has_a_limit_and_a_time),
        LINK(the_oldest_of_too_many_silent_ones_gives_way_and_agents_get_in),
        LINK(half_open_handshakes_are_capped),
        LINK(who_takes_too_long_to_shake_hands_is_dropped),
        LINK(a_busy_connection_does_not_starve_the_others),
        LINK(new_keys_serve_new_connections_and_old_ones_live_on),
        LINK(addresses_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
