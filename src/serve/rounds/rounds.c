/* Lanes, rounds and ticks. A round with late agents waits and logs their names, or uses their last state again
 * (holds). */
#include "serve/rounds/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names and late agents ---- */

enum { MOST_NAMED = 20 }; /* a line of the log stays one that people read */

static bool is_named(const tc_rounds *r, const tc_seat *seat, tc_naming naming) {
    switch (naming) {
    case TC_NAME_MISSING:
        return tc_rounds_misses(r, seat);
    case TC_NAME_ABSENT:
        return !seat->was_there;
    case TC_NAME_REFUSED:
        return seat->said_no;
    case TC_NAME_UNTOLD:
        break;
    }
    return !seat->is_told;
}

const char *tc_rounds_names(tc_rounds *r, tc_naming naming) {
    size_t length = 0, named = 0, left = 0;
    r->names[0] = '\0';
    for (size_t i = 0; i < r->enrolment->seat_count; i++) {
        const tc_seat *seat = &r->enrolment->seats[i];
        if (!is_named(r, seat, naming))
            continue;
        size_t more = strlen(seat->name) + 2;
        if (left > 0 || named == MOST_NAMED || length + more + 32 > sizeof r->names) {
            left++;
            continue;
        }
        int wrote = snprintf(r->names + length, sizeof r->names - length, "%s%s", length > 0 ? ", " : "", seat->name);
        length += wrote > 0 ? (size_t)wrote : 0;
        named++;
    }
    if (left > 0)
        (void)snprintf(r->names + length, sizeof r->names - length, " and %zu more", left);
    return r->names;
}

void tc_rounds_tell_no(tc_rounds *r) {
    const char *names = tc_rounds_names(r, TC_NAME_REFUSED);
    if (names[0] != '\0' && tc_reporter_has_room(r->settings.reporter))
        TC_LOG(r->settings.reporter->log, TC_EVENT_NOT_HELD, tc_log_agents(names));
}

static void arm(tc_rounds *r, double at) {
    double wait = fmin(fmax(at - tc_serve_now(), 0), 1e6);
    struct timeval time = {.tv_sec = (time_t)wait, .tv_usec = (suseconds_t)(1e6 * (wait - floor(wait)))};
    if (event_add(&r->late, &time) != 0)
        tc_rounds_break(r, r->lanes, TC_RUN_FAILED, TC_NO_MEMORY);
}

/* When the last round of --feasible always is given up: averages that cannot come are not waited for. */
static double last_deadline(const tc_rounds *r) {
    bool is_last = r->settings.method == TC_WIRE_CERTAIN && r->open == r->settings.rounds;
    return is_last && r->settings.late.last > 0 ? r->opened_at + r->settings.late.last : (double)INFINITY;
}

/* Nothing of the last round was released. Agents keep their averages as they are, and nothing is certain of them. */
static void give_up_last(tc_rounds *r) {
    tc_rounds_over(r, TC_END_DONE);
    if (r->is_over) /* the journal has it */
        TC_LOG(r->settings.reporter->log, TC_EVENT_NOT_CERTAIN, tc_log_round(r->last),
               tc_log_count("missing", r->missing), tc_log_agents(tc_rounds_names(r, TC_NAME_MISSING)));
}

void tc_late_open(tc_rounds *r) {
    r->opened_at = tc_serve_now();
    r->warn_after = r->settings.late.deadline;
    r->warn_at = r->opened_at + r->warn_after;
    arm(r, fmin(r->warn_at, last_deadline(r)));
}

/* Holds the agents whose deadline has passed. Returns the next deadline, INFINITY for none. */
static double hold(tc_rounds *r, double now) {
    double next = INFINITY;
    const tc_late_policy *policy = &r->settings.late;
    for (size_t i = 0; i < r->enrolment->seat_count; i++) {
        tc_seat *seat = &r->enrolment->seats[i];
        if (!tc_rounds_misses(r, seat) || seat->taken == 0 || seat->holds >= policy->most_holds)
            continue;
        double limit = fmax(r->opened_at, seat->enrolled_at) + policy->deadline;
        if (limit > now) {
            next = fmin(next, limit);
            continue;
        }
        seat->held = r->open;
        r->held++;
        atomic_fetch_sub(&r->missing, 1);
        tc_report_agent(r->settings.reporter, TC_EVENT_HELD, seat->name);
    }
    return next;
}

static void be_late(tc_rounds *r) {
    double now = tc_serve_now(), next = INFINITY;
    if (r->is_over || r->half == NULL || r->end != TC_RUN_GOES_ON || r->stop_at > 0)
        return;
    if (atomic_load(&r->answering) > 0) { /* some agents do not have the last answer yet: the deadline begins anew */
        tc_late_open(r);
        return;
    }
    if (r->settings.late.holds) /* without any agent enrolled, nothing is held */
        next = r->enrolment->enrolled > 0 ? hold(r, now) : now + r->settings.late.deadline;
    if (r->missing == 0) {
        tc_rounds_complete(r, r->lanes);
        return;
    }
    if (now >= r->warn_at) {
        TC_LOG(r->settings.reporter->log, TC_EVENT_WAITING, tc_log_round(r->open), tc_log_count("missing", r->missing),
               tc_log_agents(tc_rounds_names(r, TC_NAME_MISSING)), tc_log_seconds("seconds", now - r->opened_at));
        tc_rounds_tell_no(r);
        r->warn_after *= 2;
        r->warn_at = r->opened_at + r->warn_after;
    }
    if (now >= last_deadline(r))
        give_up_last(r);
    else
        arm(r, fmin(fmin(next, r->warn_at), last_deadline(r)));
}

void tc_late_on_time(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_rounds *r = context;
    tc_rounds_enter(r->lanes);
    be_late(r);
    tc_rounds_leave(r->lanes);
}

/* ---- a round ---- */

const char *tc_run_end_name(tc_run_end end) {
    static const char *const names[] = {
#define X(code, name) name,
        TC_RUN_ENDS(X)
#undef X
    };
    return names[end];
}

void tc_rounds_break(tc_rounds *r, tc_lane *lane, tc_run_end end, tc_status status) {
    if (r->end == TC_RUN_GOES_ON) {
        r->end = end;
        r->status = status;
    }
    if (end == TC_RUN_FAILED)
        r->figures->phase = TC_PHASE_FAILED;
    tc_rounds_errand(lane, TC_ERRAND_BREAK);
}

void tc_rounds_log_journal(tc_rounds *r, uint64_t round) {
    const tc_journal *journal = r->settings.journal;
    TC_LOG(r->settings.reporter->log, tc_journal_is_lost(journal) ? TC_EVENT_FENCED : TC_EVENT_JOURNAL_FAILED,
           tc_log_round(round), tc_log_why(tc_journal_trouble(journal)));
}

/* Answers are prepared while the disk works, for half of the time that it took lately: what is prepared for longer
 * keeps the first ones waiting, and their agents idle. */
static tc_status commit(tc_rounds *r, uint64_t k, const unsigned char input[TC_STATES_MAC], tc_answer_scalars scalars) {
    tc_journal *journal = r->settings.journal;
    tc_journal_round row = {.round = k,
                            .step = scalars.step,
                            .regularization = scalars.regularization,
                            .answers = r->next_answers,
                            .answer_count = r->settings.model->state_count,
                            .snapshot = r->snapshot,
                            .snapshot_size = r->snapshot_size};
    _Static_assert((int)TC_STATES_MAC == (int)TC_INPUT_MAC, "the journal keeps what identifies a round's input");
    memcpy(row.input, input, TC_INPUT_MAC);
    tc_cloud_half_save(r->half, r->snapshot);
    double began = tc_serve_now();
    tc_status status = tc_journal_commit_start(journal, &row);
    double started = tc_serve_now(), prepared = started;
    if (status == TC_OK) {
        tc_answers_seal(r, k, scalars, started + r->disk_seconds / 2);
        prepared = tc_serve_now();
        status = tc_journal_commit_wait(journal);
    }
    double done = tc_serve_now();
    r->disk_seconds += (done - started - r->disk_seconds) / 8;
    if (status == TC_OK)
        tc_figures_commit(r->figures, started - began + done - prepared);
    else
        tc_sealed_discard(&r->lanes->sealed);
    return status;
}

/* From here on the round counts as released. */
static void take_over(tc_rounds *r, uint64_t k, tc_answer_scalars scalars) {
    double *before = r->answers;
    r->answers = r->next_answers;
    r->next_answers = before;
    r->scalars = scalars;
    r->last = k;
    r->open = k + 1;
    atomic_store(&r->missing, r->enrolment->seat_count);
    atomic_store(&r->answering, r->lanes->count);
    r->has_released = true;
    r->figures->phase = TC_PHASE_RUNNING;
    r->figures->round = k;
    r->figures->held += r->held;
    tc_answers_count_holds(r);
}

static void go_on(tc_rounds *r, uint64_t k) {
    if (k >= r->settings.rounds) {
        tc_rounds_over(r, TC_END_DONE);
        return;
    }
    tc_status status = tc_cloud_half_prepare(r->half, k + 1);
    if (status != TC_OK)
        tc_rounds_break(r, r->lanes, TC_RUN_FAILED, status);
    else
        tc_late_open(r);
}

/* The last round's answers go out before the next round is released: so each connection gets all of them. */
static bool is_complete(const tc_rounds *r) {
    return tc_rounds_may_release(r) && atomic_load(&r->missing) == 0 && atomic_load(&r->answering) == 0;
}

/* Under the lock. True: the round is in the journal, and answers may leave. Only from here on does any lane see them:
 * take_over publishes them after the commit, before the lock is given back. */
static bool release(tc_rounds *r) {
    uint64_t k = r->open;
    unsigned char input[TC_STATES_MAC];
    tc_answer_scalars scalars;
    tc_engine_outcome outcome = TC_ENGINE_DONE;
    tc_status status = TC_OK;
    if (!r->has_released && r->settings.before_first != NULL)
        status = r->settings.before_first(r->settings.context);
    if (status == TC_OK)
        status = tc_cloud_half_round(r->half, k, &scalars, r->next_answers, input, &outcome);
    if (status == TC_OK && outcome != TC_ENGINE_DONE) {
        TC_LOG(r->settings.reporter->log, TC_EVENT_DIVERGED, tc_log_round(k),
               tc_log_why(tc_cloud_half_reason(r->half)));
        tc_rounds_over(r, TC_END_DIVERGED);
        return false;
    }
    if (status == TC_OK) {
        status = commit(r, k, input, scalars);
        if (status != TC_OK)
            tc_rounds_log_journal(r, k);
    }
    if (status != TC_OK) {
        r->half = NULL; /* take and release nothing any more */
        tc_rounds_break(r, r->lanes, TC_RUN_FAILED, status);
        return false;
    }
    take_over(r, k, scalars);
    return true;
}

/* Releases and commits, and then all lanes answer at once. */
static void release_and_answer(tc_rounds *r) {
    tc_lane *main = r->lanes;
    tc_lock_take(main);
    bool is_released = is_complete(r) && release(r);
    uint64_t k = r->last;
    for (size_t i = 1; is_released && i < main->count; i++) {
        tc_ring_move(&main[i].unanswered, &main[i].seated);
        tc_lane_ask(&main[i], TC_ASK_ANSWER);
    }
    tc_lock_give(main);
    if (!is_released)
        return;
    tc_answers_all(r, main);
    if (r->settings.after_round != NULL)
        r->settings.after_round(r->settings.context, k, r->scalars);
    tc_lock_take(main);
    go_on(r, k);
    tc_lock_give(main);
}

void tc_rounds_complete(tc_rounds *r, tc_lane *lane) {
    if (!(r->settings.tick > 0))
        tc_rounds_errand(lane, TC_ERRAND_RELEASE);
}

/* ---- lanes ---- */

void tc_rounds_lock(tc_rounds *r) {
    if (r != NULL && r->lanes != NULL)
        tc_lock_take(r->lanes);
}

void tc_rounds_unlock(tc_rounds *r) {
    if (r != NULL && r->lanes != NULL)
        tc_lock_give(r->lanes);
}

/* Errands do not nest: those that come up meanwhile are done afterwards. */
static void do_errands(tc_rounds *r) {
    tc_lane *main = r->lanes;
    if (r->is_on_errands)
        return;
    r->is_on_errands = true;
    for (unsigned errands; (errands = atomic_exchange(&main->errands, 0)) != 0;) {
        if ((errands & TC_ERRAND_BREAK) != 0)
            (void)event_base_loopbreak(r->settings.base);
        if ((errands & TC_ERRAND_RELEASE) != 0)
            release_and_answer(r);
        tc_lock_take(main);
        if ((errands & TC_ERRAND_TIMER) != 0)
            tc_ending_timer(r);
        if ((errands & TC_ERRAND_CHECK) != 0)
            tc_ending_check(r);
        tc_lock_give(main);
    }
    r->is_on_errands = false;
}

void tc_rounds_errand(tc_lane *lane, unsigned what) {
    tc_lane *main = lane->first;
    unsigned before = atomic_fetch_or(&main->errands, what);
    if (lane != main) {
        if (before == 0)
            main->ring(main->loop);
    } else if (main->depth == 0) {
        do_errands(main->rounds);
    }
}

void tc_rounds_enter(tc_lane *lane) { tc_lock_take(lane); }

void tc_rounds_leave(tc_lane *lane) {
    tc_lock_give(lane);
    if (tc_lane_is_main(lane) && lane->depth == 0 && atomic_load(&lane->errands) != 0)
        do_errands(lane->rounds);
}

void tc_rounds_ask(tc_rounds *r, unsigned what) {
    for (size_t i = 1; i < r->lanes->count; i++)
        tc_lane_ask(&r->lanes[i], what);
    tc_answers_do(r, r->lanes, what);
}

void tc_lane_turn(tc_lane *lane) {
    tc_rounds *r = lane->rounds;
    for (unsigned asked; (asked = tc_lane_asked(lane)) != 0;) {
        if ((asked & TC_ASK_ANSWER) != 0)
            tc_answers_all(r, lane);
        tc_rounds_enter(lane);
        tc_answers_do(r, lane, asked);
        tc_rounds_leave(lane);
    }
    if (tc_lane_is_main(lane))
        do_errands(r);
}

void tc_rounds_journal_failed(tc_rounds *r) {
    tc_rounds_enter(r->lanes);
    if (r->end == TC_RUN_GOES_ON) {
        tc_rounds_log_journal(r, r->last);
        tc_rounds_break(r, r->lanes, TC_RUN_FAILED, TC_CANNOT_WRITE);
    }
    tc_rounds_leave(r->lanes);
}

/* ---- ticks ----
 *
 * Nothing happens to a round before its tick. So nothing outside, pages and journal included, shows when the last state
 * came. */

static void arm_tick(tc_rounds *r) {
    double wait = fmax(r->tick_at - tc_serve_now(), 0);
    struct timeval time = {.tv_sec = (time_t)wait, .tv_usec = (suseconds_t)(1e6 * (wait - floor(wait)))};
    if (event_add(&r->tick, &time) != 0)
        tc_rounds_break(r, r->lanes, TC_RUN_FAILED, TC_NO_MEMORY);
}

void tc_ticks_begin(tc_rounds *r) {
    if (!(r->settings.tick > 0))
        return;
    r->ticks_from = tc_serve_now();
    r->tick_at = r->ticks_from + r->settings.tick;
    arm_tick(r);
}

void tc_ticks_come(tc_rounds *r) { tc_rounds_errand(r->lanes, TC_ERRAND_RELEASE); }

/* The event base uses a coarser clock and may call some milliseconds early; one tick must not count twice. */
void tc_ticks_on_time(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_rounds *r = context;
    if (tc_serve_now() >= r->tick_at) {
        tc_ticks_come(r);
        r->tick_at = tc_tick_after(r->ticks_from, r->settings.tick, tc_serve_now());
    }
    tc_rounds_enter(r->lanes);
    if (tc_rounds_may_release(r))
        arm_tick(r);
    tc_rounds_leave(r->lanes);
}
