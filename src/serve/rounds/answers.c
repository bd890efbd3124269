/* What agents are told: the answers of a round, sent in one piece for each connection, and the end of the run. */
#include "serve/rounds/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool tc_batch_reserve(const tc_rounds *r, tc_lane *lane) {
    size_t needed = r->enrolment->batch_bytes + tc_rounds_most_enrolled(r->enrolment->most_states);
    if (needed <= lane->batch_room)
        return true;
    unsigned char *larger = realloc(lane->batch, needed);
    if (larger == NULL)
        return false;
    lane->batch = larger;
    lane->batch_room = needed;
    return true;
}

typedef struct content { /* of a round's answers */
    uint64_t round;
    tc_answer_scalars scalars;
    const double *answers;
} content;

static content last_of(const tc_rounds *r) {
    return (content){.round = r->last, .scalars = r->scalars, .answers = r->answers};
}

/* Each component is an array over all members, so an agent's components are `stride` numbers apart. */
static const double *gather(const content *c, const tc_seat *seat) {
    double *one = seat->party->lane->one;
    const double *from = c->answers + seat->first_coord;
    if (seat->stride == 1 || seat->states == 1)
        return from;
    for (uint32_t i = 0; i < seat->states; i++)
        one[i] = from[i * seat->stride];
    return one;
}

static size_t put_answer(const content *c, const tc_seat *seat, unsigned flags, unsigned char *bytes) {
    tc_answer answer = {.slot = seat->slot,
                        .round = c->round,
                        .flags = (uint16_t)flags,
                        .step = c->scalars.step,
                        .regularization = c->scalars.regularization,
                        .states = seat->states};
    tc_answer_encode(&answer, gather(c, seat), bytes);
    return tc_answer_size(seat->states);
}

/* That its state was moved is told as long as this process lives, since the agent's average rests on it; that one was
 * used again at the first sending alone. The journal stores no flags. */
static unsigned flags_of(const content *c, const tc_seat *seat, bool is_first) {
    return (seat->clamped == c->round ? TC_ANSWER_CLAMPED : 0U) |
           (is_first && seat->held == c->round ? TC_ANSWER_HELD : 0U);
}

static size_t put_last(const tc_rounds *r, const tc_seat *seat, unsigned char *bytes) {
    content last = last_of(r);
    return put_answer(&last, seat, flags_of(&last, seat, false), bytes);
}

static size_t put_lost(const tc_rounds *r, const tc_seat *seat, unsigned char *bytes) {
    tc_note note = {.slot = seat->slot, .round = r->open - 1, .code = TC_NOTE_LOST};
    tc_note_encode(&note, bytes);
    return TC_NOTE_SIZE;
}

/* A connection that has not read the last answers is skipped and gets the newest ones later; answers never queue up. */
static void owe(tc_rounds *r, tc_party *party) {
    party->is_owed = true;
    for (size_t i = 0; i < party->room; i++) {
        tc_seat *seat = tc_party_at(r->enrolment, party, i);
        if (seat != NULL)
            seat->is_owed = true;
    }
}

/* The answers of a connection, in its lane's batch. */
static size_t put_answers(const tc_rounds *r, const content *c, const tc_party *party) {
    size_t size = 0;
    for (size_t i = 0; i < party->room; i++) {
        tc_seat *seat = tc_party_at(r->enrolment, party, i);
        if (seat != NULL)
            size += put_answer(c, seat, flags_of(c, seat, true), party->lane->batch + size);
    }
    party->lane->answers += party->count;
    return size;
}

void tc_answers_count_holds(tc_rounds *r) {
    for (size_t i = 0; r->held > 0 && i < r->enrolment->seat_count; i++)
        r->enrolment->seats[i].holds += r->enrolment->seats[i].held == r->last;
    r->held = 0;
}

static void fetch(const void *what, size_t size) {
    for (size_t i = 0; i < size; i += 64)
        __builtin_prefetch((const char *)what + i);
}

static tc_party *first_unanswered(const tc_lane *lane) { return (tc_party *)(void *)lane->unanswered.after; }

/* A thousand connections do not stay in the cache between rounds, so the next one is prefetched while this one sends.
 * Prefetching the ring's head, which is no party, is harmless. */
static void look_ahead(const tc_rounds *r, const tc_lane *lane) {
    const tc_enrolment *e = r->enrolment;
    const tc_ring *after = lane->unanswered.after;
    if (after == &lane->unanswered)
        return;
    const tc_party *next = (const tc_party *)(const void *)after;
    fetch(after->after, sizeof *next);
    fetch(next->link, sizeof *next->link);
    if (next->one.seat != 0)
        fetch(&e->seats[next->one.seat - 1], sizeof *e->seats);
}

/* If the commit fails, the run ends: what this changes in seats and figures does not matter then. A failing link
 * removes its own party and no other. The other lanes' connections are not prepared: their loops encrypt after the
 * commit, side by side. */
void tc_answers_seal(tc_rounds *r, uint64_t k, tc_answer_scalars scalars, double until) {
    content next = {.round = k, .scalars = scalars, .answers = r->next_answers};
    tc_lane *lane = r->lanes;
    tc_ring_move(&lane->unanswered, &lane->seated);
    bool goes_on = tc_journal_is_under_way(r->settings.journal);
    for (; goes_on && !tc_ring_is_empty(&lane->unanswered); goes_on = tc_serve_now() < until) {
        tc_party *party = first_unanswered(lane);
        if (tc_link_is_drained(party->link) && !tc_link_may_seal(party->bytes, &lane->sealed))
            return;
        tc_ring_join(&lane->seated, &party->ring);
        look_ahead(r, lane);
        if (tc_link_is_drained(party->link))
            tc_link_seal(party->link, lane->batch, put_answers(r, &next, party), &lane->sealed);
        else
            owe(r, party);
    }
}

/* The next connection that is not answered yet, and its answers in the lane's batch; NULL after the last. */
static tc_link *next_answers(tc_rounds *r, tc_lane *lane, size_t *size) {
    tc_link *link = NULL;
    *size = 0;
    tc_gate_take(lane);
    if (!tc_ring_is_empty(&lane->unanswered)) {
        content last = last_of(r);
        tc_party *party = first_unanswered(lane);
        tc_ring_join(&lane->seated, &party->ring);
        look_ahead(r, lane);
        link = party->link;
        if (tc_link_is_drained(link))
            *size = put_answers(r, &last, party);
        else
            owe(r, party);
    }
    tc_gate_give(lane);
    return link;
}

/* Sends it with the next ones. Too long for that: at once. */
static void send_together(tc_lane *lane, tc_link *link, size_t size) {
    tc_sealed *sealed = &lane->sealed;
    if (!tc_link_may_seal(size, sealed))
        tc_sealed_send(sealed);
    if (tc_link_may_seal(size, sealed))
        tc_link_seal(link, lane->batch, size, sealed);
    else
        tc_link_send(link, lane->batch, size);
    if (sealed->count >= tc_link_together(link))
        tc_sealed_send(sealed);
}

/* While a connection's answers are sealed and sent no gate is held. Meanwhile any connection may leave the list: this
 * one if it breaks, another one if another lane's connection takes its agent. */
void tc_answers_all(tc_rounds *r, tc_lane *lane) {
    size_t size;
    tc_sealed_send(&lane->sealed); /* what was prepared while the disk worked */
    for (tc_link *link; (link = next_answers(r, lane, &size)) != NULL;)
        send_together(lane, link, size);
    tc_sealed_send(&lane->sealed);
    if (lane->answered != NULL)
        lane->answered(lane->loop);
    if (atomic_fetch_sub(&r->answering, 1) == 1 && !(r->settings.tick > 0))
        tc_rounds_errand(lane, TC_ERRAND_RELEASE); /* the next round may be complete already */
}

uint64_t tc_rounds_answers(tc_rounds *r) {
    uint64_t all = 0;
    tc_lock_take(r->lanes);
    for (size_t i = 0; i < r->lanes->count; i++)
        all += r->lanes[i].answers;
    tc_lock_give(r->lanes);
    return all;
}

void tc_answers_again(tc_rounds *r, tc_seat *seat) {
    tc_party *party = seat->party;
    if (!tc_link_is_drained(party->link)) {
        seat->is_owed = party->is_owed = true;
        return;
    }
    r->figures->answers_again++;
    size_t size = put_last(r, seat, party->lane->batch);
    tc_link_send(party->link, party->lane->batch, size);
}

void tc_answers_owed(tc_rounds *r, tc_party *party) {
    size_t size = 0;
    party->is_owed = false;
    for (size_t i = 0; i < party->room; i++) {
        tc_seat *seat = tc_party_at(r->enrolment, party, i);
        if (seat == NULL || !seat->is_owed)
            continue;
        seat->is_owed = false;
        if (!tc_rounds_has_answer(r))
            continue;
        size += put_last(r, seat, party->lane->batch + size);
        party->lane->answers++;
    }
    tc_link_send(party->link, party->lane->batch, size);
}

void tc_answers_enrolled(tc_rounds *r, tc_seat *seat) {
    tc_party *party = seat->party;
    tc_enrolled enrolled = {.slot = seat->slot,
                            .next = r->open,
                            .states = seat->states,
                            .exponent = r->settings.exponent,
                            .method = r->settings.method,
                            .rounds = r->settings.rounds,
                            .scales = r->scales[seat->family]};
    unsigned char *batch = party->lane->batch;
    tc_enrolled_encode(&enrolled, batch);
    size_t size = tc_enrolled_size(&enrolled);
    if (tc_rounds_has_answer(r) && seat->answered < r->last) {
        size += put_last(r, seat, batch + size);
        r->figures->answers_again++;
    } else if (!tc_rounds_has_answer(r) && seat->answered + 1 < r->open) {
        size += put_lost(r, seat, batch + size);
    }
    tc_link_send(party->link, batch, size);
}

/* ==== The end of a run or of this process ====
 *
 * Enrolled agents are told at once. Absent ones have some time to come for the last answer. */

static const double TELL_AFTER = 0.25; /* seconds for a connection's other agents to enrol first */

static void arm(tc_rounds *r, double wait) {
    wait = fmin(fmax(wait, 0), 1e6);
    struct timeval time = {.tv_sec = (time_t)wait, .tv_usec = (suseconds_t)(1e6 * (wait - floor(wait)))};
    (void)event_del(&r->ending);
    if (event_add(&r->ending, &time) != 0)
        tc_rounds_break(r, r->lanes, TC_RUN_FAILED, TC_NO_MEMORY);
}

/* Sends the last answer first, if it is still owed. */
static void tell(tc_rounds *r, tc_party *party) {
    unsigned char bytes[TC_END_SIZE];
    tc_link *link = party->link;
    if (party->has_end || !party->has_greeted || (r->is_over && tc_serve_now() < party->tell_at))
        return;
    party->has_end = true;
    for (size_t i = 0; r->is_over && i < party->room; i++) {
        tc_seat *seat = tc_party_at(r->enrolment, party, i);
        if (seat != NULL)
            seat->is_told = true;
    }
    if (party->is_owed)
        tc_answers_owed(r, party);
    if (tc_link_user(link) == NULL) /* it broke */
        return;
    tc_end end = {.round = r->last, .reason = r->is_over ? r->reason : TC_END_STOPPED};
    tc_end_encode(&end, bytes);
    tc_link_send(link, bytes, sizeof bytes);
}

static void for_each(tc_rounds *r, tc_ring *ring, void (*act)(tc_rounds *r, tc_party *party)) {
    for (tc_ring *at = ring->after, *after; at != ring; at = after) {
        after = at->after;
        act(r, (tc_party *)(void *)at);
    }
}

static void close_party(tc_rounds *r, tc_party *party) {
    (void)r;
    if (party->has_end)
        tc_link_close(party->link);
}

static void close_drained(tc_rounds *r, tc_party *party) {
    (void)r;
    if (tc_link_is_drained(party->link))
        tc_link_close(party->link);
}

/* ---- a lane's part ---- */

static void tell_enrolled(tc_rounds *r, tc_party *party) {
    tc_link *link = party->link;
    for (size_t i = 0; tc_link_user(link) != NULL && i < party->room; i++) {
        tc_seat *seat = tc_party_at(r->enrolment, party, i);
        if (seat == NULL || !seat->is_waiting)
            continue;
        seat->is_waiting = false;
        tc_answers_enrolled(r, seat);
    }
}

/* A failing link removes its own party and no other. */
void tc_answers_do(tc_rounds *r, tc_lane *lane, unsigned what) {
    if ((what & TC_ASK_ENROLLED) != 0)
        for_each(r, &lane->seated, tell_enrolled);
    if ((what & TC_ASK_NOTICES) != 0)
        tc_enrolment_notify(r->enrolment, lane);
    if ((what & TC_ASK_TELL) != 0) {
        for_each(r, &lane->seated, tell);
        for_each(r, &lane->idle, tell);
    }
    if ((what & TC_ASK_CLOSE_TOLD) != 0)
        for_each(r, &lane->seated, close_party);
    if ((what & TC_ASK_CLOSE_DRAINED) != 0) {
        for_each(r, &lane->seated, close_drained);
        for_each(r, &lane->idle, close_drained);
    }
    if ((what & TC_ASK_CLOSE_IDLE) != 0)
        tc_enrolment_tick(r->enrolment, lane);
}

/* ---- the run is over ---- */

static void finish_over(tc_rounds *r) {
    bool are_sure = true;
    for (size_t i = 0; i < r->enrolment->seat_count; i++)
        are_sure = are_sure && r->enrolment->seats[i].is_sure;
    if (are_sure)
        tc_journal_set_told(r->settings.journal);
    tc_rounds_break(r, r->lanes, r->reason == TC_END_DONE ? TC_RUN_DONE : TC_RUN_DIVERGED, TC_OK);
}

static bool are_all_told(const tc_rounds *r) {
    for (size_t i = 0; i < r->enrolment->seat_count; i++)
        if (!r->enrolment->seats[i].is_told)
            return false;
    return true;
}

static tc_serve_phase phase_of(tc_end_reason reason) { return reason == TC_END_DONE ? TC_PHASE_DONE : TC_PHASE_FAILED; }

static void begin_over(tc_rounds *r, tc_end_reason reason) {
    r->is_over = true;
    r->reason = reason;
    r->half = NULL;
    r->news_at = tc_serve_now();
    r->figures->phase = phase_of(reason);
    (void)event_del(&r->late);
    (void)event_del(&r->tick);
    arm(r, TELL_AFTER);
}

void tc_rounds_begin_over(tc_rounds *r, tc_end_reason reason) {
    tc_rounds_enter(r->lanes);
    begin_over(r, reason);
    tc_rounds_leave(r->lanes);
}

void tc_rounds_end_told(tc_rounds *r, tc_end_reason reason) {
    tc_rounds_enter(r->lanes);
    r->is_over = true;
    r->reason = reason;
    r->figures->phase = phase_of(reason);
    for (size_t i = 0; i < r->enrolment->seat_count; i++)
        r->enrolment->seats[i].is_told = true;
    finish_over(r);
    tc_rounds_leave(r->lanes);
}

void tc_rounds_over(tc_rounds *r, tc_end_reason reason) {
    tc_status status = tc_journal_finish(r->settings.journal, reason);
    if (status != TC_OK) {
        tc_rounds_log_journal(r, r->last);
        r->half = NULL;
        tc_rounds_break(r, r->lanes, TC_RUN_FAILED, status);
        return;
    }
    begin_over(r, reason);
    tc_rounds_ask(r, TC_ASK_TELL);
    tc_ending_check(r);
}

/* An agent extends the wait only the first time it comes back. */
void tc_ending_again(tc_rounds *r, tc_seat *seat) {
    double now = tc_serve_now();
    if (!seat->came_for_end)
        r->news_at = now;
    seat->came_for_end = true;
    seat->party->tell_at = now + TELL_AFTER;
    r->ending_wait = TELL_AFTER;
    tc_rounds_errand(seat->party->lane, TC_ERRAND_TIMER);
}

void tc_ending_timer(tc_rounds *r) {
    if (!event_pending(&r->ending, EV_TIMEOUT, NULL))
        arm(r, r->ending_wait);
}

static bool is_anybody_seated(const tc_rounds *r) {
    for (size_t i = 0; i < r->lanes->count; i++)
        if (!tc_ring_is_empty(&r->lanes[i].seated) || !tc_ring_is_empty(&r->lanes[i].unanswered))
            return true;
    return false;
}

void tc_ending_check(tc_rounds *r) {
    if (r->end != TC_RUN_GOES_ON)
        return;
    if (r->stop_at > 0)
        tc_rounds_ask(r, TC_ASK_CLOSE_DRAINED);
    if (is_anybody_seated(r))
        return;
    if (r->stop_at > 0)
        tc_rounds_break(r, r->lanes, TC_RUN_STOPPED, TC_OK);
    else if (r->is_over && are_all_told(r))
        finish_over(r);
}

/* Closes connections that stay two seconds after they were told. Absent agents have until the late deadline or
 * end_patience, whichever is longer, counted from the last time that any agent came. */
static void end_on_time(tc_rounds *r) {
    double since = tc_serve_now() - r->news_at, patience = fmax(r->settings.late.deadline, r->settings.end_patience);
    if (r->end != TC_RUN_GOES_ON)
        return;
    if (!r->is_over) {
        tc_rounds_break(r, r->lanes, TC_RUN_STOPPED, TC_OK);
        return;
    }
    tc_rounds_ask(r, TC_ASK_TELL);
    if (since >= TC_LINK_PART_SECONDS || since >= patience)
        tc_rounds_ask(r, TC_ASK_CLOSE_TOLD);
    tc_ending_check(r);
    if (r->end == TC_RUN_GOES_ON && since >= patience)
        finish_over(r);
    if (r->end == TC_RUN_GOES_ON)
        arm(r, fmin(TC_LINK_PART_SECONDS, patience) / 4);
}

void tc_ending_on_time(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_rounds *r = context;
    tc_rounds_enter(r->lanes);
    end_on_time(r);
    tc_rounds_leave(r->lanes);
}

static void stop(tc_rounds *r, double seconds) {
    if (r->is_over) {
        finish_over(r);
        return;
    }
    if (r->stop_at > 0 || seconds <= 0) {
        tc_rounds_break(r, r->lanes, TC_RUN_STOPPED, TC_OK);
        return;
    }
    r->stop_at = tc_serve_now() + seconds;
    r->figures->phase = TC_PHASE_STOPPING;
    (void)event_del(&r->late);
    (void)event_del(&r->tick);
    arm(r, seconds);
    tc_rounds_ask(r, TC_ASK_TELL);
    tc_ending_check(r);
}

void tc_rounds_stop(tc_rounds *r, double seconds) {
    tc_rounds_enter(r->lanes);
    stop(r, seconds);
    tc_rounds_leave(r->lanes);
}
