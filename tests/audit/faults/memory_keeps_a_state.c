/* What the journal goes on from has a private number in it. */
#define tc_hub_save honest_hub_save
#include "engine/hub_memory.c"
#undef tc_hub_save

#include "private_word.h"

void tc_hub_save(const tc_hub *hub, unsigned char *bytes) {
    honest_hub_save(hub, bytes);
    bytes[tc_hub_memory_size(hub) - 8] ^= (unsigned char)private_word(hub);
}
