/* An agent's connection to its cloud: one socket that never blocks, TLS on it, frames in and out. No event loop: the
 * owner calls when the descriptor is ready, or the time has come. Signals are not touched: what is sent to a peer that
 * has gone is an error and nothing else.
 *
 * Finding a host's address by name may block for as long as the system's resolver takes; numeric addresses never do. */
#ifndef TC_NET_AGENT_LINK_H
#define TC_NET_AGENT_LINK_H

#include "base/buffer.h"
#include "net/wire/frame.h"

typedef struct tc_agent_link tc_agent_link;

typedef struct tc_agent_link_settings {
    const char *cloud;          /* "host:port", "[::1]:7575" */
    const char *keys;           /* the agent's folder of keys, read anew for each connection; NULL: in plain text */
    size_t most_body;           /* of frames that are accepted */
    size_t in_bytes;            /* what a read should have room for; at least a frame is */
    size_t most_out;            /* bytes that may wait for the network */
    unsigned open_milliseconds; /* for the connection, and again for the handshake; 0: 10,000 */
} tc_agent_link_settings;

/* Reads the keys once, so that what is wrong with them is said now. TC_BAD_USAGE, TC_CANNOT_READ with a message. The
 * texts of settings stay the caller's. It is closed with the arena. */
tc_status tc_agent_link_new(tc_arena *arena, const tc_agent_link_settings *settings, tc_buffer *messages,
                            tc_agent_link **link) TC_MUST_USE;

/* Milliseconds of a clock that only goes forward. */
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

/* Begins a connection. Where that fails at once, it is OFF afterwards, as whenever a connection is lost. */
void tc_agent_link_begin(tc_agent_link *link);
/* Goes on with what was begun: the next address, the handshake, what waits to be sent. */
void tc_agent_link_advance(tc_agent_link *link);
/* Closes at once; why: what tc_agent_link_why says then. */
void tc_agent_link_end(tc_agent_link *link, const char *why);
/* Why it is OFF: one line, good until the next call. */
const char *tc_agent_link_why(const tc_agent_link *link);

/* Whom the own certificate of the open connection names: "elm", "elm and 2 more". False: nobody, or there is none. */
enum { TC_AGENT_HOLDER = 100 };
bool tc_agent_link_holder(const tc_agent_link *link, char names[TC_AGENT_HOLDER]);

/* Where a frame of this size may be encoded: it is sent with the next advance. NULL: too much waits already. */
unsigned char *tc_agent_link_put(tc_agent_link *link, size_t size) TC_MUST_USE;

/* Reads what the network has, once. False: nothing for now, or it is OFF. */
bool tc_agent_link_read(tc_agent_link *link);
/* There is more that the descriptor does not tell of; without it, whoever waits for the descriptor misses nothing. */
bool tc_agent_link_has_more(const tc_agent_link *link);
/* The next whole frame of what was read, good until the next read. False: none, or the stream was broken, and OFF. */
bool tc_agent_link_next(tc_agent_link *link, tc_frame *frame);

int tc_agent_link_descriptor(const tc_agent_link *link); /* -1 while OFF */
typedef struct tc_agent_link_wants {
    bool read, write;
    bool now;          /* there is something to do already */
    uint64_t deadline; /* 0 for none */
} tc_agent_link_wants;
tc_agent_link_wants tc_agent_link_wish(const tc_agent_link *link);

#endif
