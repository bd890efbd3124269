/* One rank runs out of memory: TACIT_FAIL_RANK, from its allocation number TACIT_FAIL_AT on. Linked with --wrap=malloc
 * and --wrap=calloc. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool fails(void) {
    static atomic_long calls;
    const char *rank = getenv("TACIT_FAIL_RANK"), *at = getenv("TACIT_FAIL_AT"), *mine = getenv("OMPI_COMM_WORLD_RANK");
    if (rank == NULL || at == NULL || mine == NULL || strcmp(rank, mine) != 0)
        return false;
    return atomic_fetch_add(&calls, 1) + 1 >= strtol(at, NULL, 10);
}

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
