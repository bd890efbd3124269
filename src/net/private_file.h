/* Files that only their owner may read, replaced as a whole or not at all. */
#ifndef TC_NET_PRIVATE_FILE_H
#define TC_NET_PRIVATE_FILE_H

#include "base/buffer.h"

#include <stdbool.h>

/* Makes the folder, 0700, where it is not there; its parent must be. TC_CANNOT_WRITE with a message. */
tc_status tc_private_folder(const char *path, tc_buffer *messages) TC_MUST_USE;

/* Writes a file of mode 0600 beside the old one, waits until it is on the disk, and puts it in the old one's place.
 * TC_CANNOT_WRITE with a message; the old file is then as it was. */
tc_status tc_private_file_write(tc_arena *arena, const char *path, const void *bytes, size_t size,
                                tc_buffer *messages) TC_MUST_USE;

/* Whether others than its owner may read or change it. TC_CANNOT_READ with a message. */
tc_status tc_private_file_is_open(const char *path, tc_buffer *messages, bool *is_open) TC_MUST_USE;

#endif
