#include "analysis/region.h"

#include "model/spread.h"

tc_batch *tc_batch_new(tc_arena *arena, const tc_family *family) {
    tc_batch *batch = TC_NEW(arena, tc_batch, 1);
    batch->family = family;
    batch->state = TC_NEW(arena, tc_interval, family->dim * TC_LANES);
    batch->data = TC_NEW(arena, tc_interval, family->column_count * TC_LANES);
    batch->state_at = TC_NEW(arena, const tc_interval *, family->dim);
    batch->data_at = TC_NEW(arena, const tc_interval *, family->column_count);
    for (size_t c = 0; c < family->dim; c++)
        batch->state_at[c] = batch->state + c * TC_LANES;
    for (size_t d = 0; d < family->column_count; d++)
        batch->data_at[d] = batch->data + d * TC_LANES;
    batch->inputs = (tc_interval_inputs){.state = batch->state_at, .data = batch->data_at};
    return batch;
}

void tc_batch_load_data(tc_batch *batch) {
    for (size_t d = 0; d < batch->family->column_count; d++) {
        const double *values = batch->family->columns[d].values;
        for (size_t l = 0; l < batch->lanes; l++) {
            /* Of a spread family a member that another rank knows stands for all where data do not matter. */
            bool known = tc_is_known(batch->family, batch->members[l]);
            batch->data[d * TC_LANES + l] = tc_point(known ? values[batch->members[l]] : 0);
        }
    }
}

void tc_batch_load_box(tc_batch *batch) {
    for (size_t c = 0; c < batch->family->dim; c++) {
        for (size_t l = 0; l < batch->lanes; l++)
            batch->state[c * TC_LANES + l] = tc_public_range(batch->family, batch->members[l], c);
    }
}

void tc_batch_load_point(tc_batch *batch, const double *x) {
    for (size_t c = 0; c < batch->family->dim; c++) {
        for (size_t l = 0; l < batch->lanes; l++)
            batch->state[c * TC_LANES + l] = tc_point(x[tc_coord_of(batch->family, batch->members[l], c)]);
    }
}

void tc_batch_load_between(tc_batch *batch, const double *lower, const double *upper) {
    for (size_t c = 0; c < batch->family->dim; c++)
        for (size_t l = 0; l < batch->lanes; l++) {
            size_t coord = tc_coord_of(batch->family, batch->members[l], c);
            batch->state[c * TC_LANES + l] = (tc_interval){lower[coord], upper[coord]};
        }
}

/* Of equal ends the first is taken, so that zeros keep their sign. */
static tc_interval joined(tc_interval hull, tc_interval more) {
    return (tc_interval){more.lo < hull.lo ? more.lo : hull.lo, more.hi > hull.hi ? more.hi : hull.hi};
}

static tc_interval column_hull(const tc_family *family, const double *values) {
    const tc_interval nothing = {INFINITY, -INFINITY};
    tc_interval hull = nothing;
    for (size_t k = family->known_first; k < family->known_end; k++)
        hull = joined(hull, tc_point(values[k]));
    if (!family->is_spread)
        return hull;
    tc_interval here = hull;
    hull = nothing;
    tc_fold_begin(family, &hull, sizeof hull);
    hull = joined(hull, here);
    tc_fold_end(family, &hull, sizeof hull);
    return hull;
}

void tc_batch_load_hull(tc_batch *batch) {
    const tc_family *family = batch->family;
    batch->lanes = 1;
    batch->members[0] = 0;
    batch->weight[0] = (double)family->count;
    for (size_t d = 0; d < family->column_count; d++)
        batch->data[d * TC_LANES] = column_hull(family, family->columns[d].values);
    for (size_t c = 0; c < family->dim; c++) {
        tc_coef lower = family->lower[c], upper = family->upper[c];
        batch->state[c * TC_LANES] = (tc_interval){
            lower.column != NULL ? column_hull(family, lower.column).lo : lower.value,
            upper.column != NULL ? column_hull(family, upper.column).hi : upper.value,
        };
    }
}

void tc_batch_load_member(tc_batch *batch, size_t member) {
    batch->lanes = 1;
    batch->members[0] = member;
    batch->weight[0] = 1;
    tc_batch_load_data(batch);
    tc_batch_load_box(batch);
}

bool tc_same_boxes(const tc_family *family) {
    for (size_t c = 0; c < family->dim; c++) {
        if (family->lower[c].column != NULL || family->upper[c].column != NULL)
            return false;
    }
    return true;
}

bool tc_same_public(const tc_family *family) {
    const tc_set_piece *set = tc_public_set(family);
    bool same = tc_same_boxes(family) && (set == NULL || set->radius.column == NULL);
    for (size_t c = 0; set != NULL && c < set->count; c++)
        same = same && set->center[c].column == NULL;
    return same;
}

typedef double (*pick)(tc_interval range);
static double pick_lower(tc_interval range) { return range.lo; }
static double pick_upper(tc_interval range) { return range.hi; }
static double pick_middle(tc_interval range) {
    double middle = range.lo / 2 + range.hi / 2;
    return middle < range.lo ? range.lo : middle > range.hi ? range.hi : middle;
}

static void fill(const tc_model *model, double *x, pick choose) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++) {
            for (size_t k = family->known_first; k < family->known_end; k++)
                x[tc_coord_of(family, k, c)] = choose(tc_public_range(family, k, c));
        }
    }
}

void tc_fill_lower(const tc_model *model, double *x) { fill(model, x, pick_lower); }
void tc_fill_upper(const tc_model *model, double *x) { fill(model, x, pick_upper); }
void tc_fill_middle(const tc_model *model, double *x) { fill(model, x, pick_middle); }

void tc_box_around(const tc_model *model, const double *x, const double *room, double *lower, double *upper) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = family->known_first; k < family->known_end; k++) {
                size_t i = tc_coord_of(family, k, c);
                lower[i] = tc_add_down(x[i], -room[i]);
                upper[i] = tc_add_up(x[i], room[i]);
            }
    }
}

tc_interval tc_coord_range(const tc_model *model, size_t coord) {
    const tc_family *family = tc_family_of_coord(model, coord);
    size_t offset = coord - family->first_coord;
    return tc_public_range(family, offset % family->count, offset / family->count);
}
