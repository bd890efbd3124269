/* Writing: at once where the network takes it; what it does not take is kept, and goes before anything is read. */
#include "serve/link/link_parts.h"

#include "net/wire/message_cloud.h"
#include "net/tls/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

ptrdiff_t tc_link_push(tc_link *link, const unsigned char *bytes, size_t size) {
    if (link->ssl == NULL) {
        ssize_t sent = send(link->descriptor, bytes, size, MSG_NOSIGNAL);
        if (sent >= 0)
            return sent;
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? TC_LINK_AGAIN : TC_LINK_FAILED;
    }
    size_t sent = 0;
    tc_tls_forget_errors();
    if (SSL_write_ex(link->ssl, bytes, size, &sent) == 1)
        return (ptrdiff_t)sent;
    int error = SSL_get_error(link->ssl, 0);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? TC_LINK_AGAIN : TC_LINK_FAILED;
}

bool tc_link_want_write(tc_link *link, bool wanted) {
    if (wanted == link->wants_write)
        return true;
    if ((wanted ? event_add(&link->writing, NULL) : event_del(&link->writing)) != 0)
        return false;
    link->wants_write = wanted;
    return true;
}

/* Sends until the network is full. False: the link is dead. */
static bool push_all(tc_link *link, const unsigned char *bytes, size_t size, size_t *sent) {
    for (*sent = 0; *sent < size;) {
        ptrdiff_t went = tc_link_push(link, bytes + *sent, size - *sent);
        if (went == TC_LINK_AGAIN)
            return true;
        if (went <= 0) {
            tc_link_kill(link, TC_LINK_BROKEN,
                         link->ssl == NULL ? strerror(errno) : tc_socket_failure(&link->socket, link->ssl));
            return false;
        }
        *sent += (size_t)went;
        link->links->figures.bytes_out += (uint64_t)went;
    }
    return true;
}

static bool grow(tc_link *link, size_t more) {
    size_t needed = link->out_size + more;
    if (needed <= link->out_room - link->out_at)
        return true;
    unsigned char *larger = malloc(needed);
    if (larger == NULL)
        return false;
    if (link->out_size > 0)
        memcpy(larger, link->out + link->out_at, link->out_size);
    free(link->out);
    link->out = larger;
    link->out_at = 0;
    link->out_room = needed;
    return true;
}

/* From now on nothing is read, and the event tells when there is room. */
static void keep(tc_link *link, const unsigned char *bytes, size_t size) {
    if (size > link->links->settings.most_kept || link->out_size > link->links->settings.most_kept - size) {
        tc_link_kill(link, TC_LINK_SLOW, "what was sent is not being read");
        return;
    }
    if (!grow(link, size) || !tc_link_want_write(link, true)) {
        tc_link_kill(link, TC_LINK_BROKEN, "memory is out");
        return;
    }
    memcpy(link->out + link->out_at + link->out_size, bytes, size);
    if (link->out_size == 0) {
        (void)event_del(&link->reading);
        tc_ring_leave(&link->more);
        if (link->state == TC_LINK_OPEN) {
            link->deadline = tc_link_now();
            tc_ring_join(&link->links->kept, &link->waiting);
        }
    }
    link->out_size += size;
}

void tc_link_send(tc_link *link, const unsigned char *bytes, size_t size) {
    size_t sent = 0;
    if (link->state != TC_LINK_OPEN || size == 0)
        return;
    if (link->out_size == 0 && !push_all(link, bytes, size, &sent))
        return;
    if (sent < size)
        keep(link, bytes + sent, size - sent);
}

bool tc_link_is_drained(const tc_link *link) { return link->out_size == 0; }

static void forget_kept(tc_link *link) {
    free(link->out);
    link->out = NULL;
    link->out_at = link->out_size = link->out_room = 0;
    tc_ring_leave(&link->waiting);
}

/* The peer is told that no more comes; its own last bytes are read, since closing over them would destroy ours. */
static void linger(tc_link *link) {
    (void)tc_link_want_write(link, false);
    if (link->ssl != NULL) {
        (void)SSL_shutdown(link->ssl);
        ERR_clear_error();
    }
    tc_link_enter(link, TC_LINK_LINGERING);
    if (shutdown(link->descriptor, SHUT_WR) != 0 || event_add(&link->reading, NULL) != 0)
        tc_link_kill(link, TC_LINK_CLOSED, "closed");
}

void tc_link_on_writable(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_link *link = context;
    if (link->state == TC_LINK_SHAKING) {
        tc_link_knock(link);
        return;
    }
    size_t sent = 0;
    if (!push_all(link, link->out + link->out_at, link->out_size, &sent))
        return;
    link->out_at += sent;
    link->out_size -= sent;
    if (link->out_size > 0) {
        if (sent > 0 && link->state == TC_LINK_OPEN) {
            link->deadline = tc_link_now();
            tc_ring_join(&link->links->kept, &link->waiting); /* to the end: in the order of time */
        }
        return;
    }
    forget_kept(link);
    if (link->state == TC_LINK_PARTING) {
        linger(link);
        return;
    }
    if (!tc_link_want_write(link, false)) {
        tc_link_kill(link, TC_LINK_BROKEN, "memory is out");
        return;
    }
    link->links->owner.drained(link->links->owner.context, link);
    if (link->state == TC_LINK_OPEN && link->out_size == 0)
        tc_link_resume(link);
}

/* The owner hears of it now; the rest is the connection's own affair. */
static void part(tc_link *link, tc_link_end end, const char *why) {
    tc_links *links = link->links;
    link->deadline = tc_link_now() + TC_LINK_PART_SECONDS;
    tc_ring_leave(&link->waiting);
    tc_ring_leave(&link->more);
    (void)event_del(&link->reading);
    tc_link_enter(link, TC_LINK_PARTING);
    links->owner.closed(links->owner.context, link, end, why);
    if (link->out_size == 0)
        linger(link);
}

void tc_link_close(tc_link *link) {
    if (link->state == TC_LINK_OPEN)
        part(link, TC_LINK_CLOSED, "closed");
    else if (link->state == TC_LINK_SILENT || link->state == TC_LINK_SHAKING)
        tc_link_kill(link, TC_LINK_CLOSED, "closed");
}

void tc_link_refuse(tc_link *link, tc_refusal_code code, const char *reason) {
    if (link->state != TC_LINK_OPEN)
        return;
    unsigned char bytes[TC_FRAME_HEADER + TC_MOST_CONTROL];
    const char *text = reason != NULL ? reason : tc_refusal_text(code);
    size_t length = strlen(text);
    tc_refusal refusal = {.slot = TC_NO_SLOT,
                          .code = (uint16_t)code,
                          .reason = text,
                          .reason_length = length < TC_MOST_REASON ? length : TC_MOST_REASON};
    tc_refusal_encode(&refusal, bytes);
    tc_link_send(link, bytes, tc_refusal_size(&refusal));
    if (link->state == TC_LINK_OPEN)
        part(link, TC_LINK_REFUSED, text);
}
