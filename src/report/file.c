#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tc_status cannot(tc_buffer *messages, const char *path, const char *what, int code) {
    tc_buffer_printf(messages, "%s: error: cannot %s: %s\n", path, what, strerror(code));
    return what[0] == 'r' ? TC_CANNOT_READ : TC_CANNOT_WRITE;
}

/* A path without a file is wrong usage; a file that cannot be read is a failure of the environment. */
static tc_status cannot_read(tc_buffer *messages, const char *path, int code) {
    bool no_file = code == ENOENT || code == ENOTDIR || code == ENAMETOOLONG;
    tc_status status = cannot(messages, path, "read", code);
    return no_file ? TC_BAD_USAGE : status;
}

static tc_status is_no_file(tc_buffer *messages, const char *path, mode_t mode, const char *what) {
    tc_buffer_printf(messages, "%s: error: this is %s; %s\n", path,
                     S_ISDIR(mode)   ? "a folder"
                     : S_ISLNK(mode) ? "a link"
                                     : "not a plain file",
                     what);
    return TC_BAD_USAGE;
}

/* Removes it. */
static void abandon(void *what) {
    tc_file *file = what;
    if (file->stream == NULL)
        return;
    (void)fclose(file->stream);
    (void)unlink(file->temporary);
    file->stream = NULL;
}

tc_status tc_file_open(tc_arena *arena, const char *path, tc_buffer *messages, tc_file **file) {
    struct stat facts;
    mode_t mode = 0;
    if (path[0] == '\0') {
        tc_buffer_puts(messages, "tacit: the name of the file to write is empty\n");
        return TC_BAD_USAGE;
    }
    if (lstat(path, &facts) == 0) {
        if (!S_ISREG(facts.st_mode))
            return is_no_file(messages, path, facts.st_mode, "only plain files are overwritten");
        if (access(path, W_OK) != 0) /* rename would not check */
            return cannot(messages, path, "write", errno);
        mode = facts.st_mode & 0777;
    } else if (errno != ENOENT) {
        return cannot(messages, path, "write", errno);
    }
    *file = TC_NEW(arena, tc_file, 1);
    (*file)->path = path;
    char *temporary = tc_arena_format(arena, "%s.XXXXXX", path);
    (*file)->temporary = temporary;
    tc_arena_on_free(arena, abandon, *file);
    int descriptor = mkstemp(temporary);
    if (descriptor < 0)
        return cannot(messages, path, "write", errno);
    if (mode == 0) { /* a new file is for the owner only, since it shows true states */
        mode_t mask = umask(0);
        (void)umask(mask);
        mode = 0600 & ~mask;
    }
    (*file)->stream = fchmod(descriptor, mode) == 0 ? fdopen(descriptor, "w") : NULL;
    if ((*file)->stream != NULL)
        return TC_OK;
    int code = errno;
    (void)close(descriptor);
    (void)unlink(temporary);
    return cannot(messages, path, "write", code);
}

tc_status tc_file_close(tc_file *file, tc_buffer *messages) {
    errno = 0;
    bool bad = ferror(file->stream) != 0;
    bad = fclose(file->stream) != 0 || bad;
    file->stream = NULL;
    if (!bad && rename(file->temporary, file->path) == 0)
        return TC_OK;
    int code = errno != 0 ? errno : EIO;
    (void)unlink(file->temporary);
    return cannot(messages, file->path, "write", code);
}

static bool read_all(int descriptor, char *text, size_t *length) {
    size_t room = *length;
    *length = 0;
    while (*length < room) {
        ssize_t got = read(descriptor, text + *length, room - *length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            return true;
        *length += (size_t)got;
    }
    return true;
}

tc_status tc_file_read(tc_arena *arena, const char *path, size_t limit, tc_buffer *messages, char **text,
                       size_t *length) {
    struct stat facts;
    if (stat(path, &facts) != 0)
        return cannot_read(messages, path, errno);
    if (!S_ISREG(facts.st_mode))
        return is_no_file(messages, path, facts.st_mode, "only files are read");
    if ((uintmax_t)facts.st_size > limit) {
        tc_buffer_printf(messages, "%s: error: this file is larger than %zu MiB\n", path, limit >> 20);
        return TC_TOO_LARGE;
    }
    *length = (size_t)facts.st_size;
    *text = TC_NEW(arena, char, *length + 1);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return cannot_read(messages, path, errno);
    bool good = read_all(descriptor, *text, length);
    int code = errno;
    (void)close(descriptor);
    return good ? TC_OK : cannot(messages, path, "read", code);
}
