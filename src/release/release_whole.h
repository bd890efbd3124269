/* A round at once, where all of it is small: flat lists instead of blocks for agents that are alone in their family,
 * and for what is known once all sums are. Families of more members go through their blocks. */
#ifndef TC_PRIVACY_RELEASE_WHOLE_H
#define TC_PRIVACY_RELEASE_WHOLE_H

#include "release/release_parts.h"

/* NULL where the round is not small: by public structure alone. */
tc_whole *tc_whole_new(tc_arena *arena, tc_release *release);

/* With the noise of the open round drawn. */
tc_status tc_whole_release(tc_release *release, const tc_private_states *states, tc_released *released) TC_MUST_USE;

/* Private numbers of the round. */
void tc_whole_wipe(tc_release *release);

#endif
