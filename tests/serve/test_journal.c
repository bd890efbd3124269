/* mkdtemp, nftw */
#define _XOPEN_SOURCE 700
#include "serve/fault_vfs.h"
#include "serve/journal/journal.h"
#include "net/message.h"
#include "support/cmocka.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef TACIT_POSTGRES
#include <libpq-fe.h>
#endif

enum { ANSWERS = 30, SNAPSHOT = 200, ROUNDS = 8, LOG_PAGES = 4 };

static const unsigned char PLAN[TC_HASH] = {1, 2, 3}, OTHER_PLAN[TC_HASH] = {4}, RUN[TC_RUN_ID] = {9};

/* What round k writes, whoever writes it. */
typedef struct content {
    double answers[ANSWERS];
    unsigned char snapshot[SNAPSHOT];
    tc_journal_round round;
} content;

static void fill(content *c, uint64_t k) {
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < ANSWERS; i++)
        c->answers[i] = (double)k / (double)(i + 1);
    memset(c->snapshot, (int)(k % 251), SNAPSHOT);
    c->round = (tc_journal_round){.round = k,
                                  .input = {(unsigned char)k},
                                  .step = 1 / (double)k,
                                  .regularization = (double)k,
                                  .answers = c->answers,
                                  .answer_count = ANSWERS,
                                  .snapshot = c->snapshot,
                                  .snapshot_size = SNAPSHOT};
}

static void expect_round(const tc_journal_round *found, uint64_t k) {
    content c;
    assert_int_equal(found->round, k);
    if (k == 0) {
        assert_int_equal(found->answer_count, 0);
        assert_int_equal(found->snapshot_size, 0);
        return;
    }
    fill(&c, k);
    assert_memory_equal(found->input, c.round.input, TC_INPUT_MAC);
    assert_true(found->step == c.round.step && found->regularization == c.round.regularization);
    assert_int_equal(found->answer_count, ANSWERS);
    assert_memory_equal(found->answers, c.answers, sizeof c.answers);
    assert_int_equal(found->snapshot_size, SNAPSHOT);
    assert_memory_equal(found->snapshot, c.snapshot, SNAPSHOT);
}

typedef struct opened {
    tc_arena *arena;
    tc_buffer messages;
    tc_journal *journal;
    tc_status status;
} opened;

/* Of a database and the file of its key, which tests/serve/test_postgres.py has made; NULL: the folder is used. */
static const char *address, *key_file;

static opened open_with(tc_journal_settings settings, const unsigned char *plan) {
    opened o = {.arena = tc_arena_new(0)};
    assert_non_null(o.arena);
    o.messages = tc_buffer_new(o.arena, 1 << 16);
    if (address != NULL)
        assert_int_equal(tc_journal_key_read(o.arena, key_file, &o.messages, &settings.key), TC_OK);
    o.status = tc_journal_open(o.arena, &settings, plan, RUN, &o.messages, &o.journal);
    assert_true((o.status == TC_OK) == (o.journal != NULL));
    return o;
}

static tc_status commit(tc_journal *journal, uint64_t k) {
    content c;
    fill(&c, k);
    tc_status status = tc_journal_commit_start(journal, &c.round);
    return status == TC_OK ? tc_journal_commit_wait(journal) : status;
}

/* ---- on the machine's own disk ---- */

static char folder[64];

static int remove_one(const char *path, const struct stat *found, int what, struct FTW *where) {
    (void)found;
    (void)what;
    (void)where;
    return remove(path);
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/tacit-journal-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const double LEASE = 0.3;

static tc_journal_settings settings_here(void) {
    return (tc_journal_settings){.folder = folder, .address = address, .lease = LEASE};
}

static opened open_here(void) { return open_with(settings_here(), PLAN); }

/* After a process that was killed: in a database its lease must end first. */
static opened open_when_free(void) {
    opened o = open_here();
    while (address != NULL && o.status != TC_OK && strstr(tc_buffer_text(&o.messages), "another process") != NULL) {
        tc_arena_free(o.arena);
        (void)poll(NULL, 0, 20);
        o = open_here();
    }
    return o;
}

#ifdef TACIT_POSTGRES
static bool delete_row(void) {
    PGconn *connection = PQconnectdb(address);
    PGresult *result = PQexec(connection, "DELETE FROM tacit_journal WHERE id = 1");
    bool good = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    PQfinish(connection);
    return good;
}
#else
static bool delete_row(void) { return false; }
#endif

static int make_place(void **state) {
    tc_arena *arena = tc_arena_new(0);
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    tc_journal_settings settings = settings_here();
    tc_journal_seen seen;
    bool good = make_folder(state) == 0;
    while (good && address != NULL) { /* whoever failed has not given up its lease */
        good = tc_journal_look(arena, &settings, &messages, &seen) == TC_OK;
        if (!seen.is_held)
            break;
        (void)poll(NULL, 0, 20);
    }
    if (good && address != NULL && seen.exists)
        good = delete_row();
    if (!good)
        print_error("%s", tc_buffer_text(&messages));
    tc_arena_free(arena);
    return !good;
}

static void openings_that_fail_leave_nothing_behind(void **state) {
    (void)state;
    opened o = open_here();
    assert_int_equal(o.status, TC_OK);
    for (uint64_t k = 1; k <= ROUNDS; k++)
        assert_int_equal(commit(o.journal, k), TC_OK);
    tc_arena_free(o.arena);
    tc_arena *arena = tc_arena_new(0);
    tc_journal_settings settings = settings_here();
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    if (address != NULL)
        assert_int_equal(tc_journal_key_read(arena, key_file, &messages, &settings.key), TC_OK);
    size_t bytes = 0;
    for (int i = 0; i < 100; i++) { /* as a standby does */
        tc_journal *journal = NULL;
        messages.length = 0;
        assert_int_equal(tc_journal_open(arena, &settings, OTHER_PLAN, RUN, &messages, &journal), TC_BAD_USAGE);
        assert_null(journal);
        assert_non_null(strstr(tc_buffer_text(&messages), "another plan"));
        bytes = i == 0 ? tc_arena_bytes(arena) : bytes;
    }
    assert_int_equal(tc_arena_bytes(arena), bytes);
    tc_arena_free(arena);
}

static void what_was_committed_is_there_when_it_is_opened_again(void **state) {
    (void)state;
    tc_epoch first, second;
    opened o = open_here();
    assert_int_equal(o.status, TC_OK);
    expect_round(tc_journal_last(o.journal), 0);
    assert_memory_equal(tc_journal_run_of(o.journal)->run_id, RUN, TC_RUN_ID);
    assert_int_equal(tc_journal_begin_epoch(o.journal, 0, &first), TC_OK);
    for (uint64_t k = 1; k <= ROUNDS; k++)
        assert_int_equal(commit(o.journal, k), TC_OK);
    tc_arena_free(o.arena);

    o = open_here();
    assert_int_equal(o.status, TC_OK);
    expect_round(tc_journal_last(o.journal), ROUNDS);
    assert_int_equal(tc_journal_finished(o.journal), 0);
    assert_int_equal(tc_journal_begin_epoch(o.journal, 0, &second), TC_OK);
    assert_int_equal(second.number, first.number + 1);
    assert_memory_not_equal(first.id, second.id, TC_EPOCH_ID);
    assert_int_equal(tc_journal_begin_epoch(o.journal, 40, &second), TC_OK);
    assert_int_equal(second.number, 41);
    assert_int_equal(tc_journal_finish(o.journal, TC_END_DONE), TC_OK);
    tc_arena_free(o.arena);

    o = open_here();
    assert_int_equal(tc_journal_finished(o.journal), TC_END_DONE);
    expect_round(tc_journal_last(o.journal), ROUNDS);
    tc_arena_free(o.arena);
}

static void its_files_are_their_owners_alone(void **state) {
    (void)state;
    mode_t before = umask(0);
    opened o = open_here();
    (void)umask(before);
    assert_int_equal(o.status, TC_OK);
    assert_int_equal(commit(o.journal, 1), TC_OK);
    static const char *const names[] = {"journal.db", "journal.db-wal"};
    for (size_t i = 0; i < 2; i++) {
        char path[128];
        struct stat found;
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(stat(path, &found), 0);
        assert_int_equal(found.st_mode & 0777, 0600);
    }
    tc_arena_free(o.arena);
}

static void a_second_process_is_refused_while_one_has_it_open(void **state) {
    (void)state;
    opened o = open_here();
    assert_int_equal(o.status, TC_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        opened other = open_here();
        _exit(other.status == TC_CANNOT_READ && strstr(tc_buffer_text(&other.messages), "another process") != NULL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_int_equal(commit(o.journal, 1), TC_OK);
    tc_arena_free(o.arena);
}

static void another_plans_journal_is_refused(void **state) {
    (void)state;
    opened o = open_here();
    tc_arena_free(o.arena);
    o = open_with(settings_here(), OTHER_PLAN);
    assert_int_equal(o.status, TC_BAD_USAGE);
    assert_non_null(strstr(tc_buffer_text(&o.messages), "another plan"));
    assert_non_null(strstr(tc_buffer_text(&o.messages), "--feasible, --placement, --calibration, --constants"));
    tc_arena_free(o.arena);
}

static void a_journal_of_other_terms_is_refused(void **state) {
    (void)state;
    static const unsigned char terms[TC_HASH] = {5}, others[TC_HASH] = {[TC_HASH - 1] = 5};
    tc_journal_settings settings = settings_here();
    settings.terms = terms;
    opened o = open_with(settings, PLAN);
    assert_int_equal(o.status, TC_OK);
    assert_int_equal(commit(o.journal, 1), TC_OK);
    tc_arena_free(o.arena);
    settings.terms = others;
    o = open_with(settings, PLAN);
    assert_int_equal(o.status, TC_BAD_USAGE);
    assert_non_null(strstr(tc_buffer_text(&o.messages), "another file, seed, margin or schedule"));
    tc_arena_free(o.arena);
    settings.terms_before = terms; /* those that an earlier version gave this run: it goes on, and keeps them */
    o = open_with(settings, PLAN);
    assert_int_equal(o.status, TC_OK);
    assert_memory_equal(tc_journal_run_of(o.journal)->terms, terms, TC_HASH);
    tc_arena_free(o.arena);
    settings.terms_before = NULL;
    settings.terms = terms;
    o = open_with(settings, PLAN);
    assert_int_equal(o.status, TC_OK);
    expect_round(tc_journal_last(o.journal), 1);
    tc_arena_free(o.arena);
}

static void rounds_only_go_forward(void **state) {
    (void)state;
    opened o = open_here();
    assert_int_equal(commit(o.journal, 5), TC_OK);
    assert_int_equal(commit(o.journal, 5), TC_CANNOT_WRITE);
    assert_int_equal(commit(o.journal, 6), TC_CANNOT_WRITE); /* after a failure nothing more is written */
    tc_arena_free(o.arena);
}

static void a_killed_process_loses_nothing_that_was_committed(void **state) {
    (void)state;
    for (uint64_t trial = 1; trial <= (address == NULL ? 20 : 6); trial++) {
        int pipes[2];
        assert_int_equal(pipe(pipes), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            tc_journal_settings settings = settings_here();
            settings.durability = trial % 2 ? TC_DURABLE_POWER : TC_DURABLE_PROCESS;
            opened o = open_with(settings, PLAN);
            uint64_t k = o.status == TC_OK ? tc_journal_last(o.journal)->round : 0;
            while (o.status == TC_OK && commit(o.journal, ++k) == TC_OK && write(pipes[1], &k, sizeof k) == sizeof k)
                continue;
            _exit(1);
        }
        (void)close(pipes[1]);
        uint64_t told = 0, k;
        for (uint64_t i = 0; i < 3 * trial && read(pipes[0], &k, sizeof k) == sizeof k; i++)
            told = k;
        assert_int_equal(kill(child, SIGKILL), 0);
        while (read(pipes[0], &k, sizeof k) == sizeof k)
            told = k;
        assert_int_equal(waitpid(child, NULL, 0), child);
        (void)close(pipes[0]);
        opened o = open_when_free();
        assert_int_equal(o.status, TC_OK);
        uint64_t found = tc_journal_last(o.journal)->round;
        assert_true(told > 0 && (found == told || found == told + 1));
        expect_round(tc_journal_last(o.journal), found);
        tc_arena_free(o.arena);
    }
}

static void a_folder_that_cannot_be_made_is_named(void **state) {
    (void)state;
    opened o = open_with((tc_journal_settings){.folder = "/nowhere/at/all"}, PLAN);
    assert_int_equal(o.status, TC_CANNOT_WRITE);
    assert_non_null(strstr(tc_buffer_text(&o.messages), "/nowhere/at/all"));
    tc_arena_free(o.arena);
}

/* ---- in a database ---- */

/* What was sent to the server is nowhere yet, so there is no weaker durability. */
static void a_database_is_waited_for_at_any_durability(void **state) {
    (void)state;
    tc_journal_settings settings = settings_here();
    settings.durability = TC_DURABLE_PROCESS;
    opened o = open_with(settings, PLAN);
    assert_int_equal(o.status, TC_OK);
    for (uint64_t k = 1; k <= 3; k++) {
        content c;
        fill(&c, k);
        assert_int_equal(tc_journal_commit_start(o.journal, &c.round), TC_OK);
        assert_true(tc_journal_is_under_way(o.journal));
        assert_int_equal(tc_journal_commit_wait(o.journal), TC_OK);
    }
    tc_arena_free(o.arena);
}

/* The lease of the first has ended, as that of a process that was stopped for a while. */
static void whoever_has_lost_the_journal_can_write_nothing(void **state) {
    (void)state;
    for (unsigned what = 0; what < 4; what++) {
        assert_int_equal(make_place(state), 0);
        tc_epoch first, second;
        opened old = open_here();
        assert_int_equal(tc_journal_begin_epoch(old.journal, 0, &first), TC_OK);
        assert_int_equal(commit(old.journal, 1), TC_OK);
        opened new = open_when_free();
        assert_int_equal(new.status, TC_OK);
        assert_int_equal(tc_journal_begin_epoch(new.journal, 0, &second), TC_OK);
        assert_int_equal(second.number, first.number + 1);
        expect_round(tc_journal_last(new.journal), 1);
        tc_status status = what == 0   ? commit(old.journal, 2)
                           : what == 1 ? tc_journal_renew(old.journal)
                           : what == 2 ? tc_journal_finish(old.journal, TC_END_DONE)
                                       : tc_journal_begin_epoch(old.journal, 100, &first);
        assert_int_equal(status, TC_CANNOT_WRITE);
        assert_true(tc_journal_is_lost(old.journal) && tc_journal_is_broken(old.journal));
        assert_non_null(strstr(tc_journal_trouble(old.journal), "has taken this run over, in epoch 2"));
        assert_int_equal(commit(old.journal, 2), TC_CANNOT_WRITE);
        assert_int_equal(commit(new.journal, 2), TC_OK);
        tc_arena_free(old.arena); /* gives up nothing: it is not its lease */
        opened third = open_here();
        assert_int_equal(third.status, TC_CANNOT_READ);
        tc_arena_free(third.arena);
        tc_arena_free(new.arena);
        third = open_here(); /* at once: the lease was given up */
        assert_int_equal(third.status, TC_OK);
        expect_round(tc_journal_last(third.journal), 2);
        assert_int_equal(tc_journal_finished(third.journal), 0);
        tc_arena_free(third.arena);
        assert_int_equal(remove_folder(state), 0);
    }
    assert_int_equal(make_folder(state), 0);
}

/* A commit is on its way while another process takes over: it came before and is read, or it comes too late. */
static void a_commit_under_way_comes_before_a_take_over_or_not_at_all(void **state) {
    (void)state;
    for (unsigned trial = 0; trial < 6; trial++) {
        content c;
        assert_int_equal(make_place(state), 0);
        opened old = open_here();
        assert_int_equal(commit(old.journal, 1), TC_OK);
        fill(&c, 2);
        (void)poll(NULL, 0, (int)(1e3 * LEASE) + 50);
        assert_int_equal(tc_journal_commit_start(old.journal, &c.round), TC_OK); /* renews the lease if it is first */
        opened new = open_when_free();
        assert_int_equal(new.status, TC_OK);
        bool is_done = tc_journal_commit_wait(old.journal) == TC_OK;
        expect_round(tc_journal_last(new.journal), is_done ? 2 : 1);
        assert_int_equal(commit(old.journal, 3), TC_CANNOT_WRITE);
        assert_int_equal(commit(new.journal, 3), TC_OK);
        tc_arena_free(old.arena);
        tc_arena_free(new.arena);
        assert_int_equal(remove_folder(state), 0);
    }
    assert_int_equal(make_folder(state), 0);
}

static void of_several_that_open_at_once_one_has_it(void **state) {
    (void)state;
    enum { PROCESSES = 6 };
    pid_t children[PROCESSES];
    int pipes[2], ends[2];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            char word = 'x';
            (void)close(ends[1]);
            tc_journal_settings settings = settings_here();
            settings.lease = 1000;
            opened o = open_with(settings, PLAN);
            word = o.status == TC_OK ? 'y' : strstr(tc_buffer_text(&o.messages), "another process") != NULL ? 'n' : '?';
            if (word == '?')
                print_error("%s", tc_buffer_text(&o.messages));
            (void)!write(pipes[1], &word, 1);
            (void)!read(ends[0], &word, 1); /* until all have tried */
            tc_arena_free(o.arena);
            _exit(0);
        }
    }
    unsigned have = 0;
    for (size_t i = 0; i < PROCESSES; i++) {
        char word;
        assert_int_equal(read(pipes[0], &word, 1), 1);
        assert_true(word == 'y' || word == 'n');
        have += word == 'y';
    }
    assert_int_equal(have, 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
    for (size_t i = 0; i < PROCESSES; i++)
        assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

static void addresses_with_secrets_or_of_other_forms_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"postgresql://u:secret@h/d",
                                        "postgresql://h/d?password=secret",
                                        "postgres://h/d?p%61ssword=secret",
                                        "postgresql://h/d?sslpassword=secret",
                                        "host=h password=secret",
                                        "postgresql://u:secret@h:x:y/d",
                                        "postgresql://h/d?secret=1",
                                        "/var/lib/secret",
                                        "mysql://secret"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tc_arena *arena = tc_arena_new(0);
        tc_buffer messages = tc_buffer_new(arena, 1 << 16);
        assert_int_equal(tc_journal_check_address(wrong[i], &messages), TC_BAD_USAGE);
        assert_null(strstr(tc_buffer_text(&messages), "secret"));
        assert_true(i >= 4 || strstr(tc_buffer_text(&messages), ".pgpass") != NULL);
        tc_arena_free(arena);
    }
}

/* ---- on a disk with faults ---- */

static opened open_faulty_with(tc_durability durability, unsigned log_pages) {
    return open_with(
        (tc_journal_settings){.folder = "disk", .durability = durability, .vfs = FAULT_VFS, .log_pages = log_pages},
        PLAN);
}

static opened open_faulty(tc_durability durability) { return open_faulty_with(durability, LOG_PAGES); }

typedef struct history { /* of a run that a fault may have ended */
    bool is_open;
    uint64_t returned, attempted; /* rounds */
    uint64_t epoch;               /* the highest that was returned */
} history;

static history work(tc_durability durability) {
    history h = {0};
    opened o = open_faulty(durability);
    tc_epoch epoch;
    h.is_open = o.status == TC_OK;
    if (h.is_open && tc_journal_begin_epoch(o.journal, 0, &epoch) == TC_OK) {
        h.epoch = epoch.number;
        for (uint64_t k = 1; k <= ROUNDS; k++) {
            h.attempted = k;
            if (commit(o.journal, k) != TC_OK)
                break;
            h.returned = k;
        }
    }
    tc_arena_free(o.arena);
    return h;
}

/* After the fault: opens, has a whole round, at least `least`, and goes on. */
static void expect_recovered(tc_durability durability, const history *h, uint64_t least) {
    opened o = open_faulty(durability);
    if (o.status != TC_OK)
        fail_msg("%s", tc_buffer_text(&o.messages));
    uint64_t found = tc_journal_last(o.journal)->round;
    assert_true(found >= least && found <= h->attempted);
    expect_round(tc_journal_last(o.journal), found);
    tc_epoch epoch;
    assert_int_equal(tc_journal_begin_epoch(o.journal, 0, &epoch), TC_OK);
    assert_true(epoch.number > h->epoch);
    assert_int_equal(commit(o.journal, found + 1), TC_OK);
    tc_arena_free(o.arena);
    o = open_faulty(durability);
    assert_int_equal(o.status, TC_OK);
    expect_round(tc_journal_last(o.journal), found + 1);
    tc_arena_free(o.arena);
}

static uint64_t operations_without_a_fault(tc_durability durability) {
    fault_format(1);
    history h = work(durability);
    assert_int_equal(h.returned, ROUNDS);
    return fault.operations;
}

/* Every operation in turn is the one at which power is lost. */
static void lose_power_everywhere(tc_durability durability) {
    uint64_t operations = operations_without_a_fault(durability);
    assert_true(operations > 3 * ROUNDS);
    static const fault_survivors survivors[] = {FAULT_KEEP_NOTHING, FAULT_KEEP_ALL, FAULT_KEEP_SOME, FAULT_KEEP_SOME,
                                                FAULT_KEEP_SOME};
    for (uint64_t at = 1; at <= operations + 1; at++)
        for (size_t s = 0; s < sizeof survivors / sizeof survivors[0]; s++) {
            fault_format(at * 31 + s);
            fault.fail_at = at;
            fault.fail_code = SQLITE_IOERR;
            history h = work(durability);
            fault_reboot(survivors[s]);
            expect_recovered(durability, &h, durability == TC_DURABLE_POWER ? h.returned : 0);
        }
}

static void no_loss_of_power_loses_a_committed_round(void **state) {
    (void)state;
    lose_power_everywhere(TC_DURABLE_POWER);
}

static void with_process_durability_power_loss_goes_back_to_a_whole_round_and_never_repeats_an_epoch(void **state) {
    (void)state;
    lose_power_everywhere(TC_DURABLE_PROCESS);
}

static void every_commit_is_synced_before_it_returns(void **state) {
    (void)state;
    fault_format(7);
    opened o = open_faulty(TC_DURABLE_POWER);
    assert_int_equal(o.status, TC_OK);
    for (uint64_t k = 1; k <= 3 * LOG_PAGES; k++) {
        uint64_t before = fault.syncs;
        assert_int_equal(commit(o.journal, k), TC_OK);
        assert_true(fault.syncs > before);
    }
    tc_arena_free(o.arena);
}

/* Opens a journal of one round, and starts the second: only its sync is missing. The log is long, so that it does not
 * begin anew meanwhile, which needs syncs of its own. */
static opened start_the_second(tc_durability durability) {
    content c;
    fault_format(9);
    opened o = open_faulty_with(durability, 10 * LOG_PAGES);
    assert_int_equal(o.status, TC_OK);
    assert_int_equal(commit(o.journal, 1), TC_OK);
    fill(&c, 2);
    uint64_t syncs = fault.syncs;
    assert_int_equal(tc_journal_commit_start(o.journal, &c.round), TC_OK);
    assert_int_equal(fault.syncs, syncs);
    memset(&c, 0, sizeof c); /* a started round needs its caller's memory no more */
    return o;
}

static void expect_after_power_loss(uint64_t round) {
    fault_reboot(FAULT_KEEP_NOTHING);
    opened o = open_faulty(TC_DURABLE_POWER);
    assert_int_equal(o.status, TC_OK);
    expect_round(tc_journal_last(o.journal), round);
    tc_arena_free(o.arena);
}

static void a_round_is_durable_after_the_wait_and_not_before(void **state) {
    (void)state;
    for (uint64_t steps = 1; steps <= 2; steps++) {
        opened o = start_the_second(TC_DURABLE_POWER);
        assert_true(tc_journal_is_under_way(o.journal));
        if (steps == 2) {
            uint64_t operations = fault.operations, syncs = fault.syncs;
            assert_int_equal(tc_journal_commit_wait(o.journal), TC_OK);
            assert_true(fault.operations == operations + 1 && fault.syncs == syncs + 1);
            assert_false(tc_journal_is_under_way(o.journal));
        }
        fault.fail_at = fault.operations + 1; /* the process ends here: closing writes nothing */
        fault.fail_code = SQLITE_IOERR;
        tc_arena_free(o.arena);
        expect_after_power_loss(steps);
    }
}

static void a_sync_that_fails_fails_the_commit_for_good(void **state) {
    (void)state;
    opened o = start_the_second(TC_DURABLE_POWER);
    fault.fail_at = fault.operations + 1;
    fault.fail_code = SQLITE_IOERR;
    assert_int_equal(tc_journal_commit_wait(o.journal), TC_CANNOT_WRITE);
    assert_string_equal(tc_journal_trouble(o.journal), "the disk failed");
    fault.fail_at = 0; /* a second sync may succeed though the first has lost the bytes */
    assert_int_equal(tc_journal_commit_wait(o.journal), TC_CANNOT_WRITE);
    assert_true(tc_journal_is_broken(o.journal));
    tc_arena_free(o.arena);
}

static void with_process_durability_there_is_nothing_to_wait_for(void **state) {
    (void)state;
    opened o = start_the_second(TC_DURABLE_PROCESS);
    uint64_t operations = fault.operations;
    assert_false(tc_journal_is_under_way(o.journal));
    assert_int_equal(tc_journal_commit_wait(o.journal), TC_OK);
    assert_int_equal(fault.operations, operations);
    tc_arena_free(o.arena);
}

static void nothing_else_is_written_while_a_round_is_under_way(void **state) {
    (void)state;
    content c;
    tc_epoch epoch;
    opened o = start_the_second(TC_DURABLE_POWER);
    assert_int_equal(tc_journal_begin_epoch(o.journal, 0, &epoch), TC_CANNOT_WRITE);
    tc_arena_free(o.arena);
    o = start_the_second(TC_DURABLE_POWER);
    fill(&c, 3);
    assert_int_equal(tc_journal_commit_start(o.journal, &c.round), TC_CANNOT_WRITE);
    tc_arena_free(o.arena);
}

/* The process lives on and sees the error: nothing is lost, nothing is half there, nothing more is written. */
static void a_failing_disk_fails_the_commit_and_loses_nothing(void **state) {
    (void)state;
    uint64_t operations = operations_without_a_fault(TC_DURABLE_POWER);
    static const int codes[] = {SQLITE_IOERR, SQLITE_FULL};
    for (uint64_t at = 1; at <= operations; at++)
        for (size_t c = 0; c < 2; c++) {
            fault_format(at);
            fault.fail_at = at;
            fault.fail_code = codes[c];
            history h = work(TC_DURABLE_POWER);
            fault.fail_at = 0;
            expect_recovered(TC_DURABLE_POWER, &h, h.returned);
        }
}

static void a_full_and_a_read_only_disk_are_called_that(void **state) {
    (void)state;
    fault_format(3);
    opened o = open_faulty(TC_DURABLE_POWER);
    assert_int_equal(commit(o.journal, 1), TC_OK);
    fault.fail_at = fault.operations + 1;
    fault.fail_code = SQLITE_FULL;
    assert_int_equal(commit(o.journal, 2), TC_CANNOT_WRITE);
    assert_string_equal(tc_journal_trouble(o.journal), "the disk is full");
    fault.fail_at = 0;
    assert_int_equal(commit(o.journal, 2), TC_CANNOT_WRITE); /* still: nobody knows what the disk has kept */
    tc_arena_free(o.arena);
    fault.is_read_only = true;
    o = open_faulty(TC_DURABLE_POWER);
    tc_epoch epoch;
    if (o.status == TC_OK)
        o.status = tc_journal_begin_epoch(o.journal, 0, &epoch);
    assert_int_equal(o.status, TC_CANNOT_WRITE);
    tc_arena_free(o.arena);
}

static void a_changed_byte_is_refused_or_harmless_but_never_believed(void **state) {
    (void)state;
    fault_format(5);
    history h = work(TC_DURABLE_POWER);
    fault_file *file = fault_find("disk/journal.db"), *log = fault_find("disk/journal.db-wal");
    assert_true(file != NULL && log != NULL);
    log->exists = false; /* all of it is in the file by now */
    fault_bytes good = {0};
    fault_copy(&good, &file->now);
    unsigned refused = 0, tried = 0;
    for (size_t at = 0; at < good.size; at += 1 + fault_draw() % 31) {
        fault_copy(&file->now, &good);
        file->now.bytes[at] ^= (unsigned char)(1u << fault_draw() % 8);
        log->exists = false;
        opened o = open_faulty(TC_DURABLE_POWER);
        tried++;
        if (o.status == TC_OK) {
            expect_round(tc_journal_last(o.journal), h.returned);
            tc_epoch epoch;
            assert_int_equal(tc_journal_begin_epoch(o.journal, 0, &epoch), TC_OK);
            assert_int_equal(epoch.number, h.epoch + 1);
        } else {
            assert_true(tc_buffer_text(&o.messages)[0] != 0);
            refused++;
        }
        tc_arena_free(o.arena);
    }
    assert_true(refused > 0 && refused < tried);
    free(good.bytes);
}

static void a_file_cut_short_is_refused_or_whole(void **state) {
    (void)state;
    fault_format(6);
    history h = work(TC_DURABLE_POWER);
    fault_file *file = fault_find("disk/journal.db"), *log = fault_find("disk/journal.db-wal");
    fault_bytes good = {0};
    fault_copy(&good, &file->now);
    for (size_t size = 1; size < good.size; size += 1 + good.size / 50) {
        fault_copy(&file->now, &good);
        fault_resize(&file->now, size);
        log->exists = false;
        opened o = open_faulty(TC_DURABLE_POWER);
        if (o.status == TC_OK)
            expect_round(tc_journal_last(o.journal), h.returned);
        tc_arena_free(o.arena);
    }
    free(good.bytes);
}

/* A back-up that was put back in part, or was torn while it was taken. */
static void files_of_different_moments_are_refused_or_give_a_whole_round(void **state) {
    (void)state;
    enum { MOMENTS = ROUNDS + 1 };
    fault_bytes files[MOMENTS] = {0}, logs[MOMENTS] = {0};
    fault_format(8);
    opened o = open_faulty(TC_DURABLE_POWER);
    assert_int_equal(o.status, TC_OK);
    fault_file *file = fault_find("disk/journal.db"), *log = fault_find("disk/journal.db-wal");
    for (uint64_t k = 0; k < MOMENTS; k++) {
        assert_int_equal(k == 0 ? TC_OK : commit(o.journal, k), TC_OK);
        fault_copy(&files[k], &file->now);
        fault_copy(&logs[k], &log->now);
    }
    tc_arena_free(o.arena);
    for (size_t i = 0; i < (size_t)MOMENTS * MOMENTS; i++) {
        fault_copy(&file->now, &files[i / MOMENTS]);
        fault_copy(&log->now, &logs[i % MOMENTS]);
        o = open_faulty(TC_DURABLE_POWER);
        if (o.status == TC_OK)
            expect_round(tc_journal_last(o.journal), tc_journal_last(o.journal)->round);
        else
            assert_true(tc_buffer_text(&o.messages)[0] != 0);
        tc_arena_free(o.arena);
    }
    for (size_t k = 0; k < MOMENTS; k++) {
        free(files[k].bytes);
        free(logs[k].bytes);
    }
}

static int forget_disk(void **state) {
    (void)state;
    fault_format(0);
    return 0;
}

int main(void) {
    fault_register();
#define HERE(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
#define FAULTY(test) cmocka_unit_test_teardown(test, forget_disk)
#define PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_folder)
    const struct CMUnitTest of_databases[] = {
        PLACE(openings_that_fail_leave_nothing_behind),
        PLACE(what_was_committed_is_there_when_it_is_opened_again),
        PLACE(a_second_process_is_refused_while_one_has_it_open),
        PLACE(another_plans_journal_is_refused),
        PLACE(a_journal_of_other_terms_is_refused),
        PLACE(rounds_only_go_forward),
        PLACE(a_killed_process_loses_nothing_that_was_committed),
        PLACE(of_several_that_open_at_once_one_has_it),
        PLACE(a_database_is_waited_for_at_any_durability),
        PLACE(whoever_has_lost_the_journal_can_write_nothing),
        PLACE(a_commit_under_way_comes_before_a_take_over_or_not_at_all),
        cmocka_unit_test(addresses_with_secrets_or_of_other_forms_are_refused),
    };
    address = getenv("TACIT_JOURNAL");
    key_file = getenv("TACIT_JOURNAL_KEY");
    if (address != NULL)
        return cmocka_run_group_tests(of_databases, NULL, NULL);
    const struct CMUnitTest tests[] = {
        HERE(openings_that_fail_leave_nothing_behind),
        HERE(what_was_committed_is_there_when_it_is_opened_again),
        HERE(its_files_are_their_owners_alone),
        HERE(a_second_process_is_refused_while_one_has_it_open),
        HERE(another_plans_journal_is_refused),
        HERE(a_journal_of_other_terms_is_refused),
        HERE(rounds_only_go_forward),
        HERE(a_killed_process_loses_nothing_that_was_committed),
        cmocka_unit_test(a_folder_that_cannot_be_made_is_named),
        FAULTY(every_commit_is_synced_before_it_returns),
        FAULTY(a_round_is_durable_after_the_wait_and_not_before),
        FAULTY(a_sync_that_fails_fails_the_commit_for_good),
        FAULTY(with_process_durability_there_is_nothing_to_wait_for),
        FAULTY(nothing_else_is_written_while_a_round_is_under_way),
        FAULTY(no_loss_of_power_loses_a_committed_round),
        FAULTY(with_process_durability_power_loss_goes_back_to_a_whole_round_and_never_repeats_an_epoch),
        FAULTY(a_failing_disk_fails_the_commit_and_loses_nothing),
        FAULTY(a_full_and_a_read_only_disk_are_called_that),
        FAULTY(a_changed_byte_is_refused_or_harmless_but_never_believed),
        FAULTY(a_file_cut_short_is_refused_or_whole),
        FAULTY(files_of_different_moments_are_refused_or_give_a_whole_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
