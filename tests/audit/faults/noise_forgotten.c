/* One entry that varies gets no noise. */
#include "spoil.h"

static void spoil(uint64_t first, size_t count, int64_t *noise) {
    const uint64_t forgotten = 5;
    if (first <= forgotten && forgotten - first < count)
        noise[forgotten - first] = 0;
}
