/* The structs of the connections, shared by link.c, door.c, traffic.c and their owners. The pages do not see them. */
#ifndef TC_SERVE_LINK_LINKS_H
#define TC_SERVE_LINK_LINKS_H

#include "net/tls/tls.h"
#include "serve/link/link.h"
#include "serve/link/sender.h"

#include <event2/event_struct.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

typedef enum tc_link_state {
    TC_LINK_SILENT,  /* no byte yet, no TLS */
    TC_LINK_SHAKING, /* in the handshake */
    TC_LINK_OPEN,
    TC_LINK_PARTING,   /* buffered output is sent; nothing is read */
    TC_LINK_LINGERING, /* all was sent; discards the peer's last bytes, so that it receives ours */
    TC_LINK_DEAD,      /* the owner was told; freed in the next turn of the loop */
} tc_link_state;

typedef struct tc_ring { /* a doubly linked list with a head, oldest first */
    struct tc_ring *before, *after;
} tc_ring;

typedef struct tc_peer { /* smaller than a sockaddr_storage */
    unsigned char address[16];
    uint16_t port;
    enum { TC_PEER_UNKNOWN, TC_PEER_IPV4, TC_PEER_IPV6 } family;
} tc_peer;

enum { TC_HOLDER_HASH = 32, TC_HOLDER_BUCKETS = 1024 };

typedef struct tc_holder { /* a certificate, shared by the connections that have shown it */
    tc_ring ring;          /* in its bucket; must be first */
    unsigned char hash[TC_HOLDER_HASH];
    X509 *certificate;
    tc_identity *identity;
    size_t links;       /* connections with it */
    atomic_size_t open; /* the open ones of them */
} tc_holder;

struct tc_holders {
    pthread_mutex_t mutex; /* guards the lists and the counts of links */
    tc_ring buckets[TC_HOLDER_BUCKETS];
};

enum { TC_DOOR_WAYS = 64 };

typedef struct tc_door { /* the newcomers' budget and queues: door.c */
    double credit;       /* seconds of processor time */
    double filled_at, busy_until;
    struct event turn;
    tc_ring ways[TC_DOOR_WAYS]; /* waiting links, by class of address */
    unsigned way;
    size_t silent[TC_DOOR_WAYS], shaking[TC_DOOR_WAYS];
    uint64_t key[2];
} tc_door;

struct tc_link {
    tc_ring ring;    /* in the list of its state; must be first */
    tc_ring waiting; /* in links->kept while output is buffered */
    tc_ring more;    /* open: in links->more while buffered bytes wait, without an event; before: in the door's queue */
    tc_links *links;
    SSL *ssl; /* NULL before the first byte, and in plain text */
    tc_socket socket;
    struct event reading, writing;
    int descriptor;
    tc_link_state state;
    bool wants_write; /* the writing event is added */
    bool was_open;    /* the owner was told */
    uint32_t most_body;
    time_t deadline;   /* of its state; in links->kept: when output last moved */
    unsigned char *in; /* the start of an incomplete frame */
    size_t in_size, in_room;
    size_t thrown;      /* bytes discarded while lingering */
    bool is_uncut;      /* `in` may hold complete frames: reading paused for buffered output */
    unsigned char *out; /* buffered output: out_size bytes from out_at on */
    size_t out_at, out_size, out_room;
    size_t out_sealed; /* the first so many are sealed: encrypted already */
    tc_holder *holder; /* NULL before a certificate was checked, and in plain text */
    unsigned way;      /* class of its address */
    tc_peer peer;
    void *user;
    tc_link_end end;
};

enum {
    TC_LINK_SCRATCH = 1 << 16,
    TC_LINK_PART_SECONDS = 2,
    TC_LINK_TURN = 16,            /* reads of one link before the others */
    TC_LINK_MOST_THROWN = 1 << 20 /* bytes discarded while lingering */
};

/* Written by the loop's own thread only, so a load and a store count without a lock. */
typedef struct tc_links_counts {
    atomic_size_t silent, shaking, open;
    _Atomic uint64_t accepted, opened, failed;
    _Atomic uint64_t frames, bytes_in, bytes_out;
    _Atomic uint64_t shown_frames, shown_in, shown_out; /* when a round was last answered */
} tc_links_counts;
#define TC_SEEN(counter) atomic_load_explicit(&(counter), memory_order_relaxed)
#define TC_COUNT(counter, more) atomic_store_explicit(&(counter), TC_SEEN(counter) + (more), memory_order_relaxed)

struct tc_links {
    struct event_base *base;
    SSL_CTX *tls;
    BIO_METHOD *socket_bio;
    tc_sender *sender;
    bool is_plain;
    tc_link_owner owner;
    tc_links_settings settings;
    struct event tick, bury, again;
    tc_ring silent, shaking, open, parting, dead, kept, more;
    tc_holders *holders, *own_holders; /* own: NULL if they are shared */
    tc_door door;
    uint64_t churn; /* connections opened or freed since memory was last given back to the system */
    time_t given_back_at;
    tc_links_counts counts;
    unsigned char scratch[TC_LINK_SCRATCH];
};

static inline void tc_ring_clear(tc_ring *ring) { ring->before = ring->after = ring; }
static inline bool tc_ring_is_empty(const tc_ring *ring) { return ring->after == ring; }
static inline void tc_ring_leave(tc_ring *item) {
    item->before->after = item->after;
    item->after->before = item->before;
    tc_ring_clear(item);
}
static inline void tc_ring_join(tc_ring *ring, tc_ring *item) {
    tc_ring_leave(item);
    item->before = ring->before;
    item->after = ring;
    ring->before->after = item;
    ring->before = item;
}

/* Moves all of a list to an empty one. */
static inline void tc_ring_move(tc_ring *to, tc_ring *from) {
    if (tc_ring_is_empty(from))
        return;
    *to = *from;
    to->before->after = to->after->before = to;
    tc_ring_clear(from);
}

/* ---- newcomers: door.c ---- */

bool tc_door_new(tc_links *links) TC_MUST_USE;
void tc_door_set_busy(tc_links *links); /* rounds go on */
/* Whether there is time for newcomers now; if not, how long to wait. */
bool tc_door_is_open(tc_links *links);
struct timeval tc_door_wait(tc_links *links);
/* Call around work for them: it is charged to the budget. */
double tc_door_begin(void);
void tc_door_end(tc_links *links, double began);
/* A link that is not open is readable or writable: handles it now, or queues it. */
void tc_link_knock(tc_link *link);
/* Handles it: its first byte, or the next step of its handshake. */
void tc_link_welcome(tc_link *link);
unsigned tc_door_way(const tc_links *links, const tc_peer *peer); /* the class of an address */
/* Adds `more` to the number of links of this state in its class. */
void tc_door_count(tc_links *links, const tc_link *link, tc_link_state state, int more);
/* If count is above most: closes the oldest link of the class that has the most. */
void tc_door_make_room(tc_ring *list, const size_t counts[TC_DOOR_WAYS], size_t count, size_t most);

/* SipHash-2-4, so that nobody can choose names or addresses that collide. */
uint64_t tc_keyed_hash(const uint64_t key[2], const unsigned char *bytes, size_t size);

/* ---- certificates: door.c ---- */

/* Sets link->holder, made if there is none. False: out of memory. */
bool tc_holder_find(tc_link *link, X509 *certificate) TC_MUST_USE;
void tc_holder_drop(tc_holders *holders, tc_holder *holder);
/* OpenSSL's callback: verifies, and shares the certificate's object between connections. */
int tc_holder_verify(X509_STORE_CTX *check, void *context);

/* Seconds of a clock that is never set back. */
time_t tc_link_now(void);

/* Changes the state, its list and its counters. */
void tc_link_enter(tc_link *link, tc_link_state state);
void tc_link_find_peer(tc_link *link);
/* Ends the connection now. */
void tc_link_kill(tc_link *link, tc_link_end end, const char *why);

/* The writing event's callback: buffered output, or the handshake. */
void tc_link_on_writable(evutil_socket_t descriptor, short what, void *context);
void tc_link_on_readable(evutil_socket_t descriptor, short what, void *context);
void tc_link_read(tc_link *link);
/* The callback for queued links. */
void tc_link_on_again(evutil_socket_t descriptor, short what, void *context);
bool tc_link_want_write(tc_link *link, bool wanted);

#endif
