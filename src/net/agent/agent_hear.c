/* What an agent hears, and what it does then. A frame that breaks the protocol ends the connection: there is no way to
 * know what else the cloud has misunderstood, and a new connection begins from what is in the state file. */
#include "net/agent/agent_parts.h"

#include "base/text.h"
#include "engine/device.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

enum { MOST_MISSED = 1000 }; /* rounds that passed without this agent and still count in its average */
enum { MOST_SAID = 160 };    /* bytes of the cloud's words that are repeated */

static void broken(tc_agent *agent, const char *what) {
    tc_agent_pause(agent, "what the cloud sent is not the protocol's: %s", what);
}

/* ---- welcome ---- */

static bool is_same_run(const tc_agent_memory *memory, const tc_welcome *welcome) {
    return memcmp(memory->run_id, welcome->run_id, TC_RUN_ID) == 0 &&
           memcmp(memory->plan_hash, welcome->plan_hash, TC_HASH) == 0;
}

/* An earlier epoch than one that has had states, or another of the same number: a cloud that was restored or copied. It
 * is told what this agent has seen, which lets its operator go on after a restoration, and gets no state. */
static bool is_stale(const tc_epoch *seen, const tc_epoch *now) {
    return now->number < seen->number || (now->number == seen->number && memcmp(now->id, seen->id, TC_EPOCH_ID) != 0);
}

/* A wish for a new run is for one: a cloud cannot have this process begin again and again. */
static void begin_run(tc_agent *agent, tc_agent_slot *slot) {
    tc_agent_memory *memory = &slot->memory;
    if (memory->rounds > 0 && !is_same_run(memory, &agent->welcome)) {
        if (!agent->settings.new_run || slot->is_current) {
            tc_agent_finish(
                agent, slot, TC_AGENT_REFUSED,
                "the cloud runs another run or plan than that of '%s'; %s--new-run agent %s takes part in it "
                "from its first round",
                tc_agent_state_path(slot->file), agent->settings.new_run ? "when it is started again with " : "with ",
                slot->steps.name);
            return;
        }
        if (!tc_agent_reset(slot)) {
            tc_agent_finish(agent, slot, TC_AGENT_FAILED, "agent %s has no point to start from", slot->steps.name);
            return;
        }
        slot->was_over = false;
        tc_agent_tell_start(agent, slot);
    }
    slot->is_current = true;
    if (memory->rounds == 0) {
        memcpy(memory->run_id, agent->welcome.run_id, TC_RUN_ID);
        memcpy(memory->plan_hash, agent->welcome.plan_hash, TC_HASH);
    }
    tc_agent_name_run(slot);
    slot->is_stale = is_stale(&memory->epoch, &agent->welcome.epoch);
}

/* What an agent agreed to is one plan: its hash stands for every scale and price. Another gets no state. */
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
    }
    if (tc_agent_is_over(agent->how))
        return;
    agent->how = TC_AGENT_RUNNING;
    (void)snprintf(agent->message, sizeof agent->message, "waiting for the cloud's answer");
    tc_agent_say_enrol(agent);
}

/* ---- enrolled ---- */

/* Two clouds of one run are worse than a cloud that lost rounds. */
#define ROLLED_BACK                                                                                                    \
    "if it is a copy, stop the copy; if it was restored from a back-up, its operator goes on with tacit serve "        \
    "--after-restore"

static void roll_back(tc_agent *agent, tc_agent_slot *slot, const char *what) {
    tc_agent_finish(agent, slot, TC_AGENT_REFUSED, "the cloud %s: " ROLLED_BACK, what);
    tc_agent_say_leave(agent, (uint32_t)slot->number);
}

/* A round needs a state of every agent, so there were states of this one, said by a process whose file is lost. What
 * was x then, nobody knows here: the agent begins anew, and its average with the first state that it says itself.
 * False: no round is left, and there is no answer to come to. */
static bool begin_without_memory(tc_agent *agent, tc_agent_slot *slot, const tc_enrolled *enrolled) {
    tc_agent_memory *memory = &slot->memory;
    if (enrolled->next > enrolled->rounds) {
        tc_agent_finish(agent, slot, TC_AGENT_REFUSED,
                        "the run is over, and agent %.60s has no memory of it: without its state file there is no "
                        "answer to take",
                        slot->steps.name);
        tc_agent_say_leave(agent, (uint32_t)slot->number);
        return false;
    }
    memory->unknown = enrolled->next - 1;
    if (memory->unknown > 0 && !slot->is_known_odd) {
        slot->is_known_odd = true;
        agent->oddities++;
    }
    return true;
}

static void enter(tc_agent *agent, tc_agent_slot *slot, const tc_enrolled *enrolled) {
    tc_agent_memory *memory = &slot->memory;
    char what[120];
    bool is_new = memory->answered == 0 && memory->epoch.number == 0; /* has said no state yet */
    if (slot->is_stale) {
        (void)snprintf(what, sizeof what, "is in epoch %llu, and agent %.40s has served epoch %llu",
                       (unsigned long long)agent->welcome.epoch.number, slot->steps.name,
                       (unsigned long long)memory->epoch.number);
        roll_back(agent, slot, what);
    } else if (enrolled->next <= memory->answered) {
        (void)snprintf(what, sizeof what, "asks agent %.40s for state %llu, which it has answered", slot->steps.name,
                       (unsigned long long)enrolled->next);
        roll_back(agent, slot, what);
    } else if (!is_new || begin_without_memory(agent, slot, enrolled)) {
        slot->is_enrolled = true;
        if (agent->enrolled_at == 0)
            agent->enrolled_at = tc_agent_clock();
        slot->exponent = enrolled->exponent;
        if (memory->rounds == 0) {
            memory->rounds = enrolled->rounds;
            memory->method = (unsigned)enrolled->method;
            slot->is_saved = false;
        }
        if (enrolled->next == memory->answered + 1) /* else the answer of the round before follows */
            tc_agent_say_state(agent, slot);
    }
}

static void hear_enrolled(tc_agent *agent, tc_agent_slot *slot, const tc_frame *frame) {
    tc_enrolled enrolled;
    const tc_agent_memory *memory = &slot->memory;
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
    else if (enrolled.rounds == 0 || enrolled.next > enrolled.rounds + 1 ||
             (memory->rounds > 0 && (memory->rounds != enrolled.rounds || memory->method != enrolled.method)))
        broken(agent, "rounds or method that are not this run's");
    else
        enter(agent, slot, &enrolled);
}

/* ---- answer ---- */

/* average += weight (x - average), with the x that the cloud had in that round, so that its slow filter is this average
 * plus noise. A round that is told to have been held had an earlier state than the one said for it. Where several
 * passed without this agent, the first of them is taken to have had x: whether it came in time, nobody tells any more.
 * One that began without a memory has the weights of a run that began then: its x does.
 */
static void average_in(tc_agent *agent, tc_agent_slot *slot, uint64_t round, bool was_held) {
    const tc_agent_memory *memory = &slot->memory;
    size_t states = slot->steps.states;
    uint64_t first = memory->answered + 1;
    if (round <= memory->unknown) { /* the answer to a state that is not known here */
        memcpy(agent->next_average, agent->next, states * sizeof(double));
        return;
    }
    if (first <= memory->unknown)
        first = memory->unknown + 1;
    if (!slot->has_used || !was_held || round > first)
        memcpy(slot->used, memory->x, states * sizeof(double));
    slot->has_used = true;
    if (round - first > MOST_MISSED)
        first = round - MOST_MISSED;
    memcpy(agent->next_average, memory->average, states * sizeof(double));
    for (uint64_t k = first; k <= round; k++) {
        double weight = tc_answer_weight(memory->method == TC_WIRE_TACIT ? TC_METHOD_TACIT : TC_METHOD_PUBLISHED,
                                         k - memory->unknown);
        for (size_t i = 0; i < states; i++)
            agent->next_average[i] += weight * (slot->used[i] - agent->next_average[i]);
    }
}

static void take(tc_agent *agent, tc_agent_slot *slot, const tc_answer *answer) {
    tc_agent_memory *memory = &slot->memory;
    size_t size = slot->steps.states * sizeof(double);
    tc_agent_answer told = {.method = memory->method == TC_WIRE_TACIT ? TC_WIRE_TACIT : TC_WIRE_PUBLISHED,
                            .step = answer->step,
                            .regularization = answer->regularization,
                            .p = agent->p};
    tc_agent_stepped stepped = slot->steps.step(slot->steps.context, &told, memory->x, agent->next);
    if (stepped != TC_STEPPED) {
        tc_agent_finish(agent, slot, TC_AGENT_DIVERGED,
                        stepped == TC_STEP_FAILED
                            ? "a function of agent %.100s failed in round %llu: it did not return 0"
                            : "the step of agent %.100s in round %llu was not finite, though no function failed",
                        slot->steps.name, (unsigned long long)answer->round);
        tc_agent_say_leave(agent, (uint32_t)slot->number);
        return;
    }
    average_in(agent, slot, answer->round, (answer->flags & TC_ANSWER_HELD) != 0);
    memcpy(memory->x, agent->next, size);
    memcpy(memory->average, agent->next_average, size);
    OPENSSL_cleanse(agent->next, size);
    OPENSSL_cleanse(agent->next_average, size);
    memory->answered = answer->round;
    slot->is_saved = false;
    agent->tries = 0;
    if (agent->settings.moved != NULL)
        agent->settings.moved(agent->settings.context, slot->number, answer->round + 1, memory->x);
    tc_agent_say_state(agent, slot);
}

static void hear_answer(tc_agent *agent, tc_agent_slot *slot, const tc_frame *frame) {
    tc_answer answer;
    tc_refusal_code wrong = tc_answer_decode(frame, (uint32_t)slot->steps.states, &answer, agent->p);
    if (wrong != TC_NOT_REFUSED)
        broken(agent, tc_refusal_text(wrong));
    else if (!slot->is_enrolled)
        broken(agent, "an answer for an agent that is not enrolled");
    else if (!(answer.step > 0) || !(answer.regularization >= 0) || answer.round > slot->memory.rounds)
        broken(agent, "an answer with a step, regularization or round out of range");
    else if (answer.round > slot->memory.answered) { /* again: the cloud did not know that it had arrived */
        agent->oddities += slot->clamped == 0 && (answer.flags & TC_ANSWER_CLAMPED) != 0;
        slot->clamped += (answer.flags & TC_ANSWER_CLAMPED) != 0;
        slot->held += (answer.flags & TC_ANSWER_HELD) != 0;
        take(agent, slot, &answer);
    }
}

/* ---- notes, refusals, the end ---- */

/* No answer comes for rounds up to this one: x stays, and is what the next round gets. */
static void skip(tc_agent *agent, tc_agent_slot *slot, uint64_t round) {
    if (!slot->is_enrolled || round > slot->memory.rounds) {
        broken(agent, "a note for an agent that is not enrolled, or of a round out of range");
        return;
    }
    if (round <= slot->memory.answered)
        return;
    slot->memory.answered = round;
    slot->is_saved = false;
    tc_agent_say_state(agent, slot);
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

/* ", but elm and 2 more": whoever took the wrong folder of keys sees whose it is. */
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
        return "; an agent runs once at a time";
    case TC_REFUSED_STATES:
        return "; the files are not of the same problem";
    case TC_REFUSED_ROLLBACK:
        return "; " ROLLED_BACK;
    case TC_REFUSED_RUN:
        return "; --new-run takes part in it from its first round";
    default:
        return "";
    }
}

/* That a run is over, the cloud can say in more words: of one that was given up before it began. */
static int said_length(const tc_refusal *refusal, const char **text) {
    if (refusal->code != TC_REFUSED_OVER || refusal->reason_length == 0)
        return (int)strlen(*text);
    *text = refusal->reason;
    return refusal->reason_length < MOST_SAID ? (int)refusal->reason_length : MOST_SAID;
}

static void refuse_slot(tc_agent *agent, tc_agent_slot *slot, const tc_refusal *refusal) {
    const char *text = tc_refusal_text(refusal->code);
    char more[TC_AGENT_HOLDER + 80];
    bool is_final = !tc_refusal_may_retry(refusal->code);
    if (refusal->code == TC_REFUSED_REPLACED && !slot->is_enrolled)
        is_final = false; /* too soon after another connection of this agent, which may be the one that was just lost */
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
    for (size_t i = 0; i < agent->settings.count; i++)
        refuse_slot(agent, &agent->slots[i], &refusal);
}

static void hear_end(tc_agent *agent, const tc_frame *frame) {
    tc_end end;
    if (tc_end_decode(frame, &end) != TC_NOT_REFUSED || !agent->is_welcome) {
        broken(agent, "an end that cannot be read, or comes before the beginning");
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
        else
            tc_agent_finish(agent, slot, TC_AGENT_REFUSED,
                            "the run ended after round %llu, and agent %.60s has answers up "
                            "to round %llu alone",
                            (unsigned long long)end.round, slot->steps.name, (unsigned long long)slot->memory.answered);
    }
}

static void hear_of_slot(tc_agent *agent, const tc_frame *frame) {
    if (frame->slot >= agent->settings.count) {
        broken(agent, "a message for an agent that is not here");
        return;
    }
    tc_agent_slot *slot = &agent->slots[frame->slot];
    if (tc_agent_is_over(slot->how))
        return; /* it has left, and the cloud did not know yet */
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
