/* The largest of the first rank's members is taken for that of all. Linked with --wrap=tc_largest_known. */
#include "base/ranks/ranks.h"
#include "model/spread.h"

void __wrap_tc_largest_known(const tc_family *family, double least, double *largest, size_t *member);

void __wrap_tc_largest_known(const tc_family *family, double least, double *largest, size_t *member) {
    (void)least;
    if (!family->is_spread)
        return;
    tc_ranks_broadcast(largest, sizeof *largest, 0);
    tc_ranks_broadcast(member, sizeof *member, 0);
}
