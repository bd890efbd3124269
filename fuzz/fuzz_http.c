/* Any bytes as a request to the cloud's pages, cut anywhere, and as a name in its log: every request gets one response
 * with a known code and the length that it states, and every name gives one line of the log. */
#include "serve/pages/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds) {
    if (!holds)
        abort();
}

static void check_response(const tc_http_client *client) {
    unsigned code = 0;
    size_t length = 0;
    const char *at = strstr(client->response, "\r\nContent-Length: "), *body = strstr(client->response, "\r\n\r\n");
    expect(sscanf(client->response, "HTTP/1.1 %u ", &code) == 1 && at != NULL && body != NULL);
    expect(code == 200 || code == 400 || code == 404 || code == 405 || code == 414 || code == 421 || code == 431 ||
           code == 505);
    expect(sscanf(at, "\r\nContent-Length: %zu\r\n", &length) == 1);
    size_t sent = client->response_length - (size_t)(body + 4 - client->response);
    expect(sent == length || (sent == 0 && memcmp(client->request, "HEAD ", 5) == 0));
}

static void ask(const uint8_t *data, size_t size) {
    static tc_figures figures;
    static tc_http http = {.figures = &figures};
    static tc_http_client client;
    client = (tc_http_client){.http = &http, .descriptor = -1};
    while (client.length < size && client.length < sizeof client.request) {
        client.request[client.length] = (char)data[client.length];
        client.length++;
        if (tc_http_is_whole(&client))
            break;
    }
    tc_http_respond(&client); /* whole or not */
    if (client.response != NULL)
        check_response(&client);
    tc_arena_free(client.arena);
}

static void tell(const uint8_t *data, size_t size) {
    char name[300], *text = NULL;
    size_t written = 0, length = size < sizeof name - 1 ? size : sizeof name - 1;
    memcpy(name, data, length);
    name[length] = 0;
    for (int as_json = 0; as_json < 2; as_json++) {
        tc_arena *arena = tc_arena_new(0);
        FILE *out = open_memstream(&text, &written);
        expect(arena != NULL && out != NULL);
        TC_LOG(tc_log_new(arena, out, as_json != 0, TC_LOG_DEBUG), TC_EVENT_ENROLLED, tc_log_agent(name));
        (void)fclose(out);
        expect(written > 0 && memchr(text, '\n', written) == text + written - 1);
        for (size_t i = 0; i + 1 < written; i++)
            expect((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
        free(text);
        tc_arena_free(arena);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ask(data, size);
    tell(data, size);
    return 0;
}
