#include "worlds/serve_process.h"

#include "worlds/masks.h"

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

enum { MOST_WORDS = 96, PATIENCE = 600 }; /* seconds for the doors: of a large problem, on a busy machine */

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
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive who started it */
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

int tc_worlds_run(const tc_worlds *w, const char *const *words, const char *folder, const char *name) {
    pid_t process = start(w, words, folder, name, NULL);
    return process < 0 ? -1 : wait_for(process);
}

static bool read_ports(tc_arena *arena, tc_serve_process *cloud) {
    const char *text = tc_read_whole(arena, tc_arena_format(arena, "%s/ports", cloud->folder), NULL);
    return text != NULL && sscanf(text, "%u %u", &cloud->port, &cloud->http_port) == 2;
}

bool tc_serve_process_start(const tc_worlds *w, const char *file, const char *const *options,
                            tc_coupled_noise_mode mode, const char *tape, tc_serve_process *cloud) {
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
    tc_serve_process_end(cloud, true);
    return false;
}

void tc_serve_process_end(tc_serve_process *cloud, bool by_force) {
    if (cloud->process <= 0)
        return;
    if (by_force)
        (void)kill(cloud->process, SIGKILL);
    cloud->code = wait_for(cloud->process);
    cloud->process = 0;
}

/* ---- the journal ---- */

static const void *copy(tc_arena *arena, const void *bytes, size_t size) {
    return size == 0 || bytes == NULL ? "" : tc_arena_copy(arena, bytes, size);
}

static bool read_row(tc_arena *arena, sqlite3 *database, tc_journal_column *columns, size_t *count) {
    sqlite3_stmt *row = NULL;
    bool good = sqlite3_prepare_v2(database, "SELECT * FROM journal", -1, &row, NULL) == SQLITE_OK &&
                sqlite3_step(row) == SQLITE_ROW;
    for (int i = 0; good && i < sqlite3_column_count(row) && *count < TC_JOURNAL_COLUMNS; i++) {
        const char *name = sqlite3_column_name(row, i);
        const void *bytes = sqlite3_column_blob(row, i); /* of a number: its text */
        size_t size = (size_t)sqlite3_column_bytes(row, i);
        columns[(*count)++] =
            (tc_journal_column){tc_arena_copy(arena, name, strlen(name)), copy(arena, bytes, size), size};
    }
    (void)sqlite3_finalize(row);
    return good;
}

bool tc_serve_process_journal(tc_arena *arena, const tc_serve_process *cloud, tc_journal_column *columns,
                              size_t *count) {
    const char *path = tc_arena_format(arena, "%s/journal/journal.db", cloud->folder);
    sqlite3 *database = NULL;
    *count = 0;
    bool good = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                read_row(arena, database, columns, count);
    (void)sqlite3_close(database);
    return good;
}
