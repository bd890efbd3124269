/* The pages /healthz, /status and /metrics for the operator, served by the cloud's own loop. They read the figures
 * only. A client gets a small, bounded share of the cloud's time, memory and descriptors. */
#ifndef TC_SERVE_PAGES_HTTP_H
#define TC_SERVE_PAGES_HTTP_H

#include "base/arena.h"
#include "serve/log.h"
#include "serve/pages/figures.h"

#include <event2/event.h>
#include <event2/event_struct.h>

typedef struct tc_http tc_http;

/* address as in listener.h. refresh is called with context before the figures are read. TC_BAD_USAGE,
 * TC_CANNOT_READ, with a message. */
tc_status tc_http_new(struct event_base *base, const char *address, const tc_figures *figures,
                      void (*refresh)(void *context), void *context, tc_buffer *messages, tc_http **http) TC_MUST_USE;
void tc_http_free(tc_http *http);
unsigned tc_http_port(const tc_http *http);
/* Logs the address of the pages, and a warning if other machines can reach them. */
void tc_http_announce(const tc_http *http, const char *address, tc_logbook *log);
/* More host names to respond to; they must outlive it. The machine's addresses and name, localhost and the name in its
 * address are always accepted. */
void tc_http_allow(tc_http *http, const char *const *names, size_t count);
/* For tests: seconds that a connection may last; default 10. */
void tc_http_set_patience(tc_http *http, double seconds);

/* The contents of the pages: JSON, and Prometheus' text format. */
void tc_status_json(tc_buffer *out, const tc_figures *figures, double now);
void tc_metrics_text(tc_buffer *out, const tc_figures *figures);
/* The code and line of /healthz: 503 if the cloud has failed, else 200, also while it waits or stops. */
unsigned tc_health(const tc_figures *figures, const char **line);

/* ---- Shared by http.c, which moves bytes, and request.c, which knows what they mean ---- */

enum {
    TC_HTTP_CLIENTS = 32,   /* connections at a time; the oldest is closed */
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
    tc_arena *arena;      /* of the response, while there is one */
    const char *response; /* NULL: out of memory */
    size_t response_length, sent, unread;
} tc_http_client;

struct tc_http {
    struct event_base *base;
    int descriptor;
    bool is_loopback;
    double patience; /* seconds */
    const tc_figures *figures;
    void (*refresh)(void *context);
    void *context;
    char machine[256], given[256]; /* accepted host names; "" for none */
    const char *const *hosts;      /* more of them */
    size_t host_count;
    struct event arriving, again;
    uint64_t arrived;
    tc_http_client clients[TC_HTTP_CLIENTS];
};

void tc_http_ready(evutil_socket_t descriptor, short what, void *context);

/* Whether the request is complete, or can be refused already. */
bool tc_http_is_whole(const tc_http_client *client);
/* 200; 400 if two hosts are named, 421 for a host that is not this one. */
unsigned tc_http_judge_host(const tc_http_client *client);
bool tc_http_is_meant(const tc_http_client *client, const char *host, size_t length); /* "HOST" or "HOST:PORT" */
void tc_http_know_names(tc_http *http, const char *address);
/* Makes the response. */
void tc_http_respond(tc_http_client *client);

#endif
