/* Where the cloud is, and by which keys it is known. */
#include "net/agent_link_parts.h"

#include "net/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

tc_status tc_agent_link_address(tc_arena *arena, tc_agent_link *link, tc_buffer *messages) {
    const char *text = link->settings.cloud;
    const char *colon = strrchr(text, ':');
    size_t length = colon == NULL ? 0 : (size_t)(colon - text);
    bool bracketed = length >= 2 && text[0] == '[' && text[length - 1] == ']';
    bool good = length > (bracketed ? 2 : 0) && (bracketed || memchr(text, ':', length) == NULL);
    if (!good || colon[1] == 0 || strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon + 1) > 5) {
        tc_buffer_printf(messages, "the cloud's address is HOST:PORT, or [ADDRESS]:PORT for IPv6, not '%s'\n", text);
        return TC_BAD_USAGE;
    }
    link->host = bracketed ? tc_arena_copy(arena, text + 1, length - 2) : tc_arena_copy(arena, text, length);
    link->port = tc_arena_copy(arena, colon + 1, strlen(colon + 1));
    return TC_OK;
}

/* ---- Keys ---- */

tc_status tc_agent_link_keys(tc_arena *arena, tc_agent_link *link, tc_buffer *messages) {
    SSL_CTX *tls = NULL;
    tc_status status = tc_tls_agent(arena, link->settings.keys, messages, &tls);
    if (status != TC_OK)
        return status;
    SSL_CTX_free(link->tls);
    link->tls = tls;
    return TC_OK;
}

/* A renewed certificate is taken up by the next connection. Keys that cannot be read any more (a process that has given
 * up its rights) leave those of before. */
void tc_agent_link_renew_keys(tc_agent_link *link) {
    tc_arena *arena = tc_arena_new(0);
    if (arena == NULL)
        return;
    tc_escape escape;
    if (TC_TRY(arena, &escape) == TC_OK) {
        tc_buffer unsaid = tc_buffer_new(arena, 1 << 16);
        tc_status status = tc_agent_link_keys(arena, link, &unsaid);
        (void)status;
    }
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
}

/* ---- Addresses ---- */

void tc_agent_link_forget_addresses(tc_agent_link *link) {
    if (link->addresses != NULL)
        freeaddrinfo(link->addresses);
    link->addresses = link->address = NULL;
}

static bool is_loopback(const struct addrinfo *address) {
    if (address->ai_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address->ai_addr, sizeof four);
        return ntohl(four.sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 six;
    if (address->ai_family != AF_INET6)
        return false;
    memcpy(&six, address->ai_addr, sizeof six);
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

bool tc_agent_link_find(tc_agent_link *link) {
    struct addrinfo wish = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    tc_agent_link_forget_addresses(link);
    int wrong = getaddrinfo(link->host, link->port, &wish, &link->addresses);
    if (wrong == EAI_NONAME) { /* not a number: the resolver is asked, which may take its time */
        wish.ai_flags = AI_NUMERICSERV;
        wrong = getaddrinfo(link->host, link->port, &wish, &link->addresses);
    }
    if (wrong != 0) {
        link->addresses = NULL;
        (void)snprintf(link->why, sizeof link->why, "cannot find the cloud '%.100s': %s", link->host,
                       gai_strerror(wrong));
        return false;
    }
    link->address = link->addresses;
    return true;
}

/* A peer whose machine is gone is noticed within a minute. */
static bool set_up(int descriptor) {
    static const struct {
        int level, name, value;
    } options[] = {{IPPROTO_TCP, TCP_NODELAY, 1},
                   {SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, 30},
                   {IPPROTO_TCP, TCP_KEEPINTVL, 10},
                   {IPPROTO_TCP, TCP_KEEPCNT, 3}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        (void)setsockopt(descriptor, options[i].level, options[i].name, &options[i].value, sizeof options[i].value);
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0;
}

bool tc_agent_link_try_address(tc_agent_link *link) {
    for (; link->address != NULL; link->address = link->address->ai_next) {
        const struct addrinfo *to = link->address;
        if (link->settings.keys == NULL && !is_loopback(to)) {
            (void)snprintf(link->why, sizeof link->why,
                           "plain text is for loopback addresses alone, and '%.100s' is none", link->host);
            continue;
        }
        link->descriptor = socket(to->ai_family, to->ai_socktype, to->ai_protocol);
        if (link->descriptor >= 0 && set_up(link->descriptor) &&
            (connect(link->descriptor, to->ai_addr, to->ai_addrlen) == 0 || errno == EINPROGRESS || errno == EINTR)) {
            link->address = link->address->ai_next;
            return true;
        }
        (void)snprintf(link->why, sizeof link->why, "cannot connect to %.100s:%s: %s", link->host, link->port,
                       strerror(errno));
        if (link->descriptor >= 0)
            (void)close(link->descriptor);
        link->descriptor = -1;
    }
    return false;
}
