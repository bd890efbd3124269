/* The journal in a PostgreSQL database, which other machines can reach: one row, one statement for each round.
 *
 * The row also has a lease: its holder, and when it expires by the database's clock. The clock only says when another
 * cloud may try. What keeps the old one out is the row itself: every write names the epoch and the digest that the
 * writer has left there, and taking over changes both. So a commit under way either comes before, and the new cloud
 * reads it, or changes no row.
 *
 * A connection is never made anew. If it breaks, nobody knows whether the last round is there: the process ends, and
 * the next start finds all of it or nothing. */
#include "serve/journal_backend.h"

#ifdef TACIT_POSTGRES

#include "serve/log.h"

#include <errno.h>
#include <libpq-fe.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FORMAT = 1,
    MOST_PARAMETERS = 12,
    MOST_BYTES = 1 << 29,
    TYPE_BYTES = 17,
    TYPE_INTEGER = 20,
    TYPE_TEXT = 25,
    TYPE_DOUBLE = 701
};

static const double PATIENCE = 60; /* seconds for an answer of the server; it ends statements itself after 30 */

typedef struct postgres_store {
    PGconn *connection;
    char holder[320];  /* this process */
    char why[512];     /* the last trouble */
    char warning[256]; /* of the server, during the last statement; "" for none */
    bool is_held;      /* by this process */
    double renewed_at;
} postgres_store;

static postgres_store *store_of(const tc_journal *journal) { return journal->store; }

/* ---- Statements ---- */

typedef struct parameter_list { /* binary */
    Oid types[MOST_PARAMETERS];
    const char *values[MOST_PARAMETERS];
    int lengths[MOST_PARAMETERS], formats[MOST_PARAMETERS];
    unsigned char numbers[MOST_PARAMETERS][8]; /* in the network's byte order */
    int count;
} parameter_list;

static void add_bytes(parameter_list *list, const void *bytes, size_t size) {
    static const char nothing[1];
    list->types[list->count] = TYPE_BYTES;
    list->values[list->count] = bytes == NULL ? nothing : bytes; /* NULL would be SQL's */
    list->lengths[list->count] = (int)size;
    list->formats[list->count++] = 1;
}

static void add_word(parameter_list *list, Oid type, uint64_t word) {
    unsigned char *bytes = list->numbers[list->count];
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(word >> (56 - 8 * i));
    list->types[list->count] = type;
    list->values[list->count] = (const char *)bytes;
    list->lengths[list->count] = 8;
    list->formats[list->count++] = 1;
}

static void add_integer(parameter_list *list, uint64_t number) { add_word(list, TYPE_INTEGER, number); }

static void add_double(parameter_list *list, double number) {
    uint64_t word;
    memcpy(&word, &number, sizeof word);
    add_word(list, TYPE_DOUBLE, word);
}

static void add_text(parameter_list *list, const char *text) {
    list->types[list->count] = TYPE_TEXT;
    list->values[list->count] = text;
    list->lengths[list->count] = 0;
    list->formats[list->count++] = 0;
}

/* What a database says is shown to people: it must not steer their terminals. */
static void make_plain(char *text) {
    for (char *at = text; *at != '\0'; at++)
        *at = (unsigned char)*at < ' ' || *at == 127 ? '?' : *at;
}

static const char *put_why(postgres_store *store, const char *text) {
    (void)snprintf(store->why, sizeof store->why, "%s", text);
    store->why[strcspn(store->why, "\n")] = '\0';
    make_plain(store->why);
    return store->why;
}

static const char *explain_state(const char *state) {
    static const struct {
        const char *state, *text;
    } known[] = {{"25006", "the database can only be read: it is a replica, or was made read-only"},
                 {"42501", "its user may not write there"},
                 {"53100", "the disk of the database is full"},
                 {"53200", "the database is out of memory"},
                 {"57014", "the database took too long, and the statement was given up"},
                 {"57P01", "the database was stopped"},
                 {"57P02", "the database has crashed"},
                 {"57P03", "the database is starting or stopping"}};
    for (size_t i = 0; state != NULL && i < sizeof known / sizeof *known; i++)
        if (strcmp(state, known[i].state) == 0)
            return known[i].text;
    return NULL;
}

/* Why a statement failed. result may be NULL. */
static const char *explain(postgres_store *store, const PGresult *result) {
    const char *text = explain_state(result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_SQLSTATE));
    if (text == NULL && PQstatus(store->connection) == CONNECTION_BAD)
        text = "the connection to the database is lost";
    if (text == NULL && result != NULL)
        text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    return put_why(store, text != NULL && text[0] != '\0' ? text : PQerrorMessage(store->connection));
}

/* Waits until the socket is ready. False: not in time. */
static bool await(const postgres_store *store, short events, double until) {
    for (;;) {
        struct pollfd ready = {.fd = PQsocket(store->connection), .events = events};
        double left = until - tc_serve_now();
        if (left <= 0)
            return false;
        int code = poll(&ready, 1, (int)(1e3 * fmin(left, 1e3)) + 1);
        if (code > 0)
            return true;
        if (code < 0 && errno != EINTR)
            return false;
    }
}

/* All of the statement is on its way. */
static bool flush(const postgres_store *store, double until) {
    int left;
    while ((left = PQflush(store->connection)) > 0)
        if (!await(store, POLLIN | POLLOUT, until) || PQconsumeInput(store->connection) != 1)
            return false;
    return left == 0;
}

static bool is_good(const PGresult *result) {
    ExecStatusType code = PQresultStatus(result); /* PGRES_FATAL_ERROR for NULL */
    return code == PGRES_TUPLES_OK || code == PGRES_COMMAND_OK;
}

/* The statement's result, or NULL with a trouble. The server says that a statement is done before it commits it; an
 * error may follow. It is committed when the server is ready for another. If somebody cancels the wait for a replica,
 * the commit counts as done, with a warning: the replica may not have it. So a warning is a trouble. */
static PGresult *receive(postgres_store *store, const char **trouble) {
    PGresult *first = NULL, *next;
    double until = tc_serve_now() + PATIENCE;
    *trouble = NULL;
    for (;;) {
        while (PQisBusy(store->connection) == 1) {
            if (!await(store, POLLIN, until)) {
                PQclear(first);
                *trouble = "the database does not answer";
                return NULL;
            }
            if (PQconsumeInput(store->connection) != 1)
                break;
        }
        next = PQgetResult(store->connection);
        if (next == NULL)
            break;
        if (first == NULL || !is_good(next)) {
            PQclear(first);
            first = next;
        } else {
            PQclear(next);
        }
    }
    PGTransactionStatusType standing = PQtransactionStatus(store->connection);
    bool is_done = is_good(first) && (standing == PQTRANS_IDLE || standing == PQTRANS_INTRANS);
    if (is_done && store->warning[0] == '\0')
        return first;
    *trouble = is_done ? put_why(store, store->warning) : explain(store, first);
    PQclear(first);
    return NULL;
}

/* name: of a prepared statement; NULL: sql is a statement. Results are binary. */
static const char *send_statement(postgres_store *store, const char *name, const char *sql,
                                  const parameter_list *list) {
    static const parameter_list none;
    const parameter_list *of = list == NULL ? &none : list;
    store->warning[0] = '\0';
    int sent =
        name != NULL
            ? PQsendQueryPrepared(store->connection, name, of->count, of->values, of->lengths, of->formats, 1)
            : PQsendQueryParams(store->connection, sql, of->count, of->types, of->values, of->lengths, of->formats, 1);
    return sent == 1 && flush(store, tc_serve_now() + PATIENCE) ? NULL : explain(store, NULL);
}

static PGresult *ask(postgres_store *store, const char *sql, const parameter_list *list, const char **trouble) {
    *trouble = send_statement(store, NULL, sql, list);
    return *trouble == NULL ? receive(store, trouble) : NULL;
}

static const char *run(postgres_store *store, const char *sql, const parameter_list *list) {
    const char *trouble;
    PQclear(ask(store, sql, list, &trouble));
    return trouble;
}

static uint64_t word_at(const PGresult *row, int column) {
    const unsigned char *bytes = (const unsigned char *)PQgetvalue(row, 0, column);
    uint64_t word = 0;
    if (PQgetlength(row, 0, column) != 8)
        return 0;
    for (size_t i = 0; i < 8; i++)
        word = word << 8 | bytes[i];
    return word;
}

static double double_at(const PGresult *row, int column) {
    uint64_t word = word_at(row, column);
    double number;
    memcpy(&number, &word, sizeof number);
    return number;
}

static bool bool_at(const PGresult *row, int column) {
    return PQgetlength(row, 0, column) == 1 && PQgetvalue(row, 0, column)[0] != 0;
}

static tc_journal_blob blob_at(const PGresult *row, int column) {
    size_t size = (size_t)PQgetlength(row, 0, column);
    return (tc_journal_blob){.bytes = size == 0 ? NULL : (const unsigned char *)PQgetvalue(row, 0, column),
                             .size = size};
}

/* ---- The connection ---- */

static void hear_notice(void *context, const PGresult *notice) {
    postgres_store *store = context;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    if (severity != NULL && strcmp(severity, "WARNING") == 0)
        (void)snprintf(store->warning, sizeof store->warning, "%s", text != NULL ? text : "a warning without words");
}

static void put_holder(postgres_store *store) {
    char machine[256] = "";
    (void)gethostname(machine, sizeof machine - 1);
    (void)snprintf(store->holder, sizeof store->holder, "%s, process %ld", machine, (long)getpid());
}

/* Commits that survive a loss of power, statements that see the newest row, warnings, and no endless waits: of this
 * process for the server, and of other clouds for one that has locked the row and vanished. */
static const char SET_UP[] =
    "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN "
    "'remote_apply' ELSE 'on' END, false), "
    "set_config('default_transaction_isolation', 'read committed', false), "
    "set_config('client_min_messages', 'warning', false), "
    "set_config('idle_in_transaction_session_timeout', '5s', false), "
    "set_config('statement_timeout', CASE current_setting('statement_timeout') WHEN '0' THEN '30s' ELSE "
    "current_setting('statement_timeout') END, false), "
    "current_setting('fsync') = 'on', to_regclass('tacit_journal') IS NOT NULL, "
    "current_setting('transaction_read_only') = 'on'";

/* has_table: whether any run was kept there. */
static const char *set_up(postgres_store *store, bool *has_table) {
    const char *trouble;
    PGresult *row = ask(store, SET_UP, NULL, &trouble);
    if (row == NULL)
        return trouble;
    bool is_synced = bool_at(row, 5);
    *has_table = bool_at(row, 6);
    bool is_read_only = bool_at(row, 7);
    PQclear(row);
    if (is_read_only) /* a standby waits for that to change, though it could read the lease */
        return explain_state("25006");
    return is_synced
               ? NULL
               : "the server has fsync off, and forgets rounds in a loss of power that agents have had: switch it "
                 "on in postgresql.conf";
}

/* NULL, or why there is none. */
static const char *reach(postgres_store *store, const tc_journal_settings *settings, bool *has_table) {
    store->connection = tc_journal_connect(settings->address);
    if (store->connection == NULL)
        return "memory is out";
    if (PQstatus(store->connection) != CONNECTION_OK)
        return put_why(store, PQerrorMessage(store->connection));
    (void)PQsetNoticeReceiver(store->connection, hear_notice, store);
    if (PQsetnonblocking(store->connection, 1) != 0)
        return explain(store, NULL);
    return set_up(store, has_table);
}

static tc_status complain(const char *address, const char *trouble, tc_buffer *messages) {
    tc_buffer_printf(messages, "the journal '%s' cannot be used: %s\n", address, trouble);
    return TC_CANNOT_READ;
}

static void leave(void *what) {
    postgres_store *store = what;
    PQfinish(store->connection);
    store->connection = NULL;
}

/* For a question without opening the journal. */
static postgres_store *visit(tc_arena *arena, const tc_journal_settings *settings, bool *has_table,
                             const char **trouble) {
    postgres_store *store = TC_NEW(arena, postgres_store, 1);
    tc_arena_on_free(arena, leave, store); /* if it raises */
    *trouble = reach(store, settings, has_table);
    return store;
}

/* ---- The lease ---- */

#define HELD "expires > clock_timestamp(), holder, extract(epoch FROM expires - clock_timestamp())::float8, plan_hash"

static const char *text_of(tc_arena *arena, tc_journal_blob text) {
    char *copy = tc_arena_copy(arena, text.bytes == NULL ? "" : (const char *)text.bytes, text.size);
    make_plain(copy);
    return copy;
}

static tc_journal_seen seen_at(tc_arena *arena, const PGresult *row, int column) {
    tc_journal_blob plan_hash = blob_at(row, column + 3);
    tc_journal_seen seen = {.exists = true,
                            .is_held = bool_at(row, column),
                            .holder = text_of(arena, blob_at(row, column + 1)),
                            .seconds = fmax(double_at(row, column + 2), 0)};
    if (plan_hash.bytes != NULL && plan_hash.size == TC_HASH)
        memcpy(seen.plan_hash, plan_hash.bytes, TC_HASH);
    return seen;
}

static tc_status look(tc_arena *arena, const tc_journal_settings *settings, tc_buffer *messages,
                      tc_journal_seen *seen) {
    const char *trouble;
    bool has_table = false;
    postgres_store *store = visit(arena, settings, &has_table, &trouble);
    if (trouble == NULL && has_table) {
        PGresult *row = ask(store, "SELECT " HELD " FROM tacit_journal WHERE id = 1", NULL, &trouble);
        if (row != NULL && PQntuples(row) == 1)
            *seen = seen_at(arena, row, 0);
        PQclear(row);
    }
    leave(store);
    return trouble == NULL ? TC_OK : complain(settings->address, trouble, messages);
}

static tc_status complain_held(const char *address, const tc_journal_seen *seen, tc_buffer *messages) {
    tc_buffer_printf(messages,
                     "the journal '%s' cannot be used: another process has it open (%s), and its lease ends in %.1f s. "
                     "To wait for that, start with --standby\n",
                     address, seen->holder, seen->seconds);
    return TC_CANNOT_READ;
}

/* Under the row's lock, so that nobody takes it over meanwhile. */
static const char *move_row(tc_arena *arena, postgres_store *store, tc_journal_seen *seen, const char **aside) {
    const char *trouble = run(store, "BEGIN", NULL);
    PGresult *row = NULL;
    if (trouble == NULL)
        row = ask(store, "SELECT " HELD " FROM tacit_journal WHERE id = 1 FOR UPDATE", NULL, &trouble);
    if (row != NULL && PQntuples(row) == 1)
        *seen = seen_at(arena, row, 0);
    PQclear(row);
    if (trouble != NULL || seen->is_held)
        return trouble;
    row = ask(store, "UPDATE tacit_journal SET id = (SELECT max(id) + 1 FROM tacit_journal) WHERE id = 1 RETURNING id",
              NULL, &trouble);
    if (row != NULL && PQntuples(row) == 1)
        *aside = tc_arena_format(arena, "row %llu of tacit_journal", (unsigned long long)word_at(row, 0));
    PQclear(row);
    return trouble == NULL ? run(store, "COMMIT", NULL) : trouble;
}

static tc_status set_aside(tc_arena *arena, const tc_journal_settings *settings, tc_buffer *messages,
                           const char **aside) {
    const char *trouble;
    bool has_table = false;
    tc_journal_seen seen = {0};
    postgres_store *store = visit(arena, settings, &has_table, &trouble);
    if (trouble == NULL)
        trouble = move_row(arena, store, &seen, aside);
    leave(store);
    if (trouble != NULL)
        return complain(settings->address, trouble, messages);
    return seen.is_held ? complain_held(settings->address, &seen, messages) : TC_OK;
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
static const char INSERT[] = "INSERT INTO tacit_journal VALUES (1, $1, $2, $3, $4, 0, $5, 0, 0, $6, 0, 0, '', '', $7, "
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

/* Two clouds that open at once take turns. */
static const char *create(postgres_store *store) {
    const char *trouble = run(store, "SELECT pg_advisory_xact_lock(1952539497)", NULL);
    if (trouble != NULL)
        return trouble;
    PGresult *row = ask(store, "SELECT to_regclass('tacit_journal') IS NOT NULL", NULL, &trouble);
    bool has_table = row != NULL && bool_at(row, 0);
    PQclear(row);
    if (trouble != NULL || has_table)
        return trouble;
    trouble = run(store, CREATE, NULL);
    return trouble != NULL ? trouble : run(store, STORE_PLAINLY, NULL);
}

static const char *insert(tc_journal *journal) {
    static const unsigned char zeros[TC_HASH];
    parameter_list list = {0};
    add_integer(&list, FORMAT);
    add_bytes(&list, journal->run.run_id, TC_RUN_ID);
    add_bytes(&list, journal->run.plan_hash, TC_HASH);
    add_bytes(&list, journal->run.terms, TC_HASH);
    add_bytes(&list, zeros, TC_EPOCH_ID);
    add_bytes(&list, zeros, TC_INPUT_MAC);
    add_bytes(&list, journal->row, TC_HASH);
    return run(store_of(journal), INSERT, &list);
}

static bool read_row(tc_journal *journal, const PGresult *row) {
    tc_journal_row read = {.run_id = blob_at(row, 1),
                           .plan_hash = blob_at(row, 2),
                           .terms = blob_at(row, 3),
                           .epoch = (int64_t)word_at(row, 4),
                           .epoch_id = blob_at(row, 5),
                           .finished = (int64_t)word_at(row, 6),
                           .round = (int64_t)word_at(row, 7),
                           .input = blob_at(row, 8),
                           .step = double_at(row, 9),
                           .regularization = double_at(row, 10),
                           .answers = blob_at(row, 11),
                           .snapshot = blob_at(row, 12),
                           .digest = blob_at(row, 13)};
    return tc_journal_believe(journal, &read);
}

static void clear_result(void *result) { PQclear(result); }

/* The row as it is, locked; made if there is none. */
static tc_status read_or_begin(tc_journal *journal, const tc_journal_run *wanted, const unsigned char *made,
                               tc_buffer *messages) {
    postgres_store *store = store_of(journal);
    const char *trouble;
    PGresult *row = ask(store, READ, NULL, &trouble);
    if (row == NULL)
        return complain(journal->name, trouble, messages);
    tc_arena_on_free(journal->arena, clear_result, row);
    if (PQntuples(row) == 0) {
        tc_status status = tc_journal_begin_run(journal, wanted, made);
        trouble = status == TC_OK ? insert(journal) : NULL;
        journal->is_new = status == TC_OK && trouble == NULL;
        return trouble != NULL ? complain(journal->name, trouble, messages) : status;
    }
    if (word_at(row, 0) != FORMAT)
        return tc_journal_complain(journal, TC_CANNOT_READ,
                                   "it was written by another version of this program; go on with that one, or begin "
                                   "another run with --new-run",
                                   messages);
    tc_journal_seen seen = seen_at(journal->arena, row, 14);
    if (!read_row(journal, row))
        return tc_journal_complain_damage(journal, messages);
    tc_status status = tc_journal_check_owner(journal, wanted, messages);
    return status == TC_OK && seen.is_held ? complain_held(journal->name, &seen, messages) : status;
}

/* The new epoch is in the same transaction as the reading of the last round. */
static tc_status take(tc_journal *journal, tc_buffer *messages) {
    postgres_store *store = store_of(journal);
    unsigned char digest[TC_HASH];
    tc_epoch epoch;
    tc_status status = tc_journal_next_epoch(journal, 0, &epoch, digest);
    if (status != TC_OK)
        return status;
    parameter_list list = {0};
    add_integer(&list, epoch.number);
    add_bytes(&list, epoch.id, TC_EPOCH_ID);
    add_bytes(&list, digest, TC_HASH);
    add_text(&list, store->holder);
    add_double(&list, journal->lease);
    const char *trouble = run(store, TAKE, &list);
    if (trouble == NULL)
        trouble = run(store, "COMMIT", NULL);
    if (trouble != NULL) {
        (void)complain(journal->name, trouble, messages);
        return TC_CANNOT_WRITE;
    }
    store->renewed_at = tc_serve_now();
    store->is_held = true;
    journal->epoch = epoch;
    journal->has_epoch = true;
    memcpy(journal->row, digest, TC_HASH);
    return TC_OK;
}

static const char *prepare(postgres_store *store) {
    static const Oid types[] = {TYPE_INTEGER, TYPE_BYTES, TYPE_DOUBLE, TYPE_DOUBLE,  TYPE_BYTES,
                                TYPE_BYTES,   TYPE_BYTES, TYPE_DOUBLE, TYPE_INTEGER, TYPE_BYTES};
    const char *trouble;
    if (PQsendPrepare(store->connection, "round", UPDATE_ROUND, sizeof types / sizeof *types, types) != 1 ||
        !flush(store, tc_serve_now() + PATIENCE))
        return explain(store, NULL);
    PQclear(receive(store, &trouble));
    return trouble;
}

static tc_status open_row(tc_journal *journal, const tc_journal_settings *settings, const tc_journal_run *wanted,
                          const unsigned char *made, tc_buffer *messages) {
    postgres_store *store = store_of(journal);
    bool has_table;
    const char *trouble = reach(store, settings, &has_table);
    if (trouble == NULL)
        trouble = run(store, "BEGIN", NULL);
    if (trouble == NULL)
        trouble = create(store);
    if (trouble != NULL)
        return complain(journal->name, trouble, messages);
    tc_status status = read_or_begin(journal, wanted, made, messages);
    if (status == TC_OK)
        status = take(journal, messages);
    if (status == TC_OK)
        trouble = prepare(store);
    return trouble == NULL ? status : complain(journal->name, trouble, messages);
}

static tc_status open_database(tc_journal *journal, const tc_journal_settings *settings, const tc_journal_run *wanted,
                               const unsigned char *made, tc_buffer *messages) {
    postgres_store *store = TC_NEW(journal->arena, postgres_store, 1);
    journal->store = store;
    journal->name = settings->address;
    journal->lease = settings->lease > 0 ? settings->lease : TC_JOURNAL_LEASE;
    journal->durability = TC_DURABLE_POWER; /* what is sent and not answered is nowhere */
    put_holder(store);
    tc_status status = open_row(journal, settings, wanted, made, messages);
    if (status != TC_OK)
        leave(store); /* at once: its locks would stop the cloud that has the row */
    return status;
}

/* ---- Writing ---- */

/* Says who has the journal now. */
static const char *lose(tc_journal *journal) {
    postgres_store *store = store_of(journal);
    const char *trouble;
    char holder[sizeof store->holder] = "unknown";
    journal->is_lost = true;
    PGresult *row = ask(store, "SELECT epoch, holder FROM tacit_journal WHERE id = 1", NULL, &trouble);
    bool is_there = row != NULL && PQntuples(row) == 1;
    unsigned long long epoch = is_there ? word_at(row, 0) : 0;
    if (is_there)
        (void)snprintf(holder, sizeof holder, "%.*s", PQgetlength(row, 0, 1), PQgetvalue(row, 0, 1));
    PQclear(row);
    if (!is_there)
        return "its row is gone";
    (void)snprintf(store->why, sizeof store->why, "another cloud (%s) has taken this run over, in epoch %llu", holder,
                   epoch);
    make_plain(store->why);
    return store->why;
}

/* The statement must have changed one row, or the journal is another's. */
static const char *conclude(tc_journal *journal) {
    postgres_store *store = store_of(journal);
    const char *trouble;
    PGresult *result = receive(store, &trouble);
    bool is_done = result != NULL && strcmp(PQcmdTuples(result), "1") == 0;
    PQclear(result);
    if (is_done)
        store->renewed_at = tc_serve_now();
    return trouble != NULL ? trouble : is_done ? NULL : lose(journal);
}

/* What every write names: the row as this process has left it. */
static void add_mine(parameter_list *list, const tc_journal *journal) {
    add_integer(list, journal->epoch.number);
    add_bytes(list, journal->row, TC_HASH);
}

static const char *write_mine(tc_journal *journal, const char *sql, const parameter_list *list) {
    const char *trouble = send_statement(store_of(journal), NULL, sql, list);
    return trouble != NULL ? trouble : conclude(journal);
}

static const char *write_standing(tc_journal *journal, const tc_journal_standing *standing) {
    parameter_list list = {0};
    add_integer(&list, standing->epoch->number);
    add_bytes(&list, standing->epoch->id, TC_EPOCH_ID);
    add_integer(&list, standing->finished);
    add_bytes(&list, standing->digest, TC_HASH);
    add_double(&list, journal->lease);
    add_mine(&list, journal);
    return write_mine(journal, UPDATE_STANDING, &list);
}

/* One statement, one transaction, one way to the server and back. */
static const char *start_round(tc_journal *journal, const tc_journal_round *round, const unsigned char *answers,
                               const unsigned char *digest) {
    parameter_list list = {0};
    if (round->answer_count > MOST_BYTES / 8 || round->snapshot_size > MOST_BYTES)
        return "a round is larger than a row of the database can be";
    add_integer(&list, round->round);
    add_bytes(&list, round->input, TC_INPUT_MAC);
    add_double(&list, round->step);
    add_double(&list, round->regularization);
    add_bytes(&list, answers, 8 * round->answer_count);
    add_bytes(&list, round->snapshot, round->snapshot_size);
    add_bytes(&list, digest, TC_HASH);
    add_double(&list, journal->lease);
    add_mine(&list, journal);
    return send_statement(store_of(journal), "round", NULL, &list);
}

static const char *renew(tc_journal *journal) {
    parameter_list list = {0};
    if (tc_serve_now() < store_of(journal)->renewed_at + journal->lease / 4)
        return NULL; /* a commit has done it */
    add_double(&list, journal->lease);
    add_mine(&list, journal);
    return write_mine(journal, RENEW, &list);
}

static void discard(tc_journal *journal) {
    parameter_list list = {0};
    add_mine(&list, journal);
    (void)run(store_of(journal), DELETE, &list);
}

/* Gives the lease up, so that another cloud need not wait for its end. */
static void close_database(tc_journal *journal) {
    postgres_store *store = store_of(journal);
    if (store == NULL)
        return;
    parameter_list list = {0};
    add_mine(&list, journal);
    if (store->is_held && !journal->is_broken)
        (void)run(store, GIVE_UP, &list);
    leave(store);
}

const tc_journal_backend tc_journal_postgres = {.open = open_database,
                                                .close = close_database,
                                                .look = look,
                                                .set_aside = set_aside,
                                                .discard = discard,
                                                .write_standing = write_standing,
                                                .start_round = start_round,
                                                .wait_round = conclude,
                                                .renew = renew};

#endif
