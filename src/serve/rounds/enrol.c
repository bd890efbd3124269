/* Making the loop, and enrolling agents: compares what they have seen with the journal. */
#include "serve/rounds/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tc_status load_journal(tc_rounds *r) {
    const tc_journal_round *last = tc_journal_last(r->settings.journal);
    size_t count = r->settings.model->state_count;
    r->last = last->round;
    r->open = r->most_answered = last->round;
    r->open++;
    if (r->last == 0)
        return TC_OK;
    if (last->answer_count != count || r->last > r->settings.rounds)
        return TC_CANNOT_READ;
    memcpy(r->answers, last->answers, count * sizeof *r->answers);
    r->scalars = (tc_answer_scalars){.step = last->step, .regularization = last->regularization};
    return TC_OK;
}

/* By family, as ENROLLED has them; NULL where all are 0. */
static int8_t **scales_of(tc_arena *arena, const tc_model *model, tc_state_scales scales) {
    int8_t **made = TC_NEW(arena, int8_t *, model->family_count);
    for (size_t f = 0; scales != NULL && f < model->family_count; f++) {
        int8_t *exponents = TC_NEW(arena, int8_t, model->families[f].dim);
        for (size_t c = 0; c < model->families[f].dim; c++) {
            exponents[c] = (int8_t)ilogb(scales[f][c]);
            if (exponents[c] != 0)
                made[f] = exponents;
        }
    }
    return made;
}

tc_status tc_rounds_new(tc_arena *arena, const tc_rounds_settings *settings, tc_rounds **rounds) {
    tc_rounds *r = TC_NEW(arena, tc_rounds, 1);
    const tc_model *model = settings->model;
    tc_enrolment_settings enrolment = {.model = model,
                                       .reporter = settings->reporter,
                                       .is_plain = settings->is_plain,
                                       .spare_idle = settings->spare_idle,
                                       .idle_seconds = settings->idle_seconds};
    *rounds = r;
    r->settings = *settings;
    r->figures = settings->reporter->figures;
    r->answers = TC_NEW(arena, double, model->state_count);
    r->next_answers = TC_NEW(arena, double, model->state_count);
    r->scales = scales_of(arena, model, settings->scales);
    tc_status status = tc_enrolment_new(arena, &enrolment, &r->enrolment);
    if (status != TC_OK)
        return status;
    r->lanes = tc_lanes_new(arena, r, settings->lanes == 0 ? 1 : settings->lanes, r->enrolment->most_states);
    if (r->lanes == NULL)
        return TC_NO_MEMORY;
    r->is_surveying = settings->after_restore;
    if (event_assign(&r->late, settings->base, -1, 0, tc_late_on_time, r) != 0 ||
        event_assign(&r->ending, settings->base, -1, 0, tc_ending_on_time, r) != 0 ||
        event_assign(&r->tick, settings->base, -1, 0, tc_ticks_on_time, r) != 0)
        return TC_NO_MEMORY;
    r->figures->agents = r->enrolment->seat_count;
    r->figures->rounds = settings->rounds;
    status = load_journal(r);
    r->figures->round = r->last;
    return status;
}

void tc_rounds_free(tc_rounds *r) {
    (void)event_del(&r->late);
    (void)event_del(&r->ending);
    (void)event_del(&r->tick);
    tc_lanes_free(r->lanes);
    free(r->snapshot);
    r->snapshot = NULL;
}

size_t tc_rounds_most_kept(const tc_rounds *r) {
    size_t all = 1 << 20;
    for (size_t i = 0; i < r->enrolment->seat_count; i++)
        all += tc_answer_size(r->enrolment->seats[i].states) + tc_rounds_most_enrolled(r->enrolment->seats[i].states);
    return all;
}

/* Logs who is missing while agents are asked after a restore. */
static void warn_survey(tc_rounds *r) {
    double now = tc_serve_now();
    size_t missing = r->enrolment->seat_count - r->enrolment->seen;
    if (r->warn_at <= 0) {
        r->opened_at = now;
        r->warn_after = r->settings.late.deadline;
        r->warn_at = now + r->warn_after;
    }
    if (now < r->warn_at || missing == 0)
        return;
    TC_LOG(r->settings.reporter->log, TC_EVENT_WAITING, tc_log_round(tc_rounds_first(r)),
           tc_log_count("missing", missing), tc_log_agents(tc_rounds_names(r, TC_NAME_ABSENT)),
           tc_log_seconds("seconds", now - r->opened_at));
    r->warn_after *= 2;
    r->warn_at = r->opened_at + r->warn_after;
}

void tc_rounds_tick(tc_rounds *r) {
    tc_rounds_enter(r->lanes);
    if (r->is_surveying)
        warn_survey(r);
    tc_rounds_ask(r, TC_ASK_CLOSE_IDLE);
    tc_reporter_tick(r->settings.reporter);
    tc_rounds_leave(r->lanes);
}

tc_run_end tc_rounds_end(const tc_rounds *r) {
    tc_lock_take(r->lanes);
    tc_run_end end = r->end;
    tc_lock_give(r->lanes);
    return end;
}
tc_status tc_rounds_status(const tc_rounds *r) { return r->status; }
uint64_t tc_rounds_last(const tc_rounds *r) { return r->last; }
const tc_rollback *tc_rounds_rollback(const tc_rounds *r) { return &r->rollback; }

/* ---- beginning ---- */

bool tc_rounds_is_surveyed(const tc_rounds *r) {
    tc_lock_take(r->lanes);
    bool is_surveyed = r->is_surveying && r->enrolment->seen == r->enrolment->seat_count;
    tc_lock_give(r->lanes);
    return is_surveyed;
}

/* After a restore: the agents have said which answers they have. The next round may have been released too, and with
 * holds as many more as one state may be used again. */
uint64_t tc_rounds_first(const tc_rounds *r) {
    uint64_t unseen = 1 + (r->settings.late.holds ? r->settings.late.most_holds : 0);
    tc_lock_take(r->lanes);
    uint64_t first = r->is_surveying ? r->most_answered + unseen + 1 : r->open;
    tc_lock_give(r->lanes);
    return first;
}

static tc_status begin(tc_rounds *r, tc_cloud_half *half) {
    r->open = tc_rounds_first(r);
    r->is_surveying = false;
    atomic_store(&r->missing, r->enrolment->seat_count);
    r->snapshot_size = tc_cloud_half_snapshot_size(half);
    if (r->snapshot == NULL)
        r->snapshot = malloc(r->snapshot_size + 1);
    if (r->snapshot == NULL)
        return TC_NO_MEMORY;
    tc_status status = tc_cloud_half_prepare(half, r->open);
    if (status != TC_OK)
        return status;
    r->half = half;
    tc_rounds_ask(r, TC_ASK_ENROLLED);
    tc_late_open(r);
    tc_ticks_begin(r);
    return TC_OK;
}

tc_status tc_rounds_begin(tc_rounds *r, tc_cloud_half *half) {
    tc_rounds_enter(r->lanes);
    tc_status status = begin(r, half);
    tc_rounds_leave(r->lanes);
    return status;
}

/* ---- enrolling ---- */

bool tc_rounds_disbelieve(tc_rounds *r, const char *agent) {
    tc_seat *seat = tc_enrolment_named(r->enrolment, agent);
    if (seat == NULL)
        return false;
    seat->is_disbelieved = true;
    TC_LOG(r->settings.reporter->log, TC_EVENT_DISBELIEVING, tc_log_agent(agent),
           tc_log_why("if it has seen more than the journal has, rounds are released a second time and paid for once"));
    return true;
}

static bool is_later(const tc_epoch *one, const tc_epoch *than) {
    return one->number > than->number || (one->number == than->number && memcmp(one->id, than->id, TC_EPOCH_ID) != 0);
}

/* Replaces the claims of a disbelieved agent by what the journal has. */
static void overrule(tc_rounds *r, const tc_seat *seat, tc_enrol *enrol) {
    const tc_epoch *ours = &r->settings.epoch;
    bool claims_epoch = is_later(&enrol->epoch, ours), claims_round = enrol->answered > r->last;
    if (!seat->is_disbelieved || (!claims_epoch && !claims_round))
        return;
    if (!r->has_released || tc_reporter_has_room(r->settings.reporter))
        TC_LOG(r->settings.reporter->log, TC_EVENT_DISBELIEVED, tc_log_agent(seat->name),
               tc_log_count("agent_round", enrol->answered), tc_log_count("journal_round", r->last),
               tc_log_count("agent_epoch", enrol->epoch.number), tc_log_count("epoch", ours->number));
    enrol->answered = claims_round ? r->last : enrol->answered;
    enrol->epoch = claims_epoch ? *ours : enrol->epoch;
}

/* Nobody can have seen more of the run than this process has released: it has released rounds since all agents said
 * what they had seen, or it began the run, under an id that it drew. */
static bool knows_all(const tc_rounds *r) { return r->has_released || tc_journal_is_new(r->settings.journal); }

/* True: the agent is refused. A round beyond the plan is the agent's own error. Any other claim stops a cloud whose
 * journal may be an old one, until a person decides. */
static bool is_rolled_back(tc_rounds *r, tc_party *party, const tc_seat *seat, const tc_enrol *enrol) {
    const tc_epoch *ours = &r->settings.epoch, *theirs = &enrol->epoch;
    tc_lane *lane = party->lane; /* a refusal may end the party */
    if (enrol->answered > r->settings.rounds) {
        tc_party_refuse_enrol(r->enrolment, party, enrol, enrol->answered, TC_REFUSED_ROUND,
                              "the run does not have so many rounds");
        return true;
    }
    bool later_epoch = is_later(theirs, ours), is_alone = knows_all(r);
    bool later_round = enrol->answered >= r->open && !r->is_surveying;
    if (!later_epoch && !later_round)
        return false;
    tc_party_refuse_enrol(r->enrolment, party, enrol, enrol->answered, TC_REFUSED_ROLLBACK,
                          is_alone ? "the run has no such round or epoch yet" : NULL);
    if (!is_alone || tc_reporter_has_room(r->settings.reporter))
        TC_LOG(r->settings.reporter->log, is_alone ? TC_EVENT_CLAIM_REFUSED : TC_EVENT_ROLLED_BACK,
               tc_log_agent(seat->name), tc_log_count("agent_round", enrol->answered),
               tc_log_count("journal_round", r->last), tc_log_count("agent_epoch", theirs->number),
               tc_log_count("epoch", ours->number));
    if (is_alone)
        return true;
    r->rollback = (tc_rollback){.agent = seat->name, .round = enrol->answered, .epoch = theirs->number};
    tc_rounds_break(r, lane, TC_RUN_ROLLED_BACK, TC_OK);
    return true;
}

/* True: the agent is refused. Before the first round the run waits for it to come again with another set, as for an
 * agent that is missing: a state that it has sent does not count any more. An older connection is told, since its agent
 * would wait for an answer to that state. */
static bool says_no(tc_rounds *r, tc_party *party, tc_seat *seat, const tc_enrol *enrol) {
    const tc_lane *lane = party->lane; /* a refusal may end the party */
    bool unasked = enrol->slater == TC_SLATER_UNASKED && r->settings.needs_slater;
    bool is_no = enrol->slater == TC_SLATER_NO || unasked, is_news = is_no != seat->said_no;
    if (is_no)
        tc_party_refuse_enrol(r->enrolment, party, enrol, 0, TC_REFUSED_SLATER,
                              unasked ? "the run rests on a public point that this agent has not checked" : NULL);
    if (r->open > 1)
        return is_no;
    seat->said_no = is_no;
    if (is_no && seat->taken == r->open) {
        seat->taken = 0;
        atomic_fetch_add(&r->missing, 1);
    }
    if (is_no && seat->party != NULL) {
        tc_enrolment_replace(r->enrolment, seat, lane);
        r->figures->enrolled = r->enrolment->enrolled;
    }
    if (is_no && is_news)
        tc_rounds_tell_no(r);
    return is_no;
}

/* True: the agent is refused. */
static bool is_too_old(tc_rounds *r, tc_party *party, const tc_seat *seat, const tc_enrol *enrol) {
    if (r->scales[seat->family] == NULL || party->version >= TC_PROTOCOL_SCALES)
        return false;
    tc_party_refuse_enrol(r->enrolment, party, enrol, 0, TC_REFUSED_VERSION,
                          "this run scales the agent's states, which takes version 2 of the protocol");
    return true;
}

static void let_in(tc_rounds *r, tc_seat *seat) {
    tc_logbook *log = r->settings.reporter->log;
    bool is_complete = r->enrolment->seen == r->enrolment->seat_count;
    r->figures->enrolled = r->enrolment->enrolled;
    if (tc_reporter_has_room(r->settings.reporter))
        TC_LOG(log, TC_EVENT_ENROLLED, tc_log_agent(seat->name), tc_log_count("answered", seat->answered));
    if (is_complete && !r->is_complete) {
        r->is_complete = true;
        if (!r->is_over)
            TC_LOG(log, TC_EVENT_COMPLETE, tc_log_count("agents", r->enrolment->seat_count));
    }
    if (r->is_surveying) {
        seat->is_waiting = true;
        if (is_complete)
            tc_rounds_errand(seat->party->lane, TC_ERRAND_BREAK);
        return;
    }
    if (r->is_over) {
        seat->is_told = true; /* undone if it closes without leave */
        seat->is_sure = seat->answered >= r->last;
        tc_ending_again(r, seat);
    }
    tc_answers_enrolled(r, seat);
}

void tc_rounds_enrol(tc_rounds *r, tc_party *party, const tc_frame *frame) {
    tc_enrol enrol;
    const char *reason = NULL;
    tc_seat *seat = NULL;
    tc_refusal_code code = tc_enrol_decode(frame, &enrol);
    party->has_asked = true;
    if (code == TC_REFUSED_FRAME) {
        tc_party_end(r->enrolment, party, code, NULL);
        return;
    }
    if (code == TC_NOT_REFUSED)
        seat = tc_enrolment_find(r->enrolment, party, &enrol, &code, &reason);
    if (seat == NULL) {
        tc_party_refuse_enrol(r->enrolment, party, &enrol, 0, code, reason);
        return;
    }
    overrule(r, seat, &enrol);
    if (is_too_old(r, party, seat, &enrol) || says_no(r, party, seat, &enrol) || is_rolled_back(r, party, seat, &enrol))
        return;
    double came_at = seat->enrolled_at;
    party->has_end = false; /* the end is told again after this agent's last answer */
    if (!tc_enrolment_seat(r->enrolment, party, seat, enrol.slot))
        return;
    if (r->half != NULL && came_at > r->opened_at) /* enrolling again does not extend the deadline */
        seat->enrolled_at = came_at;
    seat->answered = enrol.answered;
    r->most_answered = enrol.answered > r->most_answered ? enrol.answered : r->most_answered;
    if (!tc_batch_reserve(r, party->lane)) {
        tc_party_end(r->enrolment, party, TC_REFUSED_CROWD, "memory is out");
        return;
    }
    let_in(r, seat);
}
