/* One process that drives N connections over mutual TLS, each with one request outstanding, against the cloud, redis,
 * or a bare server: the same loop, the same library, the same bytes of payload.
 *
 *     net_load (tacit|redis|bare) KEYS PORT CONNECTIONS SLOTS STATES [BEFORE]
 *
 * KEYS: a folder of `tacit keys` with a certificate of the label "load". The agents are unit[1], unit[2], ..., SLOTS of
 * them on a connection. BEFORE: so many connections, and their agents, are another load generator's. To the cloud it
 * speaks as agents do: hello, enrolment, states; and each connection has a certificate of its own, made here, that
 * names its agents.
 *
 * When all are connected and enrolled it prints "ready". For each line with a number on standard input it makes so many
 * requests on every connection, and prints exchanges, seconds, and its own seconds of processor time. */
#include "serve/link/link.h"
#include "serve/link/sender.h"
#include "net/tls/certificate.h"
#include "net/message.h"
#include "net/tls/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
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

enum { EVENTS = 512, AT_ONCE = 64, ROOM = 1 << 16, GROUP = 100, WAIT = 60000 };

typedef struct connection {
    SSL *ssl;
    tc_socket socket; /* the BIO that agents use */
    int descriptor;
    uint64_t asked; /* requests so far: the round */
    uint64_t until;
    size_t got; /* bytes of what is awaited */
    bool is_open;
} connection;

typedef enum peer { TACIT, REDIS, BARE } peer;

typedef struct load {
    tc_arena *arena;
    peer peer;
    uint32_t slots, states;
    size_t count, open, finished, before;
    connection *all;
    BIO_METHOD *bio;
    int poll;
    size_t awaited; /* bytes of one answer */
    unsigned char *request;
    size_t request_size;
    tc_credential authority;
    int exponent;
    void (*whole)(struct load *l, connection *c, const unsigned char *bytes,
                  size_t size); /* what was awaited is here */
    tc_sender *sender;
    tc_sending sendings[TC_SENDER_MOST]; /* encrypted requests that leave together */
    unsigned char *sealed[TC_SENDER_MOST];
    size_t sealed_count, sealed_room;
} load;

static unsigned char scratch[ROOM];

static void fail(const char *why) {
    (void)fprintf(stderr, "net_load: %s (%s)\n", why, strerror(errno));
    exit(3);
}

static double seconds_of(clockid_t clock) {
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void put(const connection *c, const unsigned char *bytes, size_t size) {
    size_t sent = 0;
    if (SSL_write_ex(c->ssl, bytes, size, &sent) != 1 || sent != size)
        fail("a request did not leave");
}

static void flush(load *l) {
    tc_sender_send(l->sender, l->sendings, l->sealed_count);
    for (size_t i = 0; i < l->sealed_count; i++)
        if (l->sendings[i].sent != l->sendings[i].size)
            fail("a request did not leave");
    l->sealed_count = 0;
}

/* With the next ones, as the cloud sends its answers. */
static void put_together(load *l, connection *c, const unsigned char *bytes, size_t size) {
    tc_held held = {.bytes = l->sealed[l->sealed_count], .room = l->sealed_room};
    c->socket.held = &held;
    put(c, bytes, size);
    c->socket.held = NULL;
    l->sendings[l->sealed_count++] = (tc_sending){.descriptor = c->descriptor, .bytes = held.bytes, .size = held.size};
    if (l->sealed_count == TC_SENDER_MOST)
        flush(l);
}

/* ---- requests ---- */

/* The payload of redis is what a state's frame is. */
static void prepare(load *l) {
    size_t one = tc_state_size(l->states);
    int64_t *units = TC_NEW(l->arena, int64_t, l->states);
    l->request = TC_NEW(l->arena, unsigned char, l->slots *(one + 128));
    for (uint32_t i = 0; i < l->states; i++)
        units[i] = (int64_t)ldexp(0.25, -l->exponent); /* within the box, so that no state is moved */
    for (uint32_t s = 0; s < l->slots; s++) {
        if (l->peer == REDIS) {
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
    l->awaited = l->slots * (l->peer == REDIS ? 5 : tc_answer_size(l->states));
    l->sealed_room = l->request_size + l->request_size / 16 + 256;
    for (size_t i = 0; i < TC_SENDER_MOST; i++)
        l->sealed[i] = TC_NEW(l->arena, unsigned char, l->sealed_room);
}

static void ask(load *l, connection *c) {
    c->asked++;
    if (l->peer != REDIS)
        for (uint32_t s = 0; s < l->slots; s++)
            tc_put_u64(l->request + s * tc_state_size(l->states) + 16, c->asked);
    put_together(l, c, l->request, l->request_size);
}

static void on_answer(load *l, connection *c, const unsigned char *bytes, size_t size) {
    if (l->peer == REDIS
            ? bytes[size - 5] != '+'
            : size >= TC_FRAME_HEADER && (bytes[4] != TC_MESSAGE_ANSWER || tc_get_u64(bytes + 16) != c->asked))
        fail("an answer is not that of its round");
    if (c->asked == c->until)
        l->finished++;
    else
        ask(l, c);
}

/* ---- beginning ---- */

static void name_of(const load *l, const connection *c, uint32_t slot, char name[32]) {
    (void)snprintf(name, 32, "unit[%zu]", (l->before + (size_t)(c - l->all)) * l->slots + slot + 1);
}

static void on_enrolled(load *l, connection *c, const unsigned char *bytes, size_t size) {
    (void)c;
    if (size < tc_enrolled_size(&(tc_enrolled){0}) || bytes[4] != TC_MESSAGE_ENROLLED)
        fail("an agent was not enrolled");
    l->exponent = (int)(int32_t)tc_get_u32(bytes + TC_FRAME_HEADER + 4);
    l->finished++;
}

static void on_welcome(load *l, connection *c, const unsigned char *bytes, size_t size) {
    (void)c;
    if (size != TC_WELCOME_SIZE || bytes[4] != TC_MESSAGE_WELCOME)
        fail("an agent is not welcome");
    l->finished++;
}

static void say_hello(const connection *c) {
    tc_hello hello = {.lowest_version = 1, .highest_version = 1, .software = "net_load", .software_length = 8};
    unsigned char out[TC_FRAME_HEADER + TC_MOST_CONTROL];
    tc_hello_encode(&hello, out);
    put(c, out, tc_hello_size(&hello));
}

static void say_enrol(const load *l, const connection *c) {
    size_t size = 0;
    for (uint32_t s = 0; s < l->slots; s++) {
        char name[32];
        name_of(l, c, s, name);
        tc_enrol enrol = {.slot = s, .states = l->states, .name = name, .name_length = strlen(name)};
        if (size + tc_enrol_size(&enrol) > ROOM)
            fail("too many slots");
        tc_enrol_encode(&enrol, scratch + size);
        size += tc_enrol_size(&enrol);
    }
    put(c, scratch, size);
}

/* ---- the loop ---- */

static void receive(load *l, connection *c) {
    do {
        size_t got = 0;
        tc_socket_turn(&c->socket);
        if (SSL_read_ex(c->ssl, scratch, sizeof scratch, &got) != 1) {
            if (SSL_get_error(c->ssl, 0) == SSL_ERROR_WANT_READ)
                return;
            fail("an answer did not come");
        }
        c->got += got;
        if (c->got < l->awaited)
            continue;
        size_t over = c->got - l->awaited;
        if (over != 0)
            fail("more came than was asked for");
        c->got = 0;
        l->whole(l, c, scratch, got);
    } while (SSL_has_pending(c->ssl));
}

static void shake(load *l, connection *c) {
    tc_socket_turn(&c->socket);
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
    int count = epoll_wait(l->poll, events, EVENTS, WAIT);
    if (count <= 0)
        fail("nothing happens");
    for (int i = 0; i < count; i++) {
        connection *c = events[i].data.ptr;
        if (c->is_open)
            receive(l, c);
        else
            shake(l, c);
    }
    flush(l);
}

static void await(load *l, size_t count) {
    for (l->finished = 0; l->finished < count;)
        turn(l);
}

/* ---- connections ---- */

static void identify(load *l, const connection *c) {
    const char **names = TC_NEW(l->arena, const char *, l->slots);
    for (uint32_t s = 0; s < l->slots; s++) {
        char name[32];
        name_of(l, c, s, name);
        names[s] = tc_arena_format(l->arena, "%s", name);
    }
    time_t now = time(NULL);
    tc_certificate_wish wish = {.kind = TC_CERTIFICATE_AGENT,
                                .label = names[0],
                                .names = names,
                                .name_count = l->slots,
                                .from = now - 3600,
                                .until = now + 86400};
    tc_credential own;
    if (tc_certificate_make(l->arena, &wish, &l->authority, &own) != TC_OK ||
        SSL_use_certificate(c->ssl, own.certificate) != 1 || SSL_use_PrivateKey(c->ssl, own.key) != 1)
        fail("cannot make a certificate");
}

static void start(load *l, connection *c, SSL_CTX *context, uint16_t port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int yes = 1;
    c->descriptor = socket(AF_INET, SOCK_STREAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (c->descriptor < 0 || connect(c->descriptor, (struct sockaddr *)&to, sizeof to) != 0 ||
        setsockopt(c->descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 ||
        fcntl(c->descriptor, F_SETFL, O_NONBLOCK) != 0 || (c->ssl = tc_tls_connect(context, c->descriptor)) == NULL ||
        !tc_socket_bio_set(c->ssl, l->bio, &c->socket, &c->descriptor))
        fail("cannot connect");
    SSL_set_msg_callback(c->ssl, NULL); /* nothing is counted here */
    if (l->peer == TACIT)
        identify(l, c);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = c}; /* a read takes all that is there */
    if (epoll_ctl(l->poll, EPOLL_CTL_ADD, c->descriptor, &event) != 0)
        fail("cannot wait for it");
    shake(l, c);
}

static void enrol(load *l, size_t first, size_t count) {
    l->awaited = TC_WELCOME_SIZE;
    l->whole = on_welcome;
    for (size_t i = 0; i < count; i++)
        say_hello(&l->all[first + i]);
    await(l, count);
    l->awaited = (size_t)l->slots * tc_enrolled_size(&(tc_enrolled){0});
    l->whole = on_enrolled;
    for (size_t i = 0; i < count; i++)
        say_enrol(l, &l->all[first + i]);
    await(l, count);
}

/* The cloud gives a connection ten seconds to enrol: each group of them does so before the next one begins. */
static void open_all(load *l, SSL_CTX *context, uint16_t port) {
    for (size_t first = 0; first < l->count; first += GROUP) {
        size_t count = l->count - first < GROUP ? l->count - first : GROUP;
        for (size_t i = first; i < first + count; i++) {
            start(l, &l->all[i], context, port);
            while (i + 1 - l->open >= AT_ONCE)
                turn(l);
        }
        while (l->open < first + count)
            turn(l);
        if (l->peer == TACIT)
            enrol(l, first, count);
    }
}

static void burst(load *l, uint64_t requests) {
    double began = seconds_of(CLOCK_MONOTONIC), work = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < l->count; i++) {
        l->all[i].until = l->all[i].asked + requests;
        ask(l, &l->all[i]);
    }
    flush(l);
    await(l, l->count);
    (void)printf("%llu %.9f %.9f\n", (unsigned long long)(l->count * l->slots * requests),
                 seconds_of(CLOCK_MONOTONIC) - began, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - work);
    (void)fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc != 7 && argc != 8)
        fail("(tacit|redis|bare) KEYS PORT CONNECTIONS SLOTS STATES [BEFORE]");
    (void)signal(SIGPIPE, SIG_IGN);
    (void)tc_listener_raise_limit();
    tc_arena *arena = tc_arena_new(0);
    load l = {.arena = arena,
              .peer = strcmp(argv[1], "redis") == 0  ? REDIS
                      : strcmp(argv[1], "bare") == 0 ? BARE
                                                     : TACIT,
              .count = strtoul(argv[4], NULL, 10),
              .before = argc == 8 ? strtoul(argv[7], NULL, 10) : 0,
              .slots = (uint32_t)strtoul(argv[5], NULL, 10),
              .states = (uint32_t)strtoul(argv[6], NULL, 10),
              .bio = tc_socket_bio_method(),
              .poll = epoll_create1(0),
              .sender = tc_sender_new(),
              .exponent = -40};
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    SSL_CTX *context = NULL;
    uint16_t port = (uint16_t)strtoul(argv[3], NULL, 10);
    if (tc_tls_agent(arena, tc_arena_format(arena, "%s/agents/load", argv[2]), &messages, &context) != TC_OK ||
        tc_certificate_read(arena, tc_arena_format(arena, "%s/authority/identity.pem", argv[2]), true, &messages,
                            &l.authority) != TC_OK)
        fail(tc_buffer_text(&messages));
    l.all = TC_NEW(arena, connection, l.count);
    open_all(&l, context, port);
    l.whole = on_answer;
    prepare(&l);
    (void)puts("ready");
    (void)fflush(stdout);
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL)
        burst(&l, strtoul(line, NULL, 10));
    for (size_t i = 0; i < l.count; i++) {
        (void)close(l.all[i].descriptor);
        SSL_free(l.all[i].ssl);
    }
    tc_sender_free(l.sender);
    BIO_meth_free(l.bio);
    SSL_CTX_free(context);
    tc_arena_free(arena);
    return 0;
}
