#include "net/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tc_status complain(tc_buffer *messages, tc_status status, const char *what, const char *path) {
    int error = errno;
    tc_buffer_printf(messages, "cannot %s '%s': %s\n", what, path, strerror(error));
    return status;
}

tc_status tc_private_folder(const char *path, tc_buffer *messages) {
    struct stat found;
    if (mkdir(path, 0700) == 0)
        return TC_OK;
    if (errno == EEXIST && stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return TC_OK;
    return complain(messages, TC_CANNOT_WRITE, "make the folder", path);
}

static bool write_all(int descriptor, const unsigned char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(descriptor, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* A renamed file is there after a power failure only once its folder is written. */
static bool sync_folder_of(tc_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL   ? tc_arena_copy(arena, ".", 1)
                   : slash == path ? tc_arena_copy(arena, "/", 1)
                                   : tc_arena_copy(arena, path, (size_t)(slash - path));
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    bool good = fsync(descriptor) == 0;
    return close(descriptor) == 0 && good;
}

static bool write_beside(const char *beside, const void *bytes, size_t size) {
    if (unlink(beside) != 0 && errno != ENOENT)
        return false;
    int descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return false;
    bool good = write_all(descriptor, bytes, size) && fsync(descriptor) == 0;
    int error = errno;
    good = close(descriptor) == 0 && good;
    if (!good)
        (void)unlink(beside);
    errno = error;
    return good;
}

tc_status tc_private_file_write(tc_arena *arena, const char *path, const void *bytes, size_t size,
                                tc_buffer *messages) {
    char *beside = tc_arena_format(arena, "%s.new", path);
    if (!write_beside(beside, bytes, size))
        return complain(messages, TC_CANNOT_WRITE, "write", beside);
    if (rename(beside, path) == 0 && sync_folder_of(arena, path))
        return TC_OK;
    tc_status status = complain(messages, TC_CANNOT_WRITE, "write", path);
    (void)unlink(beside);
    return status;
}

tc_status tc_private_file_is_open(const char *path, tc_buffer *messages, bool *is_open) {
    struct stat found;
    if (stat(path, &found) != 0)
        return complain(messages, TC_CANNOT_READ, "read", path);
    *is_open = (found.st_mode & (S_IRWXG | S_IRWXO)) != 0;
    return TC_OK;
}
