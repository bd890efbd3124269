/* Ranks run out of memory: those whose digits are in TACIT_FAIL_RANKS, from their allocation number TACIT_FAIL_AT on,
 * or with TACIT_FAIL_ONCE at that one alone. At 0 none fails, and each says at its end how many there were. Linked with
 * --wrap=malloc and --wrap=calloc. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static atomic_long calls;

static void say_calls(void) { (void)fprintf(stderr, "allocations: %ld\n", atomic_load(&calls)); }

static bool fails(void) {
    const char *ranks = getenv("TACIT_FAIL_RANKS"), *at = getenv("TACIT_FAIL_AT"),
               *mine = getenv("OMPI_COMM_WORLD_RANK");
    if (ranks == NULL || at == NULL || mine == NULL || strstr(ranks, mine) == NULL)
        return false;
    long call = atomic_fetch_add(&calls, 1) + 1, first = strtol(at, NULL, 10);
    if (call == 1 && first == 0)
        (void)atexit(say_calls);
    return first > 0 && (getenv("TACIT_FAIL_ONCE") == NULL ? call >= first : call == first);
}

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
