/* The cloud's journal: what must be durable before an answer leaves.
 *
 * It holds released values only: the last round's answers, which can be sent again and are never computed again, the
 * snapshot of the cloud half after that round, and a keyed MAC of the round's input, which reveals nothing without the
 * key. It never holds a key or an agent's state.
 *
 * It is one row with a digest, in an SQLite file or in a PostgreSQL database. Each round replaces the row in a
 * transaction. After a failure nothing more is written: the failed round was not released, and the next start finds all
 * of it or nothing.
 *
 * One process at a time has it. A file is locked. A database has a lease: a process that opens the journal when the
 * lease of the one before has ended begins a new epoch in the same transaction, and from then on the one before can
 * write nothing, whatever its clock says: every write names the row that the writer has left. */
#ifndef TC_SERVE_JOURNAL_JOURNAL_H
#define TC_SERVE_JOURNAL_JOURNAL_H

#include "base/arena.h"
#include "net/message.h"
#include "serve/journal/key.h"

#include <stdbool.h>

typedef struct tc_journal tc_journal;

#define TC_DURABILITIES(X)                                                                                             \
    X(TC_DURABLE_POWER, "power")     /* a commit survives the loss of power */                                         \
    X(TC_DURABLE_PROCESS, "process") /* ... a crash of the process; loss of power may lose some last rounds */
typedef enum tc_durability {
#define X(code, name) code,
    TC_DURABILITIES(X)
#undef X
} tc_durability;
extern const char *const tc_durability_names[]; /* NULL at the end */

typedef struct tc_journal_settings {
    const char *folder;  /* made with mode 0700 if missing; the file is journal.db */
    const char *address; /* postgresql://...: of the database, which is used in place of the folder; NULL: none */
    tc_journal_key *key; /* of a journal in a database; NULL: none, which only one that was begun without can do */
    double lease;        /* seconds, in a database; 0: TC_JOURNAL_LEASE */
    /* Called every tenth of a second while a database is waited for. It must not use the journal. True: it is waited
     * for no longer. NULL: nothing is called. */
    bool (*meanwhile)(void *context);
    void *context;
    tc_durability durability;
    bool must_exist;                   /* in a database: none is begun */
    bool is_new_run;                   /* the journal of another run is put aside, or stays if this one cannot begin */
    const unsigned char *terms;        /* TC_HASH bytes: the terms of a run besides its plan (server.h); NULL: none */
    const unsigned char *terms_before; /* those that an earlier version gave the same run; NULL: none */
    const char *vfs;                   /* for tests: SQLite's file system; NULL: the default */
    unsigned log_pages;                /* of the write-ahead log between two checkpoints; 0: TC_JOURNAL_LOG_PAGES */
} tc_journal_settings;

/* A cloud that waited to go on with a run finds none. */
#define TC_JOURNAL_GONE                                                                                                \
    "its row is gone, and a cloud that stands by to go on with a run begins no other. Put a back-up of the table in "  \
    "its place, or start without --standby to begin another run"

enum { TC_JOURNAL_LOG_PAGES = 1000, TC_JOURNAL_LEASE = 5, TC_INPUT_MAC = 32 };

typedef struct tc_journal_run { /* what a journal belongs to */
    unsigned char run_id[TC_RUN_ID];
    unsigned char plan_hash[TC_HASH], terms[TC_HASH];
} tc_journal_run;

typedef struct tc_journal_round {
    uint64_t round; /* 0: none yet; the rest is then empty */
    unsigned char input[TC_INPUT_MAC];
    double step, regularization;
    const double *answers; /* p of all agents, by coordinate */
    size_t answer_count;
    const unsigned char *snapshot; /* of the cloud half */
    size_t snapshot_size;
} tc_journal_round;

/* Opens the journal, or makes one for a run of this plan. made: the run id of a new one; NULL: random. With a message:
 * TC_CANNOT_WRITE; TC_CANNOT_READ if it is damaged or open in another process; TC_BAD_USAGE if it belongs to another
 * plan or other terms, or needs a key, another one or none. The arena closes it; a failed opening leaves nothing there,
 * so that it can be tried again and again. Memory that runs out is a status. */
tc_status tc_journal_open(tc_arena *arena, const tc_journal_settings *settings, const unsigned char plan_hash[TC_HASH],
                          const unsigned char *made, tc_buffer *messages, tc_journal **journal) TC_MUST_USE;

/* Whether the address can be used: its form, no password in it, and a program that has PostgreSQL. TC_BAD_USAGE with a
 * message that does not repeat it. */
tc_status tc_journal_check_address(const char *address, tc_buffer *messages) TC_MUST_USE;

typedef struct tc_journal_seen { /* without opening it */
    bool exists;                 /* there is a journal, of any run */
    bool is_held;                /* a database's: another process has it */
    const char *holder;          /* ... which: "cloud.example, process 7" */
    double seconds;              /* ... until its lease ends */
    /* A database's: of the plan of its run, and its terms; zeros: not known. */
    unsigned char plan_hash[TC_HASH], terms[TC_HASH];
    bool may_write;          /* a database's: by its own rules */
    const char *key_trouble; /* a database's: why the key of the settings does not open it; NULL: it does */
} tc_journal_seen;
tc_status tc_journal_look(tc_arena *arena, const tc_journal_settings *settings, tc_buffer *messages,
                          tc_journal_seen *seen) TC_MUST_USE;

const tc_journal_run *tc_journal_run_of(const tc_journal *journal);
/* Whether a database keeps it, and could read it: it was begun by a version without keys. */
bool tc_journal_is_readable(const tc_journal *journal);
/* Whether tc_journal_open made it. */
bool tc_journal_is_new(const tc_journal *journal);
/* What of a file's log is damaged and not believed, as a sentence: rounds may be missing. NULL: nothing. */
const char *tc_journal_doubt(const tc_journal *journal);
/* The new name of what tc_journal_open has put aside; NULL: nothing. */
const char *tc_journal_aside(const tc_journal *journal);
/* Deletes a new journal, whose run nobody knows yet, and brings back what was put aside for it. Does nothing to any
 * other. It cannot be used any more. */
void tc_journal_discard(tc_journal *journal);
/* The last committed round at the time of opening. */
const tc_journal_round *tc_journal_last(const tc_journal *journal);
/* Why the run ended (tc_end_reason); 0: it has not. */
unsigned tc_journal_finished(const tc_journal *journal);

/* A new epoch: a number above all before and above `above`, and a random id. Survives loss of power when it returns, at
 * any durability. Call it before any agent is told the epoch. TC_CANNOT_WRITE, TC_NO_RANDOM. */
tc_status tc_journal_begin_epoch(tc_journal *journal, uint64_t above, tc_epoch *epoch) TC_MUST_USE;

/* A commit has two steps, so that answers can be prepared while the disk or the database works. After the first the
 * round is on its way, and nothing of it may leave. It is durable when the second returns TC_OK. The round and what it
 * points to need not stay in between. Rounds must increase. On failure these and all later writes return
 * TC_CANNOT_WRITE. */
tc_status tc_journal_commit_start(tc_journal *journal, const tc_journal_round *round) TC_MUST_USE;
tc_status tc_journal_commit_wait(tc_journal *journal) TC_MUST_USE;
/* Between the two: whether there is anything to wait for. */
bool tc_journal_is_under_way(const tc_journal *journal);

/* Seconds that the lease lasts, 0 for none. Each commit renews it; between commits call tc_journal_renew more often
 * than that. It fails as a commit does. */
double tc_journal_lease(const tc_journal *journal);
tc_status tc_journal_renew(tc_journal *journal) TC_MUST_USE;

/* Gives the lease up, so that another cloud need not wait for its end; nothing is written afterwards. False: why the
 * lease is still there is the trouble. Closing does the same and says nothing. */
bool tc_journal_give_up(tc_journal *journal) TC_MUST_USE;

/* The run is over: reason is a tc_end_reason. */
tc_status tc_journal_finish(tc_journal *journal, unsigned reason) TC_MUST_USE;
/* The run is over and every agent has the last answer. If this cannot be written, the next start waits in vain. */
void tc_journal_set_told(tc_journal *journal);
bool tc_journal_is_told(const tc_journal *journal);

/* Whether a write has failed, and why: "the disk is full". */
bool tc_journal_is_broken(const tc_journal *journal);
bool tc_journal_is_lost(const tc_journal *journal); /* since another process has taken it over */
const char *tc_journal_trouble(const tc_journal *journal);

#endif
