/* Requests and responses (RFC 9112). Of the headers only Host is read.
 *
 * Host protects against DNS rebinding: the owner of a name can let it point to this machine, and a web page of that
 * name could then read these pages in a visitor's browser. But the page cannot choose the Host that the browser sends.
 * So it accepts only names that nobody else can own: the address that the connection came to, localhost, the
 * machine's own name, the name in --http, and those of --http-host. A client without the header is no browser. */
#include "serve/pages/pages.h"

#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_NAME = 255 };

typedef struct local { /* an address: four bytes or sixteen */
    unsigned char bytes[16];
    size_t size;
} local;

static local to_local(const unsigned char *bytes, size_t size) {
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}; /* IPv4 on an IPv6 socket */
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
    if (strlen(host) != (size_t)(to - from)) /* it contains a zero byte */
        return false;
    if (to - from > 1 && host[to - from - 1] == '.') /* a trailing dot: the same name */
        host[to - from - 1] = '\0';
    return true;
}

static bool is_meant(const tc_http_client *client, const char *text, size_t length) {
    char host[MOST_NAME + 1];
    return cut(text, length, host) && is_allowed(client->http, client->descriptor, host);
}

/* 200; 400 if two hosts are named, 421 for a host that is not this one. */
static unsigned judge_host(const tc_http_client *client) {
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
        if (!is_meant(client, at, (size_t)(last - at)))
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

/* ---- Requests ---- */

enum { MOST_PAGE = 64 * 1024 * 1024, MOST_HEAD = 1024, MOST_LINE = 1024 };

typedef struct http_page {
    unsigned code;
    const char *type;
    tc_buffer body;
} http_page;

static const char *reason(unsigned code) {
    static const struct {
        unsigned code;
        const char *text;
    } reasons[] = {{200, "OK"},
                   {400, "Bad Request"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {414, "URI Too Long"},
                   {421, "Misdirected Request"},
                   {431, "Request Header Fields Too Large"},
                   {503, "Service Unavailable"},
                   {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (reasons[i].code == code)
            return reasons[i].text;
    }
    return "Error";
}

static const char *find_end(const tc_http_client *client) { /* of the headers; NULL: not yet */
    for (size_t i = 0; i + 1 < client->length; i++) {
        const char *at = client->request + i;
        if (at[0] == '\n' && (at[1] == '\n' || (i + 2 < client->length && at[1] == '\r' && at[2] == '\n')))
            return at;
    }
    return NULL;
}

/* Length of the first line, or of everything if no line has ended. */
static size_t line_length(const tc_http_client *client) {
    const char *end = memchr(client->request, '\n', client->length);
    size_t length = end != NULL ? (size_t)(end - client->request) : client->length;
    return length > 0 && client->request[length - 1] == '\r' ? length - 1 : length;
}

/* Bytes that no request line has: detects most that is not HTTP, such as a TLS handshake. */
static bool is_garbage(const tc_http_client *client) {
    size_t length = line_length(client);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)client->request[i];
        if (byte < 0x20 ? !(byte == '\r' && i + 1 == client->length) : byte >= 0x7f)
            return true;
    }
    return false;
}

bool tc_http_is_whole(const tc_http_client *client) {
    return client->length == sizeof client->request || is_garbage(client) || line_length(client) > MOST_LINE ||
           find_end(client) != NULL;
}

static bool is_word(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

typedef struct request {
    const char *method, *target, *version, *host; /* host: of the target; NULL if it has none */
    size_t method_length, target_length, version_length, host_length;
} request;

static bool split(const tc_http_client *client, request *parts) {
    const char *line = client->request, *end = line + line_length(client);
    const char *first = memchr(line, ' ', (size_t)(end - line));
    const char *second = first != NULL ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;
    if (second == NULL || first == line || second == first + 1)
        return false;
    *parts = (request){.method = line,
                       .target = first + 1,
                       .version = second + 1,
                       .method_length = (size_t)(first - line),
                       .target_length = (size_t)(second - first - 1),
                       .version_length = (size_t)(end - second - 1)};
    if (parts->target_length > 7 && memcmp(parts->target, "http://", 7) == 0) { /* as proxies write it */
        const char *path = memchr(parts->target + 7, '/', parts->target_length - 7);
        parts->host = parts->target + 7;
        parts->host_length = path != NULL ? (size_t)(path - parts->host) : parts->target_length - 7;
        parts->target_length -= path != NULL ? (size_t)(path - parts->target) : parts->target_length;
        parts->target = path != NULL ? path : parts->target;
    }
    const char *query = memchr(parts->target, '?', parts->target_length);
    if (query != NULL)
        parts->target_length = (size_t)(query - parts->target);
    return parts->version_length == 8 && memcmp(parts->version, "HTTP/", 5) == 0 && parts->version[6] == '.';
}

static unsigned judge(const tc_http_client *client, request *parts) {
    if (is_garbage(client))
        return 400;
    if (line_length(client) > MOST_LINE)
        return 414;
    if (!split(client, parts))
        return 400;
    if (parts->version[5] != '1')
        return 505;
    if (find_end(client) == NULL)
        return 431;
    if (!is_word(parts->method, parts->method_length, "GET") && !is_word(parts->method, parts->method_length, "HEAD"))
        return 405;
    if (parts->host != NULL && !is_meant(client, parts->host, parts->host_length))
        return 421;
    return judge_host(client);
}

/* ---- Responses ---- */

static void fill(tc_http *http, const request *parts, http_page *made) {
    bool is_status = is_word(parts->target, parts->target_length, "/status");
    bool is_metrics = is_word(parts->target, parts->target_length, "/metrics");
    bool is_health = is_word(parts->target, parts->target_length, "/healthz");
    if (!is_status && !is_metrics && !is_health) {
        made->code = 404;
        tc_buffer_puts(&made->body, "no such page; there are /healthz, /status and /metrics\n");
        return;
    }
    if (http->refresh != NULL)
        http->refresh(http->context);
    if (is_status) {
        made->type = "application/json";
        tc_status_json(&made->body, http->figures, tc_serve_date());
    } else if (is_metrics) {
        made->type = "text/plain; version=0.0.4; charset=utf-8";
        tc_metrics_text(&made->body, http->figures);
    } else {
        const char *line = "";
        made->code = tc_health(http->figures, &line);
        tc_buffer_printf(&made->body, "%s\n", line);
    }
}

static void put_together(tc_http_client *client, http_page *made, bool is_head) {
    tc_buffer whole = tc_buffer_new(client->arena, MOST_PAGE + MOST_HEAD);
    time_t now = time(NULL);
    struct tm utc = {0};
    char date[64] = "";
    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    tc_buffer_printf(&whole, "HTTP/1.1 %u %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n", made->code,
                     reason(made->code), date, made->type, made->body.length);
    tc_buffer_puts(&whole, made->code == 405 ? "Allow: GET, HEAD\r\n" : "");
    tc_buffer_puts(&whole, "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n");
    if (!is_head)
        tc_buffer_add(&whole, tc_buffer_text(&made->body), made->body.length);
    client->response = whole.text;
    client->response_length = whole.length;
}

static void make(tc_http_client *client) {
    request parts = {0};
    http_page made = {.type = "text/plain; charset=utf-8", .body = tc_buffer_new(client->arena, MOST_PAGE)};
    made.code = judge(client, &parts);
    if (made.code == 421)
        tc_buffer_puts(&made.body, "this is not a name of this machine; tacit serve --http-host NAME allows one\n");
    else if (made.code == 200)
        fill(client->http, &parts, &made);
    else
        tc_buffer_printf(&made.body, "%s\n", reason(made.code));
    put_together(client, &made, parts.method != NULL && is_word(parts.method, parts.method_length, "HEAD"));
}

void tc_http_respond(tc_http_client *client) {
    client->arena = tc_arena_new(0);
    if (client->arena == NULL)
        return;
    tc_escape escape;
    if (TC_TRY(client->arena, &escape) == TC_OK)
        make(client);
    tc_escape_end(client->arena, &escape);
}
