#include "release/release.h"

#include "release/inside.h"

tc_status tc_states_mac(const tc_private_states *states, const tc_random *random, uint64_t round,
                        unsigned char mac[TC_MAC_BYTES]) {
    return tc_random_mac(random, "tacit states 1", round, states->units, states->model->state_count, mac);
}
