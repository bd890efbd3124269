#include "serve/link/links.h"

#include "net/address.h"

#include <errno.h>
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { BACKLOG = 1024, AT_ONCE = 16 };

struct tc_listener {
    tc_links *links;    /* whose share of time pays */
    tc_take_link *take; /* where connections go */
    void *context;
    int descriptor;
    struct event arriving, again; /* again: after a pause for lack of descriptors */
};

size_t tc_listener_raise_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return (size_t)limit.rlim_cur;
}

/* If there is no timer, goes on listening: nothing would wake it again. */
static void pause_for(tc_listener *listener, struct timeval time) {
    if (event_add(&listener->again, &time) == 0)
        (void)event_del(&listener->arriving);
}

static void go_on(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    static const struct timeval later = {.tv_usec = 100000};
    tc_listener *listener = context;
    if (event_add(&listener->arriving, NULL) != 0)
        (void)event_add(&listener->again, &later); /* there is memory for it: the timer has just fired */
}

static void take_some(tc_listener *listener, int descriptor) {
    static const struct timeval later = {.tv_usec = 100000};
    for (unsigned i = 0; i < AT_ONCE; i++) {
        int arrived = accept(descriptor, NULL, NULL);
        if (arrived < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                pause_for(listener, later);
            if (errno != ECONNABORTED && errno != EINTR)
                return;
        } else if (tc_socket_set_up(arrived)) {
            listener->take(listener->context, arrived);
        } else {
            (void)close(arrived);
        }
    }
}

/* Accepts only within the newcomers' share of time; the kernel queues the rest. */
static void arrive(evutil_socket_t descriptor, short what, void *context) {
    (void)what;
    tc_listener *listener = context;
    if (!tc_door_is_open(listener->links)) {
        pause_for(listener, tc_door_wait(listener->links));
        return;
    }
    double began = tc_door_begin();
    take_some(listener, descriptor);
    tc_door_end(listener->links, began);
}

/* ---- addresses ---- */

/* both: an IPv6 socket accepts IPv4 too. */
static int listen_at(const struct addrinfo *at, bool both) {
    int yes = 1, no = 0, descriptor = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
    if (descriptor < 0)
        return -1;
    if (both && at->ai_family == AF_INET6)
        (void)setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    (void)setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (tc_socket_set_up(descriptor) && bind(descriptor, at->ai_addr, at->ai_addrlen) == 0 &&
        listen(descriptor, BACKLOG) == 0)
        return descriptor;
    int error = errno;
    (void)close(descriptor);
    errno = error;
    return -1;
}

/* All addresses: by an IPv6 socket that also takes IPv4, or by IPv4 only on a machine without IPv6. The first error is
 * reported: a port in use is in use for both. */
static int listen_everywhere(const struct addrinfo *found) {
    for (const struct addrinfo *at = found; at != NULL; at = at->ai_next) {
        int descriptor = at->ai_family == AF_INET6 ? listen_at(at, true) : -1;
        bool is_missing = errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL;
        if (at->ai_family == AF_INET6 && (descriptor >= 0 || !is_missing))
            return descriptor;
    }
    return listen_at(found, false);
}

static tc_status refuse(tc_buffer *messages, tc_status status, const char *address, const char *why) {
    tc_buffer_printf(messages, "cannot listen at '%s': %s\n", address, why);
    return status;
}

tc_status tc_listen_at(const char *address, const char *loopback_only, tc_buffer *messages, int *descriptor,
                       bool *is_local) {
    tc_address read;
    if (!tc_address_read(address, &read))
        return refuse(messages, TC_BAD_USAGE, address,
                      "an address is HOST:PORT, or [HOST]:PORT where the host has colons");
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    int code = getaddrinfo(read.host[0] == 0 ? NULL : read.host, read.port, &hints, &found);
    if (code != 0)
        return refuse(messages, TC_BAD_USAGE, address, gai_strerror(code));
    tc_status status = TC_OK;
    *descriptor = -1;
    *is_local = tc_address_is_loopback(found->ai_addr);
    if (loopback_only != NULL && !*is_local)
        status = refuse(messages, TC_BAD_USAGE, address, loopback_only);
    if (status == TC_OK)
        *descriptor = read.host[0] == 0 ? listen_everywhere(found) : listen_at(found, false);
    if (status == TC_OK && *descriptor < 0)
        status = refuse(messages, TC_CANNOT_READ, address, strerror(errno));
    freeaddrinfo(found);
    return status;
}

tc_status tc_listener_new(tc_links *links, struct event_base *base, const char *address, bool loopback_only,
                          tc_buffer *messages, tc_listener **listener) {
    *listener = NULL;
    int descriptor = -1;
    bool is_local = false;
    const char *only = loopback_only ? "without TLS it must be a loopback address" : NULL;
    tc_status status = tc_listen_at(address, only, messages, &descriptor, &is_local);
    if (status != TC_OK)
        return status;
    tc_listener *made = calloc(1, sizeof *made);
    if (made != NULL) {
        *made = (tc_listener){.descriptor = descriptor};
        tc_listener_serve(made, links);
        if (event_assign(&made->arriving, base, descriptor, EV_READ | EV_PERSIST, arrive, made) == 0 &&
            event_assign(&made->again, base, -1, 0, go_on, made) == 0 && event_add(&made->arriving, NULL) == 0) {
            *listener = made;
            return TC_OK;
        }
    }
    free(made);
    (void)close(descriptor);
    return TC_NO_MEMORY;
}

static void take_alone(void *links, int descriptor) { tc_links_take(links, descriptor); }

void tc_listener_serve(tc_listener *listener, tc_links *links) {
    tc_listener_share(listener, links, take_alone, links);
}

void tc_listener_share(tc_listener *listener, tc_links *links, tc_take_link *take, void *context) {
    listener->links = links;
    listener->take = take;
    listener->context = context;
}

void tc_listener_free(tc_listener *listener) {
    if (listener == NULL)
        return;
    (void)event_del(&listener->arriving);
    (void)event_del(&listener->again);
    (void)close(listener->descriptor);
    free(listener);
}

unsigned tc_port_of(int descriptor) {
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    char port[TC_MOST_PORT + 1];
    if (getsockname(descriptor, (struct sockaddr *)&name, &size) != 0 ||
        getnameinfo((struct sockaddr *)&name, size, NULL, 0, port, sizeof port, NI_NUMERICSERV) != 0)
        return 0;
    return (unsigned)strtoul(port, NULL, 10);
}

unsigned tc_listener_port(const tc_listener *listener) { return tc_port_of(listener->descriptor); }
