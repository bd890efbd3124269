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
