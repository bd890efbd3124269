/* Keys and certificates for mutual TLS 1.3: ECDSA on P-256, which every TLS library has. */
#ifndef TC_NET_TLS_CERTIFICATE_H
#define TC_NET_TLS_CERTIFICATE_H

#include "base/arena.h"

#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <time.h>

typedef enum tc_certificate_kind {
    TC_CERTIFICATE_AUTHORITY,
    TC_CERTIFICATE_CLOUD,
    TC_CERTIFICATE_AGENT,
} tc_certificate_kind;

/* Both belong to the arena. key: NULL if only the certificate was read. */
typedef struct tc_credential {
    X509 *certificate;
    EVP_PKEY *key;
} tc_credential;

typedef struct tc_certificate_wish {
    tc_certificate_kind kind;
    const char *label;        /* the subject's common name, cut to 64 bytes */
    const char *const *names; /* agents; for TC_CERTIFICATE_AGENT only */
    size_t name_count;
    time_t from, until;
} tc_certificate_wish;

/* A new key and a certificate for it, signed by the authority, or self-signed if authority is NULL. It expires with the
 * authority at the latest. TC_NO_RANDOM, TC_INTERNAL. */
tc_status tc_certificate_make(tc_arena *arena, const tc_certificate_wish *wish, const tc_credential *authority,
                              tc_credential *made) TC_MUST_USE;

/* PEM: the certificate, then the key if there is one. */
tc_status tc_certificate_write(tc_arena *arena, const char *path, const tc_credential *credential,
                               tc_buffer *messages) TC_MUST_USE;
/* TC_CANNOT_READ; TC_BAD_USAGE if it is no such file, the key does not fit, or others may read a file with a key. */
tc_status tc_certificate_read(tc_arena *arena, const char *path, bool with_key, tc_buffer *messages,
                              tc_credential *read) TC_MUST_USE;

/* When it begins and expires. */
bool tc_certificate_span(const X509 *certificate, time_t *from, time_t *until) TC_MUST_USE;

/* ---- Who a certificate is for ----
 *
 * An agent's certificate has one URI among its alternative names for each agent that it may speak for: "tacit:agent:"
 * and the agent's name, with every byte but letters, digits and -._~ as %XX. The cloud's has the DNS name
 * cloud.tacit.internal, whatever its address: an authority serves one operator's runs only. */

#define TC_CLOUD_HOST "cloud.tacit.internal"

enum { TC_MOST_CERTIFICATE_NAMES = 1000 }; /* keeps a chain well below OpenSSL's limit of 100 KiB */

void tc_identity_uri(tc_buffer *out, const char *name);

typedef struct tc_identity tc_identity;

/* The agents that a certificate names: none if it is not an agent's or a URI is malformed. NULL: out of memory. Free
 * with tc_identity_free. */
tc_identity *tc_identity_new(const X509 *certificate) TC_MUST_USE;
void tc_identity_free(tc_identity *identity);

size_t tc_identity_count(const tc_identity *identity);
const char *tc_identity_name(const tc_identity *identity, size_t i); /* in the order of strcmp */
bool tc_identity_has(const tc_identity *identity, const char *name, size_t length);

#endif
