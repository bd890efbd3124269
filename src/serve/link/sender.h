/* Sends on many sockets at once. Where the system has io_uring, one system call sends what else takes one call for each
 * socket. Everywhere else, and if io_uring fails later, it calls send for each. Either way all is done on return. */
#ifndef TC_SERVE_LINK_SENDER_H
#define TC_SERVE_LINK_SENDER_H

#include <stdbool.h>
#include <stddef.h>

enum { TC_SENDER_MOST = 16 }; /* sendings of one call: more would keep the first ones waiting */

typedef struct tc_sending {
    int descriptor; /* of a socket that does not block */
    const unsigned char *bytes;
    size_t size;
    int error;   /* afterwards: errno, EAGAIN if the network takes nothing now; 0: some or all bytes were sent */
    size_t sent; /* afterwards */
} tc_sending;

/* The struct is large: it is one per loop. */
typedef struct tc_sender tc_sender;

/* NULL: out of memory. */
tc_sender *tc_sender_new(void);
void tc_sender_free(tc_sender *sender); /* may be NULL */
/* Whether many sendings cost less than one after the other. */
bool tc_sender_joins(const tc_sender *sender);
/* At most TC_SENDER_MOST. */
void tc_sender_send(tc_sender *sender, tc_sending *all, size_t count);

#endif
