#include "serve/journal/backend.h"

#ifdef TACIT_POSTGRES

#include "serve/journal/postgres.h"
#include "serve/log.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double PATIENCE = 60; /* seconds for an answer of the server; it ends statements itself after 30 */
static const double CANCEL_PATIENCE = 1;

/* ---- Statements ---- */

void tc_pg_add_bytes(tc_pg_list *list, const void *bytes, size_t size) {
    static const char nothing[1];
    list->types[list->count] = TC_PG_BYTES;
    list->values[list->count] = bytes == NULL ? nothing : bytes; /* NULL would be SQL's */
    list->lengths[list->count] = (int)size;
    list->formats[list->count++] = 1;
}

static void add_word(tc_pg_list *list, Oid type, uint64_t word) {
    unsigned char *bytes = list->numbers[list->count];
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(word >> (56 - 8 * i));
    list->types[list->count] = type;
    list->values[list->count] = (const char *)bytes;
    list->lengths[list->count] = 8;
    list->formats[list->count++] = 1;
}

void tc_pg_add_integer(tc_pg_list *list, uint64_t number) { add_word(list, TC_PG_INTEGER, number); }

void tc_pg_add_double(tc_pg_list *list, double number) {
    uint64_t word;
    memcpy(&word, &number, sizeof word);
    add_word(list, TC_PG_DOUBLE, word);
}

void tc_pg_add_text(tc_pg_list *list, const char *text) {
    list->types[list->count] = TC_PG_TEXT;
    list->values[list->count] = text;
    list->lengths[list->count] = 0;
    list->formats[list->count++] = 0;
}

void tc_pg_make_plain(char *text) {
    for (char *at = text; *at != '\0'; at++)
        *at = (unsigned char)*at < ' ' || *at == 127 ? '?' : *at;
}

static const char *put_why(tc_pg *pg, const char *text) {
    (void)snprintf(pg->why, sizeof pg->why, "%s", text);
    pg->why[strcspn(pg->why, "\n")] = '\0';
    tc_pg_make_plain(pg->why);
    return pg->why;
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
static const char *explain(tc_pg *pg, const PGresult *result) {
    const char *text = explain_state(result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_SQLSTATE));
    if (text == NULL && PQstatus(pg->connection) == CONNECTION_BAD)
        text = "the connection to the database is lost";
    if (text == NULL && result != NULL)
        text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (text == NULL || text[0] == '\0')
        text = PQerrorMessage(pg->connection);
    return put_why(pg, text[0] != '\0' ? text : "the database does not answer");
}

/* Waits until the socket is ready. False: not in time, or nobody wants to wait. */
static bool await(const tc_pg *pg, short events, double until) {
    for (;;) {
        struct pollfd ready = {.fd = PQsocket(pg->connection), .events = events};
        double left = until - tc_serve_now();
        if (left <= 0)
            return false;
        int code = poll(&ready, 1, (int)(1e3 * fmin(left, 0.1)) + 1);
        if (code > 0)
            return true;
        if (code < 0 && errno != EINTR)
            return false;
        if (code == 0 && pg->meanwhile != NULL && pg->meanwhile(pg->context))
            return false;
    }
}

/* All of the statement is on its way. */
static bool flush(const tc_pg *pg, double until) {
    int left;
    while ((left = PQflush(pg->connection)) > 0)
        if (!await(pg, POLLIN | POLLOUT, until) || PQconsumeInput(pg->connection) != 1)
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
PGresult *tc_pg_receive(tc_pg *pg, const char **trouble) {
    PGresult *first = NULL, *next;
    double until = tc_serve_now() + PATIENCE;
    *trouble = NULL;
    for (;;) {
        while (PQisBusy(pg->connection) == 1) {
            if (!await(pg, POLLIN, until)) {
                PQclear(first);
                *trouble = "the database does not answer";
                return NULL;
            }
            if (PQconsumeInput(pg->connection) != 1)
                break;
        }
        next = PQgetResult(pg->connection);
        if (next == NULL)
            break;
        if (first == NULL || !is_good(next)) {
            PQclear(first);
            first = next;
        } else {
            PQclear(next);
        }
    }
    PGTransactionStatusType standing = PQtransactionStatus(pg->connection);
    bool is_done = is_good(first) && (standing == PQTRANS_IDLE || standing == PQTRANS_INTRANS);
    if (is_done && pg->warning[0] == '\0')
        return first;
    *trouble = is_done ? put_why(pg, pg->warning) : explain(pg, first);
    PQclear(first);
    return NULL;
}

/* Results are binary. */
const char *tc_pg_send(tc_pg *pg, const char *name, const char *sql, const tc_pg_list *list) {
    static const tc_pg_list none;
    const tc_pg_list *of = list == NULL ? &none : list;
    pg->warning[0] = '\0';
    int sent =
        name != NULL
            ? PQsendQueryPrepared(pg->connection, name, of->count, of->values, of->lengths, of->formats, 1)
            : PQsendQueryParams(pg->connection, sql, of->count, of->types, of->values, of->lengths, of->formats, 1);
    return sent == 1 && flush(pg, tc_serve_now() + PATIENCE) ? NULL : explain(pg, NULL);
}

PGresult *tc_pg_ask(tc_pg *pg, const char *sql, const tc_pg_list *list, const char **trouble) {
    *trouble = tc_pg_send(pg, NULL, sql, list);
    return *trouble == NULL ? tc_pg_receive(pg, trouble) : NULL;
}

const char *tc_pg_run(tc_pg *pg, const char *sql, const tc_pg_list *list) {
    const char *trouble;
    PQclear(tc_pg_ask(pg, sql, list, &trouble));
    return trouble;
}

const char *tc_pg_prepare(tc_pg *pg, const char *name, const char *sql, const Oid *types, int count) {
    const char *trouble;
    if (PQsendPrepare(pg->connection, name, sql, count, types) != 1 || !flush(pg, tc_serve_now() + PATIENCE))
        return explain(pg, NULL);
    PQclear(tc_pg_receive(pg, &trouble));
    return trouble;
}

uint64_t tc_pg_word(const PGresult *row, int column) {
    const unsigned char *bytes = (const unsigned char *)PQgetvalue(row, 0, column);
    uint64_t word = 0;
    if (PQgetlength(row, 0, column) != 8)
        return 0;
    for (size_t i = 0; i < 8; i++)
        word = word << 8 | bytes[i];
    return word;
}

double tc_pg_double(const PGresult *row, int column) {
    uint64_t word = tc_pg_word(row, column);
    double number;
    memcpy(&number, &word, sizeof number);
    return number;
}

bool tc_pg_bool(const PGresult *row, int column) {
    return PQgetlength(row, 0, column) == 1 && PQgetvalue(row, 0, column)[0] != 0;
}

tc_journal_blob tc_pg_blob(const PGresult *row, int column) {
    size_t size = (size_t)PQgetlength(row, 0, column);
    return (tc_journal_blob){.bytes = size == 0 ? NULL : (const unsigned char *)PQgetvalue(row, 0, column),
                             .size = size};
}

/* ---- The connection ---- */

static void hear_notice(void *context, const PGresult *notice) {
    tc_pg *pg = context;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    if (severity != NULL && strcmp(severity, "WARNING") == 0)
        (void)snprintf(pg->warning, sizeof pg->warning, "%s", text != NULL ? text : "a warning without words");
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

static const char *set_up(tc_pg *pg, bool *has_table) {
    const char *trouble;
    PGresult *row = tc_pg_ask(pg, SET_UP, NULL, &trouble);
    if (row == NULL)
        return trouble;
    bool is_synced = tc_pg_bool(row, 5);
    *has_table = tc_pg_bool(row, 6);
    bool is_read_only = tc_pg_bool(row, 7);
    PQclear(row);
    if (is_read_only) /* a standby waits for that to change, though it could read the lease */
        return explain_state("25006");
    return is_synced
               ? NULL
               : "the server has fsync off, and forgets rounds in a loss of power that agents have had: switch it "
                 "on in postgresql.conf";
}

/* Names are looked up and hosts are tried by libpq, which waits for them: on a thread of its own, so that pages and
 * signals go on. Whoever leaves last frees it. */
typedef struct call {
    pthread_mutex_t lock;
    pthread_cond_t is_over_now;
    PGcancel *cancel; /* of a statement that is to end; NULL: a connection is wanted */
    PGconn *connection;
    bool is_over, is_left; /* left: nobody waits for it */
    pthread_t thread;
    char address[];
} call;

static void free_call(call *c) {
    PQfreeCancel(c->cancel);
    (void)pthread_cond_destroy(&c->is_over_now);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}

static void *call_database(void *context) {
    call *c = context;
    char why[256];
    PGconn *connection = NULL;
    if (c->cancel != NULL)
        (void)PQcancel(c->cancel, why, sizeof why);
    else
        connection = tc_journal_connect(c->address);
    (void)pthread_mutex_lock(&c->lock);
    c->connection = connection;
    c->is_over = true;
    bool is_left = c->is_left;
    (void)pthread_cond_signal(&c->is_over_now);
    (void)pthread_mutex_unlock(&c->lock);
    if (is_left) {
        PQfinish(connection);
        free_call(c);
    }
    return NULL;
}

static call *new_call(const char *address, PGcancel *cancel) {
    size_t length = strlen(address) + 1;
    call *c = calloc(1, sizeof *c + length);
    pthread_condattr_t clock;
    if (c == NULL) {
        PQfreeCancel(cancel);
        return NULL;
    }
    memcpy(c->address, address, length);
    c->cancel = cancel;
    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_condattr_init(&clock);
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&c->is_over_now, &clock);
    (void)pthread_condattr_destroy(&clock);
    return c;
}

/* Signals are for the thread that waits. Frees the call if it cannot. */
static bool start_call(call *c) {
    sigset_t all, before;
    if (c == NULL)
        return false;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool good = pthread_create(&c->thread, NULL, call_database, c) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!good)
        free_call(c);
    return good;
}

/* Gives the lock back. A call that is over is joined: what OpenSSL keeps for its thread is gone before the process
 * ends. False: it was left, and frees itself. */
static bool end_call(call *c) {
    bool is_left = c->is_left;
    pthread_t thread = c->thread;
    if (is_left)
        (void)pthread_detach(thread);
    (void)pthread_mutex_unlock(&c->lock);
    if (!is_left)
        (void)pthread_join(thread, NULL);
    return !is_left;
}

/* A tenth of a second, or until it is over. */
static void wait_a_moment(call *c) {
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&c->is_over_now, &c->lock, &until);
}

static const char *dial(tc_pg *pg, const char *address) {
    call *c = new_call(address, NULL);
    if (!start_call(c))
        return "memory is out";
    (void)pthread_mutex_lock(&c->lock);
    while (!c->is_over && !c->is_left) {
        wait_a_moment(c);
        if (c->is_over || pg->meanwhile == NULL)
            continue;
        (void)pthread_mutex_unlock(&c->lock);
        bool is_left = pg->meanwhile(pg->context);
        (void)pthread_mutex_lock(&c->lock);
        c->is_left = is_left && !c->is_over;
    }
    if (!end_call(c))
        return "the database does not answer";
    pg->connection = c->connection;
    free_call(c);
    return pg->connection == NULL ? "memory is out" : NULL;
}

/* A statement that nobody waits for any more may wait for a lock, and renew the lease of a cloud that has ended: then
 * the next one could not start. So the server is asked to end it. */
static void cancel_statement(const tc_pg *pg) {
    PGcancel *cancel = PQgetCancel(pg->connection);
    call *c = cancel == NULL ? NULL : new_call("", cancel);
    double until = tc_serve_now() + CANCEL_PATIENCE;
    if (!start_call(c))
        return;
    (void)pthread_mutex_lock(&c->lock);
    while (!c->is_over && tc_serve_now() < until)
        wait_a_moment(c);
    c->is_left = !c->is_over;
    if (end_call(c))
        free_call(c);
}

const char *tc_pg_reach(tc_pg *pg, const tc_journal_settings *settings, bool *has_table) {
    pg->meanwhile = settings->meanwhile;
    pg->context = settings->context;
    const char *trouble = dial(pg, settings->address);
    if (trouble != NULL)
        return trouble;
    if (PQstatus(pg->connection) != CONNECTION_OK)
        return put_why(pg, PQerrorMessage(pg->connection));
    (void)PQsetNoticeReceiver(pg->connection, hear_notice, pg);
    if (PQsetnonblocking(pg->connection, 1) != 0)
        return explain(pg, NULL);
    return set_up(pg, has_table);
}

void tc_pg_leave(void *what) {
    tc_pg *pg = what;
    if (PQtransactionStatus(pg->connection) == PQTRANS_ACTIVE)
        cancel_statement(pg);
    PQfinish(pg->connection);
    pg->connection = NULL;
}

#endif
