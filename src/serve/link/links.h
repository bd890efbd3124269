/* What the files of the connections share. */
#ifndef TC_SERVE_LINK_LINKS_H
#define TC_SERVE_LINK_LINKS_H

#include "net/tls/tls.h"
#include "serve/link/link.h"

#include <event2/event_struct.h>
#include <sys/time.h>
#include <time.h>

typedef enum tc_link_state {
    TC_LINK_SILENT,  /* no byte yet, no TLS */
    TC_LINK_SHAKING, /* in the handshake */
    TC_LINK_OPEN,
    TC_LINK_PARTING,   /* kept output leaves; nothing is read */
    TC_LINK_LINGERING, /* nothing more to say: the peer's last bytes are thrown away, so that it hears the end */
    TC_LINK_DEAD,      /* the owner knows; freed when the loop comes round */
} tc_link_state;

typedef struct tc_ring { /* a list with a head; the oldest first */
    struct tc_ring *before, *after;
} tc_ring;

typedef struct tc_peer { /* without the rest of a sockaddr_storage, for each of ten thousand */
    unsigned char address[16];
    uint16_t port;
    enum { TC_PEER_UNKNOWN, TC_PEER_IPV4, TC_PEER_IPV6 } family;
} tc_peer;

enum { TC_HOLDER_HASH = 32, TC_HOLDER_BUCKETS = 1024 };

typedef struct tc_holder { /* a certificate that connections have shown; with the last of them it goes */
    tc_ring ring;          /* in its bucket; must be first */
    unsigned char hash[TC_HOLDER_HASH];
    X509 *certificate;
    tc_identity *identity;
    size_t links, open; /* connections that have shown it; those of them that are open */
} tc_holder;

enum { TC_DOOR_WAYS = 64 };

typedef struct tc_door { /* link_door.c */
    double credit;       /* seconds of the processor */
    double filled_at, busy_until;
    struct event turn;
    tc_ring ways[TC_DOOR_WAYS]; /* who waits, by class of address */
    unsigned way;
    size_t silent[TC_DOOR_WAYS], shaking[TC_DOOR_WAYS];
    uint64_t key[2];
} tc_door;

struct tc_link {
    tc_ring ring;    /* in the list of its state; must be first */
    tc_ring waiting; /* in links->kept while output is kept */
    tc_ring more;    /* in links->more while it has bytes that no event will tell of; before, where it waits its turn */
    tc_links *links;
    SSL *ssl; /* NULL before the first byte, and in plain text */
    tc_socket socket;
    struct event reading, writing;
    int descriptor;
    tc_link_state state;
    bool wants_write; /* the writing event is in */
    bool was_open;    /* the owner has been told so */
    uint32_t most_body;
    time_t deadline;   /* of its state; of kept output in links->kept: when it last moved */
    unsigned char *in; /* the beginning of a frame that is not whole */
    size_t in_size, in_room;
    size_t thrown;      /* bytes that came when there was nothing more to say */
    bool is_uncut;      /* there may be whole frames among them: kept output came between */
    unsigned char *out; /* kept output: out_size bytes from out_at on */
    size_t out_at, out_size, out_room;
    tc_holder *holder; /* NULL before a certificate was checked, and in plain text */
    unsigned way;      /* class of its address */
    tc_peer peer;
    void *user;
    tc_link_end end;
};

enum { TC_LINK_SCRATCH = 1 << 16, TC_LINK_PART_SECONDS = 2, TC_LINK_TURN = 16, TC_LINK_MOST_THROWN = 1 << 20 };

struct tc_links {
    struct event_base *base;
    SSL_CTX *tls;
    BIO_METHOD *socket_bio;
    bool is_plain;
    tc_link_owner owner;
    tc_links_settings settings;
    struct event tick, bury, again;
    tc_ring silent, shaking, open, parting, dead, kept, more;
    tc_ring holders[TC_HOLDER_BUCKETS];
    tc_door door;
    uint64_t churn; /* connections that were opened or freed since memory was given back */
    time_t given_back_at;
    tc_links_figures figures;
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

/* ---- newcomers: link_door.c ---- */

bool tc_door_new(tc_links *links) TC_MUST_USE;
/* Whether there is time for newcomers now, and if not, how long until there is. */
bool tc_door_is_open(tc_links *links);
struct timeval tc_door_wait(tc_links *links);
/* Around what is done for them. */
double tc_door_begin(void);
void tc_door_end(tc_links *links, double began);
/* One that is not open has something to say: it is heard now, or queues. */
void tc_link_knock(tc_link *link);
/* What it has to say. */
void tc_link_welcome(tc_link *link);
unsigned tc_door_way(const tc_links *links, const tc_peer *peer);
void tc_door_count(tc_links *links, const tc_link *link, tc_link_state state, int more);
void tc_door_make_room(tc_ring *list, const size_t counts[TC_DOOR_WAYS], size_t count, size_t most);

/* ---- certificates: link_holder.c ---- */

/* The connection's holder, made where there is none. False: memory is out. */
bool tc_holder_find(tc_link *link, X509 *certificate) TC_MUST_USE;
void tc_holder_drop(tc_holder *holder);
int tc_holder_verify(X509_STORE_CTX *check, void *context);

/* Seconds of a clock that is never set back. */
time_t tc_link_now(void);

/* Changes the state, its list and its counters. */
void tc_link_enter(tc_link *link, tc_link_state state);
void tc_link_find_peer(tc_link *link);
/* Ends the connection now. */
void tc_link_kill(tc_link *link, tc_link_end end, const char *why);

/* Bytes that came (0: the peer is done) or went, or one of these; HOLLOW: records without data came, too many: */
enum { TC_LINK_AGAIN = -1, TC_LINK_FAILED = -2, TC_LINK_HOLLOW = -3 };
ptrdiff_t tc_link_pull(tc_link *link, unsigned char *bytes, size_t size);
ptrdiff_t tc_link_push(tc_link *link, const unsigned char *bytes, size_t size);

/* Reading goes on where it was stopped for kept output. */
void tc_link_resume(tc_link *link);
/* The writing event's callback: kept output, or the handshake. */
void tc_link_on_writable(evutil_socket_t descriptor, short what, void *context);
void tc_link_on_readable(evutil_socket_t descriptor, short what, void *context);
void tc_link_shake(tc_link *link);
void tc_link_read(tc_link *link);
/* It is read again when all others that are ready have been. */
void tc_link_queue(tc_link *link);
/* The event's callback for those that queued. */
void tc_link_on_again(evutil_socket_t descriptor, short what, void *context);
bool tc_link_want_write(tc_link *link, bool wanted);

#endif
