/* A peer that floods a cloud on this machine, for tests and script/soak: one kind of nonsense for some seconds.
 *
 *     tacit_flood KIND PORT KEYS SECONDS       prints how many connections and records it made
 *
 * KIND: hello (a ClientHello each, and no more), half (the same, cut short and kept), churn (whole handshakes), updates
 * (key updates), empty (records that hold nothing), warnings, fragments (frames of a byte a record), names (as many
 * connections as it gets, kept), refused (what must be refused), deaf (asks and never reads), silent, http, trickle
 * (HTTP a byte at a time). PORT is that of the pages for the last two. Loopback alone. */
#define _POSIX_C_SOURCE 200809L
#include "net/message.h"
#include "net/tls/tls.h"
#include "serve/records.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 3000, MOST_A_SECOND = 3000 };

static struct {
    uint16_t port;
    SSL_CTX *tls;
    unsigned char hello[4096];
    size_t hello_size;
    double began, end;
    unsigned long connections, records;
    int kept[KEPT];
    size_t kept_at;
    records said;
} f;

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool goes_on(void) { return now() < f.end; }

/* Not so many that the machine does nothing but open sockets. */
static int dial(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(f.port)};
    struct timeval patience = {.tv_sec = 2};
    struct timespec pause = {.tv_nsec = 1000000};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    while ((double)f.connections > MOST_A_SECOND * (now() - f.began) + 100)
        (void)nanosleep(&pause, NULL);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    if (made < 0)
        return -1;
    (void)setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    (void)setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(made, (struct sockaddr *)&to, sizeof to) != 0) {
        (void)close(made);
        (void)nanosleep(&pause, NULL);
        return -1;
    }
    f.connections++;
    return made;
}

/* The oldest of those that are kept goes. */
static void keep(int descriptor) {
    int *place = &f.kept[f.kept_at++ % KEPT];
    if (*place > 0)
        (void)close(*place);
    *place = descriptor;
}

static bool put(int descriptor, const void *bytes, size_t size) {
    for (size_t at = 0; at < size;) {
        ssize_t sent = send(descriptor, (const char *)bytes + at, size - at, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += (size_t)sent;
    }
    f.records++;
    return true;
}

/* The bytes of a ClientHello, once. */
static void make_hello(void) {
    SSL *ssl = SSL_new(f.tls);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    if (ssl == NULL || in == NULL || out == NULL)
        exit(3);
    SSL_set_bio(ssl, in, out);
    SSL_set_connect_state(ssl);
    (void)SSL_do_handshake(ssl);
    int got = BIO_read(out, f.hello, sizeof f.hello);
    f.hello_size = got > 0 ? (size_t)got : 0;
    SSL_free(ssl);
}

static SSL *shake(void) {
    int descriptor = dial();
    SSL *ssl = descriptor < 0 ? NULL : tc_tls_connect(f.tls, descriptor);
    f.said = (records){0};
    if (ssl != NULL)
        SSL_set_app_data(ssl, &f.said);
    if (ssl != NULL && SSL_do_handshake(ssl) == 1 && f.said.is_known)
        return ssl;
    SSL_free(ssl);
    if (descriptor >= 0)
        (void)close(descriptor);
    return NULL;
}

static void part(SSL *ssl) {
    int descriptor = SSL_get_fd(ssl);
    SSL_free(ssl);
    (void)close(descriptor);
}

static void hello(bool is_cut) {
    int descriptor = dial();
    if (descriptor < 0)
        return;
    (void)put(descriptor, f.hello, f.hello_size - is_cut);
    if (is_cut)
        keep(descriptor);
    else
        (void)close(descriptor);
}

/* Records without end on one connection, until the cloud has enough. */
static void pour(size_t (*make)(unsigned char *out)) {
    static unsigned char bytes[4 * RECORD_MOST];
    SSL *ssl = shake();
    if (ssl == NULL)
        return;
    for (bool good = true; good && goes_on();) {
        size_t size = 0;
        while (size < RECORD_MOST)
            size += make(bytes + size);
        good = put(SSL_get_fd(ssl), bytes, size);
    }
    part(ssl);
}

static size_t update(unsigned char *out) { return records_update(&f.said, f.records % 2 == 0, out); }
static size_t warning(unsigned char *out) { return records_seal(&f.said, RECORD_ALERT, "\x01\x5a", 2, 0, out); }
static size_t fragment(unsigned char *out) { /* of frames that the cloud does not know */
    static const unsigned char frame[TC_FRAME_HEADER] = {0, 1};
    static size_t at;
    return records_seal(&f.said, RECORD_DATA, frame + at++ % 2, 1, 0, out);
}
static size_t empty(unsigned char *out) {
    static unsigned turn;
    return turn++ % 16 == 0 ? fragment(out) : records_seal(&f.said, RECORD_DATA, NULL, 0, 0, out);
}

static size_t refused(unsigned char *out) { /* many frames in a record */
    static unsigned char frames[16384];
    size_t size = 0;
    unsigned char *body;
    while (size + TC_FRAME_HEADER + 64 < sizeof frames) {
        body = tc_frame_begin(frames + size, TC_MESSAGE_STATE, 3, 1, TC_FRAME_HEADER + 16);
        memset(body, 0, 16);
        size += TC_FRAME_HEADER + 16;
    }
    return records_seal(&f.said, RECORD_DATA, frames, size, 0, out);
}

static bool greet(SSL *ssl) {
    unsigned char bytes[64], sealed[RECORD_MOST];
    tc_hello said = {.lowest_version = 1, .highest_version = 1, .software = "flood", .software_length = 5};
    tc_hello_encode(&said, bytes);
    return put(SSL_get_fd(ssl), sealed, records_seal(&f.said, RECORD_DATA, bytes, tc_hello_size(&said), 0, sealed));
}

static void refuse(bool is_deaf) {
    unsigned char sealed[RECORD_MOST];
    SSL *ssl = shake();
    if (ssl == NULL)
        return;
    for (bool good = greet(ssl); good && goes_on();) {
        good = put(SSL_get_fd(ssl), sealed, refused(sealed));
        char heard[4096];
        if (!is_deaf && recv(SSL_get_fd(ssl), heard, sizeof heard, MSG_DONTWAIT) == 0)
            good = false;
    }
    part(ssl);
}

static void names(void) {
    SSL *ssl = shake();
    if (ssl == NULL)
        return;
    keep(dup(SSL_get_fd(ssl)));
    part(ssl);
}

static void page(bool is_slow) {
    static const char text[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ";
    int descriptor = dial();
    if (descriptor < 0)
        return;
    bool good = put(descriptor, text, sizeof text - 1);
    for (unsigned i = 0; is_slow && good && i < 3000; i++)
        good = put(descriptor, "x", 1);
    if (good && !is_slow)
        (void)put(descriptor, "\r\n\r\n", 4);
    if (f.connections % 3 == 0)
        keep(descriptor);
    else
        (void)close(descriptor);
}

static bool once(const char *kind) {
    if (strcmp(kind, "hello") == 0 || strcmp(kind, "half") == 0)
        hello(kind[2] == 'l' && kind[3] == 'f');
    else if (strcmp(kind, "churn") == 0) {
        SSL *ssl = shake();
        if (ssl != NULL)
            part(ssl);
    } else if (strcmp(kind, "updates") == 0)
        pour(update);
    else if (strcmp(kind, "warnings") == 0)
        pour(warning);
    else if (strcmp(kind, "fragments") == 0)
        pour(fragment);
    else if (strcmp(kind, "empty") == 0)
        pour(empty);
    else if (strcmp(kind, "names") == 0)
        names();
    else if (strcmp(kind, "refused") == 0 || strcmp(kind, "deaf") == 0)
        refuse(kind[0] == 'd');
    else if (strcmp(kind, "silent") == 0)
        keep(dial());
    else if (strcmp(kind, "http") == 0 || strcmp(kind, "trickle") == 0)
        page(kind[0] == 't');
    else
        return false;
    return true;
}

static void free_context(void *context) { SSL_CTX_free(context); }

int main(int count, char **arguments) {
    struct rlimit files;
    (void)signal(SIGPIPE, SIG_IGN);
    if (count != 5) {
        (void)fprintf(stderr, "tacit_flood KIND PORT KEYS SECONDS\n");
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    tc_arena *arena = tc_arena_new(0);
    if (arena == NULL)
        return 3;
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    if (tc_tls_agent(arena, arguments[3], &messages, &f.tls) != TC_OK || !records_listen(f.tls)) {
        (void)fprintf(stderr, "%s", tc_buffer_text(&messages));
        tc_arena_free(arena);
        return 2;
    }
    tc_arena_on_free(arena, free_context, f.tls);
    f.port = (uint16_t)atoi(arguments[2]);
    f.began = now();
    f.end = f.began + atof(arguments[4]);
    make_hello();
    bool is_known = true;
    while (is_known && goes_on())
        is_known = once(arguments[1]);
    (void)printf("%lu connections, %lu records\n", f.connections, f.records);
    tc_arena_free(arena);
    return is_known ? 0 : 2;
}
