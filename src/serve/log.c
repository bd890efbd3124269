/* Lines are made in a buffer of fixed size, so that a log that runs for months takes no memory. A text that is too long
 * for it is cut; keys, quotes and the end of the line always fit, so a line of JSON is always one object. */
#include "serve/log.h"

#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 16384, MOST_TEXT = 2048, ESCAPED = 6, CLOSING = 64 };

struct tc_logbook {
    FILE *out;
    bool as_json, is_cut; /* is_cut: the last line ended in the middle */
    tc_log_level least;
    uint64_t lost; /* lines since the last that was written whole */
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

static void put_head(tc_logbook *log, tc_log_event event) {
    const char *level = tc_log_level_names[events[event].level];
    if (log->is_cut)
        puts_at(log, "\n");
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

/* One call of the system for a line: a reader of a pipe or a file never meets half of one. A stream without a
 * descriptor (in memory) gets it as it can. */
static size_t deliver(tc_logbook *log) {
    int descriptor = fileno(log->out);
    if (descriptor < 0) {
        size_t written = fwrite(log->line, 1, log->length, log->out);
        return fflush(log->out) == 0 ? written : 0;
    }
    (void)fflush(log->out); /* what others have left in the stream comes first */
    size_t sent = 0;
    while (sent < log->length) {
        ssize_t written = write(descriptor, log->line + sent, log->length - sent);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break;
        sent += (size_t)written;
    }
    return sent;
}

tc_logbook *tc_log_new(tc_arena *arena, FILE *out, bool as_json, tc_log_level least) {
    tc_logbook *log = TC_NEW(arena, tc_logbook, 1);
    log->out = out;
    log->as_json = as_json;
    log->least = least;
    return log;
}

bool tc_log_takes(const tc_logbook *log, tc_log_event event) {
    return log != NULL && events[event].level >= log->least;
}

void tc_log_write(tc_logbook *log, tc_log_event event, const tc_log_field *fields, size_t count) {
    if (!tc_log_takes(log, event))
        return;
    log->length = 0;
    put_head(log, event);
    for (size_t i = 0; i < count; i++)
        put_field(log, &fields[i]);
    if (log->lost > 0)
        put_field(log, &(tc_log_field){.key = "lost", .type = TC_FIELD_COUNT, .count = log->lost});
    puts_at(log, log->as_json ? "}\n" : "\n");
    int before = errno; /* a caller may be about to report it */
    size_t sent = deliver(log);
    errno = before;
    log->lost = sent == log->length ? 0 : log->lost + 1;
    log->is_cut = sent > 0 ? sent < log->length : log->is_cut;
}
