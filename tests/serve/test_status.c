/* The pages over real connections, in one thread: whenever a client would wait, the cloud's loop goes round. */
#include "serve/pages/pages.h"
#include "serve/prometheus.h"

#include "support/cmocka.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct site {
    tc_arena *arena;
    tc_buffer messages;
    struct event_base *base;
    tc_figures figures;
    unsigned refreshed;
    tc_http *http;
} site;

static site s;
static char answer[1 << 20];

static void refresh(void *context) { ((site *)context)->refreshed++; }

static void fill(tc_figures *figures) {
    static const double multipliers[] = {0.5, 1e-300, -0.0}, answers[] = {0.25, 0, 1.0 / 3}, bounds[] = {-1, -0.5, 2};
    static const char *const names[] = {"sum", "quote\" back\\ line\n \xff", "M\xc3\xbcller"};
    static const tc_feasibility feasibility = {.probability = 0.95, .shown = false, .is_exact = true, .bounds = bounds};
    *figures = (tc_figures){.phase = TC_PHASE_RUNNING,
                            .version = "1.2.3",
                            .has_reload_failed = true,
                            .log_lost = 11,
                            .is_private = true,
                            .is_priced = true,
                            .run_id = "00112233445566778899aabbccddeeff",
                            .plan_hash = "ab",
                            .method = "tacit",
                            .mechanism = "gaussian",
                            .unit = "one:1",
                            .norm = "root-sum-square",
                            .hidden_every_round = 0.25,
                            .epsilon = 0.6931471805599453,
                            .delta = 1e-5,
                            .epoch = 3,
                            .round = 281474976710655,
                            .rounds = 300000000000000,
                            .agents = 10,
                            .enrolled = 9,
                            .rounds_per_second = 812.5,
                            .started = 1.79e9,
                            .last_round = 1.79e9 + 0.25,
                            .multipliers = multipliers,
                            .answer_multipliers = answers,
                            .multiplier_count = 3,
                            .constraint_names = names,
                            .feasibility = &feasibility,
                            .held = 4,
                            .answers = 20,
                            .answers_again = 2,
                            .certificate_expiry = 1.8e9,
                            .links = {.silent = 1,
                                      .shaking = 2,
                                      .open = 9,
                                      .accepted = 40,
                                      .opened = 30,
                                      .failed = 7,
                                      .frames = 1000,
                                      .bytes_in = 80000,
                                      .bytes_out = 90000}};
    figures->refusals[TC_REFUSED_ROUND] = 5;
    static const double commits[] = {0.00001, 0.00005, 0.00006, 0.003, 2, 1e9};
    for (size_t i = 0; i < sizeof commits / sizeof commits[0]; i++)
        tc_figures_commit(figures, commits[i]);
}

static int begin(void **state) {
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    s = (site){.arena = tc_arena_new(0), .base = event_base_new()};
    assert_non_null(s.arena);
    assert_non_null(s.base);
    s.messages = tc_buffer_new(s.arena, 4096);
    fill(&s.figures);
    assert_int_equal(tc_http_new(s.base, "127.0.0.1:0", &s.figures, refresh, &s, &s.messages, &s.http), TC_OK);
    return 0;
}

static int end(void **state) {
    (void)state;
    tc_http_free(s.http);
    event_base_free(s.base);
    tc_arena_free(s.arena);
    return 0;
}

/* ---- Clients ---- */

static double now(void) {
    struct timespec at = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static void turn(void) {
    (void)event_base_loop(s.base, EVLOOP_NONBLOCK);
    struct timespec little = {.tv_nsec = 200000};
    (void)nanosleep(&little, NULL);
}

static int client(int receive_bytes) { /* 0: as the system has it */
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    if (receive_bytes > 0)
        assert_int_equal(setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes), 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)tc_http_port(s.http))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(fcntl(descriptor, F_SETFL, O_NONBLOCK), 0);
    return descriptor;
}

static void say(int descriptor, const char *bytes, size_t size) { /* as far as the server takes it */
    for (double until = now() + 300; size > 0 && now() < until; turn()) {
        ssize_t sent = send(descriptor, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return;
        bytes += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
}

/* All that the server says until it closes; its status, 0 where it closes without a word. */
static unsigned hear(int descriptor) {
    size_t length = 0;
    for (double until = now() + 300;; turn()) {
        assert_true(now() < until);
        ssize_t got = recv(descriptor, answer + length, sizeof answer - 1 - length, 0);
        if (got < 0 && errno == EAGAIN)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    answer[length] = 0;
    (void)close(descriptor);
    unsigned code = 0;
    assert_true(length == 0 || sscanf(answer, "HTTP/1.1 %u ", &code) == 1);
    return code;
}

static unsigned ask(const char *request) {
    int descriptor = client(0);
    say(descriptor, request, strlen(request));
    return hear(descriptor);
}

static const char *body(void) {
    const char *at = strstr(answer, "\r\n\r\n");
    assert_non_null(at);
    const char *length = strstr(answer, "Content-Length: ");
    assert_non_null(length);
    assert_int_equal(strtoul(length + 16, NULL, 10), strlen(at + 4));
    return at + 4;
}

/* ---- Pages ---- */

static void healthz_is_200_unless_the_cloud_failed(void **state) {
    (void)state;
    static const unsigned codes[] = {
        [TC_PHASE_ENROLLING] = 200, [TC_PHASE_RUNNING] = 200,  [TC_PHASE_STOPPING] = 200, [TC_PHASE_DONE] = 200,
        [TC_PHASE_STANDBY] = 200,   [TC_PHASE_DATABASE] = 200, [TC_PHASE_FAILED] = 503};
    for (unsigned phase = 0; phase <= TC_PHASE_FAILED; phase++) {
        s.figures.phase = (tc_serve_phase)phase;
        assert_int_equal(ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), codes[phase]);
        char line[32];
        (void)snprintf(line, sizeof line, "%s\n", tc_serve_phase_name((tc_serve_phase)phase));
        assert_string_equal(body(), line);
    }
}

static void status_is_json_with_released_figures(void **state) {
    (void)state;
    assert_int_equal(ask("GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
    assert_non_null(strstr(answer, "\r\nContent-Type: application/json\r\n"));
    assert_int_equal(s.refreshed, 1);
    const char *page = body();
    assert_true(json_is_valid(page));
    static const char *const parts[] = {"\"version\": \"1.2.3\"",
                                        "\"phase\": \"running\"",
                                        "\"round\": 281474976710655",
                                        "\"epsilon\": 0.6931471805599453",
                                        "\"unit\": \"one:1\"",
                                        "\"norm\": \"root-sum-square\"",
                                        "\"hidden_every_round\": 0.25",
                                        "\"enrolled\": 9",
                                        "\"multipliers\": [0.5, 1e-300, -0]",
                                        "\"answer_multipliers\": [0.25, 0, 0.3333333333333333]",
                                        "\"bounds\": [-1, -0.5, 2]",
                                        "\"quote\\\" back\\\\ line\\n \\ufffd\"",
                                        "\"refusals\": 5"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_non_null(strstr(page, parts[i]));
}

static void status_before_the_first_round_is_json_too(void **state) {
    (void)state;
    s.figures = (tc_figures){.phase = TC_PHASE_ENROLLING, .epsilon = NAN};
    assert_int_equal(ask("GET /status HTTP/1.1\r\n\r\n"), 200);
    assert_true(json_is_valid(body()));
    assert_non_null(strstr(body(), "\"multipliers\": null"));
    assert_int_equal(ask("GET /metrics HTTP/1.1\r\n\r\n"), 200);
    prometheus found = {0};
    prometheus_read(&found, body());
    assert_true(prometheus_value(&found, "tacit_rounds_total", NULL, NULL) == 0);
}

static void metrics_follow_the_format_and_its_rules_for_names(void **state) {
    (void)state;
    assert_int_equal(ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
    assert_non_null(strstr(answer, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    prometheus found = {0};
    prometheus_read(&found, body()); /* HELP and TYPE before samples, counters end in _total, nothing twice */
    assert_true(prometheus_value(&found, "tacit_rounds_total", NULL, NULL) == 281474976710655.0);
    assert_true(prometheus_value(&found, "tacit_build_info", "version", "1.2.3") == 1);
    assert_true(prometheus_value(&found, "tacit_last_reload_successful", NULL, NULL) == 0);
    assert_true(prometheus_value(&found, "tacit_log_lines_lost_total", NULL, NULL) == 11);
    assert_true(prometheus_value(&found, "tacit_phase", "phase", "running") == 1);
    assert_true(prometheus_value(&found, "tacit_phase", "phase", "failed") == 0);
    assert_true(prometheus_value(&found, "tacit_refusals_total", "reason", "wrong round") == 5);
    assert_true(prometheus_value(&found, "tacit_refusals_total", "reason", "another run") == 0);
    assert_true(prometheus_value(&found, "tacit_connections", "state", "shaking") == 2);
    assert_true(prometheus_value(&found, "tacit_multiplier", "constraint", "sum") == 0.5);
    assert_true(prometheus_value(&found, "tacit_answer_multiplier", "constraint", "M\xc3\xbcller") == 1.0 / 3);
    assert_true(prometheus_value(&found, "tacit_feasibility_bound", "constraint",
                                 "quote\" back\\ line\n \xef\xbf\xbd") == -0.5);
    assert_true(prometheus_value(&found, "tacit_certificate_expiry_time_seconds", NULL, NULL) == 1.8e9);
    assert_true(prometheus_value(&found, "tacit_sent_bytes_total", NULL, NULL) == 90000);
}

static void commits_are_a_cumulative_histogram(void **state) {
    (void)state;
    assert_int_equal(ask("GET /metrics HTTP/1.1\r\n\r\n"), 200);
    prometheus found = {0};
    prometheus_read(&found, body());
    static const struct {
        const char *le;
        double count;
    } expected[] = {{"5e-05", 2}, {"0.0001", 3}, {"0.002", 3}, {"0.005", 4}, {"1", 4}, {"+Inf", 6}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_true(prometheus_value(&found, "tacit_journal_commit_seconds_bucket", "le", expected[i].le) ==
                    expected[i].count);
    assert_true(prometheus_value(&found, "tacit_journal_commit_seconds_count", NULL, NULL) == 6);
    double sum = prometheus_value(&found, "tacit_journal_commit_seconds_sum", NULL, NULL);
    assert_true(fabs(sum - 1000000002.00312) < 1e-3);
}

static void every_metric_stands_in_the_manual(void **state) {
    (void)state;
    tc_buffer page = tc_buffer_new(s.arena, 1 << 20);
    tc_metrics_text(&page, &s.figures);
    prometheus found = {0};
    prometheus_read(&found, tc_buffer_text(&page));
    static char manual[1 << 18];
    FILE *file = fopen(TACIT_SOURCE_DIR "/docs/operations.md", "r");
    assert_non_null(file);
    manual[fread(manual, 1, sizeof manual - 1, file)] = 0;
    (void)fclose(file);
    for (size_t i = 0; i < found.family_count; i++) {
        char name[128];
        (void)snprintf(name, sizeof name, "`%s`", found.families[i].name);
        if (strstr(manual, name) == NULL)
            fail_msg("docs/operations.md does not explain %s", found.families[i].name);
    }
}

static void only_the_first_hundred_constraints_are_series(void **state) {
    (void)state;
    enum { MANY = 20000 };
    double *multipliers = TC_NEW(s.arena, double, MANY);
    const char **names = TC_NEW(s.arena, const char *, MANY);
    for (size_t i = 0; i < MANY; i++)
        names[i] = tc_arena_format(s.arena, "c%zu", i);
    s.figures.multipliers = multipliers;
    s.figures.answer_multipliers = NULL;
    s.figures.feasibility = NULL;
    s.figures.constraint_names = names;
    s.figures.multiplier_count = MANY;
    assert_int_equal(ask("GET /metrics HTTP/1.1\r\n\r\n"), 200);
    prometheus found = {0};
    prometheus_read(&found, body());
    assert_true(found.sample_count < 200);
    assert_int_equal(ask("GET /status HTTP/1.1\r\n\r\n"), 200);
    assert_true(json_is_valid(body()));
    assert_non_null(strstr(body(), "\"c19999\""));
}

/* ---- Requests ---- */

static void head_is_get_without_the_body(void **state) {
    (void)state;
    assert_int_equal(ask("HEAD /metrics HTTP/1.1\r\n\r\n"), 200);
    const char *length = strstr(answer, "Content-Length: ");
    assert_non_null(length);
    assert_true(strtoul(length + 16, NULL, 10) > 1000);
    assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
}

static void requests_are_understood_or_refused_by_their_code(void **state) {
    (void)state;
    static const struct {
        const char *request;
        unsigned code;
    } cases[] = {{"GET /healthz?full HTTP/1.0\n\n", 200},
                 {"GET http://127.0.0.1:1/healthz HTTP/1.1\r\n\r\n", 200},
                 {"GET http://127.0.0.1 HTTP/1.1\r\n\r\n", 404},
                 {"GET http://healthz HTTP/1.1\r\n\r\n", 421},
                 {"GET / HTTP/1.1\r\n\r\n", 404},
                 {"GET /healthz/ HTTP/1.1\r\n\r\n", 404},
                 {"GET /HEALTHZ HTTP/1.1\r\n\r\n", 404},
                 {"GET /../status HTTP/1.1\r\n\r\n", 404},
                 {"POST /status HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd", 405},
                 {"DELETE /status HTTP/1.1\r\n\r\n", 405},
                 {"get /status HTTP/1.1\r\n\r\n", 405},
                 {"GET /status HTTP/2.0\r\n\r\n", 505},
                 {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
                 {"GET /status\r\n\r\n", 400},
                 {"GET  HTTP/1.1\r\n\r\n", 400},
                 {" GET /status HTTP/1.1\r\n\r\n", 400},
                 {"GET /status HTTP/1.1 more\r\n\r\n", 400},
                 {"GET /status XTTP/1.1\r\n\r\n", 400},
                 {"\r\n\r\n", 400},
                 {"GET /\x01status HTTP/1.1\r\n\r\n", 400},
                 {"\x16\x03\x01\x02", 400}, /* TLS, at its first bytes */
                 {"GET /stat\xc3\xbcs HTTP/1.1\r\n\r\n", 400}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned code = ask(cases[i].request);
        if (code != cases[i].code)
            fail_msg("%u instead of %u for: %s", code, cases[i].code, cases[i].request);
        assert_true(json_is_valid(body()) == false || code == 200);
        assert_true((strstr(answer, "\r\nAllow: GET, HEAD\r\n") != NULL) == (code == 405));
    }
}

/* A web page can point a name of its own at this machine, but cannot choose the Host that a browser sends. */
static void only_names_that_nobody_else_can_own_are_answered(void **state) {
    (void)state;
    static const char *const more[] = {"status.example.net", "192.0.2.1"};
    char machine[300] = "";
    assert_int_equal(gethostname(machine, sizeof machine - 8), 0);
    tc_http_allow(s.http, more, 2);
    const struct {
        const char *host;
        unsigned code;
    } cases[] = {{"localhost", 200},
                 {"LocalHost:7576", 200},
                 {"localhost.", 200},
                 {"127.0.0.1", 200},
                 {"127.0.0.1:80", 200},
                 {"[::ffff:127.0.0.1]:80", 200}, /* the same address */
                 {machine, 200},
                 {"192.0.2.1", 200},
                 {"status.example.net", 200},
                 {"STATUS.example.NET.:1", 200},
                 {"127.0.0.2", 421},
                 {"192.0.2.7:7576", 421},
                 {"[::1]", 421}, /* this port is not there */
                 {"evil.example", 421},
                 {"evil.example:7576", 421},
                 {"localhost.evil.example", 421},
                 {"status.example.net.evil", 421},
                 {"user@localhost", 421},
                 {"localhost:7576x", 421},
                 {"localhost:7576:7576", 421},
                 {"[localhost", 421},
                 {".", 421},
                 {"", 421}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char request[1024];
        (void)snprintf(request, sizeof request, "GET /status HTTP/1.1\r\nAccept: */*\r\nhOSt:\t %s \r\nX: y\r\n\r\n",
                       cases[i].host);
        unsigned before = s.refreshed, code = ask(request);
        if (code != cases[i].code)
            fail_msg("%u instead of %u for the host '%s'", code, cases[i].code, cases[i].host);
        assert_int_equal(s.refreshed - before, code == 200);
        assert_true((strstr(answer, "multiplier") != NULL) == (code == 200));
    }
    /* A proxy's target counts too; two hosts count as none; what follows the headers is not a header. */
    assert_int_equal(ask("GET http://evil.example/status HTTP/1.1\r\nHost: localhost\r\n\r\n"), 421);
    assert_int_equal(ask("GET http://localhost/status HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421);
    assert_int_equal(ask("GET /status HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"), 400);
    assert_int_equal(ask("GET /status HTTP/1.1\r\n\r\nHost: evil.example\r\n"), 200);
    tc_http_allow(s.http, NULL, 0);
    assert_int_equal(ask("GET /status HTTP/1.1\r\nHost: status.example.net\r\n\r\n"), 421);
}

static int client_at(const char *host, unsigned port) { /* -1: this machine has no such addresses */
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found = NULL;
    char number[8];
    (void)snprintf(number, sizeof number, "%u", port);
    assert_int_equal(getaddrinfo(host, number, &hints, &found), 0);
    int descriptor = socket(found->ai_family, SOCK_STREAM, 0);
    if (descriptor >= 0 && connect(descriptor, found->ai_addr, found->ai_addrlen) != 0) {
        assert_true(errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT || errno == ENETUNREACH);
        (void)close(descriptor);
        descriptor = -1;
    }
    freeaddrinfo(found);
    if (descriptor >= 0)
        assert_int_equal(fcntl(descriptor, F_SETFL, O_NONBLOCK), 0);
    return descriptor;
}

static void every_address_is_of_both_kinds(void **state) {
    (void)state;
    static const char *const hosts[] = {"127.0.0.1", "::1"};
    static const char *const requests[] = {"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n",
                                           "GET /healthz HTTP/1.1\r\nHost: [::1]:1\r\n\r\n"};
    tc_http *http = NULL;
    assert_int_equal(tc_http_new(s.base, ":0", &s.figures, NULL, NULL, &s.messages, &http), TC_OK);
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < 2; j++) {
            int descriptor = client_at(hosts[i], tc_http_port(http));
            assert_true(descriptor >= 0 || i == 1);
            if (descriptor < 0)
                continue;
            say(descriptor, requests[j], strlen(requests[j]));
            assert_int_equal(hear(descriptor), i == j ? 200 : 421);
        }
    }
    char taken[32]; /* by both */
    tc_http *second = NULL;
    (void)snprintf(taken, sizeof taken, ":%u", tc_http_port(http));
    assert_int_equal(tc_http_new(s.base, taken, &s.figures, NULL, NULL, &s.messages, &second), TC_CANNOT_READ);
    (void)snprintf(taken, sizeof taken, "0.0.0.0:%u", tc_http_port(http));
    assert_int_equal(tc_http_new(s.base, taken, &s.figures, NULL, NULL, &s.messages, &second), TC_CANNOT_READ);
    tc_http_free(http);
}

static void headers_and_lines_without_end_are_refused(void **state) {
    (void)state;
    enum { LONG = 600000 };
    char *bytes = malloc(LONG);
    assert_non_null(bytes);
    memset(bytes, 'a', LONG);
    memcpy(bytes, "GET /status HTTP/1.1\r\nX: ", 25);
    int descriptor = client(0);
    say(descriptor, bytes, LONG);
    assert_int_equal(hear(descriptor), 431);
    memset(bytes, 'a', LONG);
    descriptor = client(0);
    say(descriptor, bytes, LONG);
    assert_int_equal(hear(descriptor), 414);
    free(bytes);
}

static void a_request_may_come_byte_by_byte(void **state) {
    (void)state;
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int descriptor = client(0);
    for (size_t i = 0; i + 1 < sizeof request; i++)
        say(descriptor, request + i, 1);
    assert_int_equal(hear(descriptor), 200);
}

static void a_client_that_drips_is_cut_off_and_others_are_served(void **state) {
    (void)state;
    tc_http_set_patience(s.http, 0.3);
    double begun = now(), last = 0;
    int slow = client(0);
    while (s.http->arrived == 0)
        turn();
    tc_http_set_patience(s.http, 60); /* with the others */
    say(slow, "GET /status HTTP/1.1\r\nX: ", 25);
    while (send(slow, "x", 1, MSG_NOSIGNAL) == 1 || errno == EAGAIN) {
        assert_true(now() - begun < 300);
        if (now() - last > 0.1) {
            assert_int_equal(ask("GET /healthz HTTP/1.1\r\n\r\n"), 200);
            last = now();
        }
        turn();
    }
    assert_true(now() - begun > 0.25);
    (void)close(slow);
}

static bool is_anybody_served(void) {
    bool is_served = false;
    for (size_t i = 0; i < TC_HTTP_CLIENTS; i++)
        is_served = is_served || s.http->clients[i].descriptor >= 0;
    return is_served;
}

static void a_client_that_never_reads_is_cut_off(void **state) {
    (void)state;
    tc_http_set_patience(s.http, 0.2);
    enum { MANY = 700000 };
    s.figures.multipliers = TC_NEW(s.arena, double, MANY);
    s.figures.answer_multipliers = NULL;
    s.figures.feasibility = NULL;
    s.figures.constraint_names = NULL;
    s.figures.multiplier_count = MANY;
    int descriptor = client(4096);
    say(descriptor, "GET /status HTTP/1.1\r\n\r\n", 24);
    double begun = now();
    while (s.http->arrived == 0 || is_anybody_served()) {
        assert_true(now() - begun < 300);
        turn();
    }
    tc_http_set_patience(s.http, 60);
    assert_int_equal(ask("GET /healthz HTTP/1.1\r\n\r\n"), 200);
    size_t length = 0;
    for (ssize_t got; (got = recv(descriptor, answer, sizeof answer - 1, 0)) > 0; turn())
        length += (size_t)got;
    assert_true(length < MANY); /* what was on its way, and not the whole */
    (void)close(descriptor);
}

static void silent_clients_cannot_keep_others_out(void **state) {
    (void)state;
    enum { SILENT = 100 };
    int silent[SILENT];
    for (size_t i = 0; i < SILENT; i++) {
        silent[i] = client(0);
        turn();
    }
    assert_int_equal(ask("GET /healthz HTTP/1.1\r\n\r\n"), 200);
    unsigned gone = 0;
    for (size_t i = 0; i < SILENT; i++) {
        char byte;
        gone += recv(silent[i], &byte, 1, 0) == 0;
        (void)close(silent[i]);
    }
    assert_in_range(gone, SILENT - 32, SILENT - 31); /* the oldest gave way */
}

static void clients_that_vanish_do_no_harm(void **state) {
    (void)state;
    static const char *const begun[] = {"", "G", "GET /status HTTP/1.1\r\n", "GET /status HTTP/1.1\r\n\r\n"};
    for (size_t i = 0; i < 40; i++) {
        int descriptor = client(0);
        say(descriptor, begun[i % 4], strlen(begun[i % 4]));
        struct linger reset = {.l_onoff = 1};
        if (i % 8 < 4)
            (void)setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        (void)close(descriptor);
        turn();
    }
    assert_int_equal(ask("GET /healthz HTTP/1.1\r\n\r\n"), 200);
}

/* ---- Addresses ---- */

static void an_open_address_is_announced_with_a_warning(void **state) {
    (void)state;
    static const struct {
        const char *address;
        bool warns;
    } cases[] = {{"127.0.0.1:0", false}, {"127.9.9.9:0", false}, {":0", true}, {"0.0.0.0:0", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tc_http *http;
        assert_int_equal(tc_http_new(s.base, cases[i].address, &s.figures, NULL, NULL, &s.messages, &http), TC_OK);
        char *text;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        tc_http_announce(http, cases[i].address, tc_log_new(s.arena, out, false, TC_LOG_INFO));
        (void)fclose(out);
        assert_non_null(strstr(text, " info http: "));
        assert_true((strstr(text, " warning http-open: ") != NULL) == cases[i].warns);
        free(text);
        tc_http_free(http);
    }
}

static void an_address_that_is_taken_or_wrong_is_refused(void **state) {
    (void)state;
    tc_http *http;
    char taken[32];
    (void)snprintf(taken, sizeof taken, "127.0.0.1:%u", tc_http_port(s.http));
    assert_int_equal(tc_http_new(s.base, taken, &s.figures, NULL, NULL, &s.messages, &http), TC_CANNOT_READ);
    assert_null(http);
    assert_non_null(strstr(tc_buffer_text(&s.messages), "cannot listen at '127.0.0.1:"));
    assert_int_equal(tc_http_new(s.base, "nonsense", &s.figures, NULL, NULL, &s.messages, &http), TC_BAD_USAGE);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(healthz_is_200_unless_the_cloud_failed),
        T(status_is_json_with_released_figures),
        T(status_before_the_first_round_is_json_too),
        T(metrics_follow_the_format_and_its_rules_for_names),
        T(commits_are_a_cumulative_histogram),
        T(every_metric_stands_in_the_manual),
        T(only_the_first_hundred_constraints_are_series),
        T(head_is_get_without_the_body),
        T(requests_are_understood_or_refused_by_their_code),
        T(only_names_that_nobody_else_can_own_are_answered),
        T(every_address_is_of_both_kinds),
        T(headers_and_lines_without_end_are_refused),
        T(a_request_may_come_byte_by_byte),
        T(a_client_that_drips_is_cut_off_and_others_are_served),
        T(a_client_that_never_reads_is_cut_off),
        T(silent_clients_cannot_keep_others_out),
        T(clients_that_vanish_do_no_harm),
        T(an_open_address_is_announced_with_a_warning),
        T(an_address_that_is_taken_or_wrong_is_refused),
    };
    return cmocka_run_group_tests_name("serve/status", tests, NULL, NULL);
}
