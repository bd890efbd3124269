/* Keys and certificates for mutual TLS 1.3: ECDSA on P-256, which every TLS library has. The functions on one
 * certificate are in certificate.c, those on a folder of them in authority.c. */
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

typedef struct tc_identity tc_identity;

/* The agents that a certificate names: none if it is not an agent's or a URI is malformed. NULL: out of memory. Free
 * with tc_identity_free. */
tc_identity *tc_identity_new(const X509 *certificate) TC_MUST_USE;
void tc_identity_free(tc_identity *identity);

size_t tc_identity_count(const tc_identity *identity);
const char *tc_identity_name(const tc_identity *identity, size_t i); /* in the order of strcmp */
bool tc_identity_has(const tc_identity *identity, const char *name, size_t length);

/* ---- The folder of keys, as `tacit keys` keeps it ----
 *
 *     FOLDER/authority/identity.pem       the authority's certificate and key: stays on the machine that issues
 *     FOLDER/cloud/authority.pem          one folder for each party, to be copied to its machine:
 *     FOLDER/cloud/identity.pem           the authority it trusts, its own certificate and key
 *     FOLDER/agents/LABEL/authority.pem
 *     FOLDER/agents/LABEL/identity.pem
 *
 * Folders have mode 0700, files 0600. Certificate and key share a file, so a renewal replaces both or neither. */

enum { TC_AUTHORITY_DAYS = 3650, TC_PARTY_DAYS = 365 };

typedef struct tc_authority_settings {
    int authority_days, party_days; /* 0: as above */
    time_t now;                     /* 0: the system's clock */
} tc_authority_settings;

/* A new authority and the cloud's certificate. TC_BAD_USAGE if the folder already has an authority. */
tc_status tc_authority_init(tc_arena *arena, const char *folder, const tc_authority_settings *settings,
                            tc_buffer *messages) TC_MUST_USE;

/* One certificate that names all these agents. label: its folder's name; NULL: made from the first name. TC_BAD_USAGE
 * if the label is taken, or a name is empty, too long, or given twice. */
tc_status tc_authority_issue(tc_arena *arena, const char *folder, const char *label, const char *const *names,
                             size_t count, const tc_authority_settings *settings, tc_buffer *messages) TC_MUST_USE;

/* One certificate for each agent. Checks all before it makes the first. */
tc_status tc_authority_issue_each(tc_arena *arena, const char *folder, const char *const *names, size_t count,
                                  const tc_authority_settings *settings, tc_buffer *messages) TC_MUST_USE;

/* New keys and certificates with the same names, for the party of this label ("cloud": the cloud) or for all (NULL).
 * Skips certificates that are not in the last third of their life, unless all_of_them. *renewed: how many. */
tc_status tc_authority_renew(tc_arena *arena, const char *folder, const char *label, bool all_of_them,
                             const tc_authority_settings *settings, tc_buffer *messages, size_t *renewed) TC_MUST_USE;

#endif
