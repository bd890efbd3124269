/* Addresses as people write them, and the sockets that go with them: the same for the cloud and its agents. */
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

/* Whether this machine alone can be meant. */
bool tc_address_is_loopback(const struct sockaddr *address);

/* A TCP socket that does not block, sends without delay, notices within a minute that a peer's machine is gone, and
 * does not outlive an exec. */
bool tc_socket_set_up(int descriptor);

/* Where nobody listens at a port that the system gives out, a socket that connects to it may be given that port, and so
 * meet itself. It would keep the port from whoever is to listen there, for a minute after its end too. */
bool tc_socket_met_itself(int descriptor);

#endif
