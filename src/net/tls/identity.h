/* Whom a certificate names. An agent's carries, among its alternative names, one URI for each agent that it may speak
 * for: "tacit:agent:" and the agent's name, every byte but letters, digits and -._~ as %XX. The cloud's carries the DNS
 * name cloud.tacit.internal, wherever the cloud lives: the authority serves one operator's runs and nothing else. */
#ifndef TC_NET_IDENTITY_H
#define TC_NET_IDENTITY_H

#include "base/buffer.h"

#include <openssl/x509v3.h>
#include <stdbool.h>

#define TC_CLOUD_HOST "cloud.tacit.internal"

enum { TC_MOST_CERTIFICATE_NAMES = 1000 }; /* keeps a chain well below OpenSSL's limit of 100 KiB */

/* The URI of an agent. */
void tc_identity_uri(tc_buffer *out, const char *name);

typedef struct tc_identity tc_identity;

/* The agents that a certificate names: none for one that is not an agent's, or whose URIs are not well-formed. NULL
 * where memory is out. Free with tc_identity_free. */
tc_identity *tc_identity_new(const X509 *certificate) TC_MUST_USE;
void tc_identity_free(tc_identity *identity);

size_t tc_identity_count(const tc_identity *identity);
const char *tc_identity_name(const tc_identity *identity, size_t i); /* in the order of strcmp */
bool tc_identity_has(const tc_identity *identity, const char *name, size_t length);

#endif
