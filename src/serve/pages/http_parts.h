/* What the files of the HTTP server share: http.c moves bytes, http_request.c knows what they mean. */
#ifndef TC_SERVE_HTTP_PARTS_H
#define TC_SERVE_HTTP_PARTS_H

#include "serve/pages/http.h"

#include <event2/event_struct.h>

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
