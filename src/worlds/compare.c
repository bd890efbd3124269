#include "worlds/worlds.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tc_worlds_differ(tc_worlds *w, const char *format, ...) {
    char text[512];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (w->differ_count < TC_WORLDS_TEXTS)
        w->differs[w->differ_count++] = tc_arena_copy(w->arena, text, strlen(text));
}

bool tc_worlds_compare(tc_worlds *w, const char *what, const void *first, size_t first_size, const void *second,
                       size_t second_size) {
    if (first_size != second_size) {
        tc_worlds_differ(w, "%s: its size", what);
        return false;
    }
    w->compared += first_size;
    if (first_size == 0 || memcmp(first, second, first_size) == 0)
        return true;
    tc_worlds_differ(w, "%s", what);
    return false;
}

void tc_worlds_compare_lines(tc_worlds *w, const char *what, const char *first, const char *second) {
    for (size_t line = 1; *first != '\0' || *second != '\0'; line++) {
        size_t length = strcspn(first, "\n"), other = strcspn(second, "\n");
        if (length != other || memcmp(first, second, length) != 0) {
            tc_worlds_differ(w, "%s, line %zu", what, line);
            return; /* those behind it may have moved */
        }
        w->compared += length;
        first += length + (first[length] == '\n');
        second += other + (second[other] == '\n');
    }
}
