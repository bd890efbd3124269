/* The noise of every second round is the negative of the round before. */
#include "spoil.h"

static void spoil(uint64_t first, size_t count, int64_t *noise) {
    enum { ROOM = 1000 };
    static int64_t kept[ROOM];
    static bool full[ROOM];
    for (size_t i = 0; i < count && first + i < ROOM; i++) {
        if (full[first + i])
            noise[i] = -kept[first + i];
        kept[first + i] = noise[i];
        full[first + i] = !full[first + i];
    }
}
