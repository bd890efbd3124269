#include "net/socket_bio.h"

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>

static int most(size_t size) { return size < INT_MAX ? (int)size : INT_MAX; }

static bool is_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

static int bio_write(BIO *bio, const char *bytes, int size) {
    const int *descriptor = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t sent = send(*descriptor, bytes, (size_t)size, MSG_NOSIGNAL);
    if (sent < 0 && is_later(errno))
        BIO_set_retry_write(bio);
    return sent < 0 ? -1 : most((size_t)sent);
}

static int bio_read(BIO *bio, char *bytes, int size) {
    const int *descriptor = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t got = recv(*descriptor, bytes, (size_t)size, 0);
    if (got < 0 && is_later(errno))
        BIO_set_retry_read(bio);
    else if (got == 0)
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return got < 0 ? -1 : most((size_t)got);
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

bool tc_socket_bio_set(SSL *connection, const BIO_METHOD *method, int *descriptor) {
    BIO *bio = BIO_new(method);
    if (bio == NULL)
        return false;
    BIO_set_data(bio, descriptor);
    BIO_set_init(bio, 1);
    SSL_set_bio(connection, bio, bio);
    return true;
}
