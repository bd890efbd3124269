/* What an agent says. Everything is put into the connection's buffer, which has room for all that may be said at once;
 * where it has not, the cloud has broken the protocol. */
#include "net/agent/agent_parts.h"

#include "engine/agent_half.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

static unsigned char *room(tc_agent *agent, size_t size) {
    unsigned char *bytes = tc_agent_link_put(agent->link, size);
    if (bytes == NULL)
        tc_agent_pause(agent, "the cloud asks for more than it has read");
    return bytes;
}

void tc_agent_say_hello(tc_agent *agent) {
    const char *software = agent->settings.software == NULL ? "tacit" : agent->settings.software;
    size_t length = strlen(software);
    tc_hello hello = {.lowest_version = TC_PROTOCOL,
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
                      .answered = slot->memory.answered,
                      .states = (uint32_t)slot->steps.states,
                      .slater = slot->slater,
                      .epoch = slot->memory.epoch,
                      .name = slot->steps.name,
                      .name_length = strlen(slot->steps.name)};
    unsigned char *bytes = room(agent, tc_enrol_size(&enrol));
    if (bytes != NULL)
        tc_enrol_encode(&enrol, bytes);
}

void tc_agent_say_enrol(tc_agent *agent) {
    for (size_t i = 0; i < agent->settings.count && agent->is_welcome; i++)
        if (!tc_agent_is_over(agent->slots[i].how))
            enrol_one(agent, &agent->slots[i]);
}

void tc_agent_say_leave(tc_agent *agent, uint32_t slot) {
    unsigned char *bytes = tc_agent_link_put(agent->link, TC_LEAVE_SIZE);
    if (bytes != NULL)
        tc_leave_encode(slot, bytes);
}

/* The epoch is the highest that a state was sent to: it is written down before the state leaves. */
static bool save(tc_agent *agent, tc_agent_slot *slot) {
    tc_agent_memory *memory = &slot->memory;
    const tc_epoch *epoch = &agent->welcome.epoch;
    if (memory->epoch.number != epoch->number || memcmp(memory->epoch.id, epoch->id, TC_EPOCH_ID) != 0) {
        memory->epoch = *epoch;
        slot->is_saved = false;
    }
    if (slot->is_saved || tc_agent_state_save(slot->file, memory)) {
        slot->is_saved = true;
        return true;
    }
    tc_agent_finish(agent, slot, TC_AGENT_FAILED,
                    "cannot write '%s': %s; state %llu was not sent, and the same command goes on from there",
                    tc_agent_state_path(slot->file), strerror(errno), (unsigned long long)memory->answered + 1);
    return false;
}

void tc_agent_say_state(tc_agent *agent, tc_agent_slot *slot) {
    tc_agent_memory *memory = &slot->memory;
    size_t states = slot->steps.states;
    if (!save(agent, slot) || memory->answered == memory->rounds)
        return;
    if (!tc_to_lattice(memory->x, states, slot->exponent, agent->units)) {
        tc_agent_finish(agent, slot, TC_AGENT_DIVERGED, "state %llu is too large to be said",
                        (unsigned long long)memory->answered + 1);
        tc_agent_say_leave(agent, (uint32_t)slot->number);
        return;
    }
    if (slot->steps.lower != NULL)
        tc_into_box(slot->steps.lower, slot->steps.upper, states, slot->exponent, agent->units);
    unsigned char *bytes = room(agent, tc_state_size((uint32_t)states));
    if (bytes != NULL)
        tc_state_encode((uint32_t)slot->number, memory->answered + 1, agent->units, (uint32_t)states, bytes);
    OPENSSL_cleanse(agent->units, states * sizeof *agent->units);
}
