/* realpath(3) with an opinion: what is left of the path is taken name by name, links put their own names in front, and
 * `at` is where that has led to, which has no link in it. */
#define _XOPEN_SOURCE 700 /* S_ISVTX */
#include "net/chosen_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40, MOST_TEXT = 1 << 16 }; /* as the kernel has it */

typedef struct walk {
    tc_arena *arena;
    const char *path; /* as it was given */
    tc_buffer *messages;
    const char *at;   /* from the root, "" for the root itself */
    const char *left; /* names, with slashes between them */
    unsigned links;
} walk;

static tc_status fail(walk *w, const char *where, const char *why) {
    tc_buffer_printf(w->messages, "the path '%s' cannot be followed: '%s': %s\n", w->path, where, why);
    return TC_CANNOT_READ;
}

static tc_status refuse(walk *w, const char *link, const char *why) {
    tc_buffer_printf(
        w->messages,
        "the path '%s' is refused: the link '%s' %s, so that somebody else may have put it there; give the "
        "path that it leads to\n",
        w->path, link, why);
    return TC_CANNOT_READ;
}

static bool is_ours(uid_t owner) { return owner == 0 || owner == geteuid(); }

/* NULL: nobody else can have planted it. */
static const char *find_fault(walk *w, const struct stat *link) {
    struct stat folder;
    const char *name = w->at[0] == '\0' ? "/" : w->at;
    if (!is_ours(link->st_uid))
        return "belongs to another user";
    if (stat(name, &folder) != 0)
        return tc_arena_format(w->arena, "lies in '%s', which cannot be looked at", name);
    if (!is_ours(folder.st_uid))
        return tc_arena_format(w->arena, "lies in '%s', which belongs to another user", name);
    if ((folder.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (folder.st_mode & S_ISVTX) == 0)
        return tc_arena_format(w->arena, "lies in '%s', which others may write", name);
    return NULL;
}

static const char *read_link(walk *w, const char *link) {
    char target[PATH_MAX];
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0)
        return NULL;
    return tc_arena_copy(w->arena, target, (size_t)length);
}

static tc_status follow(walk *w, const char *link, const struct stat *facts) {
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

/* One name further. */
static tc_status step(walk *w, const char *name) {
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
        w->at = there; /* to be made */
        return TC_OK;
    }
    if (S_ISLNK(facts.st_mode))
        return follow(w, there, &facts);
    w->at = there;
    return TC_OK;
}

static tc_status find_start(walk *w) {
    char *here = w->path[0] == '/' ? NULL : getcwd(NULL, 0); /* which has no links in it */
    if (w->path[0] != '/' && here == NULL)
        return fail(w, ".", strerror(errno));
    w->at = here == NULL || strcmp(here, "/") == 0 ? "" : tc_arena_copy(w->arena, here, strlen(here));
    free(here);
    return TC_OK;
}

tc_status tc_chosen_path(tc_arena *arena, const char *path, tc_buffer *messages, const char **real) {
    walk w = {.arena = arena, .path = path, .messages = messages, .left = path};
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
