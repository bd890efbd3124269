/* Many sockets in one call: what each sending says afterwards, with io_uring, without it, and where it fails midway.
 * Whatever fails, no byte is sent twice. */
#define _GNU_SOURCE
#include "serve/link/sender.h"

#include "support/cmocka.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COUNT = TC_SENDER_MOST, SIZE = 80, ROOM = 1 << 16 };

static int near[COUNT], far[COUNT];
static unsigned char said[COUNT][SIZE];

#ifdef TACIT_URING
#include <liburing.h>

static enum { WORKS, MISSING, REFUSES, STOPS, INTERRUPTED } ring;
static unsigned submits;

int __real_io_uring_queue_init(unsigned entries, struct io_uring *of, unsigned flags);
int __wrap_io_uring_queue_init(unsigned entries, struct io_uring *of, unsigned flags);
int __wrap_io_uring_queue_init(unsigned entries, struct io_uring *of, unsigned flags) {
    return ring == MISSING ? -EPERM : __real_io_uring_queue_init(entries, of, flags);
}

int __real_io_uring_submit(struct io_uring *of);
int __wrap_io_uring_submit(struct io_uring *of);
int __wrap_io_uring_submit(struct io_uring *of) {
    submits++;
    if (ring == REFUSES)
        return -ENOMEM;
    if (ring == INTERRUPTED && submits % 2 == 1)
        return -EINTR;
    if (ring == STOPS) { /* takes the first two, and then fails */
        if (submits > 1)
            return -EBUSY;
        unsigned tail = of->sq.sqe_tail;
        of->sq.sqe_tail = of->sq.sqe_head + 2;
        int done = __real_io_uring_submit(of);
        of->sq.sqe_tail = tail;
        return done;
    }
    return __real_io_uring_submit(of);
}
#endif

static int begin(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        near[i] = pair[0];
        far[i] = pair[1];
        assert_int_equal(fcntl(near[i], F_SETFL, O_NONBLOCK), 0);
        assert_int_equal(fcntl(far[i], F_SETFL, O_NONBLOCK), 0);
        memset(said[i], (int)i + 1, SIZE);
    }
#ifdef TACIT_URING
    ring = WORKS;
    submits = 0;
#endif
    return 0;
}

static int end(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        (void)close(near[i]);
        (void)close(far[i]);
    }
    return 0;
}

static void prepare(tc_sending *all) {
    for (size_t i = 0; i < COUNT; i++)
        all[i] = (tc_sending){.descriptor = near[i], .bytes = said[i], .size = SIZE};
}

/* The i-th peer has got its bytes, once. */
static bool has_come(size_t i) {
    unsigned char got[2 * SIZE];
    ssize_t size = recv(far[i], got, sizeof got, 0);
    return size == SIZE && memcmp(got, said[i], SIZE) == 0;
}

static void expect_all(tc_sender *sender, size_t count) {
    tc_sending all[COUNT];
    prepare(all);
    tc_sender_send(sender, all, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(all[i].error, 0);
        assert_int_equal(all[i].sent, SIZE);
        assert_true(has_come(i));
    }
}

static void every_peer_gets_its_own_bytes(void **state) {
    (void)state;
    tc_sender *sender = tc_sender_new();
    assert_non_null(sender);
    static const size_t counts[] = {0, 1, 2, COUNT - 1, COUNT, COUNT};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        expect_all(sender, counts[i]);
    tc_sender_free(sender);
}

static size_t fill(int descriptor) {
    static const unsigned char bytes[ROOM];
    size_t all = 0;
    for (ssize_t sent; (sent = send(descriptor, bytes, sizeof bytes, MSG_NOSIGNAL)) > 0;)
        all += (size_t)sent;
    return all;
}

static void a_full_socket_and_a_gone_peer_are_told_from_the_others(void **state) {
    (void)state;
    tc_sender *sender = tc_sender_new();
    tc_sending all[COUNT];
    assert_non_null(sender);
    prepare(all);
    assert_true(fill(near[1]) > 0);
    (void)shutdown(far[2], SHUT_RD);
    (void)close(far[2]);
    far[2] = -1;
    tc_sender_send(sender, all, COUNT);
    assert_int_equal(all[1].error, EAGAIN);
    assert_int_equal(all[1].sent, 0);
    assert_true(all[2].error == EPIPE || all[2].error == ECONNRESET);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(i == 1 || i == 2 || (all[i].error == 0 && has_come(i)));
    tc_sender_free(sender);
}

/* What does not fit is left to the caller: `sent` says where to go on. */
static void a_part_is_a_part(void **state) {
    (void)state;
    static unsigned char much[1 << 22];
    tc_sender *sender = tc_sender_new();
    tc_sending all[2] = {{.descriptor = near[0], .bytes = much, .size = sizeof much},
                         {.descriptor = near[1], .bytes = said[1], .size = SIZE}};
    assert_non_null(sender);
    tc_sender_send(sender, all, 2);
    assert_int_equal(all[0].error, 0);
    assert_true(all[0].sent > 0 && all[0].sent < sizeof much);
    assert_true(has_come(1));
    tc_sender_free(sender);
}

#ifdef TACIT_URING

static void without_a_ring_each_is_sent_alone(void **state) {
    (void)state;
    ring = MISSING;
    tc_sender *sender = tc_sender_new();
    assert_non_null(sender);
    assert_false(tc_sender_joins(sender));
    expect_all(sender, COUNT);
    assert_int_equal(submits, 0);
    tc_sender_free(sender);
}

static void a_ring_that_refuses_is_given_up(void **state) {
    (void)state;
    tc_sender *sender = tc_sender_new();
    assert_non_null(sender);
    if (tc_sender_joins(sender)) { /* else this system has no rings */
        ring = REFUSES;
        expect_all(sender, COUNT);
        assert_false(tc_sender_joins(sender));
        expect_all(sender, COUNT);
        assert_int_equal(submits, 1);
    }
    tc_sender_free(sender);
}

static void what_a_ring_took_before_it_failed_is_not_sent_again(void **state) {
    (void)state;
    tc_sender *sender = tc_sender_new();
    assert_non_null(sender);
    if (tc_sender_joins(sender)) {
        ring = STOPS;
        expect_all(sender, COUNT); /* has_come asks for the bytes once, not twice */
        assert_false(tc_sender_joins(sender));
    }
    tc_sender_free(sender);
}

static void a_signal_does_not_matter(void **state) {
    (void)state;
    tc_sender *sender = tc_sender_new();
    assert_non_null(sender);
    bool joins = tc_sender_joins(sender);
    ring = INTERRUPTED;
    expect_all(sender, COUNT);
    assert_int_equal(tc_sender_joins(sender), joins);
    tc_sender_free(sender);
}

#endif

#define WITH_SOCKETS(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SOCKETS(every_peer_gets_its_own_bytes),
        WITH_SOCKETS(a_full_socket_and_a_gone_peer_are_told_from_the_others),
        WITH_SOCKETS(a_part_is_a_part),
#ifdef TACIT_URING
        WITH_SOCKETS(without_a_ring_each_is_sent_alone),
        WITH_SOCKETS(a_ring_that_refuses_is_given_up),
        WITH_SOCKETS(what_a_ring_took_before_it_failed_is_not_sent_again),
        WITH_SOCKETS(a_signal_does_not_matter),
#endif
    };
    return cmocka_run_group_tests_name("serve/sender", tests, NULL, NULL);
}
