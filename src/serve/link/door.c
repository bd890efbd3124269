/* Newcomers: who they are, which certificate they show, and how much of the loop's time they get. */
#include "serve/link/links.h"

#include "serve/log.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/rand.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

/* ---- SipHash-2-4 (Aumasson and Bernstein, 2012) ---- */

typedef struct words {
    uint64_t a, b, c, d;
} words;

static inline uint64_t turn(uint64_t x, unsigned by) { return x << by | x >> (64 - by); }

static inline void mix(words *w) {
    w->a += w->b;
    w->b = turn(w->b, 13) ^ w->a;
    w->a = turn(w->a, 32);
    w->c += w->d;
    w->d = turn(w->d, 16) ^ w->c;
    w->a += w->d;
    w->d = turn(w->d, 21) ^ w->a;
    w->c += w->b;
    w->b = turn(w->b, 17) ^ w->c;
    w->c = turn(w->c, 32);
}

static inline void take(words *w, uint64_t word) {
    w->d ^= word;
    mix(w);
    mix(w);
    w->a ^= word;
}

uint64_t tc_keyed_hash(const uint64_t key[2], const unsigned char *bytes, size_t size) {
    words w = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
               key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    size_t at = 0;
    uint64_t word;
    for (; size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word); /* in the machine's byte order: the hash never leaves the process */
        take(&w, word);
    }
    unsigned char last[sizeof word] = {0};
    if (size > at)
        memcpy(last, bytes + at, size - at);
    last[sizeof word - 1] = (unsigned char)size;
    memcpy(&word, last, sizeof word);
    take(&w, word);
    w.c ^= 0xff;
    for (unsigned i = 0; i < 4; i++)
        mix(&w);
    return w.a ^ w.b ^ w.c ^ w.d;
}

/* ---- The peer, for the log ---- */

/* Called when the connection arrives: after a reset the address is gone. */
void tc_link_find_peer(tc_link *link) {
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    memset(&link->peer, 0, sizeof link->peer);
    if (getpeername(link->descriptor, (struct sockaddr *)&name, &size) != 0)
        return;
    if (name.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&name;
        memcpy(link->peer.address, &v4->sin_addr, sizeof v4->sin_addr);
        link->peer.port = ntohs(v4->sin_port);
        link->peer.family = TC_PEER_IPV4;
    } else if (name.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&name;
        bool is_mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
        const unsigned char *bytes = (const unsigned char *)&v6->sin6_addr;
        memcpy(link->peer.address, is_mapped ? bytes + 12 : bytes, is_mapped ? 4 : sizeof link->peer.address);
        link->peer.port = ntohs(v6->sin6_port);
        link->peer.family = is_mapped ? TC_PEER_IPV4 : TC_PEER_IPV6;
    }
}

const char *tc_link_peer(const tc_link *link, char text[TC_PEER_TEXT]) {
    char address[INET6_ADDRSTRLEN];
    const tc_peer *peer = &link->peer;
    if (peer->family == TC_PEER_UNKNOWN ||
        inet_ntop(peer->family == TC_PEER_IPV4 ? AF_INET : AF_INET6, peer->address, address, sizeof address) == NULL)
        return NULL;
    (void)snprintf(text, TC_PEER_TEXT, peer->family == TC_PEER_IPV4 ? "%s:%u" : "[%s]:%u", address,
                   (unsigned)peer->port);
    return text;
}

const char *tc_link_names(const tc_link *link, char text[TC_PEER_NAMES]) {
    size_t length = 0, count = link->holder == NULL ? 0 : tc_identity_count(link->holder->identity);
    if (count == 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const char *name = tc_identity_name(link->holder->identity, i);
        if (length + strlen(name) + 32 > TC_PEER_NAMES) {
            (void)snprintf(text + length, TC_PEER_NAMES - length, "%s%zu more", i > 0 ? " and " : "", count - i);
            break;
        }
        length += (size_t)snprintf(text + length, TC_PEER_NAMES - length, "%s%s", i > 0 ? ", " : "", name);
    }
    return text;
}

/* ---- Certificates ----
 *
 * A gateway's certificate names a thousand agents and takes 200 KiB when it is parsed. It is parsed once, and all its
 * connections, of all loops, share the result and OpenSSL's object. Both are only read. */

tc_holders *tc_holders_new(void) {
    tc_holders *made = malloc(sizeof *made);
    if (made == NULL)
        return NULL;
    for (size_t i = 0; i < TC_HOLDER_BUCKETS; i++)
        tc_ring_clear(&made->buckets[i]);
    if (pthread_mutex_init(&made->mutex, NULL) == 0)
        return made;
    free(made);
    return NULL;
}

void tc_holders_free(tc_holders *holders) {
    if (holders == NULL)
        return;
    (void)pthread_mutex_destroy(&holders->mutex);
    free(holders);
}

static tc_ring *bucket(tc_holders *holders, const unsigned char hash[TC_HOLDER_HASH]) {
    return &holders->buckets[(hash[0] | hash[1] << 8) % TC_HOLDER_BUCKETS];
}

static tc_holder *find(tc_holders *holders, const unsigned char hash[TC_HOLDER_HASH]) {
    tc_ring *all = bucket(holders, hash);
    for (tc_ring *at = all->after; at != all; at = at->after) {
        tc_holder *holder = (tc_holder *)(void *)at;
        if (memcmp(holder->hash, hash, TC_HOLDER_HASH) == 0)
            return holder;
    }
    return NULL;
}

static tc_holder *make(tc_holders *holders, X509 *certificate, const unsigned char hash[TC_HOLDER_HASH]) {
    tc_holder *made = calloc(1, sizeof *made);
    tc_identity *identity = made == NULL ? NULL : tc_identity_new(certificate);
    if (identity == NULL || X509_up_ref(certificate) != 1) {
        tc_identity_free(identity);
        free(made);
        return NULL;
    }
    made->certificate = certificate;
    made->identity = identity;
    memcpy(made->hash, hash, TC_HOLDER_HASH);
    tc_ring_clear(&made->ring);
    tc_ring_join(bucket(holders, hash), &made->ring);
    return made;
}

void tc_holder_drop(tc_holders *holders, tc_holder *holder) {
    if (holder == NULL)
        return;
    (void)pthread_mutex_lock(&holders->mutex);
    bool is_used = --holder->links > 0;
    if (!is_used)
        tc_ring_leave(&holder->ring);
    (void)pthread_mutex_unlock(&holders->mutex);
    if (is_used)
        return;
    X509_free(holder->certificate);
    tc_identity_free(holder->identity);
    free(holder);
}

bool tc_holder_find(tc_link *link, X509 *certificate) {
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (link->holder != NULL)
        return true;
    if (certificate == NULL || X509_digest(certificate, EVP_sha256(), hash, &size) != 1 || size != TC_HOLDER_HASH)
        return false;
    tc_holders *holders = link->links->holders;
    (void)pthread_mutex_lock(&holders->mutex);
    tc_holder *found = find(holders, hash);
    if (found == NULL)
        found = make(holders, certificate, hash);
    if (found != NULL)
        found->links++;
    (void)pthread_mutex_unlock(&holders->mutex);
    link->holder = found;
    return found != NULL;
}

static void exchange(STACK_OF(X509) * chain, X509 *own, X509 *shared) {
    if (chain == NULL || sk_X509_num(chain) < 1 || sk_X509_value(chain, 0) != own || own == shared ||
        X509_up_ref(shared) != 1)
        return;
    (void)sk_X509_set(chain, 0, shared);
    X509_free(own);
}

/* If the same certificate is known already, the known object replaces the one that OpenSSL has just parsed, in the
 * received chain and in the verified chain. */
int tc_holder_verify(X509_STORE_CTX *check, void *context) {
    (void)context;
    int good = X509_verify_cert(check);
    SSL *ssl = X509_STORE_CTX_get_ex_data(check, SSL_get_ex_data_X509_STORE_CTX_idx());
    tc_link *link = ssl == NULL ? NULL : SSL_get_app_data(ssl);
    X509 *own = X509_STORE_CTX_get0_cert(check);
    if (good != 1 || link == NULL || !tc_holder_find(link, own))
        return good;
    exchange(X509_STORE_CTX_get0_chain(check), own, link->holder->certificate);
    exchange(X509_STORE_CTX_get0_untrusted(check), own, link->holder->certificate);
    return good;
}

size_t tc_link_alike(const tc_link *link) { return link->holder == NULL ? 0 : atomic_load(&link->holder->open); }

bool tc_link_is_alike(const tc_link *one, const tc_link *other) {
    return one->holder != NULL && one->holder == other->holder;
}

/* ---- The share of time ----
 *
 * A handshake costs as much as several rounds, and anybody may ask for one. So all work for connections that are not
 * open (accept, first byte, handshake, end) is paid from a budget of processor time: a fifth of the time while rounds
 * go on, most of it otherwise. What cannot be paid now waits in one of 64 queues, by class of address, which are served
 * in turn: a flood from one address delays itself. Handshakes in progress go before new ones. */

static const double SHARE = 0.2, IDLE_SHARE = 0.8; /* of the time: while rounds go on, and otherwise */
static const double BUSY_SECONDS = 0.05;           /* rounds count as going on for this long after one */
static const double SLICE = 0.002, LEAST = 0.0005; /* seconds: the largest credit, and the credit to wait for */

void tc_door_set_busy(tc_links *links) { links->door.busy_until = tc_serve_now() + BUSY_SECONDS; }

static double share(const tc_door *door, double now) { return now < door->busy_until ? SHARE : IDLE_SHARE; }

static void fill(tc_door *door) {
    double now = tc_serve_now();
    door->credit += share(door, now) * (now - door->filled_at);
    door->credit = door->credit < SLICE ? door->credit : SLICE;
    door->filled_at = now;
}

bool tc_door_is_open(tc_links *links) {
    if (links->door.credit <= 0)
        fill(&links->door);
    return links->door.credit > 0;
}

struct timeval tc_door_wait(tc_links *links) {
    tc_door *door = &links->door;
    double wait = (LEAST - door->credit) / share(door, tc_serve_now());
    wait = wait < 0.001 ? 0.001 : wait > 0.5 ? 0.5 : wait;
    return (struct timeval){.tv_usec = (suseconds_t)(1e6 * wait)};
}

double tc_door_begin(void) { return tc_serve_worked(); }

void tc_door_end(tc_links *links, double began) {
    double spent = tc_serve_worked() - began;
    links->door.credit -= spent > 0 ? spent : 0;
}

/* ---- who is next ---- */

static bool is_anybody_waiting(const tc_door *door) {
    for (size_t i = 0; i < TC_DOOR_WAYS; i++)
        if (!tc_ring_is_empty(&door->ways[i]))
            return true;
    return false;
}

static void arm(tc_links *links) {
    struct timeval wait = tc_door_wait(links);
    if (!evtimer_pending(&links->door.turn, NULL) && event_add(&links->door.turn, &wait) != 0)
        event_active(&links->door.turn, EV_TIMEOUT, 0);
}

static void step(tc_links *links, tc_link *link) {
    double began = tc_door_begin();
    tc_link_welcome(link);
    tc_door_end(links, began);
}

/* Puts it last in its queue, first if it is in a handshake. Removes its events meanwhile: they would fire at once. */
static void queue(tc_links *links, tc_link *link) {
    tc_ring *way = &links->door.ways[link->way];
    (void)event_del(&link->reading);
    (void)tc_link_want_write(link, false);
    tc_ring_join(link->state == TC_LINK_SHAKING ? way->after : way, &link->more);
    arm(links);
}

void tc_link_knock(tc_link *link) {
    tc_links *links = link->links;
    if (!tc_ring_is_empty(&link->more)) /* already queued */
        return;
    if (is_anybody_waiting(&links->door) || !tc_door_is_open(links))
        queue(links, link);
    else
        step(links, link);
}

static tc_link *next(tc_door *door) {
    for (size_t i = 0; i < TC_DOOR_WAYS; i++) {
        door->way = (door->way + 1) % TC_DOOR_WAYS;
        tc_ring *way = &door->ways[door->way];
        if (!tc_ring_is_empty(way))
            return (tc_link *)(void *)((unsigned char *)way->after - offsetof(tc_link, more));
    }
    return NULL;
}

static void on_turn(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_links *links = context;
    tc_link *link;
    while (tc_door_is_open(links) && (link = next(&links->door)) != NULL) {
        tc_ring_leave(&link->more);
        if (event_add(&link->reading, NULL) != 0)
            tc_link_kill(link, TC_LINK_BROKEN, "memory is out");
        else
            step(links, link);
    }
    if (is_anybody_waiting(&links->door))
        arm(links);
}

bool tc_door_new(tc_links *links) {
    tc_door *door = &links->door;
    for (size_t i = 0; i < TC_DOOR_WAYS; i++)
        tc_ring_clear(&door->ways[i]);
    door->filled_at = tc_serve_now();
    door->credit = SLICE;
    return RAND_bytes((unsigned char *)door->key, sizeof door->key) == 1 &&
           event_assign(&door->turn, links->base, -1, 0, on_turn, links) == 0;
}

/* ---- who is closed when there are too many ---- */

/* For IPv6 the network of 64 bits: its owner has all of its addresses. */
unsigned tc_door_way(const tc_links *links, const tc_peer *peer) {
    size_t size = peer->family == TC_PEER_IPV4 ? 4 : 8;
    return (unsigned)(tc_keyed_hash(links->door.key, peer->address, size) % TC_DOOR_WAYS);
}

void tc_door_count(tc_links *links, const tc_link *link, tc_link_state state, int more) {
    size_t *counts = state == TC_LINK_SILENT    ? links->door.silent
                     : state == TC_LINK_SHAKING ? links->door.shaking
                                                : NULL;
    if (counts != NULL)
        counts[link->way] += (size_t)more;
}

void tc_door_make_room(tc_ring *list, const size_t counts[TC_DOOR_WAYS], size_t count, size_t most) {
    unsigned fullest = 0;
    if (count <= most)
        return;
    for (unsigned i = 1; i < TC_DOOR_WAYS; i++)
        fullest = counts[i] > counts[fullest] ? i : fullest;
    for (tc_ring *at = list->after; at != list; at = at->after) {
        tc_link *link = (tc_link *)(void *)at;
        if (link->way != fullest)
            continue;
        tc_link_kill(link, TC_LINK_CROWDED_OUT, "too many connections that are not open");
        return;
    }
}
