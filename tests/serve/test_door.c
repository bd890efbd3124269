/* Who is not in yet, and who shows which certificate: shares, queues and caps. No verdict here depends on speed. */
/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
#include "serve/client.h"

#include "net/tls/certificate.h"
#include "serve/link/links.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>

static cloud c;

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

/* ---- certificates ---- */

/* As `tacit keys` would not make it: with as many names as asked for. */
static SSL_CTX *context_of(const char *label, size_t count) {
    tc_arena *arena = c.k.arena;
    tc_credential authority, made;
    const char **names = TC_NEW(arena, const char *, count);
    for (size_t i = 0; i < count; i++)
        names[i] = tc_arena_format(arena, "home[%zu]", i);
    tc_certificate_wish wish = {.kind = TC_CERTIFICATE_AGENT,
                                .label = label,
                                .names = names,
                                .name_count = count,
                                .from = time(NULL) - 100,
                                .until = time(NULL) + 1000};
    const char *folder = keys_path(&c.k, label);
    SSL_CTX *context;
    assert_int_equal(
        tc_certificate_read(arena, keys_path(&c.k, "authority/identity.pem"), true, &c.k.messages, &authority), TC_OK);
    assert_int_equal(tc_certificate_make(arena, &wish, &authority, &made), TC_OK);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(
        tc_certificate_write(arena, tc_arena_format(arena, "%s/identity.pem", folder), &made, &c.k.messages), TC_OK);
    authority.key = NULL;
    assert_int_equal(
        tc_certificate_write(arena, tc_arena_format(arena, "%s/authority.pem", folder), &authority, &c.k.messages),
        TC_OK);
    assert_int_equal(tc_tls_agent(arena, folder, &c.k.messages, &context), TC_OK);
    return context;
}

static void connections_with_the_same_certificate_share_it(void **state) {
    (void)state;
    SSL_CTX *gate = context_of("gate", 1000), *one = client_context(&c);
    SSL *clients[4];
    tc_link *links[4];
    for (unsigned i = 0; i < 4; i++) {
        clients[i] = client_open(&c, i < 3 ? gate : one);
        links[i] = c.last;
    }
    assert_ptr_equal(tc_link_identity(links[0]), tc_link_identity(links[2]));
    assert_ptr_equal(SSL_get0_peer_certificate(links[0]->ssl), SSL_get0_peer_certificate(links[2]->ssl));
    assert_ptr_equal(sk_X509_value(SSL_get0_verified_chain(links[1]->ssl), 0),
                     SSL_get0_peer_certificate(links[0]->ssl));
    assert_ptr_not_equal(tc_link_identity(links[0]), tc_link_identity(links[3]));
    assert_int_equal(tc_identity_count(tc_link_identity(links[0])), 1000);
    assert_int_equal(tc_link_alike(links[0]), 3);
    assert_int_equal(tc_link_alike(links[3]), 1);
    assert_true(tc_link_is_alike(links[0], links[1]) && !tc_link_is_alike(links[0], links[3]));
    client_close(clients[0]); /* the one that brought it goes first */
    cloud_run_until(&c, &c.closed, 1);
    assert_int_equal(tc_link_alike(links[1]), 2);
    assert_true(tc_identity_has(tc_link_identity(links[1]), "home[999]", 9));
    for (unsigned i = 1; i < 4; i++)
        client_close(clients[i]);
    cloud_run_until(&c, &c.closed, 4);
    cloud_turn(&c);
    for (size_t i = 0; i < TC_HOLDER_BUCKETS; i++) /* and nothing of them stays */
        assert_true(tc_ring_is_empty(&c.links->holders->buckets[i]));
    SSL_CTX_free(gate);
    SSL_CTX_free(one);
}

/* What the process has allocated for one more connection, its client's part included. */
static size_t bytes_for_each(SSL_CTX *context) {
    enum { MANY = 20 };
    SSL *clients[MANY + 1];
    clients[MANY] = client_open(&c, context); /* the first of its kind pays for the names */
    size_t before = mallinfo2().uordblks;
    for (unsigned i = 0; i < MANY; i++)
        clients[i] = client_open(&c, context);
    size_t more = mallinfo2().uordblks - before;
    for (unsigned i = 0; i <= MANY; i++)
        client_close(clients[i]);
    cloud_run_until(&c, &c.closed, c.closed + MANY + 1);
    cloud_turn(&c);
    return more / MANY;
}

static void a_gateway_costs_no_more_than_an_agent(void **state) {
    (void)state;
    SSL_CTX *gate = context_of("gate", 1000), *one = client_context(&c);
    size_t of_agent = bytes_for_each(one), of_gate = bytes_for_each(gate);
    if (of_agent > 0) /* a sanitizer's allocator does not say */
        assert_true(of_gate < of_agent + 2048);
    assert_true(of_agent < 2 * 28 * 1024);
    SSL_CTX_free(gate);
    SSL_CTX_free(one);
}

static void a_certificate_of_more_than_1000_names_is_refused(void **state) {
    (void)state;
    SSL_CTX *most = context_of("most", 1000), *more = context_of("more", 1001);
    SSL *client = client_open(&c, most);
    assert_int_equal(c.closed, 0);
    SSL *other = tc_tls_connect(more, client_connect(&c));
    assert_non_null(other);
    for (double stop = seconds_now() + 300; c.closed == 0;) {
        assert_true(seconds_now() < stop);
        (void)SSL_do_handshake(other);
        cloud_turn(&c);
    }
    assert_int_equal(c.ends[0], TC_LINK_REFUSED);
    assert_string_equal(c.why[0], "the certificate names more than 1,000 agents");
    assert_int_equal(c.opened, 1);
    client_close(client);
    client_close(other);
    SSL_CTX_free(most);
    SSL_CTX_free(more);
}

/* ---- newcomers ---- */

static int connect_from(const char *address) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)tc_listener_port(c.listener))};
    struct sockaddr_in from = {.sin_family = AF_INET};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(descriptor >= 0);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(fcntl(descriptor, F_SETFL, O_NONBLOCK), 0);
    return descriptor;
}

/* A loopback address of another class than 127.0.0.1. */
static const char *elsewhere(void) {
    static char address[32];
    tc_peer peer = {.address = {127, 0, 0, 1}, .family = TC_PEER_IPV4};
    unsigned here = tc_door_way(c.links, &peer);
    for (peer.address[3] = 2; tc_door_way(c.links, &peer) == here;)
        peer.address[3]++;
    (void)snprintf(address, sizeof address, "127.0.0.%u", peer.address[3]);
    return address;
}

static void set_credit(double seconds) {
    c.links->door.credit = seconds;
    c.links->door.filled_at = seconds_now();
}

static void await_accepted(uint64_t count) {
    for (double stop = seconds_now() + 300; tc_links_count(c.links).accepted < count;) {
        assert_true(seconds_now() < stop);
        cloud_turn(&c);
    }
}

static void where_there_is_no_time_for_newcomers_agents_go_on(void **state) {
    (void)state;
    enum { MANY = 20 };
    SSL_CTX *context = client_context(&c);
    SSL *agent = client_open(&c, context), *others[MANY];
    unsigned char bytes[64], answer[64];
    int64_t units[2] = {1, 2};
    tc_state_encode(0, 1, units, 2, bytes);
    for (unsigned i = 0; i < MANY; i++)
        others[i] = tc_tls_connect(context, client_connect(&c));
    await_accepted(MANY + 1);
    for (unsigned i = 0; i < MANY; i++)
        assert_true(SSL_do_handshake(others[i]) != 1); /* its first flight */
    set_credit(-1000);
    int late = client_connect(&c);
    for (unsigned i = 0; i < 100; i++) {
        client_send(&c, agent, bytes, tc_state_size(2));
        assert_int_equal(client_frame(&c, agent, answer, sizeof answer).type, TC_MESSAGE_ANSWER);
    }
    assert_int_equal(tc_links_count(c.links).shaking, 0);
    assert_int_equal(tc_links_count(c.links).silent, MANY);
    assert_int_equal(tc_links_count(c.links).accepted, MANY + 1); /* the late one waits in the system */
    set_credit(0.001);
    event_active(&c.links->door.turn, EV_TIMEOUT, 0);
    for (double stop = seconds_now() + 300; c.opened < MANY + 1;) { /* nobody is forgotten */
        assert_true(seconds_now() < stop);
        for (unsigned i = 0; i < MANY; i++)
            (void)SSL_do_handshake(others[i]);
        cloud_turn(&c);
    }
    await_accepted(MANY + 2);
    for (unsigned i = 0; i < MANY; i++)
        client_close(others[i]);
    client_close(agent);
    (void)close(late);
    SSL_CTX_free(context);
}

/* The time that handshakes take is paid: a flood of them uses up the share, and what is left waits. */
static void handshakes_are_paid_for(void **state) {
    (void)state;
    SSL_CTX *context = client_context(&c);
    tc_links_set_busy(c.links);
    set_credit(0.002);
    SSL *client = client_open(&c, context);
    assert_true(c.links->door.credit < 0.002);
    client_close(client);
    SSL_CTX_free(context);
}

/* What is owed is waited for: four times as long while rounds go on. */
static void rounds_come_before_newcomers(void **state) {
    (void)state;
    set_credit(-0.04);
    long idle = (long)tc_door_wait(c.links).tv_usec;
    tc_links_set_busy(c.links);
    c.links->door.busy_until += 1000;
    long busy = (long)tc_door_wait(c.links).tv_usec;
    assert_in_range(idle, 50000, 52000);
    assert_in_range(busy, 4 * idle - 10, 4 * idle + 10);
}

static void a_flood_from_one_address_waits_behind_itself(void **state) {
    (void)state;
    enum { MANY = 30 };
    int flood[MANY], other;
    for (unsigned i = 0; i < MANY; i++)
        flood[i] = client_connect(&c);
    other = connect_from(elsewhere());
    await_accepted(MANY + 1);
    set_credit(-1000);
    for (unsigned i = 0; i < MANY; i++) /* a handshake begins, and the rest of its record does not come */
        assert_int_equal(write(flood[i], "\x16\x03\x01\x02\x00\x01", 6), 6);
    cloud_run(&c, 0.05);
    assert_int_equal(write(other, "\x16\x03\x01\x02\x00\x01", 6), 6);
    cloud_run(&c, 0.05);
    assert_int_equal(tc_links_count(c.links).shaking, 0);
    for (unsigned i = 0; i < 2; i++) { /* time for one step each */
        set_credit(1e-9);
        c.links->door.filled_at += 1000; /* however long that step takes */
        event_active(&c.links->door.turn, EV_TIMEOUT, 0);
        cloud_turn(&c);
        set_credit(-1000);
    }
    assert_int_equal(tc_links_count(c.links).shaking, 2);
    unsigned ways = 0;
    for (unsigned i = 0; i < TC_DOOR_WAYS; i++)
        ways += c.links->door.shaking[i] > 0;
    assert_int_equal(ways, 2); /* one of the thirty, and the one from elsewhere */
    for (unsigned i = 0; i < MANY; i++)
        (void)close(flood[i]);
    (void)close(other);
}

static void of_too_many_the_oldest_from_where_most_come_gives_way(void **state) {
    (void)state;
    enum { MOST = 10, MANY = 40 };
    cloud_end(&c);
    cloud_begin(&c, (tc_links_settings){.most_shaking = MOST, .most_silent = MOST});
    int shaking = connect_from(elsewhere()), silent = connect_from(elsewhere()), flood[2 * MANY];
    assert_int_equal(write(shaking, "\x16\x03\x01\x02\x00\x01", 6), 6);
    for (unsigned i = 0; i < 2 * MANY; i++) {
        flood[i] = client_connect(&c);
        if (i % 2 == 0)
            assert_int_equal(write(flood[i], "\x16\x03\x01\x02\x00\x01", 6), 6);
        cloud_turn(&c);
    }
    cloud_run_until(&c, &c.closed, 2 * (MANY + 1 - MOST));
    char byte;
    assert_true(read(shaking, &byte, 1) < 0 && errno == EAGAIN); /* the oldest of all, and it stays */
    assert_true(read(silent, &byte, 1) < 0 && errno == EAGAIN);
    assert_int_equal(tc_links_count(c.links).shaking, MOST);
    for (unsigned i = 0; i < 2 * MANY; i++)
        (void)close(flood[i]);
    (void)close(shaking);
    (void)close(silent);
}

/* A hello of 126,976 bytes, a byte in each record: well-formed, and 900 KB of work. */
static void a_handshake_without_end_is_ended(void **state) {
    (void)state;
    static const unsigned char head[] = {1, 1, 0xf0, 0};
    int client = client_connect(&c);
    for (unsigned i = 0; c.closed == 0 && i < 200000; i++) {
        unsigned char record[6] = {0x16, 3, 1, 0, 1, i < 4 ? head[i] : 0};
        while (send(client, record, sizeof record, MSG_NOSIGNAL) < 0 && c.closed == 0)
            cloud_turn(&c);
    }
    cloud_run_until(&c, &c.closed, 1);
    assert_int_equal(c.ends[0], TC_LINK_REFUSED);
    assert_string_equal(c.why[0], TC_SOCKET_LONG);
    (void)close(client);
}

/* ---- a listener without descriptors and without memory ---- */

static bool has_no_memory;
static void *failing_malloc(size_t size) { return has_no_memory ? NULL : malloc(size); }
static void *failing_realloc(void *old, size_t size) { return has_no_memory ? NULL : realloc(old, size); }

static void never(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    (void)context;
}

/* No descriptor for an arrival, and no memory for the timer that would try again: it still listens. */
static void a_listener_is_never_deaf_for_good(void **state) {
    (void)state;
    enum { TIMERS = 1024 };
    static struct event timers[TIMERS];
    struct timeval hour = {.tv_sec = 3600};
    struct rlimit before, none;
    unsigned used = 0;
    SSL_CTX *context = client_context(&c);
    int client = client_connect(&c);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3;
    has_no_memory = true;
    for (; used < TIMERS; used++) { /* until the next timer would need memory */
        assert_int_equal(event_assign(&timers[used], c.base, -1, 0, never, NULL), 0);
        if (event_add(&timers[used], &hour) != 0)
            break;
    }
    assert_true(used < TIMERS);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (unsigned i = 0; i < 10; i++)
        cloud_turn(&c);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    has_no_memory = false;
    for (unsigned i = 0; i < used; i++)
        (void)event_del(&timers[i]);
    await_accepted(1);
    (void)close(client);
    SSL *agent = client_open(&c, context);
    client_close(agent);
    SSL_CTX_free(context);
}

int main(void) {
    event_set_mem_functions(failing_malloc, failing_realloc, free);
#define DOOR(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        DOOR(connections_with_the_same_certificate_share_it),
        DOOR(a_gateway_costs_no_more_than_an_agent),
        DOOR(a_certificate_of_more_than_1000_names_is_refused),
        DOOR(where_there_is_no_time_for_newcomers_agents_go_on),
        DOOR(handshakes_are_paid_for),
        DOOR(rounds_come_before_newcomers),
        DOOR(a_flood_from_one_address_waits_behind_itself),
        DOOR(of_too_many_the_oldest_from_where_most_come_gives_way),
        DOOR(a_handshake_without_end_is_ended),
        DOOR(a_listener_is_never_deaf_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
