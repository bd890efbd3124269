/* /healthz, /status and /metrics, for the operator: on loopback unless told otherwise, in the cloud's own loop. Reads
 * figures and nothing else. Whoever reaches the port can take a small and bounded share of the cloud's time, memory and
 * descriptors, and no more. */
#ifndef TC_SERVE_PAGES_HTTP_H
#define TC_SERVE_PAGES_HTTP_H

#include "base/buffer.h"
#include "serve/log.h"
#include "serve/pages/figures.h"

#include <event2/event.h>
#include <event2/event_struct.h>

typedef struct tc_http tc_http;

/* address as in listener.h. refresh is called before figures are read, with the caller's context. TC_BAD_USAGE,
 * TC_CANNOT_READ, with a message. */
tc_status tc_http_new(struct event_base *base, const char *address, const tc_figures *figures,
                      void (*refresh)(void *context), void *context, tc_buffer *messages, tc_http **http) TC_MUST_USE;
void tc_http_free(tc_http *http);
unsigned tc_http_port(const tc_http *http);
/* Logs where the pages are, and a warning where other machines can reach them. */
void tc_http_announce(const tc_http *http, const char *address, tc_logbook *log);
/* More names by which the pages may be asked for; they must outlive it. Its own addresses, localhost, the machine's
 * name and the one in its address always are. */
void tc_http_allow(tc_http *http, const char *const *names, size_t count);
/* Seconds a connection may live; 10 unless told. For tests. */
void tc_http_set_patience(tc_http *http, double seconds);

/* What the pages say, for tests: JSON, and Prometheus' text format. */
void tc_status_json(tc_buffer *out, const tc_figures *figures, double now);
void tc_metrics_text(tc_buffer *out, const tc_figures *figures);
/* 200 while the cloud does what it should, waiting and stopping included, 503 when it failed; and a line that says
 * which. */
unsigned tc_health(const tc_figures *figures, const char **line);

/* What the files of the HTTP server share: http.c moves bytes, http_request.c knows what they mean. */

enum {
    TC_HTTP_CLIENTS = 32,   /* connections at a time; the oldest gives way */
    TC_HTTP_REQUEST = 4096, /* bytes of a request's line and headers */
};

typedef struct tc_http_client {
    tc_http *http;
    int descriptor; /* -1: none */
    uint64_t number;
    enum { TC_HTTP_READING, TC_HTTP_WRITING, TC_HTTP_ENDING } doing;
    struct event ready, deadline;
    char request[TC_HTTP_REQUEST];
    size_t length;
    tc_arena *arena;    /* the answer's, while there is one */
    const char *answer; /* NULL: memory is out */
    size_t answer_length, sent, unread;
} tc_http_client;

struct tc_http {
    struct event_base *base;
    int descriptor;
    bool is_loopback;
    double patience; /* seconds */
    const tc_figures *figures;
    void (*refresh)(void *context);
    void *context;
    char machine[256], given[256]; /* names that are answered to; "" for none */
    const char *const *hosts;      /* and more */
    size_t host_count;
    struct event arriving, again;
    uint64_t arrived;
    tc_http_client clients[TC_HTTP_CLIENTS];
};

void tc_http_ready(evutil_socket_t descriptor, short what, void *context);

/* Whether the request can be answered: its headers have ended, or can be refused already. */
bool tc_http_is_whole(const tc_http_client *client);
/* 200; 400 where two hosts are named, 421 for one that is not this. */
unsigned tc_http_judge_host(const tc_http_client *client);
bool tc_http_is_meant(const tc_http_client *client, const char *host, size_t length); /* "HOST" or "HOST:PORT" */
void tc_http_know_names(tc_http *http, const char *address);
/* Makes the answer. */
void tc_http_answer(tc_http_client *client);

#endif
