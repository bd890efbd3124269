/* A connection to a PostgreSQL server and its statements, for postgres.c. Whatever fails returns why, in words for
 * people; NULL: nothing. */
#ifndef TC_SERVE_JOURNAL_POSTGRES_H
#define TC_SERVE_JOURNAL_POSTGRES_H

#include "serve/journal/backend.h"

#include <libpq-fe.h>

typedef struct tc_pg {
    PGconn *connection;
    char holder[320];  /* this process */
    char why[512];     /* the last trouble */
    char warning[256]; /* of the server, during the last statement; "" for none */
    bool is_held;      /* by this process */
    double renewed_at;
    uint64_t aside;                   /* the number of the row that was put aside; 0: none */
    bool (*meanwhile)(void *context); /* as in the settings */
    void *context;
    unsigned char *sealed; /* scratch: a round as it is sent */
    size_t sealed_room;
} tc_pg;

enum { TC_PG_PARAMETERS = 12, TC_PG_BYTES = 17, TC_PG_INTEGER = 20, TC_PG_TEXT = 25, TC_PG_DOUBLE = 701 };

typedef struct tc_pg_list { /* parameters, binary */
    Oid types[TC_PG_PARAMETERS];
    const char *values[TC_PG_PARAMETERS];
    int lengths[TC_PG_PARAMETERS], formats[TC_PG_PARAMETERS];
    unsigned char numbers[TC_PG_PARAMETERS][8]; /* in the network's byte order */
    int count;
} tc_pg_list;

/* Bytes and texts must stay until the statement is sent. */
void tc_pg_add_bytes(tc_pg_list *list, const void *bytes, size_t size);
void tc_pg_add_integer(tc_pg_list *list, uint64_t number);
void tc_pg_add_double(tc_pg_list *list, double number);
void tc_pg_add_text(tc_pg_list *list, const char *text);

/* Connects and sets the session up. has_table: whether any run was kept there. */
const char *tc_pg_reach(tc_pg *pg, const tc_journal_settings *settings, bool *has_table);
void tc_pg_leave(void *pg);

/* name: of a prepared statement; NULL: sql is a statement. list may be NULL. */
const char *tc_pg_send(tc_pg *pg, const char *name, const char *sql, const tc_pg_list *list);
/* The result of what was sent: it is committed. NULL with a trouble. */
PGresult *tc_pg_receive(tc_pg *pg, const char **trouble);
/* Both. */
PGresult *tc_pg_ask(tc_pg *pg, const char *sql, const tc_pg_list *list, const char **trouble);
const char *tc_pg_run(tc_pg *pg, const char *sql, const tc_pg_list *list);
const char *tc_pg_prepare(tc_pg *pg, const char *name, const char *sql, const Oid *types, int count);

/* Of the first row. */
uint64_t tc_pg_word(const PGresult *row, int column);
double tc_pg_double(const PGresult *row, int column);
bool tc_pg_bool(const PGresult *row, int column);
tc_journal_blob tc_pg_blob(const PGresult *row, int column);

/* What a database says is shown to people: it must not steer their terminals. */
void tc_pg_make_plain(char *text);

#endif
