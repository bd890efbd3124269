/* The cloud's connections: frames in, bytes out, with OpenSSL called directly on libevent's plain events.
 *
 * A connection is silent until its first byte and costs little. Then it shakes hands, and is open when its certificate
 * was accepted. Silent and shaking connections are limited in number, in time and in their share of the loop's time. If
 * there are too many, the oldest one from the most frequent class of addresses is closed, so that clients that never
 * finish cannot keep agents out.
 *
 * A link buffers unsent bytes, up to a limit, and pauses reading until they are drained.
 *
 * Everything happens in the thread of the event base, except counting. Callbacks may send on and close any link. A
 * closed link stays valid until the callback returns, and its owner is told once. */
#ifndef TC_SERVE_LINK_LINK_H
#define TC_SERVE_LINK_LINK_H

#include "net/message.h"
#include "net/tls/certificate.h"

#include <event2/event.h>
#include <openssl/ssl.h>
#include <stdbool.h>

typedef struct tc_links tc_links;     /* all connections of a loop */
typedef struct tc_link tc_link;       /* one of them */
typedef struct tc_holders tc_holders; /* the certificates that connections have shown */

#define TC_LINK_ENDS(X)                                                                                                \
    X(TC_LINK_LEFT, "left")           /* the peer closed it */                                                         \
    X(TC_LINK_BROKEN, "broken")       /* the network or TLS failed */                                                  \
    X(TC_LINK_REFUSED, "refused")     /* the peer or its message was refused */                                        \
    X(TC_LINK_SLOW, "slow")           /* it did not read, or did not finish its handshake in time */                   \
    X(TC_LINK_CROWDED_OUT, "crowded") /* one of too many that were not open yet */                                     \
    X(TC_LINK_CLOSED, "closed")       /* by this side */
typedef enum tc_link_end {
#define X(code, name) code,
    TC_LINK_ENDS(X)
#undef X
} tc_link_end;
const char *tc_link_end_name(tc_link_end end);

typedef struct tc_link_owner {
    void (*opened)(void *context, tc_link *link);
    /* The frame's body is valid until the callback returns. */
    void (*frame)(void *context, tc_link *link, const tc_frame *frame);
    /* All buffered bytes were sent. */
    void (*drained)(void *context, tc_link *link);
    /* Also for links that were never open. why: one line, valid until the callback returns. */
    void (*closed)(void *context, tc_link *link, tc_link_end end, const char *why);
    void *context;
} tc_link_owner;

enum { TC_LINKS_SILENT = 4096, TC_LINKS_SHAKING = 256 };

typedef struct tc_links_settings {
    SSL_CTX *tls;        /* takes a reference; NULL: plain text, on loopback */
    tc_holders *holders; /* shared with other loops, and outlives these links; NULL: their own */
    tc_link_owner owner;
    size_t most_silent;    /* 0: TC_LINKS_SILENT */
    size_t most_shaking;   /* 0: TC_LINKS_SHAKING */
    unsigned open_seconds; /* for the first byte, and again for the handshake; 0: 10 */
    unsigned slow_seconds; /* without any progress of buffered output; 0: 30 */
    size_t most_kept;      /* bytes of output buffered for a link; 0: 1 MiB */
} tc_links_settings;

/* NULL: out of memory. */
tc_holders *tc_holders_new(void) TC_MUST_USE;
void tc_holders_free(tc_holders *holders); /* after all links that use them; may be NULL */

/* NULL: out of memory. */
tc_links *tc_links_new(struct event_base *base, const tc_links_settings *settings) TC_MUST_USE;
/* Closes all links. Not from a callback. */
void tc_links_free(tc_links *links);
/* For new connections. The second is for a context that another loop's links were given before. */
void tc_links_set_tls(tc_links *links, SSL_CTX *tls);
void tc_links_share_tls(tc_links *links, SSL_CTX *tls);

typedef struct tc_links_figures {
    size_t silent, shaking, open;
    uint64_t accepted, opened, failed; /* failed: ended before they were open */
    uint64_t frames, bytes_in, bytes_out;
} tc_links_figures;
/* From any thread. */
tc_links_figures tc_links_count(const tc_links *links);
/* Frames and bytes at the last call of tc_links_set_busy; the rest is 0. From any thread. */
tc_links_figures tc_links_traffic(const tc_links *links);

/* A round was answered: for a while newcomers get less of the loop's time. */
void tc_links_set_busy(tc_links *links);

/* Takes over a connected descriptor; closes it on failure. */
void tc_links_take(tc_links *links, int descriptor);

/* The agents that the peer's certificate names; NULL in plain text. */
const tc_identity *tc_link_identity(const tc_link *link);
/* Open connections with the same certificate, this one included; 0 in plain text. */
size_t tc_link_alike(const tc_link *link);
bool tc_link_is_alike(const tc_link *one, const tc_link *other);
/* For the log: "192.0.2.7:41234" or "[2001:db8::1]:41234"; the certificate's "a1, a2 and 12 more". NULL: unknown. */
enum { TC_PEER_TEXT = 64, TC_PEER_NAMES = 512 };
const char *tc_link_peer(const tc_link *link, char text[TC_PEER_TEXT]);
const char *tc_link_names(const tc_link *link, char text[TC_PEER_NAMES]);
/* The longest accepted body of a frame; at first TC_MOST_CONTROL. */
void tc_link_allow(tc_link *link, uint32_t most_body);
/* A pointer for the owner. */
void tc_link_set_user(tc_link *link, void *user);
void *tc_link_user(const tc_link *link);

/* Sends complete frames in as few TLS records as possible; copies and buffers what cannot be sent now. */
void tc_link_send(tc_link *link, const unsigned char *bytes, size_t size);
bool tc_link_is_drained(const tc_link *link);

/* ---- Sealed bytes ----
 *
 * Sealing encrypts what leaves later: after a commit, or together with others, which costs less (sender.h). In between
 * neither the loop may run nor anything else be sent on these links. */
typedef struct tc_sealed { /* of several links of one loop, one after the other */
    unsigned char *bytes;  /* the owner's */
    size_t room, size;
    size_t count; /* of links */
} tc_sealed;
/* How many links' sealed bytes to send together: 1 where the system sends them one by one. */
size_t tc_link_together(const tc_link *link);
/* Whether there is room for so many bytes. */
bool tc_link_may_seal(size_t size, const tc_sealed *sealed);
/* The link must be drained, and there must be room. */
void tc_link_seal(tc_link *link, const unsigned char *bytes, size_t size, tc_sealed *sealed);
void tc_sealed_send(tc_sealed *sealed);
/* They never leave. Nothing can be sent on their links any more: TLS numbers its records. */
void tc_sealed_discard(tc_sealed *sealed);

/* Sends a refusal of the connection, and closes when it was sent or after two seconds. reason: NULL for the code's
 * text. */
void tc_link_refuse(tc_link *link, tc_refusal_code code, const char *reason);
/* Sends buffered bytes first, for two seconds at most. */
void tc_link_close(tc_link *link);

/* ---- The port: listener.c ---- */

typedef struct tc_listener tc_listener;

typedef void tc_take_link(void *context, int descriptor);

/* Listens at "HOST:PORT", "[::1]:7500" or ":7500" (all addresses of IPv6 and IPv4); port 0: any free one. Connections
 * go to links, which may be NULL until tc_listener_serve; none is accepted before the loop runs. loopback_only:
 * TC_BAD_USAGE for an address that other machines can reach. TC_BAD_USAGE, TC_CANNOT_READ (the system refuses the
 * address) with a message. */
tc_status tc_listener_new(tc_links *links, struct event_base *base, const char *address, bool loopback_only,
                          tc_buffer *messages, tc_listener **listener) TC_MUST_USE;
void tc_listener_serve(tc_listener *listener, tc_links *links);
/* Gives descriptors to `take` instead, on the time of these links. */
void tc_listener_share(tc_listener *listener, tc_links *links, tc_take_link *take, void *context);
void tc_listener_free(tc_listener *listener);

unsigned tc_listener_port(const tc_listener *listener);

/* Opens a non-blocking listening socket at an address as above. loopback_only: why other machines are refused; NULL:
 * they are not. is_loopback: whether only this machine can reach it. */
tc_status tc_listen_at(const char *address, const char *loopback_only, tc_buffer *messages, int *descriptor,
                       bool *is_loopback) TC_MUST_USE;
unsigned tc_port_of(int descriptor);

/* Raises the soft limit of open files to the hard one, and returns it. */
size_t tc_listener_raise_limit(void);

#endif
