/* Noise is never below zero. */
#include "spoil.h"

static void spoil(uint64_t first, size_t count, int64_t *noise) {
    (void)first;
    for (size_t i = 0; i < count; i++)
        noise[i] = noise[i] < 0 ? -noise[i] : noise[i];
}
