/* The largest number of the first rank is taken for that of all. Linked with --wrap=tc_largest_of. */
#include "base/ranks/ranks.h"
#include "model/spread.h"

double __wrap_tc_largest_of(const tc_family *family, double here);

double __wrap_tc_largest_of(const tc_family *family, double here) {
    if (family->is_spread)
        tc_ranks_broadcast(&here, sizeof here, 0);
    return here;
}
