/* `serve` as a process with agents on sockets, twice: what leaves it must be the same. */
#include "worlds/worlds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the cloud as a process ---- */

typedef struct serve_process {
    pid_t process;
    const char *folder; /* its own: journal, trace, log, summary */
    unsigned port, http_port;
    int code; /* of its exit; -1 for a signal */
} serve_process;

enum {
    MOST_WORDS = 96,
    PATIENCE = 600 /* seconds until the ports open: a large problem on a busy machine takes long */
};

static void pause_a_little(void) {
    const struct timespec wait = {.tv_nsec = 5000000};
    (void)nanosleep(&wait, NULL);
}

static void redirect(const char *folder, const char *name, const char *end, int to) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.%s", folder, name, end);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (descriptor < 0 || dup2(descriptor, to) < 0)
        _exit(126);
}

static pid_t start(const tc_worlds *w, const char *const *words, const char *folder, const char *name,
                   const char *coupling) {
    pid_t process = fork();
    if (process != 0)
        return process;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with the program that started it */
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
        _exit(126);
    redirect(folder, name, "out", STDOUT_FILENO);
    redirect(folder, name, "err", STDERR_FILENO);
    if (coupling == NULL ? unsetenv(TC_COUPLED_VARIABLE) != 0 : setenv(TC_COUPLED_VARIABLE, coupling, 1) != 0)
        _exit(126);
    char *copies[MOST_WORDS + 1] = {0};
    for (size_t i = 0; i < MOST_WORDS && words[i] != NULL; i++)
        copies[i] = strdup(words[i]);
    (void)execv(w->program, copies);
    _exit(127);
}

static int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

static int wait_for(pid_t process) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return code_of(status);
}

/* Starts a program and waits for it, its output in files of the folder. */
static int run(const tc_worlds *w, const char *const *words, const char *folder, const char *name) {
    pid_t process = start(w, words, folder, name, NULL);
    return process < 0 ? -1 : wait_for(process);
}

/* NULL where it cannot be read. */
static const char *read_file(tc_arena *arena, const char *path) {
    char bytes[4096];
    tc_buffer whole = tc_buffer_new(arena, (size_t)1 << 34);
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return NULL;
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        tc_buffer_add(&whole, bytes, got);
    (void)fclose(file);
    return tc_buffer_text(&whole);
}

static bool read_ports(tc_arena *arena, serve_process *cloud) {
    const char *text = read_file(arena, tc_arena_format(arena, "%s/ports", cloud->folder));
    return text != NULL && sscanf(text, "%u %u", &cloud->port, &cloud->http_port) == 2;
}

/* Waits for it; by_force: kills it first. */
static void end_cloud(serve_process *cloud, bool by_force) {
    if (cloud->process <= 0)
        return;
    if (by_force)
        (void)kill(cloud->process, SIGKILL);
    cloud->code = wait_for(cloud->process);
    cloud->process = 0;
}

/* options: words for `serve`, NULL at the end. False if its ports do not open; the log says why. */
static bool start_cloud(const tc_worlds *w, const char *file, const char *const *options, tc_coupled_noise_mode mode,
                        const char *tape, serve_process *cloud) {
    const char *words[MOST_WORDS + 1] = {w->program, "serve", file};
    size_t count = 3;
    const char *own[] = {"--listen",    "127.0.0.1:0",
                         "--http",      "127.0.0.1:0",
                         "--state",     tc_arena_format(w->arena, "%s/journal", cloud->folder),
                         "--port-file", tc_arena_format(w->arena, "%s/ports", cloud->folder),
                         "--trace",     tc_arena_format(w->arena, "%s/trace.csv", cloud->folder),
                         "--ledger",    tc_arena_format(w->arena, "%s/ledger", cloud->folder),
                         "--deadline",  "86400",
                         "--threads",   "1",
                         "--log-level", "debug",
                         "--json",      "--insecure-plaintext"};
    for (size_t i = 0; options[i] != NULL && count < MOST_WORDS; i++)
        words[count++] = options[i];
    for (size_t i = 0; i < sizeof own / sizeof own[0] && count < MOST_WORDS; i++)
        words[count++] = own[i];
    if (mkdir(cloud->folder, 0700) != 0)
        return false;
    cloud->code = -1;
    cloud->process = start(w, words, cloud->folder, "cloud",
                           tc_arena_format(w->arena, "%s:%s", mode == TC_COUPLED_RECORD ? "record" : "replay", tape));
    time_t until = time(NULL) + PATIENCE;
    while (cloud->process > 0 && time(NULL) < until) {
        int status = 0;
        if (read_ports(w->arena, cloud))
            return true;
        if (waitpid(cloud->process, &status, WNOHANG) == cloud->process) {
            cloud->code = code_of(status);
            cloud->process = 0;
        }
        pause_a_little();
    }
    end_cloud(cloud, true);
    return false;
}

/* ---- the journal ---- */

typedef struct journal_column {
    const char *name;
    const void *bytes;
    size_t size;
} journal_column;
enum { MOST_COLUMNS = 32 };

static const void *copy(tc_arena *arena, const void *bytes, size_t size) {
    return size == 0 || bytes == NULL ? "" : tc_arena_copy(arena, bytes, size);
}

static bool read_row(tc_arena *arena, sqlite3 *database, journal_column *columns, size_t *count) {
    sqlite3_stmt *row = NULL;
    bool good = sqlite3_prepare_v2(database, "SELECT * FROM journal", -1, &row, NULL) == SQLITE_OK &&
                sqlite3_step(row) == SQLITE_ROW;
    for (int i = 0; good && i < sqlite3_column_count(row) && *count < MOST_COLUMNS; i++) {
        const char *name = sqlite3_column_name(row, i);
        const void *bytes = sqlite3_column_blob(row, i); /* of a number: its text */
        size_t size = (size_t)sqlite3_column_bytes(row, i);
        columns[(*count)++] =
            (journal_column){tc_arena_copy(arena, name, strlen(name)), copy(arena, bytes, size), size};
    }
    (void)sqlite3_finalize(row);
    return good;
}

/* The columns of the journal, by name. False if it cannot be read. */
static bool read_journal(tc_arena *arena, const serve_process *cloud, journal_column *columns, size_t *count) {
    const char *path = tc_arena_format(arena, "%s/journal/journal.db", cloud->folder);
    sqlite3 *database = NULL;
    *count = 0;
    bool good = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                read_row(arena, database, columns, count);
    (void)sqlite3_close(database);
    return good;
}

/* ---- a run in each world ---- */

enum { MOST_CLIENTS = 64, CROWD = 16384, MANY = 400, MOST_PAGES = 32, MOST_FILES = 32 };

static const char *const pages[] = {"/status", "/metrics", "/healthz"};
enum { PAGES = sizeof pages / sizeof pages[0] };

typedef struct seen_page {
    const char *name, *text;
} seen_page;

typedef struct life { /* what one world showed */
    serve_process cloud;
    tc_client clients[MOST_CLIENTS];
    size_t client_count;
    seen_page pages[MOST_PAGES];
    size_t page_count;
    const char *log, *summary, *trace, *ledger;
    journal_column columns[MOST_COLUMNS];
    size_t column_count;
    const char *files[MOST_FILES];
    off_t sizes[MOST_FILES];
    size_t file_count;
    const char *trouble;
} life;

/* The agent that differs has a connection of its own; the others share some. */
static void seat_agents(const tc_worlds *w, size_t other, life *l) {
    size_t agents = w->setup.model->agent_count, crowd = agents / 3 + 1;
    crowd = crowd > CROWD ? CROWD : crowd;
    l->clients[l->client_count++] = (tc_client){.descriptor = -1, .first = other, .count = 1, .is_other = true};
    for (size_t first = 0; first < agents && l->client_count < MOST_CLIENTS;) {
        size_t end = first + crowd < agents ? first + crowd : agents;
        if (first <= other && other < end)
            end = other;
        if (end > first)
            l->clients[l->client_count++] = (tc_client){.descriptor = -1, .first = first, .count = end - first};
        first = end == other ? end + 1 : end;
    }
}

static bool look(const tc_worlds *w, life *l, uint64_t round) {
    for (size_t i = 0; i < PAGES && l->page_count < MOST_PAGES; i++) {
        const char *text = tc_client_page(w->arena, l->cloud.http_port, pages[i]);
        if (text == NULL)
            return false;
        l->pages[l->page_count++] =
            (seen_page){tc_arena_format(w->arena, "the page %s after round %llu", pages[i], (unsigned long long)round),
                        tc_mask_text(w->arena, text, l->cloud.folder)};
    }
    return true;
}

static bool note_trouble(life *l, bool good, const tc_client *c) {
    if (!good && l->trouble == NULL)
        l->trouble = c->trouble;
    return good;
}

static bool go_rounds(const tc_worlds *w, unsigned world, size_t other, life *l) {
    for (uint64_t k = 1; k <= w->rounds; k++) {
        for (size_t i = 0; i < l->client_count; i++)
            if (!note_trouble(l, tc_client_say(w, &l->clients[i], world, other, k), &l->clients[i]))
                return false;
        for (size_t i = 0; i < l->client_count; i++)
            if (!note_trouble(l, tc_client_hear(&l->clients[i], k), &l->clients[i]))
                return false;
        if ((k == 1 || k == 2 || k + 1 == w->rounds) && k < w->rounds && !look(w, l, k))
            return false;
    }
    return true;
}

static bool go_through(const tc_worlds *w, unsigned world, size_t other, life *l) {
    for (size_t i = 0; i < l->client_count; i++)
        if (!note_trouble(l, tc_client_join(w, &l->clients[i], l->cloud.port), &l->clients[i]))
            return false;
    if (!look(w, l, 0) || !go_rounds(w, world, other, l))
        return false;
    for (size_t i = 0; i < l->client_count; i++)
        if (!note_trouble(l, tc_client_leave(&l->clients[i]), &l->clients[i]))
            return false;
    return true;
}

static int compare_names(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Names of all files of the state folder, in order, and how large the journal's are. */
static void list_files(tc_arena *arena, life *l) {
    const char *folder = tc_arena_format(arena, "%s/journal", l->cloud.folder);
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.' && l->file_count < MOST_FILES)
            l->files[l->file_count++] = tc_arena_copy(arena, entry->d_name, strlen(entry->d_name));
    if (directory != NULL)
        (void)closedir(directory);
    qsort(l->files, l->file_count, sizeof l->files[0], compare_names);
    for (size_t i = 0; i < l->file_count; i++) {
        struct stat facts;
        if (strncmp(l->files[i], "journal", 7) == 0 &&
            stat(tc_arena_format(arena, "%s/%s", folder, l->files[i]), &facts) == 0)
            l->sizes[i] = facts.st_size;
    }
}

static const char *read_masked(const tc_worlds *w, const life *l, const char *name) {
    const char *text = read_file(w->arena, tc_arena_format(w->arena, "%s/%s", l->cloud.folder, name));
    return text == NULL ? "" : tc_mask_text(w->arena, text, l->cloud.folder);
}

static void gather(const tc_worlds *w, life *l) {
    list_files(w->arena, l); /* first, since opening the journal may change the files beside it */
    l->log = tc_mask_log(w->arena, read_masked(w, l, "cloud.err"), w->setup.model->agent_count > MANY);
    l->summary = read_masked(w, l, "cloud.out");
    l->trace = read_masked(w, l, "trace.csv");
    l->ledger = read_masked(w, l, "ledger");
    if (!read_journal(w->arena, &l->cloud, l->columns, &l->column_count))
        l->trouble = "the journal cannot be read";
    for (size_t i = 0; i < l->client_count; i++)
        tc_client_mask(&l->clients[i]);
}

static const char *last_line(tc_arena *arena, const char *path) {
    const char *text = read_file(arena, path), *line = text;
    for (const char *at = text; at != NULL && *at != '\0'; at++)
        if (*at == '\n' && at[1] != '\0')
            line = at + 1;
    return line == NULL ? "" : tc_arena_copy(arena, line, strcspn(line, "\n"));
}

static bool live(tc_worlds *w, const char *file, const char *const *options, unsigned world, size_t other, life *l) {
    const char *tape = tc_arena_format(w->arena, "%s/sockets.tape", w->folder);
    l->cloud.folder = tc_arena_format(w->arena, "%s/world.%u", w->folder, world);
    seat_agents(w, other, l);
    if (!start_cloud(w, file, options, world == 0 ? TC_COUPLED_RECORD : TC_COUPLED_REPLAY, tape, &l->cloud)) {
        w->untested = tc_arena_format(w->arena, "the cloud does not start: %s",
                                      last_line(w->arena, tc_arena_format(w->arena, "%s/cloud.err", l->cloud.folder)));
        return false;
    }
    bool good = go_through(w, world, other, l);
    end_cloud(&l->cloud, !good);
    gather(w, l);
    return true;
}

static bool is_excepted(const char *column) {
    static const char *const names[] = {"run_id", "epoch_id", "input", "digest"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(column, names[i]) == 0)
            return true;
    return false;
}

static void compare_disks(tc_worlds *w, const life *a, const life *b) {
    if (a->column_count != b->column_count)
        tc_worlds_differ(w, "the journal: its columns");
    for (size_t i = 0; i < a->column_count && i < b->column_count; i++)
        if (!is_excepted(a->columns[i].name))
            (void)tc_worlds_compare(w, tc_arena_format(w->arena, "the journal: %s", a->columns[i].name),
                                    a->columns[i].bytes, a->columns[i].size, b->columns[i].bytes, b->columns[i].size);
        else if (a->columns[i].size != b->columns[i].size)
            tc_worlds_differ(w, "the journal: the size of %s", a->columns[i].name);
    if (a->file_count != b->file_count)
        tc_worlds_differ(w, "the files of the state folder");
    for (size_t i = 0; i < a->file_count && i < b->file_count; i++)
        if (strcmp(a->files[i], b->files[i]) != 0 || a->sizes[i] != b->sizes[i])
            tc_worlds_differ(w, "the files of the state folder: %s", a->files[i]);
    const struct {
        const char *name, *first, *second;
    } texts[] = {{"the log", a->log, b->log},
                 {"the summary", a->summary, b->summary},
                 {"the trace", a->trace, b->trace},
                 {"the ledger", a->ledger, b->ledger}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tc_worlds_compare_lines(w, texts[i].name, texts[i].first, texts[i].second);
        if (*texts[i].first == '\0' && w->untested == NULL) /* two missing texts are equal and prove nothing */
            w->untested = tc_arena_format(w->arena, "%s could not be read", texts[i].name);
    }
    if (a->cloud.code != b->cloud.code)
        tc_worlds_differ(w, "the exit code of the cloud");
}

/* Names the frame that differs, since a byte alone says little. */
static void compare_heard(tc_worlds *w, const tc_client *a, const tc_client *b) {
    const unsigned char *x = (const unsigned char *)a->heard.text, *y = (const unsigned char *)b->heard.text;
    size_t taken = 0, wanted = 0, size = a->heard.length < b->heard.length ? a->heard.length : b->heard.length;
    const char *who = a->is_other ? "the agent that differs" : "others";
    tc_frame frame;
    for (size_t at = 0; at < size; at += taken) {
        if (tc_frame_cut(x + at, a->heard.length - at, TC_FRAME_MOST_BODY, &frame, &taken, &wanted) != TC_CUT_FRAME)
            break;
        if (at + taken > size || memcmp(x + at, y + at, taken) != 0) {
            tc_worlds_differ(w, "what %s hear%s: the %s of round %llu", who, a->is_other ? "s" : "",
                             tc_message_name(frame.type), (unsigned long long)frame.round);
            return;
        }
        w->compared += taken;
    }
    if (a->heard.length != b->heard.length)
        tc_worlds_differ(w, "how much %s hear%s", who, a->is_other ? "s" : "");
}

static void compare_lives(tc_worlds *w, const life *a, const life *b) {
    if (a->trouble != NULL || b->trouble != NULL)
        tc_worlds_differ(w, "how the run goes: %s", a->trouble != NULL ? a->trouble : b->trouble);
    for (size_t i = 0; i < a->client_count; i++)
        compare_heard(w, &a->clients[i], &b->clients[i]);
    if (a->page_count != b->page_count)
        tc_worlds_differ(w, "how many pages there are");
    for (size_t i = 0; i < a->page_count && i < b->page_count; i++)
        tc_worlds_compare_lines(w, a->pages[i].name, a->pages[i].text, b->pages[i].text);
    compare_disks(w, a, b);
}

/* The cloud's file: the one that was given, or what `split` makes of the whole. */
static const char *find_file(tc_worlds *w) {
    const char *given = w->setup.model->source.path;
    if (w->setup.model->role != TC_ROLE_WHOLE)
        return given;
    const char *parts = tc_arena_format(w->arena, "%s/parts", w->folder);
    const char *const words[] = {w->program, "split", given, "-o", parts, NULL};
    if (run(w, words, w->folder, "split") == 0)
        return tc_arena_format(w->arena, "%s/cloud.tacit", parts);
    w->untested = tc_arena_format(w->arena, "the problem cannot be split: %s",
                                  last_line(w->arena, tc_arena_format(w->arena, "%s/split.err", w->folder)));
    return NULL;
}

tc_status tc_worlds_sockets(tc_worlds *w, const char *const *options) {
    life *lives = TC_NEW(w->arena, life, 2);
    size_t other = w->setup.model->agent_count / 2;
    const char *file = find_file(w);
    if (file == NULL)
        return TC_OK;
    for (unsigned world = 0; world < 2; world++)
        if (!live(w, file, options, world, other, &lives[world]))
            return TC_OK;
    compare_lives(w, &lives[0], &lives[1]);
    return TC_OK;
}
