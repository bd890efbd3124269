#include "release/inside.h"

typedef struct block_builder {
    tc_arena *arena;
    const tc_plan *plan;
    const tc_model *model;
    const tc_derivatives *derivatives;
    const tc_entries *entries;
    const tc_segment *segments;
    size_t segment_count;
    size_t block;
    const double *constants;
    tc_block_plan *made;
    uint32_t **row_of; /* [family][shared entry]: its number among those with noise */
    bool fills;        /* false in the first pass, which only counts */
} block_builder;

static void list_blocks(block_builder *b) {
    const tc_model *model = b->model;
    tc_block_plan *made = b->made;
    for (size_t f = 0; f < model->family_count; f++) {
        made->families[f].first_block = made->block_count;
        made->block_count += (model->families[f].count + b->block - 1) / b->block;
    }
    made->blocks = TC_NEW(b->arena, tc_release_block, made->block_count);
    for (size_t f = 0, i = 0; f < model->family_count; f++)
        for (size_t first = 0; first < model->families[f].count; first += b->block, i++) {
            size_t left = model->families[f].count - first;
            made->blocks[i].family = (uint32_t)f;
            made->blocks[i].first = first;
            made->blocks[i].count = left < b->block ? left : b->block;
            made->blocks[i].plain = made->plain_count;
            made->held_count += tc_holds(&model->families[f], first);
            made->plain_count += b->derivatives->families[f].body_count;
        }
}

static void list_rows(block_builder *b) {
    b->row_of = TC_NEW(b->arena, uint32_t *, b->model->family_count);
    for (size_t f = 0; f < b->model->family_count; f++) {
        const tc_family_entries *entries = &b->entries->families[f];
        tc_block_family *family = &b->made->families[f];
        family->noised = TC_NEW(b->arena, uint32_t, entries->shared_count);
        b->row_of[f] = TC_NEW(b->arena, uint32_t, entries->shared_count);
        for (uint32_t e = 0; e < entries->shared_count; e++)
            if (entries->shared[e].noised) {
                b->row_of[f][e] = family->noised_count;
                family->noised[family->noised_count++] = e;
            }
        size_t dim = b->model->families[f].dim;
        size_t rows = tc_noises_states(b->plan) ? dim : family->noised_count;
        b->made->most_rows = rows > b->made->most_rows ? rows : b->made->most_rows;
    }
}

static tc_release_block *block_of(const block_builder *b, size_t family, size_t member) {
    return &b->made->blocks[b->made->families[family].first_block + member / b->block];
}

/* Entries of the members first_member .. of one row, cut at the ends of blocks. */
static void add_pieces(block_builder *b, const tc_segment *segment, size_t family, size_t member, uint32_t row) {
    for (size_t done = 0; done < segment->count;) {
        tc_release_block *block = block_of(b, family, member + done);
        size_t room = block->first + block->count - (member + done);
        size_t count = segment->count - done < room ? segment->count - done : room;
        if (b->fills)
            block->pieces[block->piece_count] = (tc_piece){.address = segment->address + done,
                                                           .channel = (uint32_t)(segment->channel - b->plan->channels),
                                                           .row = row,
                                                           .offset = member + done - block->first,
                                                           .count = count};
        block->piece_count++;
        done += count;
    }
}

/* Cuts at TC_NOISE_ROOM: the published calibration has a single channel for all of g. */
static void add_outer(block_builder *b, const tc_segment *segment, size_t source, bool is_constraint) {
    tc_block_plan *made = b->made;
    for (size_t done = 0; done < segment->count;) {
        size_t left = segment->count - done, count = left < TC_NOISE_ROOM ? left : TC_NOISE_ROOM;
        if (b->fills) {
            made->outer_pieces[made->outer_piece_count] =
                (tc_piece){.address = segment->address + done,
                           .channel = (uint32_t)(segment->channel - b->plan->channels),
                           .offset = made->outer_count,
                           .count = count};
            for (size_t k = 0; k < count; k++)
                made->outer[made->outer_count + k] =
                    (tc_outer_entry){source + done + k, segment->position + done + k, is_constraint};
        }
        made->outer_piece_count++;
        made->outer_count += count;
        done += count;
    }
}

static void add_segment(block_builder *b, const tc_segment *segment) {
    size_t family = segment->channel->family;
    if (segment->target == TC_TARGET_CONSTRAINTS) {
        add_outer(b, segment, segment->position, true);
        return;
    }
    const tc_family *of = &b->model->families[family];
    if (segment->target == TC_TARGET_STATES) {
        size_t offset = segment->position - of->first_coord;
        add_pieces(b, segment, family, offset % of->count, (uint32_t)(offset / of->count));
        return;
    }
    const tc_family_entries *entries = &b->entries->families[family];
    if (segment->position >= entries->first_single) {
        const tc_single_entry *single = &entries->singles[segment->position - entries->first_single];
        add_outer(b, segment, b->model->constraint_count + single->outer, false);
        return;
    }
    size_t offset = segment->position - entries->first;
    add_pieces(b, segment, family, offset % of->count, b->row_of[family][offset / of->count]);
}

static void add_named(block_builder *b) {
    for (size_t i = 0; i < b->derivatives->input_count; i++) {
        const tc_outer_input *input = &b->derivatives->inputs[i];
        if (input->op != TC_COORD)
            continue;
        const tc_family *family = tc_family_of_coord(b->model, input->index);
        size_t offset = input->index - family->first_coord, member = offset % family->count;
        tc_release_block *block = block_of(b, (size_t)(family - b->model->families), member);
        if (b->fills)
            block->named[block->named_count] =
                (tc_named){input->index, (uint32_t)(offset / family->count), (uint32_t)(member - block->first)};
        block->named_count++;
    }
}

static void add_folds(block_builder *b, size_t family) {
    const tc_family_entries *entries = &b->entries->families[family];
    for (size_t i = 0; i < entries->single_count; i++) {
        const tc_single_entry *single = &entries->singles[i];
        if (single->shared == UINT32_MAX)
            continue;
        tc_release_block *block = block_of(b, family, single->member);
        if (b->fills)
            block->folds[block->fold_count] =
                (tc_fold){b->row_of[family][single->shared], (uint32_t)(single->member - block->first), single->outer};
        block->fold_count++;
    }
}

/* Lists the entries that no segment covers; seen: by position. */
static void add_left_out(block_builder *b, size_t family, const bool *seen) {
    const tc_family_entries *entries = &b->entries->families[family];
    size_t members = b->model->families[family].count;
    for (size_t e = 0; e < entries->shared_count; e++)
        for (size_t k = 0; entries->shared[e].noised && k < members; k++) {
            size_t position = entries->first + e * members + k;
            if (seen[position])
                continue;
            tc_release_block *block = block_of(b, family, k);
            if (b->fills)
                block->left_out[block->left_out_count] =
                    (tc_left_out){b->row_of[family][e], (uint32_t)(k - block->first), b->constants[position]};
            block->left_out_count++;
        }
}

static void add_all(block_builder *b, const bool *seen) {
    for (size_t i = 0; i < b->segment_count; i++)
        add_segment(b, &b->segments[i]);
    add_named(b);
    for (size_t f = 0; f < b->model->family_count; f++) {
        add_folds(b, f);
        if (seen != NULL)
            add_left_out(b, f, seen);
    }
}

static void make_room(block_builder *b) {
    tc_block_plan *made = b->made;
    for (size_t i = 0; i < made->block_count; i++) {
        tc_release_block *block = &made->blocks[i];
        block->pieces = TC_NEW(b->arena, tc_piece, block->piece_count);
        block->named = TC_NEW(b->arena, tc_named, block->named_count);
        block->folds = TC_NEW(b->arena, tc_fold, block->fold_count);
        block->left_out = TC_NEW(b->arena, tc_left_out, block->left_out_count);
        block->piece_count = block->named_count = block->fold_count = block->left_out_count = 0;
    }
    made->outer = TC_NEW(b->arena, tc_outer_entry, made->outer_count);
    made->outer_pieces = TC_NEW(b->arena, tc_piece, made->outer_piece_count);
    made->outer_count = made->outer_piece_count = 0;
}

static bool *mark_seen(const block_builder *b) {
    bool *seen = TC_NEW(b->arena, bool, b->entries->position_count);
    for (size_t i = 0; i < b->segment_count; i++)
        for (size_t k = 0; b->segments[i].target == TC_TARGET_JACOBIAN && k < b->segments[i].count; k++)
            seen[b->segments[i].position + k] = true;
    return seen;
}

tc_block_plan *tc_block_plan_new(tc_arena *arena, const tc_plan *plan, const tc_derivatives *derivatives,
                                 const tc_entries *entries, const tc_segment *segments, size_t segment_count,
                                 size_t block, const double *constants) {
    block_builder b = {.arena = arena,
                       .plan = plan,
                       .model = entries->model,
                       .derivatives = derivatives,
                       .entries = entries,
                       .segments = segments,
                       .segment_count = segment_count,
                       .block = block,
                       .constants = constants,
                       .made = TC_NEW(arena, tc_block_plan, 1)};
    b.made->families = TC_NEW(arena, tc_block_family, b.model->family_count);
    list_blocks(&b);
    list_rows(&b);
    bool *seen = constants == NULL ? NULL : mark_seen(&b);
    add_all(&b, seen);
    make_room(&b);
    b.fills = true;
    add_all(&b, seen);
    return b.made;
}
