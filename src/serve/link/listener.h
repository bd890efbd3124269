/* Where connections come from. */
#ifndef TC_SERVE_LINK_LISTENER_H
#define TC_SERVE_LINK_LISTENER_H

#include "serve/link/link.h"

typedef struct tc_listener tc_listener;

/* Listens at "HOST:PORT", "[::1]:7500" or ":7500" (all addresses of IPv6 and IPv4); port 0: any free one. Connections
 * go to links, which may be NULL until tc_listener_serve; none is accepted before the loop runs. loopback_only:
 * TC_BAD_USAGE for an address that other machines can reach. TC_BAD_USAGE, TC_CANNOT_READ (the system refuses the
 * address) with a message. */
tc_status tc_listener_new(tc_links *links, struct event_base *base, const char *address, bool loopback_only,
                          tc_buffer *messages, tc_listener **listener) TC_MUST_USE;
void tc_listener_serve(tc_listener *listener, tc_links *links);
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
