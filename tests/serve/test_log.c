#include "serve/log.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct written { /* a log into memory */
    tc_arena *arena;
    FILE *out;
    char *text;
    size_t size;
    tc_logbook *log;
} written;

static written w;

static void begin(bool as_json, tc_log_level least) {
    w = (written){.arena = tc_arena_new(0)};
    assert_non_null(w.arena);
    w.out = open_memstream(&w.text, &w.size);
    assert_non_null(w.out);
    w.log = tc_log_new(w.arena, w.out, as_json, least);
}

static int end(void **state) {
    (void)state;
    if (w.out != NULL)
        (void)fclose(w.out);
    free(w.text);
    tc_arena_free(w.arena);
    w = (written){0};
    return 0;
}

/* What follows the time, of the only line there is. */
static const char *line(void) {
    assert_int_equal(w.text[w.size - 1], '\n');
    assert_ptr_equal(strchr(w.text, '\n'), w.text + w.size - 1);
    return w.text + strlen("2026-11-16T07:14:50.123Z ");
}

/* ---- A reader of JSON, for strings and one flat object: independent of what wrote it ---- */

static const char *read_hex(const char *at, unsigned *value) {
    *value = 0;
    for (int i = 0; i < 4; i++, at++) {
        assert_non_null(strchr("0123456789abcdefABCDEF", *at));
        assert_int_not_equal(*at, 0);
        *value = *value * 16 + (unsigned)strtol((char[]){*at, 0}, NULL, 16);
    }
    return at;
}

static const char *read_string(const char *at, char *out) { /* code points above 127 that are escaped become '?' */
    assert_int_equal(*at++, '"');
    while (*at != '"') {
        assert_true((unsigned char)*at >= 0x20);
        if (*at != '\\') {
            *out++ = *at++;
            continue;
        }
        at++;
        if (*at == 'u') {
            unsigned point;
            at = read_hex(at + 1, &point);
            *out++ = point < 128 ? (char)point : '?';
        } else {
            assert_true(*at == '"' || *at == '\\');
            *out++ = *at++;
        }
    }
    *out = 0;
    return at + 1;
}

enum { MOST_KEYS = 16 };
typedef struct object {
    size_t count;
    char keys[MOST_KEYS][32], values[MOST_KEYS][8192];
} object;

static void read_object(const char *at, object *found) {
    found->count = 0;
    assert_int_equal(*at++, '{');
    for (;;) {
        assert_in_range(found->count, 0, MOST_KEYS - 1);
        at = read_string(at, found->keys[found->count]);
        assert_int_equal(*at++, ':');
        char *value = found->values[found->count++];
        if (*at == '"') {
            at = read_string(at, value);
        } else {
            size_t length = strcspn(at, ",}");
            memcpy(value, at, length);
            value[length] = 0;
            char *after;
            if (strcmp(value, "null") != 0) {
                (void)strtod(value, &after);
                assert_true(*after == 0 && length > 0);
            }
            at += length;
        }
        if (*at == '}')
            break;
        assert_int_equal(*at++, ',');
    }
    assert_string_equal(at, "}\n");
}

static const char *value_of(const object *found, const char *key) {
    const char *value = NULL;
    for (size_t i = 0; i < found->count; i++) {
        if (strcmp(found->keys[i], key) == 0) {
            assert_null(value); /* once */
            value = found->values[i];
        }
    }
    assert_non_null(value);
    return value;
}

/* ---- Text ---- */

static void a_line_has_time_level_event_sentence_and_fields(void **state) {
    (void)state;
    begin(false, TC_LOG_INFO);
    time_t before = time(NULL);
    TC_LOG(w.log, TC_EVENT_ENROLLED, tc_log_agent("a3"), tc_log_round(17), tc_log_seconds("after", 0.25),
           tc_log_count("states", 18446744073709551615U));
    assert_string_equal(line(), "info enrolled: an agent has enrolled agent=a3 round=17 after=0.25 "
                                "states=18446744073709551615\n");
    struct tm utc = {0};
    int milliseconds;
    char zone;
    assert_int_equal(sscanf(w.text, "%d-%d-%dT%d:%d:%d.%3d%c", &utc.tm_year, &utc.tm_mon, &utc.tm_mday, &utc.tm_hour,
                            &utc.tm_min, &utc.tm_sec, &milliseconds, &zone),
                     8);
    assert_int_equal(zone, 'Z');
    struct tm now = {0};
    assert_non_null(gmtime_r(&before, &now));
    long of_day = utc.tm_hour * 3600L + utc.tm_min * 60L + utc.tm_sec;
    long expected = now.tm_hour * 3600L + now.tm_min * 60L + now.tm_sec;
    assert_in_range((of_day - expected + 86400) % 86400, 0, 60);
}

static void lines_below_the_level_are_left_out(void **state) {
    (void)state;
    begin(false, TC_LOG_WARNING);
    tc_log_write(w.log, TC_EVENT_STARTED, NULL, 0);
    assert_true(w.size == 0);
    tc_log_write(w.log, TC_EVENT_INSECURE, NULL, 0);
    assert_string_equal(line(), "warning insecure: not for private data\n");
    tc_log_write(NULL, TC_EVENT_JOURNAL_FAILED, NULL, 0);
}

static void what_does_not_print_is_escaped_in_text(void **state) {
    (void)state;
    begin(false, TC_LOG_DEBUG);
    /* a forged line, a terminal's escape, a turn of direction, a lone byte, a C1 control, and what is harmless */
    TC_LOG(w.log, TC_EVENT_LEFT, tc_log_agent("x\n2026 error"), tc_log_text("b", "\033[2J\177"),
           tc_log_text("c", "\xe2\x80\xaeko"), tc_log_text("d", "\xff"), tc_log_text("e", "\xc2\x9b"),
           tc_log_text("f", "M\xc3\xbcller"), tc_log_text("g", "a=\"b\\"), tc_log_text("h", ""),
           tc_log_text("i", NULL));
    assert_string_equal(line(),
                        "info left: an agent's connection has ended agent=\"x\\u000a2026 error\" "
                        "b=\"\\u001b[2J\\u007f\" c=\"\\u202eko\" d=\"\\ufffd\" e=\"\\u009b\" f=\"M\xc3\xbcller\" "
                        "g=\"a=\\\"b\\\\\" h=\"\" i=-\n");
}

/* ---- JSON ---- */

static void a_line_of_json_is_one_object(void **state) {
    (void)state;
    begin(true, TC_LOG_DEBUG);
    TC_LOG(w.log, TC_EVENT_REFUSED, tc_log_agent("a\"b\\c\nd\x01"), tc_log_refusal(TC_REFUSED_ROUND), tc_log_round(9),
           tc_log_seconds("late", 1.0 / 3), tc_log_seconds("never", 1.0 / 0.0), tc_log_text("none", NULL));
    static object found;
    read_object(w.text, &found);
    assert_int_equal(found.count, 10);
    assert_int_equal(strlen(value_of(&found, "time")), strlen("2026-11-16T07:14:50.123Z"));
    assert_string_equal(value_of(&found, "level"), "warning");
    assert_string_equal(value_of(&found, "event"), "refused");
    assert_string_equal(value_of(&found, "message"), "an agent or its message was refused");
    assert_string_equal(value_of(&found, "agent"), "a\"b\\c\nd\x01");
    assert_string_equal(value_of(&found, "reason"), "wrong round");
    assert_string_equal(value_of(&found, "round"), "9");
    assert_string_equal(value_of(&found, "late"), "0.333333");
    assert_string_equal(value_of(&found, "never"), "null");
    assert_string_equal(value_of(&found, "none"), "null");
}

static void every_byte_in_a_name_gives_one_valid_line(void **state) {
    (void)state;
    for (unsigned byte = 1; byte < 256; byte++) {
        begin(true, TC_LOG_DEBUG);
        char name[] = {'a', (char)byte, 'b', (char)byte, 0};
        TC_LOG(w.log, TC_EVENT_ENROLLED, tc_log_agent(name));
        static object found;
        read_object(w.text, &found);
        if (byte < 128)
            assert_string_equal(value_of(&found, "agent"), name);
        (void)end(NULL);
    }
}

static void a_text_too_long_is_cut_and_the_line_stays_whole(void **state) {
    (void)state;
    enum { LONG = 100000 };
    char *names = malloc(LONG);
    assert_non_null(names);
    for (int as_json = 0; as_json < 2; as_json++) {
        for (int escaped = 0; escaped < 2; escaped++) {
            memset(names, escaped ? '\n' : 'n', LONG - 1);
            names[LONG - 1] = 0;
            begin(as_json, TC_LOG_DEBUG);
            TC_LOG(w.log, TC_EVENT_WAITING, tc_log_agents(names), tc_log_why(names), tc_log_text("c", names),
                   tc_log_text("d", names), tc_log_text("e", names), tc_log_round(5));
            assert_true(w.size <= 16384);
            if (as_json) {
                static object found;
                read_object(w.text, &found);
                size_t length = strlen(value_of(&found, "agents"));
                assert_int_equal(length, 2048 + 3);
                assert_string_equal(value_of(&found, "agents") + length - 3, "...");
            } else {
                (void)line();
            }
            (void)end(NULL);
        }
    }
    free(names);
}

static void every_event_gives_valid_json_and_stands_in_the_manual(void **state) {
    (void)state;
    static const char *const names[] = {
#define X(code, level, name, text) name,
        TC_LOG_EVENTS(X)
#undef X
    };
    FILE *file = fopen(TACIT_SOURCE_DIR "/docs/operations.md", "r");
    assert_non_null(file);
    static char manual[1 << 18];
    manual[fread(manual, 1, sizeof manual - 1, file)] = 0;
    (void)fclose(file);
    for (unsigned event = 0; event < sizeof names / sizeof names[0]; event++) {
        begin(true, TC_LOG_DEBUG);
        tc_log_write(w.log, (tc_log_event)event, NULL, 0);
        static object found;
        read_object(w.text, &found);
        assert_string_equal(value_of(&found, "event"), names[event]);
        char row[64];
        (void)snprintf(row, sizeof row, "\n| `%s` |", names[event]);
        if (strstr(manual, row) == NULL)
            fail_msg("docs/operations.md has no row for the event %s", names[event]);
        (void)end(NULL);
    }
}

/* ---- Where lines go ---- */

/* A stream into a socket that keeps writes apart: one datagram each. */
static int begin_on_datagrams(void) {
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    w = (written){.arena = tc_arena_new(0), .out = fdopen(ends[1], "w")};
    assert_non_null(w.arena);
    assert_non_null(w.out);
    w.log = tc_log_new(w.arena, w.out, true, TC_LOG_DEBUG);
    return ends[0];
}

static const char *next_write(int from) {
    static char bytes[20000];
    ssize_t got = read(from, bytes, sizeof bytes - 1);
    bytes[got > 0 ? got : 0] = 0;
    return got > 0 ? bytes : NULL;
}

static void a_line_is_one_write(void **state) {
    (void)state;
    int from = begin_on_datagrams();
    (void)fputs("left in the stream\n", w.out);
    char name[2000];
    memset(name, '\n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    TC_LOG(w.log, TC_EVENT_ENROLLED, tc_log_agent(name));
    assert_string_equal(next_write(from), "left in the stream\n");
    static object found;
    read_object(next_write(from), &found);
    assert_string_equal(value_of(&found, "agent"), name);
    assert_null(next_write(from));
    (void)close(from);
}

/* A reader that is slow gets all of it, in order; one that is gone is not fatal, and the log says what is missing. */
static void lines_for_a_slow_reader_are_kept(void **state) {
    (void)state;
    int from = begin_on_datagrams();
    while (write(fileno(w.out), "full", 4) > 0)
        ;
    errno = ENOSPC;
    for (int i = 0; i < 3; i++)
        TC_LOG(w.log, TC_EVENT_ENROLLED, tc_log_count("number", (uint64_t)i));
    assert_int_equal(errno, ENOSPC); /* the caller's, not the log's */
    int full = 0;
    for (const char *text; (text = next_write(from)) != NULL; full++)
        assert_string_equal(text, "full");
    assert_true(full > 0);
    tc_log_flush(w.log, 0);
    for (int i = 0; i < 3; i++) {
        char wanted[32];
        (void)snprintf(wanted, sizeof wanted, "\"number\":%d}\n", i);
        const char *text = next_write(from);
        assert_non_null(text);
        assert_non_null(strstr(text, wanted));
    }
    assert_int_equal(tc_log_lost(w.log), 0);
    (void)close(from);
}

/* The stream of a pipe whose reader does not read, and how much is in it. */
static int begin_on_pipe(bool as_json) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    w = (written){.arena = tc_arena_new(0), .out = fdopen(ends[1], "w")};
    assert_non_null(w.arena);
    assert_non_null(w.out);
    w.log = tc_log_new(w.arena, w.out, as_json, TC_LOG_DEBUG);
    return ends[0];
}

static size_t read_all(int from, char *text, size_t room) {
    size_t length = 0;
    for (ssize_t got; length + 1 < room && (got = read(from, text + length, room - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = 0;
    return length;
}

static void a_reader_that_does_not_read_stops_nobody_and_lost_lines_are_counted(void **state) {
    (void)state;
    enum { LINES = 4000 };
    static char text[1 << 20];
    int from = begin_on_pipe(true);
    assert_int_equal(fcntl(fileno(w.out), F_GETFL) & O_NONBLOCK, 0);
    (void)alarm(300); /* it would wait for ever */
    for (int i = 0; i < LINES; i++)
        TC_LOG(w.log, TC_EVENT_ENROLLED, tc_log_count("number", (uint64_t)i));
    (void)alarm(0);
    assert_int_equal(fcntl(fileno(w.out), F_GETFL) & O_NONBLOCK, 0); /* others may share the pipe */
    uint64_t lost = tc_log_lost(w.log);
    assert_in_range(lost, 1, LINES - 1);
    size_t length = read_all(from, text, sizeof text);
    tc_log_flush(w.log, 0);
    length += read_all(from, text + length, sizeof text - length);
    TC_LOG(w.log, TC_EVENT_LEFT, tc_log_agent("last"));
    (void)read_all(from, text + length, sizeof text - length);
    /* The first ones, whole and in order; then the last, which says how many are missing. */
    static object found;
    int lines = 0;
    for (char *at = text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1, lines++) {
        char one[16384];
        memcpy(one, at, (size_t)(end - at) + 1);
        one[end - at + 1] = 0;
        read_object(one, &found);
        if (strcmp(value_of(&found, "event"), "left") != 0)
            assert_int_equal(strtol(value_of(&found, "number"), NULL, 10), lines);
    }
    assert_string_equal(value_of(&found, "agent"), "last");
    assert_int_equal(strtoull(value_of(&found, "lost"), NULL, 10), lost);
    assert_int_equal(lines - 1 + (int)lost, LINES);
    (void)close(from);
}

static void a_log_whose_reader_is_gone_is_not_fatal_and_counts(void **state) {
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    int from = begin_on_pipe(false);
    (void)close(from);
    errno = ENOSPC;
    for (int i = 0; i < 3; i++)
        TC_LOG(w.log, TC_EVENT_ENROLLED, tc_log_agent("a"));
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(tc_log_lost(w.log), 3);
}

static void the_end_waits_a_little_for_a_reader_and_no_longer(void **state) {
    (void)state;
    int from = begin_on_pipe(false);
    for (int i = 0; i < 2000; i++)
        TC_LOG(w.log, TC_EVENT_ENROLLED, tc_log_agent("a"));
    (void)alarm(300);
    tc_log_flush(w.log, 0.05);
    (void)alarm(0);
    (void)close(from);
}

static void lines_for_the_journal_begin_with_their_priority_and_no_others_do(void **state) {
    (void)state;
    static char text[4096];
    for (int is_journal = 0; is_journal < 2; is_journal++) {
        for (int as_json = 0; as_json < 2; as_json++) {
            int from = begin_on_pipe(as_json);
            struct stat facts;
            char name[64];
            assert_int_equal(fstat(fileno(w.out), &facts), 0);
            (void)snprintf(name, sizeof name, "%llu:%llu", (unsigned long long)facts.st_dev,
                           (unsigned long long)facts.st_ino + !is_journal);
            assert_int_equal(setenv("JOURNAL_STREAM", name, 1), 0);
            w.log = tc_log_new(w.arena, w.out, as_json, TC_LOG_DEBUG);
            TC_LOG(w.log, TC_EVENT_TOLD, tc_log_agent("a"));
            TC_LOG(w.log, TC_EVENT_ENROLLED, tc_log_agent("a"));
            TC_LOG(w.log, TC_EVENT_WAITING, tc_log_round(1));
            TC_LOG(w.log, TC_EVENT_FAILED, tc_log_why("why"));
            tc_log_say(w.log, TC_EVENT_NOTE, "one line\n");
            (void)read_all(from, text, sizeof text);
            const char *const priorities[] = {"<7>", "<6>", "<4>", "<3>", "<4>"};
            const char *at = text;
            for (size_t i = 0; i < 5; i++, at = strchr(at, '\n') + 1)
                assert_int_equal(strncmp(at, priorities[i], 3) == 0, is_journal);
            assert_int_equal(*at, 0);
            assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
            (void)close(from);
            (void)end(NULL);
        }
    }
}

static void what_a_command_says_is_one_object_in_json_and_as_it_stands_in_text(void **state) {
    (void)state;
    static object found;
    begin(true, TC_LOG_ERROR);
    tc_log_say(w.log, TC_EVENT_NOTE, "left out by its level\n");
    tc_log_say(w.log, TC_EVENT_FAILED, "file.tacit:1:2: error: \"what\"\n    x\n");
    read_object(w.text, &found);
    assert_string_equal(value_of(&found, "event"), "failed");
    assert_string_equal(value_of(&found, "why"), "file.tacit:1:2: error: \"what\"\n    x");
    (void)end(NULL);
    begin(false, TC_LOG_ERROR);
    tc_log_say(w.log, TC_EVENT_NOTE, "one\n  two");
    assert_string_equal(w.text, "one\n  two\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_line_has_time_level_event_sentence_and_fields, end),
        cmocka_unit_test_teardown(lines_below_the_level_are_left_out, end),
        cmocka_unit_test_teardown(what_does_not_print_is_escaped_in_text, end),
        cmocka_unit_test_teardown(a_line_of_json_is_one_object, end),
        cmocka_unit_test_teardown(every_byte_in_a_name_gives_one_valid_line, end),
        cmocka_unit_test_teardown(a_text_too_long_is_cut_and_the_line_stays_whole, end),
        cmocka_unit_test_teardown(every_event_gives_valid_json_and_stands_in_the_manual, end),
        cmocka_unit_test_teardown(a_line_is_one_write, end),
        cmocka_unit_test_teardown(lines_for_a_slow_reader_are_kept, end),
        cmocka_unit_test_teardown(a_reader_that_does_not_read_stops_nobody_and_lost_lines_are_counted, end),
        cmocka_unit_test_teardown(a_log_whose_reader_is_gone_is_not_fatal_and_counts, end),
        cmocka_unit_test_teardown(the_end_waits_a_little_for_a_reader_and_no_longer, end),
        cmocka_unit_test_teardown(lines_for_the_journal_begin_with_their_priority_and_no_others_do, end),
        cmocka_unit_test_teardown(what_a_command_says_is_one_object_in_json_and_as_it_stands_in_text, end),
    };
    return cmocka_run_group_tests_name("serve/log", tests, NULL, NULL);
}
