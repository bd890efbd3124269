/* The file: entries are read, checked and appended; then the output for people and programs. */
#include "promise/ledger.h"

#include "base/text.h"
#include "plan/account/account.h"

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

/* ---- the entry of a plan ----------------------------------------------------------------------------------------- */

enum { MOST_PROTECTION = TC_LEDGER_LINE / 2 };

/* What the data of a problem are protected by. More than a line holds is not said, and then counts as nothing. */
static const char *protection(tc_arena *arena, const tc_model *model) {
    tc_buffer text = tc_buffer_new(arena, SIZE_MAX / 4);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t i = 0; i < family->datum_count; i++) {
            char by[32];
            double least = family->data[i].by != NULL ? tc_protected_by(family, &family->data[i]).least : 0;
            if (!(least > 0))
                continue;
            tc_shortest_number(by, least);
            tc_buffer_printf(&text, "%s%s.%s by %s", text.length > 0 ? ", " : "", family->name, family->data[i].name,
                             by);
        }
    }
    return text.length <= MOST_PROTECTION ? tc_buffer_text(&text) : "";
}

static tc_unit file_unit(tc_arena *arena, const tc_plan *plan) {
    const tc_privacy *file = &plan->model->privacy;
    tc_adjacency bare = plan->calibration == TC_PUBLISHED ? TC_ADJACENCY_ENSEMBLE : TC_ADJACENCY_ONE;
    bool bounded = file->adjacency != TC_ADJACENCY_AGENT && file->adjacency != TC_ADJACENCY_DATA;
    return (tc_unit){file->adjacency == TC_ADJACENCY_BARE ? bare : file->adjacency,
                     bounded ? file->adjacency_bound : NAN,
                     file->adjacency == TC_ADJACENCY_DATA ? protection(arena, plan->model) : NULL};
}

static tc_ledger_last last_of(const tc_plan *plan) {
    const tc_last_round *last = plan->last;
    return last == NULL ? (tc_ledger_last){0} : (tc_ledger_last){last->price, last->agent, last->rows, last->cut};
}

tc_ledger_entry tc_ledger_entry_of(tc_arena *arena, const tc_plan *plan, const char *run) {
    bool sound = plan->is_private && plan->observer_count > 0;
    tc_run_price price = tc_price_of_run(plan);
    return (tc_ledger_entry){
        .run = run,
        .problem = base_name(plan->model->source.path),
        .plan = tc_hexadecimal_new(arena, plan->hash, sizeof plan->hash),
        .unit = plan->adjacency,
        .bound = plan->adjacency_bound,
        .data = plan->adjacency == TC_ADJACENCY_DATA ? protection(arena, plan->model) : NULL,
        .mechanism = plan->mechanism,
        .epsilon = sound ? price.epsilon : (double)INFINITY,
        .delta = sound ? price.delta : (double)INFINITY,
        .mu = sound ? price.gdp : NAN,
        .agent = sound ? plan->agent_price : (double)INFINITY,
        .rounds = plan->rounds,
        .agents = (double)plan->model->agent_count,
        .last = sound ? last_of(plan) : (tc_ledger_last){0},
        .is_priced = sound,
        .file_unit = file_unit(arena, plan),
    };
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

typedef struct ledger_job {
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
} ledger_job;

static tc_status cannot(ledger_job *j, const char *what, tc_status status) {
    tc_buffer_printf(j->messages, "%s: the ledger cannot be %s: %s\n", j->ledger->path, what, strerror(errno));
    return status;
}

static tc_status is_damaged(ledger_job *j, size_t line, const char *how) {
    tc_buffer_printf(j->messages,
                     "%s:%zu: the ledger is damaged: %s. What was spent is not known, so nothing was added. If a newer "
                     "tacit has written to this file, use that one. Otherwise restore the newest copy: an older one "
                     "forgets what was spent since.\n",
                     j->ledger->path, line, how);
    return TC_BAD_PROBLEM;
}

static tc_status read_all(ledger_job *j, int file) {
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return cannot(j, "read", TC_CANNOT_READ);
    if (!S_ISREG(facts.st_mode)) {
        tc_buffer_printf(j->messages, "%s: not a plain file, so it is not a ledger\n", j->ledger->path);
        return TC_BAD_USAGE;
    }
    if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        tc_buffer_printf(j->messages,
                         "'%s' is refused as a ledger, since others may write it: chmod 600. Whoever can write it "
                         "decides what was spent\n",
                         j->ledger->path);
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

static tc_status parse(ledger_job *j) {
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

static tc_status lock_and_read(ledger_job *j, int file, int kind) {
    int locked;
    do {
        locked = flock(file, kind);
    } while (locked != 0 && errno == EINTR);
    if (locked != 0)
        return cannot(j, "locked", TC_CANNOT_WRITE);
    tc_status status = read_all(j, file);
    return status == TC_OK ? parse(j) : status;
}

static tc_status read_work(ledger_job *j, int file) { return lock_and_read(j, file, LOCK_SH); }

/* Closes the file in every case. If work raises, its status is the result. */
static tc_status with_file(ledger_job *j, int file, tc_status (*work)(ledger_job *, int)) {
    tc_escape escape;
    tc_status status = TC_TRY(j->arena, &escape);
    if (status == TC_OK)
        status = work(j, file);
    tc_escape_end(j->arena, &escape);
    return close(file) == 0 || status != TC_OK ? status : cannot(j, "written", TC_CANNOT_WRITE);
}

static ledger_job *ledger_job_new(tc_arena *arena, const char *path, tc_buffer *messages) {
    ledger_job *j = TC_NEW(arena, ledger_job, 1);
    *j = (ledger_job){.arena = arena,
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

/* A path that cannot be a file is not an empty ledger. */
static tc_status could_be_new(ledger_job *j) {
    const char *path = j->ledger->path, *folder = folder_of(j->arena, path);
    struct stat facts;
    if (base_name(path)[0] == '\0') {
        tc_buffer_printf(j->messages, "'%s' names no file for a ledger\n", path);
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
    ledger_job *j = ledger_job_new(arena, path, messages);
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

/* A new file is durable only when its folder is. */
static bool sync_folder(tc_arena *arena, const char *path) {
    int file = open(folder_of(arena, path), O_RDONLY | O_CLOEXEC);
    bool synced = file >= 0 && fsync(file) == 0;
    if (file >= 0)
        (void)close(file);
    return synced;
}

/* All of the line, or none of it. */
static tc_status append(ledger_job *j, int file, const tc_buffer *line) {
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
        tc_buffer_printf(j->messages, "%s: part of a line may be left in it\n", j->ledger->path);
    return status;
}

static tc_status record_work(ledger_job *j, int file) {
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

static tc_status record(ledger_job *j, const char *path, const tc_ledger_entry *entry) {
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
    ledger_job *j = ledger_job_new(arena, path, messages);
    tc_status status = record(j, path, entry);
    if (was_there != NULL)
        *was_there = j->was_there;
    return status;
}

tc_status tc_ledger_record_within(tc_arena *arena, const char *path, const tc_ledger_entry *entry,
                                  const tc_budget *budgets, size_t budget_count, tc_buffer *messages,
                                  const char **over) {
    ledger_job *j = ledger_job_new(arena, path, messages);
    j->budgets = budgets;
    j->budget_count = budget_count;
    tc_status status = record(j, path, entry);
    *over = j->over;
    return status;
}

/* ---- for people and programs ------------------------------------------------------------------------------------- */

typedef struct account {
    tc_ledger_entry *entries; /* the ledger's runs, then the next one */
    size_t count;
    tc_spent *spent; /* one for each unit, in the order in which they appear */
    size_t unit_count;
} account;

static account account_of(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next) {
    account a = {.count = ledger->count + (next != NULL)};
    a.entries = TC_NEW(arena, tc_ledger_entry, a.count + 1);
    for (size_t i = 0; i < ledger->count; i++)
        a.entries[i] = ledger->entries[i];
    if (next != NULL)
        a.entries[ledger->count] = *next;
    a.spent = TC_NEW(arena, tc_spent, a.count + 1);
    for (size_t i = 0; i < a.count; i++) {
        tc_unit unit = tc_unit_of(&a.entries[i]);
        size_t at = 0;
        while (at < a.unit_count && !tc_same_unit(a.spent[at].unit, unit))
            at++;
        if (at == a.unit_count)
            a.spent[a.unit_count++] = tc_spent_so_far(arena, a.entries, a.count, unit);
    }
    return a;
}

static double delta_of(const tc_spent *spent) { return spent->is_priced ? spent->delta : (double)INFINITY; }

/* ---- for people ------------------------------------------------------------------------------------------------- */

static void put_wrapped(tc_buffer *out, const char *text, unsigned indent) {
    tc_text_layout layout = {.out = out, .width = 80};
    tc_layout_paragraph(&layout, indent, text);
}

static void put_spent(tc_arena *arena, tc_buffer *out, const tc_spent *spent) {
    const char *unit =
        spent->unit.kind == TC_ADJACENCY_UNSET ? NULL : tc_unit_text(arena, spent->unit.kind, spent->unit.bound);
    size_t runs = spent->own + spent->converted;
    tc_buffer_printf(out, "  %-16s %6zu run%s  %s\n", unit != NULL ? unit : "without noise", runs,
                     runs == 1 ? " " : "s",
                     spent->is_priced ? tc_price_up(arena, spent->epsilon, spent->delta) : "NOT PRIVATE");
    if (spent->unit.kind == TC_ADJACENCY_DATA)
        put_wrapped(out, tc_arena_format(arena, "of one agent: %s", spent->unit.data), 19);
    if (spent->not_converted > 0 && spent->is_priced)
        put_wrapped(out,
                    tc_arena_format(arena, "and %zu that cannot be counted in this unit: %s", spent->not_converted,
                                    spent->why_not),
                    19);
}

/* Where a sum is of prices that can be traded for each other: docs/proofs/composition.md, section 6. */
static bool is_mixed(const account *a) {
    bool laplace = false, gaussian = false, last = false;
    for (size_t i = 0; i < a->count; i++) {
        laplace = laplace || a->entries[i].mechanism == TC_MECHANISM_LAPLACE;
        gaussian = gaussian || a->entries[i].mechanism == TC_MECHANISM_GAUSSIAN;
        last = last || a->entries[i].last.rows > 0;
    }
    return (laplace && gaussian) || (last && a->count > 1);
}

void tc_ledger_text(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, tc_buffer *out) {
    account a = account_of(arena, ledger, NULL);
    if (ledger->is_new)
        tc_buffer_printf(out, "Ledger: there is no such file yet; the first run makes it\n  %s\n", ledger->path);
    else
        tc_buffer_printf(out, "Ledger: %zu run%s so far, for the observer who pays most\n", ledger->count,
                         ledger->count == 1 ? "" : "s");
    for (size_t i = 0; i < a.unit_count; i++)
        put_spent(arena, out, &a.spent[i]);
    if (next != NULL) {
        a = account_of(arena, ledger, next);
        if (next->is_priced)
            tc_buffer_printf(out, "  this plan would add %s,\n  which then comes to\n",
                             tc_price_up(arena, next->epsilon, next->delta));
        else
            tc_buffer_puts(out, "  this plan would add a run without a guarantee: no sum holds after it\n");
        for (size_t i = 0; i < a.unit_count; i++) {
            if (!next->is_priced || tc_same_unit(a.spent[i].unit, tc_unit_of(next)))
                put_spent(arena, out, &a.spent[i]);
        }
    }
    if (a.unit_count > 1)
        put_wrapped(out, "Each line counts all runs, converted into its unit.", 2);
    if (is_mixed(&a))
        put_wrapped(out,
                    "Laplace and Gaussian runs, or runs with a last round and others, are added up: this holds where "
                    "no plan was chosen by what earlier runs released.",
                    2);
}

/* ---- for programs ----------------------------------------------------------------------------------------------- */

static void spent_json(tc_arena *arena, tc_json *json, const char *key, const tc_spent *spent) {
    tc_json_open_object(json, key);
    tc_json_string(json, "unit",
                   spent->unit.kind == TC_ADJACENCY_UNSET ? NULL
                                                          : tc_unit_text(arena, spent->unit.kind, spent->unit.bound));
    if (spent->unit.kind == TC_ADJACENCY_DATA)
        tc_json_string(json, "protects", spent->unit.data);
    tc_json_count(json, "runs", spent->own);
    tc_json_count(json, "converted", spent->converted);
    tc_json_count(json, "not_converted", spent->not_converted);
    tc_json_string(json, "why_not", spent->why_not);
    tc_json_bool(json, "priced", spent->is_priced);
    tc_json_number(json, "epsilon", spent->not_converted > 0 ? NAN : spent->epsilon);
    tc_json_number(json, "epsilon_of_counted", spent->epsilon);
    tc_json_number(json, "delta", delta_of(spent));
    tc_json_number(json, "delta_of_bounds", spent->bounds);
    tc_json_number(json, "laplace", spent->laplace);
    tc_json_number(json, "mu", spent->mu);
    tc_json_close_object(json);
}

void tc_ledger_json(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, const char *key,
                    tc_json *json) {
    account a = account_of(arena, ledger, NULL);
    tc_json_open_object(json, key);
    tc_json_bool(json, "exists", !ledger->is_new);
    tc_json_count(json, "runs", ledger->count);
    tc_json_open_array(json, "spent");
    for (size_t i = 0; i < a.unit_count; i++)
        spent_json(arena, json, NULL, &a.spent[i]);
    tc_json_close_array(json);
    if (next != NULL) {
        tc_json_open_object(json, "adds");
        tc_json_bool(json, "priced", next->is_priced);
        tc_json_number(json, "epsilon", next->epsilon);
        tc_json_number(json, "delta", next->delta);
        tc_json_number(json, "mu", next->mu);
        tc_json_close_object(json);
        a = account_of(arena, ledger, next);
        for (size_t i = 0; i < a.unit_count; i++) {
            if (tc_same_unit(a.spent[i].unit, tc_unit_of(next)))
                spent_json(arena, json, "would_be", &a.spent[i]);
        }
    }
    tc_json_close_object(json);
}
