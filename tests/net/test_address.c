#include "net/address.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
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

/* ---- Several ---- */

static void a_list_has_its_addresses_in_order(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    tc_addresses list;
    assert_int_equal(tc_addresses_read(arena, "a.net:7575", &messages, &list), TC_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.texts[0], "a.net:7575");
    assert_int_equal(tc_addresses_read(arena, "b:1,[::1]:2,a:1,b:10", &messages, &list), TC_OK);
    static const char *const texts[] = {"b:1", "[::1]:2", "a:1", "b:10"}, *const hosts[] = {"b", "::1", "a", "b"},
                             *const ports[] = {"1", "2", "1", "10"};
    assert_int_equal(list.count, 4);
    for (size_t i = 0; i < list.count; i++) {
        assert_string_equal(list.texts[i], texts[i]);
        assert_string_equal(list.each[i].host, hosts[i]);
        assert_string_equal(list.each[i].port, ports[i]);
    }
    assert_int_equal(messages.length, 0);
    tc_arena_free(arena);
}

static void each_wrong_list_has_its_message(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } wrong[] = {{"", "is empty"},
                 {",", "is empty"},
                 {"a:1,", "is empty, and should be HOST:PORT, in 'a:1,'"},
                 {",a:1", "is empty"},
                 {"a:1,,b:1", "is empty"},
                 {"a:1,b", "[ADDRESS]:PORT for IPv6, not 'b', in 'a:1,b'; write HOST:PORT,HOST:PORT"},
                 {"a,b:1", "not 'a'"},
                 {"a:1,:2", "not ':2'"},
                 {"a:1,::1:7575", "not '::1:7575'"},
                 {"a:1, b:1", "' b:1' has a blank"},
                 {"a:1\n", "has a blank"},
                 {"a:1;b:1", "not 'a:1;b:1'"},
                 {"a:1,b:2,a:1", "'a:1' is given twice"},
                 {"a:1,A:01", "'a:1' is given twice"},
                 {"1:1,2:1,3:1,4:1,5:1,6:1,7:1,8:1,9:1,10:1,11:1,12:1,13:1,14:1,15:1,16:1,17:1",
                  "at most 16 addresses, not 17"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tc_arena *arena = tc_arena_new(0);
        tc_buffer messages = tc_buffer_new(arena, 1 << 16);
        tc_addresses list;
        if (tc_addresses_read(arena, wrong[i].text, &messages, &list) != TC_BAD_USAGE)
            fail_msg("'%s' was read as a list of addresses", wrong[i].text);
        if (strstr(tc_buffer_text(&messages), wrong[i].message) == NULL)
            fail_msg("'%s': %s", wrong[i].text, tc_buffer_text(&messages));
        tc_arena_free(arena);
    }
}

/* What is read, put together again, is what was written; what is not read has a message. */
static void any_text_is_a_list_or_has_a_message(void **state) {
    (void)state;
    static const char letters[] = "ab1::,,[]. \x80";
    uint64_t chance = 5;
    size_t good = 0;
    for (unsigned trial = 0; trial < CASES(20000); trial++) {
        AT_CASE(trial);
        char text[24], again[24] = "";
        size_t length = random_below(&chance, sizeof text);
        for (size_t i = 0; i < length; i++)
            text[i] = letters[random_below(&chance, sizeof letters - 1)];
        text[length] = 0;
        tc_arena *arena = tc_arena_new(0);
        tc_buffer messages = tc_buffer_new(arena, 1 << 16);
        tc_addresses list;
        bool is_read = tc_addresses_read(arena, text, &messages, &list) == TC_OK;
        assert_true(is_read == (messages.length == 0));
        for (size_t i = 0; is_read && i < list.count; i++) {
            size_t at = strlen(again);
            (void)snprintf(again + at, sizeof again - at, "%s%s", i == 0 ? "" : ",", list.texts[i]);
        }
        if (is_read)
            assert_string_equal(again, text);
        good += is_read;
        tc_arena_free(arena);
    }
    assert_true(good > 0);
}

/* ---- Sockets ---- */

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

static int option_of(int descriptor, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    assert_int_equal(getsockopt(descriptor, IPPROTO_TCP, name, &value, &size), 0);
    return value;
}

/* Both for an idle connection and for one with bytes under way. */
static void a_machine_that_is_gone_is_noticed_in_time(void **state) {
    (void)state;
    static const int seconds[] = {60, 20, 4};
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(descriptor >= 0 && tc_socket_set_up(descriptor));
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        if (i > 0) /* the first is what every socket has */
            tc_socket_set_patience(descriptor, seconds[i]);
        assert_int_equal(option_of(descriptor, TCP_USER_TIMEOUT), 1000 * seconds[i]);
        assert_int_equal(option_of(descriptor, TCP_KEEPIDLE) +
                             option_of(descriptor, TCP_KEEPINTVL) * option_of(descriptor, TCP_KEEPCNT),
                         seconds[i]);
    }
    (void)close(descriptor);
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
        cmocka_unit_test(a_list_has_its_addresses_in_order),
        cmocka_unit_test(each_wrong_list_has_its_message),
        cmocka_unit_test(any_text_is_a_list_or_has_a_message),
        cmocka_unit_test(loopback_is_127_and_one_address_of_ipv6),
        cmocka_unit_test(a_socket_does_not_block_and_does_not_outlive_an_exec),
        cmocka_unit_test(a_machine_that_is_gone_is_noticed_in_time),
        cmocka_unit_test(a_socket_that_met_itself_is_found_out_and_leaves_the_port_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
