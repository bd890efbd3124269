/* One list of all entries of the Jacobian, for ensembles of a few agents each of its own kind: going through families
 * and components would cost more than the arithmetic. */
#include "engine/published/cloud.h"

#include <string.h>

typedef struct flat_entry { /* p[coordinate] += mu[row] * jacobian[position] */
    uint32_t coordinate, position;
} flat_entry;

typedef struct flat_row { /* entries first .. end - 1 */
    uint32_t row;
    uint32_t first, end;
} flat_row;

struct tc_flat {
    size_t state_count;
    flat_entry *entries;
    flat_row *rows; /* shared entries by row, then single ones by row */
    size_t row_count;
};

typedef struct listing {
    size_t *next;        /* by row, shared and single: where its next entry goes; at first only how many there are */
    flat_entry *entries; /* NULL: they are only counted */
} listing;

static void add(listing *list, size_t row, size_t coordinate, size_t position) {
    if (list->entries != NULL)
        list->entries[list->next[row]] = (flat_entry){(uint32_t)coordinate, (uint32_t)position};
    list->next[row]++;
}

static void list_family(listing *list, const tc_family *family, const tc_family_entries *of, size_t rows) {
    for (size_t e = 0; e < of->shared_count; e++)
        for (size_t k = 0; k < family->count; k++)
            add(list, of->shared[e].row, tc_coord_of(family, k, of->shared[e].component),
                of->first + e * family->count + k);
    for (size_t i = 0; i < of->single_count; i++) {
        const tc_single_entry *s = &of->singles[i];
        if (s->shared == UINT32_MAX)
            add(list, rows + s->row, tc_coord_of(family, s->member, s->component), of->first_single + i);
    }
}

static void list_all(listing *list, const tc_model *model, const tc_entries *layout) {
    for (size_t f = 0; f < model->family_count; f++)
        list_family(list, &model->families[f], &layout->families[f], model->constraint_count);
}

tc_flat *tc_flat_new(tc_arena *arena, const tc_model *model, const tc_entries *layout) {
    tc_flat *made = TC_NEW(arena, tc_flat, 1);
    size_t rows = model->constraint_count, count = 0;
    listing list = {.next = TC_NEW(arena, size_t, 2 * rows)};
    if (layout->position_count > UINT32_MAX || model->state_count > UINT32_MAX)
        tc_raise(arena, TC_TOO_LARGE);
    made->state_count = model->state_count;
    made->rows = TC_NEW(arena, flat_row, 2 * rows);
    list_all(&list, model, layout);
    for (size_t i = 0; i < 2 * rows; i++) {
        size_t first = count;
        count += list.next[i];
        list.next[i] = first;
        if (count > first)
            made->rows[made->row_count++] = (flat_row){(uint32_t)(i % rows), (uint32_t)first, (uint32_t)count};
    }
    list.entries = made->entries = TC_NEW(arena, flat_entry, count);
    list_all(&list, model, layout);
    return made;
}

void tc_flat_answer(const tc_flat *flat, const tc_released *released, const double *mu, double *p) {
    const double *jacobian = released->jacobian;
    memset(p, 0, flat->state_count * sizeof *p);
    for (size_t i = 0; i < flat->row_count; i++) {
        const flat_row *row = &flat->rows[i];
        double multiplier = mu[row->row];
        if (multiplier == 0)
            continue;
        for (uint32_t e = row->first; e < row->end; e++)
            p[flat->entries[e].coordinate] += multiplier * jacobian[flat->entries[e].position];
    }
}
