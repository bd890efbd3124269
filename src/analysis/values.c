#include "analysis/values.h"

tc_objective_values *tc_objective_values_new(tc_arena *arena, const tc_model *model, const tc_family *family) {
    tc_objective_values *o = TC_NEW(arena, tc_objective_values, 1);
    o->family = family;
    o->tape = tc_tape_new(arena, model->dag, &family->objective, 1);
    o->batch = tc_batch_new(arena, family);
    o->work = TC_NEW(arena, tc_interval, tc_tape_work(o->tape));
    o->values = TC_NEW(arena, tc_interval, TC_LANES);
    return o;
}

static void choose(tc_objective_values *o, size_t first, size_t lanes) {
    o->batch->lanes = lanes;
    for (size_t l = 0; l < lanes; l++)
        o->batch->members[l] = first + l;
    tc_batch_load_data(o->batch);
}

static const tc_interval *enclose(tc_objective_values *o) {
    tc_interval *out = o->values;
    tc_tape_enclose(o->tape, &o->batch->inputs, o->batch->lanes, o->work, &out);
    return o->values;
}

const tc_interval *tc_objective_at(tc_objective_values *o, size_t first, size_t lanes, const double *x) {
    choose(o, first, lanes);
    tc_batch_load_point(o->batch, x);
    return enclose(o);
}

const tc_interval *tc_objective_between(tc_objective_values *o, size_t first, size_t lanes, const double *lower,
                                        const double *upper) {
    choose(o, first, lanes);
    tc_batch_load_between(o->batch, lower, upper);
    return enclose(o);
}

/* The box's ends are rounded outward, the points of the search inward. */
static double end_of(const double *x, const double *room, size_t coord, bool upper) {
    return upper ? tc_add_down(x[coord], room[coord]) : tc_add_up(x[coord], -room[coord]);
}

void tc_objective_at_vertices(tc_objective_values *o, size_t first, size_t lanes, const double *x, const double *room,
                              double *attained) {
    enum { PASSES = 3 };
    choose(o, first, lanes);
    tc_batch_load_point(o->batch, x);
    (void)enclose(o);
    for (size_t l = 0; l < lanes; l++)
        attained[l] = o->values[l].lo;
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t c = 0; c < o->family->dim; c++)
            for (int upper = 0; upper < 2; upper++) {
                tc_interval kept[TC_LANES], *state = o->batch->state + c * TC_LANES;
                for (size_t l = 0; l < lanes; l++) {
                    kept[l] = state[l];
                    state[l] = tc_point(end_of(x, room, tc_coord_of(o->family, first + l, c), upper == 1));
                }
                (void)enclose(o);
                for (size_t l = 0; l < lanes; l++) {
                    if (o->values[l].lo > attained[l])
                        attained[l] = o->values[l].lo;
                    else
                        state[l] = kept[l];
                }
            }
}
