/* A snapshot: the bytes that must survive between two rounds. Each part describes its contents in one function, which
 * counts, writes or reads them, so that the three cannot disagree. Numbers have 64 bits, the least significant byte
 * first; doubles are stored as their bits. */
#ifndef TC_ENGINE_SNAPSHOT_H
#define TC_ENGINE_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

typedef struct tc_snapshot {
    enum { TC_SNAPSHOT_COUNT, TC_SNAPSHOT_SAVE, TC_SNAPSHOT_LOAD } what;
    unsigned char *to;         /* SAVE */
    const unsigned char *from; /* LOAD */
    size_t at;                 /* bytes so far; the caller knows that there are enough */
} tc_snapshot;

void tc_snapshot_bytes(tc_snapshot *snapshot, unsigned char *bytes, size_t count);
void tc_snapshot_count(tc_snapshot *snapshot, uint64_t *number);
void tc_snapshot_numbers(tc_snapshot *snapshot, double *numbers, size_t count);

#endif
