/* Reading: bytes become frames in a buffer that all connections share; only what is left of a frame that is not whole
 * is kept with its connection. */
#include "serve/link/link_parts.h"

#include "net/tls/tls.h"
#include "noise/secret.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

ptrdiff_t tc_link_pull(tc_link *link, unsigned char *bytes, size_t size) {
    if (link->ssl == NULL) {
        ssize_t got = recv(link->descriptor, bytes, size, 0);
        if (got >= 0)
            return got;
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? TC_LINK_AGAIN : TC_LINK_FAILED;
    }
    size_t got = 0;
    tc_tls_forget_errors();
    tc_socket_turn(&link->socket);
    bool has_data = tc_tls_read(link->ssl, bytes, size, &got);
    int error = has_data ? SSL_ERROR_NONE : SSL_get_error(link->ssl, 0);
    if (tc_socket_is_hollow(&link->socket, has_data))
        return TC_LINK_HOLLOW;
    if (has_data)
        return (ptrdiff_t)got;
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? TC_LINK_AGAIN : TC_LINK_FAILED;
}

/* Bytes of frames may be private states: nothing of them is left behind. */
static void drop(tc_link *link) {
    tc_secret_wipe(link->in, link->in_room);
    free(link->in);
    link->in = NULL;
    link->in_size = link->in_room = 0;
}

static bool grow(tc_link *link, size_t wanted) {
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

/* Keeps what is not a whole frame yet, in a buffer that can take all of it. */
static bool keep(tc_link *link, const unsigned char *bytes, size_t size, size_t wanted) {
    if (size == 0) {
        if (link->in != NULL)
            drop(link);
        return true;
    }
    bool is_there = bytes == link->in;
    link->in_size = is_there ? size : 0;
    if (!grow(link, wanted)) /* also where the next frame is longer than what kept the last */
        return false;
    if (!is_there)
        memcpy(link->in, bytes, size);
    link->in_size = size;
    return true;
}

/* Gives every whole frame to the owner. False: the link is no longer read. */
static bool cut(tc_link *link, const unsigned char *bytes, size_t size) {
    tc_links *links = link->links;
    tc_frame frame;
    size_t taken, wanted, at = 0;
    for (;;) {
        tc_cut result = tc_frame_cut(bytes + at, size - at, link->most_body, &frame, &taken, &wanted);
        if (result == TC_CUT_MORE)
            break;
        if (result != TC_CUT_FRAME) {
            tc_link_refuse(link, TC_REFUSED_FRAME, tc_cut_text(result));
            return false;
        }
        at += taken;
        links->figures.frames++;
        links->owner.frame(links->owner.context, link, &frame);
        if (link->state != TC_LINK_OPEN)
            return false;
        if (link->out_size > 0) { /* the rest waits until the answer has left */
            wanted = size - at;
            link->is_uncut = at < size;
            break;
        }
    }
    if (bytes == link->in && at > 0 && at < size)
        memmove(link->in, link->in + at, size - at);
    if (!keep(link, bytes == link->in ? bytes : bytes + at, size - at, wanted)) {
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

/* One read into a buffer that begins with what is kept; false: that is all for now. *used: bytes of the buffer. */
static bool read_into(tc_link *link, unsigned char *to, size_t room, size_t *used) {
    *used = link->in_size;
    ptrdiff_t got = tc_link_pull(link, to + *used, room - *used);
    if (got == TC_LINK_AGAIN)
        return false;
    if (got == TC_LINK_HOLLOW) {
        tc_link_refuse(link, TC_REFUSED_FRAME, TC_SOCKET_HOLLOW);
        return false;
    }
    if (got <= 0) {
        lost(link, got);
        return false;
    }
    *used += (size_t)got;
    link->links->figures.bytes_in += (uint64_t)got;
    return cut(link, to, *used) && has_more(link);
}

/* One read of a record, or of what the network has. False: that is all for now. */
static bool read_once(tc_link *link) {
    unsigned char *scratch = link->links->scratch;
    size_t used;
    if (link->in_room > TC_LINK_SCRATCH / 2) /* a long frame grows where it is */
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

/* A connection that always has more must not keep the others waiting: after its turn it queues again. */
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
    tc_link_queue(link);
}

void tc_link_resume(tc_link *link) {
    if (event_add(&link->reading, NULL) != 0) {
        tc_link_kill(link, TC_LINK_BROKEN, "memory is out");
        return;
    }
    if (link->is_uncut || has_more(link)) /* bytes that no event will tell of */
        tc_link_queue(link);
}

/* A timer of no time: unlike an event that is made active, it lets the loop look at the descriptors in between. */
void tc_link_queue(tc_link *link) {
    static const struct timeval no_time;
    tc_ring_join(&link->links->more, &link->more);
    if (event_add(&link->links->again, &no_time) != 0)
        tc_link_kill(link, TC_LINK_BROKEN, "memory is out");
}

static tc_link *of_more(tc_ring *more) { return (tc_link *)(void *)((unsigned char *)more - offsetof(tc_link, more)); }

void tc_link_on_again(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_links *links = context;
    size_t count = 0;
    for (tc_ring *at = links->more.after; at != &links->more; at = at->after)
        count++;
    for (; count > 0 && !tc_ring_is_empty(&links->more); count--) { /* who queues again waits for the next time */
        tc_link *link = of_more(links->more.after);
        tc_ring_leave(&link->more);
        tc_link_on_readable(link->descriptor, EV_READ, link);
    }
}
