#include "base/ranks/ranks.h"

/* floor(blocks rank / ranks) without a product that is too large. */
static size_t share_begins(size_t blocks, size_t rank, size_t ranks) {
    return blocks / ranks * rank + blocks % ranks * rank / ranks;
}

void tc_ranks_share_of(size_t list, size_t blocks, size_t rank, size_t ranks, size_t *first, size_t *end) {
    if (blocks == 1) {
        *first = 0;
        *end = list % ranks == rank;
        return;
    }
    *first = share_begins(blocks, rank, ranks);
    *end = share_begins(blocks, rank + 1, ranks);
}

void tc_ranks_share(size_t list, size_t blocks, size_t *first, size_t *end) {
    tc_ranks_share_of(list, blocks, tc_ranks_mine(), tc_ranks_count(), first, end);
}
