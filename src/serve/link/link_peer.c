/* Who is at the other end of a connection, for the operator's log. */
#include "serve/link/link_parts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* When it arrives: a connection that was reset does not say any more. */
void tc_link_find_peer(tc_link *link) {
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    memset(&link->peer, 0, sizeof link->peer);
    if (getpeername(link->descriptor, (struct sockaddr *)&name, &size) != 0)
        return;
    if (name.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&name;
        memcpy(link->peer.address, &v4->sin_addr, sizeof v4->sin_addr);
        link->peer.port = ntohs(v4->sin_port);
        link->peer.family = TC_PEER_IPV4;
    } else if (name.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&name;
        bool is_mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
        const unsigned char *bytes = (const unsigned char *)&v6->sin6_addr;
        memcpy(link->peer.address, is_mapped ? bytes + 12 : bytes, is_mapped ? 4 : sizeof link->peer.address);
        link->peer.port = ntohs(v6->sin6_port);
        link->peer.family = is_mapped ? TC_PEER_IPV4 : TC_PEER_IPV6;
    }
}

const char *tc_link_peer(const tc_link *link, char text[TC_PEER_TEXT]) {
    char address[INET6_ADDRSTRLEN];
    const tc_peer *peer = &link->peer;
    if (peer->family == TC_PEER_UNKNOWN ||
        inet_ntop(peer->family == TC_PEER_IPV4 ? AF_INET : AF_INET6, peer->address, address, sizeof address) == NULL)
        return NULL;
    (void)snprintf(text, TC_PEER_TEXT, peer->family == TC_PEER_IPV4 ? "%s:%u" : "[%s]:%u", address,
                   (unsigned)peer->port);
    return text;
}

const char *tc_link_names(const tc_link *link, char text[TC_PEER_NAMES]) {
    size_t length = 0, count = link->holder == NULL ? 0 : tc_identity_count(link->holder->identity);
    if (count == 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const char *name = tc_identity_name(link->holder->identity, i);
        if (length + strlen(name) + 32 > TC_PEER_NAMES) {
            (void)snprintf(text + length, TC_PEER_NAMES - length, "%s%zu more", i > 0 ? " and " : "", count - i);
            break;
        }
        length += (size_t)snprintf(text + length, TC_PEER_NAMES - length, "%s%s", i > 0 ? ", " : "", name);
    }
    return text;
}
