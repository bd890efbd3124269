/* Where connections come from. */
#ifndef TC_SERVE_LINK_LISTENER_H
#define TC_SERVE_LINK_LISTENER_H

#include "serve/link/link.h"

typedef struct tc_listener tc_listener;

/* Listens at "HOST:PORT", "[::1]:7500" or ":7500" (every address, of IPv6 and of IPv4); port 0: any free one.
 * Connections go to links, which may be NULL until tc_listener_serve: before the loop goes round nobody is let in.
 * loopback_only: TC_BAD_USAGE for an address that others can reach. TC_BAD_USAGE, TC_CANNOT_READ (the system refuses
 * the address), with a message. */
tc_status tc_listener_new(tc_links *links, struct event_base *base, const char *address, bool loopback_only,
                          tc_buffer *messages, tc_listener **listener) TC_MUST_USE;
void tc_listener_serve(tc_listener *listener, tc_links *links);
void tc_listener_free(tc_listener *listener);

unsigned tc_listener_port(const tc_listener *listener);

/* Opens a listening socket that does not block, at an address as above. loopback_only: why others are refused; NULL:
 * they are not. is_loopback: whether this machine alone can reach it. */
tc_status tc_listen_at(const char *address, const char *loopback_only, tc_buffer *messages, int *descriptor,
                       bool *is_loopback) TC_MUST_USE;
unsigned tc_port_of(int descriptor);

/* Raises the soft limit of open files to the hard one, and returns it. */
size_t tc_listener_raise_limit(void);

#endif
