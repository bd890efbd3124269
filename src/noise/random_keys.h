/* How keys are derived; docs/proofs/random.md says why this is safe. For random.c and its tests. */
#ifndef TC_NOISE_RANDOM_KEYS_H
#define TC_NOISE_RANDOM_KEYS_H

#include "base/status.h"

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TC_KEY_BYTES = 32, TC_PLAN_HASH_BYTES = 32 };

/* 32 bytes of the system's random source. */
bool tc_master_key(unsigned char master[TC_KEY_BYTES]) TC_MUST_USE;

/* HKDF-SHA256 with the run's name as salt, and label and plan hash as info. */
bool tc_run_key(const unsigned char master[TC_KEY_BYTES], const void *run_id, size_t run_id_length,
                const unsigned char plan_hash[TC_PLAN_HASH_BYTES], const char *label,
                unsigned char run_key[TC_KEY_BYTES]) TC_MUST_USE;

/* A context of HMAC-SHA256 without a key, made once: fetching the algorithm costs more than a short MAC. NULL if memory
 * is out or OpenSSL lacks it. Free with EVP_MAC_CTX_free. */
EVP_MAC_CTX *tc_mac_new(void) TC_MUST_USE;
/* HMAC-SHA256 of label | number | words, numbers of 64 bits with the least significant byte first. The context keeps
 * nothing of the key. */
bool tc_mac_words(EVP_MAC_CTX *context, const unsigned char key[TC_KEY_BYTES], const char *label, uint64_t number,
                  const int64_t *words, size_t count, unsigned char mac[TC_KEY_BYTES]) TC_MUST_USE;

/* One step of the ratchet: (next chain key | round key) = AES-256 of four fixed blocks under the chain key, which is
 * overwritten. The cipher is an AES-256-ECB context; it is left with the round key, and keeps nothing of the chain
 * key. */
bool tc_ratchet(EVP_CIPHER_CTX *cipher, unsigned char chain_and_round_key[2 * TC_KEY_BYTES]) TC_MUST_USE;

#endif
