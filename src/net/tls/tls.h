/* TLS of both sides: version 1.3 only, mutual, certificates of one authority, no resumption, no early data. The cloud
 * accepts agents' certificates, an agent accepts the cloud's. Both speak the protocol "tacit/1" only. */
#ifndef TC_NET_TLS_TLS_H
#define TC_NET_TLS_TLS_H

#include "net/tls/certificate.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define TC_TLS_PROTOCOL "tacit/1"

/* folder: has authority.pem and identity.pem (certificate.h). The caller frees *context with SSL_CTX_free, at any time:
 * connections hold their own reference. TC_CANNOT_READ, also if the certificate is not valid yet or has expired;
 * TC_BAD_USAGE if it is not the cloud's (an agent's), or not of this authority. */
tc_status tc_tls_cloud(tc_arena *arena, const char *folder, tc_buffer *messages, SSL_CTX **context) TC_MUST_USE;
tc_status tc_tls_agent(tc_arena *arena, const char *folder, tc_buffer *messages, SSL_CTX **context) TC_MUST_USE;

/* *is_early: the certificate is not valid yet by this machine's clock, which may not have been set. */
tc_status tc_tls_agent_or_early(tc_arena *arena, const char *folder, tc_buffer *messages, SSL_CTX **context,
                                bool *is_early) TC_MUST_USE;

/* When the context's own certificate expires. */
time_t tc_tls_expiry(SSL_CTX *context);

/* A new connection on a descriptor. NULL: out of memory. */
SSL *tc_tls_accept(SSL_CTX *context, int descriptor) TC_MUST_USE;
SSL *tc_tls_connect(SSL_CTX *context, int descriptor) TC_MUST_USE;

/* Checks after the handshake what OpenSSL has not checked. NULL, or why the peer is refused. */
const char *tc_tls_refuse(SSL *connection);

/* Call before each operation whose result goes to SSL_get_error: that function reads the thread's error queue, and
 * errors of other connections must not end this one. */
void tc_tls_forget_errors(void);

/* SSL_read_ex for the cloud: wipes what it hands out in OpenSSL's buffer, and frees the buffer once it is empty,
 * without wiping all 16 KiB for a state of a few bytes. */
bool tc_tls_read(SSL *connection, void *bytes, size_t room, size_t *got);

/* Why the last operation failed ("certificate has expired"), from OpenSSL's error queue, which it empties. Valid until
 * the next call in this thread. */
const char *tc_tls_failure(SSL *connection);

/* ---- The BIO below OpenSSL ----
 *
 * It calls recv and send. OpenSSL's own socket BIO raises SIGPIPE when the peer is gone, and calls read and write,
 * which cost more on a socket.
 *
 * One call of OpenSSL reads until it has data for its caller. A peer that sends only records without data (key updates,
 * empty records, warnings) could keep it reading forever. So each call may read a limited number of bytes, and records
 * without data ("hollow" below) are counted. */

enum {
    TC_SOCKET_TURN = 32 * 1024,       /* bytes that one call may read: two of the longest records */
    TC_SOCKET_MOST_HOLLOW = 64,       /* records without data in a burst; one more each second */
    TC_SOCKET_MOST_SHAKE = 256 * 1024 /* bytes of a handshake: OpenSSL accepts 100 KiB of certificates */
};

typedef struct tc_held { /* bytes that do not leave yet */
    unsigned char *bytes;
    size_t size, room;
} tc_held;

typedef struct tc_socket {
    const int *descriptor;
    tc_held *held;    /* where written bytes go instead of the network; NULL: nowhere */
    size_t left;      /* bytes that this call may still read */
    uint64_t got;     /* bytes read so far */
    int error;        /* errno that ended the connection; 0 for none */
    unsigned records; /* encrypted records since the last tc_socket_is_hollow */
    unsigned hollow;  /* those without data, minus one for each second */
    time_t hollow_at;
} tc_socket;

/* NULL: out of memory. Free with BIO_meth_free, after all connections that use it. */
BIO_METHOD *tc_socket_bio_method(void) TC_MUST_USE;

/* Makes the connection use the socket. socket and descriptor stay the caller's. False: out of memory. */
bool tc_socket_bio_set(SSL *connection, const BIO_METHOD *method, tc_socket *socket, const int *descriptor) TC_MUST_USE;

/* Renews the allowance of bytes; before each call of OpenSSL that may read. */
void tc_socket_turn(tc_socket *socket);
/* After the handshake: starts counting records. */
void tc_socket_opened(tc_socket *socket);
/* After each read of an open connection: whether too many records had no data. */
bool tc_socket_is_hollow(tc_socket *socket, bool has_data);
/* During the handshake. */
static inline bool tc_socket_is_long(const tc_socket *socket) { return socket->got > TC_SOCKET_MOST_SHAKE; }

/* Why the last operation failed: the system's words, or tc_tls_failure. */
const char *tc_socket_failure(const tc_socket *socket, SSL *connection);

#define TC_SOCKET_HOLLOW "too many records without data, such as key updates"
#define TC_SOCKET_LONG "the handshake has too many bytes"

#endif
