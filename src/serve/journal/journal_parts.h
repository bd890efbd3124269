/* What the files of the journal share. */
#ifndef TC_SERVE_JOURNAL_PARTS_H
#define TC_SERVE_JOURNAL_PARTS_H

#include "serve/journal/journal.h"

#include <openssl/evp.h>
#include <sqlite3.h>

enum { TC_JOURNAL_TOLD = 128 }; /* beside the reason for which a run ended: everybody has its last answer */

struct tc_journal {
    tc_arena *arena;
    sqlite3 *database;
    sqlite3_stmt *update_round, *update_standing;
    EVP_MD_CTX *digest; /* SHA-256, found once: looking it up costs more than hashing a small row */
    const char *path;
    tc_durability durability;
    bool is_broken, is_new;
    const char *trouble;
    /* The row as it is in the database. */
    tc_journal_run run;
    tc_epoch epoch;
    unsigned finished;
    uint64_t round;
    unsigned char content[TC_HASH]; /* the digest of what a round has written */
    tc_journal_round last;          /* as it was when the journal was opened */
    unsigned char *bytes;           /* of answers on their way to the database */
    size_t bytes_room;
};

/* Two digests, so that an epoch can begin without the answers at hand: of what a round writes, and of that, the run,
 * the epoch and whether it has ended. The second is in the row. */
bool tc_journal_digest_round(EVP_MD_CTX *digest, const tc_journal_round *round, const unsigned char *answers,
                             unsigned char content[TC_HASH]) TC_MUST_USE;
bool tc_journal_digest_row(EVP_MD_CTX *digest, const tc_journal_run *run, const tc_epoch *epoch, unsigned finished,
                           const unsigned char content[TC_HASH], unsigned char row[TC_HASH]) TC_MUST_USE;

/* A plain sentence for SQLite's code. */
const char *tc_journal_explain(int code);

/* Opens the database, makes the table where it is new, and reads the row. */
tc_status tc_journal_prepare(tc_journal *journal, const tc_journal_settings *settings,
                             const unsigned char plan_hash[TC_HASH], const unsigned char *made,
                             tc_buffer *messages) TC_MUST_USE;

#endif
