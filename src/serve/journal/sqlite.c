/* The journal as a file: one row of an SQLite database, one fdatasync for each round. */
#include "serve/journal/backend.h"

#include "base/machine.h"
#include "net/files.h"
#include "serve/journal/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct sqlite_store {
    sqlite3 *database;
    sqlite3_stmt *read, *update_round, *update_standing;
    bool is_mine; /* this process has locked the file */
    int log;      /* a descriptor of the log, for hints only; -1: none */
} sqlite_store;

static sqlite_store *store_of(const tc_journal *journal) { return journal->store; }
static sqlite3 *database_of(const tc_journal *journal) { return store_of(journal)->database; }

static const char *explain(int code) {
    switch (code & 0xff) {
    case SQLITE_FULL:
        return "the disk is full";
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return "the file or its folder cannot be written";
    case SQLITE_CANTOPEN:
        return "the file cannot be opened";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another process has it open";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return "it is damaged";
    case SQLITE_NOMEM:
        return "memory is out";
    case SQLITE_IOERR:
        return "the disk failed";
    default:
        return sqlite3_errstr(code);
    }
}

/* ---- Opening ---- */

/* "taci" */
#define APPLICATION "1952539497"
enum { APPLICATION_ID = 1952539497, FORMAT = 1 };

static const char UPDATE_ROUND[] = "UPDATE journal SET round = ?1, input = ?2, step = ?3, regularization = ?4, "
                                   "answers = ?5, memory = ?6, digest = ?7 WHERE id = 1";
static const char UPDATE_STANDING[] =
    "UPDATE journal SET epoch = ?1, epoch_id = ?2, finished = ?3, digest = ?4 WHERE id = 1";

static tc_status complain_code(const tc_journal *journal, int code, tc_buffer *messages) {
    int kind = code & 0xff;
    bool writing = kind == SQLITE_FULL || kind == SQLITE_READONLY || kind == SQLITE_PERM;
    if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB)
        return tc_journal_complain_damage(journal, messages);
    return tc_journal_complain(journal, writing ? TC_CANNOT_WRITE : TC_CANNOT_READ, explain(code), messages);
}

static int run(const tc_journal *journal, const char *sql) {
    return sqlite3_exec(database_of(journal), sql, NULL, NULL, NULL);
}

/* The first column of a statement's first row. */
static int64_t ask(const tc_journal *journal, const char *sql, int *code) {
    sqlite3_stmt *question = NULL;
    int64_t answer = 0;
    *code = sqlite3_prepare_v2(database_of(journal), sql, -1, &question, NULL);
    if (*code == SQLITE_OK) {
        *code = sqlite3_step(question);
        if (*code == SQLITE_ROW)
            answer = sqlite3_column_int64(question, 0);
        int after = sqlite3_finalize(question);
        *code = after != SQLITE_OK ? after : *code == SQLITE_DONE ? SQLITE_CORRUPT : SQLITE_OK;
    }
    return answer;
}

/* The pragma returns "ok", or a text that describes the damage. */
static bool is_sound(const tc_journal *journal) {
    sqlite3_stmt *question = NULL;
    bool sound = false;
    if (sqlite3_prepare_v2(database_of(journal), "PRAGMA integrity_check(1)", -1, &question, NULL) == SQLITE_OK &&
        sqlite3_step(question) == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(question, 0);
        sound = text != NULL && strcmp((const char *)text, "ok") == 0;
    }
    (void)sqlite3_finalize(question);
    return sound;
}

/* For one process. The write-ahead log is overwritten in place, so that a commit is one write to allocated blocks and
 * one fdatasync. EXTRA also makes durable that the rollback file of the switch to the log is deleted: one that came
 * back would undo later commits. When all is set up, commits go on with NORMAL, and sync_log makes them durable. */
static int set_up(const tc_journal *journal, const tc_journal_settings *settings) {
    int keep = 1, code;
    unsigned pages = settings->log_pages == 0 ? TC_JOURNAL_LOG_PAGES : settings->log_pages;
    (void)sqlite3_file_control(database_of(journal), "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
    (void)sqlite3_busy_timeout(database_of(journal), 0);
    code = run(journal, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=EXTRA; PRAGMA journal_mode=WAL; "
                        "PRAGMA journal_size_limit=-1; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;");
    return code != SQLITE_OK ? code : sqlite3_wal_autocheckpoint(database_of(journal), (int)pages);
}

/* Fills the log once and restarts it, so that later commits find allocated blocks. */
static int write_through(const tc_journal *journal, unsigned pages) {
    char text[160];
    (void)sqlite3_snprintf(sizeof text, text,
                           "CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(%u * 4096)); "
                           "DROP TABLE filler; PRAGMA wal_checkpoint(RESTART);",
                           pages);
    return run(journal, text);
}

static int insert_row(tc_journal *journal) {
    sqlite3_stmt *insert = NULL;
    int code = sqlite3_prepare_v2(
        database_of(journal),
        "INSERT INTO journal VALUES (1, ?1, ?2, ?3, 0, zeroblob(16), 0, 0, zeroblob(32), 0, 0, x'', x'', ?4)", -1,
        &insert, NULL);
    if (code != SQLITE_OK)
        return code;
    code = sqlite3_bind_blob(insert, 1, journal->run.run_id, TC_RUN_ID, SQLITE_STATIC);
    code |= sqlite3_bind_blob(insert, 2, journal->run.plan_hash, TC_HASH, SQLITE_STATIC);
    code |= sqlite3_bind_blob(insert, 3, journal->run.terms, TC_HASH, SQLITE_STATIC);
    code |= sqlite3_bind_blob(insert, 4, journal->row, TC_HASH, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(insert);
    int after = sqlite3_finalize(insert);
    return after != SQLITE_OK ? after : code == SQLITE_DONE ? SQLITE_OK : code;
}

/* One transaction, format number included: a crash here leaves nothing. */
static int create(tc_journal *journal, const tc_journal_settings *settings) {
    unsigned pages = settings->log_pages == 0 ? TC_JOURNAL_LOG_PAGES : settings->log_pages;
    int code = write_through(journal, pages);
    if (code == SQLITE_OK)
        code = run(journal,
                   "BEGIN IMMEDIATE; PRAGMA application_id=" APPLICATION "; PRAGMA user_version=1; "
                   "CREATE TABLE journal (id INTEGER PRIMARY KEY CHECK (id = 1), run_id BLOB NOT NULL, "
                   "plan_hash BLOB NOT NULL, terms BLOB NOT NULL, epoch INTEGER NOT NULL, epoch_id BLOB NOT NULL, "
                   "finished INTEGER NOT NULL, round INTEGER NOT NULL, input BLOB NOT NULL, "
                   "step REAL NOT NULL, regularization REAL NOT NULL, answers BLOB NOT NULL, "
                   "memory BLOB NOT NULL, digest BLOB NOT NULL) STRICT;");
    if (code == SQLITE_OK)
        code = insert_row(journal);
    return code == SQLITE_OK ? run(journal, "COMMIT") : code;
}

static tc_journal_blob blob_of(sqlite3_stmt *row, int column) {
    const unsigned char *bytes = sqlite3_column_blob(row, column); /* before the size: it may convert */
    return (tc_journal_blob){.bytes = bytes, .size = (size_t)sqlite3_column_bytes(row, column)};
}

/* Columns in the order of the table. */
static bool read_row(tc_journal *journal, sqlite3_stmt *row) {
    tc_journal_row read = {.run_id = blob_of(row, 1),
                           .plan_hash = blob_of(row, 2),
                           .terms = blob_of(row, 3),
                           .epoch = sqlite3_column_int64(row, 4),
                           .epoch_id = blob_of(row, 5),
                           .finished = sqlite3_column_int64(row, 6),
                           .round = sqlite3_column_int64(row, 7),
                           .input = blob_of(row, 8),
                           .step = sqlite3_column_double(row, 9),
                           .regularization = sqlite3_column_double(row, 10),
                           .answers = blob_of(row, 11),
                           .snapshot = blob_of(row, 12),
                           .digest = blob_of(row, 13)};
    return tc_journal_believe(journal, &read);
}

static tc_status read_journal(tc_journal *journal, tc_buffer *messages) {
    sqlite3_stmt *row = NULL;
    int code;
    int64_t application = ask(journal, "PRAGMA application_id", &code);
    int64_t format = code == SQLITE_OK ? ask(journal, "PRAGMA user_version", &code) : 0;
    if (code != SQLITE_OK)
        return complain_code(journal, code, messages);
    if (application != APPLICATION_ID)
        return tc_journal_complain(
            journal, TC_CANNOT_READ,
            "it is another program's file, or damaged; choose another --state, or begin another run with "
            "--new-run, which moves it aside",
            messages);
    if (format != FORMAT)
        return tc_journal_complain(
            journal, TC_CANNOT_READ,
            "it was written by another version of this program; go on with that one, or begin another run "
            "with --new-run",
            messages);
    if (!is_sound(journal))
        return tc_journal_complain_damage(journal, messages);
    code = sqlite3_prepare_v2(database_of(journal), "SELECT * FROM journal WHERE id = 1", -1, &row, NULL);
    if (code != SQLITE_OK)
        return complain_code(journal, code == SQLITE_ERROR ? SQLITE_CORRUPT : code, messages);
    store_of(journal)->read = row; /* closed with the file, whatever is raised meanwhile */
    code = sqlite3_step(row);
    if (code != SQLITE_ROW)
        return complain_code(journal, code == SQLITE_DONE ? SQLITE_CORRUPT : code, messages);
    bool good = sqlite3_column_count(row) == 14 && read_row(journal, row);
    (void)sqlite3_reset(row); /* else it would keep a read transaction open */
    return good ? TC_OK : tc_journal_complain_damage(journal, messages);
}

static const char *log_of(const tc_journal *journal, const char *path) {
    return tc_arena_format(journal->arena, "%s-wal", path);
}

/* Refuses a missing or empty file beside a log: SQLite would make a new file and delete the log, which may hold a whole
 * run. */
static tc_status check_log(const tc_journal *journal, tc_buffer *messages) {
    struct stat file, log;
    const char *path = log_of(journal, journal->name);
    bool is_there = stat(journal->name, &file) == 0 && file.st_size > 0;
    if (is_there || stat(path, &log) != 0 || log.st_size == 0)
        return TC_OK;
    return tc_journal_complain(
        journal, TC_CANNOT_READ,
        "it is missing or empty, but its log (journal.db-wal) is there; put the file back that belongs to "
        "it, or begin another run with --new-run",
        messages);
}

/* The folder may be reached by links (net/files.h). The file must not be a link: its log would not lie beside it. */
static tc_status check_link(const tc_journal *journal, tc_buffer *messages) {
    struct stat file;
    if (lstat(journal->name, &file) != 0 || !S_ISLNK(file.st_mode))
        return TC_OK;
    return tc_journal_complain(
        journal, TC_CANNOT_READ,
        "it is a symbolic link, and its log would not lie beside it; give the folder that has the file "
        "itself",
        messages);
}

/* A file with room for the log's pages was begun in full: before that, a start that died has left less. */
static void look_for_doubt(tc_journal *journal, const tc_journal_settings *settings) {
    struct stat file;
    unsigned pages = settings->log_pages == 0 ? TC_JOURNAL_LOG_PAGES : settings->log_pages;
    if (stat(journal->name, &file) == 0 && file.st_size >= (off_t)pages * 4096)
        journal->doubt = tc_wal_doubt(journal->arena, log_of(journal, journal->name), pages);
}

static tc_status open_database(tc_journal *journal, const tc_journal_settings *settings, tc_buffer *messages) {
    int code = SQLITE_OK;
    if (settings->vfs == NULL) {
        tc_status status = tc_private_folder(settings->folder, messages);
        if (status == TC_OK)
            status = check_link(journal, messages);
        if (status == TC_OK)
            status = check_log(journal, messages);
        if (status == TC_OK)
            status = tc_private_file_check(journal->name, messages);
        if (status == TC_OK)
            status = tc_private_file_check(log_of(journal, journal->name), messages);
        if (status == TC_OK)
            look_for_doubt(journal, settings);
        if (status != TC_OK)
            return status;
    }
    mode_t before = umask(077);
    code = sqlite3_open_v2(journal->name, &store_of(journal)->database,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
                           settings->vfs);
    if (code == SQLITE_OK)
        (void)sqlite3_extended_result_codes(database_of(journal), 1);
    if (code == SQLITE_OK &&
        sqlite3_db_readonly(database_of(journal), "main") == 1) /* SQLite opens a read-only file without an error */
        code = SQLITE_READONLY;
    if (code == SQLITE_OK)
        code = set_up(journal, settings);
    (void)umask(before); /* the log exists by now */
    return code == SQLITE_OK ? TC_OK : complain_code(journal, code, messages);
}

static int prepare(tc_journal *journal, const char *sql, sqlite3_stmt **statement) {
    return sqlite3_prepare_v3(database_of(journal), sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
}

/* ---- Another run's ---- */

/* Checks the bytes at 1 GiB that SQLite locks. */
static bool is_open_elsewhere(const char *path) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000000, .l_len = 512};
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    bool is_locked = fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    (void)close(descriptor);
    return is_locked;
}

static tc_status cannot(const char *path, tc_buffer *messages) {
    tc_buffer_printf(messages, "cannot write '%s': %s\n", path, strerror(errno));
    return TC_CANNOT_WRITE;
}

static tc_status set_aside(tc_journal *journal, const tc_journal_settings *settings, tc_buffer *messages) {
    struct timespec now;
    const char *path = journal->name, *log = log_of(journal, path);
    if (is_open_elsewhere(path)) {
        tc_buffer_printf(messages, "the journal '%s' cannot be moved aside: another process has it open\n", path);
        return TC_CANNOT_READ;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const char *aside = tc_arena_format(journal->arena, "%s/journal-%lld-%09ld.db", settings->folder,
                                        (long long)now.tv_sec, now.tv_nsec);
    /* The database first: the next start then finds a log without database and refuses it. */
    if (rename(path, aside) != 0 && errno != ENOENT)
        return cannot(path, messages);
    journal->aside = aside;
    if (rename(log, log_of(journal, aside)) != 0 && errno != ENOENT)
        return cannot(log, messages);
    return TC_OK;
}

/* The log first: a log without database is refused. Not where another process has begun a journal there. */
static void bring_back(const tc_journal *journal) {
    struct stat facts;
    if (journal->aside == NULL || stat(journal->name, &facts) == 0)
        return;
    (void)rename(log_of(journal, journal->aside), log_of(journal, journal->name));
    (void)rename(journal->aside, journal->name);
}

static tc_status open_or_begin(tc_journal *journal, const tc_journal_settings *settings, const tc_journal_run *wanted,
                               const unsigned char *made, tc_buffer *messages) {
    int code;
    journal->store = TC_NEW(journal->arena, sqlite_store, 1);
    sqlite_store *store = store_of(journal);
    store->log = -1;
    tc_status status = open_database(journal, settings, messages);
    if (status != TC_OK)
        return status;
    store->is_mine = true;
    int64_t tables = ask(journal, "SELECT count(*) FROM sqlite_schema WHERE name <> 'filler'", &code);
    if (code == SQLITE_OK && tables == 0 && ask(journal, "PRAGMA application_id", &code) == 0 && code == SQLITE_OK) {
        if (journal->doubt != NULL) /* all of the run may have been in the log: another is not begun in its place */
            return tc_journal_complain_damage(journal, messages);
        status = tc_journal_begin_run(journal, wanted, made);
        if (status != TC_OK)
            return status;
        code = run(journal, "DROP TABLE IF EXISTS filler"); /* of a start that crashed here */
        if (code == SQLITE_OK)
            code = create(journal, settings);
        journal->is_new = code == SQLITE_OK;
    }
    if (code != SQLITE_OK)
        return complain_code(journal, code, messages);
    status = read_journal(journal, messages);
    if (status == TC_OK)
        status = tc_journal_check_owner(journal, wanted, messages);
    if (status == TC_OK)
        code = run(journal, "PRAGMA synchronous=NORMAL");
    if (status == TC_OK && code == SQLITE_OK)
        code = prepare(journal, UPDATE_ROUND, &store->update_round);
    if (status == TC_OK && code == SQLITE_OK)
        code = prepare(journal, UPDATE_STANDING, &store->update_standing);
    if (status == TC_OK && settings->vfs == NULL) /* SQLite's locks are on the other file: closing this keeps them */
        store->log = open(tc_arena_format(journal->arena, "%s-wal", journal->name), O_WRONLY | O_CLOEXEC);
    return status != TC_OK ? status : code == SQLITE_OK ? TC_OK : complain_code(journal, code, messages);
}

static void close_file(tc_journal *journal) {
    sqlite_store *store = store_of(journal);
    if (store == NULL)
        return;
    (void)sqlite3_finalize(store->read);
    (void)sqlite3_finalize(store->update_round);
    (void)sqlite3_finalize(store->update_standing);
    (void)sqlite3_close(store->database);
    if (store->log >= 0)
        (void)close(store->log);
    journal->store = NULL;
}

/* It is closed first: SQLite deletes the log at the end, by its name. */
static void discard(tc_journal *journal) {
    bool is_mine = store_of(journal) != NULL && store_of(journal)->is_mine;
    close_file(journal);
    if (is_mine) {
        (void)unlink(log_of(journal, journal->name));
        (void)unlink(journal->name);
    }
    bring_back(journal);
}

static tc_status open_file(tc_journal *journal, const tc_journal_settings *settings, const tc_journal_run *wanted,
                           const unsigned char *made, tc_buffer *messages) {
    journal->name = tc_arena_format(journal->arena, "%s/journal.db", settings->folder);
    tc_status status = settings->is_new_run ? set_aside(journal, settings, messages) : TC_OK;
    if (status == TC_OK)
        status = open_or_begin(journal, settings, wanted, made, messages);
    if (status != TC_OK && journal->aside != NULL)
        discard(journal);
    return status;
}

/* ---- Without opening it ---- */

static tc_status look(tc_arena *arena, const tc_journal_settings *settings, tc_buffer *messages,
                      tc_journal_seen *seen) {
    struct stat facts;
    (void)messages;
    seen->exists = stat(tc_arena_format(arena, "%s/journal.db", settings->folder), &facts) == 0 ||
                   stat(tc_arena_format(arena, "%s/journal.db-wal", settings->folder), &facts) == 0;
    return TC_OK;
}

/* ---- Writing ---- */

/* SQLITE_STATIC: nothing is copied. */
static int bind_standing(sqlite3_stmt *update, const tc_epoch *epoch, unsigned finished, const unsigned char *row) {
    int code = sqlite3_bind_int64(update, 1, (sqlite3_int64)epoch->number);
    code |= sqlite3_bind_blob(update, 2, epoch->id, TC_EPOCH_ID, SQLITE_STATIC);
    code |= sqlite3_bind_int64(update, 3, finished);
    return code | sqlite3_bind_blob(update, 4, row, TC_HASH, SQLITE_STATIC);
}

static int bind_round(sqlite3_stmt *update, const tc_journal_round *round, const unsigned char *answers,
                      const unsigned char *row) {
    static const unsigned char nothing[1];
    int code = sqlite3_bind_int64(update, 1, (sqlite3_int64)round->round);
    code |= sqlite3_bind_blob(update, 2, round->input, TC_INPUT_MAC, SQLITE_STATIC);
    code |= sqlite3_bind_double(update, 3, round->step);
    code |= sqlite3_bind_double(update, 4, round->regularization);
    code |= sqlite3_bind_blob64(update, 5, answers == NULL ? nothing : answers, 8 * (sqlite3_uint64)round->answer_count,
                                SQLITE_STATIC);
    code |= sqlite3_bind_blob64(update, 6, round->snapshot == NULL ? nothing : round->snapshot, round->snapshot_size,
                                SQLITE_STATIC);
    return code | sqlite3_bind_blob(update, 7, row, TC_HASH, SQLITE_STATIC);
}

/* What SQLite does at the end of a commit with FULL, by its own file: the folder is synced with a new log. With NORMAL
 * SQLite syncs the log only before a checkpoint and after the first bytes of a log that begins anew. */
static const char *sync_log(tc_journal *journal) {
    sqlite3_file *log = NULL;
    int code = sqlite3_file_control(database_of(journal), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code == SQLITE_OK)
        code = log == NULL || log->pMethods == NULL ? SQLITE_IOERR : log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
    return code == SQLITE_OK ? NULL : explain(code);
}

/* The statement is a transaction of its own: in the log when sqlite3_step returns, durable after sync_log. */
static const char *execute(const tc_journal *journal, sqlite3_stmt *update, int bound) {
    if (bound != SQLITE_OK)
        return "memory is out";
    int code = sqlite3_step(update);
    int after = sqlite3_reset(update);
    (void)sqlite3_clear_bindings(update);
    if (code != SQLITE_DONE || after != SQLITE_OK)
        return explain(after != SQLITE_OK ? after : code);
    return sqlite3_changes(database_of(journal)) == 1 ? NULL : "its row is missing";
}

static const char *write_standing(tc_journal *journal, const tc_journal_standing *standing) {
    sqlite3_stmt *update = store_of(journal)->update_standing;
    const char *trouble =
        execute(journal, update, bind_standing(update, standing->epoch, standing->finished, standing->digest));
    return trouble == NULL ? sync_log(journal) : trouble;
}

static const char *start_round(tc_journal *journal, const tc_journal_round *round, const unsigned char *answers,
                               const unsigned char *digest) {
    sqlite_store *store = store_of(journal);
    const char *trouble =
        execute(journal, store->update_round, bind_round(store->update_round, round, answers, digest));
    if (trouble == NULL && journal->durability == TC_DURABLE_POWER && store->log >= 0)
        tc_begin_writing(store->log);
    return trouble;
}

const tc_journal_backend tc_journal_sqlite = {.open = open_file,
                                              .close = close_file,
                                              .look = look,
                                              .discard = discard,
                                              .write_standing = write_standing,
                                              .start_round = start_round,
                                              .wait_round = sync_log};
