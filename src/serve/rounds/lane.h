/* A lane is one loop's part of the rounds: its connections, its scratch memory, and a gate. The first lane belongs to
 * the main loop. With one lane nothing here locks.
 *
 * A connection belongs to one lane for life, and only that lane's thread touches it. What the lanes share (seats, the
 * open round, counters) is guarded in two ways:
 *
 * - A lane that holds its own gate may read everything, and may write what its own connections own: their seats'
 * states. So states are taken and answers encoded in all lanes at once.
 * - A lane that holds all gates ("the lock") may write everything. Enrolment, refusals, ends, timers and the release of
 *   a round run under it, as if there were one loop.
 *
 * What one lane sees of another: whoever holds all gates has acquired each of them after its last release, so it sees
 * all that was done under any gate; and whoever takes its own gate later sees all that was done under the lock. No
 * other order of memory is needed, and the counters that are decremented under single gates are atomic.
 *
 * Gates are taken in the order of the lanes, and nobody who holds only his own asks for another: no deadlock. Nothing
 * is sent while only the own gate is held, since a failing connection takes the lock. */
#ifndef TC_SERVE_ROUNDS_LANE_H
#define TC_SERVE_ROUNDS_LANE_H

#include "serve/link/links.h"

#include <pthread.h>
#include <stdatomic.h>

struct tc_rounds;

/* What a lane is asked to do with its own connections. It does them in this order. */
enum {
    TC_ASK_ANSWER = 1,         /* send the last round's answers: the round is durable */
    TC_ASK_ENROLLED = 2,       /* tell agents that enrolled before the first round */
    TC_ASK_NOTICES = 4,        /* tell connections of what others did to them */
    TC_ASK_TELL = 8,           /* tell of the end */
    TC_ASK_CLOSE_TOLD = 16,    /* close those that were told of the end */
    TC_ASK_CLOSE_DRAINED = 32, /* close those that have nothing left to send */
    TC_ASK_CLOSE_IDLE = 64     /* close those that have had no agent for too long */
};

/* What the main loop alone may do: its timers, its end, the release. */
enum {
    TC_ERRAND_RELEASE = 1, /* the round may be complete */
    TC_ERRAND_CHECK = 2,   /* an agent has left: perhaps all have */
    TC_ERRAND_TIMER = 4,   /* of the end */
    TC_ERRAND_BREAK = 8    /* break the main loop */
};

typedef struct tc_lane {
    struct tc_rounds *rounds;
    struct tc_lane *first; /* the main loop's; the others follow it */
    size_t count;
    pthread_mutex_t gate;
    unsigned depth;        /* of the lock: only this lane's thread uses it */
    tc_ring seated, idle;  /* connections with and without an agent; idle: the oldest first */
    tc_ring unanswered;    /* those of `seated` whose answers of this round are not sent yet */
    tc_ring notices;       /* tc_notice */
    unsigned asks;         /* guarded by the lock and this gate */
    atomic_bool must_ring; /* it was asked and not rung yet */
    atomic_uint errands;   /* of the first lane */
    uint64_t answers;      /* sent; guarded by this gate */
    double *one;           /* scratch: an agent's own components */
    int64_t *units;        /* scratch: a received state */
    unsigned char *batch;  /* scratch: a connection's encoded answers */
    size_t batch_room;
    tc_sealed sealed;         /* answers that wait for the commit, or for others to be sent with */
    void (*ring)(void *loop); /* wakes the lane's thread, which then calls tc_lane_turn; NULL if there is one lane */
    void (*answered)(void *loop); /* called in the lane's thread after a round's answers; may be NULL */
    void *loop;
} tc_lane;

typedef struct tc_notice { /* what a connection is told because of another lane's connection */
    tc_ring ring;          /* must be first */
    struct tc_party *party;
    uint32_t slot;    /* that lost its agent */
    const char *ends; /* why the connection ends; NULL: it only lost that agent */
} tc_notice;

/* most_states: of an agent. NULL: the system gives no mutex. Raises on its arena. */
tc_lane *tc_lanes_new(tc_arena *arena, struct tc_rounds *rounds, size_t count, size_t most_states);
void tc_lanes_free(tc_lane *first);
static inline bool tc_lane_is_main(const tc_lane *lane) { return lane == lane->first; }

/* The own gate. */
static inline void tc_gate_take(tc_lane *lane) {
    if (lane->count > 1)
        (void)pthread_mutex_lock(&lane->gate);
}
static inline void tc_gate_give(tc_lane *lane) {
    if (lane->count > 1)
        (void)pthread_mutex_unlock(&lane->gate);
}

/* All gates. Nests; not while only the own gate is held. Giving it back wakes lanes that were asked meanwhile. */
void tc_lock_take(tc_lane *lane);
void tc_lock_give(tc_lane *lane);

/* Under the lock. */
void tc_lane_ask(tc_lane *lane, unsigned what);
/* What was asked since the last call. Takes the gate. */
unsigned tc_lane_asked(tc_lane *lane);

#endif
