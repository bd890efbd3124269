#include "serve/log.h"

#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* ---- The sink: a file, pipe, terminal or socket. Its reader may be slow, stuck or gone; nothing waits for it. ---- */

enum {
    KEPT = 64 * 1024, /* bytes buffered for a slow reader */
    AT_ONCE = 4096    /* bytes that a writable pipe takes as a whole */
};

typedef struct log_sink {
    FILE *out;
    int descriptor; /* the stream's; -1: a stream in memory */
    int own;        /* the same pipe or terminal, opened again without blocking; -1: none */
    bool is_socket, is_file, is_journal;
    bool is_cut;  /* the last line was written in part */
    size_t begun; /* bytes of the first buffered line that are written already */
    uint64_t lost, breaks;
    size_t length;
    char kept[KEPT];
} log_sink;

static void close_own(void *what) {
    log_sink *sink = what;
    if (sink->own >= 0)
        (void)close(sink->own);
}

/* $JOURNAL_STREAM is "DEVICE:INODE" of the stream that leads to systemd's journal. */
static bool is_of_journal(const struct stat *facts) {
    const char *text = getenv("JOURNAL_STREAM");
    char *end = NULL;
    if (text == NULL)
        return false;
    unsigned long long device = strtoull(text, &end, 10);
    if (end == text || *end != ':')
        return false;
    const char *second = end + 1;
    unsigned long long inode = strtoull(second, &end, 10);
    return end != second && *end == '\0' && device == (unsigned long long)facts->st_dev &&
           inode == (unsigned long long)facts->st_ino;
}

bool tc_stream_is_journal(FILE *stream) {
    struct stat facts;
    int descriptor = fileno(stream);
    return descriptor >= 0 && fstat(descriptor, &facts) == 0 && is_of_journal(&facts);
}

/* Opens it again: O_NONBLOCK belongs to the open file, which other processes may share. */
static int open_anew(int descriptor) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static log_sink *sink_new(tc_arena *arena, FILE *out) {
    log_sink *sink = TC_NEW(arena, log_sink, 1);
    struct stat facts;
    sink->out = out;
    sink->descriptor = fileno(out);
    sink->own = -1;
    if (sink->descriptor < 0 || fstat(sink->descriptor, &facts) != 0)
        return sink;
    sink->is_socket = S_ISSOCK(facts.st_mode);
    sink->is_file = S_ISREG(facts.st_mode);
    sink->is_journal = is_of_journal(&facts);
    if (S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode))
        sink->own = open_anew(sink->descriptor);
    tc_arena_on_free(arena, close_own, sink);
    return sink;
}

/* Like write(2), but EAGAIN instead of waiting. */
static ssize_t give(const log_sink *sink, const char *bytes, size_t size) {
    if (sink->is_socket)
        return send(sink->descriptor, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sink->is_file)
        return write(sink->descriptor, bytes, size);
    if (sink->own >= 0)
        return write(sink->own, bytes, size);
    struct pollfd room = {.fd = sink->descriptor, .events = POLLOUT};
    if (poll(&room, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(sink->descriptor, bytes, size < AT_ONCE ? size : AT_ONCE);
}

static size_t count_lines(const char *text, size_t length) {
    size_t lines = 0;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

/* The reader is gone or the disk is full: buffered lines are lost. */
static void drop_all(log_sink *sink) {
    sink->lost += count_lines(sink->kept, sink->length);
    sink->breaks++;
    sink->is_cut = sink->is_cut || sink->begun > 0;
    sink->length = sink->begun = 0;
}

/* True: all was written, or waiting is useless. */
static bool push(log_sink *sink) {
    size_t sent = 0;
    bool goes_on = true;
    while (goes_on && sent < sink->length) {
        const char *from = sink->kept + sent, *end = memchr(from, '\n', sink->length - sent);
        size_t size = end == NULL ? sink->length - sent : (size_t)(end - from) + 1;
        ssize_t written = give(sink, from, size);
        if (written > 0) {
            sent += (size_t)written;
            sink->begun = (size_t)written == size ? 0 : sink->begun + (size_t)written;
            sink->is_cut = false;
        } else if (written == 0 || errno != EINTR) {
            goes_on = false;
        }
    }
    bool would_wait = !goes_on && (errno == EAGAIN || errno == EWOULDBLOCK);
    memmove(sink->kept, sink->kept + sent, sink->length - sent);
    sink->length -= sent;
    if (!goes_on && !would_wait)
        drop_all(sink);
    return !would_wait;
}

static bool put_in_memory(log_sink *sink, const char *line, size_t length) {
    bool done = fwrite(line, 1, length, sink->out) == length;
    return fflush(sink->out) == 0 && done;
}

static bool sink_put(log_sink *sink, const char *line, size_t length) {
    int before = errno; /* the caller may report it */
    uint64_t breaks = sink->breaks;
    bool done = false;
    if (sink->descriptor < 0) {
        done = put_in_memory(sink, line, length);
    } else {
        (void)fflush(sink->out); /* first what others have left in the stream */
        (void)push(sink);
        size_t cut = sink->is_cut && sink->length == 0;
        if (sink->length + cut + length <= sizeof sink->kept) {
            if (cut)
                sink->kept[sink->length++] = '\n';
            memcpy(sink->kept + sink->length, line, length);
            sink->length += length;
            breaks = sink->breaks;
            (void)push(sink);
            done = sink->breaks == breaks;
            errno = before;
            return done; /* drop_all has counted it */
        }
    }
    sink->lost += !done;
    errno = before;
    return done;
}

static void sink_flush(log_sink *sink, double seconds) {
    int before = errno;
    double until = tc_serve_now() + seconds;
    while (sink->length > 0 && !push(sink)) {
        double left = until - tc_serve_now();
        struct pollfd room = {.fd = sink->own >= 0 ? sink->own : sink->descriptor, .events = POLLOUT};
        if (left <= 0 || poll(&room, 1, (int)(left * 1e3) + 1) == 0)
            break;
    }
    errno = before;
}

/* ---- Lines ----
 *
 * A line is made in a buffer of fixed size. Texts that are too long are cut; keys, quotes and the end of the line
 * always fit, so that a JSON line is always one object. */

enum { LINE = 16384, MOST_TEXT = 2048, ESCAPED = 6, CLOSING = 64 };

struct tc_logbook {
    pthread_mutex_t mutex; /* loops write side by side; guards all that changes */
    log_sink *sink;
    bool as_json, is_journal;
    tc_log_level least;
    uint64_t told;  /* lost lines that were reported */
    uint64_t heard; /* those in reports that have surely reached the reader */
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

static void put(tc_logbook *log, const char *text, size_t length) { /* the caller has checked the room */
    memcpy(log->line + log->length, text, length);
    log->length += length;
}

static void puts_at(tc_logbook *log, const char *text) {
    size_t length = strlen(text), most = LINE - log->length;
    put(log, text, length < most ? length : most);
}

/* Characters that could deceive a terminal or a reader: controls, line separators and marks of writing direction. */
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

/* As a JSON string, also in lines of text. */
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

/* sd-daemon(3) */
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

static void destroy_mutex(void *mutex) { (void)pthread_mutex_destroy(mutex); }

tc_logbook *tc_log_new(tc_arena *arena, FILE *out, bool as_json, tc_log_level least) {
    tc_logbook *log = TC_NEW(arena, tc_logbook, 1);
    log->sink = sink_new(arena, out);
    if (pthread_mutex_init(&log->mutex, NULL) != 0)
        tc_raise(arena, TC_NO_MEMORY);
    tc_arena_on_free(arena, destroy_mutex, &log->mutex);
    log->as_json = as_json;
    log->is_journal = log->sink->is_journal;
    log->least = least;
    return log;
}

bool tc_log_takes(const tc_logbook *log, tc_log_event event) {
    return log != NULL && events[event].level >= log->least;
}

/* Lost lines that were not reported yet. If reports were lost too, counts from the last one that arrived. */
static uint64_t find_lost(tc_logbook *log) {
    if (log->breaks != log->sink->breaks) {
        log->breaks = log->sink->breaks;
        log->told = log->heard;
    }
    if (log->sink->length == 0)
        log->heard = log->told;
    return log->sink->lost - log->told;
}

void tc_log_write(tc_logbook *log, tc_log_event event, const tc_log_field *fields, size_t count) {
    if (!tc_log_takes(log, event))
        return;
    (void)pthread_mutex_lock(&log->mutex);
    sink_flush(log->sink, 0);
    uint64_t lost = find_lost(log);
    log->length = 0;
    put_head(log, event);
    for (size_t i = 0; i < count; i++)
        put_field(log, &fields[i]);
    if (lost > 0)
        put_field(log, &(tc_log_field){.key = "lost", .type = TC_FIELD_COUNT, .count = lost});
    puts_at(log, log->as_json ? "}\n" : "\n");
    if (sink_put(log->sink, log->line, log->length))
        log->told += lost;
    (void)pthread_mutex_unlock(&log->mutex);
}

void tc_log_say(tc_logbook *log, tc_log_event event, const char *text) {
    if (log->as_json) {
        size_t length = strlen(text);
        tc_log_field why = tc_log_why(text);
        why.length = length > 0 && text[length - 1] == '\n' ? length - 1 : length;
        tc_log_write(log, event, &why, 1);
        return;
    }
    (void)pthread_mutex_lock(&log->mutex);
    while (*text != '\0') {
        size_t length = strcspn(text, "\n"), most = LINE - CLOSING;
        log->length = 0;
        put_priority(log, events[event].level);
        put(log, text, length < most ? length : most);
        puts_at(log, "\n");
        (void)sink_put(log->sink, log->line, log->length);
        text += length + (text[length] == '\n');
    }
    (void)pthread_mutex_unlock(&log->mutex);
}

uint64_t tc_log_lost(tc_logbook *log) {
    if (log == NULL)
        return 0;
    (void)pthread_mutex_lock(&log->mutex);
    uint64_t lost = log->sink->lost;
    (void)pthread_mutex_unlock(&log->mutex);
    return lost;
}

void tc_log_flush(tc_logbook *log, double seconds) {
    if (log == NULL)
        return;
    (void)pthread_mutex_lock(&log->mutex);
    sink_flush(log->sink, seconds);
    (void)pthread_mutex_unlock(&log->mutex);
}

/* ---- the service manager ---- */

/* A path, or a name in the abstract namespace: it begins with @ in the variable, with a zero byte in the address. */
static socklen_t find_address(struct sockaddr_un *address) {
    const char *name = getenv("NOTIFY_SOCKET");
    size_t length = name == NULL ? 0 : strlen(name);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (length < 2 || length >= sizeof address->sun_path || (name[0] != '/' && name[0] != '@'))
        return 0;
    memcpy(address->sun_path, name, length);
    if (name[0] == '@')
        address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '/'));
}

static void say(const char *text) {
    struct sockaddr_un address;
    socklen_t size = find_address(&address);
    int before = errno;
    if (size == 0)
        return;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (descriptor >= 0) {
        (void)fcntl(descriptor, F_SETFD, FD_CLOEXEC);
        (void)sendto(descriptor, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, size);
        (void)close(descriptor);
    }
    errno = before;
}

/* The status must be one line: another line would be another assignment. */
static void say_with_status(const char *first, const char *status) {
    char text[1024];
    if (status == NULL) {
        say(first);
        return;
    }
    int length = snprintf(text, sizeof text, "%sSTATUS=", first);
    for (; *status != '\0' && (size_t)length + 2 < sizeof text; status++)
        text[length++] = (unsigned char)*status < ' ' ? ' ' : *status;
    text[length] = '\0';
    say(text);
}

void tc_notify_ready(const char *status) { say_with_status("READY=1\n", status); }
void tc_notify_status(const char *status) { say_with_status("", status); }
void tc_notify_stopping(void) { say("STOPPING=1\n"); }
void tc_notify_alive(void) { say("WATCHDOG=1\n"); }

void tc_notify_reloading(void) {
    struct timespec now = {0};
    char text[64];
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%lld\n",
                   (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    say(text);
}

double tc_notify_watchdog_seconds(void) {
    const char *text = getenv("WATCHDOG_USEC"), *whom = getenv("WATCHDOG_PID");
    if (text == NULL || getenv("NOTIFY_SOCKET") == NULL || (whom != NULL && strtoll(whom, NULL, 10) != getpid()))
        return 0;
    double seconds = 1e-6 * strtod(text, NULL);
    return seconds > 0 ? seconds : 0;
}
