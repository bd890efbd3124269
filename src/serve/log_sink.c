#include "serve/log_sink.h"

#include "serve/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AT_ONCE = 4096 }; /* bytes that a pipe takes whole when it says that it has room */

struct tc_log_sink {
    FILE *out;
    int descriptor; /* the stream's; -1: it has none, and is memory */
    int own;        /* the same pipe or terminal, opened anew so that it does not block; -1: none */
    bool is_socket, is_file, is_journal;
    bool is_cut;  /* the last line ended in the middle */
    size_t begun; /* bytes of the first kept line that are gone already */
    uint64_t lost, breaks;
    size_t length;
    char kept[TC_LOG_KEPT];
};

static void close_own(void *what) {
    tc_log_sink *sink = what;
    if (sink->own >= 0)
        (void)close(sink->own);
}

/* "DEVICE:INODE" of what the service manager has connected to the journal. */
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

/* O_NONBLOCK belongs to the open file, which a shell or another process may share: so it is opened once more. */
static int open_anew(int descriptor) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

tc_log_sink *tc_log_sink_new(tc_arena *arena, FILE *out) {
    tc_log_sink *sink = TC_NEW(arena, tc_log_sink, 1);
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

bool tc_log_sink_is_empty(const tc_log_sink *sink) { return sink->length == 0; }
uint64_t tc_log_sink_lost(const tc_log_sink *sink) { return sink->lost; }
uint64_t tc_log_sink_breaks(const tc_log_sink *sink) { return sink->breaks; }
bool tc_log_sink_is_journal(const tc_log_sink *sink) { return sink->is_journal; }

/* ---- giving bytes away ---- */

/* As write(2), and EAGAIN where that would wait. */
static ssize_t give(const tc_log_sink *sink, const char *bytes, size_t size) {
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

/* The reader is gone, or the disk is full: what is kept will not get through later either. */
static void drop_all(tc_log_sink *sink) {
    sink->lost += count_lines(sink->kept, sink->length);
    sink->breaks++;
    sink->is_cut = sink->is_cut || sink->begun > 0;
    sink->length = sink->begun = 0;
}

/* True: it has all been taken, or there is no use in waiting. */
static bool push(tc_log_sink *sink) {
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

static bool put_in_memory(tc_log_sink *sink, const char *line, size_t length) {
    bool done = fwrite(line, 1, length, sink->out) == length;
    return fflush(sink->out) == 0 && done;
}

bool tc_log_sink_put(tc_log_sink *sink, const char *line, size_t length) {
    int before = errno; /* a caller may be about to report it */
    uint64_t breaks = sink->breaks;
    bool done = false;
    if (sink->descriptor < 0) {
        done = put_in_memory(sink, line, length);
    } else {
        (void)fflush(sink->out); /* what others have left in the stream comes first */
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
            return done; /* a break has counted it */
        }
    }
    sink->lost += !done;
    errno = before;
    return done;
}

void tc_log_sink_flush(tc_log_sink *sink, double seconds) {
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
