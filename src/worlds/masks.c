#include "worlds/worlds.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Keys, in JSON, in metrics and in the log, whose values are times or ids. */
static const char *const keys[] = {"now",  "started", "last_round", "rounds_per_second", "seconds",
                                   "time", "run",     "check",      "per_second",        "port"};

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* A key, or a metric of seconds such as tacit_journal_commit_seconds_sum. */
static bool is_masked(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t size = strlen(keys[i]);
        if (length == size && memcmp(name, keys[i], size) == 0)
            return true;
    }
    for (size_t i = 0; length > 6 && memcmp(name, "tacit_", 6) == 0 && i + 7 <= length; i++)
        if (memcmp(name + i, "seconds", 7) == 0)
            return true;
    return false;
}

/* Where a value ends: a string at its quote, anything else before a blank, a comma or a brace. */
static const char *end_of_value(const char *at) {
    if (*at == '"') {
        for (at++; *at != '\0' && *at != '"' && *at != '\n'; at++)
            continue;
        return *at == '"' ? at + 1 : at;
    }
    return at + strcspn(at, " ,}\n\r");
}

/* 2026-11-16T07:14:50.123Z, and a date alone. */
static size_t length_of_date(const char *at) {
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    size_t i = 0;
    for (; form[i] != '\0'; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)at[i]) : at[i] != form[i])
            break;
    if (i < 10)
        return 0;
    if (form[i] != '\0')
        return 10;
    while (isdigit((unsigned char)at[i]) || at[i] == '.' || at[i] == 'Z')
        i++;
    return i;
}

/* 32 hexadecimal digits: the plan's hash has 64. */
static bool is_run_id(const char *at, size_t length) {
    for (size_t i = 0; length == 32 && i < length; i++)
        if (!isxdigit((unsigned char)at[i]))
            return false;
    return length == 32;
}

/* Where the value behind a name begins: "name": value, name=value, name{labels} value, name value. NULL: no value. */
static const char *value_of(const char *name, size_t length, bool is_quoted, bool is_first) {
    const char *at = name + length + (is_quoted ? 1 : 0);
    if (is_quoted)
        return *at == ':' ? at + 1 + strspn(at + 1, " ") : NULL;
    if (*at == '=')
        return at + 1;
    if (is_first && *at == '{') {
        at += strcspn(at, "}\n");
        return *at == '}' ? at + 1 + strspn(at + 1, " ") : NULL;
    }
    return is_first && *at == ' ' ? at + 1 : NULL;
}

static void mask_line(tc_buffer *out, const char *line, const char *end) {
    for (const char *at = line; at < end;) {
        size_t date = length_of_date(at), length = 0;
        if (date > 0) {
            tc_buffer_puts(out, "TIME");
            at += date;
            continue;
        }
        if (strncmp(at, "127.0.0.1:", 10) == 0) {
            tc_buffer_puts(out, "LOOPBACK");
            for (at += 10; isdigit((unsigned char)*at); at++)
                continue;
            continue;
        }
        if (!is_word(*at) || (at > line && is_word(at[-1]))) {
            tc_buffer_add(out, at++, 1);
            continue;
        }
        while (is_word(at[length]))
            length++;
        if (is_run_id(at, length)) {
            tc_buffer_puts(out, "ID");
            at += length;
            continue;
        }
        bool is_quoted = at > line && at[-1] == '"' && at[length] == '"';
        const char *value = value_of(at, length, is_quoted, at == line);
        tc_buffer_add(out, at, length);
        if (value != NULL && is_masked(at, length)) {
            tc_buffer_puts(out, is_quoted ? "\":MASKED" : "=MASKED");
            at = end_of_value(value);
        } else {
            at += length;
        }
    }
}

static const char *without(tc_arena *arena, const char *text, const char *folder) {
    tc_buffer out = tc_buffer_new(arena, (size_t)1 << 34);
    for (const char *at = text, *found; *at != '\0'; at = found + strlen(folder)) {
        found = strstr(at, folder);
        if (found == NULL) {
            tc_buffer_puts(&out, at);
            break;
        }
        tc_buffer_add(&out, at, (size_t)(found - at));
    }
    return tc_buffer_text(&out);
}

/* A metric that appears with the first second: whether it is there depends on the clock. */
static bool is_time_metric(const char *line, const char *end) {
    static const char name[] = "_time_seconds";
    const char *found = strstr(line, name);
    return found != NULL && found < end && (strncmp(line, "tacit_", 6) == 0 || strncmp(line, "# ", 2) == 0);
}

const char *tc_mask_text(tc_arena *arena, const char *text, const char *folder) {
    tc_buffer out = tc_buffer_new(arena, (size_t)1 << 34);
    text = without(arena, text, folder);
    while (*text != '\0') {
        const char *end = text + strcspn(text, "\n");
        if (is_time_metric(text, end)) {
            text = *end == '\n' ? end + 1 : end;
            continue;
        }
        if (strncmp(text, "Date: ", 6) == 0 || strncmp(text, "Content-Length: ", 16) == 0)
            tc_buffer_puts(&out, "MASKED");
        else
            mask_line(&out, text, end);
        if (*end == '\n')
            tc_buffer_puts(&out, "\n");
        text = *end == '\n' ? end + 1 : end;
    }
    return tc_buffer_text(&out);
}

static bool is_left_out(const char *line, size_t length, bool has_many) {
    static const char *const by_clock[] = {" progress: "}, *const crowded[] = {
                                                               " enrolled: ", " left: ", " told: ", " left-out: "};
    for (size_t i = 0; i < 1 + (has_many ? 4u : 0u); i++) {
        const char *word = i == 0 ? by_clock[0] : crowded[i - 1];
        for (size_t at = 0; at + strlen(word) <= length && at < 64; at++)
            if (memcmp(line + at, word, strlen(word)) == 0)
                return true;
    }
    return false;
}

const char *tc_mask_log(tc_arena *arena, const char *text, bool has_many) {
    tc_buffer out = tc_buffer_new(arena, (size_t)1 << 34);
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (!is_left_out(text, length, has_many)) {
            tc_buffer_add(&out, text, length);
            tc_buffer_puts(&out, "\n");
        }
        text += length + (text[length] == '\n');
    }
    return tc_buffer_text(&out);
}
