/* Every draw of noise is half of what it should be. */
#include "spoil.h"

static void spoil(uint64_t first, size_t count, int64_t *noise) {
    (void)first;
    for (size_t i = 0; i < count; i++)
        noise[i] /= 2;
}
