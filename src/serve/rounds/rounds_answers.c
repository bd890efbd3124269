/* Answers: each connection's in one piece, encoded where they are sent from. */
#include "serve/rounds/rounds_parts.h"

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

/* A component of all members is one array: an agent's own are apart by as many as there are. */
static const double *gather(const tc_rounds *r, const tc_seat *seat) {
    const double *from = r->answers + seat->first_coord;
    if (seat->stride == 1 || seat->states == 1)
        return from;
    for (uint32_t c = 0; c < seat->states; c++)
        r->one[c] = from[c * seat->stride];
    return r->one;
}

static size_t put_answer(tc_rounds *r, const tc_seat *seat, unsigned flags, unsigned char *bytes) {
    tc_answer answer = {.slot = seat->slot,
                        .round = r->last,
                        .flags = (uint16_t)flags,
                        .step = r->scalars.step,
                        .regularization = r->scalars.regularization,
                        .states = seat->states};
    tc_answer_encode(&answer, gather(r, seat), bytes);
    return tc_answer_size(seat->states);
}

/* Of the first sending alone: the journal does not have them, and an answer that is sent again is as it says. */
static unsigned flags_of(const tc_rounds *r, const tc_seat *seat) {
    return (seat->clamped == r->last ? TC_ANSWER_CLAMPED : 0U) | (seat->is_held ? TC_ANSWER_HELD : 0U);
}

static size_t put_lost(const tc_rounds *r, const tc_seat *seat, unsigned char *bytes) {
    tc_note note = {.slot = seat->slot, .round = r->open - 1, .code = TC_NOTE_LOST};
    tc_note_encode(&note, bytes);
    return TC_NOTE_SIZE;
}

/* A connection that has not taken the answers before gets these when it has; never a queue. */
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

static void answer_party(tc_rounds *r, tc_party *party) {
    size_t size = 0;
    if (!tc_link_is_drained(party->link)) {
        owe(r, party);
        return;
    }
    for (size_t i = 0; i < party->room; i++) {
        tc_seat *seat = tc_party_at(r->enrolment, party, i);
        if (seat == NULL)
            continue;
        size += put_answer(r, seat, flags_of(r, seat), r->batch + size);
        seat->is_held = false;
    }
    r->figures->answers += party->count;
    tc_link_send(party->link, r->batch, size);
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
    r->held = 0;
}

static void fetch(const void *what, size_t size) {
    for (size_t i = 0; i < size; i += 64)
        __builtin_prefetch((const char *)what + i);
}

/* A thousand connections do not stay in a cache from round to round: what the next one needs comes while this one
 * sends. The head of the ring is no party, and what is asked for in its place does no harm. */
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

/* A link that fails takes its own party with it and no other. */
void tc_answers_all(tc_rounds *r) {
    if (r->held > 0)
        count_holds(r);
    for (tc_ring *at = r->enrolment->seated.after, *after; at != &r->enrolment->seated; at = after) {
        after = at->after;
        look_ahead(r, after);
        answer_party(r, (tc_party *)(void *)at);
    }
}

void tc_answers_again(tc_rounds *r, tc_seat *seat) {
    tc_party *party = seat->party;
    if (!tc_link_is_drained(party->link)) {
        seat->is_owed = party->is_owed = true;
        return;
    }
    r->figures->answers_again++;
    size_t size = put_answer(r, seat, 0, r->batch);
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
        size += put_answer(r, seat, 0, r->batch + size);
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
        size += put_answer(r, seat, 0, r->batch + size);
        r->figures->answers_again++;
    } else if (!tc_rounds_has_answer(r) && seat->answered + 1 < r->open) {
        size += put_lost(r, seat, r->batch + size);
    }
    tc_link_send(party->link, r->batch, size);
}
