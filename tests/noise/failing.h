/* A system and an OpenSSL whose calls fail: the n-th one, or it and all later ones. For a program that is linked with
 * --wrap for each of these. */
#ifndef TC_TESTS_NOISE_FAILING_H
#define TC_TESTS_NOISE_FAILING_H

#include <openssl/evp.h>
#include <openssl/kdf.h>

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

static struct { unsigned long calls, first, last; /* those from first to last fail; 0 for none */ } failing;

static inline void fail_calls(unsigned long first, unsigned long last) {
    failing.calls = 0;
    failing.first = first;
    failing.last = last;
}

static inline bool call_fails(void) {
    failing.calls++;
    return failing.first > 0 && failing.calls >= failing.first && failing.calls <= failing.last;
}

#define FAILING(type, otherwise, name, parameters, arguments)                                                          \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters { return call_fails() ? otherwise : __real_##name arguments; }

/* clang-format off */
FAILING(ssize_t, (errno = ENOSYS, -1), getrandom, (void *out, size_t size, unsigned flags), (out, size, flags))
FAILING(EVP_CIPHER_CTX *, NULL, EVP_CIPHER_CTX_new, (void), ())
FAILING(int, 0, EVP_EncryptInit_ex, (EVP_CIPHER_CTX * c, const EVP_CIPHER *type, ENGINE *engine, const unsigned char *key, const unsigned char *iv), (c, type, engine, key, iv))
FAILING(int, 0, EVP_EncryptUpdate, (EVP_CIPHER_CTX * c, unsigned char *out, int *length, const unsigned char *in, int size), (c, out, length, in, size))
FAILING(EVP_KDF *, NULL, EVP_KDF_fetch, (OSSL_LIB_CTX * library, const char *name, const char *properties), (library, name, properties))
FAILING(int, 0, EVP_KDF_derive, (EVP_KDF_CTX * c, unsigned char *key, size_t size, const OSSL_PARAM parameters[]), (c, key, size, parameters))
FAILING(EVP_MAC *, NULL, EVP_MAC_fetch, (OSSL_LIB_CTX * library, const char *name, const char *properties), (library, name, properties))
FAILING(int, 0, EVP_MAC_CTX_set_params, (EVP_MAC_CTX * c, const OSSL_PARAM parameters[]), (c, parameters))
FAILING(int, 0, EVP_MAC_init, (EVP_MAC_CTX * c, const unsigned char *key, size_t size, const OSSL_PARAM parameters[]), (c, key, size, parameters))
FAILING(int, 0, EVP_MAC_update, (EVP_MAC_CTX * c, const unsigned char *data, size_t size), (c, data, size))
FAILING(int, 0, EVP_MAC_final, (EVP_MAC_CTX * c, unsigned char *out, size_t *length, size_t room), (c, out, length, room))
/* clang-format on */

#endif
