/* Reading, checking and appending. */
#include "promise/ledger.h"

#include "base/text.h"
#include "promise/accountant.h"
#include "promise/ledger_line.h"
#include "plan/account/price.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 28, PART = 1 << 16, LONGEST_NAME = 256 };

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static tc_unit file_unit(const tc_plan *plan) {
    const tc_privacy *file = &plan->model->privacy;
    tc_adjacency bare = plan->calibration == TC_PUBLISHED ? TC_ADJACENCY_ENSEMBLE : TC_ADJACENCY_ONE;
    return (tc_unit){file->adjacency == TC_ADJACENCY_BARE ? bare : file->adjacency,
                     file->adjacency == TC_ADJACENCY_AGENT ? NAN : file->adjacency_bound};
}

tc_ledger_entry tc_ledger_entry_of(tc_arena *arena, const tc_plan *plan, const char *run) {
    bool sound = plan->is_private && plan->observer_count > 0;
    tc_run_price price = tc_price_of_run(plan);
    return (tc_ledger_entry){
        .run = run,
        .problem = base_name(plan->model->source.path),
        .plan = tc_hexadecimal_new(arena, plan->hash, sizeof plan->hash),
        .unit = plan->adjacency,
        .bound = plan->adjacency == TC_ADJACENCY_AGENT ? NAN : plan->adjacency_bound,
        .mechanism = plan->mechanism,
        .epsilon = sound ? price.epsilon : (double)INFINITY,
        .delta = sound ? price.delta : (double)INFINITY,
        .mu = sound ? price.mu : NAN,
        .agent = sound ? plan->agent_price : (double)INFINITY,
        .rounds = plan->rounds,
        .agents = (double)plan->model->agent_count,
        .is_priced = sound,
        .file_unit = file_unit(plan),
    };
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

typedef struct job {
    tc_arena *arena;
    tc_ledger *ledger;
    tc_buffer *messages;
    tc_buffer text; /* of the whole file */
    char check[TC_LEDGER_CHECK + 1];
    const tc_ledger_entry *entry; /* to be recorded */
    bool was_there;
    const tc_budget *budgets;
    size_t budget_count;
    const char *over;
} job;

static tc_status cannot(job *j, const char *what, tc_status status) {
    tc_buffer_printf(j->messages, "%s: the ledger cannot be %s: %s\n", j->ledger->path, what, strerror(errno));
    return status;
}

static tc_status is_damaged(job *j, size_t line, const char *how) {
    tc_buffer_printf(j->messages,
                     "%s:%zu: the ledger is damaged: %s. What was spent is not known, and nothing was added; restore "
                     "the file from a copy.\n",
                     j->ledger->path, line, how);
    return TC_BAD_PROBLEM;
}

static tc_status read_all(job *j, int file) {
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return cannot(j, "read", TC_CANNOT_READ);
    if (!S_ISREG(facts.st_mode)) {
        tc_buffer_printf(j->messages, "%s: a ledger is a plain file, and this is none\n", j->ledger->path);
        return TC_BAD_USAGE;
    }
    char *part = TC_NEW(j->arena, char, PART);
    for (;;) {
        ssize_t count = pread(file, part, PART, (off_t)j->text.length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return cannot(j, "read", TC_CANNOT_READ);
        if (count == 0)
            return TC_OK;
        tc_buffer_add(&j->text, part, (size_t)count);
    }
}

static tc_status parse(job *j) {
    tc_ledger *ledger = j->ledger;
    size_t lines = 0;
    for (size_t i = 0; i < j->text.length; i++)
        lines += j->text.text[i] == '\n';
    ledger->entries = TC_NEW(j->arena, tc_ledger_entry, lines + 1);
    for (size_t at = 0; at < j->text.length;) {
        const char *start = j->text.text + at;
        const char *end = memchr(start, '\n', j->text.length - at);
        if (end == NULL)
            return is_damaged(j, ledger->count + 1, "its last line is cut off");
        size_t length = (size_t)(end - start);
        const char *wrong = tc_ledger_line_read(j->arena, start, length, &ledger->entries[ledger->count], j->check);
        if (wrong != NULL)
            return is_damaged(j, ledger->count + 1, wrong);
        ledger->count++;
        at += length + 1;
    }
    return TC_OK;
}

static tc_status lock_and_read(job *j, int file, int kind) {
    int locked;
    do {
        locked = flock(file, kind);
    } while (locked != 0 && errno == EINTR);
    if (locked != 0)
        return cannot(j, "locked", TC_CANNOT_WRITE);
    tc_status status = read_all(j, file);
    return status == TC_OK ? parse(j) : status;
}

static tc_status read_work(job *j, int file) { return lock_and_read(j, file, LOCK_SH); }

/* Closes the file whatever happens; what is raised within becomes the result. */
static tc_status with_file(job *j, int file, tc_status (*work)(job *, int)) {
    tc_escape escape;
    tc_status status = TC_TRY(j->arena, &escape);
    if (status == TC_OK)
        status = work(j, file);
    tc_escape_end(j->arena, &escape);
    return close(file) == 0 || status != TC_OK ? status : cannot(j, "written", TC_CANNOT_WRITE);
}

static job *job_new(tc_arena *arena, const char *path, tc_buffer *messages) {
    job *j = TC_NEW(arena, job, 1);
    *j = (job){.arena = arena,
               .ledger = TC_NEW(arena, tc_ledger, 1),
               .messages = messages,
               .text = tc_buffer_new(arena, MOST_BYTES)};
    j->ledger->path = path;
    return j;
}

static const char *folder_of(tc_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? "." : slash == path ? "/" : tc_arena_copy(arena, path, (size_t)(slash - path));
}

/* A name that no file could have must not pass for a ledger in which nothing was spent. */
static tc_status could_be_new(job *j) {
    const char *path = j->ledger->path, *folder = folder_of(j->arena, path);
    struct stat facts;
    if (base_name(path)[0] == '\0') {
        tc_buffer_printf(j->messages, "a ledger is a file, and '%s' names none\n", path);
        return TC_BAD_USAGE;
    }
    if (stat(folder, &facts) != 0 || !S_ISDIR(facts.st_mode)) {
        tc_buffer_printf(j->messages, "%s: there is no folder '%s' for this ledger\n", path, folder);
        return TC_BAD_USAGE;
    }
    j->ledger->is_new = true;
    return TC_OK;
}

tc_status tc_ledger_read(tc_arena *arena, const char *path, tc_buffer *messages, tc_ledger **ledger) {
    job *j = job_new(arena, path, messages);
    *ledger = j->ledger;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0 && (errno == ENOENT || errno == ENOTDIR))
        return could_be_new(j);
    return file < 0 ? cannot(j, "read", TC_CANNOT_READ) : with_file(j, file, read_work);
}

/* ---- appending -------------------------------------------------------------------------------------------------- */

static const char *now(tc_arena *arena) {
    time_t seconds = time(NULL);
    struct tm parts;
    char *text = TC_NEW(arena, char, 32);
    if (gmtime_r(&seconds, &parts) == NULL || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        tc_raise(arena, TC_INTERNAL);
    return text;
}

/* A new file is safe on the disk only with the folder that names it. */
static bool sync_folder(tc_arena *arena, const char *path) {
    int file = open(folder_of(arena, path), O_RDONLY | O_CLOEXEC);
    bool synced = file >= 0 && fsync(file) == 0;
    if (file >= 0)
        (void)close(file);
    return synced;
}

/* All of the line, or none of it. */
static tc_status append(job *j, int file, const tc_buffer *line) {
    size_t written = 0;
    while (written < line->length) {
        ssize_t count = write(file, line->text + written, line->length - written);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        written += (size_t)count;
    }
    if (written == line->length && fsync(file) == 0 && (j->text.length > 0 || sync_folder(j->arena, j->ledger->path)))
        return TC_OK;
    tc_status status = cannot(j, "written", TC_CANNOT_WRITE);
    if (ftruncate(file, (off_t)j->text.length) != 0)
        tc_buffer_printf(j->messages, "%s: half a line may be left in it\n", j->ledger->path);
    return status;
}

static tc_status record_work(job *j, int file) {
    tc_ledger_entry entry = *j->entry;
    tc_status status = lock_and_read(j, file, LOCK_EX);
    if (status != TC_OK)
        return status;
    for (size_t i = 0; i < j->ledger->count; i++) {
        const tc_ledger_entry *old = &j->ledger->entries[i];
        if (strcmp(old->run, entry.run) != 0)
            continue;
        j->was_there = strcmp(old->plan, entry.plan) == 0;
        if (j->was_there)
            return TC_OK;
        tc_buffer_printf(j->messages, "%s:%zu: run '%s' is in this ledger with another plan\n", j->ledger->path, i + 1,
                         entry.run);
        return TC_BAD_USAGE;
    }
    j->over = tc_over_budget(j->arena, j->ledger, &entry, j->budgets, j->budget_count);
    if (j->over != NULL)
        return TC_OK;
    if (entry.time == NULL)
        entry.time = now(j->arena);
    tc_buffer line = tc_buffer_new(j->arena, TC_LEDGER_LINE);
    tc_ledger_line_write(&line, &entry, j->check);
    return append(j, file, &line);
}

static tc_status record(job *j, const char *path, const tc_ledger_entry *entry) {
    tc_arena *arena = j->arena;
    tc_buffer *messages = j->messages;
    tc_ledger_entry *own = TC_NEW(arena, tc_ledger_entry, 1);
    *own = *entry;
    if (strlen(entry->run) == 0 || strlen(entry->run) > LONGEST_NAME) {
        tc_buffer_printf(messages, "%s: the id of a run has 1 to %d bytes\n", path, LONGEST_NAME);
        return TC_BAD_USAGE;
    }
    if (strlen(own->problem) > LONGEST_NAME)
        own->problem = tc_arena_copy(arena, own->problem, LONGEST_NAME);
    j->entry = own;
    int file = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, S_IRUSR | S_IWUSR);
    return file < 0 ? cannot(j, "opened", TC_CANNOT_WRITE) : with_file(j, file, record_work);
}

tc_status tc_ledger_record(tc_arena *arena, const char *path, const tc_ledger_entry *entry, tc_buffer *messages,
                           bool *was_there) {
    job *j = job_new(arena, path, messages);
    tc_status status = record(j, path, entry);
    if (was_there != NULL)
        *was_there = j->was_there;
    return status;
}

tc_status tc_ledger_record_within(tc_arena *arena, const char *path, const tc_ledger_entry *entry,
                                  const tc_budget *budgets, size_t budget_count, tc_buffer *messages,
                                  const char **over) {
    job *j = job_new(arena, path, messages);
    j->budgets = budgets;
    j->budget_count = budget_count;
    tc_status status = record(j, path, entry);
    *over = j->over;
    return status;
}
