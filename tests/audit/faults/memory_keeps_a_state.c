/* What the journal goes on from has a private number in it. */
#define tc_cloud_half_save honest_save
#include "engine/cloud_half.c"
#undef tc_cloud_half_save

#include "private_word.h"

void tc_cloud_half_save(const tc_cloud_half *half, unsigned char *bytes) {
    honest_save(half, bytes);
    bytes[tc_cloud_half_snapshot_size(half) - 8] ^= (unsigned char)private_word(half);
}
