/* Data files as bytes in memory, for who keeps a copy of all that a problem is made of. */
#include "model/elaborate/elaborate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All of a plain file, or nothing. */
static char *read_whole(tc_arena *arena, int descriptor, size_t *length) {
    struct stat facts;
    if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode))
        return NULL;
    size_t size = (size_t)facts.st_size;
    char *bytes = TC_NEW(arena, char, size + 1);
    for (*length = 0; *length < size;) {
        ssize_t got = read(descriptor, bytes + *length, size - *length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return NULL;
        *length += (size_t)got;
    }
    return bytes;
}

const tc_read_file *tc_data_file(tc_arena *arena, tc_read_files *files, const char *name, const char *path) {
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->list[i].path, name) == 0)
            return &files->list[i];
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return NULL;
    size_t length = 0;
    char *volatile bytes = NULL;
    tc_escape escape; /* to close it in every case */
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        bytes = read_whole(arena, descriptor, &length);
    tc_escape_end(arena, &escape);
    (void)close(descriptor);
    if (status != TC_OK)
        tc_raise(arena, status);
    if (bytes == NULL)
        return NULL;
    if (files->count == files->room) {
        files->room = files->room == 0 ? 4 : 2 * files->room;
        files->list = tc_arena_grow(arena, files->list, files->count, files->room, sizeof *files->list);
    }
    files->list[files->count] =
        (tc_read_file){.path = tc_arena_copy(arena, name, strlen(name)), .bytes = bytes, .length = length};
    return &files->list[files->count++];
}
