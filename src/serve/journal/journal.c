#include "serve/journal/journal_parts.h"

#include <openssl/rand.h>
#include <string.h>
#include <unistd.h>

const char *const tc_durability_names[] = {
#define X(code, name) [code] = name,
    TC_DURABILITIES(X)
#undef X
        NULL};

const char *tc_journal_explain(int code) {
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

/* Lengths come before what they measure: two different rounds have different texts. */
bool tc_journal_digest_round(EVP_MD_CTX *d, const tc_journal_round *round, const unsigned char *answers,
                             unsigned char content[TC_HASH]) {
    return EVP_DigestInit_ex(d, NULL, NULL) == 1 && add_number(d, round->round) &&
           EVP_DigestUpdate(d, round->input, TC_INPUT_MAC) == 1 && add_double(d, round->step) &&
           add_double(d, round->regularization) && add_number(d, round->answer_count) &&
           EVP_DigestUpdate(d, answers, 8 * round->answer_count) == 1 && add_number(d, round->memory_size) &&
           EVP_DigestUpdate(d, round->memory, round->memory_size) == 1 && EVP_DigestFinal_ex(d, content, NULL) == 1;
}

bool tc_journal_digest_row(EVP_MD_CTX *d, const tc_journal_run *run, const tc_epoch *epoch, unsigned finished,
                           const unsigned char content[TC_HASH], unsigned char row[TC_HASH]) {
    return EVP_DigestInit_ex(d, NULL, NULL) == 1 && EVP_DigestUpdate(d, run->run_id, TC_RUN_ID) == 1 &&
           EVP_DigestUpdate(d, run->plan_hash, TC_HASH) == 1 && EVP_DigestUpdate(d, run->terms, TC_HASH) == 1 &&
           add_number(d, epoch->number) && EVP_DigestUpdate(d, epoch->id, TC_EPOCH_ID) == 1 &&
           add_number(d, finished) && EVP_DigestUpdate(d, content, TC_HASH) == 1 &&
           EVP_DigestFinal_ex(d, row, NULL) == 1;
}

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

/* Nothing is copied. */
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
    code |= sqlite3_bind_blob64(update, 6, round->memory == NULL ? nothing : round->memory, round->memory_size,
                                SQLITE_STATIC);
    return code | sqlite3_bind_blob(update, 7, row, TC_HASH, SQLITE_STATIC);
}

/* Outside a transaction a statement is one, and is durable when the step returns. */
static tc_status execute(tc_journal *journal, sqlite3_stmt *update, int bound) {
    if (bound != SQLITE_OK)
        return fail(journal, "memory is out");
    int code = sqlite3_step(update);
    int after = sqlite3_reset(update);
    (void)sqlite3_clear_bindings(update);
    if (code != SQLITE_DONE || after != SQLITE_OK)
        return fail(journal, tc_journal_explain(after != SQLITE_OK ? after : code));
    return sqlite3_changes(journal->database) == 1 ? TC_OK : fail(journal, "its row is missing");
}

static tc_status write_standing(tc_journal *journal, const tc_epoch *epoch, unsigned finished) {
    unsigned char row[TC_HASH];
    if (journal->is_broken)
        return TC_CANNOT_WRITE;
    if (!tc_journal_digest_row(journal->digest, &journal->run, epoch, finished, journal->content, row))
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
    tc_status status = tc_journal_prepare(opened, settings, plan_hash, made, messages);
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
unsigned tc_journal_finished(const tc_journal *journal) { return journal->finished & ~(unsigned)TC_JOURNAL_TOLD; }
bool tc_journal_is_told(const tc_journal *journal) { return (journal->finished & TC_JOURNAL_TOLD) != 0; }
bool tc_journal_is_broken(const tc_journal *journal) { return journal->is_broken; }
const char *tc_journal_trouble(const tc_journal *journal) {
    return journal->trouble == NULL ? "nothing is wrong" : journal->trouble;
}

static tc_status set_sync(tc_journal *journal, bool full) {
    int code = sqlite3_exec(journal->database, full ? "PRAGMA synchronous=EXTRA" : "PRAGMA synchronous=NORMAL", NULL,
                            NULL, NULL);
    return code == SQLITE_OK ? TC_OK : fail(journal, tc_journal_explain(code));
}

/* What is not durable here could be given out a second time with another id. */
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
    if (!tc_journal_digest_round(journal->digest, round, answers, content) ||
        !tc_journal_digest_row(journal->digest, &journal->run, &journal->epoch, journal->finished, content, row))
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
    if (write_standing(journal, &journal->epoch, journal->finished | TC_JOURNAL_TOLD) == TC_OK)
        journal->finished |= TC_JOURNAL_TOLD;
}
