/* The two TLS contexts. TLS 1.3 alone, both sides with a certificate of the same authority, no resumption, no early
 * data. The cloud takes clients whose certificate is an agent's, an agent takes the one server whose certificate is the
 * cloud's, and both speak the protocol "tacit/1" and nothing else. */
#ifndef TC_NET_TLS_H
#define TC_NET_TLS_H

#include "base/buffer.h"
#include "net/tls/identity.h"

#include <openssl/ssl.h>
#include <stdbool.h>
#include <time.h>

#define TC_TLS_PROTOCOL "tacit/1"

/* folder: authority.pem and identity.pem (authority.h). *context is the caller's, to give back with SSL_CTX_free; it
 * may be replaced at any time, since connections hold their own reference. TC_CANNOT_READ, also where the certificate
 * is not valid yet or any more; TC_BAD_USAGE where it is not the cloud's (an agent's), or not of this authority. */
tc_status tc_tls_cloud(tc_arena *arena, const char *folder, tc_buffer *messages, SSL_CTX **context) TC_MUST_USE;
tc_status tc_tls_agent(tc_arena *arena, const char *folder, tc_buffer *messages, SSL_CTX **context) TC_MUST_USE;

/* *is_early: the certificate is not valid yet, by this machine's clock, which may have to be set first. */
tc_status tc_tls_agent_or_early(tc_arena *arena, const char *folder, tc_buffer *messages, SSL_CTX **context,
                                bool *is_early) TC_MUST_USE;

/* Until when the context's own certificate holds. */
time_t tc_tls_expiry(SSL_CTX *context);

/* A new connection on a descriptor; NULL where memory is out. */
SSL *tc_tls_accept(SSL_CTX *context, int descriptor) TC_MUST_USE;
SSL *tc_tls_connect(SSL_CTX *context, int descriptor) TC_MUST_USE;

/* After the handshake: what it has not checked by itself. NULL, or why the peer is refused. */
const char *tc_tls_refuse(SSL *connection);

/* Before each call that SSL_get_error judges: it looks at a list of the whole thread, and what others have left there
 * must not end this connection. */
void tc_tls_forget_errors(void);

/* SSL_read_ex of the cloud: what is handed out is wiped in OpenSSL's buffer, and the buffer given back once it is
 * empty, without wiping all 16 KiB of it again for a state of some ten bytes. */
bool tc_tls_read(SSL *connection, void *bytes, size_t room, size_t *got);

/* Why the last operation of a connection failed, from the library's queue of errors, which is emptied: "certificate has
 * expired". Static or valid until the next call of the thread. */
const char *tc_tls_failure(SSL *connection);

#endif
