/* Opening the journal: making it, or finding out whether it is whole and ours. */
#include "serve/journal/journal_parts.h"
#include "base/text.h"
#include "net/private_file.h"

#include <openssl/rand.h>
#include <string.h>
#include <sys/stat.h>

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

/* Nothing is repaired: what would be left out of it might have been released. */
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
    return complain(journal, writing ? TC_CANNOT_WRITE : TC_CANNOT_READ, tc_journal_explain(code), messages);
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

/* A whole page of text, since "ok" is one too. */
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

/* One process; the log instead of a rollback file, kept and overwritten in place, so that a commit is one append to
 * blocks that the file has already, and one fdatasync. EXTRA is FULL, and in the one transaction that still has a
 * rollback file, the one that turns the log on, it waits for that file's end to be durable: it would undo what follows.
 */
static int set_up(const tc_journal *journal, const tc_journal_settings *settings) {
    int keep = 1, code;
    unsigned pages = settings->log_pages == 0 ? TC_JOURNAL_LOG_PAGES : settings->log_pages;
    (void)sqlite3_file_control(journal->database, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
    (void)sqlite3_busy_timeout(journal->database, 0);
    code = run(journal, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=EXTRA; PRAGMA journal_mode=WAL; "
                        "PRAGMA journal_size_limit=-1; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;");
    return code != SQLITE_OK ? code : sqlite3_wal_autocheckpoint(journal->database, (int)pages);
}

/* Writes the log through once and starts it again: later commits find its blocks written. */
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
    if (!tc_journal_digest_round(journal->digest, &journal->last, NULL, journal->content) ||
        !tc_journal_digest_row(journal->digest, &journal->run, &journal->epoch, 0, journal->content, digest))
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

/* In one transaction: a start that dies here has made nothing. The format's number is part of it. */
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
    last->memory_size = (size_t)memory;
    const unsigned char *bytes = sqlite3_column_blob(row, 11), *kept = sqlite3_column_blob(row, 12);
    if (last->answer_count > 0) {
        double *values = TC_NEW(journal->arena, double, last->answer_count);
        tc_get_doubles(bytes, values, last->answer_count);
        last->answers = values;
    }
    if (memory > 0)
        last->memory = (unsigned char *)tc_arena_copy(journal->arena, (const char *)kept, (size_t)memory);
    journal->round = last->round;
    return tc_journal_digest_round(journal->digest, last, bytes, journal->content) &&
           tc_journal_digest_row(journal->digest, &journal->run, &journal->epoch, journal->finished, journal->content,
                                 digest) &&
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
    (void)sqlite3_reset(row); /* else it would hold a snapshot */
    return good ? TC_OK : complain_damage(journal, messages);
}

/* SQLite would take it for a new one and throw the log away, in which a whole run may be. A file is never empty when
 * its log has begun. */
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

/* The folder may be behind links (chosen_path.h), the file itself not: its log lies beside it, and a link's would not.
 */
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
    if (code == SQLITE_OK && sqlite3_db_readonly(journal->database, "main") == 1) /* it was opened all the same */
        code = SQLITE_READONLY;
    if (code == SQLITE_OK)
        code = set_up(journal, settings);
    (void)umask(before); /* the log was made by now */
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
        return complain(
            journal, TC_BAD_USAGE,
            "it belongs to a run of another file, seed, margin or schedule, or what a data file holds has changed",
            messages);
    return TC_OK;
}

static int prepare(tc_journal *journal, const char *sql, sqlite3_stmt **statement) {
    return sqlite3_prepare_v3(journal->database, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
}

tc_status tc_journal_prepare(tc_journal *journal, const tc_journal_settings *settings,
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
        code = run(journal, "DROP TABLE IF EXISTS filler"); /* of a start that died here */
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
