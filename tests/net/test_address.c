#include "net/address.h"
#include "support/cmocka.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static void an_address_is_a_host_and_a_port(void **state) {
    (void)state;
    static const struct {
        const char *text, *host, *port;
    } good[] = {{"cloud.example:7575", "cloud.example", "7575"},
                {"127.0.0.1:0", "127.0.0.1", "0"},
                {"[::1]:65535", "::1", "65535"},
                {":7575", "", "7575"},
                {"[]:1", "", "1"},
                {"host:00001", "host", "00001"}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        tc_address address;
        assert_true(tc_address_read(good[i].text, &address));
        assert_string_equal(address.host, good[i].host);
        assert_string_equal(address.port, good[i].port);
    }
}

static void anything_else_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"",        "host",    "host:",    "host:x",      "host:-1", "host: 1",
                                        "host:1x", "::1:757", "[::1]757", "host:123456", ":65536",  "[::1:7575"};
    tc_address address;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (tc_address_read(wrong[i], &address))
            fail_msg("'%s' was read as an address", wrong[i]);
    char longest[TC_MOST_HOST + 4];
    memset(longest, 'h', sizeof longest);
    strcpy(longest + TC_MOST_HOST, ":1");
    assert_true(tc_address_read(longest, &address));
    strcpy(longest + TC_MOST_HOST, "h:1");
    assert_false(tc_address_read(longest, &address));
}

static bool is_loopback(const char *host) {
    struct addrinfo wish = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found = NULL;
    assert_int_equal(getaddrinfo(host, "1", &wish, &found), 0);
    bool answer = tc_address_is_loopback(found->ai_addr);
    freeaddrinfo(found);
    return answer;
}

static void loopback_is_127_and_one_address_of_ipv6(void **state) {
    (void)state;
    assert_true(is_loopback("127.0.0.1") && is_loopback("127.255.255.254") && is_loopback("::1"));
    assert_false(is_loopback("0.0.0.0") || is_loopback("128.0.0.1") || is_loopback("126.255.255.255"));
    assert_false(is_loopback("::") || is_loopback("::2") || is_loopback("::ffff:127.0.0.1"));
}

static void a_socket_does_not_block_and_does_not_outlive_an_exec(void **state) {
    (void)state;
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(descriptor >= 0 && tc_socket_set_up(descriptor));
    assert_true(fcntl(descriptor, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(descriptor, F_GETFD) & FD_CLOEXEC);
    (void)close(descriptor);
    assert_false(tc_socket_set_up(-1));
}

/* On a port that the system gives out, with nobody there; close and reset: the next may listen. */
static void a_socket_that_met_itself_is_found_out_and_leaves_the_port_free(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2; i++) { /* the second time with two sockets, which is in order */
        struct sockaddr_in at = {.sin_family = AF_INET};
        socklen_t size = sizeof at;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int first = socket(AF_INET, SOCK_STREAM, 0), second = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
        assert_true(first >= 0 && second >= 0);
        assert_int_equal(bind(first, (struct sockaddr *)&at, sizeof at), 0);
        assert_int_equal(getsockname(first, (struct sockaddr *)&at, &size), 0);
        assert_false(tc_socket_met_itself(first));
        if (i == 0) {
            assert_int_equal(connect(first, (struct sockaddr *)&at, sizeof at), 0);
            assert_true(tc_socket_met_itself(first));
            (void)close(first);
            assert_int_equal(setsockopt(second, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
            assert_int_equal(bind(second, (struct sockaddr *)&at, sizeof at), 0);
            assert_int_equal(listen(second, 1), 0);
        } else {
            assert_int_equal(listen(first, 1), 0);
            assert_int_equal(connect(second, (struct sockaddr *)&at, sizeof at), 0);
            assert_false(tc_socket_met_itself(second));
            (void)close(first);
        }
        (void)close(second);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_a_host_and_a_port),
        cmocka_unit_test(anything_else_is_refused),
        cmocka_unit_test(loopback_is_127_and_one_address_of_ipv6),
        cmocka_unit_test(a_socket_does_not_block_and_does_not_outlive_an_exec),
        cmocka_unit_test(a_socket_that_met_itself_is_found_out_and_leaves_the_port_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
