#include "net/address.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

bool tc_address_read(const char *text, tc_address *address) {
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon[1] == 0 || strlen(colon + 1) > TC_MOST_PORT || colon - text > TC_MOST_HOST)
        return false;
    size_t length = (size_t)(colon - text);
    bool bracketed = length >= 2 && text[0] == '[' && colon[-1] == ']';
    if (!bracketed && memchr(text, ':', length) != NULL)
        return false;
    memcpy(address->host, text + bracketed, length - 2 * bracketed);
    address->host[length - 2 * bracketed] = 0;
    strcpy(address->port, colon + 1);
    return strspn(address->port, "0123456789") == strlen(address->port) && strtoul(address->port, NULL, 10) <= 65535;
}

bool tc_address_is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address, sizeof four);
        return ntohl(four.sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 six;
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&six, address, sizeof six);
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

bool tc_socket_set_up(int descriptor) {
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

static bool are_equal(const struct sockaddr_storage *one, const struct sockaddr_storage *other) {
    if (one->ss_family != other->ss_family)
        return false;
    if (one->ss_family == AF_INET) {
        struct sockaddr_in a, b;
        memcpy(&a, one, sizeof a);
        memcpy(&b, other, sizeof b);
        return a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr;
    }
    struct sockaddr_in6 a, b;
    memcpy(&a, one, sizeof a);
    memcpy(&b, other, sizeof b);
    return one->ss_family == AF_INET6 && a.sin6_port == b.sin6_port &&
           memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
}

/* SO_LINGER of 0 seconds: closing sends a reset, which frees the port at once. */
bool tc_socket_met_itself(int descriptor) {
    struct sockaddr_storage here, there;
    socklen_t here_size = sizeof here, there_size = sizeof there;
    struct linger at_once = {.l_onoff = 1};
    memset(&here, 0, sizeof here);
    memset(&there, 0, sizeof there);
    if (getsockname(descriptor, (struct sockaddr *)&here, &here_size) != 0 ||
        getpeername(descriptor, (struct sockaddr *)&there, &there_size) != 0 || !are_equal(&here, &there))
        return false;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    return true;
}
