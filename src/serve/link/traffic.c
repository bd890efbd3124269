/* Reading and writing. All connections share one read buffer; each keeps only the start of an incomplete frame. */
#include "serve/link/links.h"

#include "noise/secret.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

/* Bytes received (0: the peer is done) or sent, or one of these. HOLLOW: too many records without data. */
enum { AGAIN = -1, FAILED = -2, HOLLOW = -3 };

static ptrdiff_t pull(tc_link *link, unsigned char *bytes, size_t size) {
    if (link->ssl == NULL) {
        ssize_t got = recv(link->descriptor, bytes, size, 0);
        if (got >= 0)
            return got;
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? AGAIN : FAILED;
    }
    size_t got = 0;
    tc_tls_forget_errors();
    tc_socket_turn(&link->socket);
    bool has_data = tc_tls_read(link->ssl, bytes, size, &got);
    int error = has_data ? SSL_ERROR_NONE : SSL_get_error(link->ssl, 0);
    if (tc_socket_is_hollow(&link->socket, has_data))
        return HOLLOW;
    if (has_data)
        return (ptrdiff_t)got;
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? AGAIN : FAILED;
}

/* Frames may hold private states, so their bytes are wiped. */
static void drop(tc_link *link) {
    tc_secret_wipe(link->in, link->in_room);
    free(link->in);
    link->in = NULL;
    link->in_size = link->in_room = 0;
}

static bool grow_in(tc_link *link, size_t wanted) {
    if (link->in_room >= wanted)
        return true;
    unsigned char *larger = malloc(wanted);
    size_t size = link->in_size;
    if (larger == NULL)
        return false;
    if (size > 0)
        memcpy(larger, link->in, size);
    drop(link);
    link->in = larger;
    link->in_size = size;
    link->in_room = wanted;
    return true;
}

/* Keeps the start of an incomplete frame, in a buffer that has room for the whole frame. */
static bool keep_in(tc_link *link, const unsigned char *bytes, size_t size, size_t wanted) {
    if (size == 0) {
        if (link->in != NULL)
            drop(link);
        return true;
    }
    bool is_there = bytes == link->in;
    link->in_size = is_there ? size : 0;
    if (!grow_in(link, wanted)) /* the next frame may be longer than the last */
        return false;
    if (!is_there)
        memcpy(link->in, bytes, size);
    link->in_size = size;
    return true;
}

/* Gives every complete frame to the owner. False: stop reading this link. */
static bool cut(tc_link *link, const unsigned char *bytes, size_t size) {
    tc_links *links = link->links;
    tc_frame frame;
    size_t taken, wanted, at = 0;
    for (;;) {
        tc_frame_finding result = tc_frame_cut(bytes + at, size - at, link->most_body, &frame, &taken, &wanted);
        if (result == TC_CUT_MORE)
            break;
        if (result != TC_CUT_FRAME) {
            tc_link_refuse(link, TC_REFUSED_FRAME, tc_frame_finding_text(result));
            return false;
        }
        at += taken;
        TC_COUNT(links->counts.frames, 1U);
        links->owner.frame(links->owner.context, link, &frame);
        if (link->state != TC_LINK_OPEN)
            return false;
        if (link->out_size > 0) { /* the rest waits until the output is sent */
            wanted = size - at;
            link->is_uncut = at < size;
            break;
        }
    }
    if (bytes == link->in && at > 0 && at < size)
        memmove(link->in, link->in + at, size - at);
    if (!keep_in(link, bytes == link->in ? bytes : bytes + at, size - at, wanted)) {
        tc_link_kill(link, TC_LINK_BROKEN, "memory is out");
        return false;
    }
    return link->out_size == 0;
}

static bool has_more(const tc_link *link) { return link->ssl != NULL && SSL_has_pending(link->ssl) == 1; }

static void lost(tc_link *link, ptrdiff_t got) {
    if (got == 0)
        tc_link_kill(link, TC_LINK_LEFT, link->in_size > 0 ? "closed in the middle of a frame" : "closed");
    else
        tc_link_kill(link, TC_LINK_BROKEN,
                     link->ssl == NULL ? strerror(errno) : tc_socket_failure(&link->socket, link->ssl));
}

/* One read into a buffer that begins with the incomplete frame. False: nothing more for now. *used: bytes of the
 * buffer. */
static bool read_into(tc_link *link, unsigned char *to, size_t room, size_t *used) {
    *used = link->in_size;
    ptrdiff_t got = pull(link, to + *used, room - *used);
    if (got == AGAIN)
        return false;
    if (got == HOLLOW) {
        tc_link_refuse(link, TC_REFUSED_FRAME, TC_SOCKET_HOLLOW);
        return false;
    }
    if (got <= 0) {
        lost(link, got);
        return false;
    }
    *used += (size_t)got;
    TC_COUNT(link->links->counts.bytes_in, (uint64_t)got);
    return cut(link, to, *used) && has_more(link);
}

/* One read. False: nothing more for now. */
static bool read_once(tc_link *link) {
    unsigned char *scratch = link->links->scratch;
    size_t used;
    if (link->in_room > TC_LINK_SCRATCH / 2) /* a long frame is read in place */
        return read_into(link, link->in, link->in_room, &used);
    if (link->in_size > 0)
        memcpy(scratch, link->in, link->in_size);
    bool goes_on = read_into(link, scratch, TC_LINK_SCRATCH, &used);
    tc_secret_wipe(scratch, used);
    return goes_on;
}

static void throw_away(tc_link *link) {
    ssize_t got = recv(link->descriptor, link->links->scratch, TC_LINK_SCRATCH, 0);
    link->thrown += got > 0 ? (size_t)got : 0;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR) || link->thrown > TC_LINK_MOST_THROWN)
        tc_link_kill(link, TC_LINK_CLOSED, "closed");
}

/* Reads the link again after all others that are ready. A timer of zero seconds lets the loop poll the descriptors in
 * between; event_active would not. */
static void queue_again(tc_link *link) {
    static const struct timeval no_time;
    tc_ring_join(&link->links->more, &link->more);
    if (event_add(&link->links->again, &no_time) != 0)
        tc_link_kill(link, TC_LINK_BROKEN, "memory is out");
}

/* A connection that always has more queues again after its turn, so that others do not wait. */
void tc_link_read(tc_link *link) {
    if (link->state == TC_LINK_LINGERING) {
        throw_away(link);
        return;
    }
    if (link->is_uncut) {
        link->is_uncut = false;
        if (!cut(link, link->in, link->in_size))
            return;
    }
    for (unsigned turn = 0; turn < TC_LINK_TURN; turn++)
        if (!read_once(link))
            return;
    queue_again(link);
}

/* Reads again after a pause for buffered output. */
static void resume(tc_link *link) {
    if (event_add(&link->reading, NULL) != 0) {
        tc_link_kill(link, TC_LINK_BROKEN, "memory is out");
        return;
    }
    if (link->is_uncut || has_more(link)) /* buffered bytes cause no event */
        queue_again(link);
}

static tc_link *of_more(tc_ring *more) { return (tc_link *)(void *)((unsigned char *)more - offsetof(tc_link, more)); }

void tc_link_on_again(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_links *links = context;
    size_t count = 0;
    for (tc_ring *at = links->more.after; at != &links->more; at = at->after)
        count++;
    for (; count > 0 && !tc_ring_is_empty(&links->more); count--) { /* links that queue again wait for the next turn */
        tc_link *link = of_more(links->more.after);
        tc_ring_leave(&link->more);
        tc_link_on_readable(link->descriptor, EV_READ, link);
    }
}

/* ---- Writing: at once if possible; the rest is buffered and reading pauses ---- */

static ptrdiff_t push_plain(const tc_link *link, const unsigned char *bytes, size_t size) {
    ssize_t sent = send(link->descriptor, bytes, size, MSG_NOSIGNAL);
    if (sent >= 0)
        return sent;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? AGAIN : FAILED;
}

static ptrdiff_t push_tls(const tc_link *link, const unsigned char *bytes, size_t size) {
    size_t sent = 0;
    tc_tls_forget_errors();
    if (SSL_write_ex(link->ssl, bytes, size, &sent) == 1)
        return (ptrdiff_t)sent;
    int error = SSL_get_error(link->ssl, 0);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? AGAIN : FAILED;
}

static ptrdiff_t push(tc_link *link, const unsigned char *bytes, size_t size) {
    if (link->out_sealed > 0) { /* counted when it was sealed */
        ptrdiff_t went = push_plain(link, bytes, size < link->out_sealed ? size : link->out_sealed);
        link->out_sealed -= went > 0 ? (size_t)went : 0;
        return went;
    }
    ptrdiff_t went = link->ssl == NULL ? push_plain(link, bytes, size) : push_tls(link, bytes, size);
    TC_COUNT(link->links->counts.bytes_out, went > 0 ? (uint64_t)went : 0);
    return went;
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
        bool is_plain = link->ssl == NULL || link->out_sealed > 0;
        ptrdiff_t went = push(link, bytes + *sent, size - *sent);
        if (went == AGAIN)
            return true;
        if (went <= 0) {
            tc_link_kill(link, TC_LINK_BROKEN,
                         is_plain ? strerror(errno) : tc_socket_failure(&link->socket, link->ssl));
            return false;
        }
        *sent += (size_t)went;
    }
    return true;
}

static bool grow_out(tc_link *link, size_t more) {
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

/* Pauses reading until the output is sent. */
static void keep_out(tc_link *link, const unsigned char *bytes, size_t size) {
    if (size > link->links->settings.most_kept || link->out_size > link->links->settings.most_kept - size) {
        tc_link_kill(link, TC_LINK_SLOW, "what was sent is not being read");
        return;
    }
    if (!grow_out(link, size) || !tc_link_want_write(link, true)) {
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
        keep_out(link, bytes + sent, size - sent);
}

bool tc_link_is_drained(const tc_link *link) { return link->out_size == 0; }

/* ---- Sealing: a piece is its head and its bytes ---- */

typedef struct sealed_piece {
    tc_link *link;
    size_t size;
} sealed_piece;

static size_t even(size_t size) {
    return (size + sizeof(sealed_piece) - 1) / sizeof(sealed_piece) * sizeof(sealed_piece);
}

/* TLS adds 22 bytes to a record. A peer may ask for records of 512 bytes. */
static size_t most_sealed(size_t size) { return size + size / 16 + 256; }

static bool seal(tc_link *link, const unsigned char *bytes, size_t size, tc_held *held) {
    size_t sent = 0;
    if (link->ssl == NULL) {
        memcpy(held->bytes, bytes, size);
        held->size = size;
        TC_COUNT(link->links->counts.bytes_out, size);
        return true;
    }
    link->socket.held = held;
    bool good = push_all(link, bytes, size, &sent);
    link->socket.held = NULL;
    if (good && sent < size)
        tc_link_kill(link, TC_LINK_BROKEN, "its records are too short");
    return good && sent == size;
}

bool tc_link_may_seal(size_t size, const tc_sealed *sealed) {
    return size < sealed->room && even(sizeof(sealed_piece) + most_sealed(size)) <= sealed->room - sealed->size;
}

void tc_link_seal(tc_link *link, const unsigned char *bytes, size_t size, tc_sealed *sealed) {
    tc_held held = {.bytes = sealed->bytes + sealed->size + sizeof(sealed_piece), .room = most_sealed(size)};
    if (link->state != TC_LINK_OPEN || size == 0 || !seal(link, bytes, size, &held))
        return;
    sealed_piece head = {.link = link, .size = held.size};
    memcpy(sealed->bytes + sealed->size, &head, sizeof head);
    sealed->size += even(sizeof head + held.size);
    sealed->count++;
}

size_t tc_link_together(const tc_link *link) { return tc_sender_joins(link->links->sender) ? TC_SENDER_MOST : 1; }

/* The piece at *at, which moves on to the next one. */
static sealed_piece next_piece(const tc_sealed *sealed, size_t *at, const unsigned char **bytes) {
    sealed_piece head;
    memcpy(&head, sealed->bytes + *at, sizeof head);
    *bytes = sealed->bytes + *at + sizeof head;
    *at += even(sizeof head + head.size);
    return head;
}

static void settle_piece(tc_link *link, const tc_sending *of) {
    if (link->state != TC_LINK_OPEN)
        return;
    if (of->error != 0 && of->error != EAGAIN) {
        tc_link_kill(link, TC_LINK_BROKEN, strerror(of->error));
        return;
    }
    link->out_sealed = of->size - of->sent;
    if (of->sent < of->size)
        keep_out(link, of->bytes + of->sent, of->size - of->sent);
}

static void send_pieces(tc_link *const *links, tc_sending *all, size_t count) {
    if (count > 0)
        tc_sender_send(links[0]->links->sender, all, count);
    for (size_t i = 0; i < count; i++)
        settle_piece(links[i], &all[i]);
}

void tc_sealed_send(tc_sealed *sealed) {
    tc_link *links[TC_SENDER_MOST];
    tc_sending all[TC_SENDER_MOST];
    size_t count = 0;
    for (size_t at = 0; at < sealed->size;) {
        const unsigned char *bytes;
        sealed_piece piece = next_piece(sealed, &at, &bytes);
        if (piece.link->state == TC_LINK_OPEN) {
            links[count] = piece.link;
            all[count++] = (tc_sending){.descriptor = piece.link->descriptor, .bytes = bytes, .size = piece.size};
        }
        if (count == TC_SENDER_MOST) {
            send_pieces(links, all, count);
            count = 0;
        }
    }
    send_pieces(links, all, count);
    sealed->size = sealed->count = 0;
}

void tc_sealed_discard(tc_sealed *sealed) {
    for (size_t at = 0; at < sealed->size;) {
        const unsigned char *bytes;
        sealed_piece piece = next_piece(sealed, &at, &bytes);
        if (piece.link->ssl != NULL)
            SSL_set_quiet_shutdown(piece.link->ssl, 1);
    }
    sealed->size = sealed->count = 0;
}

static void forget_kept(tc_link *link) {
    free(link->out);
    link->out = NULL;
    link->out_at = link->out_size = link->out_room = 0;
    tc_ring_leave(&link->waiting);
}

/* Tells the peer that no more comes, and reads its last bytes: closing with unread bytes sends a reset, and ours could
 * be lost. */
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
            tc_ring_join(&link->links->kept, &link->waiting); /* last: the list is in order of time */
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
        resume(link);
}

/* Tells the owner now; sending the rest needs no owner. */
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
