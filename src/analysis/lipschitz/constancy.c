/* Which entries of the Jacobian are zero, constant or varying by structure. */
#include "analysis/lipschitz/lipschitz.h"

#include <stdlib.h>

typedef struct place {
    uint64_t coord; /* a coordinate, or for sums family and component with all members */
    uint32_t row, family;
    uint32_t component;
    bool is_family, varying;
} place;

static int compare(const void *x, const void *y) {
    const place *a = x, *b = y;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    if (a->is_family != b->is_family)
        return a->is_family ? -1 : 1;
    return a->coord < b->coord ? -1 : a->coord > b->coord;
}

static void add(place *places, size_t *count, place p) { places[(*count)++] = p; }

/* One entry of the list per outer partial and coordinate or component it reaches. */
static size_t list_places(const tc_model *model, const tc_derivatives *d, const size_t *first_of_sum, place *places) {
    size_t count = 0;
    for (size_t i = 0; i < d->outer_first_count; i++) {
        const tc_first *outer = &d->outer_first[i];
        const tc_outer_input *input = &d->inputs[outer->column];
        bool varying = model->dag->nodes[outer->value].has_state;
        if (input->op == TC_COORD) {
            const tc_family *family = tc_family_of_coord(model, input->index);
            size_t offset = input->index - family->first_coord;
            add(places, &count,
                (place){.coord = input->index,
                        .row = outer->row,
                        .varying = varying,
                        .family = (uint32_t)(family - model->families),
                        .component = (uint32_t)(offset / family->count)});
            continue;
        }
        uint32_t family = model->sums[input->index].family;
        const tc_family_derivatives *f = &d->families[family];
        for (size_t k = first_of_sum[input->index];
             k < f->body_first_count && f->sums[f->body_first[k].row] == input->index; k++)
            add(places, &count,
                (place){.row = outer->row,
                        .family = family,
                        .component = f->body_first[k].column,
                        .is_family = true,
                        .varying = varying || model->dag->nodes[f->body_first[k].value].has_state});
    }
    return count;
}

/* All places of one row, family and component: the whole family's entries, and those named apart. */
static void count_group(const tc_model *model, const place *p, size_t count, tc_constancy *row) {
    size_t i = 0;
    bool whole = p[0].is_family, whole_varying = false;
    for (; i < count && p[i].is_family; i++)
        whole_varying = whole_varying || p[i].varying;
    uint64_t members = whole ? model->families[p[0].family].count : 0, named = 0;
    while (i < count) {
        uint64_t coord = p[i].coord;
        bool varying = whole_varying;
        for (; i < count && p[i].coord == coord; i++)
            varying = varying || p[i].varying;
        named++;
        *(varying ? &row->varying : &row->constants) += 1;
    }
    if (whole)
        *(whole_varying ? &row->varying : &row->constants) += members - named;
}

void tc_count_constancy(tc_arena *arena, const tc_model *model, const tc_derivatives *d, tc_constancy *rows,
                        tc_constancy *total) {
    size_t *first_of_sum = TC_NEW(arena, size_t, model->sum_count + 1);
    size_t *entries_of_sum = TC_NEW(arena, size_t, model->sum_count + 1);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_derivatives *family = &d->families[f];
        for (size_t k = family->body_first_count; k-- > 0;) {
            first_of_sum[family->sums[family->body_first[k].row]] = k;
            entries_of_sum[family->sums[family->body_first[k].row]]++;
        }
    }
    size_t most = 1;
    for (size_t i = 0; i < d->outer_first_count; i++) {
        const tc_outer_input *input = &d->inputs[d->outer_first[i].column];
        most += input->op == TC_SUM ? entries_of_sum[input->index] : 1;
    }
    place *places = TC_NEW(arena, place, most);
    for (size_t r = 0; r < model->sum_count; r++)
        first_of_sum[r] = entries_of_sum[r] == 0 ? SIZE_MAX : first_of_sum[r];
    size_t count = list_places(model, d, first_of_sum, places);
    qsort(places, count, sizeof *places, compare);
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && places[end].row == places[i].row && places[end].family == places[i].family &&
               places[end].component == places[i].component)
            end++;
        count_group(model, places + i, end - i, &rows[places[i].row]);
        i = end;
    }
    for (size_t j = 0; j < model->constraint_count; j++) {
        rows[j].zeros = model->state_count - rows[j].constants - rows[j].varying;
        total->zeros += rows[j].zeros;
        total->constants += rows[j].constants;
        total->varying += rows[j].varying;
    }
}
