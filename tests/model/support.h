/* A problem text, loaded in a folder of its own: files can be put beside it, and messages say just "p.tacit". */
#ifndef TC_TESTS_MODEL_SUPPORT_H
#define TC_TESTS_MODEL_SUPPORT_H

#include "model/model.h"
#include "support/cmocka.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct bench {
    tc_arena *arena;
    tc_buffer messages;
    tc_model *model;
    tc_status status;
} bench;

static char bench_folder[64];

static inline int enter_folder(void **state) {
    (void)state;
    (void)snprintf(bench_folder, sizeof bench_folder, "/tmp/tacit-test-XXXXXX");
    return mkdtemp(bench_folder) == NULL || chdir(bench_folder) != 0;
}

static inline void remove_all(const char *path) {
    DIR *folder = opendir(path);
    if (folder == NULL) {
        (void)remove(path);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char inner[1400];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        (void)snprintf(inner, sizeof inner, "%.1000s/%.255s", path, entry->d_name);
        remove_all(inner);
    }
    (void)closedir(folder);
    (void)rmdir(path);
}

static inline int leave_folder(void **state) {
    (void)state;
    if (chdir("/") != 0)
        return 1;
    remove_all(bench_folder);
    return 0;
}

static inline void put_file(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static inline bench bench_new(void) {
    bench b = {.arena = tc_arena_new((size_t)1 << 30)};
    assert_non_null(b.arena);
    b.messages = tc_buffer_new(b.arena, 1 << 20);
    return b;
}

static inline bench load_bytes(const char *text, size_t length) {
    bench b = bench_new();
    b.status = tc_model_parse(b.arena, "p.tacit", text, length, NULL, &b.messages, &b.model);
    return b;
}

static inline bench load_path(const char *path) {
    bench b = bench_new();
    b.status = tc_model_load(b.arena, path, NULL, &b.messages, &b.model);
    return b;
}

static inline const char *messages_of(bench *b) { return b->messages.length > 0 ? b->messages.text : ""; }

/* Loads, and fails the test with the messages where that fails. */
static inline bench load_good(const char *text) {
    bench b = load_bytes(text, strlen(text));
    if (b.status != TC_OK)
        print_error("%s", messages_of(&b));
    assert_int_equal(b.status, TC_OK);
    assert_string_equal(messages_of(&b), "");
    return b;
}

static inline void bench_free(bench *b) { tc_arena_free(b->arena); }

/* The whole of what is said about a wrong text. */
static inline void expect_messages(const char *text, const char *messages) {
    bench b = load_bytes(text, strlen(text));
    assert_string_equal(messages_of(&b), messages);
    assert_int_equal(b.status, TC_BAD_PROBLEM);
    assert_null(b.model);
    bench_free(&b);
}

/* That the first error is this, wherever. */
static inline void expect_error(const char *text, const char *part) {
    bench b = load_bytes(text, strlen(text));
    assert_int_equal(b.status, TC_BAD_PROBLEM);
    if (strstr(messages_of(&b), part) == NULL) {
        print_error("expected: %s\nfound: %s", part, messages_of(&b));
        fail();
    }
    bench_free(&b);
}

#endif
