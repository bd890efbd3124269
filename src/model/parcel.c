#include "model/parcel.h"

#include "base/ranks/ranks.h"

#include <string.h>

void tc_put(tc_parcel *p, void *bytes, size_t count) {
    if (p->bytes != NULL && count > 0)
        memcpy(p->unpacks ? bytes : p->bytes + p->count, p->unpacks ? p->bytes + p->count : bytes, count);
    p->count += count;
}

/* Unpacks, and gives the bytes back; where pack has made room behind them, they stay as long as that. Room that pack
 * makes before must be made when it counts: the bytes are taken after that. */
static void unpack(tc_arena *arena, tc_mark before, char *bytes, tc_packing pack, void *context) {
    tc_parcel p = {.bytes = bytes, .unpacks = true};
    tc_mark packed = tc_arena_mark(arena);
    pack(context, &p);
    tc_mark now = tc_arena_mark(arena);
    if (now.chunk == packed.chunk && now.used == packed.used)
        tc_arena_rewind(arena, before);
}

/* The length goes first: it may differ between ranks. */
void tc_carry(tc_arena *arena, const tc_family *family, tc_packing pack, void *context, bool begins) {
    tc_parcel p = {.bytes = NULL};
    uint64_t length[1];
    tc_mark before = tc_arena_mark(arena);
    if (!family->is_spread || (begins && tc_ranks_mine() == 0))
        return;
    if (begins) {
        tc_ranks_chain_take(length, sizeof length);
        p.bytes = TC_NEW(arena, char, (size_t)length[0] + 1);
        tc_ranks_chain_take(p.bytes, (size_t)length[0]);
    } else {
        pack(context, &p);
        length[0] = p.count;
        before = tc_arena_mark(arena);
        p = (tc_parcel){.bytes = TC_NEW(arena, char, p.count + 1)};
        pack(context, &p);
        tc_ranks_chain_give(length, sizeof length);
        tc_ranks_chain_give(p.bytes, p.count);
        tc_ranks_chain_end(length, sizeof length);
        if (length[0] > p.count)
            p.bytes = TC_NEW(arena, char, (size_t)length[0] + 1);
        tc_ranks_chain_end(p.bytes, (size_t)length[0]);
    }
    unpack(arena, before, p.bytes, pack, context);
}
