/* The problems the interior-point method is used for. */
#include "solver/interior/interior_parts.h"

#include <math.h>
#include <string.h>

static tc_interior *new_solver(tc_arena *arena, tc_goal goal, size_t group_count, tc_real regularization) {
    tc_interior *solver = TC_NEW(arena, tc_interior, 1);
    solver->arena = arena;
    solver->goal = goal;
    solver->groups = TC_NEW(arena, tc_group, group_count);
    solver->group_count = group_count;
    solver->regularization = regularization;
    return solver;
}

static void new_scratch(tc_interior *solver) {
    size_t dim = 1, rows = 1, local = 1, names = 0;
    for (size_t g = 0; g < solver->group_count; g++) {
        const tc_group *group = &solver->groups[g];
        size_t inputs = group->dim + (group->derivatives == NULL ? 0 : group->derivatives->body_count);
        dim = group->dim > dim ? group->dim : dim;
        rows = group->rows > rows ? group->rows : rows;
        local = inputs > local ? inputs : local;
    }
    solver->component_steepest = TC_NEW(solver->arena, tc_real, solver->component_count);
    solver->component_counts = TC_NEW(solver->arena, size_t, solver->component_count);
    solver->block_x = TC_NEW(solver->arena, tc_real, dim);
    solver->block_y = TC_NEW(solver->arena, tc_real, rows > dim ? rows : dim);
    if (solver->coupling == NULL)
        return;
    if (!solver->coupling->is_curved)
        local = solver->coupling->m;
    names = solver->coupling->q > solver->coupling->m ? solver->coupling->q : solver->coupling->m;
    solver->couple = TC_NEW(solver->arena, tc_real, local * dim);
    solver->couple_rows = TC_NEW(solver->arena, tc_real, local * rows);
    solver->couple_first = TC_NEW(solver->arena, size_t, local);
    solver->couple_end = TC_NEW(solver->arena, size_t, local);
    solver->couple_name = TC_NEW(solver->arena, uint32_t, local);
    solver->couple_slot = TC_NEW(solver->arena, uint32_t, names);
    memset(solver->couple_slot, 0xff, names * sizeof(uint32_t));
}

static void add_families(tc_interior *solver, const tc_model *model, const tc_derivatives *derivatives) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        tc_group_init(solver, &solver->groups[f], family, family->count, model->dag, &derivatives->families[f],
                      model->constraint_count > 0);
        solver->groups[f].set = tc_set_new(solver->arena, family);
    }
}

tc_interior *tc_interior_model(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                               tc_real regularization) {
    tc_interior *solver = new_solver(arena, TC_GOAL_OBJECTIVE, model->family_count, regularization);
    solver->is_least_norm = true;
    add_families(solver, model, derivatives);
    if (model->constraint_count > 0)
        tc_coupling_init(solver, model, derivatives);
    tc_components_init(solver);
    new_scratch(solver);
    return solver;
}

tc_interior *tc_interior_margin(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives) {
    tc_interior *solver = new_solver(arena, TC_GOAL_MARGIN, model->family_count + 1, 1e-10L);
    add_families(solver, model, derivatives);
    tc_group_init_shift(solver, &solver->groups[model->family_count]);
    tc_coupling_init(solver, model, derivatives);
    tc_components_init(solver);
    new_scratch(solver);
    return solver;
}

tc_interior *tc_interior_agent(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                               const tc_family *family) {
    tc_interior *solver = new_solver(arena, TC_GOAL_OBJECTIVE, 1, 1e-13L);
    tc_group_init(solver, solver->groups, family, 1, model->dag, &derivatives->families[family - model->families],
                  false);
    solver->groups[0].set = tc_set_new(arena, family);
    tc_components_init(solver);
    new_scratch(solver);
    return solver;
}

void tc_interior_member(tc_interior *solver, size_t member) { solver->groups[0].first_member = member; }

static tc_interior *new_for_set(tc_arena *arena, tc_set *set, tc_goal goal) {
    tc_interior *solver = new_solver(arena, goal, 1, 0);
    tc_group_init(solver, solver->groups, set->family, 1, NULL, NULL, false);
    solver->groups[0].set = set;
    tc_components_init(solver);
    new_scratch(solver);
    return solver;
}

tc_interior *tc_interior_nearest(tc_arena *arena, tc_set *set) { return new_for_set(arena, set, TC_GOAL_NEAREST); }
tc_interior *tc_interior_quadratic(tc_arena *arena, tc_set *set) { return new_for_set(arena, set, TC_GOAL_QUADRATIC); }

static bool solve_exactly(tc_interior *solver) {
    tc_interior_options options = {.gap = 1e-26L, .residual = 1e-16L, .iterations = 150};
    tc_interior_result result = tc_interior_solve(solver, &options);
    return result.gap <= 1e-19L && result.residual <= 1e-13L;
}

bool tc_interior_project(tc_interior *solver, const double *v, double *x) {
    const tc_group *group = &solver->groups[0];
    solver->target = v;
    bool is_exact = solve_exactly(solver);
    for (size_t c = 0; c < group->states; c++)
        x[c] = fmin(fmax((double)group->at.x[c], group->set->lower[c]), group->set->upper[c]);
    return is_exact;
}

bool tc_interior_minimize(tc_interior *solver, const tc_quadratic *quadratic, tc_real *x) {
    solver->quadratic = quadratic;
    bool is_exact = solve_exactly(solver);
    tc_interior_block(solver, x);
    return is_exact;
}
