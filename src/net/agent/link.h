/* An agent's connection to the cloud: a non-blocking socket, TLS, frames in and out. It has no event loop: the owner
 * calls it when the descriptor is ready or the deadline has passed. It raises no SIGPIPE.
 *
 * Only the resolver may block: it is asked when the cloud's address is a name and not a number. */
#ifndef TC_NET_AGENT_LINK_H
#define TC_NET_AGENT_LINK_H

#include "base/arena.h"
#include "net/agent/agent.h"
#include "net/address.h"
#include "net/tls/tls.h"
#include "net/message.h"

#include <netdb.h>
#include <openssl/ssl.h>

typedef struct tc_agent_link tc_agent_link;

typedef struct tc_agent_link_settings {
    const char *cloud;          /* "host:port", "[::1]:7575"; several with commas between them */
    const char *keys;           /* the agent's folder of keys, read for each connection; NULL: plain text */
    size_t most_body;           /* of a received frame */
    size_t in_bytes;            /* size of the read buffer; at least one frame fits */
    size_t most_out;            /* bytes that may wait to be sent */
    unsigned open_milliseconds; /* for connecting, and again for the handshake; 0: 10,000. Connecting to one of several
                                   addresses takes at most TC_AGENT_CONNECT: a dead machine delays the next address */
} tc_agent_link_settings;

/* Reads the keys, to report errors in them now. TC_BAD_USAGE, TC_CANNOT_READ with a message. The texts of settings stay
 * the caller's. The arena closes it. */
tc_status tc_agent_link_new(tc_arena *arena, const tc_agent_link_settings *settings, tc_buffer *messages,
                            tc_agent_link **link) TC_MUST_USE;

/* Milliseconds of a clock that is never set back. */
uint64_t tc_agent_clock(void);

#define TC_AGENT_LINK_STATES(X)                                                                                        \
    X(TC_AGENT_LINK_OFF)                                                                                               \
    X(TC_AGENT_LINK_CONNECTING)                                                                                        \
    X(TC_AGENT_LINK_SHAKING)                                                                                           \
    X(TC_AGENT_LINK_OPEN)
typedef enum tc_agent_link_state {
#define X(code) code,
    TC_AGENT_LINK_STATES(X)
#undef X
} tc_agent_link_state;
tc_agent_link_state tc_agent_link_is(const tc_agent_link *link);

/* The cloud's addresses, by number. */
size_t tc_agent_link_clouds(const tc_agent_link *link);
const char *tc_agent_link_cloud(const tc_agent_link *link, size_t cloud);

/* Reads the keys again, for the next connection. False: why they cannot be used; those before stay. */
bool tc_agent_link_renew(tc_agent_link *link, char why[TC_AGENT_WHY]) TC_MUST_USE;

/* Starts to connect to the address of this number. The state is OFF if that fails at once, as after every loss of a
 * connection. */
void tc_agent_link_begin(tc_agent_link *link, size_t cloud);
/* Continues: tries what else the host's name stands for, the handshake, sends what waits. */
void tc_agent_link_advance(tc_agent_link *link);
/* Closes at once. why: for tc_agent_link_why. */
void tc_agent_link_end(tc_agent_link *link, const char *why);
/* Why it is OFF, in one line. Valid until the next call. */
const char *tc_agent_link_why(const tc_agent_link *link);

/* The agents that our own certificate names: "elm", "elm and 2 more". False: none, or no certificate. */
enum { TC_AGENT_HOLDER = 100 };
bool tc_agent_link_holder(const tc_agent_link *link, char names[TC_AGENT_HOLDER]);

/* Room for a frame of this size; the next advance sends it. NULL: too much waits already. */
unsigned char *tc_agent_link_put(tc_agent_link *link, size_t size) TC_MUST_USE;

/* Reads once from the network. False: nothing there, or it is OFF. */
bool tc_agent_link_read(tc_agent_link *link);
/* OpenSSL has buffered more, which the descriptor does not show: read again before waiting. */
bool tc_agent_link_has_more(const tc_agent_link *link);
/* The next complete frame, valid until the next read. False: none; if the stream was broken, it is OFF. */
bool tc_agent_link_next(tc_agent_link *link, tc_frame *frame);

int tc_agent_link_descriptor(const tc_agent_link *link); /* -1 while OFF */
typedef struct tc_agent_link_wants {
    bool read, write;
    bool now;          /* do not wait */
    uint64_t deadline; /* 0 for none */
} tc_agent_link_wants;
tc_agent_link_wants tc_agent_link_wish(const tc_agent_link *link);

/* ---- Its fields, for link.c and tests ---- */

enum {
    TC_AGENT_STALL = 30000,  /* milliseconds in which no byte could be sent */
    TC_AGENT_CONNECT = 4000, /* milliseconds for connecting, if the cloud has several addresses */
    TC_AGENT_PATIENCE = 20   /* seconds until a lost machine is noticed, if the cloud has several addresses */
};

struct tc_agent_link {
    tc_agent_link_settings settings;
    tc_addresses clouds;
    const char *host, *port, *cloud; /* of the address that is tried or connected; cloud: both, as it was written */
    tc_agent_link_state state;
    int descriptor;
    struct addrinfo *addresses, *address; /* while connecting */
    SSL_CTX *tls;
    BIO_METHOD *method;
    SSL *ssl;
    tc_socket socket;
    bool shake_writes; /* the handshake waits to write */
    bool has_more;     /* OpenSSL has buffered more */
    uint64_t deadline;
    unsigned char *in, *out;
    size_t in_room, in_at, in_size;
    size_t out_at, out_size;
    char why[TC_AGENT_WHY];
    char early[TC_AGENT_WHY]; /* why there is no TLS context yet */
};

#endif
