/* Memory for keys and for noise drawn ahead: locked if the system allows it, left out of core dumps, all zero in a
 * forked child, and wiped before it is freed. */
#ifndef TC_NOISE_SECRET_H
#define TC_NOISE_SECRET_H

#include "base/arena.h"

#include <stdbool.h>

enum { TC_SECRET_BYTES = 4096 };

typedef struct tc_secret_memory {
    unsigned char *bytes; /* zeroed, released with the arena */
    size_t size;
    bool locked;         /* cannot be swapped out */
    bool wiped_in_child; /* a fork finds it zeroed */
} tc_secret_memory;

tc_secret_memory tc_secret_new(tc_arena *arena); /* TC_SECRET_BYTES */
/* As many bytes as are needed. */
tc_secret_memory tc_secret_sized(tc_arena *arena, size_t size);
/* Whether the system's limits allow so much to be locked now. */
bool tc_secret_can_lock(size_t size);

/* Zeroes, also where a compiler would optimise it away. */
void tc_secret_wipe(void *bytes, size_t size);

#endif
