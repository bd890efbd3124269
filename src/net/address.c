#include "net/address.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* ---- Several ---- */

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static const char *find_wrong_item(tc_arena *arena, const char *item, tc_address *address) {
    if (item[0] == 0)
        return "an address of the cloud is empty, and should be HOST:PORT";
    for (const char *at = item; *at != 0; at++)
        if (is_blank(*at))
            return tc_arena_format(arena, "the cloud's address '%s' has a blank: commas alone separate addresses",
                                   item);
    if (!tc_address_read(item, address) || address->host[0] == 0)
        return tc_arena_format(arena, "the cloud's address is HOST:PORT, or [ADDRESS]:PORT for IPv6, not '%s'", item);
    return NULL;
}

/* The index of an earlier one that is the same address, or i. */
static size_t find_alike(const tc_addresses *addresses, size_t i) {
    const tc_address *one = &addresses->each[i];
    for (size_t k = 0; k < i; k++) {
        const tc_address *other = &addresses->each[k];
        if (strcasecmp(one->host, other->host) == 0 && strtoul(one->port, NULL, 10) == strtoul(other->port, NULL, 10))
            return k;
    }
    return i;
}

static const char *read_items(tc_arena *arena, const char *text, tc_addresses *addresses) {
    for (size_t i = 0; i < addresses->count; i++) {
        size_t length = strcspn(text, ",");
        addresses->texts[i] = tc_arena_copy(arena, text, length);
        const char *wrong = find_wrong_item(arena, addresses->texts[i], &addresses->each[i]);
        if (wrong != NULL)
            return wrong;
        size_t alike = find_alike(addresses, i);
        if (alike != i)
            return tc_arena_format(arena, "the cloud's address '%s' is given twice", addresses->texts[alike]);
        text += length + 1;
    }
    return NULL;
}

tc_status tc_addresses_read(tc_arena *arena, const char *text, tc_buffer *messages, tc_addresses *addresses) {
    const char *wrong;
    *addresses = (tc_addresses){.count = 1};
    for (const char *at = text; *at != 0; at++)
        addresses->count += *at == ',';
    if (addresses->count > TC_MOST_ADDRESSES) {
        wrong =
            tc_arena_format(arena, "the cloud has at most %d addresses, not %zu", TC_MOST_ADDRESSES, addresses->count);
    } else {
        addresses->each = TC_NEW(arena, tc_address, addresses->count);
        addresses->texts = TC_NEW(arena, const char *, addresses->count);
        wrong = read_items(arena, text, addresses);
    }
    if (wrong == NULL)
        return TC_OK;
    if (addresses->count == 1)
        tc_buffer_printf(messages, "%s\n", wrong);
    else
        tc_buffer_printf(messages, "%s, in '%s'; write HOST:PORT,HOST:PORT\n", wrong, text);
    return TC_BAD_USAGE;
}

/* ---- Sockets ---- */

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

static void set_option(int descriptor, int level, int name, int value) {
    (void)setsockopt(descriptor, level, name, &value, sizeof value);
}

bool tc_socket_set_up(int descriptor) {
    enum { PATIENCE = 60 };
    set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    tc_socket_set_patience(descriptor, PATIENCE);
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0;
}

/* Keepalive is for an idle connection: it rests while bytes wait to be acknowledged, which the system sends again for a
 * quarter of an hour unless TCP_USER_TIMEOUT says otherwise. */
void tc_socket_set_patience(int descriptor, int seconds) {
    enum { PROBES = 3 };
    int between = seconds / 6 > 1 ? seconds / 6 : 1;
    set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, seconds - PROBES * between);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, between);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
    set_option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, 1000 * seconds);
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
