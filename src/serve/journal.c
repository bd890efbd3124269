#include "serve/journal.h"

#include "base/text.h"
#include "net/files.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOLD = 128 }; /* added to the reason of the end: every agent has the last answer */

struct tc_journal {
    tc_arena *arena;
    sqlite3 *database;
    sqlite3_stmt *update_round, *update_standing;
    EVP_MD_CTX *digest; /* SHA-256, fetched once: fetching costs more than hashing a small row */
    const char *path;
    tc_durability durability;
    bool is_broken, is_new;
    const char *trouble;
    /* The row as it is in the database. */
    tc_journal_run run;
    tc_epoch epoch;
    unsigned finished;
    uint64_t round;
    unsigned char content[TC_HASH]; /* the digest of the last round */
    tc_journal_round last;          /* at the time of opening */
    unsigned char *bytes;           /* answers as bytes for the database */
    size_t bytes_room;
};

const char *const tc_durability_names[] = {
#define X(code, name) [code] = name,
    TC_DURABILITIES(X)
#undef X
        NULL};

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

static bool add_number(EVP_MD_CTX *digest, uint64_t number) {
    unsigned char bytes[8];
    tc_put_u64(bytes, number);
    return EVP_DigestUpdate(digest, bytes, sizeof bytes) == 1;
}

static bool add_double(EVP_MD_CTX *digest, double number) {
    unsigned char bytes[8];
    tc_put_doubles(bytes, &number, 1);
    return EVP_DigestUpdate(digest, bytes, sizeof bytes) == 1;
}

/* The row's digest covers the run, the epoch, the end and the digest of the round. So a new epoch can be written
 * without the round's answers. Lengths come before data, so that different rounds never hash the same bytes. */
static bool digest_round(EVP_MD_CTX *d, const tc_journal_round *round, const unsigned char *answers,
                         unsigned char content[TC_HASH]) {
    return EVP_DigestInit_ex(d, NULL, NULL) == 1 && add_number(d, round->round) &&
           EVP_DigestUpdate(d, round->input, TC_INPUT_MAC) == 1 && add_double(d, round->step) &&
           add_double(d, round->regularization) && add_number(d, round->answer_count) &&
           EVP_DigestUpdate(d, answers, 8 * round->answer_count) == 1 && add_number(d, round->snapshot_size) &&
           EVP_DigestUpdate(d, round->snapshot, round->snapshot_size) == 1 && EVP_DigestFinal_ex(d, content, NULL) == 1;
}

static bool digest_row(EVP_MD_CTX *d, const tc_journal_run *run, const tc_epoch *epoch, unsigned finished,
                       const unsigned char content[TC_HASH], unsigned char row[TC_HASH]) {
    return EVP_DigestInit_ex(d, NULL, NULL) == 1 && EVP_DigestUpdate(d, run->run_id, TC_RUN_ID) == 1 &&
           EVP_DigestUpdate(d, run->plan_hash, TC_HASH) == 1 && EVP_DigestUpdate(d, run->terms, TC_HASH) == 1 &&
           add_number(d, epoch->number) && EVP_DigestUpdate(d, epoch->id, TC_EPOCH_ID) == 1 &&
           add_number(d, finished) && EVP_DigestUpdate(d, content, TC_HASH) == 1 &&
           EVP_DigestFinal_ex(d, row, NULL) == 1;
}

/* ---- Opening: make it, or check that it is complete and belongs to this run ---- */

/* "taci" */
#define APPLICATION "1952539497"
enum { APPLICATION_ID = 1952539497, FORMAT = 1 };

static const char UPDATE_ROUND[] = "UPDATE journal SET round = ?1, input = ?2, step = ?3, regularization = ?4, "
                                   "answers = ?5, memory = ?6, digest = ?7 WHERE id = 1";
static const char UPDATE_STANDING[] =
    "UPDATE journal SET epoch = ?1, epoch_id = ?2, finished = ?3, digest = ?4 WHERE id = 1";

static tc_status complain(const tc_journal *journal, tc_status status, const char *what, tc_buffer *messages) {
    tc_buffer_printf(messages, "the journal '%s' cannot be used: %s\n", journal->path, what);
    return status;
}

/* Nothing is repaired: lost data might have been released. */
static tc_status complain_damage(const tc_journal *journal, tc_buffer *messages) {
    return complain(journal, TC_CANNOT_READ,
                    "it is damaged; put a back-up of it in its place and start with --after-restore, or begin another "
                    "run with --new-run",
                    messages);
}

static tc_status complain_code(const tc_journal *journal, int code, tc_buffer *messages) {
    int kind = code & 0xff;
    bool writing = kind == SQLITE_FULL || kind == SQLITE_READONLY || kind == SQLITE_PERM;
    if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB)
        return complain_damage(journal, messages);
    return complain(journal, writing ? TC_CANNOT_WRITE : TC_CANNOT_READ, explain(code), messages);
}

static int run(const tc_journal *journal, const char *sql) {
    return sqlite3_exec(journal->database, sql, NULL, NULL, NULL);
}

/* The first column of a statement's first row. */
static int64_t ask(const tc_journal *journal, const char *sql, int *code) {
    sqlite3_stmt *question = NULL;
    int64_t answer = 0;
    *code = sqlite3_prepare_v2(journal->database, sql, -1, &question, NULL);
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
    if (sqlite3_prepare_v2(journal->database, "PRAGMA integrity_check(1)", -1, &question, NULL) == SQLITE_OK &&
        sqlite3_step(question) == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(question, 0);
        sound = text != NULL && strcmp((const char *)text, "ok") == 0;
    }
    (void)sqlite3_finalize(question);
    return sound;
}

/* For one process. The write-ahead log is overwritten in place, so that a commit is one write to allocated blocks and
 * one fdatasync. EXTRA also makes durable that the rollback file of the switch to the log is deleted: one that came
 * back would undo later commits. */
static int set_up(const tc_journal *journal, const tc_journal_settings *settings) {
    int keep = 1, code;
    unsigned pages = settings->log_pages == 0 ? TC_JOURNAL_LOG_PAGES : settings->log_pages;
    (void)sqlite3_file_control(journal->database, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
    (void)sqlite3_busy_timeout(journal->database, 0);
    code = run(journal, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=EXTRA; PRAGMA journal_mode=WAL; "
                        "PRAGMA journal_size_limit=-1; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;");
    return code != SQLITE_OK ? code : sqlite3_wal_autocheckpoint(journal->database, (int)pages);
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
    unsigned char digest[TC_HASH];
    if (!digest_round(journal->digest, &journal->last, NULL, journal->content) ||
        !digest_row(journal->digest, &journal->run, &journal->epoch, 0, journal->content, digest))
        return SQLITE_ERROR;
    int code = sqlite3_prepare_v2(
        journal->database,
        "INSERT INTO journal VALUES (1, ?1, ?2, ?3, 0, zeroblob(16), 0, 0, zeroblob(32), 0, 0, x'', x'', ?4)", -1,
        &insert, NULL);
    if (code != SQLITE_OK)
        return code;
    code = sqlite3_bind_blob(insert, 1, journal->run.run_id, TC_RUN_ID, SQLITE_STATIC);
    code |= sqlite3_bind_blob(insert, 2, journal->run.plan_hash, TC_HASH, SQLITE_STATIC);
    code |= sqlite3_bind_blob(insert, 3, journal->run.terms, TC_HASH, SQLITE_STATIC);
    code |= sqlite3_bind_blob(insert, 4, digest, TC_HASH, SQLITE_STATIC);
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

static bool take_bytes(sqlite3_stmt *row, int column, unsigned char *bytes, int size) {
    if (sqlite3_column_bytes(row, column) != size)
        return false;
    memcpy(bytes, sqlite3_column_blob(row, column), (size_t)size);
    return true;
}

/* Columns in the order of the table. */
static bool read_row(tc_journal *journal, sqlite3_stmt *row) {
    tc_journal_round *last = &journal->last;
    unsigned char digest[TC_HASH], stored[TC_HASH];
    int64_t epoch = sqlite3_column_int64(row, 4), finished = sqlite3_column_int64(row, 6);
    int64_t round = sqlite3_column_int64(row, 7);
    int answers = sqlite3_column_bytes(row, 11), memory = sqlite3_column_bytes(row, 12);
    if (!take_bytes(row, 1, journal->run.run_id, TC_RUN_ID) || !take_bytes(row, 2, journal->run.plan_hash, TC_HASH) ||
        !take_bytes(row, 3, journal->run.terms, TC_HASH) || !take_bytes(row, 5, journal->epoch.id, TC_EPOCH_ID) ||
        !take_bytes(row, 8, last->input, TC_INPUT_MAC) || !take_bytes(row, 13, stored, TC_HASH) || epoch < 0 ||
        round < 0 || finished < 0 || finished > 255 || answers % 8 != 0)
        return false;
    journal->epoch.number = (uint64_t)epoch;
    journal->finished = (unsigned)finished;
    last->round = (uint64_t)round;
    last->step = sqlite3_column_double(row, 9);
    last->regularization = sqlite3_column_double(row, 10);
    last->answer_count = (size_t)answers / 8;
    last->snapshot_size = (size_t)memory;
    const unsigned char *bytes = sqlite3_column_blob(row, 11), *kept = sqlite3_column_blob(row, 12);
    if (last->answer_count > 0) {
        double *values = TC_NEW(journal->arena, double, last->answer_count);
        tc_get_doubles(bytes, values, last->answer_count);
        last->answers = values;
    }
    if (memory > 0)
        last->snapshot = (unsigned char *)tc_arena_copy(journal->arena, (const char *)kept, (size_t)memory);
    journal->round = last->round;
    return digest_round(journal->digest, last, bytes, journal->content) &&
           digest_row(journal->digest, &journal->run, &journal->epoch, journal->finished, journal->content, digest) &&
           memcmp(digest, stored, TC_HASH) == 0;
}

static void finalize(void *statement) { (void)sqlite3_finalize(statement); }

static tc_status read_journal(tc_journal *journal, tc_buffer *messages) {
    sqlite3_stmt *row = NULL;
    int code;
    int64_t application = ask(journal, "PRAGMA application_id", &code);
    int64_t format = code == SQLITE_OK ? ask(journal, "PRAGMA user_version", &code) : 0;
    if (code != SQLITE_OK)
        return complain_code(journal, code, messages);
    if (application != APPLICATION_ID)
        return complain(journal, TC_CANNOT_READ,
                        "it is another program's file, or damaged; choose another --state, or begin another run with "
                        "--new-run, which moves it aside",
                        messages);
    if (format != FORMAT)
        return complain(journal, TC_CANNOT_READ,
                        "it was written by another version of this program; go on with that one, or begin another run "
                        "with --new-run",
                        messages);
    if (!is_sound(journal))
        return complain_damage(journal, messages);
    code = sqlite3_prepare_v2(journal->database, "SELECT * FROM journal WHERE id = 1", -1, &row, NULL);
    if (code != SQLITE_OK)
        return complain_code(journal, code == SQLITE_ERROR ? SQLITE_CORRUPT : code, messages);
    tc_arena_on_free(journal->arena, finalize, row);
    code = sqlite3_step(row);
    if (code != SQLITE_ROW)
        return complain_code(journal, code == SQLITE_DONE ? SQLITE_CORRUPT : code, messages);
    bool good = sqlite3_column_count(row) == 14 && read_row(journal, row);
    (void)sqlite3_reset(row); /* else it would keep a read transaction open */
    return good ? TC_OK : complain_damage(journal, messages);
}

/* Refuses a missing or empty file beside a log: SQLite would make a new file and delete the log, which may hold a whole
 * run. */
static tc_status check_log(const tc_journal *journal, tc_buffer *messages) {
    struct stat file, log;
    const char *path = tc_arena_format(journal->arena, "%s-wal", journal->path);
    bool is_there = stat(journal->path, &file) == 0 && file.st_size > 0;
    if (is_there || stat(path, &log) != 0 || log.st_size == 0)
        return TC_OK;
    return complain(journal, TC_CANNOT_READ,
                    "it is missing or empty, but its log (journal.db-wal) is there; put the file back that belongs to "
                    "it, or begin another run with --new-run",
                    messages);
}

/* The folder may be reached by links (net/files.h). The file must not be a link: its log would not lie beside it. */
static tc_status check_link(const tc_journal *journal, tc_buffer *messages) {
    struct stat file;
    if (lstat(journal->path, &file) != 0 || !S_ISLNK(file.st_mode))
        return TC_OK;
    return complain(journal, TC_CANNOT_READ,
                    "it is a symbolic link, and its log would not lie beside it; give the folder that has the file "
                    "itself",
                    messages);
}

static tc_status open_database(tc_journal *journal, const tc_journal_settings *settings, tc_buffer *messages) {
    int code = SQLITE_OK;
    if (settings->vfs == NULL) {
        tc_status status = tc_private_folder(settings->folder, messages);
        if (status == TC_OK)
            status = check_link(journal, messages);
        if (status == TC_OK)
            status = check_log(journal, messages);
        if (status != TC_OK)
            return status;
    }
    mode_t before = umask(077);
    code = sqlite3_open_v2(journal->path, &journal->database,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
                           settings->vfs);
    if (code == SQLITE_OK)
        (void)sqlite3_extended_result_codes(journal->database, 1);
    if (code == SQLITE_OK &&
        sqlite3_db_readonly(journal->database, "main") == 1) /* SQLite opens a read-only file without an error */
        code = SQLITE_READONLY;
    if (code == SQLITE_OK)
        code = set_up(journal, settings);
    (void)umask(before); /* the log exists by now */
    return code == SQLITE_OK ? TC_OK : complain_code(journal, code, messages);
}

static tc_status check_owner(tc_journal *journal, const tc_journal_run *wanted, tc_buffer *messages) {
    if (memcmp(journal->run.plan_hash, wanted->plan_hash, TC_HASH) != 0)
        return complain(journal, TC_BAD_USAGE,
                        tc_arena_format(journal->arena,
                                        "it belongs to a run of another plan, whose hash is %s, and the file and the "
                                        "options make %s: --rounds, --epsilon, --delta, --adjacency, --mechanism, "
                                        "--method, --on-late or --most-holds may differ, or the file's budget, boxes, "
                                        "constraints, or what it says of these options",
                                        tc_hexadecimal_new(journal->arena, journal->run.plan_hash, TC_HASH),
                                        tc_hexadecimal_new(journal->arena, wanted->plan_hash, TC_HASH)),
                        messages);
    if (memcmp(journal->run.terms, wanted->terms, TC_HASH) != 0)
        return complain(journal, TC_BAD_USAGE,
                        "it belongs to a run of another file, seed, margin or schedule, or a data file has changed",
                        messages);
    return TC_OK;
}

static int prepare(tc_journal *journal, const char *sql, sqlite3_stmt **statement) {
    return sqlite3_prepare_v3(journal->database, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
}

static tc_status open_journal(tc_journal *journal, const tc_journal_settings *settings,
                              const unsigned char plan_hash[TC_HASH], const unsigned char *made, tc_buffer *messages) {
    int code;
    tc_journal_run wanted = {0};
    memcpy(wanted.plan_hash, plan_hash, TC_HASH);
    if (settings->terms != NULL)
        memcpy(wanted.terms, settings->terms, TC_HASH);
    tc_status status = open_database(journal, settings, messages);
    if (status != TC_OK)
        return status;
    int64_t tables = ask(journal, "SELECT count(*) FROM sqlite_schema WHERE name <> 'filler'", &code);
    if (code == SQLITE_OK && tables == 0 && ask(journal, "PRAGMA application_id", &code) == 0 && code == SQLITE_OK) {
        journal->run = wanted;
        if (made != NULL)
            memcpy(journal->run.run_id, made, TC_RUN_ID);
        else if (RAND_bytes(journal->run.run_id, TC_RUN_ID) != 1)
            return TC_NO_RANDOM;
        code = run(journal, "DROP TABLE IF EXISTS filler"); /* of a start that crashed here */
        if (code == SQLITE_OK)
            code = create(journal, settings);
        journal->is_new = code == SQLITE_OK;
    }
    if (code != SQLITE_OK)
        return complain_code(journal, code, messages);
    status = read_journal(journal, messages);
    if (status == TC_OK)
        status = check_owner(journal, &wanted, messages);
    if (status == TC_OK && journal->durability == TC_DURABLE_PROCESS)
        code = run(journal, "PRAGMA synchronous=NORMAL");
    if (status == TC_OK && code == SQLITE_OK)
        code = prepare(journal, UPDATE_ROUND, &journal->update_round);
    if (status == TC_OK && code == SQLITE_OK)
        code = prepare(journal, UPDATE_STANDING, &journal->update_standing);
    return status != TC_OK ? status : code == SQLITE_OK ? TC_OK : complain_code(journal, code, messages);
}

/* ---- Writing ---- */

static tc_status fail(tc_journal *journal, const char *trouble) {
    journal->is_broken = true;
    journal->trouble = trouble;
    return TC_CANNOT_WRITE;
}

static const unsigned char *answers_of(tc_journal *journal, const tc_journal_round *round) {
    if (round->answer_count > journal->bytes_room) {
        journal->bytes = TC_NEW(journal->arena, unsigned char, 8 * round->answer_count);
        journal->bytes_room = round->answer_count;
    }
    if (round->answer_count > 0)
        tc_put_doubles(journal->bytes, round->answers, round->answer_count);
    return journal->bytes;
}

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

/* The statement is a transaction of its own, durable when sqlite3_step returns. */
static tc_status execute(tc_journal *journal, sqlite3_stmt *update, int bound) {
    if (bound != SQLITE_OK)
        return fail(journal, "memory is out");
    int code = sqlite3_step(update);
    int after = sqlite3_reset(update);
    (void)sqlite3_clear_bindings(update);
    if (code != SQLITE_DONE || after != SQLITE_OK)
        return fail(journal, explain(after != SQLITE_OK ? after : code));
    return sqlite3_changes(journal->database) == 1 ? TC_OK : fail(journal, "its row is missing");
}

static tc_status write_standing(tc_journal *journal, const tc_epoch *epoch, unsigned finished) {
    unsigned char row[TC_HASH];
    if (journal->is_broken)
        return TC_CANNOT_WRITE;
    if (!digest_row(journal->digest, &journal->run, epoch, finished, journal->content, row))
        return fail(journal, "the digest cannot be computed");
    return execute(journal, journal->update_standing, bind_standing(journal->update_standing, epoch, finished, row));
}

static void close_journal(void *what) {
    tc_journal *journal = what;
    EVP_MD_CTX_free(journal->digest);
    (void)sqlite3_finalize(journal->update_round);
    (void)sqlite3_finalize(journal->update_standing);
    (void)sqlite3_close(journal->database);
}

tc_status tc_journal_open(tc_arena *arena, const tc_journal_settings *settings, const unsigned char plan_hash[TC_HASH],
                          const unsigned char *made, tc_buffer *messages, tc_journal **journal) {
    tc_journal *opened = TC_NEW(arena, tc_journal, 1);
    *opened = (tc_journal){.arena = arena,
                           .durability = settings->durability,
                           .path = tc_arena_format(arena, "%s/journal.db", settings->folder)};
    tc_arena_on_free(arena, close_journal, opened);
    opened->digest = EVP_MD_CTX_new();
    if (opened->digest == NULL || EVP_DigestInit_ex(opened->digest, EVP_sha256(), NULL) != 1)
        tc_raise(arena, TC_NO_MEMORY);
    tc_status status = open_journal(opened, settings, plan_hash, made, messages);
    *journal = status == TC_OK ? opened : NULL;
    return status;
}

const tc_journal_run *tc_journal_run_of(const tc_journal *journal) { return &journal->run; }
bool tc_journal_is_new(const tc_journal *journal) { return journal->is_new; }

void tc_journal_discard(const tc_journal *journal) {
    if (!journal->is_new)
        return;
    (void)unlink(tc_arena_format(journal->arena, "%s-wal", journal->path));
    (void)unlink(journal->path);
}

const tc_journal_round *tc_journal_last(const tc_journal *journal) { return &journal->last; }
unsigned tc_journal_finished(const tc_journal *journal) { return journal->finished & ~(unsigned)TOLD; }
bool tc_journal_is_told(const tc_journal *journal) { return (journal->finished & TOLD) != 0; }
bool tc_journal_is_broken(const tc_journal *journal) { return journal->is_broken; }
const char *tc_journal_trouble(const tc_journal *journal) {
    return journal->trouble == NULL ? "nothing is wrong" : journal->trouble;
}

static tc_status set_sync(tc_journal *journal, bool full) {
    int code = sqlite3_exec(journal->database, full ? "PRAGMA synchronous=EXTRA" : "PRAGMA synchronous=NORMAL", NULL,
                            NULL, NULL);
    return code == SQLITE_OK ? TC_OK : fail(journal, explain(code));
}

/* Fully durable: otherwise the same number could be used again with another id. */
tc_status tc_journal_begin_epoch(tc_journal *journal, uint64_t above, tc_epoch *epoch) {
    uint64_t before = journal->epoch.number > above ? journal->epoch.number : above;
    *epoch = (tc_epoch){.number = before + 1};
    if (before >= INT64_MAX || RAND_bytes(epoch->id, TC_EPOCH_ID) != 1)
        return TC_NO_RANDOM;
    tc_status status = set_sync(journal, true);
    if (status == TC_OK)
        status = write_standing(journal, epoch, journal->finished);
    if (status == TC_OK && journal->durability == TC_DURABLE_PROCESS)
        status = set_sync(journal, false);
    if (status == TC_OK)
        journal->epoch = *epoch;
    return status;
}

tc_status tc_journal_commit(tc_journal *journal, const tc_journal_round *round) {
    unsigned char content[TC_HASH], row[TC_HASH];
    if (journal->is_broken)
        return TC_CANNOT_WRITE;
    if (round->round <= journal->round || round->round > INT64_MAX)
        return fail(journal, "a round is committed once, after those before it");
    const unsigned char *answers = answers_of(journal, round);
    if (!digest_round(journal->digest, round, answers, content) ||
        !digest_row(journal->digest, &journal->run, &journal->epoch, journal->finished, content, row))
        return fail(journal, "the digest cannot be computed");
    tc_status status = execute(journal, journal->update_round, bind_round(journal->update_round, round, answers, row));
    if (status != TC_OK)
        return status;
    journal->round = round->round;
    memcpy(journal->content, content, TC_HASH);
    return TC_OK;
}

tc_status tc_journal_finish(tc_journal *journal, unsigned reason) {
    tc_status status = write_standing(journal, &journal->epoch, reason);
    if (status == TC_OK)
        journal->finished = reason;
    return status;
}

void tc_journal_set_told(tc_journal *journal) {
    if (journal->finished == 0 || tc_journal_is_told(journal))
        return;
    if (write_standing(journal, &journal->epoch, journal->finished | TOLD) == TC_OK)
        journal->finished |= TOLD;
}
