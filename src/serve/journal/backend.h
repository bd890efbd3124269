/* Shared by journal.c, which has the rules, and the two places that a journal can be kept in: sqlite.c and
 * postgres.c.
 *
 * A place stores one row. It returns NULL when a write is durable, or why it is not ("the disk is full"). */
#ifndef TC_SERVE_JOURNAL_BACKEND_H
#define TC_SERVE_JOURNAL_BACKEND_H

#include "serve/journal/journal.h"

#include <openssl/evp.h>

typedef struct tc_journal_blob {
    const unsigned char *bytes; /* NULL if size is 0 */
    size_t size;
} tc_journal_blob;

typedef struct tc_journal_row { /* what is stored, by column */
    tc_journal_blob run_id, plan_hash, terms;
    int64_t epoch;
    tc_journal_blob epoch_id;
    int64_t finished, round;
    tc_journal_blob input;
    double step, regularization;
    tc_journal_blob answers, snapshot, digest;
} tc_journal_row;

/* A row to be written. Its bytes stay until the write is over. */
typedef struct tc_journal_standing {
    const tc_epoch *epoch;
    unsigned finished;
    const unsigned char *digest; /* TC_HASH bytes, of the whole row */
} tc_journal_standing;

typedef struct tc_journal_backend {
    /* Makes or reads the row and checks whose it is, with the functions below. */
    tc_status (*open)(tc_journal *journal, const tc_journal_settings *settings, const tc_journal_run *wanted,
                      const unsigned char *made, tc_buffer *messages);
    void (*close)(tc_journal *journal); /* also after a failed open */
    tc_status (*look)(tc_arena *arena, const tc_journal_settings *settings, tc_buffer *messages, tc_journal_seen *seen);
    void (*discard)(tc_journal *journal);
    /* Survives loss of power at any durability. */
    const char *(*write_standing)(tc_journal *journal, const tc_journal_standing *standing);
    /* answers: 8 * round->answer_count bytes. digest: of the whole row. Durable after wait_round. */
    const char *(*start_round)(tc_journal *journal, const tc_journal_round *round, const unsigned char *answers,
                               const unsigned char *digest);
    const char *(*wait_round)(tc_journal *journal);
    const char *(*renew)(tc_journal *journal);   /* NULL: there is no lease */
    const char *(*give_up)(tc_journal *journal); /* the lease, if it is held; NULL: there is none */
} tc_journal_backend;

extern const tc_journal_backend tc_journal_sqlite, tc_journal_postgres;

struct tc_journal {
    const unsigned char *terms_before; /* of the settings, while it is opened */
    const tc_journal_backend *backend;
    void *store; /* the backend's own */
    tc_arena *arena;
    tc_journal_key *key; /* NULL: rows are in the clear */
    EVP_MD_CTX *digest;  /* SHA-256, fetched once: fetching costs more than hashing a small row */
    const char *name;    /* of the file or database */
    tc_durability durability;
    double lease; /* seconds; 0: there is none */
    bool is_broken, is_new;
    const char *aside; /* what was put aside for it; NULL: nothing */
    const char *doubt; /* about the log of a file; NULL: none */
    bool is_lost;      /* another process has taken the journal over */
    bool has_epoch;    /* opening has begun the epoch that tc_journal_begin_epoch will give */
    bool is_under_way; /* a round is on its way, and may not be durable */
    const char *trouble;
    /* The row as it is in the database. */
    tc_journal_run run;
    tc_epoch epoch;
    unsigned finished;
    uint64_t round;
    unsigned char content[TC_HASH], row[TC_HASH]; /* the digests of the last round and of the whole row */
    tc_journal_round last;                        /* at the time of opening */
    unsigned char *bytes;                         /* answers as bytes for the database */
    size_t bytes_room;
};

#define TC_JOURNAL_NO_POSTGRES                                                                                         \
    "this tacit was built without PostgreSQL: build it where libpq is (Debian: libpq-dev), or keep the journal in "    \
    "--state"
/* A connection, good or not (libpq's PQstatus says which). NULL: no memory. */
struct pg_conn *tc_journal_connect(const char *address);

tc_status tc_journal_complain(const tc_journal *journal, tc_status status, const char *what, tc_buffer *messages);
tc_status tc_journal_complain_damage(const tc_journal *journal, tc_buffer *messages);

/* Fills in the row of a new run: `row` is its digest. made: the run id; NULL: random. */
tc_status tc_journal_begin_run(tc_journal *journal, const tc_journal_run *wanted,
                               const unsigned char *made) TC_MUST_USE;
/* Takes a stored row. False: it is damaged. */
bool tc_journal_believe(tc_journal *journal, const tc_journal_row *row) TC_MUST_USE;
tc_status tc_journal_check_owner(tc_journal *journal, const tc_journal_run *wanted, tc_buffer *messages) TC_MUST_USE;
/* The next epoch, and the digest of the row with it. */
tc_status tc_journal_next_epoch(tc_journal *journal, uint64_t above, tc_epoch *epoch,
                                unsigned char row[TC_HASH]) TC_MUST_USE;

#endif
