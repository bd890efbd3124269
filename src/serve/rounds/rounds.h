/* The cloud's loop: states come in, a round is released, written to the journal, and answered.
 *
 *     collect states -> (a tick) -> tc_cloud_half_round -> tc_journal_commit, durable -> answers
 *
 * No byte of an answer leaves before its round is in the journal. An answer that somebody has not had is sent again
 * from memory, where it is as the journal has it; nothing is computed twice. An agent that does not read owes itself:
 * its connection is skipped until it has room, and then gets the last answer.
 *
 * Everything is in the thread of the event base, but for noise, which another thread draws (hub.h). Where the run ends
 * or cannot go on, the base's loop is broken and `end` says why. */
#ifndef TC_SERVE_ROUNDS_ROUNDS_H
#define TC_SERVE_ROUNDS_ROUNDS_H

#include "engine/cloud_half.h"
#include "net/wire/message.h"
#include "serve/rounds/enrolment.h"
#include "serve/journal/journal.h"

#define TC_RUN_ENDS(X)                                                                                                 \
    X(TC_RUN_GOES_ON, "goes on")                                                                                       \
    X(TC_RUN_DONE, "done")                                                                                             \
    X(TC_RUN_DIVERGED, "diverged")                                                                                     \
    X(TC_RUN_STOPPED, "stopped")         /* on request */                                                              \
    X(TC_RUN_REFUSED, "refused")         /* an agent's set does not hold the public Slater point */                    \
    X(TC_RUN_ROLLED_BACK, "rolled back") /* agents have seen more than this journal */                                 \
    X(TC_RUN_FAILED, "failed")           /* status says how */
typedef enum tc_run_end {
#define X(code, name) code,
    TC_RUN_ENDS(X)
#undef X
} tc_run_end;
const char *tc_run_end_name(tc_run_end end);

typedef struct tc_late_policy {
    bool holds;          /* a late agent's last state is used again; otherwise the round waits */
    double deadline;     /* seconds; where the round waits: until the log says for whom */
    unsigned most_holds; /* of one state */
} tc_late_policy;

typedef struct tc_rounds_settings {
    const tc_model *model; /* the cloud's */
    struct event_base *base;
    tc_journal *journal;
    tc_epoch epoch;
    tc_reporter *reporter;
    int exponent; /* of the lattice of states */
    tc_wire_method method;
    uint64_t rounds; /* in all */
    tc_late_policy late;
    double tick; /* seconds; 0 for none. Rounds are released at whole ticks from the first opening on, and only then */
    bool is_plain;
    bool needs_slater;   /* the dual radius rests on the public point: every agent must have said yes */
    bool after_restore;  /* agents may have seen more than the journal: they are asked first */
    double end_patience; /* seconds that agents have at least to come for the last answer; the deadline is more */
    size_t spare_idle;   /* as in enrolment.h */
    unsigned idle_seconds;
    /* Before the first round of the process is released; anything but TC_OK ends the run. May be NULL. */
    tc_status (*before_first)(void *context);
    /* After a round's answers have left. May be NULL. */
    void (*after_round)(void *context, uint64_t round, tc_answer_scalars scalars);
    void *context;
} tc_rounds_settings;

typedef struct tc_rounds tc_rounds;

/* TC_CANNOT_READ where the journal's answers are not of this model, TC_NO_RANDOM, TC_TOO_LARGE. Raises on its arena. */
tc_status tc_rounds_new(tc_arena *arena, const tc_rounds_settings *settings, tc_rounds **rounds) TC_MUST_USE;
void tc_rounds_free(tc_rounds *rounds); /* its events; not its memory. After its links */

tc_link_owner tc_rounds_owner(tc_rounds *rounds);
/* Output that a link may have to keep at once. */
size_t tc_rounds_most_kept(const tc_rounds *rounds);

/* Claims of this agent to have seen later rounds or epochs than the journal do not count from now on. Where they are
 * true, rounds are released again: for a person to say. False: there is no such agent. */
bool tc_rounds_disbelieve(tc_rounds *rounds, const char *agent) TC_MUST_USE;

/* Once a second. */
void tc_rounds_tick(tc_rounds *rounds);

/* after_restore: the base's loop is broken when every agent has said what it has seen. The first round that nobody
 * can have seen: to be the hub's. */
bool tc_rounds_is_surveyed(const tc_rounds *rounds);
uint64_t tc_rounds_first(const tc_rounds *rounds);

/* States are taken from now on. hub: made for tc_rounds_first, with the journal's memory. */
tc_status tc_rounds_begin(tc_rounds *rounds, tc_cloud_half *hub) TC_MUST_USE;
/* The journal says that the run is over: the last answer goes to whoever has not had it. */
void tc_rounds_begin_over(tc_rounds *rounds, tc_end_reason reason);
/* The same where the journal says that everybody has had it: that is all. */
void tc_rounds_end_told(tc_rounds *rounds, tc_end_reason reason);

/* Tells everybody who is there that no round of this run will be (TC_RUN_REFUSED). Their connections end. */
void tc_rounds_tell_refused(tc_rounds *rounds);

/* Tells everybody that the cloud stops; the loop is broken when all has left, or after the seconds given. */
void tc_rounds_stop(tc_rounds *rounds, double seconds);

tc_run_end tc_rounds_end(const tc_rounds *rounds);
tc_status tc_rounds_status(const tc_rounds *rounds); /* of FAILED */
uint64_t tc_rounds_last(const tc_rounds *rounds);    /* answered */
/* Which agents have not had the last answer, said no, or have seen more: "a3, a7 and 12 more"; "" for none. */
typedef enum tc_naming { TC_NAME_MISSING, TC_NAME_ABSENT, TC_NAME_REFUSED, TC_NAME_UNTOLD } tc_naming;
const char *tc_rounds_names(tc_rounds *rounds, tc_naming naming);

typedef struct tc_rollback { /* what an agent has seen that this journal has not */
    const char *agent;
    uint64_t round, epoch;
} tc_rollback;
const tc_rollback *tc_rounds_rollback(const tc_rounds *rounds);

#endif
