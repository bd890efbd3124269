/* Folders that somebody has named, and links on the way to them.
 *
 * A link is followed where the operator must have made it: it belongs to root or to the user of this process, and lies
 * in a folder that nobody else may write, or where nobody may touch others' entries (a sticky one, as /tmp). Any other
 * could have been planted, to lead what is written, or what is read, to a place of somebody else's choice. */
#ifndef TC_NET_CHOSEN_PATH_H
#define TC_NET_CHOSEN_PATH_H

#include "base/buffer.h"

/* *real: the path as it stands where it has no link in it, else where it leads to, from the root and without any. What
 * it names need not be there yet, its parent must. TC_CANNOT_READ with a message that names the link and the reason. */
tc_status tc_chosen_path(tc_arena *arena, const char *path, tc_buffer *messages, const char **real) TC_MUST_USE;

#endif
