/* Requests and their answers (RFC 9112). Of the headers only Host is looked at: no page depends on others. */
#include "serve/clock.h"
#include "serve/pages/http_parts.h"

#include <string.h>
#include <time.h>

enum { MOST_PAGE = 64 * 1024 * 1024, MOST_HEAD = 1024, MOST_LINE = 1024 };

typedef struct page {
    unsigned code;
    const char *type;
    tc_buffer body;
} page;

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

/* ---- The request ---- */

static const char *find_end(const tc_http_client *client) { /* of the headers; NULL while there is none */
    for (size_t i = 0; i + 1 < client->length; i++) {
        const char *at = client->request + i;
        if (at[0] == '\n' && (at[1] == '\n' || (i + 2 < client->length && at[1] == '\r' && at[2] == '\n')))
            return at;
    }
    return NULL;
}

/* The line up to the first end of line; its length, or the whole of what came where there is none. */
static size_t line_length(const tc_http_client *client) {
    const char *end = memchr(client->request, '\n', client->length);
    size_t length = end != NULL ? (size_t)(end - client->request) : client->length;
    return length > 0 && client->request[length - 1] == '\r' ? length - 1 : length;
}

/* Bytes that no request line has: most of what is not HTTP at all, a TLS handshake among it. */
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
    const char *method, *target, *version, *host; /* host: where the target names one, else NULL */
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
    if (parts->host != NULL && !tc_http_is_meant(client, parts->host, parts->host_length))
        return 421;
    return tc_http_judge_host(client);
}

/* ---- The answer ---- */

static void fill(tc_http *http, const request *parts, page *made) {
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

static void put_together(tc_http_client *client, page *made, bool is_head) {
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
    client->answer = whole.text;
    client->answer_length = whole.length;
}

static void make(tc_http_client *client) {
    request parts = {0};
    page made = {.type = "text/plain; charset=utf-8", .body = tc_buffer_new(client->arena, MOST_PAGE)};
    made.code = judge(client, &parts);
    if (made.code == 421)
        tc_buffer_puts(&made.body, "this is not a name of this machine; tacit serve --http-host NAME allows one\n");
    else if (made.code == 200)
        fill(client->http, &parts, &made);
    else
        tc_buffer_printf(&made.body, "%s\n", reason(made.code));
    put_together(client, &made, parts.method != NULL && is_word(parts.method, parts.method_length, "HEAD"));
}

void tc_http_answer(tc_http_client *client) {
    client->arena = tc_arena_new(0);
    if (client->arena == NULL)
        return;
    tc_escape escape;
    if (TC_TRY(client->arena, &escape) == TC_OK)
        make(client);
    tc_escape_end(client->arena, &escape);
}
