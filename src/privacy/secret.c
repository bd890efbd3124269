/* madvise and anonymous mappings are not in POSIX. */
#define _DEFAULT_SOURCE
#include "privacy/secret.h"

#include <string.h>
#include <sys/mman.h>

/* As fast as memset; the compiler must believe that somebody looks at the zeros. */
void tc_secret_wipe(void *bytes, size_t size) {
    if (size > 0)
        memset(bytes, 0, size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

static void release(void *bytes) {
    tc_secret_wipe(bytes, TC_SECRET_BYTES);
    (void)munmap(bytes, TC_SECRET_BYTES);
}

tc_secret tc_secret_new(tc_arena *arena) {
    void *bytes = mmap(NULL, TC_SECRET_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        tc_raise(arena, TC_NO_MEMORY);
    tc_arena_on_free(arena, release, bytes);
    tc_secret secret = {.bytes = bytes};
    secret.locked = mlock(bytes, TC_SECRET_BYTES) == 0;
#ifdef MADV_DONTDUMP
    (void)madvise(bytes, TC_SECRET_BYTES, MADV_DONTDUMP);
#endif
#ifdef MADV_WIPEONFORK
    secret.wiped_in_child = madvise(bytes, TC_SECRET_BYTES, MADV_WIPEONFORK) == 0;
#endif
    return secret;
}
