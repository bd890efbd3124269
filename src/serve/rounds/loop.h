/* What the files of the loop share. */
#ifndef TC_SERVE_ROUNDS_LOOP_H
#define TC_SERVE_ROUNDS_LOOP_H

#include "serve/rounds/rounds.h"

#include <math.h>

enum { TC_MOST_NAMES = 512 };

struct tc_rounds {
    tc_rounds_settings settings;
    tc_enrolment *enrolment;
    tc_cloud_half *hub; /* NULL: no states are taken */
    tc_figures *figures;
    uint64_t last; /* the round that `answers` are of; 0 for none */
    uint64_t open; /* the round whose states are wanted: last + 1, later after a restore, beyond the last when over */
    size_t missing;
    size_t held; /* of the open round */
    bool is_surveying, has_released, is_complete;
    bool is_over; /* no round comes any more */
    tc_end_reason reason;
    tc_run_end end;
    tc_status status;
    tc_rollback rollback;
    size_t refused; /* agents that have said no */
    uint64_t most_answered;
    tc_answer_scalars scalars;
    double *answers, *next_answers; /* by coordinate */
    unsigned char *snapshot;        /* of the cloud half */
    size_t snapshot_size;
    double *one;          /* an agent's own */
    int64_t *units;       /* of a message, until the hub has them */
    unsigned char *batch; /* a connection's answers */
    size_t batch_room;
    double opened_at, warn_at, warn_after;
    double stop_at, news_at; /* stop_at: 0 while nobody has asked; news_at: of the end, when anybody last came */
    bool is_ending;          /* parties are being gone through */
    struct event late, ending, tick;
    double ticks_from, tick_at; /* when the first round was opened; the next tick */
    char names[TC_MOST_NAMES];
};

static inline bool tc_rounds_has_answer(const tc_rounds *r) { return r->last > 0 && r->last + 1 == r->open; }

/* The loop is broken. The first reason stands. */
void tc_rounds_break(tc_rounds *r, tc_run_end end, tc_status status);

void tc_rounds_enrol(tc_rounds *r, tc_party *party, const tc_frame *frame);

/* All states are there: releases, commits, answers; at the next tick, where there are ticks. */
void tc_rounds_complete(tc_rounds *r);

/* ---- ticks ---- */
/* The first whole tick after now. */
static inline double tc_tick_after(double from, double tick, double now) {
    double next = from + tick * (floor((now - from) / tick) + 1);
    return next > now ? next : next + tick; /* the quotient may be rounded below a whole number */
}
void tc_ticks_begin(tc_rounds *r); /* nothing where there are none */
void tc_ticks_come(tc_rounds *r);  /* it is a tick */
void tc_ticks_on_time(evutil_socket_t descriptor, short what, void *context);

/* ---- answers ---- */
bool tc_batch_reserve(tc_rounds *r) TC_MUST_USE; /* room for the largest connection's answers */
/* What an agent is told when it has enrolled. The party may be gone afterwards. */
void tc_answers_enrolled(tc_rounds *r, tc_seat *seat);
/* The last answer, to everybody who is there; to one agent again; to those of a connection that it is owed to. */
void tc_answers_all(tc_rounds *r);
void tc_answers_again(tc_rounds *r, tc_seat *seat);
void tc_answers_owed(tc_rounds *r, tc_party *party);

/* ---- the end ---- */
void tc_rounds_over(tc_rounds *r, tc_end_reason reason);
/* A newcomer, when all is over: it is told so, once it has had time to enrol all its agents. */
void tc_ending_again(tc_rounds *r, tc_seat *seat);
/* Breaks the loop where everybody has heard of the end and gone. */
void tc_ending_check(tc_rounds *r);
void tc_ending_on_time(evutil_socket_t descriptor, short what, void *context);

/* ---- those who are late ---- */
void tc_late_open(tc_rounds *r); /* a round begins */
void tc_late_on_time(evutil_socket_t descriptor, short what, void *context);

#endif
