/* The regularisations: which quadratic terms are added to the saddle point problem, and where their centres lie.
 *
 * What decides which solution is found among many (a centre at zero) must weigh all states alike, in their own units,
 * and all multipliers alike. What only keeps the system well-posed (a centre at a solution) displaces nothing, so it
 * may be as strong as suits each variable and row. */
#include "solver/interior/interior_parts.h"

#include <math.h>
#include <string.h>

/* Lifting variables have no curvature of their own. */
static tc_real lift_weight(const tc_interior *solver, const tc_component *component) {
    if (solver->goal == TC_GOAL_NEAREST)
        return 1e-7L * component->objective_scale;
    tc_real strength = solver->goal == TC_GOAL_QUADRATIC ? 1e-7L : 1e-3L * solver->regularization;
    return strength / (component->length * component->length);
}

static void weigh_states(const tc_interior *solver, tc_group *group, size_t v, tc_real weight, tc_real center) {
    bool is_state = v % group->dim < group->states;
    const tc_component *component = tc_component_of(solver, group, v / group->dim);
    group->weight[v] = is_state ? weight : lift_weight(solver, component);
    group->center[v] = center;
}

/* The same weight for all multipliers in the problem's units, told in those of the scaled rows. */
static tc_real ratio_of(const tc_interior *solver, size_t j) {
    const tc_coupling *coupling = solver->coupling;
    return coupling->row_scale[j] / solver->components[coupling->component[j]].row_middle;
}

void tc_regularize(tc_interior *solver) {
    tc_coupling *coupling = solver->coupling;
    for (size_t g = 0; g < solver->group_count; g++) {
        tc_group *group = &solver->groups[g];
        for (size_t v = 0; v < group->count * group->dim; v++) {
            tc_real length = tc_component_of(solver, group, v / group->dim)->length;
            weigh_states(solver, group, v, solver->regularization / (length * length),
                         solver->is_least_norm ? 0 : group->trial.x[v]);
        }
    }
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++) {
        coupling->weight[j] = solver->regularization * ratio_of(solver, j) * ratio_of(solver, j);
        coupling->center[j] = 0;
    }
}

void tc_interior_keep(tc_interior *solver) {
    for (size_t g = 0; g < solver->group_count; g++)
        memcpy(solver->groups[g].kept, solver->groups[g].at.x,
               solver->groups[g].count * solver->groups[g].dim * sizeof(tc_real));
    if (solver->coupling != NULL)
        memcpy(solver->coupling->kept, solver->coupling->mu, solver->coupling->m * sizeof(tc_real));
}

/* Centres at the kept solution, and a curvature of `strength` in units of the box and of the scaled objective. */
static void hold_states(tc_interior *solver, tc_real strength) {
    for (size_t g = 0; g < solver->group_count; g++) {
        tc_group *group = &solver->groups[g];
        for (size_t v = 0; v < group->count * group->dim; v++) {
            tc_real width = group->width[v];
            weigh_states(solver, group, v, width == 0 ? 0 : strength / (width * width), group->kept[v]);
        }
    }
}

static void hold_multipliers(tc_interior *solver, tc_real strength) {
    tc_coupling *coupling = solver->coupling;
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++) {
        coupling->weight[j] = strength;
        coupling->center[j] = coupling->kept[j];
    }
}

/* Multipliers that are small all together are held in proportion: else rounding moves them. */
static void hold_small_multipliers(tc_interior *solver, tc_real strength) {
    tc_coupling *coupling = solver->coupling;
    tc_mark mark = tc_arena_mark(solver->arena);
    tc_real *most = TC_NEW(solver->arena, tc_real, solver->component_count);
    hold_multipliers(solver, strength);
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++)
        most[coupling->component[j]] = fmaxl(most[coupling->component[j]], coupling->kept[j]);
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++)
        coupling->weight[j] *=
            fmaxl(1, ratio_of(solver, j) * ratio_of(solver, j)) / fminl(1, fmaxl(most[coupling->component[j]], 1e-8L));
    tc_arena_rewind(solver->arena, mark);
}

/* Conditioning: a weight a on one side and b on the other make the dense system's entries range over 1 / (a b). */
static const tc_real RANGE = 1e14L;

static tc_real counterweight(tc_real strength) { return fmaxl(1e-8L, 1 / (RANGE * strength)); }

void tc_weigh_least_states(tc_interior *solver, tc_real strength) {
    tc_mark mark = tc_arena_mark(solver->arena);
    tc_real *most = TC_NEW(solver->arena, tc_real, solver->component_count);
    for (size_t g = 0; g < solver->group_count; g++) {
        const tc_group *group = &solver->groups[g];
        for (size_t v = 0; v < group->count * group->dim; v++) {
            tc_real *largest = &most[group->component[v / group->dim]];
            if (v % group->dim < group->states)
                *largest = fmaxl(*largest, fabsl(group->kept[v]) * group->width[v]);
        }
    }
    for (size_t g = 0; g < solver->group_count; g++) {
        tc_group *group = &solver->groups[g];
        for (size_t v = 0; v < group->count * group->dim; v++) {
            const tc_component *component = tc_component_of(solver, group, v / group->dim);
            tc_real pull = most[group->component[v / group->dim]], square = component->length * component->length;
            weigh_states(solver, group, v, strength / (pull > 0 ? pull : square), 0);
        }
    }
    hold_multipliers(solver, counterweight(strength));
    tc_arena_rewind(solver->arena, mark);
}

void tc_weigh_least_multipliers(tc_interior *solver, tc_real strength) {
    tc_coupling *coupling = solver->coupling;
    tc_mark mark = tc_arena_mark(solver->arena);
    tc_real *most = TC_NEW(solver->arena, tc_real, solver->component_count);
    for (size_t j = 0; j < coupling->m; j++) {
        tc_real *largest = &most[coupling->component[j]];
        *largest = fmaxl(*largest, ratio_of(solver, j) * ratio_of(solver, j) * coupling->kept[j]);
    }
    for (size_t j = 0; j < coupling->m; j++) {
        tc_real pull = most[coupling->component[j]], ratio = ratio_of(solver, j);
        coupling->weight[j] = strength * ratio * ratio / fmaxl(pull, 1e-30L);
        coupling->center[j] = 0;
    }
    hold_states(solver, counterweight(strength));
    tc_arena_rewind(solver->arena, mark);
}

void tc_weigh_near(tc_interior *solver, const double *x, const double *mu) {
    tc_coupling *coupling = solver->coupling;
    for (size_t g = 0; g < solver->group_count; g++) {
        tc_group *group = &solver->groups[g];
        for (size_t v = 0; v < group->count * group->dim; v++)
            if (v % group->dim < group->states)
                group->kept[v] = x[tc_coord_of(group->family, v / group->dim, v % group->dim)];
    }
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++)
        coupling->kept[j] =
            (tc_real)mu[j] * solver->components[coupling->component[j]].objective_scale / coupling->row_scale[j];
    hold_states(solver, 1e-7L);
    hold_small_multipliers(solver, 1e-7L);
}

/* A pull of weight w on a value v is felt where w v^2 stands out from complementarity's products. */
static bool is_felt(tc_real weighed_square, tc_real unitless, tc_real gap) {
    return weighed_square >= 1e12L * gap || unitless <= 1e-15L;
}

void tc_interior_felt(const tc_interior *solver, tc_real gap, bool *states, bool *multipliers) {
    const tc_coupling *coupling = solver->coupling;
    tc_mark mark = tc_arena_mark(solver->arena);
    tc_real *squares = TC_NEW(solver->arena, tc_real, solver->component_count);
    tc_real *sizes = TC_NEW(solver->arena, tc_real, solver->component_count);
    *states = *multipliers = true;
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++) {
        uint32_t p = coupling->component[j];
        squares[p] = fmaxl(squares[p], coupling->weight[j] * coupling->mu[j] * coupling->mu[j]);
        sizes[p] = fmaxl(sizes[p], coupling->mu[j]);
    }
    for (size_t p = 0; p < solver->component_count; p++) {
        *multipliers = *multipliers && is_felt(squares[p], sizes[p], gap);
        squares[p] = sizes[p] = 0;
    }
    for (size_t g = 0; g < solver->group_count; g++) {
        const tc_group *group = &solver->groups[g];
        for (size_t v = 0; v < group->count * group->dim; v++) {
            uint32_t p = group->component[v / group->dim];
            tc_real x = v % group->dim < group->states ? fabsl(group->at.x[v]) : 0;
            squares[p] = fmaxl(squares[p], group->weight[v] * x * x);
            sizes[p] = fmaxl(sizes[p], x / solver->components[p].length);
        }
    }
    for (size_t p = 0; p < solver->component_count; p++)
        *states = *states && is_felt(squares[p], sizes[p], gap);
    tc_arena_rewind(solver->arena, mark);
}

void tc_interior_units(const tc_interior *solver, double *states, double *multipliers) {
    const tc_coupling *coupling = solver->coupling;
    for (size_t p = 0; p < solver->component_count; p++) {
        states[p] = (double)solver->components[p].length;
        multipliers[p] = INFINITY;
    }
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++) {
        uint32_t p = coupling->component[j];
        multipliers[p] = fmin(multipliers[p], (double)(coupling->row_scale[j] / solver->components[p].objective_scale));
    }
}
