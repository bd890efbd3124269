/* What a peer can send that is well-formed TLS and no use: it costs the loop a bounded share of one turn, and the peer
 * its connection. No verdict here depends on speed. */
/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
#include "serve/client.h"
#include "serve/link/links.h"
#include "serve/records.h"

#include <sys/ioctl.h>

static cloud c;
static SSL_CTX *context;
static records said;

static int begin(void **state) {
    (void)state;
    cloud_begin(&c, (tc_links_settings){0});
    context = client_context(&c);
    assert_true(records_listen(context));
    return 0;
}

static int end(void **state) {
    (void)state;
    SSL_CTX_free(context);
    cloud_end(&c);
    return 0;
}

static SSL *open_raw(void) {
    SSL *client = tc_tls_connect(context, client_connect(&c));
    unsigned wanted = c.opened + 1;
    assert_non_null(client);
    said = (records){0};
    SSL_set_app_data(client, &said);
    for (double stop = seconds_now() + 300; SSL_do_handshake(client) != 1;) {
        assert_true(seconds_now() < stop);
        cloud_turn(&c);
    }
    cloud_run_until(&c, &c.opened, wanted);
    assert_true(said.is_known);
    return client;
}

/* As much as the network takes without the cloud's doing; returns how many records that were. */
static unsigned fill(SSL *client, size_t (*make)(unsigned char *out)) {
    unsigned char out[RECORD_MOST];
    unsigned count = 0;
    for (;; count++) {
        size_t size = make(out), sent = 0;
        assert_true(size > 0);
        while (sent < size) {
            ssize_t went = send(SSL_get_fd(client), out + sent, size - sent, MSG_NOSIGNAL);
            if (went < 0)
                return count;
            sent += (size_t)went;
        }
        if (count == 100000)
            return count;
    }
}

static void echo(SSL *client) { /* the cloud and this connection go on as before */
    unsigned char bytes[64], sealed[RECORD_MOST], answer[64];
    int64_t units[2] = {1, 2};
    tc_state_encode(0, 1, units, 2, bytes);
    size_t size = records_seal(&said, RECORD_DATA, bytes, tc_state_size(2), 0, sealed);
    assert_int_equal(send(SSL_get_fd(client), sealed, size, MSG_NOSIGNAL), size);
    assert_int_equal(client_frame(&c, client, answer, sizeof answer).type, TC_MESSAGE_ANSWER);
}

static size_t key_update(unsigned char *out) { return records_update(&said, false, out); }
static size_t asking_update(unsigned char *out) { return records_update(&said, true, out); }
static size_t nothing(unsigned char *out) { return records_seal(&said, RECORD_DATA, NULL, 0, 0, out); }
static size_t padding(unsigned char *out) { return records_seal(&said, RECORD_DATA, NULL, 0, 16384, out); }
static size_t warning(unsigned char *out) { /* user_canceled: the only alert of TLS 1.3 that ends nothing */
    return records_seal(&said, RECORD_ALERT, "\x01\x5a", 2, 0, out);
}
/* Enough data between two to reset what a library counts in a row. */
static size_t updates_and_data(unsigned char *out) {
    static unsigned turn;
    static const unsigned char header[TC_FRAME_HEADER] = {0xe8, 3}; /* 1,000 bytes of a frame that never ends */
    return turn++ % 2 == 0 ? records_update(&said, false, out)
                           : records_seal(&said, RECORD_DATA, turn == 2 ? header : header + 2, 1, 0, out);
}
static size_t nothing_and_data(unsigned char *out) {
    static unsigned turn;
    static const unsigned char header[TC_FRAME_HEADER] = {0xe8, 3};
    return turn++ % 16 != 0 ? nothing(out)
                            : records_seal(&said, RECORD_DATA, turn == 1 ? header : header + 2, 1, 0, out);
}

/* The peer has said it all before the cloud looks: without a limit one turn would take all of it. */
static void expect_ended(size_t (*make)(unsigned char *out), const char *why) {
    SSL *client = open_raw(), *other = NULL;
    unsigned closed = c.closed, count = fill(client, make);
    assert_true(count > 100);
    uint64_t before = tc_links_count(c.links).frames;
    cloud_run_until(&c, &c.closed, closed + 1);
    assert_true(c.ends[closed % SEEN] == TC_LINK_REFUSED || c.ends[closed % SEEN] == TC_LINK_BROKEN);
    if (strstr(c.why[closed % SEEN], why) == NULL)
        fail_msg("ended as '%s'", c.why[closed % SEEN]);
    assert_int_equal(tc_links_count(c.links).frames, before);
    client_close(client);
    other = open_raw();
    echo(other);
    client_close(other);
    cloud_run_until(&c, &c.closed, closed + 2);
}

static void a_flood_of_key_updates_ends_its_connection(void **state) {
    (void)state;
    expect_ended(key_update, "without data");
    expect_ended(asking_update, "without data");
    expect_ended(updates_and_data, "without data");
}

static void a_flood_of_records_that_hold_nothing_ends_its_connection(void **state) {
    (void)state;
    expect_ended(nothing, "record"); /* OpenSSL counts those in a row itself */
    expect_ended(padding, "record");
    expect_ended(nothing_and_data, "without data");
}

static void a_flood_of_warnings_ends_its_connection(void **state) {
    (void)state;
    expect_ended(warning, "warn");
}

/* A turn of the loop reads a bounded number of bytes of one connection, whatever they are. */
static void one_turn_reads_a_bounded_number_of_bytes(void **state) {
    (void)state;
    SSL *client = open_raw();
    (void)fill(client, padding);
    int waiting = 0, left = 0;
    assert_int_equal(ioctl(c.last->descriptor, FIONREAD, &waiting), 0);
    assert_true(waiting > TC_SOCKET_TURN + 8 * 1024);
    tc_link_read(c.last);
    assert_non_null(c.last);
    assert_int_equal(ioctl(c.last->descriptor, FIONREAD, &left), 0);
    assert_true(left >= waiting - TC_SOCKET_TURN);
    client_close(client);
}

/* A client that was told it is over and still goes on is read for one more megabyte. */
static void what_comes_after_the_end_is_thrown_away_for_a_while(void **state) {
    (void)state;
    static unsigned char junk[65536];
    SSL *client = open_raw();
    tc_link *link = c.last;
    size_t poured = 0;
    tc_link_refuse(link, TC_REFUSED_TURN, NULL);
    assert_int_equal(link->state, TC_LINK_LINGERING);
    link->deadline += 1000; /* so that bytes end it, and not its two seconds */
    for (double stop = seconds_now() + 300; !tc_ring_is_empty(&c.links->parting) && seconds_now() < stop;) {
        ssize_t sent = send(SSL_get_fd(client), junk, sizeof junk, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            break;
        poured += sent > 0 ? (size_t)sent : 0;
        cloud_turn(&c);
        assert_true(poured < 100 << 20);
    }
    assert_true(tc_ring_is_empty(&c.links->parting));
    client_close(client);
}

static void some_key_updates_do_no_harm(void **state) {
    (void)state;
    SSL *client = open_raw();
    unsigned char out[RECORD_MOST];
    for (unsigned i = 0; i < 20; i++) {
        size_t size = records_update(&said, i % 2 == 0, out);
        assert_int_equal(send(SSL_get_fd(client), out, size, MSG_NOSIGNAL), size);
        echo(client);
    }
    assert_int_equal(c.closed, 0);
    client_close(client);
}

/* Thousands of states, each in a record of its own or in records of a byte: no record is without data. */
static void records_with_data_are_not_counted(void **state) {
    (void)state;
    SSL *client = open_raw();
    unsigned char bytes[64], sealed[RECORD_MOST], answer[64];
    int64_t units[2] = {1, 2};
    tc_state_encode(0, 1, units, 2, bytes);
    for (unsigned i = 0; i < 1000; i++)
        echo(client);
    for (size_t at = 0; at < tc_state_size(2); at++) {
        size_t size = records_seal(&said, RECORD_DATA, bytes + at, 1, 0, sealed);
        assert_int_equal(send(SSL_get_fd(client), sealed, size, MSG_NOSIGNAL), size);
        cloud_turn(&c);
    }
    assert_int_equal(client_frame(&c, client, answer, sizeof answer).type, TC_MESSAGE_ANSWER);
    assert_int_equal(c.closed, 0);
    client_close(client);
}

int main(void) {
#define FLOOD(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        FLOOD(a_flood_of_key_updates_ends_its_connection),
        FLOOD(a_flood_of_records_that_hold_nothing_ends_its_connection),
        FLOOD(a_flood_of_warnings_ends_its_connection),
        FLOOD(one_turn_reads_a_bounded_number_of_bytes),
        FLOOD(what_comes_after_the_end_is_thrown_away_for_a_while),
        FLOOD(some_key_updates_do_no_harm),
        FLOOD(records_with_data_are_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
