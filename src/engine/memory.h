/* Bytes of what must survive between two rounds. One function says for each part what it consists of; whether that is
 * counted, written or read is the memory's business, so that the three cannot disagree. Numbers have 64 bits, the least
 * significant byte first; doubles are their bits, whatever these are. */
#ifndef TC_ENGINE_MEMORY_H
#define TC_ENGINE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

typedef struct tc_memory {
    enum { TC_MEMORY_COUNT, TC_MEMORY_SAVE, TC_MEMORY_LOAD } what;
    unsigned char *to;         /* SAVE */
    const unsigned char *from; /* LOAD */
    size_t at;                 /* bytes so far; the caller knows that there are enough */
} tc_memory;

void tc_memory_bytes(tc_memory *memory, unsigned char *bytes, size_t count);
void tc_memory_count(tc_memory *memory, uint64_t *number);
void tc_memory_numbers(tc_memory *memory, double *numbers, size_t count);

#endif
