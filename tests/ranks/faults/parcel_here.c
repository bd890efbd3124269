/* Every rank starts anew, and all go on with what the first has: the others' members are forgotten. Linked with
 * --wrap=tc_carry. */
#include "base/ranks/ranks.h"
#include "model/parcel.h"

void __wrap_tc_carry(tc_arena *arena, const tc_family *family, tc_packing pack, void *context, bool begins);

void __wrap_tc_carry(tc_arena *arena, const tc_family *family, tc_packing pack, void *context, bool begins) {
    tc_parcel p = {.bytes = NULL};
    if (!family->is_spread || begins)
        return;
    pack(context, &p);
    uint64_t length = p.count;
    p = (tc_parcel){.bytes = TC_NEW(arena, char, p.count + 1)};
    pack(context, &p);
    tc_ranks_broadcast(&length, sizeof length, 0);
    if (length > p.count)
        p.bytes = TC_NEW(arena, char, (size_t)length + 1);
    tc_ranks_broadcast(p.bytes, (size_t)length, 0);
    p.count = 0;
    p.unpacks = true;
    pack(context, &p);
}
