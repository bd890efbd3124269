/* What the files of agent_link share. */
#ifndef TC_NET_AGENT_LINK_PARTS_H
#define TC_NET_AGENT_LINK_PARTS_H

#include "net/agent/agent_link.h"
#include "net/tls/socket_bio.h"

#include <netdb.h>
#include <openssl/ssl.h>

enum { TC_AGENT_WHY = 240, TC_AGENT_STALL = 30000 /* milliseconds without any byte leaving */ };

struct tc_agent_link {
    tc_agent_link_settings settings;
    const char *host, *port;
    tc_agent_link_state state;
    int descriptor;
    struct addrinfo *addresses, *address; /* of a connection that is being made */
    SSL_CTX *tls;
    BIO_METHOD *method;
    SSL *ssl;
    tc_socket socket;
    bool shake_writes; /* the handshake waits for room */
    bool has_more;     /* read, but not all that was there */
    uint64_t deadline;
    unsigned char *in, *out;
    size_t in_room, in_at, in_size;
    size_t out_at, out_size;
    char why[TC_AGENT_WHY];
    char early[TC_AGENT_WHY]; /* why there is no context yet */
};

/* Splits "host:port" and reads keys into link->tls; on a later failure the context of before stays. TC_OK without one
 * where the certificate is not valid yet. */
tc_status tc_agent_link_address(tc_arena *arena, tc_agent_link *link, tc_buffer *messages) TC_MUST_USE;
tc_status tc_agent_link_keys(tc_arena *arena, tc_agent_link *link, tc_buffer *messages) TC_MUST_USE;
/* The same with an arena of its own, for later connections. */
void tc_agent_link_renew_keys(tc_agent_link *link);

/* A socket for the next address. False: there is none left, and why says what the last one said. */
bool tc_agent_link_try_address(tc_agent_link *link);
bool tc_agent_link_find(tc_agent_link *link);
void tc_agent_link_forget_addresses(tc_agent_link *link);

#endif
