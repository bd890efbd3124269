/* The loop of rounds: takes states, releases a round, writes it to the journal, answers.
 *
 *     collect states -> (a tick) -> tc_cloud_half_round -> commit, durable -> answers
 *
 * No byte of an answer leaves before its round is durable in the journal. While the disk works, answers are encoded and
 * encrypted, and held back. A lost answer is sent again as it was; nothing is
 * computed twice. A connection that does not read is skipped until it has room, and then gets the last answer.
 *
 * Connections are served by one loop or by several side by side, each with a lane (lane.h). The release, the commit and
 * all timers belong to the main loop. When the run ends or cannot go on, its base's loop is broken and `end` says why.
 * Functions below are for the main loop's thread. */
#ifndef TC_SERVE_ROUNDS_ROUNDS_H
#define TC_SERVE_ROUNDS_ROUNDS_H

#include "engine/cloud_half.h"
#include "serve/journal/journal.h"
#include "serve/rounds/enrolment.h"

#include <math.h>

#define TC_RUN_ENDS(X)                                                                                                 \
    X(TC_RUN_GOES_ON, "goes on")                                                                                       \
    X(TC_RUN_DONE, "done")                                                                                             \
    X(TC_RUN_DIVERGED, "diverged")                                                                                     \
    X(TC_RUN_STOPPED, "stopped")         /* on request */                                                              \
    X(TC_RUN_ROLLED_BACK, "rolled back") /* agents have seen more than the journal has */                              \
    X(TC_RUN_FAILED, "failed")           /* status says how */
typedef enum tc_run_end {
#define X(code, name) code,
    TC_RUN_ENDS(X)
#undef X
} tc_run_end;
const char *tc_run_end_name(tc_run_end end);

typedef struct tc_late_policy {
    bool holds;          /* a late agent's last state is used again; otherwise the round waits */
    double deadline;     /* seconds until the state is used again, or until the log says who is late */
    unsigned most_holds; /* how often one state may be used again */
    double last;         /* seconds that the last round of --feasible always waits; 0: for ever */
} tc_late_policy;

typedef struct tc_rounds_settings {
    const tc_model *model;   /* the cloud's */
    struct event_base *base; /* of the main loop */
    size_t lanes;            /* loops that serve connections; 0: 1 */
    tc_journal *journal;
    tc_epoch epoch;
    tc_reporter *reporter;
    int exponent; /* of the lattice of states */
    tc_wire_method method;
    tc_state_scales scales; /* of the method; NULL: all are 1 */
    uint64_t rounds;        /* of the run */
    tc_late_policy late;
    double tick; /* seconds; rounds are released only at multiples of it; 0: as soon as complete */
    bool is_plain;
    bool needs_slater;   /* the dual radius depends on the public point: every agent must say yes */
    bool after_restore;  /* agents may have seen more than the journal: ask them first */
    double end_patience; /* seconds for agents to come for the last answer, if above the deadline */
    size_t spare_idle;   /* as in enrolment.h */
    unsigned idle_seconds;
    /* Called before this process releases its first round; anything but TC_OK ends the run. May be NULL. */
    tc_status (*before_first)(void *context);
    /* Called after a round's answers were sent, or while other loops send theirs. May be NULL. */
    void (*after_round)(void *context, uint64_t round, tc_answer_scalars scalars);
    void *context;
} tc_rounds_settings;

typedef struct tc_rounds tc_rounds;

/* Bytes of the longest ENROLLED. */
static inline size_t tc_rounds_most_enrolled(uint32_t states) {
    static const int8_t none;
    return tc_enrolled_size(&(tc_enrolled){.states = states, .scales = &none});
}

/* TC_CANNOT_READ if the journal's answers are not of this model, TC_NO_RANDOM, TC_TOO_LARGE. Raises on its arena. */
tc_status tc_rounds_new(tc_arena *arena, const tc_rounds_settings *settings, tc_rounds **rounds) TC_MUST_USE;
void tc_rounds_free(tc_rounds *rounds); /* its events and buffers; call it after the links are freed */

/* Of the connections of this lane's loop. */
tc_link_owner tc_rounds_owner(tc_rounds *rounds, size_t lane);
/* Answers sent so far. */
uint64_t tc_rounds_answers(tc_rounds *rounds);
/* Bytes that a link may have to buffer. */
size_t tc_rounds_most_kept(const tc_rounds *rounds);

/* Ignores claims of this agent to have seen later rounds or epochs than the journal has. If a claim is true, rounds are
 * released twice: only a person may decide that. False: no such agent. */
bool tc_rounds_disbelieve(tc_rounds *rounds, const char *agent) TC_MUST_USE;

/* Does what the lane was asked, and in the main loop's lane also its errands. In the lane's thread, when it was rung.
 */
void tc_lane_turn(tc_lane *lane);

/* Once a second. */
void tc_rounds_tick(tc_rounds *rounds);

/* after_restore: the base's loop is broken when every agent has said what it has seen. tc_rounds_first is then the
 * first round that nobody can have seen. */
bool tc_rounds_is_surveyed(const tc_rounds *rounds);
uint64_t tc_rounds_first(const tc_rounds *rounds);

/* Takes states from now on. half: the cloud half made for tc_rounds_first from the journal's snapshot. */
tc_status tc_rounds_begin(tc_rounds *rounds, tc_cloud_half *half) TC_MUST_USE;
/* If the journal says that the run is over: sends the last answer to agents that lack it. */
void tc_rounds_begin_over(tc_rounds *rounds, tc_end_reason reason);
/* If the journal also says that every agent has it: ends at once. */
void tc_rounds_end_told(tc_rounds *rounds, tc_end_reason reason);

/* Tells the agents that the cloud stops. The loop is broken when all was sent, or after these seconds. */
void tc_rounds_stop(tc_rounds *rounds, double seconds);

tc_run_end tc_rounds_end(const tc_rounds *rounds);
tc_status tc_rounds_status(const tc_rounds *rounds); /* of TC_RUN_FAILED */
uint64_t tc_rounds_last(const tc_rounds *rounds);    /* the last round that was answered */
/* Names of agents: those whose state is missing, that never enrolled, that say no to the Slater point, that may lack
 * the last answer. "a3, a7 and 12 more"; "" for none. */
typedef enum tc_naming { TC_NAME_MISSING, TC_NAME_ABSENT, TC_NAME_REFUSED, TC_NAME_UNTOLD } tc_naming;
const char *tc_rounds_names(tc_rounds *rounds, tc_naming naming);

typedef struct tc_rollback { /* what an agent has seen and the journal does not have */
    const char *agent;
    uint64_t round, epoch;
} tc_rollback;
const tc_rollback *tc_rounds_rollback(const tc_rounds *rounds);

/* The journal failed between two rounds: the run ends here, unless it has ended. From the main loop's thread. */
void tc_rounds_journal_failed(tc_rounds *rounds);

/* Everything that other lanes may change is read under the lock. NULL: there are no rounds yet, and no other lanes. */
void tc_rounds_lock(tc_rounds *rounds);
void tc_rounds_unlock(tc_rounds *rounds);

/* ---- Shared by rounds.c, frames.c, enrol.c and answers.c ---- */

enum { TC_MOST_NAMES = 512 };

struct tc_rounds {
    tc_rounds_settings settings;
    tc_enrolment *enrolment;
    tc_lane *lanes;
    tc_cloud_half *half; /* the cloud half; NULL: no states are taken */
    tc_figures *figures;
    uint64_t last;           /* the last answered round, whose answers are in `answers`; 0 for none */
    uint64_t open;           /* the round whose states are wanted: last + 1, or later after a restore */
    atomic_size_t missing;   /* states of the open round */
    atomic_size_t answering; /* lanes that have not sent all answers of the last round */
    size_t held;             /* states used again in the open round */
    bool is_surveying, has_released, is_complete;
    bool is_over; /* there are no more rounds */
    tc_end_reason reason;
    tc_run_end end;
    tc_status status;
    tc_rollback rollback;
    uint64_t most_answered; /* by what agents said, or the journal's last round */
    tc_answer_scalars scalars;
    double *answers, *next_answers; /* by coordinate */
    int8_t **scales;                /* by family; NULL where all are 0 */
    double disk_seconds;            /* from a commit's start to its end, lately */
    unsigned char *snapshot;        /* of the cloud half */
    size_t snapshot_size;
    double opened_at, warn_at, warn_after; /* the open round; warn_after doubles with each warning */
    double stop_at, news_at; /* stop_at: 0 unless asked to stop; news_at: when an agent last came after the end */
    double ending_wait;      /* of TC_ERRAND_TIMER */
    bool is_on_errands;      /* the main loop is */
    struct event late, ending, tick;
    double ticks_from, tick_at; /* when ticks began; the next tick */
    char names[TC_MOST_NAMES];
};

static inline bool tc_rounds_has_answer(const tc_rounds *r) { return r->last > 0 && r->last + 1 == r->open; }

/* The open round lacks this agent's state. */
static inline bool tc_rounds_misses(const tc_rounds *r, const tc_seat *seat) {
    return seat->taken != r->open && seat->held != r->open;
}

static inline bool tc_rounds_may_release(const tc_rounds *r) {
    return !r->is_over && r->half != NULL && r->end == TC_RUN_GOES_ON && r->stop_at <= 0;
}

/* All states have come: releases, commits and answers, now or at the next tick. */
void tc_rounds_complete(tc_rounds *r, tc_lane *lane);
/* Logs which agents say no to the Slater point, if any do. */
void tc_rounds_tell_no(tc_rounds *r);
/* Logs why the journal could not be written for this round. */
void tc_rounds_log_journal(tc_rounds *r, uint64_t round);
/* A lane's thread begins and ends something that takes the lock. The main loop's thread then does its errands. */
void tc_rounds_enter(tc_lane *lane);
void tc_rounds_leave(tc_lane *lane);
/* Leaves something to the main loop. With or without the lock, not under the own gate alone. */
void tc_rounds_errand(tc_lane *lane, unsigned what);
/* Asks all lanes, and does the main lane's part at once. */
void tc_rounds_ask(tc_rounds *r, unsigned what);

/* Ends the loop. The first reason counts. Under the lock, which this lane holds. */
void tc_rounds_break(tc_rounds *r, tc_lane *lane, tc_run_end end, tc_status status);

void tc_rounds_enrol(tc_rounds *r, tc_party *party, const tc_frame *frame);

/* ---- ticks ---- */
/* The first multiple of the tick after now. */
static inline double tc_tick_after(double from, double tick, double now) {
    double next = from + tick * (floor((now - from) / tick) + 1);
    return next > now ? next : next + tick; /* the quotient may be rounded down */
}
void tc_ticks_begin(tc_rounds *r); /* nothing without ticks */
void tc_ticks_come(tc_rounds *r);  /* a tick has come */
void tc_ticks_on_time(evutil_socket_t descriptor, short what, void *context);

/* ---- answers ---- */
/* Room for the answers of the largest connection. */
bool tc_batch_reserve(const tc_rounds *r, tc_lane *lane) TC_MUST_USE;
/* Tells an agent that it is enrolled. The party may be gone afterwards. */
void tc_answers_enrolled(tc_rounds *r, tc_seat *seat);
/* Prepares the answers of round k, which are in next_answers, for the main lane's connections, until then and as far as
 * there is room. Under the lock. */
void tc_answers_seal(tc_rounds *r, uint64_t k, tc_answer_scalars scalars, double until);
/* Sends the last answer: to all enrolled agents of a lane, those that are prepared first; to one agent again; to the
 * agents of a connection that was skipped. The first is called without the lock. */
void tc_answers_all(tc_rounds *r, tc_lane *lane);
void tc_answers_count_holds(tc_rounds *r); /* a round was released: held states were used once more */
void tc_answers_again(tc_rounds *r, tc_seat *seat);
void tc_answers_owed(tc_rounds *r, tc_party *party);

/* ---- the end ---- */
/* A lane's part of what all are asked. Under the lock. */
void tc_answers_do(tc_rounds *r, tc_lane *lane, unsigned what);
void tc_rounds_over(tc_rounds *r, tc_end_reason reason);
/* An agent enrolled after the end: its connection is told so, a moment later, when all its agents are enrolled. */
void tc_ending_again(tc_rounds *r, tc_seat *seat);
/* Breaks the loop if every agent has been told of the end and left. */
void tc_ending_check(tc_rounds *r);
void tc_ending_timer(tc_rounds *r); /* TC_ERRAND_TIMER */
void tc_ending_on_time(evutil_socket_t descriptor, short what, void *context);

/* ---- late agents ---- */
void tc_late_open(tc_rounds *r); /* a round opens */
void tc_late_on_time(evutil_socket_t descriptor, short what, void *context);

#endif
