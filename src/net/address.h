/* Addresses as people write them, and the options of sockets; for the cloud and the agents. */
#ifndef TC_NET_ADDRESS_H
#define TC_NET_ADDRESS_H

#include "base/arena.h"
#include "base/status.h"

#include <stdbool.h>
#include <sys/socket.h>

enum { TC_MOST_HOST = 255, TC_MOST_PORT = 5, TC_MOST_ADDRESSES = 16 };

typedef struct tc_address {
    char host[TC_MOST_HOST + 1]; /* without brackets; may be empty */
    char port[TC_MOST_PORT + 1]; /* digits, at most 65535 */
} tc_address;

/* "HOST:PORT", or "[HOST]:PORT" where the host has colons. */
bool tc_address_read(const char *text, tc_address *address);

/* Where a cloud may be reached, in the order in which agents try. */
typedef struct tc_addresses {
    tc_address *each;
    const char **texts; /* as they were written: "[::1]:7575" */
    size_t count;       /* 1 to TC_MOST_ADDRESSES */
} tc_addresses;

/* "HOST:PORT", or several with commas between them. All have a host, and no two are alike. TC_BAD_USAGE with a
 * message. */
tc_status tc_addresses_read(tc_arena *arena, const char *text, tc_buffer *messages,
                            tc_addresses *addresses) TC_MUST_USE;

/* Whether the address can only be reached from this machine. */
bool tc_address_is_loopback(const struct sockaddr *address);

/* Makes a TCP socket non-blocking, without delay (TCP_NODELAY), closed on exec, and able to notice after a minute that
 * the peer's machine is gone. */
bool tc_socket_set_up(int descriptor);

/* Notices that after about so many seconds, at least 4, whether the connection is idle or bytes wait to be
 * acknowledged. */
void tc_socket_set_patience(int descriptor, int seconds);

/* Whether a socket has connected to itself. That can happen where nobody listens at an ephemeral port: the system may
 * give the connecting socket this very port. The connection would block the port for the real listener, even for a
 * minute after its end. */
bool tc_socket_met_itself(int descriptor);

#endif
