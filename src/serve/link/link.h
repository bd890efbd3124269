/* The cloud's connections: frames come in, bytes go out, over TLS called directly on plain events.
 *
 * A connection is silent until its first byte and costs little; then it shakes hands, and is open when its certificate
 * has been accepted. Silent and shaking ones are capped in number, in time and in the loop's time that they take: where
 * there are too many, the oldest gives way of those from where most come, so that those who never finish cannot keep
 * agents out. What cannot be sent at once is kept, up to a limit, and
 * while anything is kept the connection is not read: who does not take answers cannot say more.
 *
 * Everything happens in the thread of the event base. Callbacks may send on and close any link; a link that was closed
 * stays valid until the callback returns, and its owner is told once. */
#ifndef TC_SERVE_LINK_LINK_H
#define TC_SERVE_LINK_LINK_H

#include "net/wire/frame.h"
#include "net/tls/certificate.h"
#include "net/wire/message.h"

#include <event2/event.h>
#include <openssl/ssl.h>
#include <stdbool.h>

typedef struct tc_links tc_links; /* all connections of a cloud */
typedef struct tc_link tc_link;   /* one of them */

#define TC_LINK_ENDS(X)                                                                                                \
    X(TC_LINK_LEFT, "left")           /* the peer closed it */                                                         \
    X(TC_LINK_BROKEN, "broken")       /* the network or TLS failed */                                                  \
    X(TC_LINK_REFUSED, "refused")     /* what the peer is or said was refused */                                       \
    X(TC_LINK_SLOW, "slow")           /* it did not read, or did not finish its handshake in time */                   \
    X(TC_LINK_CROWDED_OUT, "crowded") /* the oldest of too many that were not open yet */                              \
    X(TC_LINK_CLOSED, "closed")       /* from this side */
typedef enum tc_link_end {
#define X(code, name) code,
    TC_LINK_ENDS(X)
#undef X
} tc_link_end;
const char *tc_link_end_name(tc_link_end end);

typedef struct tc_link_owner {
    void (*opened)(void *context, tc_link *link);
    /* The frame's body is good until the callback returns. */
    void (*frame)(void *context, tc_link *link, const tc_frame *frame);
    /* Everything that was kept has been given to the network. */
    void (*drained)(void *context, tc_link *link);
    /* Also of links that were never open. why: one line, static or good until the callback returns. */
    void (*closed)(void *context, tc_link *link, tc_link_end end, const char *why);
    void *context;
} tc_link_owner;

typedef struct tc_links_settings {
    SSL_CTX *tls; /* a reference is taken; NULL: in plain text, for measurements on loopback */
    tc_link_owner owner;
    size_t most_silent;    /* 0: 4096 */
    size_t most_shaking;   /* 0: 256 */
    unsigned open_seconds; /* for the first byte, and again for the handshake; 0: 10 */
    unsigned slow_seconds; /* for kept output to move at all; 0: 30 */
    size_t most_kept;      /* bytes of output kept for a link; 0: 1 MiB */
} tc_links_settings;

/* NULL where memory is out. */
tc_links *tc_links_new(struct event_base *base, const tc_links_settings *settings) TC_MUST_USE;
/* Closes all of them. Not from a callback. */
void tc_links_free(tc_links *links);
/* For connections from now on. */
void tc_links_set_tls(tc_links *links, SSL_CTX *tls);

typedef struct tc_links_figures {
    size_t silent, shaking, open;
    uint64_t accepted, opened, failed; /* failed: ended before they were open */
    uint64_t frames, bytes_in, bytes_out;
} tc_links_figures;
tc_links_figures tc_links_count(const tc_links *links);

/* Rounds go on: for a while newcomers get less of the loop's time. */
void tc_links_set_busy(tc_links *links);

/* Takes over a connected descriptor, which is closed where this fails. */
void tc_links_take(tc_links *links, int descriptor);

/* Whom the peer's certificate names; NULL in plain text. */
const tc_identity *tc_link_identity(const tc_link *link);
/* How many open connections have shown the same certificate, this one among them; 0 in plain text. */
size_t tc_link_alike(const tc_link *link);
bool tc_link_is_alike(const tc_link *one, const tc_link *other);
/* For the operator's log: "192.0.2.7:41234" or "[2001:db8::1]:41234", and "a1, a2 and 12 more" of the certificate. NULL
 * where it is not known. */
enum { TC_PEER_TEXT = 64, TC_PEER_NAMES = 512 };
const char *tc_link_peer(const tc_link *link, char text[TC_PEER_TEXT]);
const char *tc_link_names(const tc_link *link, char text[TC_PEER_NAMES]);
/* Bodies of frames that are accepted: at first TC_MOST_CONTROL. */
void tc_link_allow(tc_link *link, uint32_t most_body);
/* The owner's own. */
void tc_link_set_user(tc_link *link, void *user);
void *tc_link_user(const tc_link *link);

/* Sends whole frames, all of them with as few records as they fit in; what does not leave now is copied and kept. */
void tc_link_send(tc_link *link, const unsigned char *bytes, size_t size);
bool tc_link_is_drained(const tc_link *link);

/* Says why, and closes when that has been sent or after two seconds. slot: TC_NO_SLOT. reason: NULL for the code's own.
 */
void tc_link_refuse(tc_link *link, tc_refusal_code code, const char *reason);
/* What is kept is sent first, for two seconds at most. */
void tc_link_close(tc_link *link);

#endif
