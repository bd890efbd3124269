/* What is left out of a text before it is compared: times, ids, ports and folders, which two runs of the same data do
 * not share either. */
#ifndef TC_WORLDS_MASKS_H
#define TC_WORLDS_MASKS_H

#include "base/buffer.h"

#include <stdbool.h>

/* folder: the world's own, taken out where it stands. */
const char *tc_mask_text(tc_arena *arena, const char *text, const char *folder);

/* The log without lines whose number depends on the clock (progress); with many agents also without those that are
 * left out when too many come at once. */
const char *tc_mask_log(tc_arena *arena, const char *text, bool has_many);

/* A whole file, NULL where it cannot be read; size may be NULL. */
const char *tc_read_whole(tc_arena *arena, const char *path, size_t *size);

#endif
