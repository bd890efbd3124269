/* Bytes of what must survive between two rounds. One function says for each part what it consists of; whether that is
 * counted, written or read is the memory's business, so that the three cannot disagree. Numbers have 64 bits, the least
 * significant byte first; doubles are their bits, whatever these are. */
#ifndef TC_ENGINE_MEMORY_H
#define TC_ENGINE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

typedef struct tc_snapshot {
    enum { TC_SNAPSHOT_COUNT, TC_SNAPSHOT_SAVE, TC_SNAPSHOT_LOAD } what;
    unsigned char *to;         /* SAVE */
    const unsigned char *from; /* LOAD */
    size_t at;                 /* bytes so far; the caller knows that there are enough */
} tc_snapshot;

void tc_snapshot_bytes(tc_snapshot *memory, unsigned char *bytes, size_t count);
void tc_snapshot_count(tc_snapshot *memory, uint64_t *number);
void tc_snapshot_numbers(tc_snapshot *memory, double *numbers, size_t count);

#endif
