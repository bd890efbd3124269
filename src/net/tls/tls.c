#include "net/tls/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const unsigned char PROTOCOLS[] = "\x07" TC_TLS_PROTOCOL;
enum { PROTOCOLS_LENGTH = sizeof PROTOCOLS - 1 };

/* A client that offers only other protocols is refused in the handshake, one that offers none by tc_tls_refuse. */
static int select_protocol(SSL *connection, const unsigned char **out, unsigned char *length, const unsigned char *in,
                           unsigned in_length, void *context) {
    (void)connection;
    (void)context;
    unsigned char *chosen = NULL;
    if (SSL_select_next_proto(&chosen, length, PROTOCOLS, PROTOCOLS_LENGTH, in, in_length) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* Not const: OpenSSL's macros for lists cast const away, and some compilers warn. */
static char GROUPS[] = "X25519:P-256", SIGNATURES[] = "ecdsa_secp256r1_sha256:ed25519";
static char CLOUD_HOST[] = TC_CLOUD_HOST;

static bool set_common(SSL_CTX *context) {
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* A connection may end without close_notify: frames carry their length, so a truncated one is noticed. */
    (void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                           SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_verify_depth(context, 1);
    SSL_CTX_set_read_ahead(context, 1); /* one system call for a record instead of two */
    return X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_X509_STRICT) == 1 &&
           SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_ciphersuites(
               context, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384") == 1 &&
           SSL_CTX_set1_groups_list(context, GROUPS) == 1 && SSL_CTX_set1_sigalgs_list(context, SIGNATURES) == 1 &&
           SSL_CTX_set_num_tickets(context, 0) == 1 && SSL_CTX_set_max_early_data(context, 0) == 1;
}

/* Only alternative names count. The subject may contain an agent's name, which anybody may choose. */
static bool expect_cloud(X509_VERIFY_PARAM *parameters) {
    X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(parameters, TC_CLOUD_HOST, 0) == 1;
}

static SSL_CTX *new_context(bool cloud) {
    SSL_CTX *context = SSL_CTX_new(cloud ? TLS_server_method() : TLS_client_method());
    if (context == NULL)
        return NULL;
    bool good = set_common(context);
    if (cloud) {
        (void)SSL_CTX_set_options(context, SSL_OP_CLEANSE_PLAINTEXT); /* states are private; answers are not */
        SSL_CTX_set_alpn_select_cb(context, select_protocol, NULL);
    } else {
        good = good && SSL_CTX_set_alpn_protos(context, PROTOCOLS, PROTOCOLS_LENGTH) == 0 &&
               expect_cloud(SSL_CTX_get0_param(context));
    }
    if (good)
        return context;
    SSL_CTX_free(context);
    return NULL;
}

/* Checks our own certificate as the peer will. NULL, or what is wrong; *error: its X509_V_ERR_ code. */
static const char *check_own(SSL_CTX *context, X509 *certificate, bool cloud, int *error) {
    X509_STORE_CTX *check = X509_STORE_CTX_new();
    const char *wrong = "cannot be checked";
    *error = X509_V_ERR_UNSPECIFIED;
    if (check != NULL && X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(context), certificate, NULL) == 1) {
        bool set = X509_STORE_CTX_set_purpose(check, cloud ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT) == 1;
        if (set && cloud)
            set = expect_cloud(X509_STORE_CTX_get0_param(check));
        if (set) {
            wrong =
                X509_verify_cert(check) == 1 ? NULL : X509_verify_cert_error_string(X509_STORE_CTX_get_error(check));
            *error = X509_STORE_CTX_get_error(check);
        }
    }
    X509_STORE_CTX_free(check);
    ERR_clear_error();
    return wrong;
}

static const char *use(SSL_CTX *context, const tc_credential *own, const tc_credential *authority, bool cloud,
                       int *error) {
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    *error = X509_V_OK;
    if (X509_STORE_add_cert(store, authority->certificate) != 1 ||
        (cloud && SSL_CTX_add_client_CA(context, authority->certificate) != 1))
        return "is not a usable authority's";
    const char *wrong = check_own(context, own->certificate, cloud, error);
    if (wrong != NULL)
        return wrong;
    if (SSL_CTX_use_certificate(context, own->certificate) != 1 || SSL_CTX_use_PrivateKey(context, own->key) != 1)
        return "cannot be used for TLS";
    return NULL;
}

/* Whether somebody gave the folder of `tacit keys` instead of a party's own folder in it. */
static bool is_of_all_keys(tc_arena *arena, const char *folder) {
    return access(tc_arena_format(arena, "%s/cloud/identity.pem", folder), F_OK) == 0 &&
           access(tc_arena_format(arena, "%s/identity.pem", folder), F_OK) != 0;
}

static tc_status make(tc_arena *arena, const char *folder, bool cloud, tc_buffer *messages, SSL_CTX **context,
                      bool *is_early) {
    tc_credential own = {0}, authority = {0};
    int error;
    *is_early = false;
    *context = NULL;
    if (is_of_all_keys(arena, folder)) {
        tc_buffer_printf(messages, "'%s' is the authority's folder; %s keys are in '%s/%s'\n", folder,
                         cloud ? "the cloud's" : "an agent's", folder, cloud ? "cloud" : "agents/NAME");
        return TC_BAD_USAGE;
    }
    const char *path = tc_arena_format(arena, "%s/identity.pem", folder);
    tc_status status =
        tc_certificate_read(arena, tc_arena_format(arena, "%s/authority.pem", folder), false, messages, &authority);
    if (status == TC_OK)
        status = tc_certificate_read(arena, path, true, messages, &own);
    if (status != TC_OK)
        return status;
    SSL_CTX *made = new_context(cloud);
    if (made == NULL)
        tc_raise(arena, TC_NO_MEMORY);
    const char *wrong = use(made, &own, &authority, cloud, &error);
    if (wrong == NULL) {
        *context = made;
        return TC_OK;
    }
    SSL_CTX_free(made);
    ERR_clear_error();
    tc_buffer_printf(messages, "the certificate in '%s' does not serve as %s: %s\n", path,
                     cloud ? "the cloud's" : "an agent's", wrong);
    /* The file is good: the clock may be wrong or the renewal late, and either may still change. */
    *is_early = error == X509_V_ERR_CERT_NOT_YET_VALID;
    return *is_early || error == X509_V_ERR_CERT_HAS_EXPIRED ? TC_CANNOT_READ : TC_BAD_USAGE;
}

tc_status tc_tls_cloud(tc_arena *arena, const char *folder, tc_buffer *messages, SSL_CTX **context) {
    bool is_early;
    return make(arena, folder, true, messages, context, &is_early);
}

tc_status tc_tls_agent(tc_arena *arena, const char *folder, tc_buffer *messages, SSL_CTX **context) {
    bool is_early;
    return make(arena, folder, false, messages, context, &is_early);
}

tc_status tc_tls_agent_or_early(tc_arena *arena, const char *folder, tc_buffer *messages, SSL_CTX **context,
                                bool *is_early) {
    return make(arena, folder, false, messages, context, is_early);
}

time_t tc_tls_expiry(SSL_CTX *context) {
    time_t from, until;
    return tc_certificate_span(SSL_CTX_get0_certificate(context), &from, &until) ? until : 0;
}

static SSL *new_connection(SSL_CTX *context, int descriptor) {
    SSL *made = SSL_new(context);
    if (made != NULL && SSL_set_fd(made, descriptor) == 1)
        return made;
    SSL_free(made);
    ERR_clear_error();
    return NULL;
}

SSL *tc_tls_accept(SSL_CTX *context, int descriptor) {
    SSL *made = new_connection(context, descriptor);
    if (made != NULL)
        SSL_set_accept_state(made);
    return made;
}

SSL *tc_tls_connect(SSL_CTX *context, int descriptor) {
    SSL *made = new_connection(context, descriptor);
    if (made == NULL)
        return NULL;
    SSL_set_connect_state(made);
    if (SSL_set_tlsext_host_name(made, CLOUD_HOST) == 1)
        return made;
    SSL_free(made);
    return NULL;
}

const char *tc_tls_refuse(SSL *connection) {
    const unsigned char *protocol = NULL;
    unsigned length = 0;
    SSL_get0_alpn_selected(connection, &protocol, &length);
    if (length != sizeof TC_TLS_PROTOCOL - 1 || memcmp(protocol, TC_TLS_PROTOCOL, length) != 0)
        return "the peer did not ask for the protocol " TC_TLS_PROTOCOL;
    if (SSL_version(connection) != TLS1_3_VERSION)
        return "the peer does not speak TLS 1.3";
    if (SSL_get0_peer_certificate(connection) == NULL || SSL_get_verify_result(connection) != X509_V_OK)
        return "the peer has no good certificate";
    return NULL;
}

void tc_tls_forget_errors(void) {
    if (ERR_peek_error() != 0)
        ERR_clear_error();
}

/* Frees the buffer under the same condition as SSL_MODE_RELEASE_BUFFERS: no next record has begun in it. */
bool tc_tls_read(SSL *connection, void *bytes, size_t room, size_t *got) {
    (void)SSL_clear_mode(connection, SSL_MODE_RELEASE_BUFFERS);
    bool good = SSL_read_ex(connection, bytes, room, got) == 1;
    (void)SSL_set_mode(connection, SSL_MODE_RELEASE_BUFFERS);
    if (SSL_has_pending(connection) == 0) { /* also if nothing came, as after a handshake */
        (void)SSL_clear_options(connection, SSL_OP_CLEANSE_PLAINTEXT);
        (void)SSL_free_buffers(connection);
        (void)SSL_set_options(connection, SSL_OP_CLEANSE_PLAINTEXT);
    }
    return good;
}

const char *tc_tls_failure(SSL *connection) {
    unsigned long error = ERR_peek_last_error();
    const char *reason = error == 0 ? NULL : ERR_reason_error_string(error);
    ERR_clear_error();
    long verified = connection == NULL ? X509_V_OK : SSL_get_verify_result(connection);
    if (verified != X509_V_OK)
        return X509_verify_cert_error_string(verified);
    return reason == NULL ? "the connection ended" : reason;
}

/* ---- The BIO below OpenSSL ---- */

static int most(size_t size) { return size < INT_MAX ? (int)size : INT_MAX; }

static bool is_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

/* All or nothing: a record in two pieces would have to be joined again. */
static int hold(BIO *bio, tc_held *held, const char *bytes, size_t size) {
    if (size > held->room - held->size) {
        BIO_set_retry_write(bio);
        return -1;
    }
    memcpy(held->bytes + held->size, bytes, size);
    held->size += size;
    return (int)size;
}

static int bio_write(BIO *bio, const char *bytes, int size) {
    tc_socket *to = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (to->held != NULL)
        return hold(bio, to->held, bytes, (size_t)size);
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
    if (from->left == 0) { /* the rest stays in the kernel, and the descriptor stays readable */
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
    return (int)got; /* at most size */
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
    (void)number;
    (void)pointer;
    switch (command) {
    case BIO_CTRL_FLUSH:
        return 1; /* nothing is buffered here */
    case BIO_CTRL_EOF:
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    default:
        return 0;
    }
}

BIO_METHOD *tc_socket_bio_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "tacit socket"); /* no type number of its own */
    if (method != NULL && BIO_meth_set_write(method, bio_write) == 1 && BIO_meth_set_read(method, bio_read) == 1 &&
        BIO_meth_set_ctrl(method, bio_control) == 1)
        return method;
    BIO_meth_free(method);
    return NULL;
}

/* OpenSSL calls this for each record that it decrypts. */
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

/* Records that came with the end of the handshake are counted too: OpenSSL has not decrypted them yet. */
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
