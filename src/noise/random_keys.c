#include "noise/random_keys.h"
#include "noise/secret.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <string.h>
#include <sys/random.h>

bool tc_master_key(unsigned char master[TC_KEY_BYTES]) {
    size_t have = 0;
    while (have < TC_KEY_BYTES) {
        ssize_t more = getrandom(master + have, TC_KEY_BYTES - have, 0);
        if (more < 0 && errno != EINTR)
            return false;
        if (more > 0)
            have += (size_t)more;
    }
    return true;
}

bool tc_run_key(const unsigned char master[TC_KEY_BYTES], const void *run_id, size_t run_id_length,
                const unsigned char plan_hash[TC_PLAN_HASH_BYTES], const char *label,
                unsigned char run_key[TC_KEY_BYTES]) {
    /* OpenSSL reads these through pointers to non-const. */
    char digest[] = "SHA256";
    unsigned char key[TC_KEY_BYTES];
    unsigned char salt[256];
    unsigned char info[64 + TC_PLAN_HASH_BYTES];
    size_t label_length = strlen(label);
    if (run_id_length > sizeof salt || label_length > 64)
        return false;
    memcpy(key, master, sizeof key);
    if (run_id_length > 0)
        memcpy(salt, run_id, run_id_length);
    memcpy(info, label, label_length);
    memcpy(info + label_length, plan_hash, TC_PLAN_HASH_BYTES);
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key, sizeof key),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt, run_id_length),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, label_length + TC_PLAN_HASH_BYTES),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF *algorithm = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = algorithm == NULL ? NULL : EVP_KDF_CTX_new(algorithm);
    bool good = context != NULL && EVP_KDF_derive(context, run_key, TC_KEY_BYTES, parameters) == 1;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(algorithm);
    tc_secret_wipe(key, sizeof key);
    return good;
}

bool tc_ratchet(EVP_CIPHER_CTX *cipher, unsigned char chain_and_round_key[2 * TC_KEY_BYTES]) {
    static const unsigned char blocks[2 * TC_KEY_BYTES] =
        "tacit: chain  0\0tacit: chain  1\0tacit: round  0\0tacit: round  1";
    int length = 0;
    bool good = EVP_EncryptInit_ex(cipher, NULL, NULL, chain_and_round_key, NULL) == 1 &&
                EVP_EncryptUpdate(cipher, chain_and_round_key, &length, blocks, sizeof blocks) == 1 &&
                length == (int)sizeof blocks;
    /* Sets another key at once: the expanded chain key must not stay in OpenSSL's own memory, which is not locked. */
    return EVP_EncryptInit_ex(cipher, NULL, NULL, chain_and_round_key + TC_KEY_BYTES, NULL) == 1 && good;
}

/* ---- what identifies an input ------------------------------------------------------------------------------------ */

static void to_bytes(uint64_t number, unsigned char bytes[8]) {
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
}

static bool add_words(EVP_MAC_CTX *context, const int64_t *words, size_t count) {
    unsigned char bytes[64 * 8];
    bool good = true;
    for (size_t at = 0; good && at < count; at += 64) {
        size_t now = count - at < 64 ? count - at : 64;
        for (size_t i = 0; i < now; i++)
            to_bytes((uint64_t)words[at + i], bytes + 8 * i);
        good = EVP_MAC_update(context, bytes, 8 * now) == 1;
    }
    tc_secret_wipe(bytes, sizeof bytes);
    return good;
}

EVP_MAC_CTX *tc_mac_new(void) {
    char digest[] = "SHA256"; /* OpenSSL reads it through a pointer to non-const */
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                     OSSL_PARAM_construct_end()};
    EVP_MAC *algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = algorithm == NULL ? NULL : EVP_MAC_CTX_new(algorithm);
    EVP_MAC_free(algorithm);
    if (context != NULL && EVP_MAC_CTX_set_params(context, parameters) == 1)
        return context;
    EVP_MAC_CTX_free(context);
    return NULL;
}

bool tc_mac_words(EVP_MAC_CTX *context, const unsigned char key[TC_KEY_BYTES], const char *label, uint64_t number,
                  const int64_t *words, size_t count, unsigned char mac[TC_KEY_BYTES]) {
    static const unsigned char no_key[TC_KEY_BYTES];
    unsigned char round[8];
    size_t length = 0;
    to_bytes(number, round);
    bool good = EVP_MAC_init(context, key, TC_KEY_BYTES, NULL) == 1 &&
                EVP_MAC_update(context, (const unsigned char *)label, strlen(label)) == 1 &&
                EVP_MAC_update(context, round, sizeof round) == 1 && add_words(context, words, count) &&
                EVP_MAC_final(context, mac, &length, TC_KEY_BYTES) == 1 && length == TC_KEY_BYTES;
    /* The key must not stay in OpenSSL's own memory, which is not locked. */
    return EVP_MAC_init(context, no_key, TC_KEY_BYTES, NULL) == 1 && good;
}
