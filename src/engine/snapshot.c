#include "engine/snapshot.h"

#include <string.h>

void tc_snapshot_bytes(tc_snapshot *memory, unsigned char *bytes, size_t count) {
    if (memory->what == TC_SNAPSHOT_SAVE)
        memcpy(memory->to + memory->at, bytes, count);
    else if (memory->what == TC_SNAPSHOT_LOAD)
        memcpy(bytes, memory->from + memory->at, count);
    memory->at += count;
}

static void save(unsigned char *to, uint64_t number) {
    for (unsigned i = 0; i < 8; i++)
        to[i] = (unsigned char)(number >> (8 * i));
}

static uint64_t load(const unsigned char *from) {
    uint64_t number = 0;
    for (unsigned i = 0; i < 8; i++)
        number |= (uint64_t)from[i] << (8 * i);
    return number;
}

void tc_snapshot_count(tc_snapshot *memory, uint64_t *number) {
    if (memory->what == TC_SNAPSHOT_SAVE)
        save(memory->to + memory->at, *number);
    else if (memory->what == TC_SNAPSHOT_LOAD)
        *number = load(memory->from + memory->at);
    memory->at += 8;
}

void tc_snapshot_numbers(tc_snapshot *memory, double *numbers, size_t count) {
    uint64_t bits;
    for (size_t i = 0; memory->what == TC_SNAPSHOT_SAVE && i < count; i++) {
        memcpy(&bits, &numbers[i], sizeof bits);
        save(memory->to + memory->at + 8 * i, bits);
    }
    for (size_t i = 0; memory->what == TC_SNAPSHOT_LOAD && i < count; i++) {
        bits = load(memory->from + memory->at + 8 * i);
        memcpy(&numbers[i], &bits, sizeof bits);
    }
    memory->at += 8 * count;
}
