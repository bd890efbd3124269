#include "net/tls/socket_bio.h"

#include "net/tls/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>

static int most(size_t size) { return size < INT_MAX ? (int)size : INT_MAX; }

static bool is_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

static int bio_write(BIO *bio, const char *bytes, int size) {
    tc_socket *to = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t sent = send(*to->descriptor, bytes, (size_t)size, MSG_NOSIGNAL);
    if (sent < 0 && is_later(errno))
        BIO_set_retry_write(bio);
    else if (sent < 0)
        to->error = errno;
    return sent < 0 ? -1 : most((size_t)sent);
}

static int bio_read(BIO *bio, char *bytes, int size) {
    tc_socket *from = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (from->left == 0) { /* the rest stays in the system, whose events tell of it again */
        BIO_set_retry_read(bio);
        return -1;
    }
    ssize_t got = recv(*from->descriptor, bytes, (size_t)size < from->left ? (size_t)size : from->left, 0);
    if (got < 0 && is_later(errno))
        BIO_set_retry_read(bio);
    else if (got < 0)
        from->error = errno;
    else if (got == 0)
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    if (got <= 0)
        return got < 0 ? -1 : 0;
    from->left -= (size_t)got;
    from->got += (uint64_t)got;
    return (int)got; /* not more than size */
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
    (void)number;
    (void)pointer;
    switch (command) {
    case BIO_CTRL_FLUSH:
        return 1; /* nothing is kept here */
    case BIO_CTRL_EOF:
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    default:
        return 0;
    }
}

BIO_METHOD *tc_socket_bio_method(void) {
    BIO_METHOD *method =
        BIO_meth_new(BIO_TYPE_SOURCE_SINK, "tacit socket"); /* a type without a number: none is used up */
    if (method != NULL && BIO_meth_set_write(method, bio_write) == 1 && BIO_meth_set_read(method, bio_read) == 1 &&
        BIO_meth_set_ctrl(method, bio_control) == 1)
        return method;
    BIO_meth_free(method);
    return NULL;
}

/* OpenSSL tells of each record that it has opened. */
static void count(int is_write, int version, int what, const void *bytes, size_t size, SSL *connection, void *context) {
    (void)version;
    (void)bytes;
    (void)size;
    (void)connection;
    tc_socket *socket = context;
    if (!is_write && what == SSL3_RT_INNER_CONTENT_TYPE)
        socket->records++;
}

bool tc_socket_bio_set(SSL *connection, const BIO_METHOD *method, tc_socket *socket, const int *descriptor) {
    BIO *bio = BIO_new(method);
    if (bio == NULL)
        return false;
    *socket = (tc_socket){.descriptor = descriptor, .left = TC_SOCKET_TURN};
    BIO_set_data(bio, socket);
    BIO_set_init(bio, 1);
    SSL_set_bio(connection, bio, bio);
    SSL_set_msg_callback(connection, count);
    SSL_set_msg_callback_arg(connection, socket);
    return true;
}

void tc_socket_turn(tc_socket *socket) { socket->left = TC_SOCKET_TURN; }

static time_t now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* What came with the end of the handshake is counted too: it was not opened then. */
void tc_socket_opened(tc_socket *socket) {
    socket->records = socket->hollow = 0;
    socket->hollow_at = now();
}

bool tc_socket_is_hollow(tc_socket *socket, bool has_data) {
    unsigned more = socket->records;
    socket->records = 0;
    if (has_data && more > 0) /* one read hands out data of one record */
        more--;
    if (more == 0)
        return false;
    time_t at = now();
    uint64_t passed = at > socket->hollow_at ? (uint64_t)(at - socket->hollow_at) : 0;
    socket->hollow -= passed < socket->hollow ? (unsigned)passed : socket->hollow;
    socket->hollow_at = at;
    socket->hollow += more;
    return socket->hollow > TC_SOCKET_MOST_HOLLOW;
}

const char *tc_socket_failure(const tc_socket *socket, SSL *connection) {
    int error = socket->error;
    if (error == 0 || (ERR_peek_error() != 0 && ERR_GET_LIB(ERR_peek_error()) != ERR_LIB_SYS))
        return tc_tls_failure(connection);
    ERR_clear_error();
    return strerror(error);
}
