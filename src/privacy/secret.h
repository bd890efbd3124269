/* A page for keys: locked in memory where the system allows it, left out of core dumps, all zero in a forked child,
 * and wiped before it is given back. */
#ifndef TC_PRIVACY_SECRET_H
#define TC_PRIVACY_SECRET_H

#include "base/arena.h"

#include <stdbool.h>

enum { TC_SECRET_BYTES = 4096 };

typedef struct tc_secret {
    unsigned char *bytes; /* TC_SECRET_BYTES zeroed bytes, released with the arena */
    bool locked;          /* cannot be swapped out */
    bool wiped_in_child;  /* a fork finds it zeroed */
} tc_secret;

tc_secret tc_secret_new(tc_arena *arena);

/* Zeroes, also where a compiler would find it useless. */
void tc_secret_wipe(void *bytes, size_t size);

#endif
