/* A folder of keys for a test, removed at its end. */
#ifndef TC_TESTS_NET_KEYS_H
#define TC_TESTS_NET_KEYS_H

#include "net/tls/certificate.h"
#include "net/tls/tls.h"
#include "support/cmocka.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct keys {
    tc_arena *arena;
    tc_buffer messages;
    char folder[64];
} keys;

static inline keys keys_begin(void) {
    keys k = {.arena = tc_arena_new(0)};
    assert_non_null(k.arena);
    k.messages = tc_buffer_new(k.arena, 1 << 16);
    strcpy(k.folder, "/tmp/tacit-keys-XXXXXX");
    assert_non_null(mkdtemp(k.folder));
    return k;
}

static inline const char *keys_path(const keys *k, const char *inside) {
    return tc_arena_format(k->arena, "%s/%s", k->folder, inside);
}

static inline int keys_remove(const char *path, const struct stat *found, int what, struct FTW *where) {
    (void)found;
    (void)what;
    (void)where;
    return remove(path);
}

static inline void keys_end(keys *k) {
    assert_int_equal(nftw(k->folder, keys_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    tc_arena_free(k->arena);
}

static inline void keys_init(keys *k, const tc_authority_settings *settings) {
    assert_int_equal(tc_authority_init(k->arena, k->folder, settings, &k->messages), TC_OK);
}

static inline void keys_issue(keys *k, const char *name, const tc_authority_settings *settings) {
    assert_int_equal(tc_authority_issue(k->arena, k->folder, NULL, &name, 1, settings, &k->messages), TC_OK);
}

#endif
