/* What agents are told: the answers of a round, sent in one piece for each connection, and the end of the run. */
#include "serve/rounds/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool tc_batch_reserve(tc_rounds *r) {
    size_t needed = r->enrolment->batch_bytes + TC_ENROLLED_SIZE;
    if (needed <= r->batch_room)
        return true;
    unsigned char *larger = realloc(r->batch, needed);
    if (larger == NULL)
        return false;
    r->batch = larger;
    r->batch_room = needed;
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
static const double *gather(const tc_rounds *r, const content *c, const tc_seat *seat) {
    const double *from = c->answers + seat->first_coord;
    if (seat->stride == 1 || seat->states == 1)
        return from;
    for (uint32_t i = 0; i < seat->states; i++)
        r->one[i] = from[i * seat->stride];
    return r->one;
}

static size_t put_answer(const tc_rounds *r, const content *c, const tc_seat *seat, unsigned flags,
                         unsigned char *bytes) {
    tc_answer answer = {.slot = seat->slot,
                        .round = c->round,
                        .flags = (uint16_t)flags,
                        .step = c->scalars.step,
                        .regularization = c->scalars.regularization,
                        .states = seat->states};
    tc_answer_encode(&answer, gather(r, c, seat), bytes);
    return tc_answer_size(seat->states);
}

static size_t put_last(const tc_rounds *r, const tc_seat *seat, unsigned char *bytes) {
    content last = last_of(r);
    return put_answer(r, &last, seat, 0, bytes);
}

/* For the first sending only: the journal does not store flags. */
static unsigned flags_of(const content *c, const tc_seat *seat) {
    return (seat->clamped == c->round ? TC_ANSWER_CLAMPED : 0U) | (seat->is_held ? TC_ANSWER_HELD : 0U);
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
        if (seat == NULL)
            continue;
        seat->is_owed = true;
        seat->is_held = false;
    }
}

/* The answers of a connection, in r->batch. */
static size_t put_answers(tc_rounds *r, const content *c, const tc_party *party) {
    size_t size = 0;
    for (size_t i = 0; i < party->room; i++) {
        tc_seat *seat = tc_party_at(r->enrolment, party, i);
        if (seat == NULL)
            continue;
        size += put_answer(r, c, seat, flags_of(c, seat), r->batch + size);
        seat->is_held = false;
    }
    r->figures->answers += party->count;
    return size;
}

static void count_holds(tc_rounds *r) {
    for (size_t i = 0; i < r->enrolment->seat_count; i++) {
        tc_seat *seat = &r->enrolment->seats[i];
        if (!seat->is_held)
            continue;
        seat->holds++;
        if (seat->party == NULL)
            seat->is_held = false;
    }
}

static void fetch(const void *what, size_t size) {
    for (size_t i = 0; i < size; i += 64)
        __builtin_prefetch((const char *)what + i);
}

/* A thousand connections do not stay in the cache between rounds, so the next one is prefetched while this one sends.
 * Prefetching the ring's head, which is no party, is harmless. */
static void look_ahead(const tc_rounds *r, const tc_ring *after) {
    const tc_enrolment *e = r->enrolment;
    if (after == &e->seated)
        return;
    const tc_party *next = (const tc_party *)(const void *)after;
    fetch(after->after, sizeof *next);
    fetch(next->link, sizeof *next->link);
    if (next->one.seat != 0)
        fetch(&e->seats[next->one.seat - 1], sizeof *e->seats);
}

/* If the commit fails, the run ends: what this changes in seats and figures does not matter then. A failing link
 * removes its own party and no other. */
tc_ring *tc_answers_seal(tc_rounds *r, uint64_t k, tc_answer_scalars scalars) {
    content next = {.round = k, .scalars = scalars, .answers = r->next_answers};
    tc_ring *at, *after;
    if (r->held > 0)
        count_holds(r);
    bool waits = tc_journal_is_under_way(r->settings.journal);
    for (at = r->enrolment->seated.after; waits && at != &r->enrolment->seated; at = after) {
        tc_party *party = (tc_party *)(void *)at;
        after = at->after;
        look_ahead(r, after);
        if (!tc_link_is_drained(party->link)) {
            owe(r, party);
            continue;
        }
        if (!tc_link_may_seal(party->bytes, &r->sealed))
            break;
        size_t size = put_answers(r, &next, party);
        tc_link_seal(party->link, r->batch, size, &r->sealed);
    }
    return at;
}

void tc_answers_all(tc_rounds *r, tc_ring *unprepared) {
    content last = last_of(r);
    tc_sealed_send(&r->sealed);
    for (tc_ring *at = unprepared, *after; at != &r->enrolment->seated; at = after) {
        tc_party *party = (tc_party *)(void *)at;
        after = at->after;
        look_ahead(r, after);
        if (tc_link_is_drained(party->link))
            tc_link_send(party->link, r->batch, put_answers(r, &last, party));
        else
            owe(r, party);
    }
}

void tc_answers_again(tc_rounds *r, tc_seat *seat) {
    tc_party *party = seat->party;
    if (!tc_link_is_drained(party->link)) {
        seat->is_owed = party->is_owed = true;
        return;
    }
    r->figures->answers_again++;
    size_t size = put_last(r, seat, r->batch);
    tc_link_send(party->link, r->batch, size);
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
        size += put_last(r, seat, r->batch + size);
        r->figures->answers++;
    }
    tc_link_send(party->link, r->batch, size);
}

void tc_answers_enrolled(tc_rounds *r, tc_seat *seat) {
    tc_party *party = seat->party;
    tc_enrolled enrolled = {.slot = seat->slot,
                            .next = r->open,
                            .states = seat->states,
                            .exponent = r->settings.exponent,
                            .method = r->settings.method,
                            .rounds = r->settings.rounds};
    tc_enrolled_encode(&enrolled, r->batch);
    size_t size = TC_ENROLLED_SIZE;
    if (tc_rounds_has_answer(r) && seat->answered < r->last) {
        size += put_last(r, seat, r->batch + size);
        r->figures->answers_again++;
    } else if (!tc_rounds_has_answer(r) && seat->answered + 1 < r->open) {
        size += put_lost(r, seat, r->batch + size);
    }
    tc_link_send(party->link, r->batch, size);
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
        tc_rounds_break(r, TC_RUN_FAILED, TC_NO_MEMORY);
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

static void tell_all(tc_rounds *r) {
    r->is_ending = true;
    for_each(r, &r->enrolment->seated, tell);
    for_each(r, &r->enrolment->idle, tell);
    r->is_ending = false;
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

/* ---- the run will not begin ---- */

/* All agents hear the same, also those that said no: who said no depends on private sets. Not counted either, for the
 * same reason. */
static void refuse_party(tc_rounds *r, tc_party *party) {
    (void)r;
    if (!party->has_greeted)
        return;
    party->is_refused = true;
    tc_link_refuse(party->link, TC_REFUSED_OVER, "the run was given up before its first round");
}

void tc_rounds_tell_refused(tc_rounds *r) {
    r->is_ending = true;
    for_each(r, &r->enrolment->seated, refuse_party);
    for_each(r, &r->enrolment->idle, refuse_party);
    r->is_ending = false;
}

/* ---- the run is over ---- */

static void finish_over(tc_rounds *r) {
    bool are_sure = true;
    for (size_t i = 0; i < r->enrolment->seat_count; i++)
        are_sure = are_sure && r->enrolment->seats[i].is_sure;
    if (are_sure)
        tc_journal_set_told(r->settings.journal);
    tc_rounds_break(r, r->reason == TC_END_DONE ? TC_RUN_DONE : TC_RUN_DIVERGED, TC_OK);
}

static bool are_all_told(const tc_rounds *r) {
    for (size_t i = 0; i < r->enrolment->seat_count; i++)
        if (!r->enrolment->seats[i].is_told)
            return false;
    return true;
}

static tc_serve_phase phase_of(tc_end_reason reason) { return reason == TC_END_DONE ? TC_PHASE_DONE : TC_PHASE_FAILED; }

void tc_rounds_begin_over(tc_rounds *r, tc_end_reason reason) {
    r->is_over = true;
    r->reason = reason;
    r->half = NULL;
    r->news_at = tc_serve_now();
    r->figures->phase = phase_of(reason);
    (void)event_del(&r->late);
    (void)event_del(&r->tick);
    arm(r, TELL_AFTER);
}

void tc_rounds_end_told(tc_rounds *r, tc_end_reason reason) {
    r->is_over = true;
    r->reason = reason;
    r->figures->phase = phase_of(reason);
    for (size_t i = 0; i < r->enrolment->seat_count; i++)
        r->enrolment->seats[i].is_told = true;
    finish_over(r);
}

void tc_rounds_over(tc_rounds *r, tc_end_reason reason) {
    tc_status status = tc_journal_finish(r->settings.journal, reason);
    if (status != TC_OK) {
        tc_rounds_log_journal(r, r->last);
        r->half = NULL;
        tc_rounds_break(r, TC_RUN_FAILED, status);
        return;
    }
    tc_rounds_begin_over(r, reason);
    tell_all(r);
    tc_ending_check(r);
}

/* An agent extends the wait only the first time it comes back. */
void tc_ending_again(tc_rounds *r, tc_seat *seat) {
    double now = tc_serve_now();
    if (!seat->came_for_end)
        r->news_at = now;
    seat->came_for_end = true;
    seat->party->tell_at = now + TELL_AFTER;
    if (!event_pending(&r->ending, EV_TIMEOUT, NULL))
        arm(r, TELL_AFTER);
}

void tc_ending_check(tc_rounds *r) {
    if (r->is_ending || r->end != TC_RUN_GOES_ON)
        return;
    r->is_ending = true; /* closing calls back */
    if (r->stop_at > 0) {
        for_each(r, &r->enrolment->seated, close_drained);
        for_each(r, &r->enrolment->idle, close_drained);
    }
    r->is_ending = false;
    if (!tc_ring_is_empty(&r->enrolment->seated))
        return;
    if (r->stop_at > 0)
        tc_rounds_break(r, TC_RUN_STOPPED, TC_OK);
    else if (r->is_over && are_all_told(r))
        finish_over(r);
}

/* Closes connections that stay two seconds after they were told. Absent agents have until the late deadline or
 * end_patience, whichever is longer, counted from the last time that any agent came. */
void tc_ending_on_time(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_rounds *r = context;
    double since = tc_serve_now() - r->news_at, patience = fmax(r->settings.late.deadline, r->settings.end_patience);
    if (r->end != TC_RUN_GOES_ON)
        return;
    if (!r->is_over) {
        tc_rounds_break(r, r->stop_at > 0 ? TC_RUN_STOPPED : TC_RUN_REFUSED, TC_OK);
        return;
    }
    tell_all(r);
    if (since >= TC_LINK_PART_SECONDS || since >= patience) {
        r->is_ending = true;
        for_each(r, &r->enrolment->seated, close_party);
        r->is_ending = false;
    }
    tc_ending_check(r);
    if (r->end == TC_RUN_GOES_ON && since >= patience)
        finish_over(r);
    if (r->end == TC_RUN_GOES_ON)
        arm(r, fmin(TC_LINK_PART_SECONDS, patience) / 4);
}

void tc_rounds_stop(tc_rounds *r, double seconds) {
    if (r->is_over) {
        finish_over(r);
        return;
    }
    if (r->stop_at > 0 || seconds <= 0) {
        tc_rounds_break(r, TC_RUN_STOPPED, TC_OK);
        return;
    }
    r->stop_at = tc_serve_now() + seconds;
    r->figures->phase = TC_PHASE_STOPPING;
    (void)event_del(&r->late);
    (void)event_del(&r->tick);
    arm(r, seconds);
    tell_all(r);
    tc_ending_check(r);
}
