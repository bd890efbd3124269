/* tacit-end-to-end: what `tacit audit --end-to-end` starts. It is the command `tacit` with coupled noise, so that two
 * worlds can be compared; no cloud of a real run is this program. One line for each thing that was found:
 *
 *     compared N            bytes that are the same in both worlds
 *     exception TEXT        what is left out of the comparison
 *     differs TEXT          a place where the worlds are not the same
 *     untested TEXT         why some of it could not be compared
 *     end                   the last line: nothing is missing */
#define _XOPEN_SOURCE 700 /* nftw */
#include "worlds/worlds.h"

#include "analysis/data/data.h"
#include "cli/study/study.h"
#include "cli/tacit.h"

#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is left out of the comparison. */
static const char *const exceptions[] = {
    "times: of lines of the log, of the pages, of the ledger and of the summary, how long commits and runs take, and "
    "lengths of pages, which depend on the digits of times",
    "ids that are new for each run and each start, ports and folders; checks and digests over lines and rows that have "
    "them",
    "the MAC of a round's input in the journal, whose key is in memory alone (that it depends on the key is tested)",
    "to the agent that differs, and to it alone: the mark in its own answer that its state was moved into the box",
    "lines of the log whose number depends on the clock: progress; with more than 400 agents also who came and went",
    NULL};

/* ---- comparing ---- */

void tc_worlds_differ(tc_worlds *w, const char *format, ...) {
    char text[512];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (w->differ_count < TC_WORLDS_TEXTS)
        w->differs[w->differ_count++] = tc_arena_copy(w->arena, text, strlen(text));
}

bool tc_worlds_compare(tc_worlds *w, const char *what, const void *first, size_t first_size, const void *second,
                       size_t second_size) {
    if (first_size != second_size) {
        tc_worlds_differ(w, "%s: its size", what);
        return false;
    }
    w->compared += first_size;
    if (first_size == 0 || memcmp(first, second, first_size) == 0)
        return true;
    tc_worlds_differ(w, "%s", what);
    return false;
}

void tc_worlds_compare_lines(tc_worlds *w, const char *what, const char *first, const char *second) {
    for (size_t line = 1; *first != '\0' || *second != '\0'; line++) {
        size_t length = strcspn(first, "\n"), other = strcspn(second, "\n");
        if (length != other || memcmp(first, second, length) != 0) {
            tc_worlds_differ(w, "%s, line %zu", what, line);
            return; /* later lines may have moved */
        }
        w->compared += length;
        first += length + (first[length] == '\n');
        second += other + (second[other] == '\n');
    }
}

/* ---- the whole ---- */

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *where) {
    (void)facts;
    (void)type;
    (void)where;
    return remove(path);
}

/* The audit's options about privacy, for `serve`; without the seed, since noise is coupled. */
static const char **serve_options(tc_worlds *w, const tc_arguments *arguments) {
    const tc_option *table = tc_command_audit.usage.options;
    const char **words = TC_NEW(w->arena, const char *, 2 * TC_PRIVACY_OPTION_COUNT + 3);
    size_t count = 0;
    for (size_t i = 0; i < TC_PRIVACY_OPTION_COUNT; i++) {
        const tc_option_value *value = &arguments->values[i];
        if (table[i].name == NULL || !value->given || i == TC_PRIVACY_SEED || i == TC_PRIVACY_ROUNDS)
            continue;
        words[count++] = tc_arena_format(w->arena, "--%s", table[i].name);
        words[count++] = value->text;
    }
    words[count++] = "--rounds";
    words[count++] = tc_arena_format(w->arena, "%llu", (unsigned long long)w->rounds);
    return words;
}

/* The run is short, and the plan is made for its few rounds. */
static tc_status prepare(tc_worlds *w, const char *path, tc_work *work, tc_privacy_wishes *wishes) {
    tc_loaded loaded = {0};
    if (tc_is_standard_input(path)) { /* it is read twice */
        tc_buffer_puts(&w->cli->messages, "tacit-end-to-end: the problem must be a file, not standard input\n");
        return TC_BAD_USAGE;
    }
    tc_status status = tc_cli_load(w->cli, path, &loaded.model);
    if (status != TC_OK)
        return status;
    loaded.derivatives = tc_derive(w->arena, loaded.model);
    tc_data_certify(w->arena, loaded.model, loaded.derivatives);
    double asked = isnan(wishes->schedule.rounds) ? loaded.model->schedule.rounds : wishes->schedule.rounds;
    w->rounds = asked < TC_WORLDS_ROUNDS ? (uint64_t)asked : TC_WORLDS_ROUNDS;
    wishes->schedule.rounds = wishes->plan.rounds = (double)w->rounds;
    status = loaded.model->role == TC_ROLE_WHOLE ? tc_setup_whole(work, &loaded, wishes, &w->setup)
                                                 : tc_setup_cloud(work, &loaded, wishes, &w->setup);
    if (status == TC_OK)
        status = tc_setup_plan(work, &w->setup, &wishes->plan, &w->plan);
    if (status != TC_OK)
        return status;
    w->untested = w->setup.problem != NULL ? w->setup.problem : w->plan->problem;
    if (w->untested == NULL && w->plan->mechanism == TC_MECHANISM_NONE)
        w->untested = "the plan adds no noise: nothing is promised";
    if (w->untested == NULL && w->plan->last != NULL)
        w->untested = "the last round of --feasible always is not compared";
    return w->untested == NULL ? tc_setup_method(work, &w->setup, w->plan, wishes->margin, &w->method) : TC_OK;
}

static tc_status compare(tc_worlds *w, int argc, char *const *argv) {
    tc_arguments arguments;
    tacit_promise promise;
    tc_privacy_wishes wishes;
    tc_work work = tc_cli_work(w->cli, "audit");
    tc_status status = tc_options_parse(w->arena, &tc_command_audit.usage, argc, argv, &w->cli->messages, &arguments);
    if (status == TC_OK)
        status = tc_promise_options(w->cli, "audit", &arguments, &promise);
    if (status == TC_OK)
        status = tc_wishes_read(&work, &promise, &wishes);
    if (status == TC_OK)
        status = prepare(w, arguments.operands[0], &work, &wishes);
    if (status == TC_OK && w->untested == NULL)
        status = tc_worlds_cloud_halves(w);
    if (status == TC_OK && w->untested == NULL)
        status = tc_worlds_sockets(w, serve_options(w, &arguments));
    return status;
}

static void print(const tc_worlds *w) {
    (void)printf("compared %llu\n", (unsigned long long)w->compared);
    for (size_t i = 0; exceptions[i] != NULL; i++)
        (void)printf("exception %s\n", exceptions[i]);
    for (size_t i = 0; i < w->differ_count; i++)
        (void)printf("differs %s\n", w->differs[i]);
    if (w->untested != NULL)
        (void)printf("untested %s\n", w->untested);
    (void)printf("end\n");
}

static tc_status run_in(tc_arena *arena, int argc, char *const *argv, char *folder) {
    tc_escape escape;
    tc_cli cli = {.arena = arena};
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK) {
        char path[4096] = {0};
        tc_worlds *w = TC_NEW(arena, tc_worlds, 1);
        cli.output = tc_buffer_new(arena, 1 << 20);
        cli.messages = tc_buffer_new(arena, 1 << 20);
        *w = (tc_worlds){.arena = arena, .cli = &cli, .folder = folder};
        w->program = readlink("/proc/self/exe", path, sizeof path - 1) > 0 ? path : argv[0];
        status = compare(w, argc - 2, argv + 2);
        if (status == TC_OK)
            print(w);
        else
            (void)fputs(tc_buffer_text(&cli.messages), stderr);
    }
    tc_escape_end(arena, &escape);
    return status;
}

static int run_audit(int argc, char *const *argv) {
    const char *place = getenv("TMPDIR");
    char folder[4096];
    tc_arena *arena = tc_arena_new(0);
    (void)snprintf(folder, sizeof folder, "%s/tacit-end-to-end-XXXXXX",
                   place == NULL || *place == '\0' ? "/tmp" : place);
    /* An interrupt ends the clouds, and with them this program. Without a reader the folder must still be removed. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    if (arena == NULL || mkdtemp(folder) == NULL) {
        (void)fprintf(stderr, "a temporary folder cannot be made\n");
        tc_arena_free(arena);
        return tc_status_exit_code(TC_CANNOT_WRITE);
    }
    tc_status status = run_in(arena, argc, argv, folder);
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    tc_arena_free(arena);
    return fflush(stdout) == 0 ? tc_status_exit_code(status) : 3;
}

/* A command with its noise coupled as the variable says. */
static int run_coupled(int argc, char *const *argv, const char *how) {
    bool replays = strncmp(how, "replay:", 7) == 0;
    if (!tc_coupled_noise_begin(replays ? TC_COUPLED_REPLAY : TC_COUPLED_RECORD, strchr(how, ':') + 1))
        return 3;
    int code = tc_cli_main(argc, argv);
    const char *trouble = tc_coupled_noise_end();
    if (trouble != NULL)
        (void)fprintf(stderr, "%s\n", trouble);
    return trouble != NULL ? 70 : code;
}

int main(int argc, char **argv) {
    const char *how = getenv(TC_COUPLED_VARIABLE);
    if (how != NULL && strchr(how, ':') != NULL)
        return run_coupled(argc, argv, how);
    if (argc > 1 && strcmp(argv[1], "audit") == 0)
        return run_audit(argc, argv);
    if (argc > 1 && strcmp(argv[1], "split") == 0)
        return tc_cli_main(argc, argv);
    (void)fprintf(stderr, "this is started by tacit audit --end-to-end\n");
    return 2;
}
