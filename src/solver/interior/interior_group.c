#include "solver/interior/interior_parts.h"

#include <math.h>
#include <string.h>

static tc_tape *tape_of(tc_arena *arena, const tc_dag *dag, const tc_expr *roots, size_t count) {
    return count == 0 ? NULL : tc_tape_new(arena, dag, roots, count);
}

static size_t gather_firsts(tc_expr *roots, size_t at, const tc_first *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        roots[at++] = list[i].value;
    return at;
}

static size_t gather_seconds(tc_expr *roots, size_t at, const tc_second *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        roots[at++] = list[i].value;
    return at;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void init_tapes(tc_interior *solver, tc_group *group, const tc_dag *dag) {
    const tc_family_derivatives *d = group->derivatives;
    tc_group_tapes *tapes = &group->tapes;
    tc_arena *arena = solver->arena;
    bool objective = solver->goal == TC_GOAL_OBJECTIVE;
    tapes->objective_firsts = objective ? d->objective_first_count : 0;
    tapes->objective_seconds = objective ? d->objective_second_count : 0;
    size_t bodies = group->is_coupled ? d->body_count : 0;
    size_t body_firsts = group->is_coupled ? d->body_first_count : 0;
    size_t body_seconds = group->is_coupled ? d->body_second_count : 0;
    size_t most =
        larger(bodies, larger(tapes->objective_firsts + body_firsts, tapes->objective_seconds + body_seconds));
    tc_expr *roots = TC_NEW(arena, tc_expr, most + 1);
    tapes->values = tape_of(arena, dag, d->bodies, bodies);
    size_t count = gather_firsts(roots, 0, d->objective_first, tapes->objective_firsts);
    tapes->firsts = tape_of(arena, dag, roots, gather_firsts(roots, count, d->body_first, body_firsts));
    count = gather_seconds(roots, 0, d->objective_second, tapes->objective_seconds);
    tapes->seconds = tape_of(arena, dag, roots, gather_seconds(roots, count, d->body_second, body_seconds));

    size_t work = 0;
    const tc_tape *all[] = {tapes->values, tapes->firsts, tapes->seconds};
    for (size_t t = 0; t < 3; t++)
        if (all[t] != NULL)
            work = larger(work, tc_tape_work(all[t]));
    tapes->work = TC_NEW(arena, tc_real, work);
    tapes->states = TC_NEW(arena, tc_real, group->states * TC_LANES);
    tapes->outputs = TC_NEW(arena, tc_real, most * TC_LANES);
    tapes->state_at = TC_NEW(arena, const tc_real *, group->states);
    tapes->output_at = TC_NEW(arena, tc_real *, most);
    tapes->data_at = TC_NEW(arena, const double *, group->family->column_count);
    for (size_t c = 0; c < group->states; c++)
        tapes->state_at[c] = tapes->states + c * TC_LANES;
    for (size_t r = 0; r < most; r++)
        tapes->output_at[r] = tapes->outputs + r * TC_LANES;
    group->gradients = TC_NEW(arena, tc_real, group->count * body_firsts);
}

static tc_iterate new_iterate(tc_arena *arena, size_t variables, size_t rows) {
    return (tc_iterate){.x = TC_NEW(arena, tc_real, variables),
                        .below = TC_NEW(arena, tc_real, variables),
                        .above = TC_NEW(arena, tc_real, variables),
                        .z_below = TC_NEW(arena, tc_real, variables),
                        .z_above = TC_NEW(arena, tc_real, variables),
                        .slack = TC_NEW(arena, tc_real, rows),
                        .y = TC_NEW(arena, tc_real, rows)};
}

static void init_blocks(tc_interior *solver, tc_group *group) {
    tc_arena *arena = solver->arena;
    size_t variables = group->count * group->dim, rows = group->count * group->rows;
    group->row_count = TC_NEW(arena, size_t, group->count);
    group->is_diagonal = TC_NEW(arena, bool, group->count);
    group->is_equality = TC_NEW(arena, bool, rows);
    group->row_scale = TC_NEW(arena, double, rows);
    group->lower = TC_NEW(arena, tc_real, variables);
    group->width = TC_NEW(arena, tc_real, variables);
    group->weight = TC_NEW(arena, tc_real, variables);
    group->center = TC_NEW(arena, tc_real, variables);
    group->kept = TC_NEW(arena, tc_real, variables);
    group->component = TC_NEW(arena, uint32_t, group->count);
    group->at = new_iterate(arena, variables, rows);
    group->trial = new_iterate(arena, variables, rows);
    group->step = new_iterate(arena, variables, rows);
    group->dual_residual = TC_NEW(arena, tc_real, variables);
    group->row_residual = TC_NEW(arena, tc_real, rows);
    group->miss_below = TC_NEW(arena, tc_real, variables);
    group->miss_above = TC_NEW(arena, tc_real, variables);
    group->miss_row = TC_NEW(arena, tc_real, rows);
    group->right_x = TC_NEW(arena, tc_real, variables);
    group->right_y = TC_NEW(arena, tc_real, rows);
    group->hessian = TC_NEW(arena, tc_real, variables * group->dim);
    group->hessian_diagonal = TC_NEW(arena, tc_real, variables);
    group->row_gradients = TC_NEW(arena, tc_real, rows * group->dim);
    group->row_solved = TC_NEW(arena, tc_real, rows * group->dim);
    group->row_factor = TC_NEW(arena, tc_real, rows * group->rows);
}

void tc_group_init(tc_interior *solver, tc_group *group, const tc_family *family, size_t count, const tc_dag *dag,
                   const tc_family_derivatives *derivatives, bool is_coupled) {
    group->family = family;
    group->derivatives = derivatives;
    group->count = count;
    group->states = family->dim;
    group->dim = family->dim + tc_set_lift_limit(family);
    group->rows = tc_set_row_limit(family);
    group->is_coupled = is_coupled;
    if (derivatives != NULL)
        init_tapes(solver, group, dag);
    init_blocks(solver, group);
}

/* The variable t of "minimise t subject to g <= t". */
void tc_group_init_shift(tc_interior *solver, tc_group *group) {
    group->count = group->states = group->dim = 1;
    group->is_coupled = true;
    init_blocks(solver, group);
}

void tc_group_load(const tc_group *group, size_t member) {
    if (group->derivatives != NULL) /* else it is the caller's set, and loaded */
        tc_set_load(group->set, group->first_member + member);
}

static void place_variable(tc_group *group, size_t v, tc_real lower, tc_real upper, tc_real where) {
    tc_real width = upper > lower ? upper - lower : 0;
    group->lower[v] = lower;
    group->width[v] = width;
    group->trial.below[v] = where * width;
    group->trial.above[v] = width - where * width;
    group->trial.x[v] = lower + where * width;
}

void tc_group_place(tc_interior *solver, tc_group *group, tc_real where) {
    size_t dim = group->dim;
    tc_real *lift_lower = solver->block_x, *lift_upper = solver->block_y;
    for (size_t k = 0; k < group->count; k++) {
        if (group->family == NULL) {
            place_variable(group, 0, -solver->shift_bound, solver->shift_bound, 0.5L);
            continue;
        }
        tc_group_load(group, k);
        group->row_count[k] = tc_rows_prepare(group, k, lift_lower, lift_upper);
        for (size_t c = 0; c < group->states; c++)
            place_variable(group, k * dim + c, group->set->lower[c], group->set->upper[c], where);
        for (size_t c = group->states; c < dim; c++)
            place_variable(group, k * dim + c, lift_lower[c - group->states], lift_upper[c - group->states], 0.5L);
    }
    memset(group->trial.z_below, 0, group->count * dim * sizeof(tc_real));
    memset(group->trial.z_above, 0, group->count * dim * sizeof(tc_real));
    memset(group->trial.y, 0, group->count * group->rows * sizeof(tc_real));
    memset(group->trial.slack, 0, group->count * group->rows * sizeof(tc_real));
}
