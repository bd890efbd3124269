/* The struct of the loop, shared by rounds.c, enrol.c and answers.c. */
#ifndef TC_SERVE_ROUNDS_LOOP_H
#define TC_SERVE_ROUNDS_LOOP_H

#include "serve/rounds/rounds.h"

#include <math.h>

enum { TC_MOST_NAMES = 512 };

struct tc_rounds {
    tc_rounds_settings settings;
    tc_enrolment *enrolment;
    tc_cloud_half *half; /* the cloud half; NULL: no states are taken */
    tc_figures *figures;
    uint64_t last; /* the last answered round, whose answers are in `answers`; 0 for none */
    uint64_t open; /* the round whose states are wanted: last + 1, or later after a restore */
    size_t missing;
    size_t held; /* states used again in the open round */
    bool is_surveying, has_released, is_complete;
    bool is_over; /* there are no more rounds */
    tc_end_reason reason;
    tc_run_end end;
    tc_status status;
    tc_rollback rollback;
    size_t refused; /* agents that said no to the Slater point */
    uint64_t most_answered;
    tc_answer_scalars scalars;
    double *answers, *next_answers; /* by coordinate */
    unsigned char *snapshot;        /* of the cloud half */
    size_t snapshot_size;
    double *one;          /* scratch: an agent's own components */
    int64_t *units;       /* scratch: a received state */
    unsigned char *batch; /* scratch: a connection's encoded answers */
    size_t batch_room;
    double opened_at, warn_at, warn_after;
    double stop_at, news_at; /* stop_at: 0 unless asked to stop; news_at: when an agent last came after the end */
    bool is_ending;          /* a loop over parties is running: do not start another */
    struct event late, ending, tick;
    double ticks_from, tick_at; /* when ticks began; the next tick */
    char names[TC_MOST_NAMES];
};

static inline bool tc_rounds_has_answer(const tc_rounds *r) { return r->last > 0 && r->last + 1 == r->open; }

/* Breaks the event loop. The first reason counts. */
void tc_rounds_break(tc_rounds *r, tc_run_end end, tc_status status);

void tc_rounds_enrol(tc_rounds *r, tc_party *party, const tc_frame *frame);

/* All states have come: releases, commits and answers, now or at the next tick. */
void tc_rounds_complete(tc_rounds *r);

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
bool tc_batch_reserve(tc_rounds *r) TC_MUST_USE; /* room for the answers of the largest connection */
/* Tells an agent that it is enrolled. The party may be gone afterwards. */
void tc_answers_enrolled(tc_rounds *r, tc_seat *seat);
/* Sends the last answer: to all enrolled agents; to one agent again; to the agents of a connection that was skipped. */
void tc_answers_all(tc_rounds *r);
void tc_answers_again(tc_rounds *r, tc_seat *seat);
void tc_answers_owed(tc_rounds *r, tc_party *party);

/* ---- the end ---- */
void tc_rounds_over(tc_rounds *r, tc_end_reason reason);
/* An agent enrolled after the end: its connection is told so, a moment later, when all its agents are enrolled. */
void tc_ending_again(tc_rounds *r, tc_seat *seat);
/* Breaks the loop if every agent has been told of the end and left. */
void tc_ending_check(tc_rounds *r);
void tc_ending_on_time(evutil_socket_t descriptor, short what, void *context);

/* ---- late agents ---- */
void tc_late_open(tc_rounds *r); /* a round opens */
void tc_late_on_time(evutil_socket_t descriptor, short what, void *context);

#endif
