/* What identifies the states of a round, for a journal: it tells whether two inputs were the same to whoever has the
 * key of the random source, which never leaves the process, and nothing to anybody else. */
#ifndef TC_PRIVACY_RELEASE_MAC_H
#define TC_PRIVACY_RELEASE_MAC_H

#include "release/private.h"
#include "noise/random.h"

/* HMAC-SHA256 over ("tacit states 1", round, all states on the lattice in the order of the model), numbers of 64 bits
 * with the least significant byte first. TC_NO_RANDOM in a forked child; the MAC is then zeros. */
tc_status tc_states_mac(const tc_private_states *states, const tc_random *random, uint64_t round,
                        unsigned char mac[TC_MAC_BYTES]) TC_MUST_USE;

#endif
