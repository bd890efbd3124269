/* How a handle comes to be: it owns one arena, and what fails while it is made leaves nothing behind but a message. */
#ifndef TC_API_HANDLE_H
#define TC_API_HANDLE_H

#include "base/buffer.h"

#include <tacit/tacit.h>

/* Makes the arena, sets its escape and calls make, which takes the handle from that arena. After anything but TC_OK the
 * arena is gone, and *message (message may be NULL) is for tacit_text_free: what make said, or the status as a
 * sentence; NULL otherwise, and where memory is out. */
tacit_status tc_handle_make(tc_status (*make)(void *context, tc_arena *arena, tc_buffer *messages), void *context,
                            char **message);

/* A copy outside of any arena, for tacit_text_free. NULL where memory is out. */
char *tc_own_text(const char *text);

#endif
