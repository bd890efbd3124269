/* The last rank's numbers are missing in every sum. Linked with --wrap=tc_ranks_sum. */
#include "base/ranks/ranks.h"

#include <string.h>

void __real_tc_ranks_sum(uint64_t *numbers, size_t count);
void __wrap_tc_ranks_sum(uint64_t *numbers, size_t count);

void __wrap_tc_ranks_sum(uint64_t *numbers, size_t count) {
    if (tc_ranks_several() && tc_ranks_mine() + 1 == tc_ranks_count())
        memset(numbers, 0, count * sizeof *numbers);
    __real_tc_ranks_sum(numbers, count);
}
