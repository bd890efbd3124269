/* What an agent says and hears. The connection's buffer has room for everything that may be said at once; if it is
 * full, the cloud has broken the protocol. */
#include "net/agent/slot.h"

#include "base/text.h"
#include "engine/agent_half.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

static unsigned char *room(tc_agent *agent, size_t size) {
    unsigned char *bytes = tc_agent_link_put(agent->link, size);
    if (bytes == NULL)
        tc_agent_pause(agent, "the cloud asks for more and does not read what it was sent");
    return bytes;
}

void tc_agent_say_hello(tc_agent *agent) {
    const char *software = agent->settings.software == NULL ? "tacit" : agent->settings.software;
    size_t length = strlen(software);
    tc_hello hello = {.lowest_version = TC_FIRST_PROTOCOL,
                      .highest_version = TC_PROTOCOL,
                      .software = software,
                      .software_length = length < TC_MOST_SOFTWARE ? length : TC_MOST_SOFTWARE};
    unsigned char *bytes = room(agent, tc_hello_size(&hello));
    if (bytes == NULL)
        return;
    tc_hello_encode(&hello, bytes);
    agent->said_hello = true;
    agent->deadline = tc_agent_clock() + agent->settings.open_milliseconds;
}

static void enrol_one(tc_agent *agent, const tc_agent_slot *slot) {
    tc_enrol enrol = {.slot = (uint32_t)slot->number,
                      .answered = slot->record.answered,
                      .states = (uint32_t)slot->steps.states,
                      .slater = slot->slater,
                      .epoch = slot->record.epoch,
                      .name = slot->steps.name,
                      .name_length = strlen(slot->steps.name)};
    unsigned char *bytes = room(agent, tc_enrol_size(&enrol));
    if (bytes != NULL)
        tc_enrol_encode(&enrol, bytes);
}

void tc_agent_say_enrol(tc_agent *agent, bool late) {
    uint64_t now = tc_agent_clock();
    agent->again_at = 0;
    for (size_t i = 0; i < agent->settings.count && agent->is_welcome; i++) {
        tc_agent_slot *slot = &agent->slots[i];
        if (tc_agent_is_over(slot->how) || slot->is_enrolled)
            continue;
        if (slot->again_at > now) {
            if (agent->again_at == 0 || slot->again_at < agent->again_at)
                agent->again_at = slot->again_at;
        } else if (!late || slot->again_at != 0) {
            slot->again_at = 0;
            enrol_one(agent, slot);
        }
    }
}

void tc_agent_say_leave(tc_agent *agent, uint32_t slot) {
    unsigned char *bytes = tc_agent_link_put(agent->link, TC_LEAVE_SIZE);
    if (bytes != NULL)
        tc_leave_encode(slot, bytes);
}

/* Before a state leaves: saves the record, with the epoch of the cloud that gets the state. */
static bool save(tc_agent *agent, tc_agent_slot *slot) {
    tc_agent_record *record = &slot->record;
    const tc_epoch *epoch = &agent->welcome.epoch;
    if (record->epoch.number != epoch->number || memcmp(record->epoch.id, epoch->id, TC_EPOCH_ID) != 0) {
        record->epoch = *epoch;
        slot->is_saved = false;
    }
    if (slot->is_saved || tc_agent_save(slot)) {
        slot->is_saved = true;
        return true;
    }
    tc_agent_finish(agent, slot, TC_AGENT_FAILED,
                    "cannot write '%s': %s; state %llu was not sent; the same command goes on from it",
                    tc_state_file_path(slot->file), strerror(errno), (unsigned long long)record->answered + 1);
    return false;
}

/* Saves first if something has changed. */
static void say_state(tc_agent *agent, tc_agent_slot *slot) {
    tc_agent_record *record = &slot->record;
    size_t states = slot->steps.states;
    if (!save(agent, slot) || record->answered == record->rounds)
        return;
    if (record->answered + 1 == record->rounds && tc_agent_lacks_rounds(slot)) {
        tc_agent_finish(agent, slot, TC_AGENT_REFUSED,
                        "agent %.60s does not know what the cloud used of it up to round %llu, so it has no average of "
                        "all rounds, and sends none: the promise of --feasible always covers no other. Begin a new run",
                        slot->steps.name, (unsigned long long)record->unknown);
        tc_agent_say_leave(agent, (uint32_t)slot->number);
        return;
    }
    if (!tc_to_lattice(record->x, states, slot->exponent, agent->units)) {
        tc_agent_finish(agent, slot, TC_AGENT_DIVERGED, "state %llu is too large to be sent",
                        (unsigned long long)record->answered + 1);
        tc_agent_say_leave(agent, (uint32_t)slot->number);
        return;
    }
    if (slot->steps.lower != NULL)
        tc_into_box(slot->steps.lower, slot->steps.upper, states, slot->exponent, agent->units);
    unsigned char *bytes = room(agent, tc_state_size((uint32_t)states));
    if (bytes != NULL)
        tc_state_encode((uint32_t)slot->number, record->answered + 1, agent->units, (uint32_t)states, bytes);
    OPENSSL_cleanse(agent->units, states * sizeof *agent->units);
}

/* ==== What an agent hears ====
 *
 * A frame that breaks the protocol ends the connection. The next connection begins from the state file. */
enum { MOST_MISSED = 1000 }; /* rounds without this agent that still count in its average */
enum { MOST_SAID = 160 };    /* bytes of the cloud's reason that are shown */

static void broken(tc_agent *agent, const char *what) {
    tc_agent_pause(agent, "the cloud broke the protocol: %s", what);
}

/* ---- welcome ---- */

static bool is_same_run(const tc_agent_record *record, const tc_welcome *welcome) {
    return memcmp(record->run_id, welcome->run_id, TC_RUN_ID) == 0 &&
           memcmp(record->plan_hash, welcome->plan_hash, TC_HASH) == 0;
}

/* The cloud's epoch is earlier than one that got states, or another of the same number: it was restored or copied. It
 * gets no state. It is still told what this agent has seen, so that its operator can go on after a restore. */
static bool is_stale(const tc_epoch *seen, const tc_epoch *now) {
    return now->number < seen->number || (now->number == seen->number && memcmp(now->id, seen->id, TC_EPOCH_ID) != 0);
}

/* new_run allows one new run: a cloud cannot make this process begin again and again. */
static void begin_run(tc_agent *agent, tc_agent_slot *slot) {
    tc_agent_record *record = &slot->record;
    if (record->rounds > 0 && !is_same_run(record, &agent->welcome)) {
        if (!agent->settings.new_run || slot->is_current) {
            tc_agent_meet_stale(
                agent, slot,
                "the cloud runs another run or plan than that of '%s'; %s--new-run agent %s takes part in it "
                "from its first round",
                tc_state_file_path(slot->file), agent->settings.new_run ? "when it is started again with " : "with ",
                slot->steps.name);
            return;
        }
        slot->steps = slot->today;
        slot->is_changed = slot->is_kept = false;
        if (!tc_agent_reset(slot)) {
            tc_agent_finish(agent, slot, TC_AGENT_FAILED, "agent %s has no point to start from", slot->steps.name);
            return;
        }
        slot->was_over = false;
        slot->slater = slot->steps.check_slater(slot->steps.context);
        tc_agent_tell_start(agent, slot);
    }
    slot->is_current = true;
    if (record->rounds == 0) {
        memcpy(record->run_id, agent->welcome.run_id, TC_RUN_ID);
        memcpy(record->plan_hash, agent->welcome.plan_hash, TC_HASH);
    }
    tc_agent_name_run(slot);
    slot->is_stale = is_stale(&record->epoch, &agent->welcome.epoch);
}

/* An agent may insist on one plan, whose hash covers every scale and price. A cloud with another plan gets no state. */
static bool is_agreed(tc_agent *agent, tc_agent_slot *slot) {
    char has[2 * TC_HASH + 1], wanted[2 * TC_HASH + 1];
    const unsigned char *plan = agent->settings.plan;
    if (plan == NULL || memcmp(plan, agent->welcome.plan_hash, TC_HASH) == 0)
        return true;
    tc_hexadecimal(has, agent->welcome.plan_hash, TC_HASH);
    tc_hexadecimal(wanted, plan, TC_HASH);
    tc_agent_finish(agent, slot, TC_AGENT_REFUSED,
                    "the cloud's plan is not the one that agent %.60s agreed to: its hash is %s, not %s",
                    slot->steps.name, has, wanted);
    return false;
}

static void hear_welcome(tc_agent *agent, const tc_frame *frame) {
    tc_refusal_code wrong = tc_welcome_decode(frame, &agent->welcome);
    if (wrong != TC_NOT_REFUSED || agent->is_welcome) {
        broken(agent, wrong != TC_NOT_REFUSED ? tc_refusal_text(wrong) : "a second welcome");
        return;
    }
    agent->is_welcome = true;
    agent->deadline = 0;
    for (size_t i = 0; i < agent->settings.count; i++) {
        tc_agent_slot *slot = &agent->slots[i];
        if (slot->how != TC_AGENT_RUNNING || !is_agreed(agent, slot))
            continue;
        if (tc_state_size((uint32_t)slot->steps.states) > TC_FRAME_HEADER + (size_t)agent->welcome.most_body &&
            agent->welcome.most_body != 0)
            tc_agent_finish(agent, slot, TC_AGENT_REFUSED, "the cloud takes no state as long as that of agent %s",
                            slot->steps.name);
        else
            begin_run(agent, slot);
        if (agent->how == TC_AGENT_PAUSING) /* another address may have the run */
            return;
    }
    if (tc_agent_is_over(agent->how))
        return;
    agent->how = TC_AGENT_RUNNING;
    (void)snprintf(agent->message, sizeof agent->message, "waiting for the cloud's answer");
    tc_agent_say_enrol(agent, false);
}

/* ---- enrolled ---- */

/* Names the copy first: two clouds of one run are worse than one cloud that lost rounds. */
#define ROLLED_BACK                                                                                                    \
    "if it is a copy, stop the copy; if it was restored from a back-up, its operator goes on with tacit serve "        \
    "--after-restore"

static void roll_back(tc_agent *agent, tc_agent_slot *slot, const char *what) {
    tc_agent_meet_stale(agent, slot, "the cloud %s: " ROLLED_BACK, what);
    if (agent->how != TC_AGENT_PAUSING)
        tc_agent_say_leave(agent, (uint32_t)slot->number);
}

/* Rounds have passed, so states of this agent were sent by a process whose state file is lost. The agent starts again,
 * and its average starts with the first state it sends itself. False: no round is left, so there is no result. */
static bool begin_without_record(tc_agent *agent, tc_agent_slot *slot, const tc_enrolled *enrolled) {
    tc_agent_record *record = &slot->record;
    if (enrolled->next > enrolled->rounds) {
        tc_agent_finish(agent, slot, TC_AGENT_REFUSED,
                        "the run is over, and agent %.60s has no state file of it, so there is no "
                        "result to take",
                        slot->steps.name);
        tc_agent_say_leave(agent, (uint32_t)slot->number);
        return false;
    }
    record->unknown = enrolled->next - 1;
    if (record->unknown > 0 && !slot->is_known_odd) {
        slot->is_known_odd = true;
        agent->oddities++;
    }
    return true;
}

static void enter(tc_agent *agent, tc_agent_slot *slot, const tc_enrolled *enrolled) {
    tc_agent_record *record = &slot->record;
    char what[120];
    bool is_new = record->answered == 0 && record->epoch.number == 0; /* has sent no state yet */
    if (slot->is_stale) {
        (void)snprintf(what, sizeof what, "is in epoch %llu, and agent %.40s has served epoch %llu",
                       (unsigned long long)agent->welcome.epoch.number, slot->steps.name,
                       (unsigned long long)record->epoch.number);
        roll_back(agent, slot, what);
    } else if (enrolled->next <= record->answered) {
        (void)snprintf(what, sizeof what, "asks agent %.40s for state %llu, whose answer it has used", slot->steps.name,
                       (unsigned long long)enrolled->next);
        roll_back(agent, slot, what);
    } else if (!is_new || begin_without_record(agent, slot, enrolled)) {
        slot->is_enrolled = true;
        if (agent->enrolled_at == 0)
            agent->enrolled_at = tc_agent_clock();
        slot->exponent = enrolled->exponent;
        if (record->rounds == 0) {
            record->rounds = enrolled->rounds;
            record->method = (unsigned)enrolled->method;
            slot->is_saved = false;
        }
        if (enrolled->next == record->answered + 1) /* else the answer to the round before follows */
            say_state(agent, slot);
    }
}

static void scale_and_enter(tc_agent *agent, tc_agent_slot *slot, const tc_enrolled *enrolled) {
    const char *why = slot->steps.scale(slot->steps.context, enrolled->scales);
    if (why == NULL) {
        enter(agent, slot, enrolled);
        return;
    }
    tc_agent_finish(agent, slot, TC_AGENT_REFUSED, "the cloud scales the states of agent %.60s, and %s",
                    slot->steps.name, why);
    tc_agent_say_leave(agent, (uint32_t)slot->number);
}

static void hear_enrolled(tc_agent *agent, tc_agent_slot *slot, const tc_frame *frame) {
    tc_enrolled enrolled;
    const tc_agent_record *record = &slot->record;
    tc_refusal_code wrong = tc_enrolled_decode(frame, &enrolled);
    if (wrong != TC_NOT_REFUSED)
        broken(agent, tc_refusal_text(wrong));
    else if (slot->is_enrolled || !agent->is_welcome)
        broken(agent, "enrolled out of turn");
    else if (enrolled.states != slot->steps.states)
        tc_agent_finish(agent, slot, TC_AGENT_REFUSED,
                        "the cloud's file has %u states for agent %s, and this one has %zu: the files are not of the "
                        "same problem",
                        enrolled.states, slot->steps.name, slot->steps.states);
    else if (enrolled.method == TC_WIRE_PUBLISHED && slot->steps.has_kinks)
        tc_agent_finish(
            agent, slot, TC_AGENT_REFUSED,
            "the cloud runs method published, whose Assumption 1 asks for a smooth objective, and that of agent "
            "%s has kinks: method tacit takes it",
            slot->steps.name);
    else if (enrolled.rounds == 0 || tc_wire_version(enrolled.method) > agent->welcome.version ||
             enrolled.next > enrolled.rounds + 1 ||
             (record->rounds > 0 && (record->rounds != enrolled.rounds || record->method != enrolled.method)))
        broken(agent, "rounds or method that are not this run's");
    else if (enrolled.scales != NULL && agent->welcome.version < TC_PROTOCOL_SCALES)
        broken(agent, "scales in a version that has none");
    else
        scale_and_enter(agent, slot, &enrolled);
}

/* ---- answer ---- */

static tc_method method_of(const tc_agent_record *record) {
    return tc_wire_averages(record->method) ? TC_METHOD_TACIT : TC_METHOD_PUBLISHED;
}

/* The answer of this round moves the result: its step is t, and its p the public Slater point. */
static bool is_move(const tc_agent_record *record, uint64_t round) {
    return (record->method == TC_WIRE_MOVED || record->method == TC_WIRE_CERTAIN) && round == record->rounds;
}

/* After this round the agent sends its average, and makes no step. */
static bool ends_averaging(const tc_agent_record *record, uint64_t round) {
    return record->method == TC_WIRE_CERTAIN && round + 1 == record->rounds && round > record->unknown;
}

/* The average that is sent in the last round must be that of the states which the cloud had, with the weights of all
 * rounds: how little one state moves it is a part of the promise. Rounds that this agent knows nothing of end that. */
static void forget_average(tc_agent_slot *slot, uint64_t round) {
    tc_agent_record *record = &slot->record;
    if (record->method == TC_WIRE_CERTAIN)
        record->unknown = round;
}

/* average += weight (x - average), with the x that the cloud used in that round, so that the cloud's slow filter is
 * this average plus noise. In a held round the cloud used an earlier state than the one sent for it. If several rounds
 * passed without this agent, x counts for all of them: nobody says which of them were held. After a lost state file the
 * weights are those of a run that began then. */
static void average_in(tc_agent *agent, tc_agent_slot *slot, uint64_t round, bool was_held) {
    const tc_agent_record *record = &slot->record;
    size_t states = slot->steps.states;
    uint64_t first = record->answered + 1;
    if (round <= record->unknown) { /* the answer to a state from before the file was lost */
        memcpy(agent->next_average, agent->next, states * sizeof(double));
        return;
    }
    if (first <= record->unknown)
        first = record->unknown + 1;
    if (!slot->has_used || !was_held || round > first)
        memcpy(slot->used, record->x, states * sizeof(double));
    slot->has_used = true;
    if (round - first > MOST_MISSED)
        first = round - MOST_MISSED;
    memcpy(agent->next_average, record->average, states * sizeof(double));
    for (uint64_t k = first; k <= round; k++) {
        double weight = tc_result_weight(method_of(record), k - record->unknown);
        for (size_t i = 0; i < states; i++)
            agent->next_average[i] += weight * (slot->used[i] - agent->next_average[i]);
    }
}

/* x(k+1) and the average into next and next_average. False: the agent is over. */
static bool step_from(tc_agent *agent, tc_agent_slot *slot, const tc_answer *answer) {
    const tc_agent_record *record = &slot->record;
    tc_agent_answer told = {.method = method_of(record) == TC_METHOD_TACIT ? TC_WIRE_TACIT : TC_WIRE_PUBLISHED,
                            .step = answer->step,
                            .regularization = answer->regularization,
                            .p = agent->p};
    tc_agent_stepped stepped = slot->steps.step(slot->steps.context, &told, record->x, agent->next);
    if (stepped != TC_STEPPED) {
        tc_agent_finish(agent, slot, TC_AGENT_DIVERGED,
                        stepped == TC_STEP_FAILED
                            ? "a function of agent %.100s failed in round %llu: it did not return 0"
                            : "the step of agent %.100s in round %llu was not finite, though no function failed",
                        slot->steps.name, (unsigned long long)answer->round);
        tc_agent_say_leave(agent, (uint32_t)slot->number);
        return false;
    }
    tc_agent_into_box(slot, agent->next);
    average_in(agent, slot, answer->round, (answer->flags & TC_ANSWER_HELD) != 0);
    return true;
}

/* The last round: no step, and the moved average is both. */
static bool move_result(tc_agent *agent, tc_agent_slot *slot, const tc_answer *answer) {
    const tc_agent_record *record = &slot->record;
    if (tc_agent_lacks_rounds(slot)) {
        tc_agent_finish(agent, slot, TC_AGENT_REFUSED,
                        "the last answer is about an average that agent %.60s sent and no longer has: its state file "
                        "is older than that, so there is no result to take",
                        slot->steps.name);
        tc_agent_say_leave(agent, (uint32_t)slot->number);
        return false;
    }
    if (!slot->steps.holds(slot->steps.context, agent->p)) {
        tc_agent_finish(agent, slot, TC_AGENT_NO_SLATER,
                        "the cloud moves the result to a point that is not the Slater point of agent %.100s or not in "
                        "its set: are both files of the same tacit split?",
                        slot->steps.name);
        tc_agent_say_leave(agent, (uint32_t)slot->number);
        return false;
    }
    if (record->method == TC_WIRE_CERTAIN) /* what was sent last is the average, and no state */
        memcpy(agent->next_average, record->average, slot->steps.states * sizeof(double));
    else
        average_in(agent, slot, answer->round, (answer->flags & TC_ANSWER_HELD) != 0);
    for (size_t i = 0; i < slot->steps.states; i++)
        agent->next[i] = agent->next_average[i] = tc_moved(agent->next_average[i], answer->step, agent->p[i]);
    return true;
}

static bool turn_to_average(tc_agent *agent, tc_agent_slot *slot, const tc_answer *answer) {
    average_in(agent, slot, answer->round, (answer->flags & TC_ANSWER_HELD) != 0);
    memcpy(agent->next, agent->next_average, slot->steps.states * sizeof(double));
    return true;
}

static void take(tc_agent *agent, tc_agent_slot *slot, const tc_answer *answer) {
    tc_agent_record *record = &slot->record;
    size_t size = slot->steps.states * sizeof(double);
    bool was_moved = (answer->flags & TC_ANSWER_CLAMPED) != 0; /* the cloud had another state than this agent */
    if ((was_moved || answer->round > record->answered + 1) && answer->round > record->unknown)
        forget_average(slot, answer->round);
    bool goes_on = is_move(record, answer->round)          ? move_result(agent, slot, answer)
                   : ends_averaging(record, answer->round) ? turn_to_average(agent, slot, answer)
                                                           : step_from(agent, slot, answer);
    if (!goes_on)
        return;
    memcpy(record->x, agent->next, size);
    memcpy(record->average, agent->next_average, size);
    OPENSSL_cleanse(agent->next, size);
    OPENSSL_cleanse(agent->next_average, size);
    record->answered = answer->round;
    slot->is_saved = false;
    agent->has_answered = true;
    if (agent->settings.moved != NULL)
        agent->settings.moved(agent->settings.context, slot->number, answer->round + 1, record->x);
    say_state(agent, slot);
}

static bool is_in_range(const tc_agent_record *record, const tc_answer *answer) {
    if (answer->round > record->rounds)
        return false;
    if (is_move(record, answer->round))
        return answer->step >= 0 && answer->step <= 1 && answer->regularization == 0;
    return answer->step > 0 && answer->regularization >= 0;
}

static void hear_answer(tc_agent *agent, tc_agent_slot *slot, const tc_frame *frame) {
    tc_answer answer;
    tc_refusal_code wrong = tc_answer_decode(frame, (uint32_t)slot->steps.states, &answer, agent->p);
    if (wrong != TC_NOT_REFUSED)
        broken(agent, tc_refusal_text(wrong));
    else if (!slot->is_enrolled)
        broken(agent, "an answer for an agent that is not enrolled");
    else if (!is_in_range(&slot->record, &answer))
        broken(agent, "an answer with a step, regularization or round out of range");
    else if (answer.round > slot->record.answered) { /* else it was sent again, and the agent has used it */
        agent->oddities += slot->clamped == 0 && (answer.flags & TC_ANSWER_CLAMPED) != 0;
        slot->clamped += (answer.flags & TC_ANSWER_CLAMPED) != 0;
        slot->held += (answer.flags & TC_ANSWER_HELD) != 0;
        take(agent, slot, &answer);
    }
}

/* ---- notes, refusals, the end ---- */

/* No answer comes for rounds up to this one. x stays and is sent for the next round. */
static void skip(tc_agent *agent, tc_agent_slot *slot, uint64_t round) {
    if (!slot->is_enrolled || round > slot->record.rounds) {
        broken(agent, "a note for an agent that is not enrolled, or of a round out of range");
        return;
    }
    if (round <= slot->record.answered)
        return;
    if (round > slot->record.unknown)
        forget_average(slot, round);
    slot->record.answered = round;
    slot->is_saved = false;
    say_state(agent, slot);
}

static void hear_note(tc_agent *agent, tc_agent_slot *slot, const tc_frame *frame) {
    tc_note note;
    if (tc_note_decode(frame, &note) != TC_NOT_REFUSED) {
        broken(agent, "a note of unknown meaning");
        return;
    }
    (void)snprintf(agent->message, sizeof agent->message, "round %llu, agent %.100s: %s",
                   (unsigned long long)note.round, slot->steps.name, tc_note_text(note.code));
    skip(agent, slot, note.round);
}

/* ", but elm and 2 more": tells the user whose keys were given. */
static const char *tell_holder(const tc_agent *agent, char *text, size_t size) {
    char names[TC_AGENT_HOLDER];
    if (!tc_agent_link_holder(agent->link, names))
        return "; tacit keys issue makes a certificate that does";
    (void)snprintf(text, size, ", but %s; tacit keys issue makes a certificate that does", names);
    return text;
}

static const char *advice(const tc_agent *agent, unsigned code, char *text, size_t size) {
    switch (code) {
    case TC_REFUSED_VERSION:
        return "; one of the two needs a newer version of tacit";
    case TC_REFUSED_UNKNOWN:
        return " in the cloud's file; are both files of the same tacit split?";
    case TC_REFUSED_IDENTITY:
        return tell_holder(agent, text, size);
    case TC_REFUSED_REPLACED:
        return ", for the third time: an agent runs once at a time. If no second process of yours has its keys, "
               "somebody "
               "else has them";
    case TC_REFUSED_SLATER:
        return "; the run waits for it: correct its set and start it again, or tell the operator that the point does "
               "not suit it";
    case TC_REFUSED_STATES:
        return "; the files are not of the same problem";
    case TC_REFUSED_RUN:
        return "; --new-run takes part in it from its first round";
    default:
        return "";
    }
}

/* If the run is over, shows the cloud's own reason: clouds of earlier versions gave runs up before they began. */
static int said_length(const tc_refusal *refusal, const char **text) {
    if (refusal->code != TC_REFUSED_OVER || refusal->reason_length == 0)
        return (int)strlen(*text);
    *text = refusal->reason;
    return refusal->reason_length < MOST_SAID ? (int)refusal->reason_length : MOST_SAID;
}

/* The run has ended, and the cloud gave the last round of --feasible always up: the average is whole, and stays. */
static bool lacks_move_alone(const tc_agent_slot *slot) {
    const tc_agent_record *record = &slot->record;
    return record->method == TC_WIRE_CERTAIN && record->answered + 1 == record->rounds &&
           !tc_agent_lacks_rounds(slot) && slot->is_current;
}

/* Somebody else has its keys, or the owner has started it twice. Neither may take the place of the other for good: it
 * tries again, so that whoever held the place for a moment only does not stop the run. */
static void stand_back(tc_agent *agent, tc_agent_slot *slot) {
    bool is_alone = true;
    slot->is_enrolled = false;
    slot->again_at = tc_agent_clock() + agent->settings.replaced_milliseconds;
    agent->oddities++;
    for (size_t i = 0; i < agent->settings.count; i++)
        is_alone = is_alone && !agent->slots[i].is_enrolled;
    if (is_alone)
        tc_agent_pause(agent, "the cloud refused agent %s: %s", slot->steps.name, tc_refusal_text(TC_REFUSED_REPLACED));
    else if (agent->again_at == 0)
        agent->again_at = slot->again_at;
}

static void refuse_slot(tc_agent *agent, tc_agent_slot *slot, const tc_refusal *refusal) {
    const char *text = tc_refusal_text(refusal->code);
    char more[TC_AGENT_HOLDER + 80];
    bool is_final = !tc_refusal_may_retry(refusal->code);
    if (refusal->code == TC_REFUSED_REPLACED && !slot->is_enrolled)
        is_final = false; /* the other connection may be this agent's own, just lost */
    else if (refusal->code == TC_REFUSED_REPLACED && ++slot->replaced < TC_AGENT_MOST_REPLACED) {
        stand_back(agent, slot);
        return;
    }
    if (refusal->code == TC_REFUSED_SLOT && slot->again_at != 0)
        return; /* of a state that was on its way when the other connection took over */
    if (refusal->code == TC_REFUSED_OVER && slot->is_enrolled && lacks_move_alone(slot))
        return; /* END follows, and says how it ended */
    if (refusal->code == TC_REFUSED_OVER && tc_agent_has_all(agent, slot)) {
        tc_agent_finish(agent, slot, TC_AGENT_DONE, "%s", "");
        return;
    }
    if (!is_final) {
        tc_agent_pause(agent, "the cloud refused agent %s: %s (%.*s)", slot->steps.name, text == NULL ? "?" : text,
                       (int)refusal->reason_length, refusal->reason);
        return;
    }
    int length = said_length(refusal, &text);
    if (refusal->code == TC_REFUSED_ROLLBACK) {
        tc_agent_meet_stale(agent, slot, "the cloud refused agent %.60s: %s; " ROLLED_BACK, slot->steps.name, text);
        return;
    }
    tc_agent_finish(agent, slot, refusal->code == TC_REFUSED_SLATER ? TC_AGENT_NO_SLATER : TC_AGENT_REFUSED,
                    "the cloud refused agent %.60s: %.*s%s", slot->steps.name, length, text,
                    advice(agent, refusal->code, more, sizeof more));
}

static void hear_refusal(tc_agent *agent, const tc_frame *frame) {
    tc_refusal refusal;
    if (tc_refusal_decode(frame, &refusal) != TC_NOT_REFUSED) {
        broken(agent, "a refusal that cannot be read");
        return;
    }
    if (refusal.slot != TC_NO_SLOT) {
        if (refusal.slot >= agent->settings.count)
            broken(agent, "a refusal of an agent that is not here");
        else
            refuse_slot(agent, &agent->slots[refusal.slot], &refusal);
        return;
    }
    if (tc_refusal_may_retry(refusal.code) || refusal.code == TC_REFUSED_REPLACED) {
        const char *text = tc_refusal_text(refusal.code);
        tc_agent_pause(agent, "the cloud refused this connection: %s (%.*s)", text == NULL ? "?" : text,
                       (int)refusal.reason_length, refusal.reason);
        return;
    }
    for (size_t i = 0; i < agent->settings.count && agent->how != TC_AGENT_PAUSING; i++)
        refuse_slot(agent, &agent->slots[i], &refusal);
}

static void hear_end(tc_agent *agent, const tc_frame *frame) {
    tc_end end;
    if (tc_end_decode(frame, &end) != TC_NOT_REFUSED || !agent->is_welcome) {
        broken(agent, "an end that cannot be read, or that comes before the welcome");
        return;
    }
    if (end.reason == TC_END_STOPPED) {
        tc_agent_pause(agent, "the cloud stopped after round %llu and may come back", (unsigned long long)end.round);
        return;
    }
    for (size_t i = 0; i < agent->settings.count; i++) {
        tc_agent_slot *slot = &agent->slots[i];
        if (end.reason == TC_END_DIVERGED)
            tc_agent_finish(agent, slot, TC_AGENT_DIVERGED, "the run diverged after round %llu",
                            (unsigned long long)end.round);
        else if (tc_agent_has_all(agent, slot))
            tc_agent_finish(agent, slot, TC_AGENT_DONE, "%s", "");
        else if (lacks_move_alone(slot) && end.round == slot->record.answered)
            tc_agent_finish(agent, slot, TC_AGENT_DONE,
                            "the run ended without its last round, since averages of some agents did not come: the "
                            "result of agent %.60s is its average, was not moved, and is not certain to satisfy the "
                            "constraints",
                            slot->steps.name);
        else
            tc_agent_finish(agent, slot, TC_AGENT_REFUSED,
                            "the run ended after round %llu, and agent %.60s has answers only up "
                            "to round %llu",
                            (unsigned long long)end.round, slot->steps.name, (unsigned long long)slot->record.answered);
    }
}

static void hear_of_slot(tc_agent *agent, const tc_frame *frame) {
    if (frame->slot >= agent->settings.count) {
        broken(agent, "a message for an agent that is not here");
        return;
    }
    tc_agent_slot *slot = &agent->slots[frame->slot];
    if (tc_agent_is_over(slot->how))
        return; /* it has left, and the cloud does not know yet */
    if (frame->type == TC_MESSAGE_ENROLLED)
        hear_enrolled(agent, slot, frame);
    else if (frame->type == TC_MESSAGE_ANSWER)
        hear_answer(agent, slot, frame);
    else
        hear_note(agent, slot, frame);
}

void tc_agent_hear(tc_agent *agent, const tc_frame *frame) {
    switch (frame->type) {
    case TC_MESSAGE_WELCOME:
        hear_welcome(agent, frame);
        break;
    case TC_MESSAGE_ENROLLED:
    case TC_MESSAGE_ANSWER:
    case TC_MESSAGE_NOTE:
        hear_of_slot(agent, frame);
        break;
    case TC_MESSAGE_REFUSAL:
        hear_refusal(agent, frame);
        break;
    case TC_MESSAGE_END:
        hear_end(agent, frame);
        break;
    default:
        broken(agent, "a message of unknown type");
    }
}
