#include "engine/snapshot.h"

#include <string.h>

void tc_snapshot_bytes(tc_snapshot *snapshot, unsigned char *bytes, size_t count) {
    if (snapshot->what == TC_SNAPSHOT_SAVE)
        memcpy(snapshot->to + snapshot->at, bytes, count);
    else if (snapshot->what == TC_SNAPSHOT_LOAD)
        memcpy(bytes, snapshot->from + snapshot->at, count);
    snapshot->at += count;
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

void tc_snapshot_count(tc_snapshot *snapshot, uint64_t *number) {
    if (snapshot->what == TC_SNAPSHOT_SAVE)
        save(snapshot->to + snapshot->at, *number);
    else if (snapshot->what == TC_SNAPSHOT_LOAD)
        *number = load(snapshot->from + snapshot->at);
    snapshot->at += 8;
}

void tc_snapshot_numbers(tc_snapshot *snapshot, double *numbers, size_t count) {
    uint64_t bits;
    for (size_t i = 0; snapshot->what == TC_SNAPSHOT_SAVE && i < count; i++) {
        memcpy(&bits, &numbers[i], sizeof bits);
        save(snapshot->to + snapshot->at + 8 * i, bits);
    }
    for (size_t i = 0; snapshot->what == TC_SNAPSHOT_LOAD && i < count; i++) {
        bits = load(snapshot->from + snapshot->at + 8 * i);
        memcpy(&numbers[i], &bits, sizeof bits);
    }
    snapshot->at += 8 * count;
}
