/* All entries of a round share two words of the random source. */
#define tc_random_bulk honest_random_bulk
#include "noise/random.c"
#undef tc_random_bulk

tc_status tc_random_bulk(tc_random_worker *worker, uint64_t first, size_t count, uint64_t *words);
tc_status tc_random_bulk(tc_random_worker *worker, uint64_t first, size_t count, uint64_t *words) {
    uint64_t shared[2];
    tc_status status = honest_random_bulk(worker, 0, 2, shared);
    for (size_t i = 0; i < count; i++)
        words[i] = shared[(first + i) % 2];
    return status;
}
