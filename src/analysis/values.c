#include "analysis/values.h"

void tc_constraint_values(tc_streams *s, const double *x, tc_interval *g) {
    const tc_model *model = s->model;
    tc_mark mark = tc_arena_mark(s->arena);
    size_t rows = model->constraint_count;
    tc_expr *roots = TC_NEW(s->arena, tc_expr, rows + 1);
    tc_interval **out = TC_NEW(s->arena, tc_interval *, rows + 1);
    tc_interval *sums = TC_NEW(s->arena, tc_interval, model->sum_count + 1);
    for (size_t j = 0; j < rows; j++) {
        roots[j] = model->constraints[j].outer;
        out[j] = &g[j];
    }
    tc_streams_sums(s, x, sums);
    for (size_t i = 0; i < s->derivatives->input_count; i++) {
        const tc_outer_input *input = &s->derivatives->inputs[i];
        if (input->op == TC_COORD)
            s->coords[input->index] = tc_point(x[input->index]);
    }
    tc_tape *tape = tc_tape_new(s->arena, model->dag, roots, rows);
    tc_interval *work = TC_NEW(s->arena, tc_interval, tc_tape_work(tape));
    tc_interval_inputs inputs = {.coords = s->coords, .sums = sums};
    tc_tape_enclose(tape, &inputs, 1, work, out);
    tc_arena_rewind(s->arena, mark);
}

double tc_slater_margin(tc_streams *s, const double *x, size_t *worst) {
    size_t rows = s->model->constraint_count;
    *worst = 0;
    if (rows == 0)
        return INFINITY;
    tc_mark mark = tc_arena_mark(s->arena);
    tc_interval *g = TC_NEW(s->arena, tc_interval, rows);
    tc_constraint_values(s, x, g);
    double margin = -g[0].hi;
    for (size_t j = 1; j < rows; j++) {
        if (-g[j].hi < margin) {
            margin = -g[j].hi;
            *worst = j;
        }
    }
    tc_arena_rewind(s->arena, mark);
    return margin;
}

tc_objective_values *tc_objective_values_new(tc_arena *arena, const tc_model *model, const tc_family *family) {
    tc_objective_values *o = TC_NEW(arena, tc_objective_values, 1);
    o->family = family;
    o->tape = tc_tape_new(arena, model->dag, &family->objective, 1);
    o->batch = tc_batch_new(arena, family);
    o->work = TC_NEW(arena, tc_interval, tc_tape_work(o->tape));
    o->values = TC_NEW(arena, tc_interval, TC_LANES);
    return o;
}

const tc_interval *tc_objective_values_at(tc_objective_values *o, size_t first, size_t lanes, const double *x) {
    o->batch->lanes = lanes;
    for (size_t l = 0; l < lanes; l++)
        o->batch->members[l] = first + l;
    tc_batch_load_data(o->batch);
    tc_batch_load_point(o->batch, x);
    tc_interval *out = o->values;
    tc_tape_enclose(o->tape, &o->batch->inputs, lanes, o->work, &out);
    return o->values;
}
