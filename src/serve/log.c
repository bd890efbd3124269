/* Lines are made in a buffer of fixed size, so that a log that runs for months takes no memory. A text that is too long
 * for it is cut; keys, quotes and the end of the line always fit, so a line of JSON is always one object. */
#include "serve/log.h"

#include "base/json.h"
#include "serve/log_sink.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { LINE = 16384, MOST_TEXT = 2048, ESCAPED = 6, CLOSING = 64 };

struct tc_logbook {
    tc_log_sink *sink;
    bool as_json, is_journal;
    tc_log_level least;
    uint64_t told;  /* lost lines that a line has told of */
    uint64_t heard; /* the same, of lines that the reader has for sure */
    uint64_t breaks;
    char line[LINE];
    size_t length;
};

static const struct {
    tc_log_level level;
    const char *name, *text;
} events[] = {
#define X(code, level, name, text) [code] = {level, name, text},
    TC_LOG_EVENTS(X)
#undef X
};

const char *const tc_log_level_names[] = {
#define X(code, name) [code] = name,
    TC_LOG_LEVELS(X)
#undef X
        NULL};

/* ---- Fields ---- */

tc_log_field tc_log_count(const char *key, uint64_t count) {
    return (tc_log_field){.key = key, .type = TC_FIELD_COUNT, .count = count};
}

tc_log_field tc_log_round(uint64_t round) { return tc_log_count("round", round); }

tc_log_field tc_log_seconds(const char *key, double seconds) {
    return (tc_log_field){.key = key, .type = TC_FIELD_SECONDS, .seconds = seconds};
}

tc_log_field tc_log_text(const char *key, const char *text) {
    return (tc_log_field){.key = key, .type = TC_FIELD_TEXT, .text = text, .length = text != NULL ? strlen(text) : 0};
}

tc_log_field tc_log_agent(const char *name) { return tc_log_text("agent", name); }

tc_log_field tc_log_agents(const char *names) {
    tc_log_field field = tc_log_text("agents", names);
    field.type = TC_FIELD_NAMES;
    return field;
}

tc_log_field tc_log_refusal(tc_refusal_code code) { return tc_log_text("reason", tc_refusal_text(code)); }

tc_log_field tc_log_why(const char *sentence) { return tc_log_text("why", sentence); }

/* ---- Lines ---- */

static size_t room(const tc_logbook *log) { return LINE - CLOSING - log->length; }

static void put(tc_logbook *log, const char *text, size_t length) { /* there is room: the caller has seen to it */
    memcpy(log->line + log->length, text, length);
    log->length += length;
}

static void puts_at(tc_logbook *log, const char *text) {
    size_t length = strlen(text), most = LINE - log->length;
    put(log, text, length < most ? length : most);
}

/* Characters that a terminal or a reader's eye would take for something else than a part of the text: controls, line
 * separators and what turns the direction of writing. */
static bool is_deceptive(unsigned long point) {
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x200e || point == 0x200f ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
}

static unsigned long decode(const char *text, size_t length) {
    const unsigned char *byte = (const unsigned char *)text;
    unsigned long point = length == 1 ? byte[0] : byte[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++)
        point = point << 6 | (byte[i] & 0x3fU);
    return point;
}

/* As a string of JSON, which is the form in lines of text too. */
static void put_quoted(tc_logbook *log, const char *text, size_t length) {
    puts_at(log, "\"");
    for (size_t i = 0; i < length;) {
        if (i >= MOST_TEXT || room(log) < 2 * ESCAPED) {
            puts_at(log, "...");
            break;
        }
        size_t bytes = tc_utf8_length(text + i);
        unsigned long point = bytes > 0 ? decode(text + i, bytes) : 0xfffd;
        char escaped[ESCAPED + 1];
        if (bytes > 0 && (point == '"' || point == '\\'))
            (void)snprintf(escaped, sizeof escaped, "\\%c", (char)point);
        else
            (void)snprintf(escaped, sizeof escaped, "\\u%04lx", point & 0xffff);
        if (bytes > 0 && point != '"' && point != '\\' && !is_deceptive(point))
            put(log, text + i, bytes);
        else
            puts_at(log, escaped);
        i += bytes > 0 ? bytes : 1;
    }
    puts_at(log, "\"");
}

static bool is_plain(const char *text, size_t length) { /* needs no quotes in a line of text */
    for (size_t i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\' || text[i] == '=')
            return false;
    }
    return length > 0 && length < MOST_TEXT;
}

static void put_text(tc_logbook *log, const tc_log_field *field) {
    if (field->text == NULL)
        puts_at(log, log->as_json ? "null" : "-");
    else if (!log->as_json && field->length < room(log) && is_plain(field->text, field->length))
        put(log, field->text, field->length);
    else
        put_quoted(log, field->text, field->length);
}

static void put_seconds(tc_logbook *log, double seconds) { /* to a microsecond */
    char text[32] = "null";
    if (isfinite(seconds))
        tc_shortest_number(text, fabs(seconds) < 1e9 ? round(seconds * 1e6) / 1e6 : seconds);
    puts_at(log, text);
}

static void put_field(tc_logbook *log, const tc_log_field *field) {
    if (room(log) < strlen(field->key) + CLOSING)
        return;
    puts_at(log, log->as_json ? ",\"" : " ");
    puts_at(log, field->key);
    puts_at(log, log->as_json ? "\":" : "=");
    char text[32];
    switch (field->type) {
    case TC_FIELD_COUNT:
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)field->count);
        puts_at(log, text);
        break;
    case TC_FIELD_SECONDS:
        put_seconds(log, field->seconds);
        break;
    case TC_FIELD_TEXT:
    case TC_FIELD_NAMES:
        put_text(log, field);
        break;
    }
}

static void put_time(tc_logbook *log) { /* UTC, as in RFC 3339 */
    struct timespec now = {0};
    struct tm utc = {0};
    char day[32] = "", text[48];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &utc) != NULL)
        (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text, sizeof text, "%s.%03dZ", day, (int)(now.tv_nsec / 1000000));
    puts_at(log, text);
}

/* As sd-daemon(3) has them. */
static void put_priority(tc_logbook *log, tc_log_level level) {
    static const char *const priorities[] = {
        [TC_LOG_DEBUG] = "<7>", [TC_LOG_INFO] = "<6>", [TC_LOG_WARNING] = "<4>", [TC_LOG_ERROR] = "<3>"};
    if (log->is_journal)
        puts_at(log, priorities[level]);
}

static void put_head(tc_logbook *log, tc_log_event event) {
    const char *level = tc_log_level_names[events[event].level];
    put_priority(log, events[event].level);
    puts_at(log, log->as_json ? "{\"time\":\"" : "");
    put_time(log);
    const char *const parts[] = {log->as_json ? "\",\"level\":\"" : " ",
                                 level,
                                 log->as_json ? "\",\"event\":\"" : " ",
                                 events[event].name,
                                 log->as_json ? "\",\"message\":\"" : ": ",
                                 events[event].text,
                                 log->as_json ? "\"" : ""};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        puts_at(log, parts[i]);
}

tc_logbook *tc_log_new(tc_arena *arena, FILE *out, bool as_json, tc_log_level least) {
    tc_logbook *log = TC_NEW(arena, tc_logbook, 1);
    log->sink = tc_log_sink_new(arena, out);
    log->as_json = as_json;
    log->is_journal = tc_log_sink_is_journal(log->sink);
    log->least = least;
    return log;
}

bool tc_log_takes(const tc_logbook *log, tc_log_event event) {
    return log != NULL && events[event].level >= log->least;
}

/* Where lines that told of lost ones were lost themselves, the next tells of all. */
static uint64_t find_lost(tc_logbook *log) {
    if (log->breaks != tc_log_sink_breaks(log->sink)) {
        log->breaks = tc_log_sink_breaks(log->sink);
        log->told = log->heard;
    }
    if (tc_log_sink_is_empty(log->sink))
        log->heard = log->told;
    return tc_log_sink_lost(log->sink) - log->told;
}

void tc_log_write(tc_logbook *log, tc_log_event event, const tc_log_field *fields, size_t count) {
    if (!tc_log_takes(log, event))
        return;
    tc_log_sink_flush(log->sink, 0);
    uint64_t lost = find_lost(log);
    log->length = 0;
    put_head(log, event);
    for (size_t i = 0; i < count; i++)
        put_field(log, &fields[i]);
    if (lost > 0)
        put_field(log, &(tc_log_field){.key = "lost", .type = TC_FIELD_COUNT, .count = lost});
    puts_at(log, log->as_json ? "}\n" : "\n");
    if (tc_log_sink_put(log->sink, log->line, log->length))
        log->told += lost;
}

void tc_log_say(tc_logbook *log, tc_log_event event, const char *text) {
    if (log->as_json) {
        size_t length = strlen(text);
        tc_log_field why = tc_log_why(text);
        why.length = length > 0 && text[length - 1] == '\n' ? length - 1 : length;
        tc_log_write(log, event, &why, 1);
        return;
    }
    while (*text != '\0') {
        size_t length = strcspn(text, "\n"), most = LINE - CLOSING;
        log->length = 0;
        put_priority(log, events[event].level);
        put(log, text, length < most ? length : most);
        puts_at(log, "\n");
        (void)tc_log_sink_put(log->sink, log->line, log->length);
        text += length + (text[length] == '\n');
    }
}

uint64_t tc_log_lost(const tc_logbook *log) { return log == NULL ? 0 : tc_log_sink_lost(log->sink); }

void tc_log_flush(tc_logbook *log, double seconds) {
    if (log != NULL)
        tc_log_sink_flush(log->sink, seconds);
}
