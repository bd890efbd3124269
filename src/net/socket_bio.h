/* What OpenSSL reads from and writes to: a socket, by recv and send. OpenSSL's own raises SIGPIPE where the peer has
 * gone, and calls read and write, which cost more on a socket. */
#ifndef TC_NET_SOCKET_BIO_H
#define TC_NET_SOCKET_BIO_H

#include "base/compiler.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <stdbool.h>

/* NULL where memory is out. Free with BIO_meth_free, after all connections that use it. */
BIO_METHOD *tc_socket_bio_method(void) TC_MUST_USE;

/* In place of what the connection has: *descriptor, which stays the caller's. False where memory is out. */
bool tc_socket_bio_set(SSL *connection, const BIO_METHOD *method, int *descriptor) TC_MUST_USE;

#endif
