/* Addresses as people write them, and the options of sockets; for the cloud and the agents. */
#ifndef TC_NET_ADDRESS_H
#define TC_NET_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

enum { TC_MOST_HOST = 255, TC_MOST_PORT = 5 };

typedef struct tc_address {
    char host[TC_MOST_HOST + 1]; /* without brackets; may be empty */
    char port[TC_MOST_PORT + 1]; /* digits, at most 65535 */
} tc_address;

/* "HOST:PORT", or "[HOST]:PORT" where the host has colons. */
bool tc_address_read(const char *text, tc_address *address);

/* Whether the address can only be reached from this machine. */
bool tc_address_is_loopback(const struct sockaddr *address);

/* Makes a TCP socket non-blocking, without delay (TCP_NODELAY), closed on exec, and able to notice within a minute that
 * the peer's machine is gone. */
bool tc_socket_set_up(int descriptor);

/* Whether a socket has connected to itself. That can happen where nobody listens at an ephemeral port: the system may
 * give the connecting socket this very port. The connection would block the port for the real listener, even for a
 * minute after its end. */
bool tc_socket_met_itself(int descriptor);

#endif
