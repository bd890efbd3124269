#include "serve/journal/backend.h"

#include "base/text.h"

#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

enum { TOLD = 128 }; /* added to the reason of the end: every agent has the last answer */

const char *const tc_durability_names[] = {
#define X(code, name) [code] = name,
    TC_DURABILITIES(X)
#undef X
        NULL};

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

/* With a key it is a MAC: a plain digest of few numbers could be guessed, and anybody could make one. */
static bool digest_row(const tc_journal *journal, const tc_epoch *epoch, unsigned finished,
                       const unsigned char content[TC_HASH], unsigned char row[TC_HASH]) {
    EVP_MD_CTX *d = journal->digest;
    const tc_journal_run *run = &journal->run;
    return EVP_DigestInit_ex(d, NULL, NULL) == 1 && EVP_DigestUpdate(d, run->run_id, TC_RUN_ID) == 1 &&
           EVP_DigestUpdate(d, run->plan_hash, TC_HASH) == 1 && EVP_DigestUpdate(d, run->terms, TC_HASH) == 1 &&
           add_number(d, epoch->number) && EVP_DigestUpdate(d, epoch->id, TC_EPOCH_ID) == 1 &&
           add_number(d, finished) && EVP_DigestUpdate(d, content, TC_HASH) == 1 &&
           EVP_DigestFinal_ex(d, row, NULL) == 1 && (journal->key == NULL || tc_journal_key_mac(journal->key, row));
}

/* ---- Opening: make it, or check that it is complete and belongs to this run ---- */

tc_status tc_journal_complain(const tc_journal *journal, tc_status status, const char *what, tc_buffer *messages) {
    tc_buffer_printf(messages, "the journal '%s' cannot be used: %s\n", journal->name, what);
    return status;
}

/* Nothing is repaired: lost data might have been released. */
tc_status tc_journal_complain_damage(const tc_journal *journal, tc_buffer *messages) {
    return tc_journal_complain(journal, TC_CANNOT_READ,
                               "it is damaged; put a back-up of it in its place and start with --after-restore, or "
                               "begin another run with --new-run",
                               messages);
}

tc_status tc_journal_begin_run(tc_journal *journal, const tc_journal_run *wanted, const unsigned char *made) {
    journal->run = *wanted;
    if (made != NULL)
        memcpy(journal->run.run_id, made, TC_RUN_ID);
    else if (RAND_bytes(journal->run.run_id, TC_RUN_ID) != 1)
        return TC_NO_RANDOM;
    bool good = digest_round(journal->digest, &journal->last, NULL, journal->content) &&
                digest_row(journal, &journal->epoch, 0, journal->content, journal->row);
    return good ? TC_OK : TC_INTERNAL;
}

static bool take_bytes(tc_journal_blob blob, unsigned char *bytes, size_t size) {
    if (blob.size != size)
        return false;
    memcpy(bytes, blob.bytes, size);
    return true;
}

bool tc_journal_believe(tc_journal *journal, const tc_journal_row *row) {
    tc_journal_round *last = &journal->last;
    unsigned char stored[TC_HASH];
    if (!take_bytes(row->run_id, journal->run.run_id, TC_RUN_ID) ||
        !take_bytes(row->plan_hash, journal->run.plan_hash, TC_HASH) ||
        !take_bytes(row->terms, journal->run.terms, TC_HASH) ||
        !take_bytes(row->epoch_id, journal->epoch.id, TC_EPOCH_ID) ||
        !take_bytes(row->input, last->input, TC_INPUT_MAC) || !take_bytes(row->digest, stored, TC_HASH) ||
        row->epoch < 0 || row->round < 0 || row->finished < 0 || row->finished > 255 || row->answers.size % 8 != 0)
        return false;
    journal->epoch.number = (uint64_t)row->epoch;
    journal->finished = (unsigned)row->finished;
    last->round = (uint64_t)row->round;
    last->step = row->step;
    last->regularization = row->regularization;
    last->answer_count = row->answers.size / 8;
    last->snapshot_size = row->snapshot.size;
    if (last->answer_count > 0) {
        double *values = TC_NEW(journal->arena, double, last->answer_count);
        tc_get_doubles(row->answers.bytes, values, last->answer_count);
        last->answers = values;
    }
    if (last->snapshot_size > 0)
        last->snapshot =
            (unsigned char *)tc_arena_copy(journal->arena, (const char *)row->snapshot.bytes, last->snapshot_size);
    journal->round = last->round;
    return digest_round(journal->digest, last, row->answers.bytes, journal->content) &&
           digest_row(journal, &journal->epoch, journal->finished, journal->content, journal->row) &&
           memcmp(journal->row, stored, TC_HASH) == 0;
}

/* What to do about a journal of another run. */
static tc_status complain_owner(const tc_journal *journal, const char *what, tc_buffer *messages) {
    (void)tc_journal_complain(journal, TC_BAD_USAGE, what, messages);
    tc_buffer_printf(messages,
                     "start with the file and the options of that run, choose another %s, or begin another run with "
                     "--new-run\n",
                     journal->backend == &tc_journal_postgres ? "database" : "--state");
    return TC_BAD_USAGE;
}

tc_status tc_journal_check_owner(tc_journal *journal, const tc_journal_run *wanted, tc_buffer *messages) {
    if (memcmp(journal->run.plan_hash, wanted->plan_hash, TC_HASH) != 0)
        return complain_owner(
            journal,
            tc_arena_format(journal->arena,
                            "it belongs to a run of another plan, whose hash is %s, and the file and the "
                            "options make %s: --rounds, --epsilon, --delta, --adjacency, --mechanism, "
                            "--method, --feasible, --placement, --calibration, --constants, --on-late or "
                            "--most-holds may differ, or the file's budget, boxes, constraints, or what it "
                            "says of these options",
                            tc_hexadecimal_new(journal->arena, journal->run.plan_hash, TC_HASH),
                            tc_hexadecimal_new(journal->arena, wanted->plan_hash, TC_HASH)),
            messages);
    bool is_of_before =
        journal->terms_before != NULL && memcmp(journal->run.terms, journal->terms_before, TC_HASH) == 0;
    if (memcmp(journal->run.terms, wanted->terms, TC_HASH) != 0 && !is_of_before)
        return complain_owner(
            journal, "it belongs to a run of another file, seed, margin or schedule, or a data file has changed",
            messages);
    return TC_OK;
}

tc_status tc_journal_next_epoch(tc_journal *journal, uint64_t above, tc_epoch *epoch, unsigned char row[TC_HASH]) {
    uint64_t before = journal->epoch.number > above ? journal->epoch.number : above;
    *epoch = (tc_epoch){.number = before + 1};
    if (before >= INT64_MAX || RAND_bytes(epoch->id, TC_EPOCH_ID) != 1)
        return TC_NO_RANDOM;
    return digest_row(journal, epoch, journal->finished, journal->content, row) ? TC_OK : TC_INTERNAL;
}

static const tc_journal_backend *backend_of(const tc_journal_settings *settings) {
    return settings->address != NULL ? &tc_journal_postgres : &tc_journal_sqlite;
}

static void close_journal(void *what) {
    tc_journal *journal = what;
    journal->backend->close(journal);
    EVP_MD_CTX_free(journal->digest);
}

static tc_status open_in(tc_arena *arena, const tc_journal_settings *settings, const unsigned char plan_hash[TC_HASH],
                         const unsigned char *made, tc_buffer *messages, tc_journal **journal) {
    tc_journal *opened = TC_NEW(arena, tc_journal, 1);
    tc_journal_run wanted = {0};
    memcpy(wanted.plan_hash, plan_hash, TC_HASH);
    if (settings->terms != NULL)
        memcpy(wanted.terms, settings->terms, TC_HASH);
    *opened = (tc_journal){.arena = arena,
                           .backend = backend_of(settings),
                           .durability = settings->durability,
                           .terms_before = settings->terms_before};
    tc_arena_on_free(arena, close_journal, opened);
    opened->digest = EVP_MD_CTX_new();
    if (opened->digest == NULL || EVP_DigestInit_ex(opened->digest, EVP_sha256(), NULL) != 1)
        tc_raise(arena, TC_NO_MEMORY);
    tc_status status = opened->backend->open(opened, settings, &wanted, made, messages);
    opened->terms_before = NULL;
    *journal = opened;
    return status;
}

static void free_arena(void *arena) { tc_arena_free(arena); }

/* In an arena of its own: what a standby tries every second must not add up. Later it grows in the caller's, whose
 * escape is set then. */
tc_status tc_journal_open(tc_arena *arena, const tc_journal_settings *settings, const unsigned char plan_hash[TC_HASH],
                          const unsigned char *made, tc_buffer *messages, tc_journal **journal) {
    char why[4096] = "";
    tc_arena *own = tc_arena_new(0);
    *journal = NULL;
    if (own == NULL)
        return TC_NO_MEMORY;
    tc_escape escape;
    tc_status status = TC_TRY(own, &escape);
    if (status == TC_OK) {
        tc_buffer text = tc_buffer_new(own, 1 << 16);
        status = open_in(own, settings, plan_hash, made, &text, journal);
        (void)snprintf(why, sizeof why, "%s", tc_buffer_text(&text));
    }
    tc_escape_end(own, &escape);
    if (status == TC_OK) {
        (*journal)->arena = arena;
        tc_arena_on_free(arena, free_arena, own);
        return TC_OK;
    }
    *journal = NULL;
    tc_arena_free(own);
    tc_buffer_puts(messages, why);
    return status;
}

tc_status tc_journal_look(tc_arena *arena, const tc_journal_settings *settings, tc_buffer *messages,
                          tc_journal_seen *seen) {
    *seen = (tc_journal_seen){.holder = ""};
    return backend_of(settings)->look(arena, settings, messages, seen);
}

const tc_journal_run *tc_journal_run_of(const tc_journal *journal) { return &journal->run; }
bool tc_journal_is_readable(const tc_journal *journal) {
    return journal->backend == &tc_journal_postgres && journal->key == NULL;
}
bool tc_journal_is_new(const tc_journal *journal) { return journal->is_new; }
const char *tc_journal_doubt(const tc_journal *journal) { return journal->doubt; }
const char *tc_journal_aside(const tc_journal *journal) { return journal->aside; }

void tc_journal_discard(tc_journal *journal) {
    if (journal->is_new)
        journal->backend->discard(journal);
}

const tc_journal_round *tc_journal_last(const tc_journal *journal) { return &journal->last; }
unsigned tc_journal_finished(const tc_journal *journal) { return journal->finished & ~(unsigned)TOLD; }
bool tc_journal_is_told(const tc_journal *journal) { return (journal->finished & TOLD) != 0; }
bool tc_journal_is_broken(const tc_journal *journal) { return journal->is_broken; }
bool tc_journal_is_lost(const tc_journal *journal) { return journal->is_lost; }
double tc_journal_lease(const tc_journal *journal) { return journal->lease; }
const char *tc_journal_trouble(const tc_journal *journal) {
    return journal->trouble == NULL ? "nothing is wrong" : journal->trouble;
}

/* ---- Writing ---- */

/* trouble: NULL for none. */
static tc_status conclude(tc_journal *journal, const char *trouble) {
    if (trouble == NULL)
        return TC_OK;
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

static tc_status write_standing(tc_journal *journal, const tc_epoch *epoch, unsigned finished) {
    unsigned char row[TC_HASH];
    if (journal->is_broken)
        return TC_CANNOT_WRITE;
    if (journal->is_under_way)
        return conclude(journal, "a round is still under way");
    if (!digest_row(journal, epoch, finished, journal->content, row))
        return conclude(journal, "the digest cannot be computed");
    tc_journal_standing standing = {.epoch = epoch, .finished = finished, .digest = row};
    tc_status status = conclude(journal, journal->backend->write_standing(journal, &standing));
    if (status == TC_OK)
        memcpy(journal->row, row, TC_HASH);
    return status;
}

/* After a loss of power the same number must not be used again with another id. */
tc_status tc_journal_begin_epoch(tc_journal *journal, uint64_t above, tc_epoch *epoch) {
    unsigned char row[TC_HASH];
    if (journal->has_epoch && journal->epoch.number > above) {
        journal->has_epoch = false;
        *epoch = journal->epoch;
        return TC_OK;
    }
    tc_status status = tc_journal_next_epoch(journal, above, epoch, row);
    if (status == TC_OK)
        status = write_standing(journal, epoch, journal->finished);
    if (status == TC_OK)
        journal->epoch = *epoch;
    return status;
}

tc_status tc_journal_commit_start(tc_journal *journal, const tc_journal_round *round) {
    unsigned char content[TC_HASH], row[TC_HASH];
    if (journal->is_broken)
        return TC_CANNOT_WRITE;
    if (journal->is_under_way || round->round <= journal->round || round->round > INT64_MAX)
        return conclude(journal, "a round is committed once, after those before it");
    const unsigned char *answers = answers_of(journal, round);
    if (!digest_round(journal->digest, round, answers, content) ||
        !digest_row(journal, &journal->epoch, journal->finished, content, row))
        return conclude(journal, "the digest cannot be computed");
    tc_status status = conclude(journal, journal->backend->start_round(journal, round, answers, row));
    if (status != TC_OK)
        return status;
    journal->round = round->round;
    memcpy(journal->content, content, TC_HASH);
    memcpy(journal->row, row, TC_HASH);
    journal->is_under_way = journal->durability == TC_DURABLE_POWER;
    return TC_OK;
}

bool tc_journal_is_under_way(const tc_journal *journal) { return journal->is_under_way; }

tc_status tc_journal_commit_wait(tc_journal *journal) {
    if (journal->is_broken)
        return TC_CANNOT_WRITE;
    if (!journal->is_under_way)
        return TC_OK;
    journal->is_under_way = false;
    return conclude(journal, journal->backend->wait_round(journal));
}

tc_status tc_journal_renew(tc_journal *journal) {
    if (journal->is_broken)
        return TC_CANNOT_WRITE;
    return journal->backend->renew == NULL ? TC_OK : conclude(journal, journal->backend->renew(journal));
}

bool tc_journal_give_up(tc_journal *journal) {
    if (journal->backend->give_up == NULL || journal->is_lost)
        return true;
    if (!journal->is_broken)
        (void)conclude(journal, journal->backend->give_up(journal));
    return !journal->is_broken;
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
