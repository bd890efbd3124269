#define _XOPEN_SOURCE 700 /* S_ISVTX */
#include "net/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tc_status complain(tc_buffer *messages, tc_status status, const char *what, const char *path) {
    int error = errno;
    tc_buffer_printf(messages, "cannot %s '%s': %s\n", what, path, strerror(error));
    return status;
}

static tc_status check_writers(const struct stat *found, const char *path, const char *remedy, tc_buffer *messages) {
    if ((found->st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return TC_OK;
    tc_buffer_printf(messages, "'%s' is refused, since others may write it: chmod %s\n", path, remedy);
    return TC_BAD_USAGE;
}

tc_status tc_private_folder(const char *path, tc_buffer *messages) {
    struct stat found;
    if (mkdir(path, 0700) == 0)
        return TC_OK;
    if (errno == EEXIST && stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return check_writers(&found, path, "700", messages);
    return complain(messages, TC_CANNOT_WRITE, "make the folder", path);
}

tc_status tc_private_file_check(const char *path, tc_buffer *messages) {
    struct stat found;
    return stat(path, &found) == 0 ? check_writers(&found, path, "600", messages) : TC_OK;
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

/* A rename survives a power failure only once the folder is on the disk. */
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
        return complain(messages, TC_CANNOT_WRITE, "write", path);
    if (rename(beside, path) == 0 && sync_folder_of(arena, path))
        return TC_OK;
    tc_status status = complain(messages, TC_CANNOT_WRITE, "write", path);
    (void)unlink(beside);
    return status;
}

static tc_status read_all(tc_arena *arena, int descriptor, unsigned char **bytes, size_t *size) {
    struct stat facts;
    if (fstat(descriptor, &facts) != 0)
        return TC_CANNOT_READ;
    size_t room = (size_t)facts.st_size;
    *bytes = TC_NEW(arena, unsigned char, room + 1);
    for (*size = 0; *size < room;) {
        ssize_t got = read(descriptor, *bytes + *size, room - *size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return TC_CANNOT_READ;
        if (got == 0)
            break;
        *size += (size_t)got;
    }
    return TC_OK;
}

tc_status tc_whole_file(tc_arena *arena, const char *path, unsigned char **bytes, size_t *size) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    *bytes = NULL;
    if (descriptor < 0)
        return errno == ENOENT ? TC_OK : TC_CANNOT_READ;
    tc_escape escape; /* to close it in every case */
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = read_all(arena, descriptor, bytes, size);
    int error = errno;
    tc_escape_end(arena, &escape);
    (void)close(descriptor);
    if (status == TC_NO_MEMORY || status == TC_TOO_LARGE)
        tc_raise(arena, status);
    errno = error;
    return status;
}

tc_status tc_private_file_is_open(const char *path, tc_buffer *messages, bool *is_open) {
    struct stat found;
    if (stat(path, &found) != 0)
        return complain(messages, TC_CANNOT_READ, "read", path);
    *is_open = (found.st_mode & (S_IRWXG | S_IRWXO)) != 0;
    return TC_OK;
}

/* ---- Links on a path ----
 *
 * realpath(3) that checks who made each link. `left` is the rest of the path and is taken name by name; the target of a
 * link is put in front of it. `at` is the path so far, without links. */
enum { MOST_LINKS = 40 /* as in the kernel */, MOST_TEXT = 1 << 16 };

typedef struct path_walk {
    tc_arena *arena;
    const char *path; /* as it was given */
    tc_buffer *messages;
    const char *at;   /* from the root, "" for the root itself */
    const char *left; /* names, with slashes between them */
    unsigned links;
} path_walk;

static tc_status fail(path_walk *w, const char *where, const char *why) {
    tc_buffer_printf(w->messages, "the path '%s' cannot be followed: '%s': %s\n", w->path, where, why);
    return TC_CANNOT_READ;
}

static tc_status refuse(path_walk *w, const char *link, const char *why) {
    tc_buffer_printf(w->messages,
                     "the path '%s' is refused: the link '%s' %s, and somebody else may have put it there; give the "
                     "path that it leads to\n",
                     w->path, link, why);
    return TC_CANNOT_READ;
}

static bool is_ours(uid_t owner) { return owner == 0 || owner == geteuid(); }

/* NULL: nobody else can have made the link. */
static const char *find_fault(path_walk *w, const struct stat *link) {
    struct stat folder;
    const char *name = w->at[0] == '\0' ? "/" : w->at;
    if (!is_ours(link->st_uid))
        return "belongs to another user";
    if (stat(name, &folder) != 0)
        return tc_arena_format(w->arena, "lies in '%s', which cannot be read", name);
    if (!is_ours(folder.st_uid))
        return tc_arena_format(w->arena, "lies in '%s', which belongs to another user", name);
    if ((folder.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (folder.st_mode & S_ISVTX) == 0)
        return tc_arena_format(w->arena, "lies in '%s', which others may write", name);
    return NULL;
}

static const char *read_link(path_walk *w, const char *link) {
    char target[PATH_MAX];
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0)
        return NULL;
    return tc_arena_copy(w->arena, target, (size_t)length);
}

static tc_status follow(path_walk *w, const char *link, const struct stat *facts) {
    const char *fault = find_fault(w, facts);
    if (fault != NULL)
        return refuse(w, link, fault);
    const char *target = read_link(w, link);
    if (target == NULL || ++w->links > MOST_LINKS)
        return fail(w, link, strerror(target == NULL ? errno : ELOOP));
    if (target[0] == '/')
        w->at = "";
    w->left = tc_arena_format(w->arena, "%s/%s", target, w->left);
    if (strlen(w->left) > MOST_TEXT)
        return fail(w, link, strerror(ENAMETOOLONG));
    return TC_OK;
}

/* Takes the next name of the path. */
static tc_status step(path_walk *w, const char *name) {
    struct stat facts;
    if (strcmp(name, ".") == 0)
        return TC_OK;
    if (strcmp(name, "..") == 0) {
        const char *slash = strrchr(w->at, '/');
        w->at = slash == NULL ? "" : tc_arena_copy(w->arena, w->at, (size_t)(slash - w->at));
        return TC_OK;
    }
    const char *there = tc_arena_format(w->arena, "%s/%s", w->at, name);
    bool is_last = w->left[strspn(w->left, "/")] == '\0';
    if (lstat(there, &facts) != 0) {
        if (errno != ENOENT || !is_last)
            return fail(w, there, strerror(errno));
        w->at = there; /* the caller will make it */
        return TC_OK;
    }
    if (S_ISLNK(facts.st_mode))
        return follow(w, there, &facts);
    w->at = there;
    return TC_OK;
}

static tc_status find_start(path_walk *w) {
    char *here = w->path[0] == '/' ? NULL : getcwd(NULL, 0); /* without links */
    if (w->path[0] != '/' && here == NULL)
        return fail(w, ".", strerror(errno));
    w->at = here == NULL || strcmp(here, "/") == 0 ? "" : tc_arena_copy(w->arena, here, strlen(here));
    free(here);
    return TC_OK;
}

tc_status tc_chosen_path(tc_arena *arena, const char *path, tc_buffer *messages, const char **real) {
    path_walk w = {.arena = arena, .path = path, .messages = messages, .left = path};
    tc_status status = find_start(&w);
    *real = path;
    for (;;) {
        w.left += strspn(w.left, "/");
        size_t length = strcspn(w.left, "/");
        if (status != TC_OK || length == 0)
            break;
        const char *name = tc_arena_copy(arena, w.left, length);
        w.left += length;
        status = step(&w, name);
    }
    if (status == TC_OK && w.links > 0)
        *real = w.at[0] == '\0' ? "/" : w.at;
    return status;
}

void tc_file_label(tc_buffer *out, const char *name) {
    for (; *name != 0; name++) {
        bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                     (*name >= '0' && *name <= '9') || *name == '-' || *name == '_' || *name == '.';
        if (plain)
            tc_buffer_add(out, name, 1);
        else if (*name == '[')
            tc_buffer_puts(out, ".");
        else if (*name != ']')
            tc_buffer_printf(out, "=%02x", (unsigned)(unsigned char)*name);
    }
}
