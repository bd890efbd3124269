/* What comes from connections: states, enrolments, departures, and their ends. */
#include "serve/rounds/rounds.h"

#include "noise/secret.h"

#include <string.h>

/* Whether the round was answered: it is the last one, or, with holds, any earlier one. The state came late. */
static bool is_answered(const tc_rounds *r, uint64_t round) {
    bool is_past = round + 1 == r->open || (r->settings.late.holds && round > 0 && round < r->open);
    return is_past && tc_rounds_has_answer(r);
}

static void take(tc_rounds *r, tc_seat *seat, int64_t *units) {
    seat->party->strikes = 0;
    seat->taken = r->open;
    seat->holds = 0;
    if (tc_cloud_half_take(r->half, seat->family, seat->member, units) == TC_STATE_CLAMPED)
        seat->clamped = r->open;
}

/* The usual state, under the lane's own gate: the first one of this agent in the open round. False: anything else. */
static bool take_alone(tc_lane *lane, tc_party *party, const tc_frame *frame) {
    tc_rounds *r = lane->rounds;
    bool is_taken = false, is_last = false;
    tc_gate_take(lane);
    tc_seat *seat = tc_party_seat(r->enrolment, party, frame->slot);
    if (seat != NULL && tc_rounds_may_release(r) && frame->round == r->open && seat->said != r->open &&
        tc_rounds_misses(r, seat) && tc_state_decode(frame, seat->states, lane->units) == TC_NOT_REFUSED) {
        seat->said = r->open;
        take(r, seat, lane->units);
        tc_secret_wipe(lane->units, seat->states * sizeof *lane->units);
        is_taken = true;
        is_last = atomic_fetch_sub(&r->missing, 1) == 1;
    }
    tc_gate_give(lane);
    if (is_last)
        tc_rounds_complete(r, lane);
    return is_taken;
}

static void on_state(tc_rounds *r, tc_party *party, const tc_frame *frame) {
    int64_t *units = party->lane->units;
    tc_enrolment *e = r->enrolment;
    tc_seat *seat = tc_party_seat(e, party, frame->slot);
    if (seat == NULL) {
        tc_party_refuse(e, party, frame->slot, frame->round, TC_REFUSED_SLOT, NULL);
        return;
    }
    if (is_answered(r, frame->round)) { /* the state itself is not read */
        if (seat->again != r->last || tc_party_bear(e, party)) {
            seat->again = r->last;
            tc_answers_again(r, seat);
        }
        return;
    }
    if (r->is_over || r->half == NULL || frame->round != r->open) {
        tc_party_refuse(e, party, frame->slot, frame->round, r->is_over ? TC_REFUSED_OVER : TC_REFUSED_ROUND, NULL);
        return;
    }
    if (seat->said == r->open) { /* refused unread: a comparison would reveal the first one */
        tc_party_refuse(e, party, frame->slot, frame->round, TC_REFUSED_ROUND, "the state of this round has been said");
        return;
    }
    tc_refusal_code code = tc_state_decode(frame, seat->states, units);
    if (code != TC_NOT_REFUSED) {
        tc_party_refuse(e, party, frame->slot, frame->round, code, NULL);
        return;
    }
    seat->said = r->open;
    if (seat->taken == r->open) { /* an earlier connection of this agent has sent it already */
        tc_secret_wipe(units, seat->states * sizeof *units);
        return;
    }
    take(r, seat, units);
    tc_secret_wipe(units, seat->states * sizeof *units);
    if (seat->held == r->open) { /* no longer: its state came before the round was complete */
        seat->held = 0;
        r->held--;
        return;
    }
    if (atomic_fetch_sub(&r->missing, 1) == 1)
        tc_rounds_complete(r, party->lane);
}

static void on_hello(tc_rounds *r, tc_party *party, const tc_frame *frame) {
    unsigned char bytes[TC_WELCOME_SIZE];
    tc_hello hello;
    tc_refusal_code code = party->has_greeted ? TC_REFUSED_TURN : tc_hello_decode(frame, &hello);
    if (code != TC_NOT_REFUSED) {
        tc_party_end(r->enrolment, party, code, NULL);
        return;
    }
    const tc_journal_run *run = tc_journal_run_of(r->settings.journal);
    uint32_t most = 8 * r->enrolment->most_states;
    uint16_t version = party->version = hello.highest_version < TC_PROTOCOL ? hello.highest_version : TC_PROTOCOL;
    if (version < tc_wire_version(r->settings.method)) {
        tc_party_end(r->enrolment, party, TC_REFUSED_VERSION,
                     "this run ends with a move towards the Slater point, which version 2 of the protocol knows");
        return;
    }
    tc_welcome welcome = {
        .version = version, .most_body = most > TC_MOST_CONTROL ? most : TC_MOST_CONTROL, .epoch = r->settings.epoch};
    memcpy(welcome.run_id, run->run_id, TC_RUN_ID);
    memcpy(welcome.plan_hash, run->plan_hash, TC_HASH);
    party->has_greeted = true;
    tc_welcome_encode(&welcome, bytes);
    tc_link_send(party->link, bytes, sizeof bytes);
}

static void on_leave(tc_rounds *r, tc_party *party, const tc_frame *frame) {
    tc_enrolment *e = r->enrolment;
    if (tc_leave_decode(frame) != TC_NOT_REFUSED) {
        tc_party_end(e, party, TC_REFUSED_FRAME, NULL);
        return;
    }
    if (frame->slot == TC_NO_SLOT) {
        party->has_left = true;
        tc_link_close(party->link);
        return;
    }
    tc_seat *seat = tc_party_seat(e, party, frame->slot);
    if (seat == NULL) {
        tc_party_refuse(e, party, frame->slot, 0, TC_REFUSED_SLOT, NULL);
        return;
    }
    seat->is_sure |= seat->is_told;
    tc_report_agent(e->reporter, seat->is_told ? TC_EVENT_TOLD : TC_EVENT_LEFT, seat->name);
    tc_enrolment_leave(e, seat);
    r->figures->enrolled = e->enrolled;
    if (!tc_party_bear(e, party)) /* it keeps enrolling and leaving */
        r->figures->enrolled = e->enrolled;
}

static void hear(tc_rounds *r, tc_party *party, const tc_frame *frame) {
    if (party == NULL || r->end != TC_RUN_GOES_ON || r->stop_at > 0)
        return;
    if (frame->type == TC_MESSAGE_STATE && party->has_greeted)
        on_state(r, party, frame);
    else if (frame->type == TC_MESSAGE_HELLO)
        on_hello(r, party, frame);
    else if (frame->type == TC_MESSAGE_ENROL && party->has_greeted)
        tc_rounds_enrol(r, party, frame);
    else if (frame->type == TC_MESSAGE_LEAVE && party->has_greeted)
        on_leave(r, party, frame);
    else
        tc_party_end(r->enrolment, party, tc_message_name(frame->type) == NULL ? TC_REFUSED_FRAME : TC_REFUSED_TURN,
                     NULL);
}

static void on_frame(void *context, tc_link *link, const tc_frame *frame) {
    tc_lane *lane = context;
    tc_party *party = tc_link_user(link);
    if (lane->count > 1 && party != NULL && party->has_greeted && frame->type == TC_MESSAGE_STATE &&
        take_alone(lane, party, frame))
        return;
    tc_rounds_enter(lane);
    tc_enrolment_notify(lane->rounds->enrolment, lane); /* first: why its next messages may be refused */
    hear(lane->rounds, tc_link_user(link), frame);
    tc_rounds_leave(lane);
}

static void on_opened(void *context, tc_link *link) {
    tc_lane *lane = context;
    tc_rounds *r = lane->rounds;
    tc_rounds_enter(lane);
    if (r->end != TC_RUN_GOES_ON || r->stop_at > 0) /* its frames would be ignored */
        tc_link_close(link);
    else
        tc_enrolment_opened(r->enrolment, lane, link);
    tc_rounds_leave(lane);
}

static void on_drained(void *context, tc_link *link) {
    tc_lane *lane = context;
    tc_rounds *r = lane->rounds;
    tc_rounds_enter(lane);
    tc_party *party = tc_link_user(link);
    if (party != NULL && party->is_owed)
        tc_answers_owed(r, party);
    if (r->is_over || r->stop_at > 0)
        tc_rounds_errand(lane, TC_ERRAND_CHECK);
    tc_rounds_leave(lane);
}

/* A client that leaves after the welcome without enrolling: of another run, or one that has seen later epochs. */
static bool is_turned_away(const tc_rounds *r, const tc_party *party, tc_link_end end) {
    return party->has_greeted && !party->has_asked && !party->is_refused && !party->has_end &&
           (end == TC_LINK_LEFT || end == TC_LINK_CLOSED) && r->end == TC_RUN_GOES_ON && r->stop_at <= 0;
}

/* An agent that sent leave after the end has received it. A closed connection proves nothing: the network may have cut
 * it. */
static void on_closed(void *context, tc_link *link, tc_link_end end, const char *why) {
    tc_lane *lane = context;
    tc_rounds *r = lane->rounds;
    tc_rounds_enter(lane);
    tc_party *party = tc_link_user(link);
    bool is_open = party != NULL;
    for (size_t i = 0; is_open && i < party->room; i++) {
        tc_seat *seat = tc_party_at(r->enrolment, party, i);
        if (seat == NULL || !r->is_over)
            continue;
        seat->is_told = seat->is_told && (party->has_left || seat->answered >= r->last);
        seat->is_sure |= seat->is_told;
    }
    if (is_open && end == TC_LINK_REFUSED && !party->is_refused) /* a malformed frame */
        tc_report_refusal(r->settings.reporter, link, NULL, TC_REFUSED_FRAME, why);
    else if (is_open && end == TC_LINK_SLOW)
        tc_report_refusal(r->settings.reporter, link, NULL, TC_REFUSED_SLOW, why);
    else if (is_open && is_turned_away(r, party, end))
        tc_report_turned_away(r->settings.reporter, link, why);
    else if (!is_open || end == TC_LINK_BROKEN)
        tc_report_end(r->settings.reporter, link, end, why);
    tc_enrolment_closed(r->enrolment, link);
    r->figures->enrolled = r->enrolment->enrolled;
    if (r->is_over || r->stop_at > 0)
        tc_rounds_errand(lane, TC_ERRAND_CHECK);
    tc_rounds_leave(lane);
}

tc_link_owner tc_rounds_owner(tc_rounds *r, size_t lane) {
    return (tc_link_owner){
        .opened = on_opened, .frame = on_frame, .drained = on_drained, .closed = on_closed, .context = &r->lanes[lane]};
}
