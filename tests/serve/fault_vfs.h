/* A file system in memory for SQLite that knows what has been synced. A crash keeps of the rest nothing, everything, or
 * any sectors of any writes; operations can be made to fail from the n-th on. A file's name is durable when it was
 * first synced, as SQLite ensures on Unix. */
#ifndef TC_TESTS_SERVE_FAULT_VFS_H
#define TC_TESTS_SERVE_FAULT_VFS_H

#include "support/random.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FAULT_VFS "tacit-fault"
enum { FAULT_FILES = 4, FAULT_SECTOR = 512, FAULT_NAME = 128 };

typedef enum fault_survivors { FAULT_KEEP_NOTHING, FAULT_KEEP_ALL, FAULT_KEEP_SOME } fault_survivors;

typedef struct fault_bytes {
    unsigned char *bytes;
    size_t size, room;
} fault_bytes;

typedef struct fault_write { /* not synced; size 0 with NULL: cut or grown to `offset` */
    size_t offset, size;
    unsigned char *bytes;
} fault_write;

typedef struct fault_file {
    char name[FAULT_NAME];
    bool exists, is_durable; /* the name */
    fault_bytes now, durable;
    fault_write *writes;
    size_t write_count, write_room;
} fault_file;

typedef struct fault_disk {
    fault_file files[FAULT_FILES];
    uint64_t operations; /* writes, cuts, syncs and deletions so far */
    uint64_t syncs;
    uint64_t fail_at;    /* this operation and all later ones fail; 0: none */
    uint64_t fail_count; /* so many of them; 0: all */
    int fail_code;       /* with this */
    bool is_read_only;
    uint64_t lazy_from; /* from this operation on no log is synced, though the disk says so; 0: all are */
    uint64_t seed;
} fault_disk;

static fault_disk fault;

static inline uint64_t fault_draw(void) { return random_word(&fault.seed); }

static inline void fault_resize(fault_bytes *b, size_t size) {
    if (size > b->room) {
        b->room = 2 * size;
        b->bytes = realloc(b->bytes, b->room);
        if (b->bytes == NULL)
            abort();
    }
    if (size > b->size)
        memset(b->bytes + b->size, 0, size - b->size);
    b->size = size;
}

static inline void fault_copy(fault_bytes *to, const fault_bytes *from) {
    fault_resize(to, from->size);
    if (from->size > 0)
        memcpy(to->bytes, from->bytes, from->size);
}

static inline void fault_apply(fault_bytes *to, size_t offset, const unsigned char *bytes, size_t size) {
    if (offset + size > to->size)
        fault_resize(to, offset + size);
    memcpy(to->bytes + offset, bytes, size);
}

static inline void fault_forget_writes(fault_file *f) {
    for (size_t i = 0; i < f->write_count; i++)
        free(f->writes[i].bytes);
    f->write_count = 0;
}

static inline void fault_note(fault_file *f, size_t offset, const unsigned char *bytes, size_t size) {
    if (f->write_count == f->write_room) {
        f->write_room = 2 * f->write_room + 8;
        f->writes = realloc(f->writes, f->write_room * sizeof *f->writes);
        if (f->writes == NULL)
            abort();
    }
    fault_write w = {.offset = offset, .size = size};
    if (size > 0) {
        w.bytes = malloc(size);
        if (w.bytes == NULL)
            abort();
        memcpy(w.bytes, bytes, size);
    }
    f->writes[f->write_count++] = w;
}

/* SQLITE_OK, or what this operation fails with. */
static inline int fault_operation(void) {
    fault.operations++;
    if (fault.is_read_only)
        return SQLITE_READONLY;
    bool fails = fault.fail_at != 0 && fault.operations >= fault.fail_at &&
                 (fault.fail_count == 0 || fault.operations < fault.fail_at + fault.fail_count);
    return fails ? fault.fail_code : SQLITE_OK;
}

/* ---- SQLite's side ---- */

typedef struct fault_handle {
    sqlite3_file base;
    fault_file *file;
} fault_handle;

static inline fault_file *fault_of(sqlite3_file *file) { return ((fault_handle *)(void *)file)->file; }

static inline int fault_close(sqlite3_file *file) {
    (void)file;
    return SQLITE_OK;
}

static inline int fault_read(sqlite3_file *file, void *to, int size, sqlite3_int64 offset) {
    fault_file *f = fault_of(file);
    size_t at = (size_t)offset, wanted = (size_t)size, have = at >= f->now.size ? 0 : f->now.size - at;
    size_t given = have < wanted ? have : wanted;
    memset(to, 0, wanted);
    if (given > 0)
        memcpy(to, f->now.bytes + at, given);
    return given < wanted ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static inline int fault_write_file(sqlite3_file *file, const void *from, int size, sqlite3_int64 offset) {
    fault_file *f = fault_of(file);
    int code = fault_operation();
    if (code != SQLITE_OK)
        return code == SQLITE_FULL || code == SQLITE_READONLY ? code : SQLITE_IOERR_WRITE;
    fault_apply(&f->now, (size_t)offset, from, (size_t)size);
    fault_note(f, (size_t)offset, from, (size_t)size);
    return SQLITE_OK;
}

static inline int fault_truncate(sqlite3_file *file, sqlite3_int64 size) {
    fault_file *f = fault_of(file);
    int code = fault_operation();
    if (code != SQLITE_OK)
        return SQLITE_IOERR_TRUNCATE;
    fault_resize(&f->now, (size_t)size);
    fault_note(f, (size_t)size, NULL, 0);
    return SQLITE_OK;
}

static inline int fault_sync(sqlite3_file *file, int flags) {
    fault_file *f = fault_of(file);
    (void)flags;
    int code = fault_operation();
    if (code != SQLITE_OK)
        return SQLITE_IOERR_FSYNC;
    if (fault.lazy_from != 0 && fault.operations >= fault.lazy_from && strstr(f->name, "-wal") != NULL)
        return SQLITE_OK;
    fault.syncs++;
    fault_copy(&f->durable, &f->now);
    fault_forget_writes(f);
    f->is_durable = true;
    return SQLITE_OK;
}

static inline int fault_size(sqlite3_file *file, sqlite3_int64 *size) {
    *size = (sqlite3_int64)fault_of(file)->now.size;
    return SQLITE_OK;
}

static inline int fault_lock(sqlite3_file *file, int level) {
    (void)file;
    (void)level;
    return SQLITE_OK;
}

static inline int fault_is_locked(sqlite3_file *file, int *locked) {
    (void)file;
    *locked = 0;
    return SQLITE_OK;
}

static inline int fault_control(sqlite3_file *file, int operation, void *argument) {
    (void)file;
    (void)operation;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static inline int fault_sector(sqlite3_file *file) {
    (void)file;
    return 4096;
}

/* As on Unix: a write does not harm the bytes beside it. */
static inline int fault_device(sqlite3_file *file) {
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static inline fault_file *fault_find(const char *name) {
    for (size_t i = 0; i < FAULT_FILES; i++)
        if (strcmp(fault.files[i].name, name) == 0)
            return &fault.files[i];
    return NULL;
}

static inline fault_file *fault_find_or_make(const char *name) {
    fault_file *found = fault_find(name);
    for (size_t i = 0; found == NULL && i < FAULT_FILES; i++)
        if (fault.files[i].name[0] == 0)
            found = &fault.files[i];
    if (found == NULL || strlen(name) >= FAULT_NAME)
        abort();
    strcpy(found->name, name);
    return found;
}

static inline int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags) {
    static const sqlite3_io_methods methods = {
        .iVersion = 1,
        .xClose = fault_close,
        .xRead = fault_read,
        .xWrite = fault_write_file,
        .xTruncate = fault_truncate,
        .xSync = fault_sync,
        .xFileSize = fault_size,
        .xLock = fault_lock,
        .xUnlock = fault_lock,
        .xCheckReservedLock = fault_is_locked,
        .xFileControl = fault_control,
        .xSectorSize = fault_sector,
        .xDeviceCharacteristics = fault_device,
    };
    (void)vfs;
    fault_handle *handle = (fault_handle *)(void *)file;
    handle->base.pMethods = NULL;
    fault_file *f = fault_find_or_make(name == NULL ? "temporary" : name);
    if (!f->exists) {
        if ((flags & SQLITE_OPEN_CREATE) == 0)
            return SQLITE_CANTOPEN;
        f->exists = true;
        fault_resize(&f->now, 0);
        fault_forget_writes(f);
    }
    handle->base.pMethods = &methods;
    handle->file = f;
    if (out_flags != NULL)
        *out_flags = flags;
    return SQLITE_OK;
}

static inline int fault_delete(sqlite3_vfs *vfs, const char *name, int sync) {
    (void)vfs;
    fault_file *f = fault_find(name);
    int code = fault_operation();
    if (code != SQLITE_OK)
        return SQLITE_IOERR_DELETE;
    if (f == NULL || !f->exists)
        return SQLITE_IOERR_DELETE_NOENT;
    f->exists = false;
    fault_forget_writes(f);
    if (sync)
        f->is_durable = false;
    return SQLITE_OK;
}

static inline int fault_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
    (void)vfs;
    (void)flags;
    const fault_file *f = fault_find(name);
    *result = f != NULL && f->exists;
    return SQLITE_OK;
}

static inline int fault_full_name(sqlite3_vfs *vfs, const char *name, int size, char *out) {
    (void)vfs;
    (void)sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
}

static inline int fault_randomness(sqlite3_vfs *vfs, int size, char *out) {
    (void)vfs;
    for (int i = 0; i < size; i++)
        out[i] = (char)(fault_draw() & 0x7f);
    return size;
}

static inline int fault_sleep(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    return microseconds;
}

static inline int fault_time(sqlite3_vfs *vfs, double *now) {
    (void)vfs;
    *now = 2460000.5;
    return SQLITE_OK;
}

static inline void fault_register(void) {
    static sqlite3_vfs vfs = {
        .iVersion = 1,
        .szOsFile = (int)sizeof(fault_handle),
        .mxPathname = FAULT_NAME - 1,
        .zName = FAULT_VFS,
        .xOpen = fault_open,
        .xDelete = fault_delete,
        .xAccess = fault_access,
        .xFullPathname = fault_full_name,
        .xRandomness = fault_randomness,
        .xSleep = fault_sleep,
        .xCurrentTime = fault_time,
    };
    if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK)
        abort();
}

/* ---- the test's side ---- */

/* An empty disk without faults. */
static inline void fault_format(uint64_t seed) {
    for (size_t i = 0; i < FAULT_FILES; i++) {
        fault_file *f = &fault.files[i];
        fault_forget_writes(f);
        free(f->writes);
        free(f->now.bytes);
        free(f->durable.bytes);
    }
    fault = (fault_disk){.seed = seed};
}

static inline void fault_survive(fault_bytes *image, const fault_write *w, fault_survivors survivors) {
    if (w->bytes == NULL) {
        if (survivors == FAULT_KEEP_ALL || fault_draw() % 2 == 0)
            fault_resize(image, w->offset);
        return;
    }
    for (size_t at = 0; at < w->size;) {
        size_t end = (w->offset + at) / FAULT_SECTOR * FAULT_SECTOR + FAULT_SECTOR - w->offset;
        end = end < w->size ? end : w->size;
        if (survivors == FAULT_KEEP_ALL || fault_draw() % 2 == 0)
            fault_apply(image, w->offset + at, w->bytes + at, end - at);
        at = end;
    }
}

/* The power is gone and comes back: what was synced is there, of the rest what the survivors say. No faults any more.
 */
static inline void fault_reboot(fault_survivors survivors) {
    for (size_t i = 0; i < FAULT_FILES; i++) {
        fault_file *f = &fault.files[i];
        for (size_t w = 0; survivors != FAULT_KEEP_NOTHING && w < f->write_count; w++)
            fault_survive(&f->durable, &f->writes[w], survivors);
        bool kept = f->exists && (f->is_durable || survivors == FAULT_KEEP_ALL ||
                                  (survivors == FAULT_KEEP_SOME && fault_draw() % 2 == 0));
        bool undeleted = !f->exists && f->is_durable && (survivors == FAULT_KEEP_NOTHING || fault_draw() % 2 == 0);
        f->exists = f->is_durable = kept || undeleted;
        fault_forget_writes(f);
        if (!f->exists)
            fault_resize(&f->durable, 0);
        fault_copy(&f->now, &f->durable);
    }
    fault.fail_at = fault.lazy_from = 0;
    fault.is_read_only = false;
}

#endif
