/* One process that drives N connections over TLS, each with one request outstanding, against the cloud or redis: the
 * same loop, the same library, the same bytes of payload. net_load (tacit|redis) KEYS PORT CONNECTIONS SLOTS STATES
 * REQUESTS Handshakes are outside of the time that it prints: exchanges, seconds, and exchanges a second. */
#include "serve/listener.h"
#include "net/message_cloud.h"
#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 512, AT_ONCE = 64, ROOM = 1 << 16 };

typedef struct connection {
    SSL *ssl;
    uint64_t done; /* requests answered */
    size_t got;    /* bytes of the answer */
    bool is_open;
} connection;

typedef struct load {
    bool redis;
    uint32_t slots, states;
    uint64_t requests;
    size_t count, open, finished;
    connection *all;
    int poll;
    size_t answer; /* bytes of one */
    unsigned char *request;
    size_t request_size;
} load;

static unsigned char scratch[ROOM];

static void fail(const char *why) {
    (void)fprintf(stderr, "net_load: %s (%s)\n", why, strerror(errno));
    exit(3);
}

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The payload of redis is what a state's frame is. */
static void prepare(load *l) {
    size_t one = tc_state_size(l->states);
    int64_t *units = calloc(l->states, sizeof *units);
    l->request = calloc(1, l->slots * (one + 128));
    if (units == NULL || l->request == NULL)
        fail("memory is out");
    for (uint32_t s = 0; s < l->slots; s++) {
        if (l->redis) {
            int head = snprintf((char *)l->request + l->request_size, 128,
                                "*3\r\n$3\r\nSET\r\n$6\r\nkey%03u\r\n$%zu\r\n", s % 1000, one);
            l->request_size += (size_t)head;
            memset(l->request + l->request_size, 'x', one);
            memcpy(l->request + l->request_size + one, "\r\n", 2);
            l->request_size += one + 2;
        } else {
            tc_state_encode(s, 1, units, l->states, l->request + l->request_size);
            l->request_size += one;
        }
    }
    l->answer = l->slots * (l->redis ? 5 : tc_answer_size(l->states));
    free(units);
}

static void send_request(load *l, connection *c) {
    size_t sent = 0;
    if (!l->redis)
        for (uint32_t s = 0; s < l->slots; s++)
            tc_put_u64(l->request + s * tc_state_size(l->states) + 16, c->done + 1);
    if (SSL_write_ex(c->ssl, l->request, l->request_size, &sent) != 1 || sent != l->request_size)
        fail("a request did not leave");
}

/* An answer is whole: the next request, or the end. */
static void receive(load *l, connection *c) {
    do {
        size_t got = 0;
        if (SSL_read_ex(c->ssl, scratch, sizeof scratch, &got) != 1) {
            int error = SSL_get_error(c->ssl, 0);
            if (error == SSL_ERROR_WANT_READ)
                return;
            fail("an answer did not come");
        }
        c->got += got;
        if (c->got < l->answer)
            continue;
        c->got = 0;
        if (++c->done == l->requests) {
            l->finished++;
            return;
        }
        send_request(l, c);
    } while (SSL_has_pending(c->ssl));
}

static void shake(load *l, connection *c) {
    int result = SSL_do_handshake(c->ssl);
    if (result == 1) {
        c->is_open = true;
        l->open++;
    } else if (SSL_get_error(c->ssl, result) != SSL_ERROR_WANT_READ) {
        fail(tc_tls_failure(c->ssl));
    }
}

static void turn(load *l) {
    struct epoll_event events[EVENTS];
    int count = epoll_wait(l->poll, events, EVENTS, 10000);
    if (count <= 0)
        fail("nothing happens");
    for (int i = 0; i < count; i++) {
        connection *c = events[i].data.ptr;
        if (c->is_open)
            receive(l, c);
        else
            shake(l, c);
    }
}

static void start(load *l, connection *c, SSL_CTX *context, uint16_t port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int yes = 1, descriptor = socket(AF_INET, SOCK_STREAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&to, sizeof to) != 0 ||
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 ||
        fcntl(descriptor, F_SETFL, O_NONBLOCK) != 0 || (c->ssl = tc_tls_connect(context, descriptor)) == NULL)
        fail("cannot connect");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(l->poll, EPOLL_CTL_ADD, descriptor, &event) != 0)
        fail("cannot wait for it");
    shake(l, c);
}

static void open_all(load *l, SSL_CTX *context, uint16_t port) {
    for (size_t i = 0; i < l->count; i++) {
        start(l, &l->all[i], context, port);
        while (i + 1 - l->open >= AT_ONCE)
            turn(l);
    }
    while (l->open < l->count)
        turn(l);
}

int main(int argc, char **argv) {
    if (argc != 8)
        fail("(tacit|redis) KEYS PORT CONNECTIONS SLOTS STATES REQUESTS");
    (void)signal(SIGPIPE, SIG_IGN);
    (void)tc_listener_raise_limit();
    load l = {.redis = strcmp(argv[1], "redis") == 0,
              .count = strtoul(argv[4], NULL, 10),
              .slots = (uint32_t)strtoul(argv[5], NULL, 10),
              .states = (uint32_t)strtoul(argv[6], NULL, 10),
              .requests = strtoul(argv[7], NULL, 10),
              .poll = epoll_create1(0)};
    tc_arena *arena = tc_arena_new(0);
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    SSL_CTX *context = NULL;
    if (tc_tls_agent(arena, argv[2], &messages, &context) != TC_OK)
        fail(tc_buffer_text(&messages));
    l.all = calloc(l.count, sizeof *l.all);
    if (l.all == NULL)
        fail("memory is out");
    prepare(&l);
    open_all(&l, context, (uint16_t)strtoul(argv[3], NULL, 10));
    double began = now();
    for (size_t i = 0; i < l.count; i++)
        send_request(&l, &l.all[i]);
    while (l.finished < l.count)
        turn(&l);
    double seconds = now() - began;
    uint64_t exchanges = (uint64_t)l.count * l.slots * l.requests;
    (void)printf("%llu %.6f %.0f\n", (unsigned long long)exchanges, seconds, (double)exchanges / seconds);
    for (size_t i = 0; i < l.count; i++) {
        (void)close(SSL_get_fd(l.all[i].ssl));
        SSL_free(l.all[i].ssl);
    }
    free(l.all);
    free(l.request);
    SSL_CTX_free(context);
    tc_arena_free(arena);
    return 0;
}
