#include "model/split/split.h"

#include "base/json.h"
#include "model/split/split_job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- statements and values as text that reads back to the same --------------------------------------------------- */

bool tc_is_identifier(const char *text) {
    for (const char *c = text; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        if (!letter && (c == text || *c < '0' || *c > '9'))
            return false;
    }
    return text[0] != '\0' && strcmp(text, "in") != 0;
}

void tc_write_text(tc_buffer *out, const tc_source *source, tc_span span) {
    tc_source part = {source->path, source->text + span.offset, span.length};
    tc_buffer nowhere = tc_buffer_new(out->arena, 1 << 20);
    tc_diagnostics diagnostics = {out->arena, &part, &nowhere, 0};
    tc_lexer lexer = tc_lexer_new(&diagnostics);
    tc_token_kind before = TC_TOKEN_OPEN_BRACE;
    size_t end = 0;
    bool pending = false; /* a separator that matters only if something follows */
    for (tc_token token; (token = tc_lexer_next(&lexer)).kind != TC_TOKEN_END; before = token.kind) {
        if (token.kind == TC_TOKEN_NEWLINE) {
            pending = pending || before != TC_TOKEN_OPEN_BRACE;
            token.kind = pending ? TC_TOKEN_NEWLINE : before;
            continue;
        }
        if (pending && token.kind != TC_TOKEN_CLOSE_BRACE)
            tc_buffer_puts(out, ";");
        pending = false;
        if (token.span.offset > end && end > 0)
            tc_buffer_puts(out, " ");
        tc_buffer_add(out, part.text + token.span.offset, token.span.length);
        end = token.span.offset + token.span.length;
    }
}

void tc_write_statement(tc_buffer *out, const tc_source *source, tc_span span) {
    tc_write_text(out, source, span);
    tc_buffer_puts(out, "\n");
}

void tc_write_number(tc_buffer *out, double number) {
    char text[32];
    tc_shortest_number(text, number);
    tc_buffer_puts(out, text);
}

static void write_row(tc_buffer *out, const double *numbers, size_t count) {
    tc_buffer_puts(out, "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            tc_buffer_puts(out, ", ");
        tc_write_number(out, numbers[i]);
    }
    tc_buffer_puts(out, "]");
}

static void write_value(tc_buffer *out, const tc_value *value) {
    if (value->rank == 0) {
        tc_write_number(out, value->number);
    } else if (value->rank == 1) {
        write_row(out, value->numbers, value->rows);
    } else {
        tc_buffer_puts(out, "[");
        for (size_t i = 0; i < value->rows; i++) {
            if (i > 0)
                tc_buffer_puts(out, ",\n  ");
            write_row(out, value->numbers + i * value->columns, value->columns);
        }
        tc_buffer_puts(out, "]");
    }
}

void tc_write_param(tc_buffer *out, const tc_statement *statement, const tc_value *value) {
    tc_buffer_printf(out, "%sparam %s = ", statement->is_private ? "private " : "", statement->name->text);
    write_value(out, value);
    tc_buffer_puts(out, "\n");
}

/* ---- the folder --------------------------------------------------------------------------------------------------
 *
 * Where the files of tc_split go. They are written into a temporary folder and moved to their place when all are
 * there, so that a split that fails or is interrupted leaves nothing behind, and one that succeeds nothing of an
 * earlier one. */

enum { DEEPEST = 3 }; /* of the folders that are written here */

static tc_status cannot_write(const tc_split_job *job, const char *path, int code) {
    tc_buffer_printf(job->messages, "%s: error: cannot write: %s\n", path, strerror(code));
    return TC_CANNOT_WRITE;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

static DIR *open_folder(int parent, const char *name) {
    int descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = descriptor >= 0 ? fdopendir(descriptor) : NULL;
    if (folder == NULL && descriptor >= 0)
        (void)close(descriptor);
    return folder;
}

static const char *next_name(DIR *folder) {
    const struct dirent *entry;
    do {
        entry = readdir(folder);
    } while (entry != NULL && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry != NULL ? entry->d_name : NULL;
}

static bool exists(int folder, const char *name) {
    struct stat facts;
    return fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool has_ending(const char *name, const char *ending) {
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

/* The first bytes of a file, with a zero behind them. */
static size_t read_beginning(int folder, const char *name, char *text, size_t room) {
    size_t length = 0;
    int descriptor = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    while (descriptor >= 0 && length + 1 < room) {
        ssize_t got = read(descriptor, text + length, room - 1 - length);
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    if (descriptor >= 0)
        (void)close(descriptor);
    text[length] = '\0';
    return length;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static tc_status is_a_file(const tc_split_job *job, const char *path) {
    tc_buffer_printf(job->messages, "%s: error: this is a file; --output names a folder\n", path);
    return TC_BAD_USAGE;
}

static tc_status make_parents(const tc_split_job *job, char *path) {
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        struct stat facts;
        if (mkdir(path, S_IRWXU | S_IRWXG | S_IRWXO) != 0 && errno != EEXIST)
            return cannot_write(job, path, errno);
        if (stat(path, &facts) == 0 && !S_ISDIR(facts.st_mode))
            return is_a_file(job, path);
        *slash = '/';
    }
    return TC_OK;
}

/* An existing path must be a folder, and empty unless forced. */
static tc_status check_present(const tc_split_job *job) {
    DIR *folder = open_folder(AT_FDCWD, job->target);
    if (folder == NULL && errno == ENOTDIR)
        return is_a_file(job, job->target);
    if (folder == NULL)
        return cannot_write(job, job->target, errno);
    bool empty = next_name(folder) == NULL;
    (void)closedir(folder);
    if (empty || job->force)
        return TC_OK;
    tc_buffer_printf(job->messages,
                     "%s: error: this folder is not empty; choose another, or replace what an earlier split wrote "
                     "there with --force\n",
                     job->target);
    return TC_BAD_USAGE;
}

static tc_status open_target(tc_split_job *job, const char *directory) {
    if (directory[0] == '\0') {
        tc_buffer_puts(job->messages, "error: --output needs the name of a folder, not an empty one\n");
        return TC_BAD_USAGE;
    }
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/')
        length--;
    char *target = tc_arena_copy(job->arena, directory, length);
    job->target = target;
    job->present = exists(AT_FDCWD, target);
    tc_status status = job->present ? check_present(job) : make_parents(job, target);
    if (status != TC_OK)
        return status;
    /* Beside the target, or inside of it, which may be on a disk of its own. */
    char *path = tc_arena_format(job->arena, job->present ? "%s/.split-XXXXXX" : "%s.split-XXXXXX", target);
    if (mkdtemp(path) == NULL)
        return cannot_write(job, target, errno);
    job->directory = path;
    if (mkdir(tc_arena_format(job->arena, "%s/agents", path), S_IRWXU) != 0)
        return cannot_write(job, path, errno);
    return TC_OK;
}

/* ---- removing ---------------------------------------------------------------------------------------------------- */

static void remove_tree(int parent, const char *name, unsigned depth) {
    DIR *folder = depth < DEEPEST ? open_folder(parent, name) : NULL;
    for (const char *inner; folder != NULL && (inner = next_name(folder)) != NULL;) {
        if (unlinkat(dirfd(folder), inner, 0) != 0)
            remove_tree(dirfd(folder), inner, depth + 1);
    }
    if (folder != NULL)
        (void)closedir(folder);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

static void abandon(tc_split_job *job) {
    if (job->directory != NULL)
        remove_tree(AT_FDCWD, job->directory, 0);
    job->directory = NULL;
    job->files = 0;
}

/* Files of an earlier split that this one does not write again. An agent's file says itself what it is. */
static void remove_old_agents(DIR *old, int fresh) {
    static const char role[] = "role agent\n";
    char text[sizeof role];
    for (const char *name; (name = next_name(old)) != NULL;) {
        if (has_ending(name, ".tacit") && !exists(fresh, name) &&
            read_beginning(dirfd(old), name, text, sizeof text) == sizeof text - 1 && strcmp(text, role) == 0)
            (void)unlinkat(dirfd(old), name, 0);
    }
}

/* The cloud's tables: those that the cloud's old file reads. */
static void remove_old_tables(tc_split_job *job, DIR *old, int fresh) {
    static const char role[] = "role cloud\n";
    struct stat facts;
    if (fstatat(dirfd(old), "cloud.tacit", &facts, AT_SYMLINK_NOFOLLOW) != 0 || facts.st_size <= 0)
        return;
    size_t room = (size_t)facts.st_size + 1;
    char *text = TC_NEW(job->arena, char, room);
    (void)read_beginning(dirfd(old), "cloud.tacit", text, room);
    if (strncmp(text, role, sizeof role - 1) != 0)
        return;
    for (const char *name; (name = next_name(old)) != NULL;) {
        if (strncmp(name, "cloud.", 6) != 0 || !has_ending(name, ".csv") || exists(fresh, name))
            continue;
        char quoted[300];
        (void)snprintf(quoted, sizeof quoted, "csv \"%s\"", name);
        if (strstr(text, quoted) != NULL)
            (void)unlinkat(dirfd(old), name, 0);
    }
}

/* An old hash would pin another plan. */
static void remove_old_plan(DIR *old, int fresh) {
    enum { DIGITS = 64 };
    char text[DIGITS + 3];
    if (!exists(fresh, "plan.hash") && read_beginning(dirfd(old), "plan.hash", text, sizeof text) == DIGITS + 1 &&
        strspn(text, "0123456789abcdef") == DIGITS && text[DIGITS] == '\n')
        (void)unlinkat(dirfd(old), "plan.hash", 0);
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

/* All but those called `last` and folders; folders are read again until nothing is left to move. */
static int move_files(DIR *from, int to, const char *last) {
    for (size_t moved = 1; moved > 0;) {
        moved = 0;
        rewinddir(from);
        for (const char *name; (name = next_name(from)) != NULL;) {
            if (strcmp(name, last) == 0)
                continue;
            if (renameat(dirfd(from), name, to, name) != 0)
                return errno;
            moved++;
        }
    }
    return 0;
}

typedef struct folders {
    DIR *fresh, *fresh_agents, *old, *old_agents;
} folders;

static int replace(tc_split_job *job, folders *f) {
    f->fresh = open_folder(AT_FDCWD, job->directory);
    f->old = open_folder(AT_FDCWD, job->target);
    if (f->fresh == NULL || f->old == NULL || (mkdirat(dirfd(f->old), "agents", S_IRWXU) != 0 && errno != EEXIST))
        return errno;
    f->fresh_agents = open_folder(dirfd(f->fresh), "agents");
    f->old_agents = open_folder(dirfd(f->old), "agents");
    if (f->fresh_agents == NULL || f->old_agents == NULL)
        return errno;
    remove_old_agents(f->old_agents, dirfd(f->fresh_agents));
    remove_old_tables(job, f->old, dirfd(f->fresh));
    remove_old_plan(f->old, dirfd(f->fresh));
    int code = move_files(f->fresh_agents, dirfd(f->old_agents), "");
    if (code == 0 && unlinkat(dirfd(f->fresh), "agents", AT_REMOVEDIR) != 0)
        code = errno;
    if (code == 0)
        code = move_files(f->fresh, dirfd(f->old), "cloud.tacit");
    if (code == 0 && renameat(dirfd(f->fresh), "cloud.tacit", dirfd(f->old), "cloud.tacit") != 0)
        code = errno;
    if (code == 0 && rmdir(job->directory) != 0)
        code = errno;
    return code;
}

static tc_status commit(tc_split_job *job) {
    folders f = {0};
    int code = 0;
    if (job->present)
        code = replace(job, &f);
    else if (rename(job->directory, job->target) != 0)
        code = errno;
    DIR *const open[] = {f.fresh, f.fresh_agents, f.old, f.old_agents};
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        if (open[i] != NULL)
            (void)closedir(open[i]);
    }
    if (code != 0)
        return cannot_write(job, job->target, code);
    job->directory = NULL;
    return TC_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool write_all(int descriptor, const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = write(descriptor, text, length);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
    return true;
}

static void add_part(tc_split_parts *parts, const char *name, const tc_buffer *text) {
    if (parts->count == parts->room) {
        parts->room = parts->room == 0 ? 16 : 2 * parts->room;
        parts->list = tc_arena_grow(parts->arena, parts->list, parts->count, parts->room, sizeof *parts->list);
    }
    parts->list[parts->count] = (tc_split_part){.name = tc_arena_copy(parts->arena, name, strlen(name)),
                                                .text = tc_arena_copy(parts->arena, text->text, text->length),
                                                .length = text->length};
    parts->count++;
}

static tc_status keep_part(tc_split_job *job, const char *name, const tc_buffer *text) {
    tc_split_parts *parts = job->parts;
    if (text->length > parts->most - parts->bytes) {
        tc_buffer_printf(job->messages,
                         "%s: error: all parts together have more than %zu bytes, too many for memory: split into a "
                         "folder\n",
                         job->model->source.path, parts->most);
        return TC_TOO_LARGE;
    }
    parts->bytes += text->length;
    tc_escape escape;
    tc_status status = TC_TRY(parts->arena, &escape);
    if (status == TC_OK)
        add_part(parts, name, text);
    tc_escape_end(parts->arena, &escape);
    job->files += status == TC_OK;
    return status;
}

tc_status tc_write_file(tc_split_job *job, const char *name, const tc_buffer *text) {
    if (job->parts != NULL)
        return keep_part(job, name, text);
    const char *path = tc_arena_format(job->arena, "%s/%s", job->directory, name);
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_EXCL;
    int descriptor = open(path, flags, S_IRUSR | S_IWUSR);
    if (descriptor < 0)
        return cannot_write(job, path, errno);
    bool good = write_all(descriptor, text->text, text->length);
    int code = errno;
    if (close(descriptor) != 0 && good) {
        good = false;
        code = errno;
    }
    if (!good)
        return cannot_write(job, path, code);
    job->files++;
    return TC_OK;
}

/* ---- what must be there ------------------------------------------------------------------------------------------ */

static tc_status check_dual_radius(const tc_split_job *job) {
    const tc_model *model = job->model;
    size_t gaps = 0, slaters = 0;
    const tc_family *without_gap = NULL, *without_slater = NULL;
    for (size_t f = model->family_count; f-- > 0;) {
        gaps += model->families[f].has_gap;
        slaters += model->families[f].has_slater;
        without_gap = model->families[f].has_gap ? without_gap : &model->families[f];
        without_slater = model->families[f].has_slater ? without_slater : &model->families[f];
    }
    if (!isnan(model->dual_radius) || (without_gap == NULL && without_slater == NULL) || model->constraint_count == 0)
        return TC_OK;
    tc_buffer_printf(job->messages,
                     "%s: error: the cloud needs a public dual radius, and must not learn it from private "
                     "objectives\n",
                     model->source.path);
    tc_buffer_printf(job->messages,
                     "  either add a line 'dual radius R' to the file,\n  or give every agent the public lines "
                     "'gap F' and 'slater x = ...%s'",
                     tc_equality_count(model) > 0 ? " within r" : "");
    if (without_gap != NULL)
        tc_buffer_printf(job->messages, "; 'gap' is missing for '%s'%s", without_gap->name,
                         model->family_count - gaps > 1 ? " and others" : "");
    if (without_slater != NULL)
        tc_buffer_printf(job->messages, "; 'slater' is missing for '%s'%s", without_slater->name,
                         model->family_count - slaters > 1 ? " and others" : "");
    tc_buffer_puts(job->messages, "\n");
    return TC_BAD_PROBLEM;
}

static tc_status write_plan(tc_split_job *job) {
    tc_buffer out = tc_buffer_new(job->arena, 1 << 10);
    if (job->plan == NULL)
        return TC_OK;
    tc_buffer_printf(&out, "%s\n", job->plan);
    return tc_write_file(job, "plan.hash", &out);
}

static tc_status split(tc_split_job *job, const char *directory) {
    tc_uses_forget(job->model->syntax);
    if (job->model->role != TC_ROLE_WHOLE) {
        tc_buffer_printf(job->messages,
                         "%s: error: this file is one party's already; only a whole problem can be split\n",
                         job->model->source.path);
        return TC_BAD_PROBLEM;
    }
    tc_status status = check_dual_radius(job);
    if (status == TC_OK)
        status = tc_split_check_cloud(job);
    if (status == TC_OK)
        status = tc_split_check_agents(job);
    if (status == TC_OK && job->parts == NULL)
        status = open_target(job, directory);
    if (status == TC_OK)
        status = write_plan(job);
    if (status == TC_OK)
        status = tc_split_cloud(job);
    if (status == TC_OK)
        status = tc_split_agents(job);
    if (status == TC_OK && job->parts == NULL)
        status = commit(job);
    return status;
}

static tc_status split_safely(tc_split_job *job, const char *directory) {
    tc_escape escape;
    tc_status status = TC_TRY(job->arena, &escape);
    if (status == TC_OK)
        status = split(job, directory);
    tc_escape_end(job->arena, &escape);
    return status;
}

static tc_status tell(tc_buffer *messages, const tc_split_job *job, tc_status outcome) {
    tc_escape escape;
    tc_status status = TC_TRY(messages->arena, &escape);
    if (status == TC_OK) {
        if (job->messages->length > 0)
            tc_buffer_add(messages, job->messages->text, job->messages->length);
        else if (outcome != TC_OK)
            tc_buffer_printf(messages, "%s: error: %s\n", job->model->source.path, tc_status_text(outcome));
    }
    tc_escape_end(messages->arena, &escape);
    return status;
}

tc_status tc_split(tc_arena *arena, const tc_model *model, const char *directory, bool force, const tc_monitor *monitor,
                   tc_buffer *messages, size_t *files) {
    const tc_split_wishes wishes = {.directory = directory, .force = force};
    return tc_split_with(arena, model, &wishes, monitor, messages, files);
}

tc_status tc_split_with(tc_arena *arena, const tc_model *model, const tc_split_wishes *wishes,
                        const tc_monitor *monitor, tc_buffer *messages, size_t *files) {
    tc_buffer own = tc_buffer_new(arena, 1 << 22);
    tc_split_job job = {.arena = arena,
                        .model = model,
                        .monitor = monitor,
                        .messages = &own,
                        .parts = wishes->directory == NULL ? wishes->parts : NULL,
                        .force = wishes->force,
                        .plan = wishes->plan};
    tc_status status = split_safely(&job, wishes->directory);
    if (status != TC_OK)
        abandon(&job);
    tc_status told = tell(messages, &job, status);
    *files = job.files;
    return status != TC_OK ? status : told;
}
