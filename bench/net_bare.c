/* A bare TLS server for comparison: in each round it reads a request of every connection, and then answers all of them.
 * OpenSSL on epoll and nothing else: no frames are looked at, nothing is released, nothing is written down.
 *
 *     net_bare KEYS CONNECTIONS REQUEST ANSWER [FILE BYTES TOTALS]
 *
 * Sizes in bytes; prints its port; ends with its connections. With a FILE, each round appends BYTES bytes to blocks
 * that the file has already, and answers when they are durable. The file TOTALS has two doubles: the seconds that the
 * appends took, and how many there were. */
#include "net/tls/tls.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 512, ROOM = 1 << 16, FILE_BYTES = 4 << 20 };

typedef struct peer {
    SSL *ssl;
    size_t got;
} peer;

static unsigned char scratch[ROOM], answer[ROOM] = {0, 0, 0, 0, 19};

static void fail(const char *why) {
    (void)fprintf(stderr, "net_bare: %s\n", why);
    exit(3);
}

static int listen_here(size_t count) {
    struct sockaddr_in here = {.sin_family = AF_INET};
    socklen_t size = sizeof here;
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&here, sizeof here) != 0 ||
        listen(descriptor, (int)count) != 0 || getsockname(descriptor, (struct sockaddr *)&here, &size) != 0)
        fail("cannot listen");
    (void)printf("%u\n", ntohs(here.sin_port));
    (void)fflush(stdout);
    return descriptor;
}

static void take(peer *p, int listening, SSL_CTX *context, int poll) {
    int yes = 1, descriptor = accept(listening, NULL, NULL);
    if (descriptor < 0 || setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 ||
        (p->ssl = tc_tls_accept(context, descriptor)) == NULL || SSL_do_handshake(p->ssl) != 1)
        fail("a handshake failed");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = p};
    if (fcntl(descriptor, F_SETFL, O_NONBLOCK) != 0 || epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) != 0)
        fail("cannot wait for a connection");
}

typedef struct appender {
    int descriptor; /* -1: none */
    size_t bytes, at;
    double *totals; /* in memory that the reader sees, so that no further call is timed */
} appender;

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static appender open_appender(char **arguments) {
    static const unsigned char blocks[ROOM];
    appender a = {.descriptor = open(arguments[0], O_RDWR | O_CREAT, 0600), .bytes = strtoul(arguments[1], NULL, 10)};
    int totals = open(arguments[2], O_RDWR | O_CREAT, 0600);
    if (a.descriptor < 0 || a.bytes > ROOM || totals < 0 || ftruncate(totals, 2 * sizeof(double)) != 0)
        fail("cannot open a file");
    for (off_t at = 0; at < FILE_BYTES; at += ROOM)
        if (pwrite(a.descriptor, blocks, ROOM, at) != ROOM)
            fail("cannot write the file");
    if (fsync(a.descriptor) != 0)
        fail("cannot write the file through");
    a.totals = mmap(NULL, 2 * sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED, totals, 0);
    if (a.totals == MAP_FAILED)
        fail("cannot share the totals");
    return a;
}

static void append(appender *a) {
    double began = now();
    if (pwrite(a->descriptor, answer, a->bytes, (off_t)a->at) != (ssize_t)a->bytes || fdatasync(a->descriptor) != 0)
        fail("cannot append");
    a->at = a->at + 2 * a->bytes > FILE_BYTES ? 0 : a->at + a->bytes;
    a->totals[0] += now() - began;
    a->totals[1]++;
}

/* Whether a request is whole. */
static bool hear(peer *p, size_t request) {
    size_t got = 0;
    if (SSL_read_ex(p->ssl, scratch, sizeof scratch, &got) != 1) {
        if (SSL_get_error(p->ssl, 0) == SSL_ERROR_WANT_READ)
            return false;
        exit(0);
    }
    p->got += got;
    if (p->got < request)
        return false;
    p->got = 0;
    return true;
}

int main(int argc, char **argv) {
    if (argc != 5 && argc != 8)
        fail("KEYS CONNECTIONS REQUEST ANSWER [FILE BYTES TOTALS]");
    size_t count = strtoul(argv[2], NULL, 10), request = strtoul(argv[3], NULL, 10), size = strtoul(argv[4], NULL, 10);
    tc_arena *arena = tc_arena_new(0);
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    SSL_CTX *context = NULL;
    (void)signal(SIGPIPE, SIG_IGN);
    if (size > ROOM || tc_tls_cloud(arena, argv[1], &messages, &context) != TC_OK)
        fail(tc_buffer_text(&messages));
    appender file = {.descriptor = -1};
    if (argc == 8)
        file = open_appender(argv + 5);
    peer *peers = TC_NEW(arena, peer, count);
    int poll = epoll_create1(0), listening = listen_here(count);
    for (size_t i = 0; i < count; i++)
        take(&peers[i], listening, context, poll);
    for (uint64_t round = 1;; round++) {
        struct epoll_event events[EVENTS];
        for (size_t arrived = 0; arrived < count;) {
            int ready = epoll_wait(poll, events, EVENTS, -1);
            for (int i = 0; i < ready; i++)
                arrived += hear(events[i].data.ptr, request);
        }
        for (unsigned i = 0; i < 8; i++)
            answer[16 + i] = (unsigned char)(round >> 8 * i);
        if (file.descriptor >= 0)
            append(&file);
        for (size_t i = 0; i < count; i++) {
            size_t sent = 0;
            if (SSL_write_ex(peers[i].ssl, answer, size, &sent) != 1 || sent != size)
                fail("an answer did not leave");
        }
    }
}
