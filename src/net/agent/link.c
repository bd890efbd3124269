#include "net/agent/link.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- Keys ---- */

/* On failure keeps the context it has. TC_OK without a context if the certificate is not valid yet: machines without
 * a battery start with a clock in the past and set it when they find the network. Each connection tries again. */
static tc_status read_keys(tc_arena *arena, tc_agent_link *link, tc_buffer *messages) {
    SSL_CTX *tls = NULL;
    bool is_early;
    size_t before = messages->length;
    tc_status status = tc_tls_agent_or_early(arena, link->settings.keys, messages, &tls, &is_early);
    if (status == TC_OK) {
        SSL_CTX_free(link->tls);
        link->tls = tls;
    } else if (is_early) {
        const char *why = tc_buffer_text(messages) + before;
        (void)snprintf(link->early, sizeof link->early, "%.*s", (int)strcspn(why, "\n"), why);
        messages->length = before;
        return TC_OK;
    }
    return status;
}

/* Each connection reads the keys again, so that it uses a renewed certificate. If they cannot be read any more (the
 * process dropped its rights), it uses the old ones. */
bool tc_agent_link_renew(tc_agent_link *link, char why[TC_AGENT_WHY]) {
    tc_arena *arena = link->settings.keys == NULL ? NULL : tc_arena_new(0);
    (void)snprintf(why, TC_AGENT_WHY, "memory is out");
    if (arena == NULL)
        return link->settings.keys == NULL;
    tc_escape escape;
    link->early[0] = '\0';
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK) {
        tc_buffer messages = tc_buffer_new(arena, 1 << 16);
        status = read_keys(arena, link, &messages);
        const char *text = status == TC_OK ? link->early : tc_buffer_text(&messages);
        (void)snprintf(why, TC_AGENT_WHY, "%.*s", (int)strcspn(text, "\n"), text);
    }
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return status == TC_OK && link->early[0] == '\0';
}

/* ---- Addresses ---- */

static void forget_addresses(tc_agent_link *link) {
    if (link->addresses != NULL)
        freeaddrinfo(link->addresses);
    link->addresses = link->address = NULL;
}

static bool find_addresses(tc_agent_link *link) {
    struct addrinfo wish = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    forget_addresses(link);
    int wrong = getaddrinfo(link->host, link->port, &wish, &link->addresses);
    if (wrong == EAI_NONAME) { /* not a number: ask the resolver, which may block */
        wish.ai_flags = AI_NUMERICSERV;
        wrong = getaddrinfo(link->host, link->port, &wish, &link->addresses);
    }
    if (wrong != 0) {
        link->addresses = NULL;
        (void)snprintf(link->why, sizeof link->why, "cannot find the cloud '%.100s': %s", link->host,
                       gai_strerror(wrong));
        return false;
    }
    link->address = link->addresses;
    return true;
}

/* Opens a socket for the next address. False: none is left, and link->why says what the last one's error was. */
static bool try_address(tc_agent_link *link) {
    for (; link->address != NULL; link->address = link->address->ai_next) {
        const struct addrinfo *to = link->address;
        if (link->settings.keys == NULL && !tc_address_is_loopback(to->ai_addr)) {
            (void)snprintf(link->why, sizeof link->why,
                           "plain text is for loopback addresses only, and '%.100s' is not one", link->host);
            continue;
        }
        link->descriptor = socket(to->ai_family, to->ai_socktype, to->ai_protocol);
        bool is_set_up = link->descriptor >= 0 && tc_socket_set_up(link->descriptor);
        if (is_set_up && link->clouds.count > 1) /* there is somewhere else to go */
            tc_socket_set_patience(link->descriptor, TC_AGENT_PATIENCE);
        if (is_set_up &&
            (connect(link->descriptor, to->ai_addr, to->ai_addrlen) == 0 || errno == EINPROGRESS || errno == EINTR)) {
            link->address = link->address->ai_next;
            return true;
        }
        (void)snprintf(link->why, sizeof link->why, "cannot connect to %.100s: %s", link->cloud, strerror(errno));
        if (link->descriptor >= 0)
            (void)close(link->descriptor);
        link->descriptor = -1;
    }
    return false;
}

enum { OPEN_MILLISECONDS = 10000, LEAST_IN = 2048, AGAIN = -1, LOST = -2 };

uint64_t tc_agent_clock(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- Beginning and ending ---- */

static void release(void *what) {
    tc_agent_link *link = what;
    tc_agent_link_end(link, "closed");
    SSL_CTX_free(link->tls);
    BIO_meth_free(link->method);
}

tc_status tc_agent_link_new(tc_arena *arena, const tc_agent_link_settings *settings, tc_buffer *messages,
                            tc_agent_link **made) {
    tc_agent_link *link = TC_NEW(arena, tc_agent_link, 1);
    *link = (tc_agent_link){.settings = *settings, .descriptor = -1};
    if (link->settings.open_milliseconds == 0)
        link->settings.open_milliseconds = OPEN_MILLISECONDS;
    size_t frame = TC_FRAME_HEADER + settings->most_body;
    link->in_room = frame > LEAST_IN ? frame : LEAST_IN;
    if (link->in_room < settings->in_bytes)
        link->in_room = settings->in_bytes;
    link->in = TC_NEW(arena, unsigned char, link->in_room);
    link->out = TC_NEW(arena, unsigned char, settings->most_out);
    tc_arena_on_free(arena, release, link);
    *made = link;
    tc_status status = tc_addresses_read(arena, settings->cloud, messages, &link->clouds);
    if (status != TC_OK || settings->keys == NULL)
        return status;
    link->method = tc_socket_bio_method();
    if (link->method == NULL)
        tc_raise(arena, TC_NO_MEMORY);
    return read_keys(arena, link, messages);
}

/* why may be link->why itself. */
void tc_agent_link_end(tc_agent_link *link, const char *why) {
    if (why != link->why)
        (void)snprintf(link->why, sizeof link->why, "%s", why);
    if (link->ssl != NULL && link->state == TC_AGENT_LINK_OPEN) {
        (void)SSL_shutdown(link->ssl);
        ERR_clear_error();
    }
    SSL_free(link->ssl);
    link->ssl = NULL;
    if (link->descriptor >= 0)
        (void)close(link->descriptor);
    link->descriptor = -1;
    forget_addresses(link);
    link->state = TC_AGENT_LINK_OFF;
    if (link->out_size > 0)
        OPENSSL_cleanse(link->out + link->out_at, link->out_size);
    link->in_at = link->in_size = link->out_at = link->out_size = 0;
    link->has_more = link->shake_writes = false;
}

const char *tc_agent_link_why(const tc_agent_link *link) { return link->why; }

bool tc_agent_link_holder(const tc_agent_link *link, char names[TC_AGENT_HOLDER]) {
    const X509 *own = link->ssl == NULL ? NULL : SSL_get_certificate(link->ssl);
    tc_identity *identity = own == NULL ? NULL : tc_identity_new(own);
    size_t count = identity == NULL ? 0 : tc_identity_count(identity);
    if (count == 1)
        (void)snprintf(names, TC_AGENT_HOLDER, "%.60s", tc_identity_name(identity, 0));
    else if (count > 1)
        (void)snprintf(names, TC_AGENT_HOLDER, "%.60s and %zu more", tc_identity_name(identity, 0), count - 1);
    tc_identity_free(identity);
    return count > 0;
}

tc_agent_link_state tc_agent_link_is(const tc_agent_link *link) { return link->state; }
int tc_agent_link_descriptor(const tc_agent_link *link) { return link->descriptor; }

static void set_deadline(tc_agent_link *link, unsigned milliseconds) {
    link->deadline = tc_agent_clock() + milliseconds;
}

size_t tc_agent_link_clouds(const tc_agent_link *link) { return link->clouds.count; }
const char *tc_agent_link_cloud(const tc_agent_link *link, size_t cloud) { return link->clouds.texts[cloud]; }

static void set_connect_deadline(tc_agent_link *link) {
    unsigned most = link->settings.open_milliseconds;
    set_deadline(link, link->clouds.count > 1 && most > TC_AGENT_CONNECT ? TC_AGENT_CONNECT : most);
}

void tc_agent_link_begin(tc_agent_link *link, size_t cloud) {
    tc_agent_link_end(link, "");
    link->host = link->clouds.each[cloud].host;
    link->port = link->clouds.each[cloud].port;
    link->cloud = link->clouds.texts[cloud];
    char unsaid[TC_AGENT_WHY];
    bool are_new = tc_agent_link_renew(link, unsaid);
    if (!are_new && link->tls == NULL) {
        tc_agent_link_end(link, unsaid);
        return;
    }
    if (!find_addresses(link) || !try_address(link)) {
        tc_agent_link_end(link, link->why);
        return;
    }
    link->state = TC_AGENT_LINK_CONNECTING;
    set_connect_deadline(link);
}

/* ---- Becoming open ---- */

static void next_address(tc_agent_link *link, const char *wrong) {
    (void)close(link->descriptor);
    link->descriptor = -1;
    (void)snprintf(link->why, sizeof link->why, "cannot connect to %.100s: %s", link->cloud, wrong);
    if (try_address(link))
        set_connect_deadline(link);
    else
        tc_agent_link_end(link, link->why);
}

static void begin_tls(tc_agent_link *link) {
    link->ssl = tc_tls_connect(link->tls, link->descriptor);
    if (link->ssl == NULL || !tc_socket_bio_set(link->ssl, link->method, &link->socket, &link->descriptor)) {
        tc_agent_link_end(link, "memory is out");
        return;
    }
    link->state = TC_AGENT_LINK_SHAKING;
    set_deadline(link, link->settings.open_milliseconds);
}

static void connected(tc_agent_link *link) {
    struct pollfd room = {.fd = link->descriptor, .events = POLLOUT};
    int error = 0;
    socklen_t size = sizeof error;
    if (poll(&room, 1, 0) <= 0) {
        if (tc_agent_clock() >= link->deadline)
            next_address(link, "no answer");
        return;
    }
    if (getsockopt(link->descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    if (error != 0) {
        next_address(link, strerror(error));
        return;
    }
    if (tc_socket_met_itself(link->descriptor)) {
        next_address(link, strerror(ECONNREFUSED));
        return;
    }
    forget_addresses(link);
    if (link->settings.keys != NULL)
        begin_tls(link);
    else
        link->state = TC_AGENT_LINK_OPEN;
}

/* OpenSSL reports this in several ways, depending on what else the peer sends. */
static bool is_of_another_authority(const SSL *ssl) {
    long found = SSL_get_verify_result(ssl);
    return found == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN || found == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
           found == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY || found == X509_V_ERR_CERT_SIGNATURE_FAILURE ||
           found == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE;
}

/* The peer answers, but not in TLS (HTTP, for example). OpenSSL's versions report this differently. */
static bool is_no_tls(unsigned long error) {
    int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
    return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG ||
           reason == SSL_R_HTTP_REQUEST || reason == SSL_R_BAD_PACKET_LENGTH;
}

static void complain_of_handshake(tc_agent_link *link) {
    bool is_strange = is_of_another_authority(link->ssl), is_plain = is_no_tls(ERR_peek_last_error());
    const char *failure = tc_socket_failure(&link->socket, link->ssl);
    if (is_strange)
        (void)snprintf(link->why, sizeof link->why,
                       "TLS with %.60s failed: the cloud's certificate is of another authority than "
                       "%.80s/authority.pem",
                       link->cloud, link->settings.keys);
    else if (is_plain)
        (void)snprintf(link->why, sizeof link->why,
                       "TLS with %.60s failed: %.60s: it does not speak TLS (is it the port of the status page?)",
                       link->cloud, failure);
    else
        (void)snprintf(link->why, sizeof link->why, "TLS with %.100s failed: %s", link->cloud, failure);
}

static void shake(tc_agent_link *link) {
    tc_tls_forget_errors();
    tc_socket_turn(&link->socket);
    int done = SSL_do_handshake(link->ssl);
    int error = done == 1 ? SSL_ERROR_NONE : SSL_get_error(link->ssl, done);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        link->shake_writes = error == SSL_ERROR_WANT_WRITE;
        if (tc_socket_is_long(&link->socket)) {
            tc_agent_link_end(link, "the cloud broke the protocol: " TC_SOCKET_LONG);
            return;
        }
        if (tc_agent_clock() >= link->deadline)
            tc_agent_link_end(link, "the cloud did not finish the handshake in time");
        return;
    }
    if (done != 1) {
        complain_of_handshake(link);
        tc_agent_link_end(link, link->why);
        return;
    }
    const char *refused = tc_tls_refuse(link->ssl);
    if (refused != NULL)
        tc_agent_link_end(link, refused);
    else
        link->state = TC_AGENT_LINK_OPEN;
    tc_socket_opened(&link->socket);
}

/* ---- Bytes ---- */

static ptrdiff_t lost(tc_agent_link *link, const char *plain) {
    if (link->ssl == NULL)
        (void)snprintf(link->why, sizeof link->why, "the connection was lost: %s", plain);
    else
        (void)snprintf(link->why, sizeof link->why, "the connection was lost: %s",
                       tc_socket_failure(&link->socket, link->ssl));
    return LOST;
}

static ptrdiff_t push(tc_agent_link *link, const unsigned char *bytes, size_t size) {
    if (link->ssl == NULL) {
        ssize_t sent = send(link->descriptor, bytes, size, MSG_NOSIGNAL);
        if (sent >= 0)
            return sent;
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? AGAIN : lost(link, strerror(errno));
    }
    size_t sent = 0;
    tc_tls_forget_errors();
    if (SSL_write_ex(link->ssl, bytes, size, &sent) == 1)
        return (ptrdiff_t)sent;
    int error = SSL_get_error(link->ssl, 0);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? AGAIN : lost(link, "");
}

static ptrdiff_t pull(tc_agent_link *link, unsigned char *bytes, size_t size) {
    if (link->ssl == NULL) {
        ssize_t got = recv(link->descriptor, bytes, size, 0);
        if (got >= 0)
            return got;
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? AGAIN : lost(link, strerror(errno));
    }
    size_t got = 0;
    tc_tls_forget_errors();
    tc_socket_turn(&link->socket);
    bool has_data = SSL_read_ex(link->ssl, bytes, size, &got) == 1;
    int error = has_data ? SSL_ERROR_NONE : SSL_get_error(link->ssl, 0);
    if (tc_socket_is_hollow(&link->socket, has_data)) {
        (void)snprintf(link->why, sizeof link->why, "the cloud broke the protocol: " TC_SOCKET_HOLLOW);
        return LOST;
    }
    if (has_data)
        return (ptrdiff_t)got;
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? AGAIN : lost(link, "");
}

static void send_waiting(tc_agent_link *link) {
    while (link->out_size > 0) {
        ptrdiff_t sent = push(link, link->out + link->out_at, link->out_size);
        if (sent == AGAIN) {
            if (tc_agent_clock() >= link->deadline)
                tc_agent_link_end(link, "the cloud does not read what it is sent");
            return;
        }
        if (sent <= 0) {
            tc_agent_link_end(link, link->why);
            return;
        }
        OPENSSL_cleanse(link->out + link->out_at, (size_t)sent); /* states */
        link->out_at += (size_t)sent;
        link->out_size -= (size_t)sent;
        set_deadline(link, TC_AGENT_STALL);
    }
    link->out_at = 0;
}

void tc_agent_link_advance(tc_agent_link *link) {
    if (link->state == TC_AGENT_LINK_CONNECTING)
        connected(link);
    if (link->state == TC_AGENT_LINK_SHAKING)
        shake(link);
    if (link->state == TC_AGENT_LINK_OPEN)
        send_waiting(link);
}

unsigned char *tc_agent_link_put(tc_agent_link *link, size_t size) {
    if (size > link->settings.most_out - link->out_size)
        return NULL;
    if (size > link->settings.most_out - link->out_size - link->out_at) {
        memmove(link->out, link->out + link->out_at, link->out_size);
        OPENSSL_cleanse(link->out + link->out_size, link->out_at);
        link->out_at = 0;
    }
    if (link->out_size == 0)
        set_deadline(link, TC_AGENT_STALL);
    unsigned char *at = link->out + link->out_at + link->out_size;
    link->out_size += size;
    return at;
}

bool tc_agent_link_read(tc_agent_link *link) {
    if (link->state != TC_AGENT_LINK_OPEN)
        return false;
    if (link->in_at > 0 && link->in_size > 0)
        memmove(link->in, link->in + link->in_at, link->in_size);
    link->in_at = 0;
    if (link->in_size == link->in_room) /* the owner has not taken the frames yet */
        return true;
    ptrdiff_t got = pull(link, link->in + link->in_size, link->in_room - link->in_size);
    link->has_more = got > 0 && link->ssl != NULL && SSL_has_pending(link->ssl) == 1;
    if (got == AGAIN)
        return false;
    if (got <= 0) {
        tc_agent_link_end(link, got == 0 ? "the cloud closed the connection" : link->why);
        return false;
    }
    link->in_size += (size_t)got;
    return true;
}

bool tc_agent_link_has_more(const tc_agent_link *link) { return link->has_more; }

bool tc_agent_link_next(tc_agent_link *link, tc_frame *frame) {
    size_t taken, wanted;
    if (link->state != TC_AGENT_LINK_OPEN)
        return false;
    tc_frame_finding cut =
        tc_frame_cut(link->in + link->in_at, link->in_size, (uint32_t)link->settings.most_body, frame, &taken, &wanted);
    if (cut == TC_CUT_MORE)
        return false;
    if (cut != TC_CUT_FRAME) {
        (void)snprintf(link->why, sizeof link->why, "the cloud broke the protocol: %s", tc_frame_finding_text(cut));
        tc_agent_link_end(link, link->why);
        return false;
    }
    link->in_at += taken;
    link->in_size -= taken;
    return true;
}

tc_agent_link_wants tc_agent_link_wish(const tc_agent_link *link) {
    switch (link->state) {
    case TC_AGENT_LINK_OFF:
        break;
    case TC_AGENT_LINK_CONNECTING:
        return (tc_agent_link_wants){.write = true, .deadline = link->deadline};
    case TC_AGENT_LINK_SHAKING:
        return (tc_agent_link_wants){
            .read = !link->shake_writes, .write = link->shake_writes, .deadline = link->deadline};
    case TC_AGENT_LINK_OPEN:
        return (tc_agent_link_wants){.read = true,
                                     .write = link->out_size > 0,
                                     .now = link->has_more,
                                     .deadline = link->out_size > 0 ? link->deadline : 0};
    }
    return (tc_agent_link_wants){0};
}
