/* Agents in pairs get the same noise. */
#include "spoil.h"

static int64_t before[1 << 16];

static void spoil(uint64_t first, size_t count, int64_t *noise) {
    for (size_t i = 0; i < count && first + i < sizeof before / sizeof before[0]; i++) {
        if ((first + i) % 2 == 1)
            noise[i] = before[first + i - 1];
        before[first + i] = noise[i];
    }
}
