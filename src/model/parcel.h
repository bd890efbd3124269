#ifndef TC_MODEL_PARCEL_H
#define TC_MODEL_PARCEL_H

#include "model/model.h"

/* Numbers and arrays that a loop over the members of a spread family adds to, in order of all members: each rank goes
 * on with what the rank before it has, as with tc_fold_begin and tc_fold_end (model/spread.h). pack calls tc_put for
 * each of them, always in one order; an array that grows comes after its length. What it leaves out starts anew on each
 * rank, so a sensitivity that it forgets would be of the last rank's members alone. Pointers mean nothing to another
 * rank. */
typedef struct tc_parcel {
    char *bytes; /* NULL: they are counted only */
    size_t count;
    bool unpacks;
} tc_parcel;
typedef void (*tc_packing)(void *context, tc_parcel *parcel);
void tc_put(tc_parcel *parcel, void *bytes, size_t count);
/* Before the loop (begins) and after it; all ranks call it alike. */
void tc_carry(tc_arena *arena, const tc_family *family, tc_packing pack, void *context, bool begins);

#endif
