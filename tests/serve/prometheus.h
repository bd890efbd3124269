/* Readers of what the cloud's pages are written in, from the descriptions of the formats: Prometheus' text format 0.0.4
 * with its conventions for names, and whether a text is JSON (RFC 8259). */
#ifndef TC_TESTS_SERVE_PROMETHEUS_H
#define TC_TESTS_SERVE_PROMETHEUS_H

#include "support/cmocka.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAMILIES = 64, MOST_SAMPLES = 512, MOST_LABELS = 8 };

typedef struct prometheus {
    size_t family_count, sample_count;
    struct {
        char name[96], type[16];
        bool has_help;
    } families[MOST_FAMILIES];
    struct {
        char name[96], label_names[MOST_LABELS][32], label_values[MOST_LABELS][128];
        size_t label_count;
        double value;
    } samples[MOST_SAMPLES];
} prometheus;

static inline const char *read_name(const char *at, char *name, size_t room) {
    size_t length = 0;
    assert_true(isalpha((unsigned char)*at) || *at == '_' || *at == ':');
    while (isalnum((unsigned char)at[length]) || at[length] == '_' || at[length] == ':')
        length++;
    assert_true(length < room);
    memcpy(name, at, length);
    name[length] = 0;
    return at + length;
}

static inline bool ends_in(const char *name, const char *suffix) {
    size_t length = strlen(name), tail = strlen(suffix);
    return length >= tail && strcmp(name + length - tail, suffix) == 0;
}

/* # HELP name text, then # TYPE name type, once each, before the samples of the family. */
static inline const char *read_comment(prometheus *found, const char *at) {
    bool is_help = strncmp(at, "# HELP ", 7) == 0;
    char name[96];
    assert_true(is_help || strncmp(at, "# TYPE ", 7) == 0);
    at = read_name(at + 7, name, sizeof name);
    assert_int_equal(*at++, ' ');
    const char *end = strchr(at, '\n');
    assert_true(end > at);
    if (is_help) {
        for (size_t i = 0; i < found->family_count; i++)
            assert_string_not_equal(found->families[i].name, name);
        assert_true(found->family_count < MOST_FAMILIES);
        strcpy(found->families[found->family_count].name, name);
        found->families[found->family_count++].has_help = true;
        return end + 1;
    }
    assert_true(found->family_count > 0);
    size_t last = found->family_count - 1;
    assert_string_equal(found->families[last].name, name);
    assert_string_equal(found->families[last].type, "");
    assert_true((size_t)(end - at) < sizeof found->families[last].type);
    memcpy(found->families[last].type, at, (size_t)(end - at));
    assert_non_null(strstr("counter gauge histogram", found->families[last].type));
    assert_int_equal(strcmp(found->families[last].type, "counter") == 0, ends_in(name, "_total"));
    assert_true(strncmp(name, "tacit_", 6) == 0);
    return end + 1;
}

static inline const char *read_labels(prometheus *found, const char *at) {
    size_t i = found->sample_count;
    for (at++;; at++) {
        size_t n = found->samples[i].label_count++;
        assert_true(n < MOST_LABELS);
        at = read_name(at, found->samples[i].label_names[n], sizeof found->samples[i].label_names[n]);
        assert_true(strncmp(at, "=\"", 2) == 0);
        char *value = found->samples[i].label_values[n];
        for (at += 2; *at != '"'; at++) {
            assert_true(*at != '\n' && *at != 0);
            if (*at == '\\') {
                at++;
                assert_true(*at == 'n' || *at == '"' || *at == '\\');
                *value++ = *at == 'n' ? '\n' : *at;
            } else {
                *value++ = *at;
            }
            assert_true(value < found->samples[i].label_values[n] + sizeof found->samples[i].label_values[n]);
        }
        at++;
        if (*at == '}')
            return at + 1;
        assert_int_equal(*at, ',');
    }
}

/* A sample belongs to the last family, and the same name and labels come once. */
static inline const char *read_sample(prometheus *found, const char *at) {
    size_t i = found->sample_count;
    assert_true(i < MOST_SAMPLES && found->family_count > 0);
    at = read_name(at, found->samples[i].name, sizeof found->samples[i].name);
    if (*at == '{')
        at = read_labels(found, at);
    assert_int_equal(*at++, ' ');
    char *after;
    found->samples[i].value = strtod(at, &after);
    assert_true(after > at && *after == '\n');
    const char *family = found->families[found->family_count - 1].name, *name = found->samples[i].name;
    assert_true(strncmp(name, family, strlen(family)) == 0);
    const char *rest = name + strlen(family);
    bool is_histogram = strcmp(found->families[found->family_count - 1].type, "histogram") == 0;
    assert_true(is_histogram ? strcmp(rest, "_bucket") == 0 || strcmp(rest, "_sum") == 0 || strcmp(rest, "_count") == 0
                             : *rest == 0);
    for (size_t j = 0; j < i; j++) {
        bool same = strcmp(found->samples[j].name, name) == 0;
        for (size_t n = 0; same && n < found->samples[i].label_count; n++)
            same = strcmp(found->samples[j].label_values[n], found->samples[i].label_values[n]) == 0;
        assert_false(same);
    }
    found->sample_count++;
    return after + 1;
}

static inline void prometheus_read(prometheus *found, const char *text) {
    memset(found, 0, sizeof *found);
    while (*text != 0)
        text = *text == '#' ? read_comment(found, text) : read_sample(found, text);
}

static inline double prometheus_value(const prometheus *found, const char *name, const char *label, const char *value) {
    for (size_t i = 0; i < found->sample_count; i++) {
        if (strcmp(found->samples[i].name, name) != 0)
            continue;
        if (label == NULL && found->samples[i].label_count == 0)
            return found->samples[i].value;
        if (label != NULL && strcmp(found->samples[i].label_names[0], label) == 0 &&
            strcmp(found->samples[i].label_values[0], value) == 0)
            return found->samples[i].value;
    }
    fail_msg("there is no %s", name);
    return NAN;
}

/* ---- JSON ---- */

static inline const char *json_blank(const char *at) { return at + strspn(at, " \n\r\t"); }

static inline const char *json_text(const char *at) { /* NULL where it is none */
    for (at++; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at == '\\') {
            at++;
            if (*at == 0 || strchr("\"\\/bfnrtu", *at) == NULL)
                return NULL;
            if (*at == 'u') {
                if (strspn(at + 1, "0123456789abcdefABCDEF") < 4)
                    return NULL;
                at += 4;
            }
        }
    }
    return at + 1;
}

static inline const char *json_value(const char *at, unsigned depth) {
    at = json_blank(at);
    if (*at == '"')
        return json_text(at);
    if (*at == '{' || *at == '[') {
        char close = *at == '{' ? '}' : ']';
        bool is_object = *at == '{';
        at = json_blank(at + 1);
        if (*at == close)
            return at + 1;
        for (;; at = json_blank(at + 1)) {
            if (is_object) {
                at = *at == '"' ? json_text(at) : NULL;
                at = at != NULL ? json_blank(at) : NULL;
                if (at == NULL || *at++ != ':')
                    return NULL;
            }
            at = depth < 32 ? json_value(at, depth + 1) : NULL;
            if (at == NULL)
                return NULL;
            at = json_blank(at);
            if (*at == close)
                return at + 1;
            if (*at != ',')
                return NULL;
        }
    }
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return at + strlen(words[i]);
    }
    if (*at != '-' && !isdigit((unsigned char)*at))
        return NULL;
    char *after;
    (void)strtod(at, &after);
    return after;
}

static inline bool json_is_valid(const char *text) {
    const char *end = json_value(text, 0);
    return end != NULL && *json_blank(end) == 0;
}

#endif
