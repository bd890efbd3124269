#include "engine/published/cloud.h"

#include "solver/project/project.h"

#include <stdlib.h>

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

typedef struct cloud_family {
    const tc_family *family;
    bool reads;
    shared_entry *shared;  /* by component, then row */
    size_t *first_shared;  /* by component, and one more */
    single_entry *singles; /* by block, then row */
    size_t *first_single;  /* by block, and one more */
} cloud_family;

struct tc_cloud {
    const tc_model *model;
    double dual_radius;
    double *moved, *work;
    cloud_family *families;
};

/* ---- structure -----------------------------------------------------------------------------------------------------
 */

static bool are_equal(const double *values, size_t count) {
    for (size_t k = 1; k < count; k++)
        if (values[k] != values[0])
            return false;
    return true;
}

static int compare_shared(const void *x, const void *y) {
    const shared_entry *a = x, *b = y;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static void list_shared(tc_arena *arena, const tc_family_entries *entries, const double *constants, cloud_family *of) {
    size_t members = of->family->count;
    of->shared = TC_NEW(arena, shared_entry, entries->shared_count);
    for (size_t e = 0; e < entries->shared_count; e++) {
        const tc_shared_entry *entry = &entries->shared[e];
        const double *values = constants + entries->first + e * members;
        shared_entry *made = &of->shared[e];
        *made = (shared_entry){.number = e, .row = entry->row, .component = entry->component, .values = values};
        if (entry->noised)
            of->reads = true;
        else
            made->kind = are_equal(values, members) ? ONE_CONSTANT : EACH_CONSTANT;
        made->value = made->kind == ONE_CONSTANT ? values[0] : 0;
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

static void list_singles(tc_arena *arena, const tc_family_entries *entries, cloud_family *of) {
    size_t blocks = (of->family->count + TC_RELEASE_BLOCK - 1) / TC_RELEASE_BLOCK, count = 0;
    of->singles = TC_NEW(arena, single_entry, entries->single_count);
    for (size_t i = 0; i < entries->single_count; i++) {
        const tc_single_entry *s = &entries->singles[i];
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

tc_cloud *tc_cloud_new(tc_arena *arena, const tc_model *model, const tc_released *constants, double dual_radius) {
    tc_cloud *made = TC_NEW(arena, tc_cloud, 1);
    *made = (tc_cloud){.model = model,
                       .dual_radius = dual_radius,
                       .moved = TC_NEW(arena, double, model->constraint_count),
                       .work = TC_NEW(arena, double, model->constraint_count),
                       .families = TC_NEW(arena, cloud_family, model->family_count)};
    for (size_t f = 0; f < model->family_count; f++) {
        made->families[f].family = &model->families[f];
        list_shared(arena, &constants->layout->families[f], constants->jacobian, &made->families[f]);
        list_singles(arena, &constants->layout->families[f], &made->families[f]);
    }
    return made;
}

/* ---- a round -------------------------------------------------------------------------------------------------------
 */

void tc_cloud_start(tc_cloud *cloud, const double *start, double *mu) {
    tc_project_multipliers(cloud->model->constraint_count, cloud->dual_radius, start, mu, cloud->work);
}

size_t tc_cloud_step(tc_cloud *cloud, const tc_released *released, tc_answer_scalars scalars, const double *mu,
                     double *next) {
    size_t count = cloud->model->constraint_count;
    for (size_t j = 0; j < count; j++) {
        cloud->moved[j] = mu[j] + scalars.step * (released->constraints[j] - scalars.regularization * mu[j]);
        if (!isfinite(cloud->moved[j]))
            return j;
    }
    tc_project_multipliers(count, cloud->dual_radius, cloud->moved, next, cloud->work);
    return TC_ALL_FINITE;
}

bool tc_cloud_reads(const tc_cloud *cloud, size_t family) { return cloud->families[family].reads; }

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
static void answer_component(const cloud_family *of, size_t component, size_t first, size_t count,
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

void tc_cloud_answer(const tc_cloud *cloud, const tc_released *released, size_t family, size_t block,
                     const double *const *entries, const double *mu, double *const *p) {
    const cloud_family *of = &cloud->families[family];
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
