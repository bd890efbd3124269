/* Any bytes as a trace: a trace, of which a page can be made, or an error. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(tc_arena *arena, const char *text, size_t size) {
    tc_buffer messages = tc_buffer_new(arena, 1 << 20), html = tc_buffer_new(arena, (size_t)1 << 28);
    tc_trace *trace = NULL;
    tc_status status = tc_trace_parse(arena, "fuzz.csv", text, size, NULL, &messages, &trace);
    if ((status == TC_OK) != (messages.length == 0))
        abort();
    if (status != TC_OK)
        return;
    const tc_trace *traces[] = {trace, trace};
    status = tc_report_html(arena, NULL, traces, 2, &messages, &html);
    if ((status == TC_OK) != (trace->kind != TC_TRACE_MARKS))
        abort();
    /* Text from the file is escaped, so a quote begins an attribute of our own. */
    static const char *const never[] = {"<script", "\"nan", "\"-nan", "\"inf", "\"-inf", "\"Mnan", "\"M-nan"};
    for (size_t i = 0; i < sizeof never / sizeof never[0] && status == TC_OK; i++) {
        if (strstr(html.text, never[i]) != NULL)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tc_arena *arena = tc_arena_new((size_t)1 << 30);
    if (arena == NULL)
        return 0;
    tc_escape escape;
    if (TC_TRY(arena, &escape) == TC_OK)
        read_all(arena, (const char *)data, size);
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return 0;
}
