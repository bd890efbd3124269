/* Keys and certificates: ECDSA on P-256, which every TLS library has, with the extensions that mutual TLS 1.3 needs. */
#ifndef TC_NET_CERTIFICATE_H
#define TC_NET_CERTIFICATE_H

#include "base/buffer.h"

#include <openssl/x509.h>
#include <stdbool.h>
#include <time.h>

typedef enum tc_certificate_kind {
    TC_CERTIFICATE_AUTHORITY,
    TC_CERTIFICATE_CLOUD,
    TC_CERTIFICATE_AGENT,
} tc_certificate_kind;

/* A certificate and its key, both of the arena. key is NULL where only the certificate was asked for. */
typedef struct tc_credential {
    X509 *certificate;
    EVP_PKEY *key;
} tc_credential;

typedef struct tc_certificate_wish {
    tc_certificate_kind kind;
    const char *label;        /* the subject's common name, cut to 64 bytes */
    const char *const *names; /* agents; of kind AGENT only */
    size_t name_count;
    time_t from, until;
} tc_certificate_wish;

/* A new key and a certificate for it, signed by the authority, or by itself where authority is NULL. It does not
 * outlast the authority. TC_NO_RANDOM, TC_INTERNAL. */
tc_status tc_certificate_make(tc_arena *arena, const tc_certificate_wish *wish, const tc_credential *authority,
                              tc_credential *made) TC_MUST_USE;

/* PEM: the certificate, and after it the key where there is one. */
tc_status tc_certificate_write(tc_arena *arena, const char *path, const tc_credential *credential,
                               tc_buffer *messages) TC_MUST_USE;
/* TC_CANNOT_READ; TC_BAD_USAGE where it is not such a file, or the key is another's, or an open file holds a key. */
tc_status tc_certificate_read(tc_arena *arena, const char *path, bool with_key, tc_buffer *messages,
                              tc_credential *read) TC_MUST_USE;

/* The time from and until which it holds. */
bool tc_certificate_span(const X509 *certificate, time_t *from, time_t *until) TC_MUST_USE;

#endif
