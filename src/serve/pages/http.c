/* A server for three small pages: one request a connection, GET or HEAD, then it is closed.
 *
 * Not libevent's evhttp: version 2.1 can limit neither the number of connections nor the time of a request, so that a
 * client could use up descriptors and memory. Here everything is limited: the connections (the oldest is closed), the
 * seconds of a connection, the bytes of a request, and the share of the loop's time for pages. */
#include "serve/pages/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    AT_ONCE = 4,
    PATIENCE = 10,              /* seconds that a connection may last */
    IDLE_SHARE = 20,            /* seconds without a new connection for each second spent on a page */
    KEPT_BY_KERNEL = 64 * 1024, /* bytes of a response that nobody reads */
    MOST_UNREAD = 1024 * 1024,  /* bytes to discard, so that a reset does not destroy the response */
};

static struct timeval to_timeval(double seconds) {
    struct timeval value = {.tv_sec = (time_t)seconds};
    value.tv_usec = (suseconds_t)((seconds - (double)value.tv_sec) * 1e6);
    return value;
}

static void close_client(tc_http_client *client) {
    if (client->descriptor < 0)
        return;
    (void)event_del(&client->ready);
    (void)event_del(&client->deadline);
    (void)close(client->descriptor);
    tc_arena_free(client->arena);
    client->descriptor = -1;
    client->arena = NULL;
}

static void on_ready(evutil_socket_t descriptor, short what, void *context);

static void wait_for(tc_http_client *client, short what) {
    (void)event_del(&client->ready);
    if (event_assign(&client->ready, client->http->base, client->descriptor, what | EV_PERSIST, on_ready, client) !=
            0 ||
        event_add(&client->ready, NULL) != 0)
        close_client(client);
}

/* ---- A connection: read, respond, wait for its end ---- */

static bool would_wait(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

static void send_more(tc_http_client *client) {
    while (client->sent < client->response_length) {
        ssize_t sent = send(client->descriptor, client->response + client->sent, client->response_length - client->sent,
                            MSG_NOSIGNAL);
        if (sent < 0 && would_wait())
            return;
        if (sent <= 0) {
            close_client(client);
            return;
        }
        client->sent += (size_t)sent;
    }
    (void)shutdown(client->descriptor, SHUT_WR);
    client->doing = TC_HTTP_ENDING;
    wait_for(client, EV_READ);
}

static void respond(tc_http_client *client) {
    double begun = tc_serve_worked(); /* processor time: a busy machine is not the reader's fault */
    tc_http_respond(client);
    double pause = IDLE_SHARE * (tc_serve_worked() - begun);
    tc_http *http = client->http;
    struct timeval until = to_timeval(pause < 1 ? pause : 1);
    (void)event_del(&http->arriving);
    if (event_add(&http->again, &until) != 0)
        (void)event_add(&http->arriving, NULL);
    if (client->response == NULL) {
        close_client(client);
        return;
    }
    client->doing = TC_HTTP_WRITING;
    wait_for(client, EV_WRITE);
}

static void read_more(tc_http_client *client) {
    size_t room = sizeof client->request - client->length;
    ssize_t got = recv(client->descriptor, client->request + client->length, room, 0);
    if (got < 0 && would_wait())
        return;
    if (got <= 0) {
        close_client(client);
        return;
    }
    client->length += (size_t)got;
    if (tc_http_is_whole(client))
        respond(client);
}

static void throw_away(tc_http_client *client) {
    char bytes[4096];
    ssize_t got = recv(client->descriptor, bytes, sizeof bytes, 0);
    if (got < 0 && would_wait())
        return;
    client->unread += got > 0 ? (size_t)got : 0;
    if (got <= 0 || client->unread > MOST_UNREAD)
        close_client(client);
}

static void on_ready(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_http_client *client = context;
    switch (client->doing) {
    case TC_HTTP_READING:
        read_more(client);
        break;
    case TC_HTTP_WRITING:
        send_more(client);
        break;
    case TC_HTTP_ENDING:
        throw_away(client);
        break;
    }
}

static void expire(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    close_client(context);
}

/* ---- Arrivals ---- */

static tc_http_client *free_place(tc_http *http) {
    tc_http_client *oldest = &http->clients[0];
    for (size_t i = 0; i < TC_HTTP_CLIENTS; i++) {
        tc_http_client *client = &http->clients[i];
        if (client->descriptor < 0)
            return client;
        if (client->number < oldest->number)
            oldest = client;
    }
    close_client(oldest);
    return oldest;
}

static void take(tc_http *http, int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
        (void)close(descriptor);
        return;
    }
    int kept = KEPT_BY_KERNEL;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &kept, sizeof kept);
    tc_http_client *client = free_place(http);
    client->descriptor = descriptor;
    client->number = ++http->arrived;
    client->doing = TC_HTTP_READING;
    client->length = client->sent = client->unread = client->response_length = 0;
    client->response = NULL;
    struct timeval end = to_timeval(http->patience);
    if (evtimer_add(&client->deadline, &end) != 0)
        close_client(client);
    else
        wait_for(client, EV_READ);
}

static void arrive(evutil_socket_t descriptor, short what, void *context) {
    (void)what;
    tc_http *http = context;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        int arrived = accept(descriptor, NULL, NULL);
        if (arrived >= 0) {
            take(http, arrived);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            struct timeval soon = {.tv_usec = 100000};
            if (event_add(&http->again, &soon) == 0) /* without a timer nothing would wake it again */
                (void)event_del(&http->arriving);
            return;
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return;
        }
    }
}

static void go_on(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    static const struct timeval later = {.tv_usec = 100000};
    tc_http *http = context;
    if (event_add(&http->arriving, NULL) != 0)
        (void)event_add(&http->again, &later);
}

static bool set_up(tc_http *http) {
    bool made = event_assign(&http->arriving, http->base, http->descriptor, EV_READ | EV_PERSIST, arrive, http) == 0 &&
                evtimer_assign(&http->again, http->base, go_on, http) == 0;
    for (size_t i = 0; i < TC_HTTP_CLIENTS; i++) {
        http->clients[i].http = http;
        http->clients[i].descriptor = -1;
        made = made && evtimer_assign(&http->clients[i].deadline, http->base, expire, &http->clients[i]) == 0 &&
               evtimer_assign(&http->clients[i].ready, http->base, on_ready, &http->clients[i]) == 0;
    }
    return made && event_add(&http->arriving, NULL) == 0;
}

tc_status tc_http_new(struct event_base *base, const char *address, const tc_figures *figures,
                      void (*refresh)(void *context), void *context, tc_buffer *messages, tc_http **http) {
    *http = NULL;
    int descriptor = -1;
    bool is_loopback = false;
    tc_status status = tc_listen_at(address, NULL, messages, &descriptor, &is_loopback);
    if (status != TC_OK)
        return status;
    tc_http *made = calloc(1, sizeof *made);
    if (made != NULL) {
        *made = (tc_http){.base = base,
                          .descriptor = descriptor,
                          .is_loopback = is_loopback,
                          .patience = PATIENCE,
                          .figures = figures,
                          .refresh = refresh,
                          .context = context};
        tc_http_know_names(made, address);
        if (set_up(made)) {
            *http = made;
            return TC_OK;
        }
    }
    free(made);
    (void)close(descriptor);
    return TC_NO_MEMORY;
}

void tc_http_turn(tc_http *http) {
    arrive(http->descriptor, EV_READ, http);
    for (size_t i = 0; i < TC_HTTP_CLIENTS; i++)
        if (http->clients[i].descriptor >= 0)
            on_ready(http->clients[i].descriptor, EV_READ, &http->clients[i]);
}

void tc_http_free(tc_http *http) {
    if (http == NULL)
        return;
    for (size_t i = 0; i < TC_HTTP_CLIENTS; i++)
        close_client(&http->clients[i]);
    (void)event_del(&http->arriving);
    (void)event_del(&http->again);
    (void)close(http->descriptor);
    free(http);
}

unsigned tc_http_port(const tc_http *http) { return tc_port_of(http->descriptor); }

void tc_http_set_patience(tc_http *http, double seconds) { http->patience = seconds; }

void tc_http_announce(const tc_http *http, const char *address, tc_logbook *log) {
    TC_LOG(log, TC_EVENT_HTTP, tc_log_text("address", address), tc_log_count("port", tc_http_port(http)));
    if (!http->is_loopback)
        TC_LOG(log, TC_EVENT_HTTP_OPEN, tc_log_text("address", address), tc_log_count("port", tc_http_port(http)));
}
