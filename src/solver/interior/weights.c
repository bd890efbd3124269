/* Scales, the first point and the regularisations. The objective of each component is scaled so that no variable can
 * change it by much more than 1 across its box, each constraint likewise; then complementarity 1 is a natural place to
 * start. */
#include "solver/interior/layout.h"

#include <math.h>
#include <string.h>

static void place_members(tc_interior *solver, tc_group *group, size_t first, size_t end, const void *context) {
    const tc_real *where = context;
    tc_group_place(solver, group, first, end, *where);
}

static void place_all(tc_interior *solver, tc_real where) {
    tc_pass_run(solver, TC_SUMS_NOTHING, place_members, &where);
    if (solver->coupling != NULL) {
        memset(solver->coupling->trial_mu, 0, solver->coupling->m * sizeof(tc_real));
        memset(solver->coupling->trial_slack, 0, solver->coupling->m * sizeof(tc_real));
    }
}

static bool is_kink(const tc_group *group, size_t v) {
    return v % group->dim >= group->states && v % group->dim < group->states + group->kinks;
}

/* The typical width of the variables of each component: their root mean square. */
static void measure_widths(tc_interior *solver) {
    size_t *counts = solver->component_counts;
    for (size_t p = 0; p < solver->component_count; p++) {
        solver->components[p].length = 0;
        counts[p] = 0;
    }
    for (size_t g = 0; g < solver->group_count; g++) {
        const tc_group *group = &solver->groups[g];
        for (size_t v = 0; group->family != NULL && v < group->count * group->dim; v++)
            if (group->width[v] > 0 && !is_kink(group, v)) {
                solver->components[group->component[v / group->dim]].length += group->width[v] * group->width[v];
                counts[group->component[v / group->dim]]++;
            }
    }
    for (size_t p = 0; p < solver->component_count; p++) {
        tc_component *component = &solver->components[p];
        component->length = counts[p] == 0 ? 1 : sqrtl(component->length / (tc_real)counts[p]);
    }
}

/* The largest change of f that one variable of each component can make, by its derivatives here. */
static void measure_objectives(const tc_interior *solver, tc_real *steepest) {
    for (size_t g = 0; g < solver->group_count; g++) {
        const tc_group *group = &solver->groups[g];
        for (size_t v = 0; group->family != NULL && v < group->count * group->dim; v++) {
            tc_real *most = &steepest[group->component[v / group->dim]];
            *most = fmaxl(*most, fabsl(group->dual_residual[v]) * group->width[v]);
        }
    }
}

/* The largest change of each constraint that one variable can make, by its derivatives here. */
static void measure_constraints(const tc_coupling *coupling, tc_real *sizes) {
    for (size_t e = 0; e < coupling->derivatives->outer_first_count; e++) {
        tc_real size = fabsl(coupling->first[e]) * coupling->input_size[coupling->entry_column[e]];
        if (size > sizes[coupling->entry_row[e]])
            sizes[coupling->entry_row[e]] = size;
    }
}

static void reset_scales(tc_interior *solver) {
    for (size_t p = 0; p < solver->component_count; p++)
        solver->components[p] = (tc_component){.objective_scale = 1, .length = 1, .row_middle = 1};
    for (size_t g = 0; g < solver->group_count; g++)
        memset(solver->groups[g].weight, 0, solver->groups[g].count * solver->groups[g].dim * sizeof(tc_real));
    solver->shift_reach = solver->shift_bound = 0;
    tc_coupling *coupling = solver->coupling;
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++) {
        coupling->row_scale[j] = 1;
        coupling->weight[j] = coupling->center[j] = coupling->slack[j] = 0;
    }
}

static void scale_coupling(tc_interior *solver, tc_real *sizes) {
    tc_coupling *coupling = solver->coupling;
    tc_real *logs = TC_NEW(solver->arena, tc_real, solver->component_count), smallest = INFINITY;
    size_t *counts = TC_NEW(solver->arena, size_t, solver->component_count);
    for (size_t j = 0; j < coupling->m; j++) {
        coupling->row_scale[j] = sizes[j] > 0 && isfinite(sizes[j]) ? 1 / sizes[j] : 1;
        logs[coupling->component[j]] += logl(coupling->row_scale[j]);
        counts[coupling->component[j]]++;
        smallest = fminl(smallest, coupling->row_scale[j]);
    }
    for (size_t p = 0; p < solver->component_count; p++)
        solver->components[p].row_middle = counts[p] == 0 ? 1 : expl(logs[p] / (tc_real)counts[p]);
    if (solver->goal == TC_GOAL_MARGIN) {
        /* t couples all inequalities */
        tc_component *component = &solver->components[solver->groups[solver->group_count - 1].component[0]];
        tc_real middle = component->objective_scale = component->row_middle;
        solver->shift_reach = 1 / middle;
        solver->shift_weight = 1e-6L * middle * middle;
        solver->shift_bound = 1e6L / smallest;
    }
}

/* False where a function is not defined in the middle of the boxes. Without coupling nothing is allocated: agents
 * are solved by several threads at once. */
bool tc_find_scales(tc_interior *solver) {
    tc_coupling *coupling = solver->coupling;
    tc_real *steepest = solver->component_steepest, *sizes = coupling == NULL ? NULL : coupling->step_mu;
    bool defined = false;
    memset(steepest, 0, solver->component_count * sizeof *steepest);
    if (sizes != NULL)
        memset(sizes, 0, coupling->m * sizeof *sizes);
    reset_scales(solver);
    solver->is_measuring = true;
    for (int place = 0; place < 2; place++) {
        place_all(solver, place == 0 ? 0.75L : 0.5L);
        defined = tc_evaluate(solver);
        if (!defined)
            continue;
        measure_objectives(solver, steepest);
        if (coupling != NULL)
            measure_constraints(coupling, sizes);
    }
    solver->is_measuring = false;
    measure_widths(solver);
    for (size_t p = 0; p < solver->component_count; p++)
        solver->components[p].objective_scale = steepest[p] > 0 ? 1 / steepest[p] : 1;
    if (coupling != NULL) {
        tc_mark mark = tc_arena_mark(solver->arena);
        scale_coupling(solver, sizes);
        tc_arena_rewind(solver->arena, mark);
    }
    return defined;
}

static void start_group(const tc_interior *solver, tc_group *group) {
    for (size_t v = 0; v < group->count * group->dim; v++) {
        tc_iterate *trial = &group->trial;
        if (group->width[v] == 0)
            continue;
        trial->z_below[v] = 1 / trial->below[v];
        trial->z_above[v] = 1 / trial->above[v];
    }
    for (size_t k = 0; k < group->count; k++)
        for (size_t r = k * group->rows; r < k * group->rows + group->row_count[k]; r++) {
            if (group->is_equality[r])
                continue;
            group->trial.slack[r] = fmaxl(-group->row_residual[r], 0.1L * tc_component_of(solver, group, k)->length);
            group->trial.y[r] = 1 / group->trial.slack[r];
        }
}

/* The first t lies above all constraints. */
static void start_shift(tc_interior *solver, tc_group *group) {
    const tc_coupling *coupling = solver->coupling;
    tc_real most = -INFINITY;
    for (size_t j = 0; j < coupling->m; j++)
        if (!tc_is_free(coupling, j))
            most = fmaxl(most, coupling->g[j] / coupling->row_scale[j]);
    solver->shift_bound += 1e6L * fabsl(most);
    tc_group_place(solver, group, 0, group->count, 0.5L);
    tc_real t = most + solver->shift_reach;
    group->trial.x[0] = t;
    group->trial.below[0] = solver->shift_bound + t;
    group->trial.above[0] = solver->shift_bound - t;
}

bool tc_start(tc_interior *solver) {
    tc_coupling *coupling = solver->coupling;
    place_all(solver, 0.5L);
    if (!tc_evaluate(solver))
        return false;
    if (solver->goal == TC_GOAL_MARGIN) {
        start_shift(solver, &solver->groups[solver->group_count - 1]);
        if (!tc_evaluate(solver))
            return false;
    }
    for (size_t g = 0; g < solver->group_count; g++)
        start_group(solver, &solver->groups[g]);
    for (size_t j = 0; coupling != NULL && j < coupling->m; j++) {
        if (tc_is_free(coupling, j))
            continue;
        coupling->trial_slack[j] = fmaxl(-coupling->g[j], 1);
        coupling->trial_mu[j] = 1 / coupling->trial_slack[j];
    }
    tc_accept(solver);
    return tc_evaluate(solver);
}

/* ---- regularisations: quadratic terms added to the saddle point problem, and their centres ---- */

/* A centre at zero decides which of many solutions is found, so it must weigh all states alike, in their own units, and
 * all multipliers alike. A centre at a solution only keeps the system well-posed and displaces nothing, so its strength
 * may suit each variable and row. */

/* Lifting variables have no curvature of their own. */
static tc_real lift_weight(const tc_interior *solver, const tc_component *component) {
    if (solver->goal == TC_GOAL_NEAREST)
        return 1e-7L * component->objective_scale;
    bool is_step = solver->goal == TC_GOAL_QUADRATIC || solver->near_center != NULL;
    tc_real strength = is_step ? 1e-7L : 1e-3L * solver->regularization;
    return strength / (component->length * component->length);
}

static void weigh_states(const tc_interior *solver, tc_group *group, size_t v, tc_real weight, tc_real center) {
    bool is_state = v % group->dim < group->states;
    const tc_component *component = tc_component_of(solver, group, v / group->dim);
    group->weight[v] = is_state ? weight : lift_weight(solver, component);
    group->center[v] = center;
}

/* The same weight for all multipliers in the problem's units, converted to those of the scaled rows. */
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
        coupling->weight[j] = solver->goal == TC_GOAL_FEASIBLE
                                  ? solver->give
                                  : solver->regularization * ratio_of(solver, j) * ratio_of(solver, j);
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
        most[coupling->component[j]] = fmaxl(most[coupling->component[j]], fabsl(coupling->kept[j]));
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
        *largest = fmaxl(*largest, ratio_of(solver, j) * ratio_of(solver, j) * fabsl(coupling->kept[j]));
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
        sizes[p] = fmaxl(sizes[p], fabsl(coupling->mu[j]));
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
