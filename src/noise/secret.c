/* madvise and anonymous mappings are not in POSIX. */
#define _DEFAULT_SOURCE
#include "noise/secret.h"

#include <string.h>
#include <sys/mman.h>

/* As fast as memset; the barrier makes the compiler believe that the zeros are read. */
void tc_secret_wipe(void *bytes, size_t size) {
    if (size > 0)
        memset(bytes, 0, size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

typedef struct region {
    void *bytes;
    size_t size;
} region;

static void release(void *what) {
    const region *of = what;
    tc_secret_wipe(of->bytes, of->size);
    (void)munmap(of->bytes, of->size);
}

static void *map(size_t size) {
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

tc_secret_memory tc_secret_sized(tc_arena *arena, size_t size) {
    region *made = TC_NEW(arena, region, 1);
    void *bytes = map(size);
    if (bytes == NULL)
        tc_raise(arena, TC_NO_MEMORY);
    *made = (region){bytes, size};
    tc_arena_on_free(arena, release, made);
    tc_secret_memory secret = {.bytes = bytes, .size = size};
    secret.locked = mlock(bytes, size) == 0;
#ifdef MADV_DONTDUMP
    (void)madvise(bytes, size, MADV_DONTDUMP);
#endif
#ifdef MADV_WIPEONFORK
    secret.wiped_in_child = madvise(bytes, size, MADV_WIPEONFORK) == 0;
#endif
    return secret;
}

tc_secret_memory tc_secret_new(tc_arena *arena) { return tc_secret_sized(arena, TC_SECRET_BYTES); }

bool tc_secret_can_lock(size_t size) {
    void *bytes = map(size);
    if (bytes == NULL)
        return false;
    bool can = mlock(bytes, size) == 0;
    (void)munmap(bytes, size);
    return can;
}
