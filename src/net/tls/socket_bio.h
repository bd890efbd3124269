/* What OpenSSL reads from and writes to: a socket, by recv and send. OpenSSL's own raises SIGPIPE where the peer has
 * gone, and calls read and write, which cost more on a socket.
 *
 * One call of OpenSSL reads until there is data for its caller. A peer that sends records without data (key updates,
 * empty ones, warnings) could keep it reading for as long as bytes arrive. So each call has an allowance of bytes, and
 * records without data are counted. */
#ifndef TC_NET_SOCKET_BIO_H
#define TC_NET_SOCKET_BIO_H

#include "base/status.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum {
    TC_SOCKET_TURN = 32 * 1024,       /* bytes that one call of OpenSSL may read: two of the longest records */
    TC_SOCKET_MOST_HOLLOW = 64,       /* records without data at once; one more may come each second */
    TC_SOCKET_MOST_SHAKE = 256 * 1024 /* bytes of a handshake: OpenSSL takes 100 KiB of certificates */
};

typedef struct tc_socket {
    const int *descriptor;
    size_t left;      /* of the allowance */
    uint64_t got;     /* bytes in all */
    int error;        /* of the system, that ended it; 0 for none */
    unsigned records; /* whole encrypted ones, since the last look */
    unsigned hollow;  /* those without data, less one for each second */
    time_t hollow_at;
} tc_socket;

/* NULL where memory is out. Free with BIO_meth_free, after all connections that use it. */
BIO_METHOD *tc_socket_bio_method(void) TC_MUST_USE;

/* In place of what the connection has: the socket, which stays the caller's, as does *descriptor. False where memory is
 * out. */
bool tc_socket_bio_set(SSL *connection, const BIO_METHOD *method, tc_socket *socket, const int *descriptor) TC_MUST_USE;

/* Before each call of OpenSSL that may read. */
void tc_socket_turn(tc_socket *socket);
/* After the handshake: what comes from now on is counted. */
void tc_socket_opened(tc_socket *socket);
/* After each read of an open connection: whether too many records have held no data. */
bool tc_socket_is_hollow(tc_socket *socket, bool has_data);
/* Of a handshake that goes on. */
static inline bool tc_socket_is_long(const tc_socket *socket) { return socket->got > TC_SOCKET_MOST_SHAKE; }

/* Why the last operation of a connection failed: as the system says it, or tc_tls_failure. */
const char *tc_socket_failure(const tc_socket *socket, SSL *connection);

#define TC_SOCKET_HOLLOW "too many records without data, such as key updates"
#define TC_SOCKET_LONG "the handshake has too many bytes"

#endif
