#include "engine/published/published.h"

#include "base/simd.h"
#include "model/spread.h"

#include <stdlib.h>
#include <string.h>

typedef struct shared_entry {
    size_t number; /* in the layout */
    uint32_t row, component;
    enum { RELEASED, EACH_CONSTANT, ONE_CONSTANT } kind; /* anew in each round; by member; the same for all members */
    double value;
    const double *values;
} shared_entry;

typedef struct single_entry {
    size_t block, member, position;
    uint32_t row, component;
} single_entry;

typedef struct jacobian_family {
    const tc_family *family;
    bool is_read, has_noise;
    shared_entry *shared;  /* by component, then row */
    size_t *first_shared;  /* by component, and one more */
    single_entry *singles; /* by block, then row */
    size_t *first_single;  /* by block, and one more */
} jacobian_family;

typedef struct flat_entry { /* p[coordinate] += mu[row] * jacobian[position] */
    uint32_t row, position;
} flat_entry;

enum { MOST_ALIKE = 4 };

typedef struct flat_column { /* entries first .. end - 1: shared ones by row, then single ones by row */
    uint32_t coordinate;
    uint32_t first, end;
    bool is_pair;  /* also of the next coordinate, whose entries are in the same rows, each at the next position */
    uint8_t alike; /* of pairs: it and how many after it have the same rows at the same distances; 1, 2 or MOST_ALIKE */
} flat_column;

typedef struct flat_list {
    flat_entry *entries;
    flat_column *columns;
    size_t column_count, row_count;
    tc_pack *multipliers; /* by row, of this round */
    tc_pack_mask *counts; /* by row: the multiplier is not zero */
} flat_list;

struct tc_jacobian {
    jacobian_family *families;
    flat_list *flat; /* for small ensembles; NULL otherwise */
};

/* ---- structure --------------------------------------------------------------------------------------------------- */

static int compare_shared(const void *x, const void *y) {
    const shared_entry *a = x, *b = y;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static void list_shared(tc_arena *arena, const tc_family_entries *entries, const double *constants,
                        jacobian_family *of) {
    size_t members = of->family->count;
    of->shared = TC_NEW(arena, shared_entry, entries->shared_count);
    for (size_t e = 0; e < entries->shared_count; e++) {
        const tc_shared_entry *entry = &entries->shared[e];
        const double *values = constants + entries->first + e * members;
        shared_entry *made = &of->shared[e];
        double first = 0;
        *made = (shared_entry){.number = e, .row = entry->row, .component = entry->component, .values = values};
        if (entry->noised)
            of->is_read = of->has_noise = true;
        else
            made->kind = tc_all_equal(of->family, values, &first) ? ONE_CONSTANT : EACH_CONSTANT;
        made->value = made->kind == ONE_CONSTANT ? first : 0;
    }
    qsort(of->shared, entries->shared_count, sizeof *of->shared, compare_shared);
    of->first_shared = TC_NEW(arena, size_t, of->family->dim + 1);
    for (size_t c = 0, e = 0; c <= of->family->dim; c++) {
        while (e < entries->shared_count && of->shared[e].component < c)
            e++;
        of->first_shared[c] = e;
    }
}

static int compare_singles(const void *x, const void *y) {
    const single_entry *a = x, *b = y;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return (a->position > b->position) - (a->position < b->position); /* the layout has them by row */
}

static void list_singles(tc_arena *arena, const tc_family_entries *entries, jacobian_family *of) {
    size_t blocks = (of->family->count + TC_RELEASE_BLOCK - 1) / TC_RELEASE_BLOCK, count = 0;
    of->singles = TC_NEW(arena, single_entry, entries->single_count);
    for (size_t i = 0; i < entries->single_count; i++) {
        const tc_single_entry *s = &entries->singles[i];
        of->has_noise = of->has_noise || s->noised;
        if (s->shared == UINT32_MAX)
            of->singles[count++] = (single_entry){.block = s->member / TC_RELEASE_BLOCK,
                                                  .member = s->member,
                                                  .position = entries->first_single + i,
                                                  .row = s->row,
                                                  .component = s->component};
    }
    qsort(of->singles, count, sizeof *of->singles, compare_singles);
    of->first_single = TC_NEW(arena, size_t, blocks + 1);
    for (size_t block = 0, i = 0; block <= blocks; block++) {
        while (i < count && of->singles[i].block < block)
            i++;
        of->first_single[block] = i;
    }
}

/* One list of all entries, for ensembles of a few agents each of its own kind: going through families and components
 * would cost more than the arithmetic. */
typedef struct listing {
    size_t *next;        /* by coordinate: where its next entry goes; at first only how many there are */
    flat_entry *entries; /* NULL: they are only counted */
} listing;

static void add_flat(listing *list, size_t coordinate, size_t row, size_t position) {
    if (list->entries != NULL)
        list->entries[list->next[coordinate]] = (flat_entry){(uint32_t)row, (uint32_t)position};
    list->next[coordinate]++;
}

/* The layout has both kinds of entries by row. */
static void list_flat(listing *list, const tc_model *model, const tc_entries *layout) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        const tc_family_entries *of = &layout->families[f];
        for (size_t e = 0; e < of->shared_count; e++)
            for (size_t k = 0; k < family->count; k++)
                add_flat(list, tc_coord_of(family, k, of->shared[e].component), of->shared[e].row,
                         of->first + e * family->count + k);
        for (size_t i = 0; i < of->single_count; i++) {
            const tc_single_entry *s = &of->singles[i];
            if (s->shared == UINT32_MAX)
                add_flat(list, tc_coord_of(family, s->member, s->component), s->row, of->first_single + i);
        }
    }
}

static bool are_pair(const flat_list *flat, const flat_column *one, const flat_column *other) {
    if (one->end - one->first != other->end - other->first)
        return false;
    for (uint32_t i = 0; i < one->end - one->first; i++) {
        flat_entry a = flat->entries[one->first + i], b = flat->entries[other->first + i];
        if (a.row != b.row || a.position + 1 != b.position)
            return false;
    }
    return true;
}

static void join_pairs(flat_list *flat, size_t coordinates) {
    for (size_t i = 0; i < coordinates; i++) {
        flat_column *column = &flat->columns[flat->column_count++];
        *column = flat->columns[i];
        column->is_pair = i + 1 < coordinates && are_pair(flat, column, &flat->columns[i + 1]);
        i += column->is_pair;
    }
}

static bool are_alike(const flat_list *flat, const flat_column *one, const flat_column *other) {
    if (!one->is_pair || !other->is_pair || one->end - one->first != other->end - other->first)
        return false;
    const flat_entry *a = flat->entries + one->first, *b = flat->entries + other->first;
    for (uint32_t i = 0; i < one->end - one->first; i++)
        if (a[i].row != b[i].row || a[i].position - a[0].position != b[i].position - b[0].position)
            return false;
    return true;
}

static void find_alike(flat_list *flat) {
    for (size_t i = 0; i < flat->column_count; i += flat->columns[i].alike) {
        size_t count = 1;
        while (count < MOST_ALIKE && i + count < flat->column_count &&
               are_alike(flat, &flat->columns[i], &flat->columns[i + count]))
            count++;
        flat->columns[i].alike = count == MOST_ALIKE ? MOST_ALIKE : count > 1 ? 2 : 1;
    }
}

static flat_list *new_flat(tc_arena *arena, const tc_model *model, const tc_entries *layout) {
    flat_list *made = TC_NEW(arena, flat_list, 1);
    size_t count = 0;
    listing list = {.next = TC_NEW(arena, size_t, model->state_count)};
    if (layout->position_count > UINT32_MAX || model->state_count > UINT32_MAX)
        tc_raise(arena, TC_TOO_LARGE);
    made->row_count = model->constraint_count;
    made->multipliers = TC_NEW(arena, tc_pack, model->constraint_count);
    made->counts = TC_NEW(arena, tc_pack_mask, model->constraint_count);
    made->columns = TC_NEW(arena, flat_column, model->state_count);
    list_flat(&list, model, layout);
    for (size_t i = 0; i < model->state_count; i++) {
        size_t first = count;
        count += list.next[i];
        list.next[i] = first;
        made->columns[i] = (flat_column){.coordinate = (uint32_t)i, .first = (uint32_t)first, .end = (uint32_t)count};
    }
    list.entries = made->entries = TC_NEW(arena, flat_entry, count);
    list_flat(&list, model, layout);
    join_pairs(made, model->state_count);
    find_alike(made);
    return made;
}

tc_jacobian *tc_jacobian_new(tc_arena *arena, const tc_model *model, const tc_released *constants, bool is_small) {
    tc_jacobian *made = TC_NEW(arena, tc_jacobian, 1);
    made->families = TC_NEW(arena, jacobian_family, model->family_count);
    for (size_t f = 0; f < model->family_count; f++) {
        made->families[f].family = &model->families[f];
        list_shared(arena, &constants->layout->families[f], constants->jacobian, &made->families[f]);
        list_singles(arena, &constants->layout->families[f], &made->families[f]);
    }
    if (is_small)
        made->flat = new_flat(arena, model, constants->layout);
    return made;
}

bool tc_jacobian_has_noise(const tc_jacobian *jacobian, size_t family) { return jacobian->families[family].has_noise; }
bool tc_jacobian_is_read(const tc_jacobian *jacobian, size_t family) { return jacobian->families[family].is_read; }

/* ---- a round ----------------------------------------------------------------------------------------------------- */

static void fill(double *restrict out, double value, size_t count) {
    for (size_t k = 0; k < count; k++)
        out[k] = value;
}

static void add_constant(double *restrict out, double value, size_t count) {
    for (size_t k = 0; k < count; k++)
        out[k] += value;
}

static void add_row(double *restrict out, double multiplier, const double *restrict row, size_t count) {
    for (size_t k = 0; k < count; k++)
        out[k] += multiplier * row[k];
}

/* One component of all members. As long as they have had the same, it is one number. */
static void answer_component(const jacobian_family *of, size_t component, size_t first, size_t count,
                             const double *const *entries, const double *mu, double *p) {
    double same = 0;
    bool filled = false;
    for (size_t e = of->first_shared[component]; e < of->first_shared[component + 1]; e++) {
        const shared_entry *entry = &of->shared[e];
        double multiplier = mu[entry->row];
        if (multiplier == 0)
            continue;
        if (entry->kind == ONE_CONSTANT && !filled) {
            same += multiplier * entry->value;
            continue;
        }
        if (!filled)
            fill(p, same, count);
        filled = true;
        if (entry->kind == ONE_CONSTANT)
            add_constant(p, multiplier * entry->value, count);
        else
            add_row(p, multiplier, entry->kind == RELEASED ? entries[entry->number] : entry->values + first, count);
    }
    if (!filled)
        fill(p, same, count);
}

/* paper: eq:fullupdate
 * p_i = J^_i' mu: entries that members share, then single ones. */
void tc_jacobian_answer(const tc_jacobian *jacobian, const tc_released *released, size_t family, size_t block,
                        const double *const *entries, const double *mu, double *const *p) {
    const jacobian_family *of = &jacobian->families[family];
    size_t first = block * TC_RELEASE_BLOCK, left = of->family->count - first;
    size_t count = left < TC_RELEASE_BLOCK ? left : TC_RELEASE_BLOCK;
    for (size_t c = 0; c < of->family->dim; c++)
        answer_component(of, c, first, count, entries, mu, p[c]);
    for (size_t i = of->first_single[block]; i < of->first_single[block + 1]; i++) {
        const single_entry *single = &of->singles[i];
        if (mu[single->row] != 0)
            p[single->component][single->member - first] += mu[single->row] * released->jacobian[single->position];
    }
}

static double answer_column(const flat_list *flat, const flat_column *column, const double *values) {
    tc_pack sum = tc_pack_of(0);
    for (const flat_entry *e = flat->entries + column->first, *end = flat->entries + column->end; e < end; e++)
        sum += tc_pack_where(flat->counts[e->row], flat->multipliers[e->row] * tc_pack_of(values[e->position]));
    return sum[0];
}

/* Pairs that are alike. Several at once, because reading the lists takes longer than the arithmetic. */
TC_INLINE void answer_pairs(const flat_list *flat, const flat_column *columns, size_t count, const double *values,
                            double *p) {
    const flat_entry *first = flat->entries + columns->first, *end = flat->entries + columns->end;
    const double *at[MOST_ALIKE];
    tc_pack sums[MOST_ALIKE];
    for (size_t i = 0; i < count; i++) {
        at[i] = values + (first < end ? flat->entries[columns[i].first].position : 0);
        sums[i] = tc_pack_of(0);
    }
    for (const flat_entry *e = first; e < end; e++) {
        tc_pack multiplier = flat->multipliers[e->row];
        tc_pack_mask counts = flat->counts[e->row];
        size_t distance = e->position - first->position;
        for (size_t i = 0; i < count; i++)
            sums[i] += tc_pack_where(counts, multiplier * tc_pack_load(at[i] + distance));
    }
    for (size_t i = 0; i < count; i++)
        tc_pack_store(p + columns[i].coordinate, sums[i]);
}

void tc_jacobian_answer_whole(const tc_jacobian *jacobian, const tc_released *released, const double *mu, double *p) {
    const flat_list *flat = jacobian->flat;
    const double *values = released->jacobian;
    for (size_t j = 0; j < flat->row_count; j++) {
        flat->multipliers[j] = tc_pack_of(mu[j]);
        flat->counts[j] = ~tc_pack_equal(flat->multipliers[j], tc_pack_of(0));
    }
    for (const flat_column *column = flat->columns, *end = column + flat->column_count; column < end;
         column += column->alike) {
        if (!column->is_pair)
            p[column->coordinate] = answer_column(flat, column, values);
        else if (column->alike == MOST_ALIKE)
            answer_pairs(flat, column, MOST_ALIKE, values, p);
        else if (column->alike == 2)
            answer_pairs(flat, column, 2, values, p);
        else
            answer_pairs(flat, column, 1, values, p);
    }
}
