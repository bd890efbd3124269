/* For whom a request is meant. A browser sends requests to wherever a name leads, and whoever owns a name can let it
 * lead here (DNS rebinding): a web page could then read what this port says. It cannot choose the Host that the browser
 * sends. So names are answered only that nobody else can own: the address that the connection came to, localhost, the
 * machine's own name, the one in --http, and what the operator allows. A client without the header is no browser. */
#include "serve/pages/http_parts.h"

#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_NAME = 255 };

typedef struct local { /* an address of this machine; four bytes or sixteen */
    unsigned char bytes[16];
    size_t size;
} local;

static local to_local(const unsigned char *bytes, size_t size) {
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}; /* IPv4 that came to a socket of IPv6 */
    local made = {.size = size};
    bool is_mapped = size == 16 && memcmp(bytes, mapped, sizeof mapped) == 0;
    made.size = is_mapped ? 4 : size;
    memcpy(made.bytes, is_mapped ? bytes + 12 : bytes, made.size);
    return made;
}

static local find_local(int descriptor) {
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    if (getsockname(descriptor, (struct sockaddr *)&name, &size) != 0)
        return (local){.size = 0};
    if (name.ss_family == AF_INET)
        return to_local((const unsigned char *)&((const struct sockaddr_in *)(const void *)&name)->sin_addr, 4);
    if (name.ss_family == AF_INET6)
        return to_local((const unsigned char *)&((const struct sockaddr_in6 *)(const void *)&name)->sin6_addr, 16);
    return (local){.size = 0};
}

static bool is_own_address(int descriptor, const char *host) {
    unsigned char bytes[16];
    local own = find_local(descriptor), asked = {.size = 0};
    if (inet_pton(AF_INET, host, bytes) == 1)
        asked = to_local(bytes, 4);
    else if (inet_pton(AF_INET6, host, bytes) == 1)
        asked = to_local(bytes, 16);
    return asked.size > 0 && asked.size == own.size && memcmp(asked.bytes, own.bytes, own.size) == 0;
}

static bool is_name(const char *host, const char *name) { return name[0] != '\0' && strcasecmp(host, name) == 0; }

static bool is_allowed(const tc_http *http, int descriptor, const char *host) {
    if (is_name(host, "localhost") || is_name(host, http->machine) || is_name(host, http->given))
        return true;
    for (size_t i = 0; i < http->host_count; i++)
        if (is_name(host, http->hosts[i]))
            return true;
    return is_own_address(descriptor, host);
}

/* "name", "name:7576", "[::1]:7576": the host alone. */
static bool cut(const char *text, size_t length, char host[MOST_NAME + 1]) {
    const char *end = text + length, *from = text, *to = end, *port = NULL;
    if (length > 0 && text[0] == '[') {
        from = text + 1;
        to = memchr(from, ']', (size_t)(end - from));
        port = to == NULL || to + 1 == end ? NULL : to + 1;
    } else {
        port = memchr(text, ':', length);
        to = port == NULL ? end : port;
    }
    if (to == NULL || to == from || to - from > MOST_NAME || (port != NULL && *port != ':'))
        return false;
    for (const char *digit = port == NULL ? end : port + 1; digit < end; digit++)
        if (*digit < '0' || *digit > '9')
            return false;
    memcpy(host, from, (size_t)(to - from));
    host[to - from] = '\0';
    if (strlen(host) != (size_t)(to - from)) /* what is compared would end before what was said */
        return false;
    if (to - from > 1 && host[to - from - 1] == '.') /* the same name, said to be whole */
        host[to - from - 1] = '\0';
    return true;
}

bool tc_http_is_meant(const tc_http_client *client, const char *text, size_t length) {
    char host[MOST_NAME + 1];
    return cut(text, length, host) && is_allowed(client->http, client->descriptor, host);
}

unsigned tc_http_judge_host(const tc_http_client *client) {
    const char *at = client->request, *end = client->request + client->length, *line;
    unsigned seen = 0, code = 200;
    while ((line = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        at = line + 1;
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL || stop == at || (stop == at + 1 && *at == '\r'))
            break;
        if (stop - at < 5 || strncasecmp(at, "host:", 5) != 0)
            continue;
        for (at += 5; at < stop && (*at == ' ' || *at == '\t');)
            at++;
        const char *last = stop;
        while (last > at && (last[-1] == '\r' || last[-1] == ' ' || last[-1] == '\t'))
            last--;
        if (!tc_http_is_meant(client, at, (size_t)(last - at)))
            code = 421;
        seen++;
    }
    return seen > 1 ? 400 : code;
}

void tc_http_know_names(tc_http *http, const char *address) {
    tc_address read;
    if (gethostname(http->machine, sizeof http->machine) != 0)
        http->machine[0] = '\0';
    http->machine[sizeof http->machine - 1] = '\0';
    if (tc_address_read(address, &read))
        (void)snprintf(http->given, sizeof http->given, "%s", read.host);
}

void tc_http_allow(tc_http *http, const char *const *names, size_t count) {
    http->hosts = names;
    http->host_count = count;
}
