/* Files that are whole or do not exist: written under another name and renamed. */
#ifndef TC_REPORT_FILE_H
#define TC_REPORT_FILE_H

#include "base/arena.h"

#include <stdio.h>

typedef struct tc_file {
    FILE *stream; /* to write to; errors are found when it is closed */
    const char *path, *temporary;
} tc_file;

/* An existing path must be a regular file, not a link. A file that is not closed is removed with the arena. */
tc_status tc_file_open(tc_arena *arena, const char *path, tc_buffer *messages, tc_file **file) TC_MUST_USE;
/* Gives it its name. */
tc_status tc_file_close(tc_file *file, tc_buffer *messages) TC_MUST_USE;
/* Removes it. */
void tc_file_abandon(tc_file *file);

/* Reads a whole regular file of at most `limit` bytes; a zero follows them. */
tc_status tc_file_read(tc_arena *arena, const char *path, size_t limit, tc_buffer *messages, char **text,
                       size_t *length) TC_MUST_USE;

#endif
