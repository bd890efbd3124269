/* Clients of a cloud in the same thread: whenever one would wait, the cloud's loop goes round. */
#ifndef TC_TESTS_SERVE_CLIENT_H
#define TC_TESTS_SERVE_CLIENT_H

#include "net/keys.h"

#include "serve/link/link.h"
#include "net/message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

enum { SEEN = 64 };

typedef struct cloud { /* echoes: an answer for every state, with what it said */
    keys k;
    struct event_base *base;
    tc_links *links;
    tc_listener *listener;
    unsigned opened, closed, drained, frames;
    unsigned marked; /* how many frames there had been when one for slot 7 came */
    tc_link_end ends[SEEN];
    char why[SEEN][96];
    tc_link *last;
    size_t echo; /* bytes to answer each frame with; 0: as many as came */
} cloud;

static inline void cloud_opened(void *context, tc_link *link) {
    cloud *c = context;
    c->opened++;
    c->last = link;
    tc_link_allow(link, 1 << 20);
}

static inline void cloud_frame(void *context, tc_link *link, const tc_frame *frame) {
    cloud *c = context;
    c->frames++;
    if (frame->slot == 7)
        c->marked = c->frames;
    size_t size = TC_FRAME_HEADER + (c->echo > 0 ? c->echo : frame->length);
    unsigned char *answer = calloc(1, size);
    assert_non_null(answer);
    unsigned char *body = tc_frame_begin(answer, TC_MESSAGE_ANSWER, frame->slot, frame->round, size);
    if (c->echo == 0)
        memcpy(body, frame->body, frame->length);
    tc_link_send(link, answer, size);
    free(answer);
}

static inline void cloud_drained(void *context, tc_link *link) {
    (void)link;
    ((cloud *)context)->drained++;
}

static inline void cloud_closed(void *context, tc_link *link, tc_link_end end, const char *why) {
    cloud *c = context;
    if (c->last == link)
        c->last = NULL;
    c->ends[c->closed % SEEN] = end;
    (void)snprintf(c->why[c->closed % SEEN], sizeof c->why[0], "%s", why);
    c->closed++;
}

static inline void cloud_begin(cloud *c, tc_links_settings settings) {
    (void)signal(SIGPIPE, SIG_IGN);
    memset(c, 0, sizeof *c);
    c->k = keys_begin();
    keys_init(&c->k, NULL);
    keys_issue(&c->k, "a", NULL);
    c->base = event_base_new();
    assert_non_null(c->base);
    SSL_CTX *tls;
    assert_int_equal(tc_tls_cloud(c->k.arena, keys_path(&c->k, "cloud"), &c->k.messages, &tls), TC_OK);
    settings.tls = tls;
    settings.owner = (tc_link_owner){cloud_opened, cloud_frame, cloud_drained, cloud_closed, c};
    c->links = tc_links_new(c->base, &settings);
    assert_non_null(c->links);
    SSL_CTX_free(tls);
    assert_int_equal(tc_listener_new(c->links, c->base, "127.0.0.1:0", true, &c->k.messages, &c->listener), TC_OK);
}

static inline void cloud_end(cloud *c) {
    tc_listener_free(c->listener);
    tc_links_free(c->links);
    event_base_free(c->base);
    keys_end(&c->k);
}

static inline void cloud_turn(cloud *c) { assert_true(event_base_loop(c->base, EVLOOP_NONBLOCK) >= 0); }

static inline double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void cloud_run(cloud *c, double seconds) {
    struct timespec pause = {.tv_nsec = 1000000};
    for (double end = seconds_now() + seconds; seconds_now() < end;) {
        cloud_turn(c);
        (void)nanosleep(&pause, NULL);
    }
}

static inline void cloud_run_until(cloud *c, const unsigned *what, unsigned value) {
    struct timespec pause = {.tv_nsec = 200000};
    for (double end = seconds_now() + 300; *what < value;) {
        assert_true(seconds_now() < end);
        cloud_turn(c);
        (void)nanosleep(&pause, NULL);
    }
}

/* ---- clients ---- */

static inline int client_connect(const cloud *c) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)tc_listener_port(c->listener))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(descriptor >= 0);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(fcntl(descriptor, F_SETFL, O_NONBLOCK), 0);
    return descriptor;
}

static inline SSL_CTX *client_context(cloud *c) {
    SSL_CTX *context;
    assert_int_equal(tc_tls_agent(c->k.arena, keys_path(&c->k, "agents/a"), &c->k.messages, &context), TC_OK);
    return context;
}

/* A client that is open on both sides. */
static inline SSL *client_open(cloud *c, SSL_CTX *context) {
    SSL *client = tc_tls_connect(context, client_connect(c));
    unsigned wanted = c->opened + 1;
    assert_non_null(client);
    for (double end = seconds_now() + 300; SSL_do_handshake(client) != 1;) {
        assert_true(seconds_now() < end);
        cloud_turn(c);
    }
    cloud_run_until(c, &c->opened, wanted);
    return client;
}

static inline void client_close(SSL *client) {
    (void)close(SSL_get_fd(client));
    SSL_free(client);
}

static inline void client_send(cloud *c, SSL *client, const unsigned char *bytes, size_t size) {
    size_t sent = 0;
    for (double end = seconds_now() + 300; size > 0;) {
        assert_true(seconds_now() < end);
        if (SSL_write_ex(client, bytes, size, &sent) == 1) {
            bytes += sent;
            size -= sent;
        }
        cloud_turn(c);
    }
}

/* False: the cloud ended it. */
static inline bool client_receive(cloud *c, SSL *client, unsigned char *bytes, size_t size) {
    size_t got = 0;
    for (double end = seconds_now() + 300; size > 0;) {
        assert_true(seconds_now() < end);
        if (SSL_read_ex(client, bytes, size, &got) == 1) {
            bytes += got;
            size -= got;
            continue;
        }
        int error = SSL_get_error(client, 0);
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
            return false;
        cloud_turn(c);
    }
    return true;
}

static inline tc_frame client_frame(cloud *c, SSL *client, unsigned char *bytes, size_t room) {
    tc_frame frame;
    size_t taken, wanted;
    assert_true(client_receive(c, client, bytes, TC_FRAME_HEADER));
    tc_frame_finding cut = tc_frame_cut(bytes, TC_FRAME_HEADER, TC_FRAME_MOST_BODY, &frame, &taken, &wanted);
    if (cut == TC_CUT_MORE) {
        assert_true(wanted <= room);
        assert_true(client_receive(c, client, bytes + TC_FRAME_HEADER, wanted - TC_FRAME_HEADER));
        cut = tc_frame_cut(bytes, wanted, TC_FRAME_MOST_BODY, &frame, &taken, &wanted);
    }
    assert_int_equal(cut, TC_CUT_FRAME);
    return frame;
}

#endif
