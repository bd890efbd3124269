/* must not compile: unused-result|warn_unused_result */
#include "attempt.h"

void ignore(tc_release *release, const tc_private_states *states, tc_released *released);
void ignore(tc_release *release, const tc_private_states *states, tc_released *released) {
    tc_release_round(release, 1, states, released);
}
