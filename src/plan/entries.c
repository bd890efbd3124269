#include "plan/entries.h"

#include <stdlib.h>

static int compare_shared(const void *x, const void *y) {
    const tc_shared_entry *a = x, *b = y;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->component < b->component ? -1 : a->component > b->component;
}

static int compare_singles(const void *x, const void *y) {
    const tc_single_entry *a = x, *b = y;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    return a->member < b->member ? -1 : a->member > b->member;
}

typedef struct found_term { /* before terms of one entry are brought together */
    uint32_t row, component;
    tc_entry_term term;
} found_term;

static int compare_found(const void *x, const void *y) {
    const found_term *a = x, *b = y;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    return a->term.first < b->term.first ? -1 : a->term.first > b->term.first;
}

/* For each sum: where the derivatives of its body begin in its family's body_first, and how many there are. */
typedef struct body_slopes {
    size_t first, count;
} body_slopes;

static body_slopes *find_slopes(tc_arena *arena, const tc_model *model, const tc_derivatives *d) {
    body_slopes *slopes = TC_NEW(arena, body_slopes, model->sum_count + 1);
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t i = 0; i < d->families[f].body_first_count; i++) {
            body_slopes *of = &slopes[d->families[f].sums[d->families[f].body_first[i].row]];
            if (of->count++ == 0)
                of->first = i;
        }
    return slopes;
}

/* First derivatives of constraints by the families of their inputs: those of family f are of[start[f]] to
 * of[start[f + 1] - 1], as places in outer_first. */
typedef struct family_slopes {
    size_t *start, *of;
} family_slopes;

static family_slopes find_inputs(tc_arena *arena, const tc_model *model, const tc_derivatives *d) {
    family_slopes found = {TC_NEW(arena, size_t, model->family_count + 2), TC_NEW(arena, size_t, d->outer_first_count)};
    size_t *family_of = TC_NEW(arena, size_t, d->outer_first_count);
    for (size_t i = 0; i < d->outer_first_count; i++) {
        const tc_outer_input *input = &d->inputs[d->outer_first[i].column];
        family_of[i] = input->op == TC_SUM ? model->sums[input->index].family
                                           : (size_t)(tc_family_of_coord(model, input->index) - model->families);
        found.start[family_of[i] + 2]++;
    }
    for (size_t f = 2; f < model->family_count + 2; f++)
        found.start[f] += found.start[f - 1];
    for (size_t i = 0; i < d->outer_first_count; i++)
        found.of[found.start[family_of[i] + 1]++] = i;
    return found;
}

static size_t collect_terms(const tc_derivatives *d, const body_slopes *slopes, const family_slopes *inputs,
                            size_t family, found_term *found) {
    size_t count = 0;
    for (size_t at = inputs->start[family]; at < inputs->start[family + 1]; at++) {
        size_t i = inputs->of[at];
        const tc_outer_input *input = &d->inputs[d->outer_first[i].column];
        if (input->op != TC_SUM)
            continue;
        const body_slopes *of = &slopes[input->index];
        for (size_t k = of->first; k < of->first + of->count; k++, count++)
            if (found != NULL)
                found[count] = (found_term){
                    d->outer_first[i].row, d->families[family].body_first[k].column, {(uint32_t)i, (uint32_t)k}};
    }
    return count;
}

static void add_shared(tc_family_entries *entries, uint32_t row, uint32_t component) {
    entries->shared[entries->shared_count++] = (tc_shared_entry){.row = row, .component = component};
}

/* Every entry, or those that some term reaches. */
static void list_shared(tc_arena *arena, const tc_model *model, const tc_family *family, const found_term *found,
                        tc_family_entries *entries) {
    size_t all = model->constraint_count * family->dim;
    size_t most = entries->every_entry ? all : entries->term_count;
    entries->shared = TC_NEW(arena, tc_shared_entry, most);
    if (entries->every_entry) {
        for (uint32_t row = 0; row < model->constraint_count; row++)
            for (uint32_t component = 0; component < family->dim; component++)
                add_shared(entries, row, component);
        return;
    }
    for (size_t i = 0; i < entries->term_count; i++)
        if (i == 0 || found[i].row != found[i - 1].row || found[i].component != found[i - 1].component)
            add_shared(entries, found[i].row, found[i].component);
}

static tc_shared_entry *find_shared(const tc_family_entries *entries, uint32_t row, uint32_t component) {
    tc_shared_entry key = {.row = row, .component = component};
    return entries->shared_count == 0
               ? NULL
               : bsearch(&key, entries->shared, entries->shared_count, sizeof key, compare_shared);
}

static void make_shared(tc_arena *arena, const tc_model *model, const tc_derivatives *d, const body_slopes *slopes,
                        const family_slopes *inputs, size_t family, tc_family_entries *entries) {
    entries->term_count = collect_terms(d, slopes, inputs, family, NULL);
    found_term *found = TC_NEW(arena, found_term, entries->term_count);
    (void)collect_terms(d, slopes, inputs, family, found);
    qsort(found, entries->term_count, sizeof *found, compare_found);
    entries->terms = TC_NEW(arena, tc_entry_term, entries->term_count);
    list_shared(arena, model, &model->families[family], found, entries);
    for (size_t i = 0; i < entries->term_count; i++) {
        tc_shared_entry *entry = find_shared(entries, found[i].row, found[i].component);
        if (entry == NULL) /* list_shared made one for every term */
            tc_raise(arena, TC_INTERNAL);
        const tc_entry_term *term = &found[i].term;
        entries->terms[i] = *term;
        if (entry->term_count++ == 0)
            entry->first_term = i;
        entry->varies = entry->varies || model->dag->nodes[d->outer_first[term->outer].value].has_state ||
                        model->dag->nodes[d->families[family].body_first[term->first].value].has_state;
    }
    for (size_t e = 0; e < entries->shared_count; e++)
        entries->shared[e].noised = entries->every_entry || entries->shared[e].varies;
}

static void make_singles(tc_arena *arena, const tc_model *model, const tc_derivatives *d, const family_slopes *inputs,
                         size_t f, tc_family_entries *entries) {
    const tc_family *family = &model->families[f];
    entries->singles = TC_NEW(arena, tc_single_entry, inputs->start[f + 1] - inputs->start[f]);
    for (size_t at = inputs->start[f]; at < inputs->start[f + 1]; at++) {
        size_t i = inputs->of[at];
        const tc_outer_input *input = &d->inputs[d->outer_first[i].column];
        if (input->op != TC_COORD)
            continue;
        size_t offset = input->index - family->first_coord;
        tc_single_entry *single = &entries->singles[entries->single_count++];
        *single = (tc_single_entry){.member = offset % family->count,
                                    .row = d->outer_first[i].row,
                                    .component = (uint32_t)(offset / family->count),
                                    .outer = (uint32_t)i,
                                    .varies = model->dag->nodes[d->outer_first[i].value].has_state,
                                    .shared = UINT32_MAX};
        tc_shared_entry *shared = find_shared(entries, single->row, single->component);
        if (shared != NULL && shared->noised)
            single->shared = (uint32_t)(shared - entries->shared);
        single->noised = single->varies && single->shared == UINT32_MAX;
    }
    qsort(entries->singles, entries->single_count, sizeof *entries->singles, compare_singles);
}

tc_entries *tc_entries_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                           const bool *every_entry) {
    tc_entries *made = TC_NEW(arena, tc_entries, 1);
    made->model = model;
    made->families = TC_NEW(arena, tc_family_entries, model->family_count);
    body_slopes *slopes = find_slopes(arena, model, derivatives);
    family_slopes inputs = find_inputs(arena, model, derivatives);
    for (size_t f = 0; f < model->family_count; f++) {
        tc_family_entries *entries = &made->families[f];
        entries->every_entry = every_entry != NULL && every_entry[f];
        make_shared(arena, model, derivatives, slopes, &inputs, f, entries);
        make_singles(arena, model, derivatives, &inputs, f, entries);
        entries->first = made->position_count;
        entries->first_single = entries->first + entries->shared_count * model->families[f].count;
        made->position_count = entries->first_single + entries->single_count;
    }
    return made;
}

typedef struct segment_list {
    const tc_channel *channel;
    tc_segment *segments;
    size_t count;
    uint64_t entries;
} segment_list;

static void add_segment(segment_list *list, tc_target target, size_t position, size_t count) {
    if (list->segments != NULL)
        list->segments[list->count] =
            (tc_segment){target, list->channel->first_entry + list->entries, position, count, list->channel};
    list->count++;
    list->entries += count;
}

static bool speaks_of(const tc_channel *channel, uint32_t row) {
    return row >= channel->first_row && row - channel->first_row < channel->row_count;
}

static void list_jacobian(const tc_entries *entries, const tc_channel *channel, segment_list *list) {
    const tc_family_entries *of = &entries->families[channel->family];
    size_t members = entries->model->families[channel->family].count;
    for (size_t e = 0; e < of->shared_count; e++)
        if (of->shared[e].noised && speaks_of(channel, of->shared[e].row))
            add_segment(list, TC_TARGET_JACOBIAN, of->first + e * members + channel->first_member,
                        channel->member_count);
    for (size_t i = 0; i < of->single_count; i++) {
        const tc_single_entry *single = &of->singles[i];
        if (single->noised && speaks_of(channel, single->row) && single->member >= channel->first_member &&
            single->member - channel->first_member < channel->member_count)
            add_segment(list, TC_TARGET_JACOBIAN, of->first_single + i, 1);
    }
}

uint64_t tc_channel_entries(const tc_entries *entries, const tc_channel *channel, tc_segment *segments,
                            size_t *segment_count) {
    segment_list list = {.channel = channel, .segments = segments};
    switch (channel->kind) {
    case TC_CHANNEL_CONSTRAINTS:
        add_segment(&list, TC_TARGET_CONSTRAINTS, channel->first_row, channel->row_count);
        break;
    case TC_CHANNEL_JACOBIAN:
        list_jacobian(entries, channel, &list);
        break;
    case TC_CHANNEL_STATES: {
        const tc_family *family = &entries->model->families[channel->family];
        for (size_t c = 0; c < family->dim; c++)
            add_segment(&list, TC_TARGET_STATES, tc_coord_of(family, channel->first_member, c), channel->member_count);
        break;
    }
    default:
        break;
    }
    if (segment_count != NULL)
        *segment_count = list.count;
    return list.entries;
}
