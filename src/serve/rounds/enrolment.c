#include "serve/rounds/enrolment.h"

#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

/* Enough for a thousand agents that enrol at the start. Half of it is reserved for lines about agents, so that a flood
 * of unknown clients does not hide that an agent was replaced. */
static const double MOST_AT_ONCE = 1000, LINES_A_SECOND = 20, FOR_AGENTS = 500;

static void fill(tc_reporter *reporter) {
    double now = tc_serve_now();
    if (reporter->filled_at <= 0)
        reporter->room = MOST_AT_ONCE;
    else
        reporter->room += LINES_A_SECOND * (now - reporter->filled_at);
    reporter->room = reporter->room < MOST_AT_ONCE ? reporter->room : MOST_AT_ONCE;
    reporter->filled_at = now;
}

static bool has_room(tc_reporter *reporter, double reserved) {
    fill(reporter);
    if (reporter->room < 1 + reserved) {
        reporter->left_out++;
        return false;
    }
    reporter->room -= 1;
    return true;
}

bool tc_reporter_has_room(tc_reporter *reporter) { return has_room(reporter, 0); }

void tc_report_agent(tc_reporter *reporter, tc_log_event event, const char *agent) {
    if (tc_log_takes(reporter->log, event) && tc_reporter_has_room(reporter))
        TC_LOG(reporter->log, event, tc_log_agent(agent));
}

/* Appends what is known about the peer, so that the operator can find the device. */
static void write_with_peer(tc_reporter *reporter, tc_log_event event, const tc_link *link, tc_log_field fields[5],
                            size_t count) {
    char address[TC_PEER_TEXT], names[TC_PEER_NAMES];
    const char *from = tc_link_peer(link, address), *named = tc_link_names(link, names);
    if (from != NULL)
        fields[count++] = tc_log_text("address", from);
    if (named != NULL)
        fields[count++] = tc_log_text("certificate", named);
    tc_log_write(reporter->log, event, fields, count);
}

void tc_report_refusal(tc_reporter *reporter, const tc_link *link, const char *agent, tc_refusal_code code,
                       const char *why) {
    bool is_counted = code != TC_REFUSED_SLATER; /* an agent's no goes to the log, not to the pages */
    const char *meaning = tc_refusal_text(code);
    tc_log_field fields[5];
    size_t count = 0;
    if (reporter->figures != NULL && (unsigned)code < TC_REFUSAL_KINDS && is_counted)
        reporter->figures->refusals[code]++;
    if (!has_room(reporter, agent == NULL ? FOR_AGENTS : 0))
        return;
    if (agent != NULL)
        fields[count++] = tc_log_agent(agent);
    fields[count++] = tc_log_refusal(code);
    if (why != NULL && (meaning == NULL || strcmp(why, meaning) != 0)) /* adds to the reason */
        fields[count++] = tc_log_why(why);
    write_with_peer(reporter, agent == NULL ? TC_EVENT_CONNECTION_REFUSED : TC_EVENT_REFUSED, link, fields, count);
}

void tc_report_end(tc_reporter *reporter, const tc_link *link, tc_link_end end, const char *why) {
    bool is_refused = end == TC_LINK_REFUSED || end == TC_LINK_BROKEN;
    tc_log_event event = is_refused ? TC_EVENT_CONNECTION_FAILED : TC_EVENT_CONNECTION_ENDED;
    tc_log_field fields[5] = {tc_log_text("end", tc_link_end_name(end)), tc_log_why(why)};
    if (tc_log_takes(reporter->log, event) && has_room(reporter, FOR_AGENTS))
        write_with_peer(reporter, event, link, fields, 2);
}

void tc_report_turned_away(tc_reporter *reporter, const tc_link *link, const char *why) {
    tc_log_field fields[5] = {tc_log_why(why)};
    if (reporter->figures != NULL)
        reporter->figures->turned_away++;
    if (has_room(reporter, FOR_AGENTS))
        write_with_peer(reporter, TC_EVENT_TURNED_AWAY, link, fields, 1);
}

void tc_reporter_tick(tc_reporter *reporter) {
    fill(reporter);
    if (reporter->left_out == 0 || reporter->room < 2)
        return;
    TC_LOG(reporter->log, TC_EVENT_LEFT_OUT, tc_log_count("lines", reporter->left_out));
    reporter->left_out = 0;
    reporter->room -= 1;
}

/* ---- the seats ---- */

enum { SPARE_IDLE = 4096, IDLE_SECONDS = 10, MOST_STRIKES = 64, SPARE_ALIKE = 16 };

static uint32_t *name_place(const tc_enrolment *e, const char *name, size_t length) {
    size_t mask = e->name_room - 1;
    for (size_t at = tc_keyed_hash(e->key, (const unsigned char *)name, length) & mask;; at = (at + 1) & mask) {
        if (e->by_name[at] == 0)
            return &e->by_name[at];
        const char *there = e->seats[e->by_name[at] - 1].name;
        if (strlen(there) == length && memcmp(there, name, length) == 0)
            return &e->by_name[at];
    }
}

static void make_seats(tc_arena *arena, tc_enrolment *e, const tc_model *model) {
    tc_buffer name = tc_buffer_new(arena, 1 << 16);
    size_t n = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = 0; k < family->count; k++, n++) {
            name.length = 0;
            tc_agent_name(&name, family, k);
            e->seats[n] = (tc_seat){.family = (uint32_t)f,
                                    .states = (uint32_t)family->dim,
                                    .member = k,
                                    .first_coord = tc_coord_of(family, k, 0),
                                    .stride = family->count,
                                    .name = tc_arena_copy(arena, name.text, name.length),
                                    .replaced_at = -1};
            *name_place(e, name.text, name.length) = (uint32_t)n + 1;
        }
        e->most_states = family->dim > e->most_states ? (uint32_t)family->dim : e->most_states;
    }
}

tc_status tc_enrolment_new(tc_arena *arena, const tc_enrolment_settings *settings, tc_enrolment **enrolment) {
    tc_enrolment *e = TC_NEW(arena, tc_enrolment, 1);
    const tc_model *model = settings->model;
    *enrolment = e;
    e->seat_count = model->agent_count;
    if (e->seat_count >= UINT32_MAX / 4)
        return TC_TOO_LARGE;
    if (RAND_bytes((unsigned char *)e->key, sizeof e->key) != 1)
        return TC_NO_RANDOM;
    e->seats = TC_NEW(arena, tc_seat, e->seat_count);
    for (e->name_room = 16; e->name_room < 2 * e->seat_count;)
        e->name_room *= 2;
    e->by_name = TC_NEW(arena, uint32_t, e->name_room);
    e->reporter = settings->reporter;
    e->is_plain = settings->is_plain;
    e->most_idle = e->seat_count + (settings->spare_idle == 0 ? SPARE_IDLE : settings->spare_idle);
    e->idle_seconds = settings->idle_seconds == 0 ? IDLE_SECONDS : settings->idle_seconds;
    make_seats(arena, e, model);
    return TC_OK;
}

/* ---- a connection's slots ---- */

static tc_party_slot *find_place(const tc_party *party, uint32_t slot) {
    size_t mask = party->room - 1;
    for (size_t at = slot & mask, tried = 0; tried < party->room; at = (at + 1) & mask, tried++) {
        if (party->places[at].seat == 0)
            return NULL;
        if (party->places[at].slot == slot)
            return &party->places[at];
    }
    return NULL;
}

/* The table has an empty entry. */
static void put_place(tc_party *party, tc_party_slot place) {
    size_t mask = party->room - 1, at = place.slot & mask;
    while (party->places[at].seat != 0)
        at = (at + 1) & mask;
    party->places[at] = place;
}

tc_seat *tc_party_seat(const tc_enrolment *e, const tc_party *party, uint32_t slot) {
    const tc_party_slot *place = find_place(party, slot);
    return place == NULL ? NULL : &e->seats[place->seat - 1];
}

tc_seat *tc_party_at(const tc_enrolment *e, const tc_party *party, size_t i) {
    return party->places[i].seat == 0 ? NULL : &e->seats[party->places[i].seat - 1];
}

static bool grow(tc_party *party) {
    size_t room = party->room == 1 ? 8 : 2 * party->room;
    tc_party_slot *old = party->places, *larger = calloc(room, sizeof *larger);
    size_t before = party->room;
    if (larger == NULL)
        return false;
    party->places = larger;
    party->room = room;
    for (size_t i = 0; i < before; i++)
        if (old[i].seat != 0)
            put_place(party, old[i]);
    if (old != &party->one)
        free(old);
    return true;
}

/* Inserts the entries behind it again, so that no search stops too early. */
static void remove_place(tc_party *party, uint32_t slot) {
    size_t mask = party->room - 1;
    tc_party_slot *place = find_place(party, slot);
    if (place == NULL)
        return;
    place->seat = 0;
    party->count--;
    for (size_t at = ((size_t)(place - party->places) + 1) & mask; party->places[at].seat != 0; at = (at + 1) & mask) {
        tc_party_slot moved = party->places[at];
        party->places[at].seat = 0;
        put_place(party, moved);
    }
}

/* ---- parties ---- */

static tc_party *of_ring(tc_ring *ring) { return (tc_party *)(void *)ring; }

static void join_idle(tc_enrolment *e, tc_party *party) {
    party->deadline = tc_link_now() + (time_t)e->idle_seconds;
    party->turn = e->idle_turns++;
    tc_ring_join(&party->lane->idle, &party->ring);
    e->idle_count++;
}

static tc_notice *notice_of(tc_ring *ring) { return (tc_notice *)(void *)ring; }

/* A connection is told by its own lane. False: no memory. */
static bool add_notice(tc_party *party, uint32_t slot, const char *ends) {
    tc_notice *made = malloc(sizeof *made);
    if (made == NULL)
        return false;
    *made = (tc_notice){.party = party, .slot = slot, .ends = ends};
    tc_ring_clear(&made->ring);
    tc_ring_join(&party->lane->notices, &made->ring);
    tc_lane_ask(party->lane, TC_ASK_NOTICES);
    return true;
}

static void drop_notices(const tc_party *party) {
    for (tc_ring *at = party->lane->notices.after, *after; at != &party->lane->notices; at = after) {
        after = at->after;
        if (notice_of(at)->party != party)
            continue;
        tc_ring_leave(at);
        free(notice_of(at));
    }
}

void tc_enrolment_notify(tc_enrolment *e, tc_lane *lane) {
    while (!tc_ring_is_empty(&lane->notices)) {
        tc_notice *first = notice_of(lane->notices.after), notice = *first;
        tc_ring_leave(&first->ring);
        free(first);
        if (notice.ends != NULL)
            tc_party_end(e, notice.party, TC_REFUSED_CROWD, notice.ends);
        else
            tc_party_refuse(e, notice.party, notice.slot, 0, TC_REFUSED_REPLACED, NULL);
    }
}

/* The idle connection of all lanes that has waited longest; like: with the certificate of this link, if not NULL. */
static tc_party *find_oldest(const tc_lane *lane, const tc_link *like) {
    tc_party *oldest = NULL;
    for (size_t i = 0; i < lane->count; i++) {
        tc_ring *idle = &lane->first[i].idle, *at = idle->after;
        while (at != idle && (of_ring(at)->is_refused || (like != NULL && !tc_link_is_alike(of_ring(at)->link, like))))
            at = at->after;
        if (at != idle && (oldest == NULL || of_ring(at)->turn < oldest->turn))
            oldest = of_ring(at);
    }
    return oldest;
}

/* A lane ends its own connections only. */
static void crowd_out(tc_enrolment *e, const tc_lane *lane, tc_party *party, const char *why) {
    if (party != NULL && party->lane == lane)
        tc_party_end(e, party, TC_REFUSED_CROWD, why);
    else if (party != NULL)
        party->is_refused = add_notice(party, 0, why);
}

/* A certificate may have one connection for each agent that it names, plus some that are about to end. If there are
 * more, at least one has no agent: closes the oldest of these. */
static void end_alike(tc_enrolment *e, const tc_lane *lane, const tc_link *link) {
    const tc_identity *identity = tc_link_identity(link);
    if (identity != NULL && tc_link_alike(link) > tc_identity_count(identity) + SPARE_ALIKE)
        crowd_out(e, lane, find_oldest(lane, link), "too many connections with this certificate");
}

void tc_enrolment_opened(tc_enrolment *e, tc_lane *lane, tc_link *link) {
    tc_party *party = calloc(1, sizeof *party);
    if (party == NULL) {
        tc_link_close(link);
        return;
    }
    party->link = link;
    party->lane = lane;
    party->places = &party->one;
    party->room = 1;
    tc_ring_clear(&party->ring);
    tc_link_set_user(link, party);
    join_idle(e, party);
    if (e->idle_count > e->most_idle)
        crowd_out(e, lane, find_oldest(lane, NULL), "too many connections without an agent");
    else
        end_alike(e, lane, link);
}

static size_t bytes_of(const tc_seat *seat) { return tc_answer_size(seat->states); }

static void unseat(tc_enrolment *e, tc_seat *seat) {
    seat->party->bytes -= bytes_of(seat);
    seat->party = NULL;
    seat->is_owed = seat->is_waiting = false;
    e->enrolled--;
}

void tc_enrolment_closed(tc_enrolment *e, tc_link *link) {
    tc_party *party = tc_link_user(link);
    if (party == NULL)
        return;
    tc_link_set_user(link, NULL);
    if (party->count == 0)
        e->idle_count--;
    for (size_t i = 0; i < party->room; i++) {
        tc_seat *seat = tc_party_at(e, party, i);
        if (seat == NULL)
            continue;
        unseat(e, seat);
        tc_report_agent(e->reporter, seat->is_told ? TC_EVENT_TOLD : TC_EVENT_LEFT, seat->name);
    }
    tc_ring_leave(&party->ring);
    drop_notices(party);
    if (party->places != &party->one)
        free(party->places);
    free(party);
}

void tc_enrolment_tick(tc_enrolment *e, tc_lane *lane) {
    enum { AT_ONCE = 256 }; /* others wait for this turn; the rest follows in the next second */
    time_t now = tc_link_now();
    tc_ring *idle = &lane->idle;
    for (unsigned i = 0; i < AT_ONCE && !tc_ring_is_empty(idle) && of_ring(idle->after)->deadline <= now; i++)
        tc_party_end(e, of_ring(idle->after), TC_REFUSED_TURN, "no agent was enrolled in time");
}

/* ---- refusals ---- */

void tc_party_end(tc_enrolment *e, tc_party *party, tc_refusal_code code, const char *reason) {
    tc_report_refusal(e->reporter, party->link, NULL, code, reason);
    party->is_refused = true;
    tc_link_refuse(party->link, code, reason);
}

static bool is_too_much(tc_party *party) { return ++party->strikes > MOST_STRIKES + 4 * party->count; }

bool tc_party_bear(tc_enrolment *e, tc_party *party) {
    if (!is_too_much(party))
        return true;
    tc_party_end(e, party, TC_REFUSED_TURN, "too much of what it said was of no use");
    return false;
}

static void refuse(tc_enrolment *e, tc_party *party, uint32_t slot, uint64_t round, const char *agent,
                   tc_refusal_code code, const char *reason) {
    unsigned char bytes[TC_FRAME_HEADER + TC_MOST_CONTROL];
    const char *text = reason != NULL ? reason : tc_refusal_text(code);
    size_t length = strlen(text);
    tc_refusal refusal = {.slot = slot,
                          .round = round,
                          .code = (uint16_t)code,
                          .reason = text,
                          .reason_length = length < TC_MOST_REASON ? length : TC_MOST_REASON};
    if (is_too_much(party)) {
        tc_party_end(e, party, code, "too much of what it said was refused");
        return;
    }
    bool is_late = code == TC_REFUSED_SLOT && party->was_replaced; /* not its fault, and `replaced` was logged */
    if (!is_late)
        tc_report_refusal(e->reporter, party->link, agent, code, text);
    tc_refusal_encode(&refusal, bytes);
    tc_link_send(party->link, bytes, tc_refusal_size(&refusal));
}

void tc_party_refuse(tc_enrolment *e, tc_party *party, uint32_t slot, uint64_t round, tc_refusal_code code,
                     const char *reason) {
    const tc_seat *seat = tc_party_seat(e, party, slot);
    refuse(e, party, slot, round, seat == NULL ? NULL : seat->name, code, reason);
}

void tc_party_refuse_enrol(tc_enrolment *e, tc_party *party, const tc_enrol *enrol, uint64_t round,
                           tc_refusal_code code, const char *reason) {
    char name[TC_MOST_NAME + 1];
    memcpy(name, enrol->name, enrol->name_length);
    name[enrol->name_length] = '\0';
    refuse(e, party, enrol->slot, round, name, code, reason);
}

/* ---- taking a seat ---- */

tc_seat *tc_enrolment_named(const tc_enrolment *e, const char *name) {
    uint32_t number = *name_place(e, name, strlen(name));
    return number == 0 ? NULL : &e->seats[number - 1];
}

tc_seat *tc_enrolment_find(tc_enrolment *e, tc_party *party, const tc_enrol *enrol, tc_refusal_code *code,
                           const char **reason) {
    const tc_identity *identity = tc_link_identity(party->link);
    *reason = NULL;
    *code = TC_REFUSED_IDENTITY;
    if (!e->is_plain && (identity == NULL || !tc_identity_has(identity, enrol->name, enrol->name_length)))
        return NULL;
    uint32_t number = *name_place(e, enrol->name, enrol->name_length);
    *code = TC_REFUSED_UNKNOWN;
    if (number == 0)
        return NULL;
    tc_seat *seat = &e->seats[number - 1];
    *code = TC_REFUSED_STATES;
    if (enrol->states != seat->states)
        return NULL;
    *code = TC_REFUSED_SLOT;
    if (tc_party_seat(e, party, enrol->slot) != NULL)
        return NULL;
    if (seat->party == party) {
        *reason = "this connection has the agent in another slot";
        return NULL;
    }
    /* It may try again, unlike after TC_REFUSED_REPLACED: it may be the same agent behind a failing network. */
    *code = TC_REFUSED_CROWD;
    *reason = "another connection took over this agent a moment ago";
    if (seat->party != NULL && seat->replaced_at >= 0 && tc_serve_now() < seat->replaced_at + 1)
        return NULL;
    *code = TC_NOT_REFUSED;
    return seat;
}

void tc_enrolment_replace(tc_enrolment *e, tc_seat *seat, const tc_lane *lane) {
    tc_party *old = seat->party;
    uint32_t slot = seat->slot;
    seat->replaced_at = tc_serve_now();
    tc_report_agent(e->reporter, TC_EVENT_REPLACED, seat->name);
    tc_enrolment_leave(e, seat);
    old->strikes = 0; /* not its fault */
    old->was_replaced = true;
    if (old->lane == lane)
        tc_party_refuse(e, old, slot, 0, TC_REFUSED_REPLACED, NULL);
    else
        (void)add_notice(old, slot, NULL); /* without memory the next state for that slot is refused */
}

bool tc_enrolment_seat(tc_enrolment *e, tc_party *party, tc_seat *seat, uint32_t slot) {
    if (2 * (party->count + 1) > party->room && !(party->room == 1 && party->count == 0) && !grow(party)) {
        tc_party_end(e, party, TC_REFUSED_CROWD, "memory is out");
        return false;
    }
    if (seat->party != NULL)
        tc_enrolment_replace(e, seat, party->lane);
    put_place(party, (tc_party_slot){.slot = slot, .seat = (uint32_t)(seat - e->seats) + 1});
    if (party->count++ == 0) {
        e->idle_count--;
        tc_ring_join(&party->lane->seated, &party->ring);
    }
    party->bytes += bytes_of(seat);
    e->batch_bytes = party->bytes > e->batch_bytes ? party->bytes : e->batch_bytes;
    seat->party = party;
    seat->slot = slot;
    seat->said = 0;
    seat->is_owed = false;
    seat->enrolled_at = tc_serve_now();
    e->enrolled++;
    if (!seat->was_there) {
        seat->was_there = true;
        e->seen++;
    }
    uint32_t body = 8 * seat->states;
    if (body > party->link->most_body)
        tc_link_allow(party->link, body);
    return true;
}

void tc_enrolment_leave(tc_enrolment *e, tc_seat *seat) {
    tc_party *party = seat->party;
    remove_place(party, seat->slot);
    unseat(e, seat);
    if (party->count == 0)
        join_idle(e, party);
}
