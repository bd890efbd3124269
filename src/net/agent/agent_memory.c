#include "net/agent/agent_memory.h"

#include <math.h>
#include <string.h>

static const unsigned char MAGIC[8] = {'t', 'a', 'c', 'i', 't', 'a', 'g', '1'};

enum {
    SAVES = 8,
    RUN = 16,
    PLAN = 32,
    EPOCH = 64,
    EPOCH_IDENTITY = 72,
    ANSWERED = 88,
    ROUNDS = 96,
    METHOD = 104,
    STATES = 108,
    NAME_LENGTH = 112,
    UNKNOWN = 114,
    NAME = 120,
    NUMBERS = NAME + TC_MOST_NAME,
};

const char *tc_snapshot_finding_text(tc_snapshot_finding finding) {
    static const char *const texts[] = {
#define X(code, text) text,
        TC_MEMORY_FINDINGS(X)
#undef X
    };
    return texts[finding];
}

size_t tc_agent_memory_size(size_t states) { return NUMBERS + 16 * states + TC_AGENT_DIGEST; }

void tc_agent_memory_encode(const tc_agent_memory *memory, const char *name, size_t states, unsigned char *bytes) {
    size_t length = strlen(name);
    memset(bytes, 0, NUMBERS);
    memcpy(bytes, MAGIC, sizeof MAGIC);
    tc_put_u64(bytes + SAVES, memory->saves);
    memcpy(bytes + RUN, memory->run_id, TC_RUN_ID);
    memcpy(bytes + PLAN, memory->plan_hash, TC_HASH);
    tc_put_u64(bytes + EPOCH, memory->epoch.number);
    memcpy(bytes + EPOCH_IDENTITY, memory->epoch.id, TC_EPOCH_ID);
    tc_put_u64(bytes + ANSWERED, memory->answered);
    tc_put_u64(bytes + ROUNDS, memory->rounds);
    tc_put_u32(bytes + METHOD, memory->method);
    tc_put_u32(bytes + STATES, (uint32_t)states);
    tc_put_u16(bytes + NAME_LENGTH, (uint16_t)length);
    tc_put_u32(bytes + UNKNOWN, (uint32_t)memory->unknown);
    tc_put_u16(bytes + UNKNOWN + 4, (uint16_t)(memory->unknown >> 32));
    memcpy(bytes + NAME, name, length);
    tc_put_doubles(bytes + NUMBERS, memory->x, states);
    tc_put_doubles(bytes + NUMBERS + 8 * states, memory->average, states);
}

static bool are_finite(const double *values, size_t count) {
    bool finite = true;
    for (size_t i = 0; i < count; i++)
        finite &= isfinite(values[i]) != 0;
    return finite;
}

static bool are_zero(const unsigned char *bytes, size_t count) {
    unsigned char all = 0;
    for (size_t i = 0; i < count; i++)
        all |= bytes[i];
    return all == 0;
}

/* Numbers that no agent would have written, whatever the digest says. */
static bool is_sane(const tc_agent_memory *memory) {
    bool enrolled = memory->rounds > 0;
    return memory->rounds <= TC_FRAME_MOST_ROUND && memory->answered <= memory->rounds &&
           memory->unknown <= memory->rounds &&
           (enrolled ? memory->method == TC_WIRE_PUBLISHED || memory->method == TC_WIRE_TACIT : memory->method == 0) &&
           (memory->epoch.number != 0 || are_zero(memory->epoch.id, TC_EPOCH_ID));
}

tc_snapshot_finding tc_agent_memory_decode(const unsigned char *bytes, size_t size, const char *name, size_t states,
                                           tc_agent_memory *memory) {
    if (size < NUMBERS + TC_AGENT_DIGEST || memcmp(bytes, MAGIC, sizeof MAGIC) != 0)
        return TC_MEMORY_DAMAGED;
    size_t length = tc_get_u16(bytes + NAME_LENGTH), found = tc_get_u32(bytes + STATES);
    if (length == 0 || length > TC_MOST_NAME || memchr(bytes + NAME, 0, length) != NULL ||
        !are_zero(bytes + NAME + length, TC_MOST_NAME - length))
        return TC_MEMORY_DAMAGED;
    if (length != strlen(name) || memcmp(bytes + NAME, name, length) != 0)
        return TC_MEMORY_ANOTHER;
    if (found != states)
        return TC_MEMORY_LENGTH;
    if (size != tc_agent_memory_size(states))
        return TC_MEMORY_DAMAGED;
    memory->saves = tc_get_u64(bytes + SAVES);
    memcpy(memory->run_id, bytes + RUN, TC_RUN_ID);
    memcpy(memory->plan_hash, bytes + PLAN, TC_HASH);
    memory->epoch.number = tc_get_u64(bytes + EPOCH);
    memcpy(memory->epoch.id, bytes + EPOCH_IDENTITY, TC_EPOCH_ID);
    memory->answered = tc_get_u64(bytes + ANSWERED);
    memory->rounds = tc_get_u64(bytes + ROUNDS);
    memory->unknown = tc_get_u32(bytes + UNKNOWN) | (uint64_t)tc_get_u16(bytes + UNKNOWN + 4) << 32;
    memory->method = tc_get_u32(bytes + METHOD);
    tc_get_doubles(bytes + NUMBERS, memory->x, states);
    tc_get_doubles(bytes + NUMBERS + 8 * states, memory->average, states);
    return is_sane(memory) && are_finite(memory->x, states) && are_finite(memory->average, states) ? TC_MEMORY_GOOD
                                                                                                   : TC_MEMORY_DAMAGED;
}
