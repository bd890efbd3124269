/* Allocations that fail from the n-th on. A test that includes this is linked with --wrap for malloc, calloc and
 * realloc, and for those of arenas: an arena asks malloc for chunks only, so most of its allocations would never fail.
 */
#ifndef TACIT_TESTS_SUPPORT_FAILING_H
#define TACIT_TESTS_SUPPORT_FAILING_H

#include "base/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__real_tc_arena_alloc(tc_arena *arena, size_t count, size_t size);
void *__wrap_tc_arena_alloc(tc_arena *arena, size_t count, size_t size);
void *__real_tc_arena_room(tc_arena *arena, size_t count, size_t size);
void *__wrap_tc_arena_room(tc_arena *arena, size_t count, size_t size);

typedef enum allocator { MALLOC, ARENA } allocator;

static allocator failing;          /* whose allocations fail */
static atomic_long countdown = -1; /* allocations that still succeed; -1: all */
static atomic_bool has_failed;

static bool fails(allocator which) {
    if (which != failing || atomic_load(&countdown) < 0)
        return false;
    if (atomic_load(&countdown) > 0) {
        atomic_fetch_sub(&countdown, 1);
        return false;
    }
    atomic_store(&has_failed, true); /* no memory from here on */
    return true;
}

void *__wrap_malloc(size_t size) { return fails(MALLOC) ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails(MALLOC) ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *old, size_t size) { return fails(MALLOC) ? NULL : __real_realloc(old, size); }

void *__wrap_tc_arena_alloc(tc_arena *arena, size_t count, size_t size) {
    if (fails(ARENA))
        tc_raise(arena, TC_NO_MEMORY);
    return __real_tc_arena_alloc(arena, count, size);
}

void *__wrap_tc_arena_room(tc_arena *arena, size_t count, size_t size) {
    if (fails(ARENA))
        tc_raise(arena, TC_NO_MEMORY);
    return __real_tc_arena_room(arena, count, size);
}

#endif
