/* The life of a connection, from its first byte to its end. */
#include "serve/link/links.h"

#include "base/machine.h"
#include "noise/secret.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

const char *tc_link_end_name(tc_link_end end) {
    static const char *const names[] = {
#define X(code, name) name,
        TC_LINK_ENDS(X)
#undef X
    };
    return names[end];
}

time_t tc_link_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static tc_ring *list_of(tc_links *links, tc_link_state state) {
    switch (state) {
    case TC_LINK_SILENT:
        return &links->silent;
    case TC_LINK_SHAKING:
        return &links->shaking;
    case TC_LINK_OPEN:
        return &links->open;
    case TC_LINK_PARTING:
    case TC_LINK_LINGERING:
        return &links->parting;
    case TC_LINK_DEAD:
        break;
    }
    return &links->dead;
}

static atomic_size_t *count_of(tc_links *links, tc_link_state state) {
    return state == TC_LINK_SILENT    ? &links->counts.silent
           : state == TC_LINK_SHAKING ? &links->counts.shaking
           : state == TC_LINK_OPEN    ? &links->counts.open
                                      : NULL;
}

void tc_link_enter(tc_link *link, tc_link_state state) {
    tc_links *links = link->links;
    atomic_size_t *before = count_of(links, link->state), *after = count_of(links, state);
    if (before != NULL)
        TC_COUNT(*before, (size_t)-1);
    if (after != NULL)
        TC_COUNT(*after, (size_t)1);
    tc_door_count(links, link, link->state, -1);
    tc_door_count(links, link, state, 1);
    if (link->holder != NULL && link->state == TC_LINK_OPEN)
        (void)atomic_fetch_sub(&link->holder->open, 1);
    if (link->holder != NULL && state == TC_LINK_OPEN)
        (void)atomic_fetch_add(&link->holder->open, 1);
    link->state = state;
    tc_ring_join(list_of(links, state), &link->ring);
}

/* Callers may still hold the link, so bury frees it in the next turn of the loop. */
void tc_link_kill(tc_link *link, tc_link_end end, const char *why) {
    if (link->state == TC_LINK_DEAD)
        return;
    tc_links *links = link->links;
    bool told = link->state == TC_LINK_PARTING || link->state == TC_LINK_LINGERING;
    if (!link->was_open)
        TC_COUNT(links->counts.failed, 1U);
    tc_link_enter(link, TC_LINK_DEAD);
    tc_ring_leave(&link->waiting);
    tc_ring_leave(&link->more);
    (void)event_del(&link->reading);
    (void)event_del(&link->writing);
    if (!told)
        links->owner.closed(links->owner.context, link, end, why);
    event_active(&links->bury, EV_TIMEOUT, 0);
}

static void free_link(tc_link *link) {
    tc_ring_leave(&link->ring);
    SSL_free(link->ssl);
    (void)close(link->descriptor);
    tc_holder_drop(link->links->holders, link->holder);
    link->links->churn++;
    tc_secret_wipe(link->in, link->in_room);
    free(link->in);
    free(link->out);
    free(link);
}

static void bury(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_links *links = context;
    double began = tc_door_begin();
    while (!tc_ring_is_empty(&links->dead))
        free_link((tc_link *)(void *)links->dead.after);
    tc_door_end(links, began);
}

/* ---- the first bytes ---- */

static void refuse_plain(tc_link *link) {
    static const char text[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
                               "This port speaks TLS 1.3 and the protocol " TC_TLS_PROTOCOL ".\n";
    (void)send(link->descriptor, text, sizeof text - 1, MSG_NOSIGNAL);
    /* Unread bytes would make close send a reset, and our answer could be lost. */
    (void)recv(link->descriptor, link->links->scratch, TC_LINK_SCRATCH, 0);
    tc_link_kill(link, TC_LINK_REFUSED, "its first byte was not TLS");
}

static void open_link(tc_link *link) {
    tc_socket_opened(&link->socket);
    link->was_open = true;
    TC_COUNT(link->links->counts.opened, 1U);
    link->links->churn++;
    tc_link_enter(link, TC_LINK_OPEN);
    link->links->owner.opened(link->links->owner.context, link);
}

static void shake(tc_link *link) {
    ERR_clear_error();
    tc_socket_turn(&link->socket);
    int result = SSL_do_handshake(link->ssl);
    if (result != 1) {
        int error = SSL_get_error(link->ssl, result);
        if (tc_socket_is_long(&link->socket)) {
            tc_link_kill(link, TC_LINK_REFUSED, TC_SOCKET_LONG);
            return;
        }
        if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
            if (!tc_link_want_write(link, error == SSL_ERROR_WANT_WRITE))
                tc_link_kill(link, TC_LINK_BROKEN, "memory is out");
            return;
        }
        tc_link_kill(link, TC_LINK_BROKEN, tc_socket_failure(&link->socket, link->ssl));
        return;
    }
    (void)tc_link_want_write(link, false);
    const char *refused = tc_tls_refuse(link->ssl);
    if (refused != NULL) {
        tc_link_kill(link, TC_LINK_REFUSED, refused);
        return;
    }
    if (!tc_holder_find(link, SSL_get0_peer_certificate(link->ssl)))
        tc_link_kill(link, TC_LINK_BROKEN, "memory is out");
    else if (tc_identity_count(link->holder->identity) > TC_MOST_CERTIFICATE_NAMES)
        tc_link_kill(link, TC_LINK_REFUSED, "the certificate names more than 1,000 agents");
    else
        open_link(link);
}

/* 0x16 begins a TLS handshake; anything else is refused before memory is spent on it. */
static void greet(tc_link *link) {
    tc_links *links = link->links;
    unsigned char first;
    ssize_t got = recv(link->descriptor, &first, 1, MSG_PEEK);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        tc_link_kill(link, TC_LINK_LEFT, "it said nothing");
        return;
    }
    if (links->is_plain) {
        open_link(link);
        return;
    }
    if (first != 0x16) {
        refuse_plain(link);
        return;
    }
    link->deadline = tc_link_now() + (time_t)links->settings.open_seconds; /* the list stays in order of deadlines */
    tc_link_enter(link, TC_LINK_SHAKING);
    link->ssl = tc_tls_accept(links->tls, link->descriptor);
    if (link->ssl == NULL || !tc_socket_bio_set(link->ssl, links->socket_bio, &link->socket, &link->descriptor)) {
        tc_link_kill(link, TC_LINK_BROKEN, "memory is out");
        return;
    }
    SSL_set_app_data(link->ssl, link);
    tc_door_make_room(&links->shaking, links->door.shaking, TC_SEEN(links->counts.shaking),
                      links->settings.most_shaking);
    if (link->state == TC_LINK_SHAKING)
        shake(link);
}

/* ---- every second ---- */

/* At most some hundreds in one turn, since others wait; the rest follows in the next second. */
static void end_late(tc_ring *list, time_t now, tc_link_end end, const char *why) {
    enum { AT_ONCE = 512 };
    for (unsigned i = 0; i < AT_ONCE && !tc_ring_is_empty(list); i++) {
        tc_link *oldest = (tc_link *)(void *)list->after;
        if (oldest->deadline > now)
            return;
        tc_link_kill(oldest, end, why);
    }
}

static tc_link *of_waiting(tc_ring *waiting) {
    return (tc_link *)(void *)((unsigned char *)waiting - offsetof(tc_link, waiting));
}

/* Many handshakes and ends leave freed memory scattered among memory in use. Giving it back takes milliseconds, so it
 * is done seldom. */
static void give_back(tc_links *links, time_t now) {
    enum { MANY = 256, SECONDS = 5 };
    if (links->churn < MANY || now < links->given_back_at + SECONDS)
        return;
    TC_GIVE_BACK_MEMORY();
    links->churn = 0;
    links->given_back_at = now;
}

/* Lists are in order of deadlines, so this looks only at links that it ends. */
static void tick(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_links *links = context;
    time_t now = tc_link_now();
    end_late(&links->silent, now, TC_LINK_SLOW, "no first byte in time");
    end_late(&links->shaking, now, TC_LINK_SLOW, "no whole handshake in time");
    end_late(&links->parting, now, TC_LINK_CLOSED, "closed");
    time_t oldest = now - (time_t)links->settings.slow_seconds;
    while (!tc_ring_is_empty(&links->kept) && of_waiting(links->kept.after)->deadline <= oldest)
        tc_link_kill(of_waiting(links->kept.after), TC_LINK_SLOW, "what was sent is not being read");
    give_back(links, now);
}

/* ---- all of them ---- */

static void fill_in(tc_links_settings *settings) {
    settings->most_silent = settings->most_silent == 0 ? TC_LINKS_SILENT : settings->most_silent;
    settings->most_shaking = settings->most_shaking == 0 ? TC_LINKS_SHAKING : settings->most_shaking;
    settings->open_seconds = settings->open_seconds == 0 ? 10 : settings->open_seconds;
    settings->slow_seconds = settings->slow_seconds == 0 ? 30 : settings->slow_seconds;
    settings->most_kept = settings->most_kept == 0 ? (size_t)1 << 20 : settings->most_kept;
}

tc_links *tc_links_new(struct event_base *base, const tc_links_settings *settings) {
    tc_links *links = calloc(1, sizeof *links);
    if (links == NULL)
        return NULL;
    links->base = base;
    links->settings = *settings;
    fill_in(&links->settings);
    links->owner = settings->owner;
    links->is_plain = settings->tls == NULL;
    tc_ring *lists[] = {&links->silent, &links->shaking, &links->open, &links->parting,
                        &links->dead,   &links->kept,    &links->more};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        tc_ring_clear(lists[i]);
    links->own_holders = settings->holders == NULL ? tc_holders_new() : NULL;
    links->holders = settings->holders == NULL ? links->own_holders : settings->holders;
    struct timeval second = {.tv_sec = 1};
    links->socket_bio = tc_socket_bio_method();
    links->sender = tc_sender_new();
    if (links->socket_bio == NULL || links->sender == NULL || links->holders == NULL || !tc_door_new(links) ||
        event_assign(&links->bury, base, -1, 0, bury, links) != 0 ||
        event_assign(&links->again, base, -1, 0, tc_link_on_again, links) != 0 ||
        event_assign(&links->tick, base, -1, EV_PERSIST, tick, links) != 0 || event_add(&links->tick, &second) != 0) {
        BIO_meth_free(links->socket_bio);
        tc_sender_free(links->sender);
        tc_holders_free(links->own_holders);
        free(links);
        return NULL;
    }
    tc_links_set_tls(links, settings->tls);
    return links;
}

void tc_links_share_tls(tc_links *links, SSL_CTX *tls) {
    if (tls != NULL)
        (void)SSL_CTX_up_ref(tls);
    SSL_CTX_free(links->tls);
    links->tls = tls;
}

void tc_links_set_tls(tc_links *links, SSL_CTX *tls) {
    tc_links_share_tls(links, tls);
    if (tls != NULL)
        SSL_CTX_set_cert_verify_callback(tls, tc_holder_verify, NULL);
}

void tc_links_free(tc_links *links) {
    if (links == NULL)
        return;
    tc_ring *lists[] = {&links->silent, &links->shaking, &links->open, &links->parting};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        while (!tc_ring_is_empty(lists[i]))
            tc_link_kill((tc_link *)(void *)lists[i]->after, TC_LINK_CLOSED, "closed");
    bury(-1, 0, links);
    (void)event_del(&links->tick);
    (void)event_del(&links->bury);
    (void)event_del(&links->again);
    (void)event_del(&links->door.turn);
    SSL_CTX_free(links->tls);
    BIO_meth_free(links->socket_bio);
    tc_sender_free(links->sender);
    tc_holders_free(links->own_holders);
    free(links);
}

tc_links_figures tc_links_count(const tc_links *links) {
    const tc_links_counts *counts = &links->counts;
    return (tc_links_figures){.silent = TC_SEEN(counts->silent),
                              .shaking = TC_SEEN(counts->shaking),
                              .open = TC_SEEN(counts->open),
                              .accepted = TC_SEEN(counts->accepted),
                              .opened = TC_SEEN(counts->opened),
                              .failed = TC_SEEN(counts->failed),
                              .frames = TC_SEEN(counts->frames),
                              .bytes_in = TC_SEEN(counts->bytes_in),
                              .bytes_out = TC_SEEN(counts->bytes_out)};
}

tc_links_figures tc_links_traffic(const tc_links *links) {
    const tc_links_counts *counts = &links->counts;
    return (tc_links_figures){.frames = TC_SEEN(counts->shown_frames),
                              .bytes_in = TC_SEEN(counts->shown_in),
                              .bytes_out = TC_SEEN(counts->shown_out)};
}

void tc_links_set_busy(tc_links *links) {
    tc_links_counts *counts = &links->counts;
    tc_door_set_busy(links);
    atomic_store_explicit(&counts->shown_frames, TC_SEEN(counts->frames), memory_order_relaxed);
    atomic_store_explicit(&counts->shown_in, TC_SEEN(counts->bytes_in), memory_order_relaxed);
    atomic_store_explicit(&counts->shown_out, TC_SEEN(counts->bytes_out), memory_order_relaxed);
}

void tc_links_take(tc_links *links, int descriptor) {
    tc_link *link = calloc(1, sizeof *link);
    if (link == NULL) {
        (void)close(descriptor);
        return;
    }
    *link = (tc_link){.links = links,
                      .descriptor = descriptor,
                      .state = TC_LINK_DEAD,
                      .most_body = TC_MOST_CONTROL,
                      .deadline = tc_link_now() + (time_t)links->settings.open_seconds};
    tc_ring_clear(&link->ring);
    tc_ring_clear(&link->waiting);
    tc_ring_clear(&link->more);
    if (event_assign(&link->reading, links->base, descriptor, EV_READ | EV_PERSIST, tc_link_on_readable, link) != 0 ||
        event_assign(&link->writing, links->base, descriptor, EV_WRITE | EV_PERSIST, tc_link_on_writable, link) != 0 ||
        event_add(&link->reading, NULL) != 0) {
        free_link(link);
        return;
    }
    tc_link_find_peer(link);
    link->way = tc_door_way(links, &link->peer);
    TC_COUNT(links->counts.accepted, 1U);
    tc_link_enter(link, TC_LINK_SILENT);
    tc_door_make_room(&links->silent, links->door.silent, TC_SEEN(links->counts.silent), links->settings.most_silent);
}

const tc_identity *tc_link_identity(const tc_link *link) {
    return link->holder == NULL ? NULL : link->holder->identity;
}
void tc_link_allow(tc_link *link, uint32_t most_body) { link->most_body = most_body; }
void tc_link_set_user(tc_link *link, void *user) { link->user = user; }
void *tc_link_user(const tc_link *link) { return link->user; }

void tc_link_welcome(tc_link *link) {
    if (link->state == TC_LINK_SILENT)
        greet(link);
    else if (link->state == TC_LINK_SHAKING)
        shake(link);
    if (link->state == TC_LINK_OPEN) /* its first frames may have come with the handshake */
        tc_link_read(link);
}

void tc_link_on_readable(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_link *link = context;
    if (link->state == TC_LINK_SILENT || link->state == TC_LINK_SHAKING)
        tc_link_knock(link);
    else if (link->state == TC_LINK_OPEN || link->state == TC_LINK_LINGERING)
        tc_link_read(link);
}
