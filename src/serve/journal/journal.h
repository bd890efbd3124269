/* The cloud's journal: what must be on the disk before an answer leaves.
 *
 * It holds released values only: the last round's answers, so that they can be sent again and need never be computed
 * again, the cloud's memory after that round, and what identifies the round's input, a keyed MAC that says nothing
 * without its key. No key and no state of an agent is ever here.
 *
 * One row of an SQLite database, replaced in each round by a transaction that has returned only when it is durable, and
 * guarded by a digest. A second process is refused while one has it open. After a failure nothing more is written: the
 * round that failed was not released, and the next start finds it whole or not at all. */
#ifndef TC_SERVE_JOURNAL_JOURNAL_H
#define TC_SERVE_JOURNAL_JOURNAL_H

#include "base/buffer.h"
#include "net/wire/message.h"

#include <stdbool.h>

typedef struct tc_journal tc_journal;

#define TC_DURABILITIES(X)                                                                                             \
    X(TC_DURABLE_POWER, "power")     /* a commit survives the loss of power */                                         \
    X(TC_DURABLE_PROCESS, "process") /* ... of the process; power loss may go some rounds back, but to a whole one */
typedef enum tc_durability {
#define X(code, name) code,
    TC_DURABILITIES(X)
#undef X
} tc_durability;
extern const char *const tc_durability_names[]; /* NULL at the end */

typedef struct tc_journal_settings {
    const char *folder; /* made, 0700, where it is not there; the file is journal.db in it */
    tc_durability durability;
    const unsigned char *terms; /* TC_HASH bytes: of what a run is begun under besides its plan; NULL: nothing */
    const char *vfs;            /* SQLite's file system; NULL for the machine's own. For tests */
    unsigned log_pages;         /* of the write-ahead log between two checkpoints; 0: TC_JOURNAL_LOG_PAGES */
} tc_journal_settings;

enum { TC_JOURNAL_LOG_PAGES = 1000, TC_INPUT_MAC = 32 };

typedef struct tc_journal_run { /* what a journal belongs to */
    unsigned char run_id[TC_RUN_ID];
    unsigned char plan_hash[TC_HASH], terms[TC_HASH];
} tc_journal_run;

typedef struct tc_journal_round {
    uint64_t round; /* 0: none has been answered yet, and the rest is empty */
    unsigned char input[TC_INPUT_MAC];
    double step, regularization;
    const double *answers; /* p of all agents, by coordinate */
    size_t answer_count;
    const unsigned char *snapshot; /* of the cloud half */
    size_t snapshot_size;
} tc_journal_round;

/* Opens the journal, or makes one for a run of this plan. made: the run id of a new one; NULL: random. TC_CANNOT_WRITE,
 * TC_CANNOT_READ where it is damaged or another process has it, TC_BAD_USAGE where it belongs to another plan or other
 * terms; with a message each. Raises on its arena, with which it is closed. */
tc_status tc_journal_open(tc_arena *arena, const tc_journal_settings *settings, const unsigned char plan_hash[TC_HASH],
                          const unsigned char *made, tc_buffer *messages, tc_journal **journal) TC_MUST_USE;

const tc_journal_run *tc_journal_run_of(const tc_journal *journal);
/* Whether this opening made it. */
bool tc_journal_is_new(const tc_journal *journal);
/* Takes a journal that this opening made off the disk again: nobody has been told of its run. Others are left alone. */
void tc_journal_discard(const tc_journal *journal);
/* The last round that was committed before it was opened. */
const tc_journal_round *tc_journal_last(const tc_journal *journal);
/* The reason for which the run ended; 0 while it has not. */
unsigned tc_journal_finished(const tc_journal *journal);

/* A new epoch: a number above all before and above `above`, and a random id. Durable against loss of power when it
 * returns, whatever the durability; to be called before anybody is told of it. TC_CANNOT_WRITE, TC_NO_RANDOM. */
tc_status tc_journal_begin_epoch(tc_journal *journal, uint64_t above, tc_epoch *epoch) TC_MUST_USE;

/* The round is durable when this returns TC_OK. Rounds increase. TC_CANNOT_WRITE otherwise, now and for ever. */
tc_status tc_journal_commit(tc_journal *journal, const tc_journal_round *round) TC_MUST_USE;

/* The run is over: reason is a tc_end_reason. */
tc_status tc_journal_finish(tc_journal *journal, unsigned reason) TC_MUST_USE;
/* Every agent has had the last answer of a run that is over. Where this cannot be written, nothing but time is lost. */
void tc_journal_set_told(tc_journal *journal);
bool tc_journal_is_told(const tc_journal *journal);

/* Whether a call has failed; and why: "the disk is full". */
bool tc_journal_is_broken(const tc_journal *journal);
const char *tc_journal_trouble(const tc_journal *journal);

#endif
