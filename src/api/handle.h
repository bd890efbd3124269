/* Makes handles. A handle owns one arena; a failure while it is made leaves nothing behind but a message. */
#ifndef TC_API_HANDLE_H
#define TC_API_HANDLE_H

#include "base/arena.h"

#include <tacit/tacit.h>

/* Makes the arena, sets its escape and calls make, which allocates the handle there. On failure it frees the arena, and
 * *message is a text for tacit_text_free: that of make, or the status as a sentence; NULL if memory is out. message
 * may be NULL. */
tacit_status tc_handle_make(tc_status (*make)(void *context, tc_arena *arena, tc_buffer *messages), void *context,
                            char **message);

/* A copy outside of any arena, for tacit_text_free: complete lines, the last one too. NULL where memory is out. */
char *tc_own_lines(const char *text);

#endif
