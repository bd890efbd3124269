/* Constraints beyond those that are drawn at once have the noise of the first. */
#define tc_block_plan_new honest_block_plan_new
#include "release/blocks.c"
#undef tc_block_plan_new

tc_block_plan *tc_block_plan_new(tc_arena *arena, const tc_plan *plan, const tc_derivatives *derivatives,
                                 const tc_entries *entries, const tc_segment *segments, size_t segment_count,
                                 size_t block, const double *constants) {
    tc_block_plan *made =
        honest_block_plan_new(arena, plan, derivatives, entries, segments, segment_count, block, constants);
    for (size_t i = 1; i < made->outer_piece_count; i++)
        if (made->outer_pieces[i].channel == made->outer_pieces[i - 1].channel)
            made->outer_pieces[i].address = made->outer_pieces[i - 1].address;
    return made;
}
