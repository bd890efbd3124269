/* The journal in a PostgreSQL database, which other machines can reach: one row, one statement for each round.
 *
 * The row also has a lease: its holder, and when it expires by the database's clock. The clock only says when another
 * cloud may try. What keeps the old one out is the row itself: every write names the epoch and the digest that the
 * writer has left there, and taking over changes both. So a commit under way either comes before, and the new cloud
 * reads it, or changes no row.
 *
 * A connection is never made anew. If it breaks, nobody knows whether the last round is there: the process ends, and
 * the next start finds all of it or nothing. */
#include "serve/journal/backend.h"

#ifdef TACIT_POSTGRES

#include "serve/journal/postgres.h"
#include "serve/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    IN_THE_CLEAR = 1, /* formats of a row: begun by a version without keys */
    SEALED = 2,       /* `answers` has all numbers of the round, sealed; step, regularization and memory are empty */
    MOST_BYTES = 1 << 29
};

static tc_pg *store_of(const tc_journal *journal) { return journal->store; }

static tc_status complain(const char *address, const char *trouble, tc_buffer *messages) {
    tc_buffer_printf(messages, "the journal '%s' cannot be used: %s\n", address, trouble);
    return TC_CANNOT_READ;
}

/* For a question without opening the journal. */
static tc_pg *visit(tc_arena *arena, const tc_journal_settings *settings, bool *has_table, const char **trouble) {
    tc_pg *pg = TC_NEW(arena, tc_pg, 1);
    tc_arena_on_free(arena, tc_pg_leave, pg); /* if it raises */
    *trouble = tc_pg_reach(pg, settings, has_table);
    return pg;
}

/* ---- The lease ---- */

#define HELD                                                                                                           \
    "expires > clock_timestamp(), holder, extract(epoch FROM expires - clock_timestamp())::float8, plan_hash, "        \
    "format, run_id, substring(answers FROM 1 FOR 16), terms, has_table_privilege('tacit_journal', 'UPDATE')"

#define MAKE_KEY "`tacit keys journal FILE` makes a key; give it to all clouds of the run"

/* Why a row cannot be opened with this key, or without any; NULL: it can, or it is damaged. */
static const char *find_key_trouble(tc_journal_key *key, uint64_t format, tc_journal_blob run_id,
                                    tc_journal_blob name) {
    unsigned char own[TC_KEY_NAME];
    _Static_assert(TC_KEY_NAME == 16, "HELD asks for as many bytes");
    if (format == IN_THE_CLEAR && key != NULL)
        return "it is not sealed. Either it was begun without a key, or whoever runs the database has put it there: "
               "then "
               "what it says is not this cloud's. Begin another run with --new-run; only if you know that it was begun "
               "without a key, go on without --journal-key";
    if (format == SEALED && key == NULL)
        return "it is sealed: start with --journal-key FILE, the key that its run was begun with";
    if (format != SEALED || run_id.size != TC_RUN_ID || name.size != TC_KEY_NAME)
        return NULL;
    return tc_journal_key_name(key, run_id.bytes, own) && memcmp(own, name.bytes, TC_KEY_NAME) == 0
               ? NULL
               : "--journal-key is not the key that its run was begun with (or somebody has changed the row): start "
                 "with that key, or begin another run with --new-run";
}

static const char *text_of(tc_arena *arena, tc_journal_blob text) {
    char *copy = tc_arena_copy(arena, text.bytes == NULL ? "" : (const char *)text.bytes, text.size);
    tc_pg_make_plain(copy);
    return copy;
}

static tc_journal_seen seen_at(tc_arena *arena, tc_journal_key *key, const PGresult *row, int column) {
    tc_journal_blob plan_hash = tc_pg_blob(row, column + 3), terms = tc_pg_blob(row, column + 7);
    tc_journal_seen seen = {.exists = true,
                            .is_held = tc_pg_bool(row, column),
                            .holder = text_of(arena, tc_pg_blob(row, column + 1)),
                            .seconds = fmax(tc_pg_double(row, column + 2), 0),
                            .may_write = tc_pg_bool(row, column + 8),
                            .key_trouble = find_key_trouble(key, tc_pg_word(row, column + 4),
                                                            tc_pg_blob(row, column + 5), tc_pg_blob(row, column + 6))};
    if (plan_hash.bytes != NULL && plan_hash.size == TC_HASH)
        memcpy(seen.plan_hash, plan_hash.bytes, TC_HASH);
    if (terms.bytes != NULL && terms.size == TC_HASH)
        memcpy(seen.terms, terms.bytes, TC_HASH);
    return seen;
}

static tc_status look(tc_arena *arena, const tc_journal_settings *settings, tc_buffer *messages,
                      tc_journal_seen *seen) {
    const char *trouble;
    bool has_table = false;
    tc_pg *pg = visit(arena, settings, &has_table, &trouble);
    if (trouble == NULL && has_table) {
        PGresult *row = tc_pg_ask(pg, "SELECT " HELD " FROM tacit_journal WHERE id = 1", NULL, &trouble);
        if (row != NULL && PQntuples(row) == 1)
            *seen = seen_at(arena, settings->key, row, 0);
        PQclear(row);
    }
    tc_pg_leave(pg);
    return trouble == NULL ? TC_OK : complain(settings->address, trouble, messages);
}

static tc_status complain_held(const char *address, const tc_journal_seen *seen, tc_buffer *messages) {
    tc_buffer_printf(messages,
                     "the journal '%s' cannot be used: another process has it open (%s), and its lease ends in %.1f s. "
                     "To wait for that, start with --standby\n",
                     address, seen->holder, seen->seconds);
    return TC_CANNOT_READ;
}

/* ---- Opening ---- */

/* Room in the page for new versions of the row, so that it stays where it is. Answers are noise, which no compression
 * makes shorter. */
static const char CREATE[] =
    "CREATE TABLE tacit_journal (id bigint PRIMARY KEY, format bigint NOT NULL, run_id bytea NOT NULL, "
    "plan_hash bytea NOT NULL, terms bytea NOT NULL, epoch bigint NOT NULL, epoch_id bytea NOT NULL, "
    "finished bigint NOT NULL, round bigint NOT NULL, input bytea NOT NULL, step float8 NOT NULL, "
    "regularization float8 NOT NULL, answers bytea NOT NULL, memory bytea NOT NULL, digest bytea NOT NULL, "
    "holder text NOT NULL, expires timestamptz NOT NULL) WITH (fillfactor = 10)";
static const char STORE_PLAINLY[] = "ALTER TABLE tacit_journal ALTER answers SET STORAGE EXTERNAL, "
                                    "ALTER memory SET STORAGE EXTERNAL";
static const char INSERT[] = "INSERT INTO tacit_journal VALUES (1, $1, $2, $3, $4, 0, $5, 0, 0, $6, 0, 0, $7, '', $8, "
                             "'', 'epoch')";
static const char READ[] =
    "SELECT format, run_id, plan_hash, terms, epoch, epoch_id, finished, round, input, step, "
    "regularization, answers, memory, digest, " HELD " FROM tacit_journal WHERE id = 1 FOR UPDATE";
#define LEASE(parameter) "expires = clock_timestamp() + " parameter " * interval '1 second'"
static const char TAKE[] =
    "UPDATE tacit_journal SET epoch = $1, epoch_id = $2, digest = $3, holder = $4, " LEASE("$5") " WHERE id = 1";
static const char UPDATE_ROUND[] =
    "UPDATE tacit_journal SET round = $1, input = $2, step = $3, regularization = $4, answers = $5, memory = $6, "
    "digest = $7, " LEASE("$8") " WHERE id = 1 AND epoch = $9 AND digest = $10";
static const char UPDATE_STANDING[] =
    "UPDATE tacit_journal SET epoch = $1, epoch_id = $2, finished = $3, digest = $4, " LEASE(
        "$5") " WHERE id = 1 AND epoch = $6 AND digest = $7";
static const char RENEW[] = "UPDATE tacit_journal SET " LEASE("$1") " WHERE id = 1 AND epoch = $2 AND digest = $3";
static const char GIVE_UP[] = "UPDATE tacit_journal SET expires = 'epoch' WHERE id = 1 AND epoch = $1 AND digest = $2";
static const char DELETE[] = "DELETE FROM tacit_journal WHERE id = 1 AND epoch = $1 AND digest = $2";
static const char LOOK_AND_LOCK[] = "SELECT " HELD " FROM tacit_journal WHERE id = 1 FOR UPDATE";
static const char PUT_ASIDE[] =
    "UPDATE tacit_journal SET id = (SELECT max(id) + 1 FROM tacit_journal) WHERE id = 1 RETURNING id";
static const char BRING_BACK[] = "UPDATE tacit_journal SET id = 1 WHERE id = $1";

/* Two clouds that open at once take turns. The second must see what the first has made: to_regclass may remember what
 * was there before it waited. */
static const char HAS_TABLE[] =
    "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'tacit_journal' AND pg_table_is_visible(oid))";
static const char *create(tc_pg *pg) {
    const char *trouble = tc_pg_run(pg, "SELECT pg_advisory_xact_lock(1952539497)", NULL);
    if (trouble != NULL)
        return trouble;
    PGresult *row = tc_pg_ask(pg, HAS_TABLE, NULL, &trouble);
    bool has_table = row != NULL && tc_pg_bool(row, 0);
    PQclear(row);
    if (trouble != NULL || has_table)
        return trouble;
    trouble = tc_pg_run(pg, CREATE, NULL);
    return trouble != NULL ? trouble : tc_pg_run(pg, STORE_PLAINLY, NULL);
}

/* Into pg->sealed. */
static bool seal(tc_journal *journal, const tc_journal_round *round, const unsigned char *answers) {
    tc_pg *pg = store_of(journal);
    size_t size = tc_journal_sealed_size(round);
    if (size > pg->sealed_room) {
        pg->sealed = TC_NEW(journal->arena, unsigned char, size);
        pg->sealed_room = size;
    }
    return tc_journal_seal(journal->key, &journal->run, &journal->epoch, round, answers, pg->sealed);
}

static const char *insert(tc_journal *journal) {
    tc_pg *pg = store_of(journal);
    static const unsigned char zeros[TC_HASH];
    tc_pg_list list = {0};
    if (!seal(journal, &journal->last, NULL))
        return "the row cannot be sealed";
    tc_pg_add_integer(&list, SEALED);
    tc_pg_add_bytes(&list, journal->run.run_id, TC_RUN_ID);
    tc_pg_add_bytes(&list, journal->run.plan_hash, TC_HASH);
    tc_pg_add_bytes(&list, journal->run.terms, TC_HASH);
    tc_pg_add_bytes(&list, zeros, TC_EPOCH_ID);
    tc_pg_add_bytes(&list, zeros, TC_INPUT_MAC);
    tc_pg_add_bytes(&list, pg->sealed, tc_journal_sealed_size(&journal->last));
    tc_pg_add_bytes(&list, journal->row, TC_HASH);
    return tc_pg_run(pg, INSERT, &list);
}

/* Opens the numbers of a sealed row. False: it was changed. */
static bool unseal(tc_journal *journal, tc_journal_row *row) {
    tc_journal_run run;
    size_t size = 0;
    if (row->run_id.size != TC_RUN_ID || row->plan_hash.size != TC_HASH || row->terms.size != TC_HASH ||
        row->snapshot.size != 0 || row->step != 0 || row->regularization != 0)
        return false;
    memcpy(run.run_id, row->run_id.bytes, TC_RUN_ID);
    memcpy(run.plan_hash, row->plan_hash.bytes, TC_HASH);
    memcpy(run.terms, row->terms.bytes, TC_HASH);
    unsigned char *plain = TC_NEW(journal->arena, unsigned char, row->answers.size + 1);
    if (!tc_journal_unseal(journal->key, &run, (uint64_t)row->round, row->answers.bytes, row->answers.size, plain,
                           &size))
        return false;
    uint64_t count = tc_get_u64(plain + 16);
    if (count > (size - TC_SEAL_NUMBERS) / 8)
        return false;
    size_t answers = 8 * (size_t)count, snapshot = size - TC_SEAL_NUMBERS - answers;
    unsigned char *from = plain + TC_SEAL_NUMBERS;
    tc_get_doubles(plain, &row->step, 1);
    tc_get_doubles(plain + 8, &row->regularization, 1);
    row->answers = (tc_journal_blob){.bytes = answers == 0 ? NULL : from, .size = answers};
    row->snapshot = (tc_journal_blob){.bytes = snapshot == 0 ? NULL : from + answers, .size = snapshot};
    return true;
}

static bool read_row(tc_journal *journal, const PGresult *row) {
    tc_journal_row read = {.run_id = tc_pg_blob(row, 1),
                           .plan_hash = tc_pg_blob(row, 2),
                           .terms = tc_pg_blob(row, 3),
                           .epoch = (int64_t)tc_pg_word(row, 4),
                           .epoch_id = tc_pg_blob(row, 5),
                           .finished = (int64_t)tc_pg_word(row, 6),
                           .round = (int64_t)tc_pg_word(row, 7),
                           .input = tc_pg_blob(row, 8),
                           .step = tc_pg_double(row, 9),
                           .regularization = tc_pg_double(row, 10),
                           .answers = tc_pg_blob(row, 11),
                           .snapshot = tc_pg_blob(row, 12),
                           .digest = tc_pg_blob(row, 13)};
    return (journal->key == NULL || unseal(journal, &read)) && tc_journal_believe(journal, &read);
}

static void clear_result(void *result) { PQclear(result); }

/* In the transaction that begins the new run: if that cannot begin, the old row stays where it is. */
static tc_status put_aside(tc_journal *journal, tc_buffer *messages) {
    tc_pg *pg = store_of(journal);
    const char *trouble;
    tc_journal_seen seen = {0};
    PGresult *row = tc_pg_ask(pg, LOOK_AND_LOCK, NULL, &trouble);
    if (row != NULL && PQntuples(row) == 1)
        seen = seen_at(journal->arena, NULL, row, 0);
    PQclear(row);
    if (trouble == NULL && seen.is_held)
        return complain_held(journal->name, &seen, messages);
    row = trouble == NULL && seen.exists ? tc_pg_ask(pg, PUT_ASIDE, NULL, &trouble) : NULL;
    if (row != NULL && PQntuples(row) == 1) {
        pg->aside = tc_pg_word(row, 0);
        journal->aside = tc_arena_format(journal->arena, "row %llu of tacit_journal", (unsigned long long)pg->aside);
    }
    PQclear(row);
    return trouble == NULL ? TC_OK : complain(journal->name, trouble, messages);
}

/* The row as it is, locked; made if there is none. */
static tc_status read_or_begin(tc_journal *journal, const tc_journal_settings *settings, const tc_journal_run *wanted,
                               const unsigned char *made, tc_buffer *messages) {
    tc_pg *pg = store_of(journal);
    const char *trouble;
    PGresult *row = tc_pg_ask(pg, READ, NULL, &trouble);
    if (row == NULL)
        return complain(journal->name, trouble, messages);
    tc_arena_on_free(journal->arena, clear_result, row);
    if (PQntuples(row) == 0 && settings->must_exist)
        return tc_journal_complain(journal, TC_CANNOT_READ, TC_JOURNAL_GONE, messages);
    if (PQntuples(row) == 0) {
        if (journal->key == NULL)
            return tc_journal_complain(journal, TC_BAD_USAGE,
                                       "a new journal in a database needs a key, so that whoever runs the database "
                                       "cannot read it: " MAKE_KEY ", and start with --journal-key FILE",
                                       messages);
        tc_status status = tc_journal_begin_run(journal, wanted, made);
        trouble = status == TC_OK ? insert(journal) : NULL;
        journal->is_new = status == TC_OK && trouble == NULL;
        return trouble != NULL ? complain(journal->name, trouble, messages) : status;
    }
    uint64_t format = tc_pg_word(row, 0);
    if (format != IN_THE_CLEAR && format != SEALED)
        return tc_journal_complain(journal, TC_CANNOT_READ,
                                   "it was written by another version of this program; go on with that one, or begin "
                                   "another run with --new-run",
                                   messages);
    tc_journal_seen seen = seen_at(journal->arena, journal->key, row, 14);
    if (seen.key_trouble != NULL)
        return tc_journal_complain(journal, TC_BAD_USAGE, seen.key_trouble, messages);
    if (!read_row(journal, row))
        return tc_journal_complain_damage(journal, messages);
    tc_status status = tc_journal_check_owner(journal, wanted, messages);
    return status == TC_OK && seen.is_held ? complain_held(journal->name, &seen, messages) : status;
}

/* The new epoch is in the same transaction as the reading of the last round. */
static tc_status take(tc_journal *journal, tc_buffer *messages) {
    tc_pg *pg = store_of(journal);
    unsigned char digest[TC_HASH];
    tc_epoch epoch;
    tc_status status = tc_journal_next_epoch(journal, 0, &epoch, digest);
    if (status != TC_OK)
        return status;
    tc_pg_list list = {0};
    tc_pg_add_integer(&list, epoch.number);
    tc_pg_add_bytes(&list, epoch.id, TC_EPOCH_ID);
    tc_pg_add_bytes(&list, digest, TC_HASH);
    tc_pg_add_text(&list, pg->holder);
    tc_pg_add_double(&list, journal->lease);
    const char *trouble;
    PGresult *result = tc_pg_ask(pg, TAKE, &list, &trouble);
    if (result != NULL && strcmp(PQcmdTuples(result), "1") != 0)
        trouble = "a trigger or a rule of the database keeps its row from being changed";
    PQclear(result);
    if (trouble == NULL)
        trouble = tc_pg_run(pg, "COMMIT", NULL);
    if (trouble != NULL) {
        (void)complain(journal->name, trouble, messages);
        return TC_CANNOT_WRITE;
    }
    pg->renewed_at = tc_serve_now();
    pg->is_held = true;
    journal->epoch = epoch;
    journal->has_epoch = true;
    memcpy(journal->row, digest, TC_HASH);
    return TC_OK;
}

static const char *prepare(tc_pg *pg) {
    static const Oid types[] = {TC_PG_INTEGER, TC_PG_BYTES, TC_PG_DOUBLE, TC_PG_DOUBLE,  TC_PG_BYTES,
                                TC_PG_BYTES,   TC_PG_BYTES, TC_PG_DOUBLE, TC_PG_INTEGER, TC_PG_BYTES};
    return tc_pg_prepare(pg, "round", UPDATE_ROUND, types, sizeof types / sizeof *types);
}

static tc_status open_row(tc_journal *journal, const tc_journal_settings *settings, const tc_journal_run *wanted,
                          const unsigned char *made, tc_buffer *messages) {
    tc_pg *pg = store_of(journal);
    bool has_table;
    const char *trouble = tc_pg_reach(pg, settings, &has_table);
    if (trouble == NULL)
        trouble = tc_pg_run(pg, "BEGIN", NULL);
    if (trouble == NULL)
        trouble = create(pg);
    if (trouble != NULL)
        return complain(journal->name, trouble, messages);
    tc_status status = settings->is_new_run ? put_aside(journal, messages) : TC_OK;
    if (status == TC_OK)
        status = read_or_begin(journal, settings, wanted, made, messages);
    if (status == TC_OK)
        trouble = prepare(pg); /* before the lease is taken, which a failure would leave behind */
    if (trouble != NULL)
        return complain(journal->name, trouble, messages);
    return status == TC_OK ? take(journal, messages) : status;
}

static void put_holder(tc_pg *pg) {
    char machine[256] = "";
    (void)gethostname(machine, sizeof machine - 1);
    (void)snprintf(pg->holder, sizeof pg->holder, "%s, process %ld", machine, (long)getpid());
}

static tc_status open_database(tc_journal *journal, const tc_journal_settings *settings, const tc_journal_run *wanted,
                               const unsigned char *made, tc_buffer *messages) {
    tc_pg *pg = TC_NEW(journal->arena, tc_pg, 1);
    journal->store = pg;
    journal->key = settings->key;
    journal->name = settings->address;
    journal->lease = settings->lease > 0 ? settings->lease : TC_JOURNAL_LEASE;
    journal->durability = TC_DURABLE_POWER; /* what is sent and not answered is nowhere */
    put_holder(pg);
    tc_status status = open_row(journal, settings, wanted, made, messages);
    if (status != TC_OK)
        tc_pg_leave(pg); /* at once: its locks would stop the cloud that has the row */
    return status;
}

/* ---- Writing ---- */

/* Why a write has changed no row: who has the journal now. Taking over makes a later epoch. */
static const char *lose(tc_journal *journal) {
    tc_pg *pg = store_of(journal);
    const char *trouble;
    char holder[sizeof pg->holder] = "", cause[128];
    PGresult *row = tc_pg_ask(pg, "SELECT epoch, holder FROM tacit_journal WHERE id = 1", NULL, &trouble);
    if (row == NULL) {
        (void)snprintf(cause, sizeof cause, "%s", trouble);
        (void)snprintf(pg->why, sizeof pg->why,
                       "its row is no longer as this cloud left it: another cloud may have taken this run over (%s)",
                       cause);
        return pg->why;
    }
    bool is_there = PQntuples(row) == 1;
    unsigned long long epoch = is_there ? tc_pg_word(row, 0) : 0;
    if (is_there)
        (void)snprintf(holder, sizeof holder, "%.*s", PQgetlength(row, 0, 1), PQgetvalue(row, 0, 1));
    PQclear(row);
    if (!is_there)
        return "its row is gone. Put a back-up of the table in its place and start with --after-restore";
    if (epoch <= journal->epoch.number)
        return "its row was changed, or put back to an earlier state, under this cloud. After a restore start with "
               "--after-restore";
    journal->is_lost = true;
    (void)snprintf(pg->why, sizeof pg->why, "another cloud (%s) has taken this run over, in epoch %llu", holder, epoch);
    tc_pg_make_plain(pg->why);
    return pg->why;
}

/* The statement must have changed one row, or the journal is another's. */
static const char *conclude(tc_journal *journal) {
    tc_pg *pg = store_of(journal);
    const char *trouble;
    PGresult *result = tc_pg_receive(pg, &trouble);
    bool is_done = result != NULL && strcmp(PQcmdTuples(result), "1") == 0;
    PQclear(result);
    if (is_done)
        pg->renewed_at = tc_serve_now();
    return trouble != NULL ? trouble : is_done ? NULL : lose(journal);
}

/* What every write names: the row as this process has left it. */
static void add_mine(tc_pg_list *list, const tc_journal *journal) {
    tc_pg_add_integer(list, journal->epoch.number);
    tc_pg_add_bytes(list, journal->row, TC_HASH);
}

static const char *write_mine(tc_journal *journal, const char *sql, const tc_pg_list *list) {
    const char *trouble = tc_pg_send(store_of(journal), NULL, sql, list);
    return trouble != NULL ? trouble : conclude(journal);
}

static const char *write_standing(tc_journal *journal, const tc_journal_standing *standing) {
    tc_pg_list list = {0};
    tc_pg_add_integer(&list, standing->epoch->number);
    tc_pg_add_bytes(&list, standing->epoch->id, TC_EPOCH_ID);
    tc_pg_add_integer(&list, standing->finished);
    tc_pg_add_bytes(&list, standing->digest, TC_HASH);
    tc_pg_add_double(&list, journal->lease);
    add_mine(&list, journal);
    return write_mine(journal, UPDATE_STANDING, &list);
}

/* One statement, one transaction, one way to the server and back. */
static const char *start_round(tc_journal *journal, const tc_journal_round *round, const unsigned char *answers,
                               const unsigned char *digest) {
    tc_pg_list list = {0};
    if (round->answer_count > MOST_BYTES / 8 || round->snapshot_size > MOST_BYTES / 2)
        return "a round is larger than a row of the database can be";
    bool is_sealed = journal->key != NULL;
    if (is_sealed && !seal(journal, round, answers))
        return "the round cannot be sealed";
    tc_pg_add_integer(&list, round->round);
    tc_pg_add_bytes(&list, round->input, TC_INPUT_MAC);
    tc_pg_add_double(&list, is_sealed ? 0 : round->step);
    tc_pg_add_double(&list, is_sealed ? 0 : round->regularization);
    tc_pg_add_bytes(&list, is_sealed ? store_of(journal)->sealed : answers,
                    is_sealed ? tc_journal_sealed_size(round) : 8 * round->answer_count);
    tc_pg_add_bytes(&list, round->snapshot, is_sealed ? 0 : round->snapshot_size);
    tc_pg_add_bytes(&list, digest, TC_HASH);
    tc_pg_add_double(&list, journal->lease);
    add_mine(&list, journal);
    return tc_pg_send(store_of(journal), "round", NULL, &list);
}

static const char *renew(tc_journal *journal) {
    tc_pg_list list = {0};
    if (tc_serve_now() < store_of(journal)->renewed_at + journal->lease / 4)
        return NULL; /* a commit has done it */
    tc_pg_add_double(&list, journal->lease);
    add_mine(&list, journal);
    return write_mine(journal, RENEW, &list);
}

static void discard(tc_journal *journal) {
    tc_pg *pg = store_of(journal);
    tc_pg_list list = {0}, aside = {0};
    add_mine(&list, journal);
    tc_pg_add_integer(&aside, pg->aside);
    bool good = tc_pg_run(pg, "BEGIN", NULL) == NULL && tc_pg_run(pg, DELETE, &list) == NULL &&
                (pg->aside == 0 || tc_pg_run(pg, BRING_BACK, &aside) == NULL);
    (void)tc_pg_run(pg, good ? "COMMIT" : "ROLLBACK", NULL);
}

static const char *give_up(tc_journal *journal) {
    tc_pg *pg = store_of(journal);
    tc_pg_list list = {0};
    if (!pg->is_held)
        return NULL;
    add_mine(&list, journal);
    pg->is_held = false;
    return tc_pg_run(pg, GIVE_UP, &list);
}

static void close_database(tc_journal *journal) {
    if (store_of(journal) == NULL)
        return;
    if (!journal->is_broken)
        (void)give_up(journal);
    tc_pg_leave(store_of(journal));
}

const tc_journal_backend tc_journal_postgres = {.open = open_database,
                                                .close = close_database,
                                                .look = look,
                                                .discard = discard,
                                                .write_standing = write_standing,
                                                .start_round = start_round,
                                                .wait_round = conclude,
                                                .renew = renew,
                                                .give_up = give_up};

#endif
