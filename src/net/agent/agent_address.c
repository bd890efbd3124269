/* Where the cloud is, and by which keys it is known. */
#include "net/agent/agent_link_parts.h"

#include "net/address.h"
#include "net/tls/tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

tc_status tc_agent_link_address(tc_arena *arena, tc_agent_link *link, tc_buffer *messages) {
    tc_address cloud;
    if (!tc_address_read(link->settings.cloud, &cloud) || cloud.host[0] == 0) {
        tc_buffer_printf(messages, "the cloud's address is HOST:PORT, or [ADDRESS]:PORT for IPv6, not '%s'\n",
                         link->settings.cloud);
        return TC_BAD_USAGE;
    }
    link->host = tc_arena_copy(arena, cloud.host, strlen(cloud.host));
    link->port = tc_arena_copy(arena, cloud.port, strlen(cloud.port));
    return TC_OK;
}

/* ---- Keys ---- */

/* One that is not valid yet is no reason to give up: machines without a battery begin in the past, and their clock is
 * set when they have found the network. Each connection looks again. */
tc_status tc_agent_link_keys(tc_arena *arena, tc_agent_link *link, tc_buffer *messages) {
    SSL_CTX *tls = NULL;
    bool is_early;
    size_t before = messages->length;
    tc_status status = tc_tls_agent_or_early(arena, link->settings.keys, messages, &tls, &is_early);
    if (status == TC_OK) {
        SSL_CTX_free(link->tls);
        link->tls = tls;
    } else if (is_early) {
        const char *why = tc_buffer_text(messages) + before;
        (void)snprintf(link->early, sizeof link->early, "%.*s", (int)strcspn(why, "\n"), why);
        messages->length = before;
        return TC_OK;
    }
    return status;
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

bool tc_agent_link_try_address(tc_agent_link *link) {
    for (; link->address != NULL; link->address = link->address->ai_next) {
        const struct addrinfo *to = link->address;
        if (link->settings.keys == NULL && !tc_address_is_loopback(to->ai_addr)) {
            (void)snprintf(link->why, sizeof link->why,
                           "plain text is for loopback addresses alone, and '%.100s' is none", link->host);
            continue;
        }
        link->descriptor = socket(to->ai_family, to->ai_socktype, to->ai_protocol);
        if (link->descriptor >= 0 && tc_socket_set_up(link->descriptor) &&
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
