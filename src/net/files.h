/* Files that only their owner may read, and the paths to them. */
#ifndef TC_NET_FILES_H
#define TC_NET_FILES_H

#include "base/arena.h"

#include <stdbool.h>

/* Makes the folder (mode 0700) unless it exists; its parent must exist. TC_CANNOT_WRITE with a message, and
 * TC_BAD_USAGE if others may write there. */
tc_status tc_private_folder(const char *path, tc_buffer *messages) TC_MUST_USE;

/* TC_BAD_USAGE with a message if the file is there and others may write it. */
tc_status tc_private_file_check(const char *path, tc_buffer *messages) TC_MUST_USE;

/* Replaces a file as a whole: writes a new one (mode 0600) beside it, waits for the disk, renames it. On failure the
 * old file is unchanged: TC_CANNOT_WRITE with a message. */
tc_status tc_private_file_write(tc_arena *arena, const char *path, const void *bytes, size_t size,
                                tc_buffer *messages) TC_MUST_USE;

/* All of a file; *bytes is NULL where there is none. TC_CANNOT_READ, errno says why. */
tc_status tc_whole_file(tc_arena *arena, const char *path, unsigned char **bytes, size_t *size) TC_MUST_USE;

/* Whether anybody but the owner may read or change it. TC_CANNOT_READ with a message. */
tc_status tc_private_file_is_open(const char *path, tc_buffer *messages, bool *is_open) TC_MUST_USE;

/* Follows symbolic links, but only those that the operator must have made: they belong to root or to this process's
 * user, and lie in a folder that nobody else may write or that is sticky (as /tmp). Anybody could have planted another
 * link, to redirect what is read or written.
 *
 * *real: the path itself if it has no link, else the absolute path without links that it leads to. The last name need
 * not exist yet, its parent must. TC_CANNOT_READ with a message that names the link and the reason. */
tc_status tc_chosen_path(tc_arena *arena, const char *path, tc_buffer *messages, const char **real) TC_MUST_USE;

/* A file name made from an agent's name: "home.17" for "home[17]". */
void tc_file_label(tc_buffer *out, const char *name);

#endif
