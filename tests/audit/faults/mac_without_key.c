/* What identifies a round's input is a plain hash: whoever guesses the states can check the guess. */
#include "release/release.h"
#include "release/inside.h"

#include <openssl/evp.h>

tc_status tc_states_mac(const tc_private_states *states, const tc_random *random, uint64_t round,
                        unsigned char mac[TC_MAC_BYTES]) {
    (void)random;
    (void)round;
    return EVP_Digest(states->units, states->model->state_count * sizeof *states->units, mac, NULL, EVP_sha256(),
                      NULL) == 1
               ? TC_OK
               : TC_INTERNAL;
}
